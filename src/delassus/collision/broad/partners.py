"""Pairs in any order, sorted: counting by the first shape, then the partners of each among themselves."""

import numpy as np

from delassus.collision.layout import deal_pair
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def group(unsorted, counts, end, partner):
    """partner (p,): second shapes of the pairs, grouped by the first; end (n,): of each shape's group, which begins
    where the one before it ends.

    unsorted: (threads, ·, 2) pairs, of which counts (threads,) in each share."""
    end[:] = 0
    for t in range(len(counts)):
        for k in range(counts[t]):
            end[unsorted[t, k, 0]] += 1
    total = 0
    for s in range(len(end)):
        here = end[s]
        end[s] = total
        total += here
    for t in range(len(counts)):  # which moves every start to the end
        for k in range(counts[t]):
            a = unsorted[t, k, 0]
            at = end[a]
            partner[at] = unsorted[t, k, 1]
            end[a] = at + 1


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sort_partners(partner, begin, end):
    """Sort partner[begin:end] by insertion, and where there are many first over longer steps (Shell)."""
    step = 1
    while 9 * step < end - begin:
        step = 3 * step + 1
    while step > 0:
        for p in range(begin + step, end):
            b, at = partner[p], p
            while at >= begin + step and partner[at - step] > b:
                partner[at] = partner[at - step]
                at -= step
            partner[at] = b
        step //= 3


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def deal(end, partner, kind, families, points, pairs, dealt):
    """The sorted pairs (p, 2) with their families and slots (p, 3), see layout.py.  Returns (rows of out, contacts
    that the broad phase decides, bits of the families that occur)."""
    slot, direct, bits, begin = 0, 0, 0, np.int64(0)
    for a in range(len(end)):
        sort_partners(partner, begin, np.int64(end[a]))
        for p in range(begin, end[a]):
            b = np.int64(partner[p])
            family = np.int64(families[kind[a], kind[b]])
            direct += deal_pair(p, a, b, family, np.int64(slot), pairs, dealt)
            bits |= 1 << int(family)
            slot += points[kind[a], kind[b]]
        begin = np.int64(end[a])
    return slot, direct, bits
