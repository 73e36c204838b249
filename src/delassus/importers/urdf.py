"""URDF, through MuJoCo's compiler; it makes equalities of `mimic` joints."""

from pathlib import Path
from typing import Any

from delassus.foreign.child import ask
from delassus.importers.actuators import Hold
from delassus.importers.imported import Imported
from delassus.importers.mechanism import NO_LIMIT
from delassus.importers.mujoco_model import imported_of
from delassus.importers.notes import Notes
from delassus.importers.xml_files import float_or, urdf_files
from delassus.io.place import label


def load(
    path: Path,
    folders: tuple[Path, ...] = (),
    packages: dict[str, Path] | None = None,
    floating: bool = False,
    hold: Hold = None,
    **_: Any,
) -> Imported:
    """folders, packages: that may be read beside the model's own; floating: what hangs on nothing moves freely."""
    files, root = urdf_files(path, folders, packages)
    arrays, table = ask("compile_mujoco", label(path), {"main": "main.xml", "floating": floating}, files.content)
    notes = Notes()
    for joint in root.iter("joint"):
        limit = joint.find("limit")
        if limit is not None and 0.0 < float_or(limit.get("velocity", "0"), 0.0) < NO_LIMIT:
            notes.add("velocity limit", joint.get("name", ""), "is left out")
    if root.find("transmission") is not None:
        notes.add("transmission", "", "is left out: give efforts or motors to joints")
    return imported_of(arrays, table, label(path), notes, hold)
