"""Incomplete factorisation of symmetric block matrices: IC(0) and ILU(0) without fill, IC(1) and ILU(1) with one level
of it (Saad 2003, §10.3; Kleinert et al. 2014, §5.2.1), of blocks or, as published, of single entries.

With strictly upper blocks U and pivots P_k, A ≈ (P + Uᵀ) P⁻¹ (P + U). Row k of U, once known, is subtracted from the
rows behind, A_ij −= U_kiᵀ P_k⁻¹ U_kj, wherever A has a block (i, j) itself, or, with one level of fill, where two of
its blocks meet so. For a symmetric matrix the factors of
ILU(0) are those of IC(0), so that the upper blocks are enough for both. They differ in what is done about bad pivots:
Cholesky asks for positive definite ones and begins again with a heavier diagonal where one is not, LU takes them as
they come. Both are invariant under scaling by a block-diagonal matrix.

The order of elimination decides how much is dropped: on heaps of spheres, conjugate gradients take two to three times
fewer iterations with Cuthill and McKee's order than with that of detection, or a random one.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern
from delassus.linalg.iterative.block_product import side_of

_FIRST_SHIFT, _SHIFT_GROWTH, _SHIFTS = 0.02, 2.0, 16  # of diagonal blocks, relative to them


class Factors(NamedTuple):
    """indptr, indices: of the upper blocks, compressed rows in the order of elimination, diagonal first; upper:
    (blocks, s, s) A's, then U's; pivots: (rows, s, s) inverses of P_k; order: (rows,) of elimination."""

    indptr: np.ndarray
    indices: np.ndarray
    upper: np.ndarray
    pivots: np.ndarray
    order: np.ndarray


class IncompleteFactor:
    """IC (definite) or ILU of matrices of one pattern.  order: (blocks,) of elimination, or None; fill: levels of it, 0
    or 1; scalar: entries are eliminated one by one, not blocks."""

    def __init__(
        self,
        pattern: Pattern,
        *,
        definite: bool = True,
        order: np.ndarray | None = None,
        fill: int = 0,
        scalar: bool = False,
    ):
        self.definite = definite
        self.order = np.arange(len(pattern.indptr) - 1) if order is None else order
        self.entries: np.ndarray | None = None
        if scalar and pattern.block > 1:
            self.order = (pattern.block * self.order[:, None] + np.arange(pattern.block)).ravel()
            pattern, self.entries = pattern.entries()
        self.side, self.given = side_of(pattern), (len(pattern.indices), pattern.block, pattern.block)
        self.pattern, self.source, self.turned = _arranged(pattern, self.order)
        if fill:
            self.pattern, self.source, self.turned = _filled(self.pattern, self.source, self.turned)
        upper = np.empty((len(self.pattern.indices), pattern.block, pattern.block))
        pivots = np.empty((len(self.order), pattern.block, pattern.block))
        self.factors = tuple(Factors(self.pattern.indptr, self.pattern.indices, upper, pivots, self.order))
        self.upper, self.pivots = upper, pivots
        self.work = np.empty(pattern.size)
        self.shift = 0.0  # of the last factorisation

    def factor(self, values: np.ndarray) -> bool:
        """Factor the matrix with these values; False where a pivot is singular (or no shift makes it definite)."""
        blocks = (values if self.entries is None else values.reshape(-1)[self.entries]).reshape(self.given)
        # what the last matrix needed is close to what this one needs
        self.shift = self.shift / _SHIFT_GROWTH if self.shift > _FIRST_SHIFT else 0.0
        for _ in range(_SHIFTS):
            _arrange(self.side, self.source, self.turned, blocks, self.upper)
            if _factor(self.side, self.factors, 1.0 + self.shift, self.definite):
                return True
            if not self.definite:
                return False
            self.shift = max(_FIRST_SHIFT, _SHIFT_GROWTH * self.shift)
        return False

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        """out = M⁻¹ right, both (n,) and different arrays."""
        if self.pattern.block == 3:
            _solve_three(self.factors, right, self.work, out)
        else:
            _solve(self.side, self.factors, right, self.work, out)


def banded_order(pattern: Pattern) -> np.ndarray:
    """Reverse Cuthill–McKee: neighbours get numbers near each other."""
    n = len(pattern.indptr) - 1
    if n == 0:
        return np.zeros(0, np.int64)
    upper = sp.csr_array((np.ones(len(pattern.indices)), pattern.indices, pattern.indptr), shape=(n, n))
    return reverse_cuthill_mckee(sp.csr_array(upper + upper.T), symmetric_mode=True).astype(np.int64)


def _arranged(pattern: Pattern, order: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
    """The pattern in another order, where each of its blocks comes from, and whether it is transposed on the way."""
    n = len(order)
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    row, column = number[np.repeat(np.arange(n), np.diff(pattern.indptr))], number[pattern.indices]
    turned = row > column
    row, column = np.minimum(row, column), np.maximum(row, column)
    source = np.lexsort((column, row))
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(row, minlength=n), out=indptr[1:])
    return Pattern(indptr, column[source].astype(np.int32), pattern.block), source, turned[source]


def _filled(pattern: Pattern, source: np.ndarray, turned: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
    """What `_arranged` gave with one level of fill: (i, j) where some k before both has (k, i) and (k, j). New blocks
    come from nowhere, −1."""
    n = len(pattern.indptr) - 1
    own = sp.csr_array((np.ones(len(source), np.int32), pattern.indices, pattern.indptr), shape=(n, n))
    strict = sp.csr_array(sp.triu(own, 1))
    meet = sp.csr_array(sp.triu(strict.T @ strict) + own)
    meet.sort_indices()
    keys, wanted = (
        n * np.repeat(np.arange(n), np.diff(part.indptr)) + part.indices.astype(np.int64) for part in (pattern, meet)
    )
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = keys[place] == wanted
    filled = Pattern(meet.indptr.astype(np.int32), meet.indices.astype(np.int32), pattern.block)
    return filled, np.where(known, source[place], -1), known & turned[place]


class BlockDiagonal:
    """Block-Jacobi: the inverses of the diagonal blocks."""

    def __init__(self, pattern: Pattern):
        self.at = pattern.indptr[:-1]  # the diagonal block is the first of its row
        self.side = side_of(pattern)
        self.pivots = np.empty((len(self.at), pattern.block, pattern.block))
        self.shift = 0.0

    def factor(self, values: np.ndarray) -> bool:
        """Invert the diagonal blocks; False where one is not positive definite."""
        self.pivots[:] = values.reshape(-1, *self.pivots.shape[1:])[self.at]
        return _invert_all(self.side, self.pivots)

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        """out = diag(A)⁻¹ right."""
        _blocks_times(self.side, self.pivots, right, out)


@njit(cache=True)
def _arrange(side, source, turned, blocks, out):
    s = len(side)
    for p in range(len(source)):
        if source[p] < 0:  # fill
            for a in range(s):
                for b in range(s):
                    out[p, a, b] = 0.0
            continue
        block = blocks[source[p]]
        for a in range(s):
            for b in range(s):
                out[p, a, b] = block[b, a] if turned[p] else block[a, b]


@njit(cache=True, error_model="numpy")
def _factor(side, factors, heavier, definite):
    """Overwrite A's upper blocks by U and fill the inverse pivots; False at the first pivot that will not do."""
    factors = Factors(*factors)
    indptr, indices, upper, pivots = factors.indptr, factors.indices, factors.upper, factors.pivots
    s = len(side)
    n = len(indptr) - 1
    work, scaled = np.empty((s, s)), np.empty((s, s))
    for i in range(n):
        block = upper[indptr[i]]
        for a in range(s):
            for b in range(s):
                block[a, b] *= heavier
    for k in range(n):
        first, last = indptr[k], indptr[k + 1]
        if not _invert(side, upper[first], definite, work, pivots[k]):
            return False
        P = pivots[k]
        for p in range(first + 1, last):
            i = indices[p]
            for a in range(s):  # scaled = U_kiᵀ P⁻¹
                for b in range(s):
                    total = 0.0
                    for c in range(s):
                        total += upper[p, c, a] * P[c, b]
                    scaled[a, b] = total
            q, end = indptr[i], indptr[i + 1]
            for r in range(p, last):  # both rows are sorted: walk along them together
                j = indices[r]
                while q < end and indices[q] < j:
                    q += 1
                if q == end:
                    break
                if indices[q] == j:
                    for a in range(s):
                        for b in range(s):
                            total = 0.0
                            for c in range(s):
                                total += scaled[a, c] * upper[r, c, b]
                            upper[q, a, b] -= total
    return True


