"""meshio: a file of finite elements in, its points, cells and sets out. See run.py.

The files are in the folder; nothing else is opened from here on, see `confine` there.
"""

import contextlib
import io
from typing import Any

HDF5 = b"\x89HDF\r\n\x1a\n"
MOST_DECLARED = 64 << 20  # bytes of all arrays of an HDF5 file, and so many times its size:
MOST_PACKED = 200


def answer(request: dict[str, Any], files: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """points; cells0, cells1, … of blocks, whose kinds and dimensions are in the table; sets by number."""
    import numpy as np

    try:
        import meshio
    except ImportError:
        raise ImportError("meshes in files need meshio: pip install 'delassus[mesh]'") from None
    for name, content in files.items():
        if content.startswith(HDF5):
            check_hdf5(name, len(content))
    known = ", ".join(sorted(meshio.extension_to_filetypes))
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            given = meshio.read(request["main"])
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:  # it ends the program where the content is not what the name says
        what = str(error) if isinstance(error, Exception) else ""
        what = " ".join(what.split()) or "its content is not what its name says"
        raise ValueError(f"cannot be read as a mesh ({what}): give one of {known}") from None
    arrays: dict[str, Any] = {"points": numbers(given.points, float, "points")}
    blocks = []
    for k, block in enumerate(given.cells):
        cells = np.asarray(block.data, dtype=object if block.data.dtype == object else None)
        arrays[f"cells{k}"] = numbers(cells, np.int64, "cells") if cells.dtype != object else np.zeros((0, 1), np.int64)
        blocks.append([str(block.type), int(block.dim), len(block.data)])
    names: list[str] = []
    for name, members in sets_of(given):
        arrays[f"set{len(names)}"] = numbers(members, np.int64, "sets")
        names.append(str(name))
    return arrays, {"blocks": blocks, "sets": names}


def numbers(given: Any, kind: Any, what: str) -> Any:
    """As an array of that kind."""
    import numpy as np

    found = np.asarray(given)
    if found.dtype.kind not in "iuf" or (kind is not float and found.dtype.kind == "f" and (found % 1 != 0).any()):
        raise ValueError(f"its {what} are no numbers: write the file anew")
    return found.astype(kind)


def sets_of(given: Any) -> Any:
    """(name, numbers of points) of sets of points, sets of cells and Gmsh's physical groups."""
    import numpy as np

    for name, points in given.point_sets.items():
        yield name, np.asarray(points).ravel()
    for name, of_blocks in given.cell_sets.items():
        if not str(name).startswith("gmsh:"):  # which surfaces bound which volumes
            for block, cells in zip(given.cells, of_blocks):
                if cells is not None and len(cells):
                    yield name, block.data[inside(cells, block.data)].ravel()
    for name, (tag, dimension) in ((n, d) for n, d in given.field_data.items() if len(d) == 2):
        for block, tags in zip(given.cells, given.cell_data.get("gmsh:physical", [])):
            if block.dim == dimension and len(tags) == len(block.data):
                yield name, block.data[np.asarray(tags) == tag].ravel()


def inside(cells: Any, data: Any) -> Any:
    """Numbers of cells that are there."""
    import numpy as np

    found = numbers(cells, np.int64, "sets of cells")
    return found[(found >= 0) & (found < len(data))]


def check_hdf5(name: str, size: int) -> None:
    """Refuse links to other files and arrays that are larger than a file of that size holds, before they are read."""
    import h5py
    from h5py import h5d

    declared, seen = 0, 0
    with h5py.File(name, "r") as file:
        left = [file["/"]]
        while left:
            group = left.pop()
            for key in group:
                seen += 1
                link = group.get(key, getlink=True)
                if not isinstance(link, h5py.HardLink) or seen > 100_000:
                    raise ValueError(f"{name} holds links to elsewhere, or more arrays than any mesh: it is not read")
                node = group[key]
                if isinstance(node, h5py.Group):
                    left.append(node)
                    continue
                plist = node.id.get_create_plist()
                if plist.get_external_count() or plist.get_layout() == h5d.VIRTUAL:
                    raise ValueError(f"{name} keeps {key} in another file: store the data itself")
                declared += int(node.size or 0) * node.dtype.itemsize
                if declared > MOST_DECLARED + MOST_PACKED * size:
                    raise ValueError(f"{name} declares {declared >> 20} MB of arrays, which {size} bytes do not hold")
