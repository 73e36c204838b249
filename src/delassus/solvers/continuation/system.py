"""A problem of contacts in units of its own, and the linear systems of a path: (Q + R (M + α I)) d = right.

Units: x = (μ λ_n, λ_t) and y = (w_n / μ, w_t), every block scaled to unit mobility and the free velocity to rms 1, so
that ε and α mean the same in every problem.
"""

import math

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.structural import SuperLu, structural_factor
from delassus.problem import Problem


class System:
    """M (n × n blocks) and q (3 n,) of v = M x + q; Q, R: (n, 3, 3), to be written before `solve` is called."""

    def __init__(self, problem: Problem):
        D, n = sp.csr_array(problem.delassus.matrix()), problem.contact_count
        unit = np.ones(3 * n)
        unit[::3] = 1.0 / problem.mu
        mobility = (D.diagonal() * unit * unit).reshape(n, 3).sum(axis=1) / 3.0
        unit /= np.repeat(np.sqrt(np.where(mobility > 0.0, mobility, 1.0)), 3)
        scaled = unit * problem.free_velocity
        self.speed = math.sqrt(float(scaled @ scaled) / max(len(scaled), 1)) or 1.0
        self.unit, self.q, self.contacts = unit, scaled / self.speed, n
        self._cut(sp.csr_array(sp.diags_array(unit) @ D @ sp.diags_array(unit)))
        self.Q, self.R = np.empty((n, 3, 3)), np.empty((n, 3, 3))

    def _cut(self, M: sp.csr_array) -> None:
        """Blocks of M on a pattern that is symmetric and has every block of the diagonal, and who factors it."""
        n, row = self.contacts, np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
        r, c, own = row // 3, M.indices // 3, np.arange(n)
        rows, columns = np.concatenate([r, c, own]), np.concatenate([c, r, own])
        pattern = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
        pattern.sort_indices()
        self.pointer, self.column = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
        self.blocks = np.zeros((len(self.column), 3, 3))
        key = np.repeat(own, np.diff(self.pointer)) * n + self.column
        np.add.at(self.blocks, (np.searchsorted(key, r * n + c), row % 3, M.indices % 3), M.data)
        self.starts = np.zeros(3 * n + 1, np.int32)
        self.starts[1:] = np.cumsum(np.repeat(3 * np.diff(self.pointer), 3))
        entries = np.empty(self.starts[-1], np.int32)
        _columns(self.pointer, self.column, self.starts, entries)
        self.factor = structural_factor(self.starts, entries)
        # PARDISO does not tell the sign of the determinant
        self.signed = self.factor if isinstance(self.factor, SuperLu) else SuperLu(self.starts, entries)

    def reactions(self, x: np.ndarray) -> np.ndarray:
        """λ (3 n,) [N s] of x."""
        return self.unit * x * self.speed

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (3 n,) of λ."""
        return reactions / self.unit / self.speed

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """M x + q, (3 n,)."""
        out = np.empty_like(x)
        _velocity(self.pointer, self.column, self.blocks, self.q, x, out)
        return out

    def solve(self, alpha: float, right: np.ndarray) -> np.ndarray:
        """(Q + R (M + α I))⁻¹ right, (3 n, k); NaN where the matrix is singular."""
        _fill(self.pointer, self.column, self.blocks, self.starts, self.Q, self.R, alpha, self.factor.values)
        if not self.factor.factor():
            return np.full_like(right, np.nan)
        return self.factor.solve(right)

    def sign(self) -> float:
        """Of the determinant of the matrix factored last; NaN where it is not known."""
        if self.signed is not self.factor:
            self.signed.values[:] = self.factor.values
            if not self.signed.factor():
                return math.nan
        lu = self.signed.lu
        if not (lu.perm_r == lu.perm_c).all():  # a pivot off the diagonal: the sign of a permutation would come in
            return math.nan
        return -1.0 if np.count_nonzero(lu.U.diagonal() < 0.0) % 2 else 1.0


@njit(cache=True)
def _columns(pointer, column, starts, out):
    """Columns (entries,) of the rows that begin at `starts` (3 n + 1,), of blocks in compressed rows."""
    for k in range(len(pointer) - 1):
        for i in range(3):
            o = starts[3 * k + i]
            for p in range(pointer[k], pointer[k + 1]):
                for j in range(3):
                    out[o] = 3 * column[p] + j
                    o += 1


@njit(cache=True, error_model="numpy")
def _fill(pointer, column, blocks, starts, Q, R, alpha, out):
    """Values (entries,) of Q + R (M + α I), in the order of `_columns`."""
    for k in range(len(pointer) - 1):
        for i in range(3):
            o = starts[3 * k + i]
            a, b, c = R[k, i, 0], R[k, i, 1], R[k, i, 2]
            for p in range(pointer[k], pointer[k + 1]):
                for j in range(3):
                    z = a * blocks[p, 0, j] + b * blocks[p, 1, j] + c * blocks[p, 2, j]
                    if column[p] == k:
                        z += Q[k, i, j] + alpha * R[k, i, j]
                    out[o] = z
                    o += 1


@njit(cache=True, error_model="numpy")
def _velocity(pointer, column, blocks, q, x, out):
    """out = M x + q, (3 n,)."""
    for k in range(len(pointer) - 1):
        for i in range(3):
            z = q[3 * k + i]
            for p in range(pointer[k], pointer[k + 1]):
                o = 3 * column[p]
                z += blocks[p, i, 0] * x[o] + blocks[p, i, 1] * x[o + 1] + blocks[p, i, 2] * x[o + 2]
            out[3 * k + i] = z
