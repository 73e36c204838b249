"""What a problem is given: checked, each failure naming the field, what it has and what it should have; and which
storage of D it gets, the one place that chooses."""

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from delassus.arguments import real
from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.linalg.factor.dense_factor import FullFactor
from delassus.linalg.operators.delassus import FEW_ROWS, Delassus
from delassus.linalg.operators.matrix import MatrixDelassus, scatter
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import (
    FULL_VELOCITIES,
    ROUNDING,
    Factor,
    SparseDelassus,
    definite_factor,
    skew_part,
)
from delassus.linalg.operators.structure import rigid_blocks

Matrix: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
_MOST = 1e150  # of a vector's numbers
"""A matrix as a caller may give it, dense or sparse."""

_REMEMBERED = ("_has_canonical_format", "_has_sorted_indices")  # by SciPy, of entries that may have changed since
_NEGATIVE = 1e-12  # of the largest diagonal entry of D: what rounding may leave below zero
_SYMMETRY = 0.1  # real files are non-symmetric by up to 2 % (gyroscopic terms); beyond 10 % something else is wrong


def dual_storage(D: Matrix, cone: ProductCone) -> Delassus:
    """D itself, (m, m), dense or sparse."""
    full = _few(D, cone.row_count) if cone.row_count <= FEW_ROWS else None
    if full is not None:
        return MatrixDelassus(full)
    D = _sparse(D, "D", square=True)
    _check_size("D", D.shape[0], cone.row_count, "rows of the cone (3 per contact)")
    _check_diagonal(D)
    return MatrixDelassus(D)


def _few(D: Any, count: int) -> np.ndarray | None:
    """A copy of D in full, (count, count), without SciPy's objects, which take longer than a solve of so few rows; None
    where something is wrong, which is then named on the ordinary way."""
    if isinstance(D, sp.csr_array) and D.shape == (count, count) and D.data.dtype == np.float64:
        full = np.zeros(D.shape)
        return full if scatter(D.indptr, D.indices, D.data, full) and _is_sound(full) else None
    found = real(D.toarray() if sp.issparse(D) else D)
    if found is None or found.shape != (count, count):
        return None
    full = np.array(found, dtype=float, order="C")
    return full if _is_sound(full) else None


@njit(cache=True)
def _is_sound(D):
    """All of it finite, and the diagonal not negative beyond rounding?"""
    largest = lowest = 0.0
    for i in range(len(D)):
        for j in range(len(D)):
            if not math.isfinite(D[i, j]):
                return False
        largest, lowest = max(largest, abs(D[i, i])), min(lowest, D[i, i])
    return lowest >= -_NEGATIVE * largest


def rigid_storage(
    mass: ArrayLike, bodies: ArrayLike, rows: ArrayLike, cone: ProductCone, compliance: ArrayLike | None
) -> Delassus:
    """Rigid bodies.  mass: (n_b, 6, 6); bodies: (block_count, 2); rows: (m, 12); compliance: (m,) or None."""
    mass = _array(mass, "mass", (None, 6, 6))
    _check_mass_blocks(mass)
    bodies = _body_index(bodies, cone.block_count, len(mass))
    rows = _array(rows, "rows", (cone.row_count, 12))
    return RigidDelassus(mass, bodies, rows, cone.block_start, _compliance(compliance, cone.row_count))


def primal_storage(H: Matrix, J: Matrix, cone: ProductCone, compliance: ArrayLike | None) -> Delassus:
    """Rigid bodies where H is 6×6 block diagonal and no block of rows touches more than two bodies, sparse H and J
    otherwise.  H: (n, n); J: (m, n); compliance: (m,) or None."""
    H = _sparse(H, "H", square=True)
    J = _sparse(J, "J")
    _check_size("J", J.shape[0], cone.row_count, "rows of the cone (3 per contact)")
    _check_size("J", J.shape[1], H.shape[0], "columns, one per row of H")
    compliance = _compliance(compliance, cone.row_count)
    blocks = rigid_blocks(H, J, cone.block_start)
    if blocks is None:
        return SparseDelassus(H, J, compliance, _factored(H))
    mass, bodies, rows = blocks
    _check_mass_blocks(mass)
    return RigidDelassus(mass, bodies, rows, cone.block_start, compliance)


