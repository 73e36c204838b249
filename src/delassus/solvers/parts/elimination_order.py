"""The order in which triples are eliminated, least degree first, and the pattern of the factors.

Sets of neighbours are bit sets, so that joining two of them takes a few instructions per 64 triples: for up to some
thousand triples that is faster than lists, and exact. What is eliminated is the graph of a symmetric pattern.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.instructions import bit_count, lowest_bit
from delassus.kernel.memory import NO_REFCOUNT

MOST_TRIPLES = 20_000
"""Beyond, bit sets take too much memory (50 MB here) and another factorisation is faster."""


@njit(cache=True, **NO_REFCOUNT)
def order_scratch(n):
    """Integers that `eliminate` needs as scratch for n triples."""
    return n * ((n + 63) // 64) + 5 * n + 1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def eliminate(members, number, pointer, column, order, position, starts, columns, scratch):
    """Eliminate `members` (n,), triples of a pattern in block rows; number: (triples,) their places in `members`, or
    −1. Written: order (n,) of elimination, position (triples,) in it, starts (n + 1,) of the rows of U, and the columns
    of U as triples. How many those are; −1 where U has more blocks off its diagonal than `columns` has room for.
    scratch: of `order_scratch`."""
    n, one = len(members), np.uint64(1)
    words = (n + 63) // 64
    at = n * words
    bits, degree = scratch[:at].view(np.uint64).reshape(n, words), scratch[at : at + n]
    # members of one degree are a list: first of each degree, next and last of each member
    at += n
    first, after = scratch[at : at + n + 1], scratch[at + n + 1 : at + 2 * n + 1]
    at += 2 * n + 1
    before, near, count, low = scratch[at : at + n], scratch[at + n : at + 2 * n], 0, 0
    for a in range(n):
        degree[a], first[a], after[a], before[a] = 0, -1, -1, -1
        for w in range(words):
            bits[a, w] = np.uint64(0)
    first[n] = -1
    for a in range(n):
        k = members[a]
        for p in range(pointer[k], pointer[k + 1]):
            b = number[column[p] // 3]
            if b >= 0:
                bits[a, b >> 6] |= one << np.uint64(b & 63)
                bits[b, a >> 6] |= one << np.uint64(a & 63)
    for a in range(n):
        for w in range(words):
            degree[a] += bit_count(bits[a, w])
    for a in range(n - 1, -1, -1):
        _enter(a, degree[a], first, after, before)
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
                near[size] = (w << 6) + lowest_bit(word)
                size += 1
                word &= word - one
        if count + size > len(columns):
            return -1
        for t in range(size):
            b = near[t]
            columns[count + t] = members[b]
            found = 0
            for w in range(words):
                word = bits[b, w] | bits[a, w]
                bits[b, w] = word
                found += bit_count(word)
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
    return count


@njit(cache=True, **NO_REFCOUNT)
def fill_pattern(position, starts, columns, lower, left, scratch):
    """The columns of U, of `eliminate`, as places in the order, and the pattern of L: starts (n + 1,) and columns of
    its rows.  scratch: (n,)."""
    n, count = len(starts) - 1, starts[len(starts) - 1]
    for i in range(n + 1):
        lower[i] = 0
    for p in range(count):
        columns[p] = position[columns[p]]
        lower[columns[p] + 1] += 1
    for i in range(n):
        lower[i + 1] += lower[i]
        scratch[i] = lower[i]
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            left[scratch[columns[p]]] = i
            scratch[columns[p]] += 1


@njit(cache=True, **NO_REFCOUNT)
def _enter(a, degree, first, after, before):
    """Put a at the head of the list of its degree."""
    head = first[degree]
    after[a], before[a] = head, -1
    if head >= 0:
        before[head] = a
    first[degree] = a


@njit(cache=True, **NO_REFCOUNT)
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
    order, position, starts = np.empty(count, np.int64), np.empty(n, np.int64), np.empty(count + 1, np.int64)
    columns, scratch = np.empty(min(most, count * (count - 1) // 2), np.int64), np.empty(order_scratch(count), np.int64)
    if eliminate(members, number, pointer, column, order, position, starts, columns, scratch) < 0:
        return math.inf, count
    total = 0.0
    for i in range(count):
        width = float(starts[i + 1] - starts[i])
        total += width * (width + 1.0)
    return total, count
