"""XML files of models with everything they name, read into memory: no entities, nothing outside the model's folder,
and no sizes that memory does not hold."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from xml.parsers import expat

from delassus.errors import FileError
from delassus.foreign.files import Files
from delassus.io.files import has_file
from delassus.io.place import label

_DEEPEST = 20  # includes within includes, models within models
_DEEPEST_ELEMENT = 400  # elements within elements: as many bodies may hang on each other
_MOST_ELEMENTS = 200_000  # of a file, copies counted
_MODELS = ("mujoco", "robot")  # what MuJoCo's compiler reads: MJCF, and URDF under any name
_FOLDERS = ("meshdir", "assetdir", "texturedir")
_NOT_READ = ("texture", "skin", "layer", "size", "custom")
"""Elements that nothing here needs: pictures, room that MuJoCo would set aside, tables of the user's own."""


def parse(content: bytes, who: str) -> ET.Element:
    """The root of an XML text without a document type, the only place where entities can be declared."""
    check = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise FileError(f"{who}: has a document type, which may declare entities: remove <!DOCTYPE …>")

    depth = 0

    def deeper(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST_ELEMENT:
            raise FileError(f"{who}: elements lie within each other more than {_DEEPEST_ELEMENT} deep: split it")

    def back(*_: object) -> None:
        nonlocal depth
        depth -= 1

    check.StartDoctypeDeclHandler, check.StartElementHandler, check.EndElementHandler = refuse, deeper, back
    try:
        check.Parse(content, True)
        return ET.fromstring(content)
    except (expat.ExpatError, ET.ParseError, ValueError, LookupError) as error:
        raise FileError(f"{who}: is no XML: {error}") from None


def mjcf_files(path: Path, allowed: Iterable[Path] = ()) -> tuple[Files, ET.Element]:
    """An MJCF file with includes put in place, meshes and height fields in memory; textures and skins, which nothing
    but a picture needs, left out."""
    files = Files(path, tuple(allowed))
    root = _whole(files, path, ())
    if root.tag == "mujocoinclude":
        raise FileError(f"{label(path)}: is a part that other files include: load the one that includes it")
    if root.tag not in _MODELS:
        raise FileError(f"{label(path)}: is no MJCF, which begins with <mujoco>, but <{label(root.tag)}>")
    _check_copies(files, root)
    files.content["main.xml"] = ET.tostring(root)
    return files, root


def _whole(files: Files, path: Path, above: tuple[Path, ...]) -> ET.Element:
    """above: the files that attach this one."""
    content = files.read(path, repr(label(path.name)))
    root = parse(content, label(path))
    _include(files, root, path, 0)
    folder = {key: "" for key in _FOLDERS}
    for compiler in root.iter("compiler"):
        for key in _FOLDERS:
            folder[key] = compiler.attrib.pop(key, folder[key])
        compiler.attrib.pop("strippath", None)
    base = {"mesh": folder["meshdir"] or folder["assetdir"], "hfield": folder["assetdir"] or folder["meshdir"]}
    _drop_what_is_not_read(root)
    for element in root.iter():
        for key in [key for key in element.attrib if key.startswith("file")]:
            _take_asset(files, element, key, (*above, path), base.get(element.tag, folder["assetdir"]))
    return root


def _take_asset(files: Files, element: ET.Element, key: str, above: tuple[Path, ...], base: str) -> None:
    given, parent = element.attrib[key], above[-1].parent
    what = f"<{element.tag} {key}={label(given)!r}>"
    if element.tag == "model":
        where = files.find(given, what, (parent,))
        if has_file(where) and any(where.samefile(one) for one in above):
            raise FileError(f"{label(files.path)}: {what}: attaches itself")
        if len(above) > _DEEPEST:
            raise FileError(f"{label(files.path)}: models attach others more than {_DEEPEST} deep")
        element.attrib[key] = files.take(where, what, ET.tostring(_whole(files, where, above)))
        return
    if "name" not in element.attrib and element.tag in ("mesh", "hfield"):
        element.attrib["name"] = Path(given).stem
    element.attrib[key] = files.take(files.find(given, what, (parent / base, parent)), what)


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
        what = f"<include file={label(given)!r}>"
        where = files.find(given, what, (files.path.parent, path.parent))
        inner = parse(files.read(where, what), label(where))
        _include(files, inner, where, depth + 1)
        element[k : k + 1] = list(inner)


def _drop_what_is_not_read(root: ET.Element) -> None:
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _NOT_READ:
                parent.remove(child)
        if parent.tag == "material":
            parent.attrib.pop("texture", None)


def _check_copies(files: Files, root: ET.Element) -> None:
    """Refuse what makes more elements of itself than a model has: MuJoCo would write all of them down."""
    count = _copies(root)
    if not count <= _MOST_ELEMENTS:
        raise FileError(
            f"{label(files.path)}: makes {count:.3g} elements of itself, at most {_MOST_ELEMENTS} are read: copy less"
        )


def _copies(element: ET.Element) -> float:
    """Elements that it becomes: those of <replicate>, <composite> and <flexcomp> as often as they say."""
    times = 1.0
    if element.tag in ("replicate", "composite", "flexcomp"):
        for text in element.attrib.get("count", "1").split():
            times *= max(1.0, float_or(text, 1.0))
    return times * (1.0 + sum(map(_copies, element)))


def float_or(text: str, other: float) -> float:
    """A text as a finite number, or another number."""
    try:
        value = float(text)
    except ValueError:
        return other
    return value if math.isfinite(value) else other


def urdf_files(
    path: Path, allowed: Iterable[Path] = (), packages: dict[str, Path] | None = None
) -> tuple[Files, ET.Element]:
    """A URDF file with its meshes in memory; package://name/… is one of `packages`, or a folder of that name with a
    package.xml, which the model lies in, or beside."""
    files = Files(path, tuple(allowed), dict(packages or {}))
    root = parse(files.read(path, repr(label(path.name))), label(path))
    folder = ""
    for compiler in root.iter("compiler"):
        folder = compiler.attrib.pop("meshdir", folder)
        compiler.attrib.pop("strippath", None)
    for element in root.iter("mesh"):
        given = element.attrib.get("filename", "")
        what = f"<mesh filename={label(given)!r}>"
        element.attrib["filename"] = files.take(files.find(given, what, (path.parent / folder,)), what)
    _drop_what_is_not_read(root)
    _check_copies(files, root)
    files.content["main.xml"] = ET.tostring(root)
    return files, root
