"""The leading rows of a dense system eliminated: what limits and contacts see of the joints.

With λ_b = −D_bb⁺ (D_bc λ_c + v_b), the rows behind see D_cc − D_cb D_bb⁺ D_bc and v_c − D_cb D_bb⁺ v_b, a smaller
problem of the same kind. Redundant rows make D_bb singular; the pseudo-inverse then gives the smallest λ_b (see
`DenseInverse`).

`Elimination` is for any size; `carry` and `subtract_carried` do the same inside compiled code, where small problems are
formed, solved and judged in one call. A test holds the two against each other.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT, folded
from delassus.linalg.factor.dense_inverse import (
    PIVOT,
    DenseInverse,
    is_symmetric,
    null_rows,
    pivoted_cholesky,
    solve_columns,
)

CARRY_ROWS = 60  # leading rows up to which `carry` beats LAPACK behind Python

# Part of a row's own mobility below which what elimination leaves of it is rounding: 1e-16 to 4e-11 were seen where the
# joints hold it altogether, and 1e-9 where they do not.
_HELD = 1e-10


class Elimination:
    """D: (m, m) and v: (m,) of the rows behind the first `count` [1/kg, m/s]; `write_leading` gives the rest back."""

    def __init__(self, D: np.ndarray, v: np.ndarray, count: int):
        b = self.count = count
        self.D, self.v = D, v
        if b:
            self.D_leading, self.coupling, self.v_leading = np.ascontiguousarray(D[:b, :b]), D[:b, b:], v[:b]
            self.inverse = DenseInverse(self.D_leading)
            self.D, self.v = D[b:, b:], v[b:]
        if b and len(self.v):
            carried = self.inverse.solve(np.column_stack([self.coupling, self.v_leading]))
            self.D = self.D - D[b:, :b] @ carried[:, :-1]
            self.v = self.v - D[b:, :b] @ carried[:, -1]
            # rows that the joints hold keep nothing but rounding, of either sign
            held = self.D.diagonal() <= _HELD * D.diagonal()[b:]
            self.D[held], self.D[:, held] = 0.0, 0.0

    def write_leading(self, reactions: np.ndarray) -> None:
        """Fill reactions[:count] with what goes with those behind; refined once."""
        b = self.count
        if b:
            push = self.coupling @ reactions[b:] + self.v_leading if len(self.v) else self.v_leading
            reactions[:b] = 0.0  # what a guess holds in redundant directions could not be removed again
            for _ in range(2):
                reactions[:b] -= self.inverse.solve(self.D_leading @ reactions[:b] + push)


@njit(cache=True, error_model="numpy")
def subtract_carried(D, v, carried, D_behind, v_behind):
    """D_cc − D_cb carried and v_c − D_cb carried_v."""
    b, m = len(carried), len(v_behind)
    for i in range(m):
        v_behind[i] = v[b + i]
        for j in range(m):
            D_behind[i, j] = D[b + i, b + j]
        for k in range(b):
            f = D[b + i, k]
            if f != 0.0:
                v_behind[i] -= f * carried[k, m]
                for j in range(m):
                    D_behind[i, j] -= f * carried[k, j]


@njit(cache=True, error_model="numpy")
def carry(D, v, carried):
    """carried = D_bb⁺ [D_bc, v_b], refined once; False, and nothing written, where D_bb is not symmetric."""
    n, columns = carried.shape
    return carry_in(D, v, carried, np.empty(carry_room(n, columns)), np.empty(n, np.int64))


@njit(cache=True, **NO_REFCOUNT)
def carry_room(n, columns):
    """Numbers that `carry_in` needs as scratch."""
    return n * (2 * n + 2 + columns)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def carry_in(D, v, carried, room, order):
    """`carry` without allocating.  room: of `carry_room`, order: (n,), scratch."""
    n, columns = carried.shape
    if not is_symmetric(D, n):
        return False
    at = 2 * n * n
    A, N, scale = folded(room, n, n), room[n * n : at], room[at : at + n]
    left, y = room[at + n : at + 2 * n], folded(room[at + 2 * n :], n, columns)
    for i in range(n):  # unit diagonals, or the rows of heavy bodies look redundant beside those of light ones
        scale[i] = 1.0 / math.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = scale[i] * scale[j] * D[i, j]
    rank = pivoted_cholesky(A, order, left, PIVOT)
    null = folded(N, n - rank, n)
    null_rows(A, rank, null)
    for attempt in range(2):
        for i in range(n):
            p = order[i]
            for c in range(columns):
                y[i, c] = v[p] if c == columns - 1 else D[p, n + c]
            if attempt == 1 and columns == 1:  # loops over columns would be loops over one number
                y[i, 0] -= _row_times(D, p, carried)
            elif attempt == 1:
                for k in range(n):
                    f = D[p, k]
                    for c in range(columns):
                        y[i, c] -= f * carried[k, c]
            for c in range(columns):
                y[i, c] *= scale[p]
        solve_columns(A, rank, null, y)
        for i in range(n):
            p = order[i]
            for c in range(columns):
                carried[p, c] = scale[p] * y[i, c] + (carried[p, c] if attempt == 1 else 0.0)
    return True


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, **NO_REFCOUNT)
def _row_times(D, i, x):
    """Row i of D times the only column of x: (n, 1)."""
    value = 0.0
    for k in range(len(x)):
        value += D[i, k] * x[k, 0]
    return value
