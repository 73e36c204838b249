"""(I + S J Jᵀ) dx = right through the bodies: (I + Jᵀ S J) du = Jᵀ right, dx = right − S J du.

Positive definite with 6×6 blocks on the graph of bodies, half the size of the system between contacts, and never rank
deficient however hyperstatic the contacts are. Contacts about to open have weights that vanish: they are left out of
the pattern of the factor, which then only preconditions. A third of the contacts less halves the time of a factor.
"""

import numpy as np

from delassus.kernel import njit
from delassus.kernel.six_wide import add_square, push_three, three_rows_times
from delassus.linalg.factor.symmetric import Pattern
from delassus.linalg.operators.rigid import push_row, row_times
from delassus.solvers.interior.mixed_factors import MixedSystem
from delassus.solvers.interior.standard import RigidRows, UnitRows
from delassus.solvers.interior.weights import WeightArrays, Weights

_WEAK = 0.1  # weights, against masses of one, that are left out when the pattern is made …
_NOTICED = 1.0  # … and that are too large to be left out
_WORTH = 0.12  # part of the coupled pairs that must have become weak before a new pattern pays
_LEAST = 300  # blocks of rows below which all of this is not worth while


class BodySystem(MixedSystem):
    """The linear systems of rigid bodies.  backend, threads: see `linalg.symmetric`."""

    needs_roots = False
    rounding, most_double, poor = 1e-13, 8, 3

    def __init__(self, operator: RigidRows, backend: str, threads: int):
        super().__init__(backend, threads)
        self.operator = operator
        self._use(np.ones(len(operator.bodies), bool))
        n = self.pattern.size
        self.u, self.push = np.empty(n), np.empty(n)

    def _use(self, coupled: np.ndarray) -> None:
        """A pattern with the pairs of bodies that these blocks of rows couple."""
        self.coupled = coupled
        pattern, self.slots, self.on_diagonal = _pattern(self.operator.bodies, self.operator.body_count, coupled)
        self.values = pattern.values()
        self.use_pattern(pattern)

    def _choose(self, weights: Weights) -> None:
        """Leave weak contacts out of the pattern, or take them in again."""
        if len(self.coupled) < _LEAST:
            return
        size = np.empty(len(self.coupled))
        block_weights(self.operator.start, weights.diagonal, weights.blocks, size)
        weak = self.coupled & (size < _WEAK)
        if (size[~self.coupled] > _NOTICED).any() or weak.sum() > _WORTH * self.coupled.sum():
            self._use(size >= _WEAK)

    def factor(self, weights: Weights, single: bool) -> bool:
        """Assemble and factor I + Jᵀ S J; in single precision unless that proved not worth it."""
        self.weights = weights
        self._choose(weights)
        places = self.slots, self.on_diagonal
        assemble_blocks(self.operator.unit_rows, tuple(weights.arrays), places, self.values)
        return self.factor_values(self.values, single)

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = J Jᵀ dx, exactly dx = right − S image; False where no accurate solution was found.

        goal: momentum residual ‖Jᵀ dx − du‖ that is small enough."""
        rows, weights = self.operator.unit_rows, tuple(self.weights.arrays)
        _push(rows, len(self.weights.diagonal), right, self.push)
        works = self.solve_to(goal, self._apply, self.factors.active.solve, self.push, self.u)
        _finish(rows, weights, self.u, right, image, dx)
        return works

    def _apply(self, u: np.ndarray, out: np.ndarray) -> None:
        out[:] = u
        add_weighted(self.operator.unit_rows, tuple(self.weights.arrays), u, out)


def _pattern(bodies: np.ndarray, count: int, coupled: np.ndarray) -> tuple[Pattern, np.ndarray, np.ndarray]:
    """Upper block pattern of the graph of bodies; per block of rows its places (a, a), (b, b), (a, b), −1 where the
    world is involved, or the pair is not to be coupled; and the places of the diagonal."""
    low, high = bodies.min(axis=1, initial=count), bodies.max(axis=1, initial=-1)
    both = (low >= 0) & coupled
    keys = np.concatenate([np.arange(count) * (count + 1), low[both] * count + high[both]])
    unique, place = np.unique(keys, return_inverse=True)
    row, column = np.divmod(unique, max(1, count))
    indptr = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(row, minlength=count), out=indptr[1:])
    slots = np.full((len(bodies), 3), -1, np.int64)
    for side in range(2):
        there = bodies[:, side] >= 0
        slots[there, side] = place[bodies[there, side]]
    slots[both, 2] = place[count:]
    return Pattern(indptr, column.astype(np.int32), 6), slots, place[:count].copy()


@njit(cache=True, error_model="numpy")
def assemble_blocks(unit_rows, weights, places, values):
    """values = upper blocks of I + Jᵀ S J.  places: those of each block of rows, and those of the diagonal, as
    `_pattern` has them."""
    J, S = UnitRows(*unit_rows), WeightArrays(*weights)
    bodies, start, rows, diagonal, blocks = J.bodies, J.start, J.rows, S.diagonal, S.blocks
    slots, on_diagonal = places
    values[:] = 0.0
    for body in range(len(on_diagonal)):
        for a in range(6):
            values[on_diagonal[body], a, a] = 1.0
    first = len(diagonal)
    for k in range(len(bodies)):
        i, left = start[k], 0 if bodies[k, 0] < bodies[k, 1] else 6
        if i < first:  # independent rows
            for row in range(i, start[k + 1]):
                for side in range(2):
                    _add_outer(rows, row, 6 * side, 6 * side, diagonal[row], values, slots[k, side])
                _add_outer(rows, row, left, 6 - left, diagonal[row], values, slots[k, 2])
            continue
        for side in range(2):
            if slots[k, side] >= 0:
                add_square(rows, i, 6 * side, 6 * side, blocks, (i - first) // 3, values, slots[k, side])
        if slots[k, 2] >= 0:
            add_square(rows, i, left, 6 - left, blocks, (i - first) // 3, values, slots[k, 2])


@njit(cache=True, error_model="numpy")
def block_weights(start, diagonal, blocks, out):
    """out: (blocks of rows,) the trace of each block's S."""
    first = len(diagonal)
    for k in range(len(out)):
        i = start[k]
        if i < first:
            out[k] = 0.0
            for j in range(i, start[k + 1]):
                out[k] += diagonal[j]
        else:
            S = blocks[(i - first) // 3]
            out[k] = S[0, 0] + S[1, 1] + S[2, 2]


@njit(cache=True, error_model="numpy")
def _add_outer(rows, i, left, right, factor, values, at):
    """values[at] += factor times the outer product of entries of row i, from columns left and right on; −1: nowhere."""
    if at >= 0:
        for p in range(6):
            for q in range(6):
                values[at, p, q] += rows[i, left + p] * factor * rows[i, right + q]


# A row's entries for the world are zeros, so that any body may stand in its place.


@njit(cache=True, error_model="numpy")
def _push(unit_rows, first, x, out):
    """out = Jᵀ x.  first: of the contacts' rows."""
    J = UnitRows(*unit_rows)
    bodies, start, rows = J.bodies, J.start, J.rows
    out[:] = 0.0
    for k in range(len(bodies)):
        if start[k] < first:
            for i in range(start[k], start[k + 1]):
                push_row(bodies[k, 0], bodies[k, 1], rows, i, x[i], out)
        else:
            i, a, b = start[k], 6 * max(bodies[k, 0], 0), 6 * max(bodies[k, 1], 0)
            push_three(rows, i, a, b, x[i], x[i + 1], x[i + 2], out)


@njit(cache=True, error_model="numpy")
def _finish(unit_rows, weights, u, right, image, dx):
    """image = J u and dx = right − S image."""
    J, weights = UnitRows(*unit_rows), WeightArrays(*weights)
    bodies, start, rows, diagonal, blocks = J.bodies, J.start, J.rows, weights.diagonal, weights.blocks
    first = len(diagonal)
    for k in range(len(bodies)):
        i = start[k]
        if i < first:
            for j in range(i, start[k + 1]):
                image[j] = row_times(bodies[k, 0], bodies[k, 1], rows, j, u)
                dx[j] = right[j] - diagonal[j] * image[j]
            continue
        v0, v1, v2 = three_rows_times(rows, i, 6 * max(bodies[k, 0], 0), 6 * max(bodies[k, 1], 0), u)
        S = blocks[(i - first) // 3]
        image[i], image[i + 1], image[i + 2] = v0, v1, v2
        for p in range(3):
            dx[i + p] = right[i + p] - (S[p, 0] * v0 + S[p, 1] * v1 + S[p, 2] * v2)


@njit(cache=True, error_model="numpy")
def add_weighted(unit_rows, weights, u, out):
    """out += Jᵀ S J u."""
    J, weights = UnitRows(*unit_rows), WeightArrays(*weights)
    bodies, start, rows, diagonal, blocks = J.bodies, J.start, J.rows, weights.diagonal, weights.blocks
    first = len(diagonal)
    for k in range(len(bodies)):
        i = start[k]
        if i < first:
            a, b = bodies[k, 0], bodies[k, 1]
            for j in range(i, start[k + 1]):
                push_row(a, b, rows, j, diagonal[j] * row_times(a, b, rows, j, u), out)
            continue
        a, b, S = 6 * max(bodies[k, 0], 0), 6 * max(bodies[k, 1], 0), blocks[(i - first) // 3]
        v0, v1, v2 = three_rows_times(rows, i, a, b, u)
        x0 = S[0, 0] * v0 + S[0, 1] * v1 + S[0, 2] * v2
        x1 = S[1, 0] * v0 + S[1, 1] * v1 + S[1, 2] * v2
        x2 = S[2, 0] * v0 + S[2, 1] * v1 + S[2, 2] * v2
        push_three(rows, i, a, b, x0, x1, x2, out)