@njit(cache=True, error_model="numpy")
def _invert(side, A, definite, work, out):
    """out = A⁻¹ by Gauß–Jordan elimination of a symmetric block; False where a pivot is not positive (or is zero)."""
    s = len(side)
    largest = 0.0
    for a in range(s):
        for b in range(s):
            work[a, b] = A[a, b]
            out[a, b] = 1.0 if a == b else 0.0
            largest = max(largest, abs(A[a, b]))
    for k in range(s):
        row = k
        if not definite:
            for a in range(k + 1, s):  # of an indefinite block a diagonal entry may vanish
                if abs(work[a, k]) > abs(work[row, k]):
                    row = a
            if row != k:
                for b in range(s):
                    work[k, b], work[row, b] = work[row, b], work[k, b]
                    out[k, b], out[row, b] = out[row, b], out[k, b]
        pivot = work[k, k]
        if not math.isfinite(pivot) or abs(pivot) <= 1e-15 * largest or (definite and pivot <= 0.0):
            return False
        for b in range(s):
            work[k, b] /= pivot
            out[k, b] /= pivot
        for a in range(s):
            if a != k:
                f = work[a, k]
                for b in range(s):
                    work[a, b] -= f * work[k, b]
                    out[a, b] -= f * out[k, b]
    return True