def free_velocity_of(delassus: Delassus, p: ArrayLike | None, u_f: ArrayLike | None) -> np.ndarray:
    """u_f, (n,), given itself or as the momentum p = H u_f, (n,)."""
    if u_f is not None and p is not None:
        raise ProblemError("p and u_f are given both, and H u_f = p makes one of the other: leave one of them out")
    if u_f is None:
        u_f = delassus.mass_solve(vector(p, "p", delassus.velocity_count))
    return vector(u_f, "u_f", delassus.velocity_count)


def _array(value: Any, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """value as a contiguous float array of that shape (None: any length), all finite."""
    found = real(value)
    if found is None:
        raise ProblemError(f"{name} is not an array of numbers: give shape {_text(shape)}")
    out = np.ascontiguousarray(found, dtype=float)
    if len(out.shape) != len(shape) or any(want not in (None, has) for has, want in zip(out.shape, shape)):
        raise ProblemError(f"{name} has shape {out.shape}, expected {_text(shape)}")
    _refuse_infinite(out, name)
    return out


def vector(value: Any, name: str, count: int) -> np.ndarray:
    """value as a finite vector of that length, copied: what is packed for small solves would not follow changes."""
    if value is None:
        raise ProblemError(f"{name} is missing: give {count} numbers")
    out = _array(value, name, (count,))
    if not np.abs(out).max(initial=0.0) < _MOST:
        where = int(np.argmax(np.abs(out)))
        raise ProblemError(f"{name}[{where}] is {out[where]:.3g}: squares of such numbers overflow, choose other units")
    return out.copy() if out is value or out.base is not None else out


def _refuse_infinite(values: np.ndarray, name: str) -> None:
    """Refuse NaN and Inf, naming the first bad entry."""
    if not np.isfinite(values).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ProblemError(f"{name}{list(where)} is {values[where]}: every entry must be finite")


def _sparse(value: Any, name: str, *, square: bool = False) -> sp.csr_array:
    """value as a sorted compressed-row matrix without duplicates, all finite."""
    if not sp.issparse(value):
        value = _array(value, name, (None, None))
    elif value.dtype.kind not in "biuf":
        raise ProblemError(f"{name} is of {value.dtype}, expected real numbers")
    is_ready = isinstance(value, sp.csr_array) and value.dtype == np.float64
    out = _copied(value) if is_ready else sp.csr_array(value).astype(float)
    if out.has_canonical_format is False:
        out = out.copy()
        out.sum_duplicates()
    if square and out.shape[0] != out.shape[1]:
        raise ProblemError(f"{name} has shape {out.shape}, expected a square matrix")
    _refuse_infinite(out.data, f"{name}.data")
    return out


def _copied(value: sp.csr_array) -> sp.csr_array:
    """A copy, without SciPy's checks of what it made itself, which take longer than a small problem."""
    out = copy(value)
    out.data, out.indices, out.indptr = value.data.copy(), value.indices.copy(), value.indptr.copy()
    for name in _REMEMBERED:
        out.__dict__.pop(name, None)
    return out


def _check_size(name: str, has: int, want: int, what: str) -> None:
    """Refuse a matrix whose size contradicts the rest."""
    if has != want:
        raise ProblemError(f"{name} has size {has}, expected {want} {what}")


def _compliance(value: Any, count: int) -> np.ndarray | None:
    """The diagonal of E: finite and not negative; None stays None."""
    if value is None:
        return None
    out = vector(value, "compliance", count)
    if (out < 0).any():
        k = int(np.argmax(out < 0))
        raise ProblemError(f"compliance[{k}] is {out[k]}: compliance must not be negative")
    return out


def _body_index(bodies: Any, count: int, body_count: int) -> np.ndarray:
    """The two bodies of each block: integers, −1 for the world, no body twice."""
    found = real(bodies)
    if found is None or (found.size and (found % 1 != 0).any()):
        raise ProblemError(f"bodies is no array of whole numbers: give shape ({count}, 2)")
    out = np.ascontiguousarray(np.clip(found, -2, body_count), dtype=np.int64)
    if out.shape != (count, 2):
        raise ProblemError(f"bodies has shape {out.shape}, expected ({count}, 2): two bodies per joint, limit, contact")
    if count and (out.min() < -1 or out.max() >= body_count):
        k = int(np.argmax((out < -1).any(axis=1) | (out >= body_count).any(axis=1)))
        raise ProblemError(f"bodies[{k}] is {found[k].tolist()}: indices run from -1 (world) to {body_count - 1}")
    twice = (out[:, 0] == out[:, 1]) & (out[:, 0] >= 0)
    if twice.any():
        raise ProblemError(f"bodies[{int(np.argmax(twice))}] names the same body twice: use -1 for the world")
    return out


def _check_diagonal(D: sp.csr_array) -> None:
    """A positive semi-definite matrix has no negative diagonal entry (the cheap half of the test)."""
    diagonal = D.diagonal()
    bad = diagonal < -_NEGATIVE * np.abs(diagonal).max(initial=0.0)
    if bad.any():
        k = int(np.argmax(bad))
        raise ProblemError(f"D[{k}, {k}] is {diagonal[k]}: D must be positive semi-definite; check signs")


def _check_mass_blocks(mass: np.ndarray) -> None:
    """Every mass block has a positive definite symmetric part and is nearly symmetric."""
    half = 0.5 * (mass + mass.transpose(0, 2, 1))
    skew = np.abs(mass - mass.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
    scale = np.abs(mass).max(axis=(1, 2), initial=0.0)
    if (skew > _SYMMETRY * scale).any():
        k = int(np.argmax(skew > _SYMMETRY * scale))
        raise ProblemError(f"H: the mass block of body {k} is not symmetric: check the inertia tensor")
    try:
        np.linalg.cholesky(half)
    except np.linalg.LinAlgError:
        worst = int(np.argmin(np.linalg.eigvalsh(half)[:, 0]))
        raise ProblemError(
            f"H is not positive definite: the mass block of body {worst} has a non-positive eigenvalue; "
            "check its mass and inertia"
        ) from None


def _factored(H: sp.csr_array) -> Factor | None:
    """H factored, which must be positive definite in its symmetric part; None where H is not symmetric, and its own
    factors are not those of that part."""
    factor: Factor | None
    full = np.zeros(H.shape) if H.shape[0] <= FULL_VELOCITIES else None
    if full is not None:
        scatter(H.indptr, H.indices, H.data, full)
        skew, largest = _skew_of_full(full)
    else:
        skew, largest = skew_part(H.indptr, H.indices, H.data)
    if skew > _SYMMETRY * largest:
        raise ProblemError("H is not symmetric: entries differ from their mirror image by more than 10 %")
    is_symmetric = skew <= ROUNDING * largest
    if full is not None:
        factor = FullFactor.symmetric(full if is_symmetric else 0.5 * (full + full.T))
    else:
        half = H if is_symmetric else sp.csr_array(0.5 * (H + H.T))
        factor = definite_factor(half, is_exact=skew == 0.0)
    if factor is None:
        raise ProblemError("H is not positive definite: check masses and stiffness signs")
    return factor if is_symmetric else None


@njit(cache=True)
def _skew_of_full(H):
    """`skew_part` of a matrix held in full."""
    skew = largest = 0.0
    for i in range(len(H)):
        for j in range(i + 1):
            skew = max(skew, abs(H[i, j] - H[j, i]))
            largest = max(largest, abs(H[i, j]), abs(H[j, i]))
    return skew, largest


def _text(shape: Sequence[int | None]) -> str:
    return "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
