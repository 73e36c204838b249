"""URDF, through MuJoCo's compiler; it makes equalities of `mimic` joints."""

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from delassus.importers.actuators import Hold
from delassus.importers.child import ask
from delassus.importers.imported import Imported
from delassus.importers.mechanism import NO_LIMIT
from delassus.importers.mujoco_model import imported_of
from delassus.importers.notes import Notes
from delassus.importers.xml_files import urdf_files
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
        if limit is not None and 0.0 < float_of(limit, "velocity") < NO_LIMIT:
            notes.add("velocity limit", joint.get("name", ""), "is left out")
    if root.find("transmission") is not None:
        notes.add("transmission", "", "is left out: give efforts or motors to joints")
    return imported_of(arrays, table, label(path), notes, hold)


def float_of(element: Element, key: str) -> float:
    """An attribute as a number, zero where it is none."""
    try:
        return float(element.get(key, "0"))
    except ValueError:
        return 0.0
