"""FCLIB HDF5 file -> `FclibFile`; the file may be damaged or hostile."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from delassus.io.fclib.check import MatrixSize, Sizes, size_faults, value_faults
from delassus.io.fclib.file import (
    MATRICES,
    POINT,
    VECTORS,
    FclibFile,
    FclibInfo,
    FclibMatrix,
    FclibMatrixInfo,
    FclibPoint,
    Form,
)
from delassus.io.fclib.source import Source

MAX_BYTES = 4 * 1024**3  # the largest published FCLIB problems need a few hundred MB


def read_fclib(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> FclibFile:
    """Read and check one FCLIB problem, local or global, with its guesses and solution.

    path: an HDF5 file. max_bytes: budget for all arrays of the file together [bytes]; what the file declares is held
    against it before anything is allocated. Raises `FileError` (one line: file, field, fix) for anything but a
    consistent, finite, three-dimensional problem. Zero contacts are legal. Arrays are fresh and writable. Rare damage
    to HDF5's own tables crashes libhdf5 whatever we do: read files from strangers in a process you can lose.

    raw = read_fclib("pile.hdf5")
    W = raw.W.to_csr()
    """
    with Source(path, max_bytes) as source:
        sizes = _sizes(source, _form(source))
        _report(source, size_faults(sizes))
        file = _file(source, sizes)
        _report(source, value_faults(file))
    parts: dict[str, Any] = {name: matrix.trimmed() for name, matrix in file.matrices().items()}
    return replace(file, **parts)


def _report(source: Source, faults: Iterable[str]) -> None:
    for fault in faults:
        source.fail(fault)


def _form(source: Source) -> Form:
    is_local, is_global = source.has("fclib_local"), source.has("fclib_global")
    if is_local and is_global:
        source.fail("fclib_local and fclib_global are both there: keep one problem per file")
    if not is_local and not is_global:
        source.fail("fclib_local or fclib_global is missing: this HDF5 file holds no FCLIB problem")
    return "local" if is_local else "global"


def _sizes(source: Source, form: Form) -> Sizes:
    """Headers and declared lengths; no array is read."""
    root = f"fclib_{form}"
    spacedim = source.integer(f"{root}/spacedim")
    matrices = {}
    for name in MATRICES[form]:
        if source.has(f"{root}/{name}"):
            header = [source.integer(f"{root}/{name}/{key}") for key in ("m", "n", "nz", "nzmax")]
            lengths = [source.length(f"{root}/{name}/{key}") for key in ("p", "i", "x")]
            matrices[name] = MatrixSize(*header, *lengths)
    vectors = _lengths(source, f"{root}/vectors", VECTORS[form])
    points = {group: _lengths(source, group, POINT) for group in _point_groups(source)}
    return Sizes(form, spacedim, matrices, vectors, points)


def _lengths(source: Source, group: str, names: tuple[str, ...]) -> dict[str, int]:
    return {name: source.length(f"{group}/{name}") for name in names if source.has(f"{group}/{name}")}


def _point_groups(source: Source) -> list[str]:
    groups = ["solution"] if source.has("solution") else []
    if not source.has("guesses"):
        return groups
    count = source.integer("guesses/number_of_guesses")
    if count < 0:
        source.fail(f"guesses/number_of_guesses is {count}: it must not be negative")
    for number in range(1, count + 1):  # a lie about the count ends at the first guess that is not there
        if not source.has(f"guesses/{number}"):
            source.fail(f"guesses/{number} is missing: number_of_guesses is {count}")
        groups.append(f"guesses/{number}")
    return groups


def _file(source: Source, sizes: Sizes) -> FclibFile:
    root = f"fclib_{sizes.form}"
    matrices = {name: _matrix(source, f"{root}/{name}", size) for name, size in sizes.matrices.items()}
    vectors = {name: source.reals(f"{root}/vectors/{name}") for name in sizes.vectors}
    points = {
        group: FclibPoint(**{name: source.reals(f"{group}/{name}") for name in lengths})
        for group, lengths in sizes.points.items()
    }
    solution = points.pop("solution", None)
    names = ("title", "description", "math_info")
    info = FclibInfo(**{name: _optional_text(source, f"{root}/info/{name}") for name in names})
    parts: dict[str, Any] = {**matrices, **vectors, "guesses": tuple(points.values()), "solution": solution}
    return FclibFile(sizes.form, spacedim=sizes.spacedim, info=info, **parts)


def _matrix(source: Source, field: str, size: MatrixSize) -> FclibMatrix:
    p, i, x = source.integers(f"{field}/p"), source.integers(f"{field}/i"), source.reals(f"{field}/x")
    return FclibMatrix(size.m, size.n, size.nz, size.nzmax, p, i, x, _matrix_info(source, field))


def _matrix_info(source: Source, field: str) -> FclibMatrixInfo | None:
    """libfclib writes the three numbers together and the comment only beside them."""
    if not any(source.has(f"{field}/{name}") for name in ("conditioning", "determinant", "rank")):
        return None
    return FclibMatrixInfo(
        conditioning=source.real(f"{field}/conditioning"),
        determinant=source.real(f"{field}/determinant"),
        rank=source.integer(f"{field}/rank"),
        comment=_optional_text(source, f"{field}/comment"),
    )


def _optional_text(source: Source, field: str) -> str | None:
    return source.text(field) if source.has(field) else None
