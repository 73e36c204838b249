"""USD with UsdPhysics: bodies, joints, drives, limits, collision shapes and meshes, materials, filters, units.

The world's axes stay the file's: gravity says which way is down."""

import re
from pathlib import Path
from typing import Any

from delassus.errors import FileError
from delassus.foreign.child import ask
from delassus.foreign.files import Files
from delassus.importers.imported import Imported
from delassus.importers.usd_model import UsdModel
from delassus.io.place import label

_ASSET = re.compile(rb"@([^@\n]{1,500}\.usd[acz]?)@")


def load(path: Path, folders: tuple[Path, ...] = (), **_: Any) -> Imported:
    """folders: that may be read, too; text files bring along what they refer to below their folder."""
    files = Files(path, folders)
    files.content[path.name] = files.read(path, repr(label(path.name)))
    left = [path.name]
    while left:
        name = left.pop()
        for found in _ASSET.findall(files.content[name]):
            other = (Path(name).parent / found.decode(errors="replace")).as_posix()
            if ".." in Path(other).parts or Path(other).is_absolute():
                raise FileError(
                    f"{label(path)}: refers to {label(other)!r} outside the model's folder: flatten it first"
                )
            if other not in files.content:
                files.content[other] = files.read(path.parent / other, repr(label(other)))
                left.append(other)
    _, table = ask("read_usd", label(path), {"main": path.name}, files.content, on_disk=True)
    return UsdModel(table, label(path)).imported()
