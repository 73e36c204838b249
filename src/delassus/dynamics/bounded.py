"""Bilateral rows with a largest reaction: drives of limited effort, dry friction of joints.

The law of such a row is −(v + E λ + b) ∈ N(λ), N the normal cone of [−L, L]: between the bounds it is an ordinary
bilateral row, at λ = L it may lag behind, v + E L + b ≤ 0, and at −L the other way round; for a motor, that is
λ = clip(h τ(v⁺), ±L) with its own τ at the new state. No cone of the problem says so, but which rows are at a bound is
found by trial: rows beyond their bounds are held there, as impulses of known size, rows that are held the wrong way are
let go, and the problem is solved again until neither happens. Then the law holds exactly, whichever law the contacts
have and whichever method solves it. As a rule the first guess is right, from the last step's reactions.
"""

import numpy as np

from delassus.dynamics.rows import FRICTION, NEARLY_HARD, Rows, row_rate
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers import Solution

_AT_BOUND = 1.0 - 1e-12  # a remembered reaction of this fraction of the bound was held there
ALL_AT_ONCE = 10  # rounds in which all wrong rows change; afterwards one at a time, which ends where D is definite
NOISE = 10.0  # which side of zero a velocity is on is not known better than this times the solve's worst velocity …
_ROUNDING = 1e-10  # … or, relatively, than this
_NUMBER = np.uint64((1 << 32) - 1)  # of a block's name: the coordinate


class Held:
    """Which bounded rows are at a bound.  index: (k,) of the rows; side: (k,) −1, 0 or 1; bound: (k,) [N s]."""

    def __init__(self, rows: Rows, guess: np.ndarray | None, u: np.ndarray):
        """guess: reactions (m,) or (2, m), remembered; u: (n_b, 6) before the impulses."""
        assert rows.bound is not None
        assert rows.compliance is not None
        self.rows, self._velocities = rows, u.size  # of the rigid bodies: nodes come after them
        self.index = np.flatnonzero(np.isfinite(rows.bound))
        self.block = np.searchsorted(rows.cone.block_start, self.index, side="right") - 1
        self.bound = rows.bound[self.index]
        self.side = np.zeros(len(self.index), np.int64)
        self.rounds, self.is_settled = 0, False
        known = np.zeros(len(rows.rows)) if guess is None else guess.reshape(-1, len(rows.rows))[0]
        bias = self._bias(u.ravel())
        guess_sides(
            self.index, self.block, self.bound, rows.bodies, rows.rows, bias, rows.compliance, known, u, self.side
        )

    def _bias(self, u: np.ndarray) -> np.ndarray:
        """Of all rows, (m,), with the rate of those of more than two bodies, which have no twelve numbers of their own.
        u: (6 n_b,)."""
        if self.rows.wide is None:
            return self.rows.bias
        bias, (at, wide) = self.rows.bias.copy(), self.rows.wide
        bias[at] += wide @ u
        return bias

    def is_done(self, solution: Solution, allowed: float = 0.0) -> bool:
        """Do all rows obey their law at this point? Those that do not change sides; True also after too many rounds.

        allowed: speed [m/s] that is as good as none where rows go to and fro: what a bilateral row may be off by."""
        rows, u = self.rows, solution.body_velocities
        assert u is not None
        self.rounds += 1
        self.is_settled = settle(
            self.index, self.block, self.bound, rows.bodies, rows.rows, self._bias(u[: self._velocities]),
            rows.compliance, solution.reactions, u[: self._velocities].reshape(-1, 6),
            max(NOISE * solution.residuals.worst_velocity, allowed if self.is_late else 0.0),
            solution.tol if self.is_late else 0.0, self.is_late, self.side,
        )  # fmt: skip
        return self.is_settled or self.rounds > ALL_AT_ONCE + 10 + 4 * len(self.index)

    @property
    def is_late(self) -> bool:
        """Rows go to and fro: reactions are known to the tolerance of the solve only, and one at a time may change."""
        return self.rounds > ALL_AT_ONCE

    @property
    def drives(self) -> np.ndarray:
        """Coordinates whose drives are at the limits of their efforts."""
        names = self.rows.names[self.block[self.side != 0]]
        return (names[names < FRICTION] & _NUMBER).astype(np.int64)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def guess_sides(index, block, bound, bodies, rows, bias, compliance, known, u, side):
    """Remembered, or for rows that are nearly hard what a row alone would need."""
    for k in range(len(index)):
        i = index[k]
        reaction = known[i]
        if reaction == 0.0:
            reaction = -NEARLY_HARD * (row_rate(bodies, block[k], rows, i, u) + bias[i]) / compliance[i]
        if abs(reaction) >= _AT_BOUND * bound[k]:
            side[k] = 1 if reaction > 0.0 else -1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def settle(index, block, bound, bodies, rows, bias, compliance, reactions, u, tolerance, excess, one_only, side):
    """Change the sides of rows that break their law; were there none? See `Held.is_done`."""
    settled = True
    for k in range(len(index)):
        i = index[k]
        wrong = side[k]
        if side[k] == 0:
            if abs(reactions[i]) > (1.0 + excess) * bound[k]:
                wrong = 1 if reactions[i] > 0.0 else -1
        else:
            speed = row_rate(bodies, block[k], rows, i, u)
            push = compliance[i] * side[k] * bound[k]
            size = abs(speed) + abs(push) + abs(bias[i])
            if side[k] * (speed + push + bias[i]) > max(tolerance, _ROUNDING * size):
                wrong = 0
        if wrong != side[k]:
            side[k] = wrong
            settled = False
            if one_only:
                return False
    return settled
