"""Bilateral rows with a largest reaction: drives of limited effort, dry friction of joints.

The law of such a row is −(v + E λ + b) ∈ N(λ), N the normal cone of [−L, L]: between the bounds it is an ordinary
bilateral row, at λ = L it may lag behind, v + E L + b ≤ 0, and at −L the other way round; for a motor, that is
λ = clip(h τ(v⁺), ±L) with its own τ at the new state. No cone of the problem says so, but which rows are at a bound is
found by trial: rows beyond their bounds are held there, as impulses of known size, rows that are held the wrong way are
let go, and the problem is solved again until neither happens. Then the law holds exactly, whichever law the contacts
have and whichever method solves it. As a rule the first guess is right, from the last step's reactions.
"""

from typing import NamedTuple

import numpy as np

from delassus.dynamics.rows import FRICTION, NEARLY_HARD, RowArrays, Rows, row_rate
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers import Solution

_AT_BOUND = 1.0 - 1e-12  # a remembered reaction of this fraction of the bound was held there
ALL_AT_ONCE = 10  # rounds in which all wrong rows change; afterwards one at a time, which ends where D is definite
NOISE = 10.0  # which side of zero a velocity is on is not known better than this times the solve's worst velocity …
_ROUNDING = 1e-10  # … or, relatively, than this
_NUMBER = np.uint64((1 << 32) - 1)  # of a block's name: the coordinate


class Bounded(NamedTuple):
    """Rows with a largest reaction."""

    row: np.ndarray  # (k,) their numbers
    block: np.ndarray  # (k,) their blocks
    bound: np.ndarray  # (k,) [N s]
    side: np.ndarray  # (k,) at a bound? −1, 0 or 1


class Held:
    """Which bounded rows are at a bound.  index: (k,) of the rows; side: (k,) −1, 0 or 1; bound: (k,) [N s]."""

    def __init__(self, rows: Rows, guess: np.ndarray | None, u: np.ndarray):
        """guess: reactions (m,) or (2, m), remembered; u: (n_b, 6) before the impulses."""
        assert rows.bound is not None
        assert rows.compliance is not None
        self.rows, self._velocities = rows, u.size  # of the rigid bodies: nodes come after them
        m = len(rows.bound)
        room = Bounded(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m, np.int64))
        count = find_bounded(rows.bound, rows.cone.block_start, tuple(room))
        self.index, self.block, self.bound, self.side = (part[:count] for part in room)
        self.rounds, self.is_settled = 0, False
        known = np.zeros(len(rows.rows)) if guess is None else guess.reshape(-1, len(rows.rows))[0]
        guess_sides(self._bounded, self._arrays(self._bias(u.ravel())), known, u)

    @property
    def _bounded(self) -> tuple[np.ndarray, ...]:
        return tuple(Bounded(self.index, self.block, self.bound, self.side))

    def _arrays(self, bias: np.ndarray) -> tuple[np.ndarray, ...]:
        """Fields of `RowArrays`, with this bias."""
        rows = self.rows
        assert rows.compliance is not None
        assert rows.bound is not None
        return tuple(RowArrays(rows.bodies, rows.names, rows.rows, bias, rows.compliance, rows.bound))

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
        u = solution.body_velocities
        assert u is not None
        self.rounds += 1
        u = u[: self._velocities]
        speed = max(NOISE * solution.residuals.worst_velocity, allowed if self.is_late else 0.0)
        excess, is_late = (solution.tol, True) if self.is_late else (0.0, False)
        rows = self._arrays(self._bias(u))
        self.is_settled = settle(self._bounded, rows, solution.reactions, u.reshape(-1, 6), (speed, excess), is_late)
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
def find_bounded(bound, start, out):
    """How many rows have a largest reaction; which, none of them at its bound, into the fields of `Bounded`.  bound:
    (m,), infinite for others; start: (blocks + 1,) first row of each block."""
    out, count, block = Bounded(*out), 0, 0
    for i in range(len(bound)):
        while start[block + 1] <= i:
            block += 1
        if bound[i] < np.inf:
            out.row[count], out.block[count], out.bound[count], out.side[count] = i, block, bound[i], 0
            count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def guess_sides(bounded, rows, known, u):
    """Remembered, or for rows that are nearly hard what a row alone would need.  bounded: fields of `Bounded`, sides
    are written; rows: of `RowArrays`; known: (m,) reactions; u: (n_b, 6)."""
    of, by = Bounded(*bounded), RowArrays(*rows)
    for k in range(len(of.row)):
        i = of.row[k]
        reaction = known[i]
        if reaction == 0.0:
            speed = row_rate(by.bodies, of.block[k], by.rows, i, u)
            reaction = -NEARLY_HARD * (speed + by.bias[i]) / by.compliance[i]
        if abs(reaction) >= _AT_BOUND * of.bound[k]:
            of.side[k] = 1 if reaction > 0.0 else -1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def settle(bounded, rows, reactions, u, allowed, one_only):
    """Change the sides of rows that break their law; were there none? See `Held.is_done`.  bounded, rows: as in
    `guess_sides`; allowed: speed [m/s], and how much of a bound reactions may exceed it by."""
    of, by, settled, (speed_allowed, excess) = Bounded(*bounded), RowArrays(*rows), True, allowed
    for k in range(len(of.row)):
        i, side, bound = of.row[k], of.side[k], of.bound[k]
        wrong = side
        if side == 0:
            if abs(reactions[i]) > (1.0 + excess) * bound:
                wrong = 1 if reactions[i] > 0.0 else -1
        else:
            speed = row_rate(by.bodies, of.block[k], by.rows, i, u)
            push = by.compliance[i] * side * bound
            size = abs(speed) + abs(push) + abs(by.bias[i])
            if side * (speed + push + by.bias[i]) > max(speed_allowed, _ROUNDING * size):
                wrong = 0
        if wrong != side:
            of.side[k] = wrong
            settled = False
            if one_only:
                return False
    return settled
