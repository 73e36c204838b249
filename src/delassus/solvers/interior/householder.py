"""Joint rows in triangular form by Householder reflections, and what redundant ones have in common. A is (coordinates,
columns), a multiple of eight columns, the first f of them the joint rows.
"""

import math

import numpy as np

from delassus.kernel import njit

_CUT = 1e-12  # square of what may be left of a joint row beside the others for it to be redundant
_BITS = 62  # in a word of what is filled: a sign bit would be in the way
_SOUND = 1e-2  # square of what is left of a row that is taken in its turn: keeping the order keeps zeros


@njit(cache=True, error_model="numpy")
def triangular(A, f, order, scale):
    """Reflect the rows of A so that its first f columns, normalised and put in another order, are triangular; their
    rank. Rows remember in which chunks of eight columns they have entries: most of a mechanism's are zeros."""
    n, width = A.shape
    left = np.zeros(f)
    for i in range(n):
        for j in range(f):
            left[j] += A[i, j] * A[i, j]
    for j in range(f):
        scale[j] = 1.0 / math.sqrt(left[j]) if left[j] > 0.0 else 0.0
        left[j] = 1.0 if left[j] > 0.0 else 0.0
    words = width // (8 * _BITS) + 1
    filled, common, rows = np.zeros((n, words), np.int64), np.empty(words, np.int64), np.empty(n, np.int64)
    for i in range(n):
        for j in range(width):
            if A[i, j] != 0.0:
                filled[i, j // 8 // _BITS] |= 1 << (j // 8 % _BITS)
                if j < f:
                    A[i, j] *= scale[j]
    for k in range(min(n, f)):
        best = k
        for j in range(k, f):
            if left[j] > left[best]:
                best = j
            if left[j] > _SOUND:
                best = j
                break
        if left[best] <= _CUT:
            return k
        if best != k:
            for i in range(n):
                if A[i, k] != 0.0 or A[i, best] != 0.0:
                    A[i, k], A[i, best] = A[i, best], A[i, k]
                    for j in (k, best):
                        filled[i, j // 8 // _BITS] |= 1 << (j // 8 % _BITS)
            order[k], order[best] = order[best], order[k]
            scale[k], scale[best] = scale[best], scale[k]
            left[best] = left[k]
        square, touched = 0.0, 0
        for i in range(k, n):
            if A[i, k] != 0.0:
                square += A[i, k] * A[i, k]
                rows[touched] = i
                touched += 1
        if A[k, k] == 0.0:
            rows[touched] = k
            touched += 1
        length = math.sqrt(square)
        diagonal = -length if A[k, k] > 0.0 else length
        factor = 1.0 / (length * (length + abs(A[k, k])))
        A[k, k] -= diagonal
        common[:] = 0
        for t in range(touched):
            for word in range(words):
                common[word] |= filled[rows[t], word]
        for t in range(touched):
            for word in range(words):
                filled[rows[t], word] = common[word]
        for c in range((k + 1) // 8, width // 8):
            if common[c // _BITS] >> (c % _BITS) & 1:
                _reflect_chunk(A, k, rows, touched, factor, c)
        for t in range(touched):
            A[rows[t], k] = 0.0
        A[k, k] = diagonal
        for j in range(k + 1, f):
            left[j] -= A[k, j] * A[k, j]
    return min(n, f)


@njit(cache=True, error_model="numpy")
def _reflect_chunk(A, k, rows, touched, factor, c):
    """Reflect eight columns, those behind k only; the reflection's vector is in column k. Eight sums that need no array
    become vector instructions."""
    p = 8 * c
    if p <= k:
        for j in range(k + 1, p + 8):
            total = 0.0
            for t in range(touched):
                total += A[rows[t], k] * A[rows[t], j]
            for t in range(touched):
                A[rows[t], j] -= factor * A[rows[t], k] * total
        return
    s0 = s1 = s2 = s3 = 0.0
    s4 = s5 = s6 = s7 = 0.0
    for t in range(touched):
        row = A[rows[t]]
        v = row[k]
        s0 += v * row[p]
        s1 += v * row[p + 1]
        s2 += v * row[p + 2]
        s3 += v * row[p + 3]
        s4 += v * row[p + 4]
        s5 += v * row[p + 5]
        s6 += v * row[p + 6]
        s7 += v * row[p + 7]
    for t in range(touched):
        row = A[rows[t]]
        v = factor * row[k]
        row[p] -= v * s0
        row[p + 1] -= v * s1
        row[p + 2] -= v * s2
        row[p + 3] -= v * s3
        row[p + 4] -= v * s4
        row[p + 5] -= v * s5
        row[p + 6] -= v * s6
        row[p + 7] -= v * s7


@njit(cache=True, error_model="numpy")
def dependence(A, f, rank, U):
    """With joint rows R = (R₁ R₂), overwrite R₂ by X = R₁⁻¹ R₂: (−X, 1) spans the null space of R. U: factor of
    1 + XᵀX, upper."""
    for i in range(rank - 1, -1, -1):
        for k in range(i + 1, rank):
            value = A[i, k]
            if value != 0.0:
                for j in range(rank, f):
                    A[i, j] -= value * A[k, j]
        for j in range(rank, f):
            A[i, j] /= A[i, i]
    count = f - rank
    U[:] = 0.0
    for a in range(count):
        U[a, a] = 1.0
    for i in range(rank):
        for a in range(count):
            value = A[i, rank + a]
            if value != 0.0:
                for b in range(a, count):
                    U[a, b] += value * A[i, rank + b]
    for k in range(count):
        root = math.sqrt(U[k, k])
        for j in range(k, count):
            U[k, j] /= root
        for i in range(k + 1, count):
            for j in range(i, count):
                U[i, j] -= U[k, i] * U[k, j]


@njit(cache=True, error_model="numpy")
def into_null_space(A, f, rank, U, b):
    """b ← its part in the null space of the joint rows."""
    count = f - rank
    t = np.empty(count)
    for a in range(count):
        t[a] = b[rank + a]
    for i in range(rank):
        for a in range(count):
            t[a] -= A[i, rank + a] * b[i]
    for k in range(count):
        t[k] /= U[k, k]
        for j in range(k + 1, count):
            t[j] -= U[k, j] * t[k]
    for k in range(count - 1, -1, -1):
        for j in range(k + 1, count):
            t[k] -= U[k, j] * t[j]
        t[k] /= U[k, k]
    for i in range(rank):
        b[i] = 0.0
        for a in range(count):
            b[i] -= A[i, rank + a] * t[a]
    for a in range(count):
        b[rank + a] = t[a]
