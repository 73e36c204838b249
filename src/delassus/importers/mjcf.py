"""MJCF: MuJoCo's own XML, through its own compiler."""

from pathlib import Path
from typing import Any

from delassus.foreign.child import ask
from delassus.importers.actuators import Hold
from delassus.importers.imported import Imported
from delassus.importers.mujoco_model import imported_of
from delassus.importers.notes import Notes
from delassus.importers.xml_files import mjcf_files
from delassus.io.place import label


def load(path: Path, folders: tuple[Path, ...] = (), hold: Hold = None, **_: Any) -> Imported:
    """folders: that may be read beside the model's own; hold: see `load_model`."""
    files, _root = mjcf_files(path, folders)
    arrays, table = ask("compile_mujoco", label(path), {"main": "main.xml", "floating": False}, files.content)
    return imported_of(arrays, table, label(path), Notes(), hold)
