"""Mesh files (STL, OBJ, PLY, GLB) as shapes: their convex hull, or convex parts, which may move."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from delassus.arguments import number
from delassus.builder import ModelBuilder
from delassus.errors import FileError, ProblemError
from delassus.foreign.child import SECONDS, ask
from delassus.foreign.files import Files
from delassus.importers.imported import Imported
from delassus.io.files import has_file, path_of
from delassus.io.place import label
from delassus.shapes import Compound, Convex, Shape

ENDINGS = (".stl", ".obj", ".ply", ".glb")
MOST_TRIANGLES = 2_000_000
_DENSITY = 1000.0  # [kg/m³] of a body that is a mesh file
_CUTTING = 60.0  # seconds that coacd may take
_THRESHOLD = 0.05  # of concavity that convex parts may keep, coacd's own default


def load_shape(path: str | PathLike[str], *, decompose: bool | float = False, scale: float = 1.0) -> Shape:
    """The solid in a mesh file.  decompose: as convex parts, True or how concave a part may be (0.01 … 1, coacd's
    threshold), instead of as its hull; scale: metres per unit of the file."""
    where = path_of(path, "load_shape")
    if where.suffix.lower() not in ENDINGS or not has_file(where):
        raise FileError(f"{label(where)}: no such mesh: give a file {', '.join(ENDINGS)}")
    factor = number(scale, "scale", "m per unit of the file", positive=True)
    threshold = _THRESHOLD if isinstance(decompose, bool) else number(decompose, "decompose", "-", positive=True)
    files = Files(where)
    request = {
        "main": "mesh",
        "ending": where.suffix[1:].lower(),
        "decompose": bool(decompose),
        "threshold": threshold,
        "most": MOST_TRIANGLES,
    }
    content = {"mesh": files.read(where, repr(label(where.name)))}
    arrays, table = ask(
        "read_mesh", label(where), request, content, seconds=_CUTTING if request["decompose"] else SECONDS
    )
    try:
        parts = [Convex(factor * np.asarray(arrays[f"vertices{k}"])) for k in range(table["parts"])]
    except (ProblemError, ValueError) as error:
        raise FileError(f"{label(where)}: {error}") from None
    return parts[0] if len(parts) == 1 else Compound(tuple(parts))


def load(path: Path, decompose: bool | float = False, **_: Any) -> Imported:
    """One body of that shape, of the density of water, at the origin."""
    shape = load_shape(path, decompose=decompose)
    builder = ModelBuilder()
    builder.body(path.stem or "mesh", density=_DENSITY, shapes=shape)
    model, state = builder.build()
    note = "" if decompose else "mesh: is its convex hull: give decompose=True for convex parts"
    return Imported(model, state, not_carried=(note,) if note else (), source=label(path))
