"""XML files of models with everything they name, read into memory: no entities, nothing outside the model's folder."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from delassus.errors import FileError
from delassus.io.place import label

MOST_BYTES = 256 << 20  # of one file
MOST_ALTOGETHER = 1 << 30  # bytes of a model with all its meshes
_DEEPEST = 20  # includes within includes
_MODELS = ("mujoco", "robot")  # what MuJoCo's compiler reads: MJCF, and URDF under any name
_FOLDERS = ("meshdir", "assetdir", "texturedir")


@dataclass
class Files:
    """What a model is made of.  root: the folder it may read; allowed: more such folders; content: by the names that
    the compiler is given; total: bytes read."""

    path: Path
    allowed: tuple[Path, ...] = ()
    content: dict[str, bytes] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    total: int = 0

    @property
    def root(self) -> Path:
        return self.path.parent.resolve()

    def read(self, path: Path, what: str) -> bytes:
        """The content of a file that may be read.  what: names it, for complaints."""
        where = path.resolve()
        if not any(where.is_relative_to(folder.resolve()) for folder in (self.root, *self.allowed)):
            raise FileError(
                f"{label(self.path)}: {what} is outside the model's folder: allow it by `run --folder "
                f"{label(where.parent)}`, `view --set folders={label(where.parent)}` or load_model(…, folders=[…])"
            )
        if not where.is_file():
            raise FileError(f"{label(self.path)}: {what}: there is no such file")
        size = where.stat().st_size
        self.total += size
        if size > MOST_BYTES or self.total > MOST_ALTOGETHER:
            raise FileError(f"{label(self.path)}: {what} makes it larger than {MOST_ALTOGETHER >> 20} MB: simplify it")
        try:
            return where.read_bytes()
        except OSError as error:
            raise FileError(f"{label(self.path)}: {what}: {error.strerror}") from None

    def take(self, path: Path, what: str, content: bytes | None = None) -> str:
        """A file for the compiler, under a name without folders."""
        where = path.resolve()
        if where not in self.names:
            self.names[where] = f"{len(self.names)}_{path.name}"
            self.content[self.names[where]] = self.read(path, what) if content is None else content
        return self.names[where]


def parse(content: bytes, who: str) -> ET.Element:
    """The root of an XML text without a document type, the only place where entities can be declared."""
    check = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise FileError(f"{who}: has a document type, which may declare entities: remove <!DOCTYPE …>")

    check.StartDoctypeDeclHandler = refuse
    try:
        check.Parse(content, True)
        return ET.fromstring(content)
    except (expat.ExpatError, ET.ParseError, ValueError, LookupError) as error:
        raise FileError(f"{who}: is no XML: {error}") from None


def mjcf_files(path: Path, allowed: Iterable[Path] = ()) -> tuple[Files, ET.Element]:
    """An MJCF file with includes put in place, meshes and height fields in memory; textures and skins, which nothing
    but a picture needs, left out."""
    files = Files(path, tuple(allowed))
    root = _whole(files, path)
    if root.tag == "mujocoinclude":
        raise FileError(f"{label(path)}: is a part that other files include: load the one that includes it")
    if root.tag not in _MODELS:
        raise FileError(f"{label(path)}: is no MJCF, which begins with <mujoco>, but <{label(root.tag)}>")
    files.content["main.xml"] = ET.tostring(root)
    return files, root


def _whole(files: Files, path: Path) -> ET.Element:
    root = parse(files.read(path, repr(label(path.name))), label(path))
    _include(files, root, path, 0)
    folder = {key: "" for key in _FOLDERS}
    for compiler in root.iter("compiler"):
        for key in _FOLDERS:
            folder[key] = compiler.attrib.pop(key, folder[key])
        compiler.attrib.pop("strippath", None)
    base = {"mesh": folder["meshdir"] or folder["assetdir"], "hfield": folder["assetdir"] or folder["meshdir"]}
    _drop_pictures(root)
    for element in root.iter():
        for key in [key for key in element.attrib if key.startswith("file")]:
            _take_asset(files, element, key, path.parent, base.get(element.tag, folder["assetdir"]))
    return root


def _take_asset(files: Files, element: ET.Element, key: str, parent: Path, base: str) -> None:
    given = element.attrib[key]
    what = f"<{element.tag} {key}={label(given)!r}>"
    if element.tag == "model":
        if len(files.names) > 1000:
            raise FileError(f"{label(files.path)}: names more than a thousand files")
        inner = _whole(files, parent / given) if (parent / given).resolve() != files.path.resolve() else None
        if inner is None:
            raise FileError(f"{label(files.path)}: {what}: attaches itself")
        element.attrib[key] = files.take(parent / given, what, ET.tostring(inner))
        return
    where = next((p for p in (parent / base / given, parent / given) if p.is_file()), parent / base / given)
    if "name" not in element.attrib and element.tag in ("mesh", "hfield"):
        element.attrib["name"] = Path(given).stem
    element.attrib[key] = files.take(where, what)


def _include(files: Files, element: ET.Element, path: Path, depth: int) -> None:
    """Children of the included file's root in the place of <include file="…"/>, as MuJoCo does."""
    if depth > _DEEPEST:
        raise FileError(f"{label(files.path)}: includes go deeper than {_DEEPEST}: does a file include itself?")
    for k in range(len(element) - 1, -1, -1):
        child = element[k]
        if child.tag != "include":
            _include(files, child, path, depth)
            continue
        given = child.attrib.get("file", "")
        where = next((p for p in (files.path.parent / given, path.parent / given) if p.is_file()), path.parent / given)
        what = f"<include file={label(given)!r}>"
        inner = parse(files.read(where, what), label(where))
        _include(files, inner, where, depth + 1)
        element[k : k + 1] = list(inner)


def _drop_pictures(root: ET.Element) -> None:
    for parent in root.iter():
        for child in list(parent):
            if child.tag in ("texture", "skin", "layer"):
                parent.remove(child)
        if parent.tag == "material":
            parent.attrib.pop("texture", None)


def urdf_files(
    path: Path, allowed: Iterable[Path] = (), packages: dict[str, Path] | None = None
) -> tuple[Files, ET.Element]:
    """A URDF file with its meshes in memory; package://name/… is looked for in `packages`, and in the folders above
    the model, of which the one of that name may be read."""
    files = Files(path, tuple(allowed))
    root = parse(files.read(path, repr(label(path.name))), label(path))
    folder = ""
    for compiler in root.iter("compiler"):
        folder = compiler.attrib.pop("meshdir", folder)
        compiler.attrib.pop("strippath", None)
    for element in root.iter("mesh"):
        given = element.attrib.get("filename", "")
        where = _package_path(files, given, path, packages or {}) if "://" in given else path.parent / folder / given
        element.attrib["filename"] = files.take(where, f"<mesh filename={label(given)!r}>")
    files.content["main.xml"] = ET.tostring(root)
    return files, root


def _package_path(files: Files, given: str, path: Path, packages: dict[str, Path]) -> Path:
    scheme, _, rest = given.partition("://")
    if scheme == "file":
        return Path(rest)
    package, _, inner = rest.partition("/")
    if package in packages:
        files.allowed += (Path(packages[package]),)
        return Path(packages[package]) / inner
    for folder in path.resolve().parents:
        if folder.name == package:
            files.allowed += (folder,)  # the model's own package
            return folder / inner
        if (folder / package / inner).is_file():
            return folder / package / inner
    raise FileError(
        f"{label(path)}: package {label(package)!r} was not found in the folders above: give load_model(…, "
        f"packages={{{label(package)!r}: folder}})"
    )
