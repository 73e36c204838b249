"""Meshes from files and results to files, by the optional package meshio, which knows some forty formats."""

import contextlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from delassus.arguments import positive
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.fem.elements import Elements
from delassus.fem.kinds import KINDS
from delassus.fem.mesh import Mesh
from delassus.io.files import path_of, size_of
from delassus.io.place import label

MOST_BYTES = 4 << 30  # of a file: some ten times that of a mesh of as many elements as are allowed, in text
_BY_NAME = {kind.name: kind for kind in KINDS.values()}


def _meshio() -> Any:
    try:
        import meshio
    except ImportError:
        raise SettingsError("meshes in files need meshio: pip install 'delassus[mesh]'") from None
    return meshio


def read_mesh(path: str | os.PathLike[str], scale: float = 1.0, orient: bool = False) -> Mesh:
    """A mesh from a file of any format that meshio reads (Gmsh .msh, Abaqus .inp, .vtk, .vtu, Medit .mesh, Nastran
    .bdf, …). Its cells must be tetrahedra, all linear or all quadratic; sets of points, sets of cells and Gmsh's
    physical groups become sets of nodes, those of triangles and lines, too, and points that no tetrahedron has are left
    out.

    scale: metres of one unit of the file, 1e-3 for mm; orient: as of `Mesh`."""
    meshio = _meshio()
    path = path_of(path, "read_mesh")
    positive("read_mesh", scale=scale)
    size = size_of(path, label(path))
    if size > MOST_BYTES:
        raise FileError(f"{path}: {size} bytes are more than {MOST_BYTES}, take a coarser mesh")
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            given = meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio ends the program where the content is not what the name says
        what = " ".join(str(error).split()) if isinstance(error, Exception) else "its content is not what its name says"
        known = ", ".join(sorted(meshio.extension_to_filetypes))
        raise FileError(f"{path}: cannot be read as a mesh ({what}): give one of {known}") from None
    points = np.asarray(given.points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise FileError(f"{path}: its points have {points.shape[-1]} coordinates, expected 3: give a mesh of a solid")
    used, elements = np.unique(_tetrahedra(path, given), return_inverse=True)
    if used[0] < 0 or used[-1] >= len(points):
        raise FileError(f"{path}: a cell names point {used[-1]}, but there are {len(points)}: write the file anew")
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    sets = {}
    for name, chosen in _sets(given).items():
        kept = number[chosen[(chosen >= 0) & (chosen < len(points))]]
        if (kept >= 0).any():
            sets[name] = kept[kept >= 0]
    width = _width(given)
    return Mesh(float(scale) * points[used], elements.reshape(-1, width), sets, orient=orient)


def _width(given: Any) -> int:
    return next(_BY_NAME[block.type].nodes for block in given.cells if block.type in _BY_NAME)


def _tetrahedra(path: Path, given: Any) -> np.ndarray:
    """All elements (e, N); refused: none, two kinds, other solids."""
    found = {block.type for block in given.cells if block.type in _BY_NAME and len(block.data)}
    others = {block.type: len(block.data) for block in given.cells if block.dim == 3 and block.type not in _BY_NAME}
    if others:
        named = ", ".join(f"{count} {kind}" for kind, count in others.items())
        raise FileError(f"{path}: has cells that are no tetrahedra ({named}): divide them into tetrahedra")
    if not found:
        named = ", ".join(sorted({block.type for block in given.cells})) or "no cells"
        raise FileError(f"{path}: has no tetrahedra, only {named}: mesh the solid, not its surface")
    if len(found) > 1:
        raise FileError(f"{path}: has linear and quadratic tetrahedra: write it with one kind")
    return np.concatenate([np.asarray(b.data, dtype=np.int64) for b in given.cells if b.type in found])


def _sets(given: Any) -> dict[str, np.ndarray]:
    """Numbers of points by name."""
    found: dict[str, list[np.ndarray]] = {}
    for name, points in given.point_sets.items():
        found.setdefault(str(name), []).append(np.asarray(points, dtype=np.int64).ravel())
    for name, of_blocks in given.cell_sets.items():
        if not str(name).startswith("gmsh:"):  # which surfaces bound which volumes
            for block, cells in zip(given.cells, of_blocks):
                if cells is not None and len(cells):
                    found.setdefault(str(name), []).append(block.data[np.asarray(cells, dtype=np.int64)].ravel())
    for name, (tag, dimension) in ((n, d) for n, d in given.field_data.items() if len(d) == 2):
        for block, tags in zip(given.cells, given.cell_data.get("gmsh:physical", [])):
            if block.dim == dimension:
                found.setdefault(str(name), []).append(block.data[np.asarray(tags) == tag].ravel())
    return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}


def write_vtu(
    path: str | os.PathLike[str],
    mesh: Mesh | Elements,
    x: np.ndarray | None = None,
    point_data: Mapping[str, np.ndarray] | None = None,
    cell_data: Mapping[str, np.ndarray] | None = None,
) -> None:
    """A file for ParaView and others. x: (n, 3) places of the nodes, those at rest by default; point_data, cell_data:
    arrays (n, …) and (e, …) by name, such as "velocity" and "von_mises"."""
    meshio = _meshio()
    path = path_of(path, "write_vtu")
    if path.suffix != ".vtu":
        raise FileError(f"{path}: give a name that ends in .vtu")
    meshes = mesh.meshes if isinstance(mesh, Elements) else [mesh]
    node_start = np.cumsum([0, *(len(part.nodes) for part in meshes)])
    element_start = np.cumsum([0, *(len(part.elements) for part in meshes)])
    places = np.concatenate([part.nodes for part in meshes]) if x is None else np.asarray(x, dtype=float)
    if places.shape != (node_start[-1], 3):
        raise ProblemError(f"write_vtu: x has shape {places.shape}, expected ({node_start[-1]}, 3)")
    cells = [(part.kind.name, part.elements + first) for part, first in zip(meshes, node_start)]
    at_points = {name: _flat("point_data", name, a, node_start[-1]) for name, a in (point_data or {}).items()}
    of_cells = {name: _flat("cell_data", name, a, element_start[-1]) for name, a in (cell_data or {}).items()}
    split = {name: np.split(array, element_start[1:-1]) for name, array in of_cells.items()}
    try:
        meshio.Mesh(places, cells, point_data=at_points, cell_data=split).write(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}): choose another place") from None


def _flat(what: str, name: str, given: Any, count: int) -> np.ndarray:
    """(count,) or (count, k): tensors in one row."""
    array = np.asarray(given)
    if array.ndim == 0 or len(array) != count:
        raise ProblemError(f"write_vtu: {what}[{name!r}] has shape {array.shape}, expected ({count}, …)")
    return array if array.ndim == 1 else array.reshape(count, -1)
