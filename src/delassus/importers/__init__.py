"""Models of other programs: one file for each format, and one line of `IMPORTERS`."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path

from delassus.errors import DelassusError, FileError, nearest
from delassus.foreign.child import one_line
from delassus.importers import meshes, mjcf, urdf, usd
from delassus.importers.imported import Imported as Imported
from delassus.importers.imported import Keyframe as Keyframe
from delassus.importers.imported import Site as Site
from delassus.importers.meshes import load_shape as load_shape
from delassus.importers.writers import WRITERS as WRITERS
from delassus.importers.writers import save_model as save_model
from delassus.importers.writers import write_mjcf as write_mjcf
from delassus.importers.writers import write_urdf as write_urdf
from delassus.io.files import path_of, size_of
from delassus.io.place import label

IMPORTERS: dict[str, Callable[..., Imported]] = {
    ".xml": mjcf.load,
    ".mjcf": mjcf.load,
    ".urdf": urdf.load,
    ".usd": usd.load,
    ".usda": usd.load,
    ".usdc": usd.load,
    ".usdz": usd.load,
    **dict.fromkeys(meshes.ENDINGS, meshes.load),
}
"""What reads a file, by the ending of its name."""


def load_model(
    path: str | PathLike[str],
    *,
    keyframe: str | None = None,
    folders: Iterable[str | PathLike[str]] = (),
    packages: Mapping[str, str | PathLike[str]] | None = None,
    floating: bool = False,
    hold: tuple[float, float] | None = None,
    decompose: bool | float = False,
) -> Imported:
    """A mechanism from a file: MJCF, URDF, USD, or one body that is a mesh (STL, OBJ, PLY, GLB).

    keyframe: of the file, to start from; folders: that may be read beside the model's own; packages: folders of ROS
    packages by name, for package://name/…; floating: let what hangs on nothing in a URDF move freely, instead of being
    fixed to the world; hold: (stiffness, damping) [N m/rad, N m s/rad, or per m] of servos that plain motors of the
    file are made into, and all servos start by holding the pose they start from; decompose: a mesh file as convex
    parts, see `load_shape`."""
    where = path_of(path, "load_model")
    size_of(where, label(where))
    ending = where.suffix.lower()
    if ending not in IMPORTERS:
        what = ending or "files without an ending"
        raise FileError(f"{label(where)}: no importer reads {what}; {nearest(ending, list(IMPORTERS))}")
    try:
        found = IMPORTERS[ending](
            where,
            folders=tuple(Path(folder) for folder in folders),
            packages={name: Path(folder) for name, folder in (packages or {}).items()},
            floating=floating,
            hold=hold,
            decompose=decompose,
        )
    except FileError:
        raise
    except (DelassusError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        # what a compiler lets through need not be a mechanism: numbers that are none, loops that do not close
        raise FileError(f"{label(where)}: cannot be built: {one_line(str(error))}") from None
    digest = hashlib.sha256(where.read_bytes()).hexdigest()[:16]
    found.model = replace(found.model, source=f"{label(where.name)} sha256:{digest}")
    if keyframe is not None:
        found = found.at(keyframe)
    if hold is not None:
        found.hold()
    return found
