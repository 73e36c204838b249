"""The leading rows of a dense D eliminated in one compiled call: what limits and contacts see of the joints.

With λ_b = −D_bb⁺ (D_bc λ_c + v_b), the rows behind see D_cc − D_cb D_bb⁺ D_bc and v_c − D_cb D_bb⁺ v_b. Redundant rows
make D_bb singular; the pseudo-inverse then gives the smallest λ_b.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.factor.dense_inverse import DenseInverse
from delassus.linalg.factor.pivoted import null_rows, pivoted_cholesky, solve_columns

_COMPILED = 80  # rows up to which compiled loops beat LAPACK behind Python
_PIVOT = 1e-9  # ratio of smallest to largest pivot below which rows count as redundant


def eliminate_leading(D: np.ndarray, v: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(D of the rows behind, their v, carried) with λ_b = −carried [λ_c; 1].  D: (m, m); v: (m,); carried:
    (count, m − count + 1)."""
    behind = len(v) - count
    D_behind, v_behind, carried = np.empty((behind, behind)), np.empty(behind), np.empty((count, behind + 1))
    if count > _COMPILED or not carry(D, v, carried):
        inverse = DenseInverse(np.ascontiguousarray(D[:count, :count]))
        right = np.column_stack([D[:count, count:], v[:count]])
        carried = inverse.solve(right)
        carried += inverse.solve(right - D[:count, :count] @ carried)
    subtract_carried(D, v, carried, D_behind, v_behind)
    return D_behind, v_behind, carried


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
    largest, skew = 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            largest = max(largest, abs(D[i, j]))
            skew = max(skew, abs(D[i, j] - D[j, i]))
    if skew > 1e-13 * largest:
        return False
    A, order, scale = np.empty((n, n)), np.empty(n, np.int64), np.empty(n)
    for i in range(n):  # unit diagonals, or the rows of heavy bodies look redundant beside those of light ones
        scale[i] = 1.0 / math.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = scale[i] * scale[j] * D[i, j]
    rank = pivoted_cholesky(A, order, _PIVOT)
    N, y = np.empty((n - rank, n)), np.empty((n, columns))
    null_rows(A, rank, N)
    for attempt in range(2):
        for i in range(n):
            p = order[i]
            for c in range(columns):
                y[i, c] = v[p] if c == columns - 1 else D[p, n + c]
            if attempt == 1:
                for k in range(n):
                    f = D[p, k]
                    for c in range(columns):
                        y[i, c] -= f * carried[k, c]
            for c in range(columns):
                y[i, c] *= scale[p]
        solve_columns(A, rank, N, y)
        for i in range(n):
            p = order[i]
            for c in range(columns):
                carried[p, c] = scale[p] * y[i, c] + (carried[p, c] if attempt == 1 else 0.0)
    return True
