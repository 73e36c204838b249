"""The order in which triples are eliminated, least degree first, and the pattern of the factors.

Sets of neighbours are bit sets, so that joining two of them takes a few instructions per 64 triples: for up to some
thousand triples that is faster than lists, and exact. What is eliminated is the graph of a symmetric pattern.
"""

import math

import numpy as np
from numba import config

from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED

MOST_TRIPLES = 20_000
"""Beyond, bit sets take too much memory (50 MB here) and another factorisation is faster."""

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def _ones(word: np.uint64) -> int:
        """How many bits are set."""
        return int(word).bit_count()

    def _lowest(word: np.uint64) -> int:
        """Place of the lowest bit that is set."""
        return (int(word) & -int(word)).bit_length() - 1

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def _ones(typingctx, word):
        """How many bits are set."""

        def generate(context, builder, signature, arguments):
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def _lowest(typingctx, word):
        """Place of the lowest bit that is set."""

        def generate(context, builder, signature, arguments):
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), generate


@njit(cache=True, error_model="numpy")
def order_of(members, number, pointer, column, order, position, starts, most):
    """Eliminate `members` (n,), triples of a pattern in block rows; number: (triples,) their places in `members`, or
    −1. Written: order (n,) of elimination, position (triples,) in it, starts (n + 1,) of the rows of U. Returns
    (found?, columns of U as places in the order, starts of L's rows, columns of L's rows); not found where U has more
    than `most` blocks off its diagonal."""
    n = len(members)
    words = (n + 63) // 64
    bits, degree, one = np.zeros((n, words), np.uint64), np.zeros(n, np.int64), np.uint64(1)
    for a in range(n):
        k = members[a]
        for p in range(pointer[k], pointer[k + 1]):
            b = number[column[p] // 3]
            if b >= 0:
                bits[a, b >> 6] |= one << np.uint64(b & 63)
                bits[b, a >> 6] |= one << np.uint64(a & 63)
    for a in range(n):
        for w in range(words):
            degree[a] += _ones(bits[a, w])
    # members of one degree are a list: first of each degree, next and last of each member
    first, after, before = np.full(n + 1, -1, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for a in range(n - 1, -1, -1):
        _enter(a, degree[a], first, after, before)
    columns, near, count, low = np.empty(min(most, n * (n - 1) // 2), np.int64), np.empty(n, np.int64), 0, 0
    for step in range(n):
        while first[low] < 0:
            low += 1
        a = first[low]
        _leave(a, low, first, after, before)
        order[step], position[members[a]], starts[step] = members[a], step, count
        size = 0
        for w in range(words):
            word = bits[a, w]
            while word != np.uint64(0):
                near[size] = (w << 6) + _lowest(word)
                size += 1
                word &= word - one
        if count + size > len(columns):
            return False, columns, starts, columns
        for t in range(size):
            b = near[t]
            columns[count + t] = members[b]
            found = 0
            for w in range(words):
                word = bits[b, w] | bits[a, w]
                bits[b, w] = word
                found += _ones(word)
            # a itself goes, and b, a neighbour of a, is none of its own
            bits[b, a >> 6] &= ~(one << np.uint64(a & 63))
            bits[b, b >> 6] &= ~(one << np.uint64(b & 63))
            found -= 2
            if found != degree[b]:
                _leave(b, degree[b], first, after, before)
                degree[b] = found
                _enter(b, found, first, after, before)
                low = min(low, found)
        count += size
    starts[n] = count
    lower = np.zeros(n + 1, np.int64)
    for p in range(count):
        columns[p] = position[columns[p]]
        lower[columns[p] + 1] += 1
    for i in range(n):
        lower[i + 1] += lower[i]
    left, at = np.empty(count, np.int64), lower.copy()
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            left[at[columns[p]]] = i
            at[columns[p]] += 1
    return True, columns, lower, left


@njit(cache=True, **BORROWED)
def _enter(a, degree, first, after, before):
    """Put a at the head of the list of its degree."""
    head = first[degree]
    after[a], before[a] = head, -1
    if head >= 0:
        before[head] = a
    first[degree] = a


@njit(cache=True, **BORROWED)
def _leave(a, degree, first, after, before):
    """Take a out of the list of its degree."""
    if before[a] >= 0:
        after[before[a]] = after[a]
    else:
        first[degree] = after[a]
    if after[a] >= 0:
        before[after[a]] = before[a]


@njit(cache=True, error_model="numpy")
def block_operations(mu, r, pointer, column, most):
    """(products of blocks that a factorisation over joints and closed limits and contacts takes, how many those are);
    infinite where U would have more than `most` blocks."""
    n, count = len(mu), 0
    number = np.full(n, -1, np.int64)
    for k in range(n):
        if r[3 * k] > 0.0 or mu[k] < 0.0:
            number[k] = count
            count += 1
    if count > MOST_TRIPLES:
        return math.inf, count
    members = np.empty(count, np.int64)
    for k in range(n):
        if number[k] >= 0:
            members[number[k]] = k
    order, position, starts = np.empty(count, np.int64), np.zeros(n, np.int64), np.empty(count + 1, np.int64)
    found, _, _, _ = order_of(members, number, pointer, column, order, position, starts, most)
    if not found:
        return math.inf, count
    total = 0.0
    for i in range(count):
        width = float(starts[i + 1] - starts[i])
        total += width * (width + 1.0)
    return total, count
