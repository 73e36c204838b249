"""Does an FCLIB problem make sense? One list of rules for files to be read and for arrays to be written.

Sizes are judged from declared lengths alone, so a reader can refuse a file before it allocates anything. Each function
yields faults, worst first, as text that starts with the field and ends with the fix; callers report the first one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delassus.io.fclib.file import (
    BILATERAL,
    CSC,
    CSR,
    MATRICES,
    VECTORS,
    FclibFile,
    FclibMatrix,
    Form,
    Vector,
    point_vectors,
)

INT_MAX = 2**31 - 1  # sizes, pointers and indices are C ints in libfclib


@dataclass(frozen=True)
class MatrixSize:
    """The four numbers of a matrix's header and the lengths of its three arrays."""

    m: int
    n: int
    nz: int
    nzmax: int
    p: int
    i: int
    x: int

    @classmethod
    def of(cls, matrix: FclibMatrix) -> "MatrixSize":
        return cls(matrix.m, matrix.n, matrix.nz, matrix.nzmax, len(matrix.p), len(matrix.i), len(matrix.x))


@dataclass(frozen=True)
class Sizes:
    """Everything about a file that has a size: matrices and vectors by name, points by group and then name."""

    form: Form
    spacedim: int
    matrices: dict[str, MatrixSize]
    vectors: dict[str, int]
    points: dict[str, dict[str, int]]

    @classmethod
    def of(cls, file: FclibFile) -> "Sizes":
        points = {group: _lengths(point_vectors(point)) for group, point in file.points().items()}
        matrices = {name: MatrixSize.of(matrix) for name, matrix in file.matrices().items()}
        return cls(file.form, file.spacedim, matrices, _lengths(file.vectors()), points)


def size_faults(sizes: Sizes) -> Iterator[str]:
    """What is missing, and which lengths contradict each other."""
    root = f"fclib_{sizes.form}"
    if sizes.spacedim != 3:
        yield f"{root}/spacedim is {sizes.spacedim}: only 3-D contact is supported (2-D is not), expected 3"
    missing = list(_missing(sizes))
    yield from missing
    if missing:
        return
    for name, size in sizes.matrices.items():
        yield from _matrix_size_faults(f"{root}/{name}", size)
    yield from _local_faults(sizes) if sizes.form == "local" else _global_faults(sizes)


def value_faults(file: FclibFile) -> Iterator[str]:
    """Indices out of range, pointers out of order, numbers not finite, negative friction. Sizes must be right."""
    root = f"fclib_{file.form}"
    for name, matrix in file.matrices().items():
        yield from _matrix_value_faults(f"{root}/{name}", matrix)
    for name, vector in file.vectors().items():
        yield from _finite_faults(f"{root}/vectors/{name}", vector)
    if np.any(file.mu < 0):
        worst = int(np.argmin(file.mu))
        yield f"{root}/vectors/mu[{worst}] is {file.mu[worst]:g}: friction coefficients must not be negative"
    for group, point in file.points().items():
        for name, vector in point_vectors(point).items():
            yield from _finite_faults(f"{group}/{name}", vector)


def _lengths(vectors: dict[str, Vector]) -> dict[str, int]:
    return {name: len(vector) for name, vector in vectors.items()}


def _missing(sizes: Sizes) -> Iterator[str]:
    root = f"fclib_{sizes.form}"
    places = {name: f"{root}/{name}" for name in MATRICES[sizes.form]}
    places |= {name: f"{root}/vectors/{name}" for name in VECTORS[sizes.form]}
    bilateral = BILATERAL[sizes.form]
    present = {*sizes.matrices, *sizes.vectors}
    for name, place in places.items():
        if name not in present and name not in bilateral:
            yield f"{place} is missing: every {sizes.form} problem needs it"
    if present & set(bilateral):
        for name in bilateral:
            if name not in present:
                yield f"{places[name]} is missing: give {', '.join(bilateral)} together or none of them"


def _matrix_size_faults(field: str, size: MatrixSize) -> Iterator[str]:
    for name in ("m", "n", "nzmax"):
        value = getattr(size, name)
        if not 0 <= value <= INT_MAX:
            yield f"{field}/{name} is {value}: a size must be in 0..{INT_MAX}"
    if not CSR <= size.nz <= INT_MAX:
        yield f"{field}/nz is {size.nz}: expected -2 (compressed rows), -1 (compressed columns) or a number of triplets"
    if size.nz in (CSR, CSC):
        lines, word = (size.m, "row") if size.nz == CSR else (size.n, "column")
        if size.p != lines + 1:
            yield f"{field}/p has {size.p} entries, expected {lines + 1}: one pointer per {word} and one more"
        if size.i != size.x:
            yield f"{field}/i has {size.i} entries and x has {size.x}: one index per value"
    else:
        if size.nz > size.nzmax:
            yield f"{field}/nzmax is {size.nzmax}, less than nz = {size.nz}: it must be at least nz"
        for name in ("p", "i", "x"):
            if getattr(size, name) < size.nz:
                yield f"{field}/{name} has {getattr(size, name)} entries, expected {size.nz}: one per triplet (nz)"
    for name in ("i", "x"):
        if getattr(size, name) > size.nzmax:
            yield f"{field}/{name} has {getattr(size, name)} entries, more than nzmax = {size.nzmax}: raise nzmax"
    if size.nz >= 0 and size.p > size.nzmax:
        yield f"{field}/p has {size.p} entries, more than nzmax = {size.nzmax}: raise nzmax"


