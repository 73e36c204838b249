"""Meshes from files and results to files, by the optional package meshio, which knows some forty formats."""

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from delassus.arguments import positive, truth
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.fem.elements import Elements
from delassus.fem.kinds import KINDS
from delassus.fem.mesh import Mesh
from delassus.foreign.child import ask
from delassus.foreign.files import Files
from delassus.io.files import path_of
from delassus.io.place import beside, label

MOST_BYTES = 1 << 30  # of a file: twice that of a mesh of as many elements as are allowed, in text
_MISSING = "meshes in files need meshio: pip install 'delassus[mesh]'"
_LONGEST = 20  # characters of an ending
_NAMES = (
    re.compile(rb"(?im)^[ \t]*\*INCLUDE[^\n]*?INPUT[ \t]*=[ \t]*([^\s,]{1,500})"),  # Abaqus
    re.compile(rb"<DataItem\b[^>]*HDF[^>]*>\s*([^<:]{1,500})"),  # XDMF: name.h5:/where
    re.compile(rb"<DataItem\b[^>]*Binary[^>]*>\s*([^<]{1,500})"),
)
"""Where files name others."""
_BY_NAME = {kind.name: kind for kind in KINDS.values()}


def _meshio() -> Any:
    try:
        import meshio
    except ImportError:
        raise SettingsError(_MISSING) from None
    return meshio


def read_mesh(path: str | os.PathLike[str], scale: float = 1.0, orient: bool = False) -> Mesh:
    """A mesh from a file of any format that meshio reads (Gmsh .msh, Abaqus .inp, .vtk, .vtu, Medit .mesh, Nastran
    .bdf, …). Its cells must be tetrahedra, all linear or all quadratic; sets of points, sets of cells and Gmsh's
    physical groups become sets of nodes, those of triangles and lines, too, and points that no tetrahedron has are left
    out. Files that it names are read from its own folder and those below.

    scale: metres of one unit of the file, 1e-3 for mm; orient: as of `Mesh`."""
    if find_spec("meshio") is None:
        raise SettingsError(_MISSING)
    path = path_of(path, "read_mesh")
    positive("read_mesh", scale=scale)
    truth(orient, "read_mesh: orient")
    who, files = label(path), Files(path, most=MOST_BYTES)
    main = f"mesh{''.join(path.suffixes[-2:])[-_LONGEST:]}"
    files.content[main] = files.read(path, repr(label(path.name)))
    _take_others(files, main)
    arrays, table = ask("read_meshio", who, {"main": main}, files.content, on_disk=True)
    points = arrays["points"]
    if points.ndim != 2 or points.shape[1] != 3:
        raise FileError(f"{who}: its points have {points.shape[-1]} coordinates, expected 3: give a mesh of a solid")
    cells = [(kind, dimension, arrays[f"cells{k}"]) for k, (kind, dimension, _) in enumerate(table["blocks"])]
    tetrahedra = _tetrahedra(who, cells)
    used, elements = np.unique(tetrahedra, return_inverse=True)
    if used[0] < 0 or used[-1] >= len(points):
        raise FileError(f"{who}: a cell names point {used[-1]}, but there are {len(points)}: write the file anew")
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    found: dict[str, list[np.ndarray]] = {}
    for k, name in enumerate(table["sets"]):
        found.setdefault(name, []).append(arrays[f"set{k}"].ravel())
    sets = {}
    for name, parts in found.items():
        chosen = np.unique(np.concatenate(parts))
        kept = number[chosen[(chosen >= 0) & (chosen < len(points))]]
        if (kept >= 0).any():
            sets[name] = kept[kept >= 0]
    try:
        return Mesh(float(scale) * points[used], elements.reshape(tetrahedra.shape), sets, orient=orient)
    except ProblemError as error:
        raise ProblemError(f"{who}: {error}") from None


def _take_others(files: Files, main: str) -> None:
    """The files that the content of others names, and those that belong to it by their names."""
    for first, second in ((".node", ".ele"), (".ele", ".node")):
        if files.path.suffix == first:
            other = files.path.with_suffix(second)
            files.content[f"{main[: -len(first)]}{second}"] = files.read(other, repr(label(other.name)))
    left = [main]
    while left:
        content = files.content[left.pop()]
        for found in {name for pattern in _NAMES for name in pattern.findall(content)}:
            name = found.decode(errors="replace").strip()
            what = f"the file {label(name)!r}, which it names,"
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise FileError(f"{label(files.path)}: {what} is outside its folder: put it there")
            if name not in files.content:
                files.content[name] = files.read(files.find(name, what), what)
                left.append(name)


def _tetrahedra(who: str, cells: list[tuple[str, int, np.ndarray]]) -> np.ndarray:
    """All elements (e, N); refused: none, two kinds, other solids."""
    found = {kind for kind, _, data in cells if kind in _BY_NAME and len(data)}
    others = {kind: len(data) for kind, dimension, data in cells if dimension == 3 and kind not in _BY_NAME}
    if others:
        named = ", ".join(f"{count} {kind}" for kind, count in others.items())
        raise FileError(f"{who}: has cells that are no tetrahedra ({named}): divide them into tetrahedra")
    if not found:
        named = ", ".join(sorted({kind for kind, _, _ in cells})) or "no cells"
        raise FileError(f"{who}: has no tetrahedra, only {named}: mesh the solid, not its surface")
    if len(found) > 1:
        raise FileError(f"{who}: has linear and quadratic tetrahedra: write it with one kind")
    width = _BY_NAME[next(iter(found))].nodes
    blocks = [data for kind, _, data in cells if kind in found]
    if any(data.ndim != 2 or data.shape[1] != width for data in blocks):
        raise FileError(f"{who}: has tetrahedra of other than {width} nodes: write the file anew")
    return np.concatenate(blocks)


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
        with beside(path) as name:
            meshio.Mesh(places, cells, point_data=at_points, cell_data=split).write(name)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}): choose another place") from None


def _flat(what: str, name: str, given: Any, count: int) -> np.ndarray:
    """(count,) or (count, k): tensors in one row."""
    array = np.asarray(given)
    if array.ndim == 0 or len(array) != count:
        raise ProblemError(f"write_vtu: {what}[{name!r}] has shape {array.shape}, expected ({count}, …)")
    return array if array.ndim == 1 else array.reshape(count, -1)
