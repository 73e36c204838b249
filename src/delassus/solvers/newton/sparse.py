"""Newton's system by a direct solver: for factors so large that blocks of three no longer pay. Sparse, but where D is
nearly full, as that of one flexible body is.

Triples that are open need not be in the system. Those that were closed not long ago stay in it as rows of the identity,
so that its pattern lasts and is analysed seldom.
"""

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import row_times
from delassus.linalg.factor.structural import FullLu, PardisoLu, SuperLu, structural_factor

_KEPT_SYSTEMS = 20  # systems for which a triple that was closed stays among the unknowns
_FULL = 0.3  # share of the blocks from which the system is factored in full: a third of the time at one
_NEW_ANALYSIS_BELOW = 0.9  # share of the unknowns in use below which leaving out the others pays for a new analysis


class SparseSystem:
    """blocks: (pointer, column, value, diagonal) of D in triples; rho: of the function F."""

    words = "a sparse direct solver"

    def __init__(self, blocks: tuple[np.ndarray, ...], rho: float):
        self.blocks, self.rho = blocks, rho
        n = len(blocks[0]) - 1
        self.is_member, self.number = np.zeros(n, np.bool_), np.full(n, -1, np.int64)
        self.members, self.spot = np.zeros(0, np.int64), np.zeros(len(blocks[1]), np.int64)
        self.own = np.zeros(0, np.int64)
        self.age = self.pruned = 0  # systems so far, and when unknowns were left out last
        self.last_closed = np.full(n, -_KEPT_SYSTEMS)
        self.starts = np.zeros(1, np.int32)
        self.factor: PardisoLu | SuperLu | FullLu

    def step(self, A: np.ndarray, weight: np.ndarray, F: np.ndarray) -> np.ndarray | None:
        """Newton's step (3 n,), or None where the system is singular.  A: (3 n, 3), F: (3 n,);
        weight: (3 n,) α of each row."""
        closed = np.flatnonzero(A[::3, 0])
        step = -F
        if not len(closed):
            return step
        self._gather(closed)
        right = np.empty(3 * len(self.members))
        pattern = self.members, self.is_member, self.spot, self.own, self.starts, self.factor.values
        _fill(self.blocks, A, self.rho, weight, F, pattern, right, np.empty_like(F))
        if not self.factor.factor():
            return None
        rows = (3 * self.members[:, None] + np.arange(3)).ravel()
        step[rows] = self.factor.solve(right)
        return step if np.isfinite(step).all() else None

    def _gather(self, closed: np.ndarray) -> None:
        """Let these triples be unknowns of the system."""
        self.age += 1
        self.last_closed[closed] = self.age
        recent = self.last_closed > self.age - _KEPT_SYSTEMS
        is_padded = self.age >= self.pruned + _KEPT_SYSTEMS and int(
            np.count_nonzero(recent)
        ) < _NEW_ANALYSIS_BELOW * len(self.members)
        if is_padded:
            self.is_member, self.pruned = recent, self.age
        elif self.is_member[closed].all():
            return
        else:
            self.is_member[closed] = True
        self.members = np.flatnonzero(self.is_member)
        self.number[:] = -1
        self.number[self.members] = np.arange(len(self.members))
        self.starts, self.own = np.empty(3 * len(self.members) + 1, np.int32), np.empty(len(self.members), np.int64)
        pointer, column = self.blocks[:2]
        count = len(self.members)
        entries = count + _count(pointer, column, self.members, self.number)
        if entries > _FULL * count * count:
            self.starts[:], self.own[:] = 3 * count * np.arange(3 * count + 1), np.arange(count)
            self.spot[:] = self.number[column // 3]
            self.factor = FullLu(3 * count)
            return
        places = np.empty(9 * entries, np.int32)
        _pattern(pointer, column, self.members, self.number, self.spot, self.own, self.starts, places)
        self.factor = structural_factor(self.starts, places)


@njit(cache=True)
def _count(pointer, column, members, number):
    """Blocks beside the diagonal whose row and column are members."""
    count = 0
    for k in members:
        for p in range(pointer[k], pointer[k + 1]):
            count += number[column[p] // 3] >= 0
    return count


@njit(cache=True)
def _pattern(pointer, column, members, number, spot, own, starts, places):
    """Compressed rows of the members' blocks, columns sorted. spot, own: place of each block, and of the diagonal one,
    among those of its row."""
    count, place = 0, np.zeros(len(members), np.int64)
    for a in range(len(members)):
        k = members[a]
        first, low, high = pointer[k], a, a
        place[a] = 1
        for p in range(first, pointer[k + 1]):
            b = number[column[p] // 3]
            if b >= 0:
                place[b], low, high = 1, min(low, b), max(high, b)
        size = 0
        for b in range(low, high + 1):  # neighbours have neighbouring numbers: little is passed over
            is_there = place[b]
            place[b] = size
            size += is_there
        own[a] = place[a]
        for p in range(first, pointer[k + 1]):
            b = number[column[p] // 3]
            spot[p] = place[b] if b >= 0 else 0
        for b in range(low, high + 1):
            place[b] = 0
        for i in range(3):
            base = count + 3 * size * i
            starts[3 * a + i] = base
            for j in range(3):
                places[base + 3 * own[a] + j] = 3 * a + j
            for p in range(first, pointer[k + 1]):
                b = number[column[p] // 3]
                if b >= 0:
                    for j in range(3):
                        places[base + 3 * spot[p] + j] = 3 * b + j
        count += 9 * size
    starts[3 * len(members)] = count


@njit(cache=True, error_model="numpy")
def _fill(blocks, A, rho, weight, F, pattern, right, outside):
    """Values and right side of (I − A (I − ρ (D + α I))) d = −F for the members; all others are open, move by −F and
    enter the right side.  blocks: D in triples, (pointer, column, value, diagonal); pattern: (members, is_member, spot,
    own, starts, values); outside: (3 n,) scratch."""
    pointer, column, value, diagonal = blocks
    members, is_member = pattern[0], pattern[1]
    spot, own, starts, values = pattern[2], pattern[3], pattern[4], pattern[5]
    for k in range(len(is_member)):
        for i in range(3 * k, 3 * k + 3):
            outside[i] = 0.0 if is_member[k] else F[i]
    for a in range(len(members)):
        k = members[a]
        o = 3 * k
        c0, c1, c2 = row_times(pointer[k], pointer[k + 1], column, value, outside)
        for i in range(3):
            x0, x1, x2 = rho * A[o + i, 0], rho * A[o + i, 1], rho * A[o + i, 2]
            right[3 * a + i] = -F[o + i] + x0 * c0 + x1 * c1 + x2 * c2
            base = starts[3 * a + i]
            for j in range(3):
                y = x0 * diagonal[9 * k + j] + x1 * diagonal[9 * k + 3 + j] + x2 * diagonal[9 * k + 6 + j]
                y += (rho * weight[o + j] - 1.0) * A[o + i, j] + (1.0 if i == j else 0.0)
                values[base + 3 * own[a] + j] = y
            for p in range(pointer[k], pointer[k + 1]):
                if is_member[column[p] // 3]:
                    for j in range(3):
                        at = 9 * p + 3 * j
                        values[base + 3 * spot[p] + j] = x0 * value[at] + x1 * value[at + 1] + x2 * value[at + 2]