def _local_faults(sizes: Sizes) -> Iterator[str]:
    W = sizes.matrices["W"]
    why = f"(W is {W.m} x {W.n})"
    rows = sizes.vectors.get("s", 0)
    yield from _square_faults("fclib_local/W", W)
    yield from _contact_faults("fclib_local/W has", W.m, "rows")
    yield from _vector_faults("fclib_local/vectors/q", sizes.vectors["q"], W.m, why, "one entry per row of W")
    yield from _mu_faults("fclib_local", sizes.vectors["mu"], W.m // 3, why)
    if "V" in sizes.matrices:
        yield from _shape_faults("fclib_local/V", sizes.matrices["V"], W.m, rows, "rows of W x entries of s")
        yield from _shape_faults("fclib_local/R", sizes.matrices["R"], rows, rows, "entries of s, square")
    yield from _point_faults(sizes, {"v": 0, "u": W.m, "r": W.m, "l": rows, "r_low": W.m, "l_low": rows}, why)


def _global_faults(sizes: Sizes) -> Iterator[str]:
    M, H = sizes.matrices["M"], sizes.matrices["H"]
    why = f"(M is {M.m} x {M.n}, H is {H.m} x {H.n})"
    rows = sizes.vectors.get("b", 0)
    yield from _square_faults("fclib_global/M", M)
    yield from _contact_faults("fclib_global/H has", H.n, "columns")
    yield from _shape_faults("fclib_global/H", H, M.m, H.n, "rows of M x 3 per contact")
    yield from _vector_faults("fclib_global/vectors/f", sizes.vectors["f"], M.m, why, "one entry per row of M")
    yield from _vector_faults("fclib_global/vectors/w", sizes.vectors["w"], H.n, why, "one entry per column of H")
    yield from _mu_faults("fclib_global", sizes.vectors["mu"], H.n // 3, why)
    if "G" in sizes.matrices:
        yield from _shape_faults("fclib_global/G", sizes.matrices["G"], M.m, rows, "rows of M x entries of b")
    yield from _point_faults(sizes, {"v": M.m, "u": H.n, "r": H.n, "l": rows, "r_low": H.n, "l_low": rows}, why)


def _square_faults(field: str, size: MatrixSize) -> Iterator[str]:
    if size.m != size.n:
        yield f"{field} is {size.m} x {size.n}: it must be square"


def _contact_faults(start: str, count: int, word: str) -> Iterator[str]:
    if count % 3:
        yield f"{start} {count} {word}, not a multiple of 3: each contact takes three, normal first"


def _shape_faults(field: str, size: MatrixSize, m: int, n: int, fix: str) -> Iterator[str]:
    if (size.m, size.n) != (m, n):
        yield f"{field} is {size.m} x {size.n}, expected {m} x {n}: {fix}"


def _vector_faults(field: str, length: int, expected: int, why: str, fix: str) -> Iterator[str]:
    if length != expected:
        yield f"{field} has {length} entries, expected {expected} {why}: {fix}"


def _mu_faults(root: str, length: int, expected: int, why: str) -> Iterator[str]:
    yield from _vector_faults(f"{root}/vectors/mu", length, expected, why, "one friction coefficient per contact")


def _point_faults(sizes: Sizes, expected: dict[str, int], why: str) -> Iterator[str]:
    for group, lengths in sizes.points.items():
        for name, length in lengths.items():
            yield from _vector_faults(f"{group}/{name}", length, expected[name], why, "as long as in the problem")


def _matrix_value_faults(field: str, matrix: FclibMatrix) -> Iterator[str]:
    if matrix.nz < 0:
        pointers = matrix.p.astype(np.int64)
        steps = np.diff(pointers)
        if pointers[0] != 0:
            yield f"{field}/p[0] is {pointers[0]}: pointers must start at 0"
        elif np.any(steps < 0):
            yield f"{field}/p decreases after p[{int(np.argmax(steps < 0))}]: pointers must never decrease"
        elif pointers[-1] > len(matrix.i):
            yield f"{field}/p ends at {pointers[-1]} but i has {len(matrix.i)} entries: the last pointer counts them"
        else:
            limit, word = (matrix.n, "columns") if matrix.nz == CSR else (matrix.m, "rows")
            yield from _index_faults(f"{field}/i", matrix.trimmed().i, limit, word)
            yield from _finite_faults(f"{field}/x", matrix.trimmed().x)
        return
    part = matrix.trimmed()
    yield from _index_faults(f"{field}/p", part.p, matrix.n, "columns")
    yield from _index_faults(f"{field}/i", part.i, matrix.m, "rows")
    yield from _finite_faults(f"{field}/x", part.x)


def _index_faults(field: str, index: np.ndarray, limit: int, word: str) -> Iterator[str]:
    outside = (index < 0) | (index >= limit)
    if np.any(outside):
        first = int(np.argmax(outside))
        yield f"{field}[{first}] is {index[first]}: the matrix has {limit} {word}, indices count from 0"


def _finite_faults(field: str, values: Vector) -> Iterator[str]:
    bad = ~np.isfinite(values)
    if np.any(bad):
        first = int(np.argmax(bad))
        yield f"{field}[{first}] is {values[first]}: every number must be finite"
