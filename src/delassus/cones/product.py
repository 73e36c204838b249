"""The cone of a whole problem: K = R^{m_e} × R₊^{m_u} × Π K_{μ_k}, rows in that order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, real, shown, whole
from delassus.cones.coulomb import check_friction, project_coulomb, project_coulomb_dual
from delassus.errors import ProblemError
from delassus.kernel import njit

_MOST_ROWS = 10**9


@dataclass(frozen=True, eq=False)
class ProductCone:
    """Which rows of a problem are what.

    bilateral: sizes of the bilateral blocks, one per joint, (n_j,) [rows]; a plain integer means that many
        blocks of one row;
    unilateral: number of unilateral rows (limits);
    mu: (n_c,) friction coefficient per contact [-]; each contact has three rows (n, t₁, t₂).
    """

    bilateral: np.ndarray
    unilateral: int
    mu: np.ndarray
    # what follows from these, computed once
    bilateral_rows: int
    contact_count: int
    contact_start: int  # first row of the first contact
    row_count: int
    block_count: int  # joints, limits and contacts
    block_start: np.ndarray  # (block_count + 1,) first row of each block and, last, the number of rows
    block_area: int  # Σ d_k² over the rows d_k of each block

    def __init__(self, bilateral: ArrayLike = (), unilateral: int = 0, mu: ArrayLike = ()):
        sizes = _block_sizes(bilateral)
        found = real(mu)
        if found is None:
            raise ProblemError(f"mu is {shown(mu)}: give a friction coefficient for each contact, numbers")
        friction = np.ascontiguousarray(found, dtype=float).reshape(-1)
        unilateral = whole(unilateral, "unilateral")
        if unilateral > _MOST_ROWS or sizes.sum() > _MOST_ROWS:
            raise ProblemError(f"a cone has at most {_MOST_ROWS} rows of joints and as many limits: check their number")
        if not _are_sound(sizes, friction):
            check_friction(friction)
            raise ProblemError("bilateral holds a block of size below 1: leave empty joints out")
        self._fill(sizes, unilateral, friction)

    @classmethod
    def trusted(cls, bilateral: np.ndarray, unilateral: int, mu: np.ndarray) -> "ProductCone":
        """A cone from arrays known to be sound: a step builds one of these, and checking costs more than building."""
        out = cls.__new__(cls)
        out._fill(bilateral, unilateral, mu)
        return out

    def _fill(self, bilateral: np.ndarray, unilateral: int, mu: np.ndarray) -> None:
        block_count, contact_count = bilateral.size + unilateral + mu.size, mu.size
        block_start = np.empty(block_count + 1, dtype=np.int64)
        bilateral_rows, block_area = fill_block_start(bilateral, unilateral, block_start)
        contact_start = bilateral_rows + unilateral
        self.__dict__.update(
            bilateral=bilateral,
            unilateral=unilateral,
            mu=mu,
            bilateral_rows=bilateral_rows,
            contact_count=contact_count,
            contact_start=contact_start,
            row_count=contact_start + 3 * contact_count,
            block_count=block_count,
            block_start=block_start,
            block_area=block_area,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.row_count,)

    def with_friction(self, mu: ArrayLike) -> "ProductCone":
        """A copy with other friction coefficients."""
        return ProductCone(self.bilateral, self.unilateral, mu)

    def contains(self, x: ArrayLike, tol: float = 0.0) -> bool:
        """Is the distance of every block to its cone at most tol?"""
        return bool(np.all(self.distance(x) <= number(tol, "tol", "-")))

    def project(self, x: ArrayLike) -> np.ndarray:
        """P_K x, (m,)."""
        x = self._rows(x)
        out = np.empty_like(x)
        project_product(x, self.mu, self.bilateral_rows, self.unilateral, out)
        return out

    def project_dual(self, x: ArrayLike) -> np.ndarray:
        """P_K* x, (m,)."""
        x = self._rows(x)
        out = np.empty_like(x)
        project_product_dual(x, self.mu, self.bilateral_rows, self.unilateral, out)
        return out

    def distance(self, x: ArrayLike) -> np.ndarray:
        """‖x − P_K x‖ per block, (block_count,)."""
        if not self.block_count:
            return np.zeros(0)
        x = self._rows(x)
        square = (x - self.project(x)) ** 2
        return np.sqrt(np.add.reduceat(square, self.block_start[:-1]))

    def _rows(self, x: ArrayLike) -> np.ndarray:
        """One number per row, as kernels read them."""
        found = real(x)
        if found is None or found.shape != (self.row_count,):
            has = shown(x) if found is None else f"of shape {found.shape}"
            raise ProblemError(f"x is {has}, expected ({self.row_count},): one number per row")
        return np.ascontiguousarray(found, dtype=float)

    def __repr__(self) -> str:
        return (
            f"ProductCone({self.bilateral.size} joints of {self.bilateral_rows} rows, "
            f"{self.unilateral} limits, {self.contact_count} contacts)"
        )


def _block_sizes(bilateral: ArrayLike) -> np.ndarray:
    """(n_j,) int64 from sizes, or from a number of blocks of one row."""
    sizes = real(bilateral)
    if sizes is None or (sizes.size and (sizes % 1 != 0).any()):
        raise ProblemError(f"bilateral is {shown(bilateral)}: give the rows of each joint, or how many have one")
    if sizes.ndim == 0:
        if not 0 <= sizes <= _MOST_ROWS:
            raise ProblemError(f"bilateral is {shown(bilateral)}: give a number of rows from 0 to {_MOST_ROWS}")
        return np.ones(int(sizes), dtype=np.int64)
    return np.ascontiguousarray(np.clip(sizes, 0, _MOST_ROWS), dtype=np.int64).reshape(-1)


@njit(cache=True)
def fill_block_start(bilateral, unilateral, start):
    """Fills start, (block_count + 1,); returns the number of bilateral rows and the area of all blocks."""
    start[0] = area = 0
    joints = len(bilateral)
    for k in range(len(start) - 1):
        size = bilateral[k] if k < joints else 1 if k < joints + unilateral else 3
        start[k + 1] = start[k] + size
        area += size * size
    return start[joints], area


@njit(cache=True)
def _are_sound(sizes, mu):
    """No joint without rows, and friction that is finite and not negative?"""
    sound = True
    for k in range(len(sizes)):
        sound &= sizes[k] > 0
    for k in range(len(mu)):
        sound &= 0.0 <= mu[k] < np.inf
    return sound


@njit(cache=True)
def project_product(x, mu, bilateral, unilateral, out):
    """out = P_K x for the product cone with `bilateral` free rows, `unilateral` rows and len(mu) contacts."""
    for i in range(bilateral):
        out[i] = x[i]
    start = bilateral + unilateral
    for i in range(bilateral, start):
        out[i] = max(x[i], 0.0)
    for k in range(len(mu)):
        i = start + 3 * k
        out[i], out[i + 1], out[i + 2] = project_coulomb(x[i], x[i + 1], x[i + 2], mu[k])


@njit(cache=True)
def project_product_dual(x, mu, bilateral, unilateral, out):
    """out = P_K* x, same layout."""
    for i in range(bilateral):
        out[i] = 0.0
    start = bilateral + unilateral
    for i in range(bilateral, start):
        out[i] = max(x[i], 0.0)
    for k in range(len(mu)):
        i = start + 3 * k
        out[i], out[i + 1], out[i + 2] = project_coulomb_dual(x[i], x[i + 1], x[i + 2], mu[k])
