"""Newton's method and Gauß–Seidel on a sparse regularised problem: what `SmallNewton` does, for thousands of contacts.

The matrix is D in compressed rows with every block of rows filled up, so that the rows of a contact share one pattern
and a row of the Newton matrix is a combination of three rows of D at the same places.
"""

import numpy as np
import scipy.sparse as sp
from numba import njit

from delassus.linalg.factor.structural import PardisoLu, SuperLu, structural_factor
from delassus.problem import Problem
from delassus.solvers.newton.newton import Newton
from delassus.solvers.parts.one_contact.slip import solve_slip

_KEPT_SYSTEMS = 20  # systems for which a contact that was closed stays among the unknowns
_NEW_ANALYSIS_BELOW = 0.9  # share of the unknowns in use below which leaving out the others pays for a new analysis


class SparseNewton(Newton):
    """problem: scaled; rho: of Alart and Curnier's function. Joints are rows of the system like any other.

    Open contacts, whose reactions vanish, need not be in the linear system. Those that were closed not long ago stay in
    it as rows of the identity, so that its pattern lasts and is analysed seldom."""

    def __init__(self, problem: Problem, rho: float):
        cone = problem.cone
        super().__init__(problem.free_velocity, (cone.bilateral_rows, cone.unilateral, problem.mu), rho)
        self.matrix = with_full_blocks(problem.delassus.matrix(), cone.contact_start)
        m = len(self.v)
        self.is_member = np.zeros(m, np.bool_)
        self.members = np.zeros(0, np.int64)
        self.age = self.pruned = 0  # systems so far, and when unknowns were left out last
        self.last_closed = np.full(m, -_KEPT_SYSTEMS)
        self.factor: PardisoLu | SuperLu

    def velocity(self, r: np.ndarray, alpha: float, v: np.ndarray) -> np.ndarray:
        out = np.empty_like(r)
        _times_plus(*self.matrix, alpha, r, v, out)
        return out

    def direction(self, r: np.ndarray, u: np.ndarray, alpha: float, F: np.ndarray) -> np.ndarray | None:
        closed = self.derivative(r, u)
        direction = -F
        if not closed:
            return direction
        self._gather(self.row[:closed])
        pointer, column, value = self.matrix
        right = np.empty(len(self.members))
        _newton_rows(
            pointer, column, value, self.blocks, self.rho, alpha, self.kinds[0] + self.kinds[1], F, self.members,
            self.is_member, self.factor.values, right,
        )  # fmt: skip
        if not self.factor.factor():
            return None
        direction[self.members] = self.factor.solve(right)
        return direction

    def sweep(self, alpha: float, centre: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        r = start.copy()
        _sweep(*self.matrix, self.v - alpha * centre, *self.kinds, alpha, count, r)
        return r if np.isfinite(r).all() else start

    def _gather(self, closed: np.ndarray) -> None:
        """Let these rows be unknowns of the system."""
        self.age += 1
        self.last_closed[closed] = self.age
        if self._is_padded():
            self.is_member, self.pruned = self.last_closed > self.age - _KEPT_SYSTEMS, self.age
        elif self.is_member[closed].all():
            return
        else:
            self.is_member[closed] = True
        self.members = np.flatnonzero(self.is_member)
        pointer, column, _ = self.matrix
        number = np.cumsum(self.is_member, dtype=np.int32) - np.int32(1)
        starts, places = np.empty(len(self.members) + 1, np.int32), np.empty(_room(pointer, self.members), np.int32)
        entries = _member_pattern(pointer, column, self.members, self.is_member, number, starts, places)
        self.factor = structural_factor(starts, places[:entries])

    def _is_padded(self) -> bool:
        """Have many unknowns been open for so long that leaving them out pays for a new analysis?"""
        if self.age < self.pruned + _KEPT_SYSTEMS:
            return False
        return int(np.count_nonzero(self.last_closed > self.age - _KEPT_SYSTEMS)) < _NEW_ANALYSIS_BELOW * len(
            self.members
        )


def with_full_blocks(D: sp.csr_array, contact_start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pointer, column, value) of D (m, m), sorted, every block of contact rows and columns stored in full."""
    m = D.shape[0]
    part = np.arange(m)
    part[contact_start:] = contact_start + 3 * ((part[contact_start:] - contact_start) // 3)
    # one row and column per joint row, limit or contact
    groups, inverse = np.unique(part, return_inverse=True)
    D = sp.csr_array(D)
    row = np.repeat(np.arange(m), np.diff(D.indptr))
    ones = np.ones(len(row) + len(groups), dtype=np.int8)
    own = np.arange(len(groups))
    coarse = sp.csr_array(
        (ones, (np.concatenate([inverse[row], own]), np.concatenate([inverse[D.indices], own]))),
        shape=(len(groups), len(groups)),
    )
    coarse.sum_duplicates()
    sizes = np.diff(np.append(groups, m))
    counts = np.add.reduceat(sizes[coarse.indices], coarse.indptr[:-1]) if len(groups) else np.zeros(0, np.int64)
    pointer = np.zeros(m + 1, np.int64)
    np.cumsum(np.repeat(counts, sizes), out=pointer[1:])
    column, value = np.empty(pointer[-1], np.int64), np.zeros(pointer[-1])
    _fill_full(coarse.indptr, coarse.indices, groups, sizes, inverse, D.indptr, D.indices, D.data,
               pointer, column, value)  # fmt: skip
    return pointer, column, value


@njit(cache=True)
def _fill_full(coarse_pointer, coarse_column, first, sizes, group, indptr, indices, data, pointer, column, value):
    place = np.empty(len(pointer) - 1, np.int64)
    for i in range(len(pointer) - 1):
        at = pointer[i]
        for p in range(coarse_pointer[group[i]], coarse_pointer[group[i] + 1]):
            g = coarse_column[p]
            for a in range(sizes[g]):
                column[at] = first[g] + a
                place[first[g] + a] = at
                at += 1
        for p in range(indptr[i], indptr[i + 1]):
            value[place[indices[p]]] += data[p]


@njit(cache=True, error_model="numpy")
def _times_plus(pointer, column, value, alpha, r, v, out):
    for i in range(len(v)):
        total = v[i] + alpha * r[i]
        for p in range(pointer[i], pointer[i + 1]):
            total += value[p] * r[column[p]]
        out[i] = total


@njit(cache=True)
def _room(pointer, row):
    total = 0
    for p in range(len(row)):
        total += pointer[row[p] + 1] - pointer[row[p]]
    return total


@njit(cache=True)
def _member_pattern(pointer, column, members, is_member, number, starts, places):
    """Compressed rows of the members among themselves; returns the number of entries."""
    count = 0
    for p in range(len(members)):
        starts[p] = count
        for q in range(pointer[members[p]], pointer[members[p] + 1]):
            if is_member[column[q]]:
                places[count] = number[column[q]]
                count += 1
    starts[len(members)] = count
    return count


@njit(cache=True, error_model="numpy")
def _newton_rows(pointer, column, value, A, rho, alpha, single, F, members, is_member, values, right):
    """J d = right for the members, J = I − A (I − ρ W), in the order of `_member_pattern`; all others are open, move by
    −F and enter the right side.  single: rows before the contacts."""
    count = 0
    for p in range(len(members)):
        i = members[p]
        width = 1 if i < single else 3
        first = i if i < single else single + 3 * ((i - single) // 3)
        right[p] = -F[i]
        for q in range(pointer[first + 1] - pointer[first]):
            j = column[pointer[first] + q]
            total = 0.0
            for a in range(width):
                total += A[i, a] * value[pointer[first + a] + q]
            total *= rho
            if first <= j < first + width:
                total += (rho * alpha - 1.0) * A[i, j - first]
                if j == i:
                    total += 1.0
            if is_member[j]:
                values[count] = total
                count += 1
            else:
                right[p] += total * F[j]


@njit(cache=True, error_model="numpy")
def _sweep(pointer, column, value, v, joints, limits, mu, alpha, count, r):
    """Block Gauß–Seidel in place, joints row by row, with the exact solve of every contact."""
    single = joints + limits
    block, q, slip = np.empty(9), np.empty(3), np.zeros(len(mu))
    for _ in range(count):
        for i in range(single):
            total, own = v[i] + alpha * r[i], alpha
            for p in range(pointer[i], pointer[i + 1]):
                total += value[p] * r[column[p]]
                if column[p] == i:
                    own += value[p]
            if own > 0.0:
                r[i] -= total / own
                if i >= joints:
                    r[i] = max(0.0, r[i])
        for k in range(len(mu)):
            i = single + 3 * k
            for a in range(3):
                total = v[i + a]
                for p in range(pointer[i + a], pointer[i + a + 1]):
                    j = column[p]
                    if i <= j < i + 3:
                        block[3 * a + j - i] = value[p]
                    else:
                        total += value[p] * r[j]
                block[4 * a] += alpha
                q[a] = total
            r[i], r[i + 1], r[i + 2], slip[k] = solve_slip(block, 0, q[0], q[1], q[2], mu[k], slip[k])
