"""Sparse Cholesky factors of symmetric positive semi-definite matrices in small blocks of any size, in compiled code.

The order is chosen once for a pattern, by minimum degree, island after island; then a tree of blocks fills nothing and
costs as much as it has blocks. Matrices have unit diagonals; rows whose pivots vanish depend on those before them: they
are left out, and solutions are zero there.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


class BlockPattern(NamedTuple):
    """Where the blocks of the factor are; blocks in the order of elimination."""

    start: np.ndarray
    """(n + 1,) first row of each block."""
    below_start: np.ndarray
    """(n + 1,) where the list of blocks below each diagonal one begins."""
    below: np.ndarray
    """(blocks,) their numbers, increasing."""
    at: np.ndarray
    """(n + blocks + 1,) where the numbers of each block begin, by rows: diagonal ones, then those of `below`; all."""


def elimination_order(members: np.ndarray, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """An order (count,) of things that are coupled where they are members of the same group, and the island of each.

    members, groups: (k,) that this thing is in that group. Islands come one after the other."""
    table = sp.csr_array((np.ones(len(members)), (members, groups)), shape=(count, int(groups.max(initial=-1)) + 1))
    coupled = sp.csc_array(table @ table.T + sp.eye_array(count))
    _, island = sp.csgraph.connected_components(coupled, directed=False)
    coupled.data[:] = 1.0
    coupled.setdiag(2.0 * coupled.sum(axis=0))
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    place = splu(coupled, permc_spec="MMD_AT_PLUS_A", options=options).perm_c
    order = np.argsort(place)
    return order[np.argsort(island[order], kind="stable")], island


def block_pattern(sizes: np.ndarray, groups: list[list[int]]) -> BlockPattern:
    """Of blocks of these sizes, (n,), in the order of elimination, of which those in a group are coupled."""
    n = len(sizes)
    below: list[set[int]] = [set() for _ in range(n)]
    for group in groups:
        for k in group:
            below[k].update(i for i in group if i > k)
    for k in range(n):  # what is eliminated couples what it was coupled with; the first of these hands it on
        if below[k]:
            parent = min(below[k])
            below[parent] |= below[k] - {parent}
    listed = [sorted(each) for each in below]
    counts = np.array([len(each) for each in listed], np.int64)
    flat = np.array([i for each in listed for i in each], np.int64)
    of = np.repeat(np.arange(n), counts)
    area = np.concatenate([sizes**2, sizes[flat] * sizes[of]])
    starts = [np.concatenate([[0], np.cumsum(each)]).astype(np.int64) for each in (sizes, counts, area)]
    return BlockPattern(starts[0], starts[1], flat, starts[2])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor_blocks(pattern, first, last, L, redundant):
    """L ← the factor of the blocks from `first` to before `last`, which are coupled with no others; 1 / L[i, i] on the
    diagonal, 0 where the pivot is below `redundant`."""
    n = len(pattern.start) - 1
    for k in range(first, last):
        m, own = pattern.start[k + 1] - pattern.start[k], pattern.at[k]
        _factor_diagonal(L, own, m, redundant)
        begin, end = pattern.below_start[k], pattern.below_start[k + 1]
        for p in range(begin, end):
            i = pattern.below[p]
            _divide(L, own, m, pattern.at[n + p], pattern.start[i + 1] - pattern.start[i])
        for p in range(begin, end):
            j, left = pattern.below[p], pattern.at[n + p]
            columns = pattern.start[j + 1] - pattern.start[j]
            _subtract(L, left, columns, left, columns, m, pattern.at[j])
            target = pattern.below_start[j]
            for s in range(p + 1, end):
                i = pattern.below[s]
                while pattern.below[target] < i:
                    target += 1
                rows = pattern.start[i + 1] - pattern.start[i]
                _subtract(L, pattern.at[n + s], rows, left, columns, m, pattern.at[n + target])


@njit(cache=True, error_model="numpy", fastmath={"contract"}, **NO_REFCOUNT)
def _factor_diagonal(L, own, m, redundant):
    """The lower triangle of the block of m rows at `own`, in place."""
    for j in range(m):
        row = own + j * m
        pivot = L[row + j]
        for c in range(j):
            pivot -= L[row + c] * L[row + c]
        inverse = 1.0 / math.sqrt(pivot) if pivot > redundant else 0.0
        L[row + j] = inverse
        for i in range(j + 1, m):
            other = own + i * m
            value = L[other + j]
            for c in range(j):
                value -= L[other + c] * L[row + c]
            L[other + j] = value * inverse


@njit(cache=True, error_model="numpy", fastmath={"contract"}, **NO_REFCOUNT)
def _divide(L, own, m, at, rows):
    """The block of so many rows at `at` ← itself times the inverse transpose of the factor at `own`."""
    for i in range(rows):
        row = at + i * m
        for j in range(m):
            factor = own + j * m
            value = L[row + j]
            for c in range(j):
                value -= L[row + c] * L[factor + c]
            L[row + j] = value * L[factor + j]


@njit(cache=True, error_model="numpy", fastmath={"contract"}, **NO_REFCOUNT)
def _subtract(L, a, rows, b, columns, m, target):
    """The block at `target` −= A Bᵀ; A: (rows, m) at a, B: (columns, m) at b."""
    for i in range(rows):
        for j in range(columns):
            value = 0.0
            for c in range(m):
                value += L[a + i * m + c] * L[b + j * m + c]
            L[target + i * columns + j] -= value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_blocks(pattern, first, last, L, x):
    """x ← the solution for the right side x, (m,), of which the rows of these blocks are read and written."""
    n, start = len(pattern.start) - 1, pattern.start
    for k in range(first, last):
        m, own, row = start[k + 1] - start[k], pattern.at[k], start[k]
        for i in range(m):
            value = x[row + i]
            for c in range(i):
                value -= L[own + i * m + c] * x[row + c]
            x[row + i] = value * L[own + i * m + i]
        for p in range(pattern.below_start[k], pattern.below_start[k + 1]):
            i, at = pattern.below[p], pattern.at[n + p]
            for r in range(start[i + 1] - start[i]):
                value = 0.0
                for c in range(m):
                    value += L[at + r * m + c] * x[row + c]
                x[start[i] + r] -= value
    for k in range(last - 1, first - 1, -1):
        m, own, row = start[k + 1] - start[k], pattern.at[k], start[k]
        for p in range(pattern.below_start[k], pattern.below_start[k + 1]):
            i, at = pattern.below[p], pattern.at[n + p]
            for r in range(start[i + 1] - start[i]):
                f = x[start[i] + r]
                for c in range(m):
                    x[row + c] -= L[at + r * m + c] * f
        for i in range(m - 1, -1, -1):
            value = x[row + i]
            for r in range(i + 1, m):
                value -= L[own + r * m + i] * x[row + r]
            x[row + i] = value * L[own + i * m + i]
