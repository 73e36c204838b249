"""(I + S J Jᵀ) dx = right through the bodies: (I + Jᵀ S J) du = Jᵀ right, dx = right − S J du.

Positive definite with 6×6 blocks on the graph of bodies, half the size of the system between contacts, and never rank
deficient however hyperstatic the contacts are. Contacts about to open have weights that vanish: they are left out of
the pattern of the factor, which then only preconditions. A third of the contacts less halves the time of a factor.
"""

import numpy as np

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern
from delassus.linalg.operators.rigid import add_response, multiply_rows, push_row, row_times
from delassus.solvers.interior.mixed_factors import MixedSystem
from delassus.solvers.interior.standard import RigidRows
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import apply_blocks

_WEAK, _NOTICED = (
    0.1,
    1.0,
)  # weights, against masses of one: left out when the pattern is made; too large to be left out
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
        op = self.operator
        self.weights = weights
        self._choose(weights)
        assemble_blocks(
            op.bodies, op.start, op.rows, weights.diagonal, weights.blocks, self.slots, self.on_diagonal, self.values
        )
        return self.factor_values(self.values, single)

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = J Jᵀ dx, exactly dx = right − S image; False where no accurate solution was found.

        goal: momentum residual ‖Jᵀ dx − du‖ that is small enough."""
        op = self.operator
        self.push[:] = 0.0
        add_response(op.bodies, op.start, op.rows, right, self.push)
        works = self.solve_to(goal, self._apply, self.factors.active.solve, self.push, self.u)
        multiply_rows(op.bodies, op.start, op.rows, self.u, image)
        apply_blocks(self.weights.diagonal, self.weights.blocks, image, dx)
        np.subtract(right, dx, out=dx)
        return works

    def _apply(self, u: np.ndarray, out: np.ndarray) -> None:
        op = self.operator
        out[:] = u
        add_weighted(op.bodies, op.start, op.rows, self.weights.diagonal, self.weights.blocks, u, out)


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
def assemble_blocks(bodies, start, rows, diagonal, blocks, slots, on_diagonal, values):
    """values = upper blocks of I + Jᵀ S J."""
    values[:] = 0.0
    for body in range(len(on_diagonal)):
        for a in range(6):
            values[on_diagonal[body], a, a] = 1.0
    first = len(diagonal)
    T = np.empty((3, 12))
    for k in range(len(bodies)):
        if start[k] < first:  # independent rows
            for i in range(start[k], start[k + 1]):
                for c in range(12):
                    T[0, c] = diagonal[i] * rows[i, c]
                _add_outer(bodies[k, 0], bodies[k, 1], rows, T, i, 1, slots[k], values)
        else:
            i = start[k]
            S = blocks[(i - first) // 3]
            for p in range(3):
                for c in range(12):
                    T[p, c] = S[p, 0] * rows[i, c] + S[p, 1] * rows[i + 1, c] + S[p, 2] * rows[i + 2, c]
            _add_outer(bodies[k, 0], bodies[k, 1], rows, T, i, 3, slots[k], values)


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
def _add_outer(a, b, rows, T, first, count, slot, values):
    """Add the 12×12 matrix rowsᵀ T of one block of rows to its places."""
    for side in range(2):
        if slot[side] >= 0:
            block = values[slot[side]]
            for i in range(count):
                for p in range(6):
                    f = rows[first + i, 6 * side + p]
                    for q in range(6):
                        block[p, q] += f * T[i, 6 * side + q]
    if slot[2] >= 0:
        left = 0 if a < b else 6
        block = values[slot[2]]
        for i in range(count):
            for p in range(6):
                f = rows[first + i, left + p]
                for q in range(6):
                    block[p, q] += f * T[i, 6 - left + q]


@njit(cache=True, error_model="numpy")
def add_weighted(bodies, start, rows, diagonal, blocks, u, out):
    """out += Jᵀ S J u."""
    first = len(diagonal)
    for k in range(len(bodies)):
        a, b = bodies[k, 0], bodies[k, 1]
        if start[k] < first:
            for i in range(start[k], start[k + 1]):
                push_row(a, b, rows, i, diagonal[i] * row_times(a, b, rows, i, u), out)
        else:
            i = start[k]
            v0 = row_times(a, b, rows, i, u)
            v1 = row_times(a, b, rows, i + 1, u)
            v2 = row_times(a, b, rows, i + 2, u)
            S = blocks[(i - first) // 3]
            for p in range(3):
                push_row(a, b, rows, i + p, S[p, 0] * v0 + S[p, 1] * v1 + S[p, 2] * v2, out)