@njit(cache=True, error_model="numpy")
def _solve(side, factors, right, x, out):
    """out = M⁻¹ right.  x: (n,) scratch."""
    factors = Factors(*factors)
    indptr, indices, upper = factors.indptr, factors.indices, factors.upper
    pivots, order = factors.pivots, factors.order
    s = len(side)
    n = len(indptr) - 1
    for k in range(n):
        for a in range(s):
            x[s * k + a] = right[s * order[k] + a]
    t = np.empty(s)
    for k in range(n):  # (P + Uᵀ) t = right, t = P⁻¹ … kept in x
        row = s * k
        for a in range(s):
            total = 0.0
            for b in range(s):
                total += pivots[k, a, b] * x[row + b]
            t[a] = total
        for a in range(s):
            x[row + a] = t[a]
        for p in range(indptr[k] + 1, indptr[k + 1]):
            column = s * indices[p]
            for b in range(s):
                total = 0.0
                for a in range(s):
                    total += upper[p, a, b] * t[a]
                x[column + b] -= total
    for k in range(n - 1, -1, -1):  # (P + U) x = P t
        row = s * k
        for a in range(s):
            t[a] = 0.0
        for p in range(indptr[k] + 1, indptr[k + 1]):
            column = s * indices[p]
            for a in range(s):
                total = 0.0
                for b in range(s):
                    total += upper[p, a, b] * x[column + b]
                t[a] += total
        for a in range(s):
            total = 0.0
            for b in range(s):
                total += pivots[k, a, b] * t[b]
            x[row + a] -= total
            out[s * order[k] + a] = x[row + a]


@njit(cache=True, error_model="numpy")
def _solve_three(factors, right, x, out):
    """`_solve` for 3×3 blocks, the same numbers in 0.6 of the time: sums in arrays go through memory."""
    factors = Factors(*factors)
    indptr, indices, upper = factors.indptr, factors.indices, factors.upper
    pivots, order = factors.pivots, factors.order
    n = len(indptr) - 1
    for k in range(n):
        i, j = 3 * k, 3 * order[k]
        x[i], x[i + 1], x[i + 2] = right[j], right[j + 1], right[j + 2]
    for k in range(n):
        i, P = 3 * k, pivots[k]
        a, b, c = x[i], x[i + 1], x[i + 2]
        t0 = P[0, 0] * a + P[0, 1] * b + P[0, 2] * c
        t1 = P[1, 0] * a + P[1, 1] * b + P[1, 2] * c
        t2 = P[2, 0] * a + P[2, 1] * b + P[2, 2] * c
        x[i], x[i + 1], x[i + 2] = t0, t1, t2
        for p in range(indptr[k] + 1, indptr[k + 1]):
            j, U = 3 * indices[p], upper[p]
            x[j] -= U[0, 0] * t0 + U[1, 0] * t1 + U[2, 0] * t2
            x[j + 1] -= U[0, 1] * t0 + U[1, 1] * t1 + U[2, 1] * t2
            x[j + 2] -= U[0, 2] * t0 + U[1, 2] * t1 + U[2, 2] * t2
    for k in range(n - 1, -1, -1):
        i, j, P = 3 * k, 3 * order[k], pivots[k]
        t0 = t1 = t2 = 0.0
        for p in range(indptr[k] + 1, indptr[k + 1]):
            q, U = 3 * indices[p], upper[p]
            a, b, c = x[q], x[q + 1], x[q + 2]
            t0 += U[0, 0] * a + U[0, 1] * b + U[0, 2] * c
            t1 += U[1, 0] * a + U[1, 1] * b + U[1, 2] * c
            t2 += U[2, 0] * a + U[2, 1] * b + U[2, 2] * c
        x[i] -= P[0, 0] * t0 + P[0, 1] * t1 + P[0, 2] * t2
        x[i + 1] -= P[1, 0] * t0 + P[1, 1] * t1 + P[1, 2] * t2
        x[i + 2] -= P[2, 0] * t0 + P[2, 1] * t1 + P[2, 2] * t2
        out[j], out[j + 1], out[j + 2] = x[i], x[i + 1], x[i + 2]


@njit(cache=True, error_model="numpy")
def _invert_all(side, blocks):
    s = len(side)
    work, out = np.empty((s, s)), np.empty((s, s))
    for k in range(len(blocks)):
        if not _invert(side, blocks[k], True, work, out):
            return False
        blocks[k] = out
    return True


@njit(cache=True, error_model="numpy")
def _blocks_times(side, blocks, x, out):
    s = len(side)
    for k in range(len(blocks)):
        for a in range(s):
            total = 0.0
            for b in range(s):
                total += blocks[k, a, b] * x[s * k + b]
            out[s * k + a] = total
