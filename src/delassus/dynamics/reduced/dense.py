"""The small dense problem that joint coordinates leave: joints that close loops, friction that sticks and stiff motors,
which are bilateral, are eliminated by a rank-revealing factorisation; limits and contacts are solved for.

Loops are often redundant: the four joints of a plane linkage hold it across the plane three times over. Rows are scaled
by what they would move were all bodies free, which is the most they can, and pivots are judged by that: beside others
as small, rounding looks like a mobility. Of many reactions the least is taken, in these units."""

import math
from typing import NamedTuple

import numpy as np
from numba import typeof

from delassus.kernel import njit
from delassus.kernel.addresses import call_kernel, kernel_address
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.factor.dense_inverse import null_rows, pivoted_cholesky, solve_columns
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import solve_small
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS

_REDUNDANT = 1e-14
"""Of the mobility of free bodies: rows that have less beside the others are redundant."""


class Asked(NamedTuple):
    """tols: (tol, tol_velocity); most: iterations; newton: `ProxSsn.plain`; solver: address of `solve_small` for a D in
    full."""

    tols: tuple[float, float]
    most: int
    newton: tuple[float, ...]
    solver: int


def asked_of(tols: tuple[float, float], most: int) -> Asked:
    """What is asked for by tolerances and iterations; compiles or loads the small solver."""
    newton = ProxSsn(solver="prox-ssn").plain
    square, flat, whole = np.zeros((1, 1)), np.zeros(1), np.zeros(1, np.int64)
    judged_by = flat, whole, 0, 0, 0, flat, flat, True, 1.0, 1.0
    nobody = np.zeros((0, 2), np.int64), whole, np.zeros((0, 12)), np.zeros((0, 12)), flat
    given = square, nobody, flat, flat, judged_by, tols, most, newton, 0.0, flat, flat
    return Asked(tols, most, newton, kernel_address(solve_small, tuple(typeof(each) for each in given)))


@njit(cache=True, error_model="numpy")
def solve_dense(D, speed, reactions, rows, data, index, asked):
    """Iterations, or −1 where the small solver leaves it to others. v = D λ + speed; reactions (n,): a guess, which is
    overwritten.  rows: `RigidData` and data: `ProblemData` of the whole problem, whose rows `index` these are; asked:
    `Asked`."""
    n, first = len(index), 0
    while first < n and index[first] < data.bilateral_rows:
        first += 1
    share = np.empty((first, n - first + 1))
    if first > 0:
        _eliminate(D, speed, rows, index[:first], share)
    iterations = 1.0
    if first < n:
        iterations = _solve_rest(D[first:, first:].copy(), speed[first:], reactions[first:], data, index[first:], asked)
    for a in range(first):
        reactions[a] = -share[a, n - first]
        for c in range(n - first):
            reactions[a] -= share[a, c] * reactions[first + c]
    return iterations


@njit(cache=True, error_model="numpy")
def _eliminate(D, speed, rows, index, share):
    """share (k, n − k + 1): D_bb⁻¹ of D_bc and of the speeds of the first k rows; D_cc and the other speeds become what
    is left once these rows are obeyed."""
    k, n = len(index), len(D)
    A, scale, order, y = np.empty((k, k)), np.empty(k), np.empty(k, np.int64), np.empty((k, n - k + 1))
    for a in range(k):
        scale[a] = _free_scale(rows, index[a])
    rank = factor_scaled(D, scale, order, y[:, 0].copy(), A)
    null = np.empty((k - rank, k))
    null_rows(A, rank, null)
    for a in range(k):
        for c in range(n - k):
            y[a, c] = scale[order[a]] * D[order[a], k + c]
        y[a, n - k] = scale[order[a]] * speed[order[a]]
    solve_columns(A, rank, null, y)
    for a in range(k):
        for c in range(n - k + 1):
            share[order[a], c] = scale[order[a]] * y[a, c]
    for c in range(n - k):
        for a in range(k):
            g = D[k + c, a]
            for e in range(c + 1):
                D[k + c, k + e] -= g * share[a, e]
            speed[k + c] -= g * share[a, n - k]
        for e in range(c):
            D[k + e, k + c] = D[k + c, k + e]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor_scaled(D, scale, order, left, A):
    """Factor of the first rows and columns of D, scaled, as of `pivoted_cholesky`, into A; returns the rank.  scale:
    (k,) 1/√ of what these rows would move were bodies free; order, left: (k,), written."""
    k, largest = len(scale), 0.0
    for a in range(k):
        order[a] = a
        for b in range(a + 1):
            A[a, b] = scale[a] * D[a, b] * scale[b]
        largest = max(largest, A[a, a])
    return pivoted_cholesky(A, order, left, _REDUNDANT / largest) if largest > 0.0 else 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _free_scale(rows, i):
    """1/√ of what row i would move were its bodies free."""
    own = 0.0
    for a in range(12):
        own += rows.rows[i, a] * rows.response[i, a]
    if len(rows.compliance) > 0:
        own += rows.compliance[i]
    return 1.0 / math.sqrt(own) if own > 0.0 else 1.0


@njit(cache=True, error_model="numpy")
def _solve_rest(D, speed, reactions, data, index, asked):
    """Iterations for limits and contacts, or −1; the reactions are overwritten."""
    n, at, limits = len(index), 0, 0
    start, scale, diagonal = np.empty(n + 1, np.int64), np.empty(n), np.empty(3 * n)
    k, blocks, place, trace, square = data.joint_count, 0, 0, 0.0, 0.0
    while at < n:
        while data.block_start[k + 1] <= index[at]:
            k += 1
        size = data.block_start[k + 1] - data.block_start[k]
        start[blocks], scale[blocks] = at, data.velocity_scale[k]
        limits += 1 if k < data.joint_count + data.limit_count else 0
        for a in range(at, at + size):
            trace += D[a, a]
            square += speed[a] * speed[a]
            for b in range(at, at + size):
                diagonal[place] = D[a, b]
                place += 1
        blocks, at = blocks + 1, at + size
    start[blocks] = n
    judged_by = (
        data.mu, start[: blocks + 1], 0, 0, limits, diagonal, scale[:blocks], data.is_exact,
        n / trace if trace > 0.0 else 1.0, math.sqrt(square),
    )  # fmt: skip
    found = np.empty(RESIDUAL_COUNT + 2 * n + 3 * MOST_JUDGEMENTS)
    nobody = np.empty((0, 2), np.int64), start[:0], np.empty((0, 12)), np.empty((0, 12)), found[:0]
    count = call_kernel(
        asked[3], (D, nobody, found[:0], speed, judged_by, asked[0], asked[1], asked[2], 0.0, reactions, found)
    )
    return -1.0 if count == 0 else found[len(found) - 3 * MOST_JUDGEMENTS + count - 1]
