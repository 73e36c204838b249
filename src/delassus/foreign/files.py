"""The one place that says which file a name in a foreign file stands for, and whether it may be read."""

from dataclasses import dataclass, field
from pathlib import Path

from delassus.errors import FileError
from delassus.io.files import has_file, regular_file
from delassus.io.place import label

MOST_BYTES = 256 << 20  # of one file
MOST_ALTOGETHER = 1 << 30  # bytes of a model with all its meshes
_MOST_FILES = 10_000
_LONGEST = 100  # characters of a name that the compiler is given: the last ones, which say what kind of file it is
_PACKAGE = "package.xml"  # what makes a folder a ROS package


@dataclass
class Files:
    """What a model is made of.  root: the folder it may read; allowed: more such folders; packages: folders of ROS
    packages by name; content: by the names that the compiler is given; most: bytes of one file;
    total, count: bytes and files read."""

    path: Path
    allowed: tuple[Path, ...] = ()
    packages: dict[str, Path] = field(default_factory=dict)
    content: dict[str, bytes] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    most: int = MOST_BYTES
    total: int = 0
    count: int = 0

    @property
    def root(self) -> Path:
        return self.path.parent.resolve()

    def find(self, given: str, what: str, folders: tuple[Path, ...] = ()) -> Path:
        """The file that a name stands for: a path from the first of the folders that has it, file://…, or
        package://name/….  what: names it, for complaints; folders: the model's own where there are none."""
        if "\0" in given or not given:
            raise FileError(f"{label(self.path)}: {what} names no file")
        if "://" in given:
            return self._of_address(given, what)
        places = [folder / given for folder in folders or (self.path.parent,)]
        return next((place for place in places if has_file(place)), places[-1])

    def _of_address(self, given: str, what: str) -> Path:
        scheme, _, rest = given.partition("://")
        if scheme == "file":
            return Path(rest)
        name, _, inner = rest.partition("/")
        if scheme != "package" or not name or name in (".", ".."):
            raise FileError(f"{label(self.path)}: {what}: only package://name/… and file://… are read")
        folder = self.packages.get(name) or self._package(name)
        if folder is None:
            raise FileError(
                f"{label(self.path)}: package {label(name)!r} was not found in the folders above, where a package is a "
                f"folder with a {_PACKAGE}: give load_model(…, packages={{{label(name)!r}: folder}})"
            )
        if folder not in self.allowed:
            self.allowed += (folder,)
        return folder / inner

    def _package(self, name: str) -> Path | None:
        """The folder of a package of that name: one that the model lies in, or one beside it."""
        for folder in self.root, *self.root.parents:
            for place in (folder, folder / name):
                if place.name == name and has_file(place / _PACKAGE):
                    return place
        return None

    def read(self, path: Path, what: str) -> bytes:
        """The content of a file that may be read.  what: names it, for complaints."""
        who = label(self.path)
        try:
            where = path.resolve()
            roots = [folder.resolve() for folder in (self.root, *self.allowed)]
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, names that are too long
            raise FileError(f"{who}: {what}: cannot be looked for ({error.__class__.__name__}): shorten it") from None
        if not any(where.is_relative_to(folder) for folder in roots):
            raise FileError(
                f"{who}: {what} is outside the model's folder: allow it by `run --folder "
                f"{label(where.parent)}`, `view --set folders={label(where.parent)}` or load_model(…, folders=[…])"
            )
        self.count += 1
        left = min(self.most, MOST_ALTOGETHER - self.total)
        too_large = f"is too large, or makes it larger than {MOST_ALTOGETHER >> 20} MB: simplify it"
        if self.count > _MOST_FILES:
            raise FileError(f"{who}: names more than {_MOST_FILES} files: simplify it")
        content = regular_file(where, f"{who}: {what}", left, too_large)
        self.total += len(content)
        return content

    def take(self, path: Path, what: str, content: bytes | None = None) -> str:
        """A file for the compiler, under a name without folders."""
        try:
            where = path.resolve()
        except (OSError, RuntimeError, ValueError):
            where = path
        if where not in self.names:
            taken = self.read(path, what) if content is None else content
            self.names[where] = f"{len(self.names)}_{path.name[-_LONGEST:]}"
            self.content[self.names[where]] = taken
        return self.names[where]
