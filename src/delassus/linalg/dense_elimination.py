"""The leading rows of a dense D eliminated in one compiled call: what limits and contacts see of the joints.

With λ_b = −D_bb⁺ (D_bc λ_c + v_b), the rows behind see D_cc − D_cb D_bb⁺ D_bc and v_c − D_cb D_bb⁺ v_b. Redundant rows
make D_bb singular; the pseudo-inverse then gives the smallest λ_b.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.dense_inverse import DenseInverse
from delassus.linalg.pivoted import pivoted_cholesky

_COMPILED = 80  # rows up to which compiled loops beat LAPACK behind Python
_PIVOT = 1e-9  # ratio of smallest to largest pivot below which rows count as redundant


def eliminate_leading(D: np.ndarray, v: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(D of the rows behind, their v, carried) with λ_b = −carried [λ_c; 1].  D: (m, m); v: (m,); carried:
    (count, m − count + 1)."""
    behind = len(v) - count
    D_behind, v_behind, carried = np.empty((behind, behind)), np.empty(behind), np.empty((count, behind + 1))
    if count > _COMPILED or not _carry(D, v, carried):
        inverse = DenseInverse(np.ascontiguousarray(D[:count, :count]))
        right = np.column_stack([D[:count, count:], v[:count]])
        carried = inverse.solve(right)
        carried += inverse.solve(right - D[:count, :count] @ carried)
    _subtract(D, v, carried, D_behind, v_behind)
    return D_behind, v_behind, carried


@njit(cache=True, error_model="numpy")
def _subtract(D, v, carried, D_behind, v_behind):
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
def _carry(D, v, carried):
    """carried = D_bb⁺ [D_bc, v_b], refined once; False, and nothing written, where D_bb is not symmetric."""
    n, columns = carried.shape
    largest, skew = 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            largest = max(largest, abs(D[i, j]))
            skew = max(skew, abs(D[i, j] - D[j, i]))
    if skew > 1e-13 * largest:
        return False
    A, order = np.empty((n, n)), np.empty(n, np.int64)
    for i in range(n):
        for j in range(n):
            A[i, j] = D[i, j]
    rank = pivoted_cholesky(A, order, _PIVOT)
    L, G = np.zeros((n, rank)), np.zeros((rank, rank))
    for i in range(n):
        for j in range(min(i + 1, rank)):
            L[i, j] = A[order[i], order[j]]
    if rank < n:
        _cholesky_of_gram(L, G)
    right, step, inner = np.empty((n, columns)), np.empty((n, columns)), np.empty((rank, columns))
    for attempt in range(2):
        for i in range(n):
            p = order[i]
            for c in range(columns):
                right[i, c] = v[p] if c == columns - 1 else D[p, n + c]
            if attempt == 1:
                for k in range(n):
                    f = D[p, k]
                    for c in range(columns):
                        right[i, c] -= f * carried[k, c]
        _smallest(L, G, right, inner, step)
        for i in range(n):
            for c in range(columns):
                carried[order[i], c] = step[i, c] + (carried[order[i], c] if attempt == 1 else 0.0)
    return True


@njit(cache=True, error_model="numpy")
def _cholesky_of_gram(L, G):
    """G = lower triangular factor of LᵀL."""
    n, rank = L.shape
    for i in range(rank):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):  # L is lower triangular
                value += L[k, i] * L[k, j]
            for k in range(j):
                value -= G[i, k] * G[j, k]
            G[i, j] = math.sqrt(value) if i == j else value / G[j, j]


@njit(cache=True, error_model="numpy")
def _smallest(L, G, right, inner, out):
    """out = (L Lᵀ)⁺ right: L⁻ᵀ L⁻¹ where L is square, L (LᵀL)⁻² Lᵀ with G Gᵀ = LᵀL where rows are redundant."""
    n, rank = L.shape
    columns = right.shape[1]
    for i in range(n):
        for c in range(columns):
            out[i, c] = right[i, c] if rank == n else 0.0
    if rank == n:
        _forward_backward(L, out)
        return
    for i in range(rank):  # not `inner[:] = 0`, whose check of shapes takes seconds to compile
        for c in range(columns):
            inner[i, c] = 0.0
    for i in range(n):
        for j in range(min(i + 1, rank)):
            for c in range(columns):
                inner[j, c] += L[i, j] * right[i, c]
    _forward_backward(G, inner)
    _forward_backward(G, inner)
    for i in range(n):
        for j in range(min(i + 1, rank)):
            for c in range(columns):
                out[i, c] += L[i, j] * inner[j, c]


@njit(cache=True, error_model="numpy")
def _forward_backward(G, x):
    """x = (G Gᵀ)⁻¹ x for a lower triangular G, all columns at once."""
    n, columns = x.shape
    for i in range(n):
        for k in range(i):
            for c in range(columns):
                x[i, c] -= G[i, k] * x[k, c]
        for c in range(columns):
            x[i, c] /= G[i, i]
    for i in range(n - 1, -1, -1):
        for c in range(columns):
            x[i, c] /= G[i, i]
        for k in range(i):
            for c in range(columns):
                x[k, c] -= G[i, k] * x[i, c]
