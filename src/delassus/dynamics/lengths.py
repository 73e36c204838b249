"""Lengths over joint coordinates in a step: rows of couplings, and tendons beside the coordinates of joints."""

from dataclasses import dataclass

import numpy as np

from delassus.dynamics.rows import COUPLING, LIMIT, Motion, RowArrays, Rule, are_of
from delassus.dynamics.stabilisation import Pushing
from delassus.joints.couplings import Couplings
from delassus.model.model import Model
from delassus.model.state import State

_NUMBER = np.uint64((1 << 32) - 1)  # of a block's name: the coordinate


@dataclass(frozen=True, eq=False)
class Lengths:
    """before, now: (n,) lengths at the start of a step and where its rows are evaluated [m, rad]; rows_before, rows:
    (n, 6 n_b) their rate rows."""

    couplings: Couplings
    before: np.ndarray
    rows_before: np.ndarray
    now: np.ndarray
    rows: np.ndarray

    def fill_held(
        self, motion: Motion, rule: Rule, first: tuple[int, int], out: RowArrays, residual: np.ndarray
    ) -> None:
        """Rows of lengths that are held, from this block and row on. Errors and what rows turned since the start of the
        step are as with joints (`fill_joints`)."""
        held, couplings = self.couplings.held, self.couplings
        residual[:] = self.before[held] - couplings.lower[held]
        blocks, own = (slice(at, at + len(held)) for at in first)
        turned = self.rows[held] @ motion.half.ravel(), self.rows_before[held] @ motion.u.ravel()
        out.bias[own] = Pushing(*rule.pushing).joint * residual / rule.h + turned[0] - turned[1]
        out.bodies[blocks], out.names[blocks] = couplings.bodies[held], COUPLING + held.astype(np.uint64)
        out.rows[own] = couplings.of_two_bodies(self.rows)[held]

    def motion(self, inverse: np.ndarray, u: np.ndarray, half: np.ndarray) -> np.ndarray:
        """(n_free, 4) of the others, as `joint_rows._fill_speeds` has it of joint coordinates.  inverse: (n_b, 6, 6) of
        the masses."""
        free = self.couplings.free
        now, before = self.rows[free], self.rows_before[free]
        by_body = now.reshape(len(free), len(inverse), 6)
        mobility = np.einsum("lbi,bij,lbj->l", by_body, inverse, by_body)
        return np.column_stack([now @ half.ravel(), before @ u.ravel(), now @ u.ravel(), mobility])

    def wide(self, names: np.ndarray, first: int, joint_coordinates: int) -> tuple[np.ndarray, np.ndarray] | None:
        """(numbers of rows, rows (k, 6 n_b)) of lengths that tie more than two bodies, None where there are none.
        names: of blocks of one row each, couplings, drives, friction and limits; first: row of the first."""
        couplings = self.couplings
        if not couplings.is_wide:
            return None
        number, is_limit = names & _NUMBER, are_of(names, LIMIT)
        beside = np.where(is_limit, number // np.uint64(2), number).astype(np.int64) - joint_coordinates
        free = np.append(couplings.free, 0)  # the last for what is no length
        which = np.where(
            are_of(names, COUPLING), number.astype(np.int64), free[np.where(beside >= 0, beside, len(free) - 1)]
        )
        is_length = are_of(names, COUPLING) | (beside >= 0)
        at = np.flatnonzero(is_length & couplings.wide[which])
        sign = np.where(is_limit[at], 1.0 - 2.0 * (number[at] % np.uint64(2)), 1.0)
        return first + at, sign[:, None] * self.rows[which[at]]


def lengths_at(
    model: Model, state: State, coordinates: np.ndarray, rates: np.ndarray, rates_before: np.ndarray
) -> Lengths | None:
    """Of the model's couplings and tendons, None where it has none.  coordinates: (n_d,), rates: (n_d, 12) where rows
    are evaluated, rates_before: at the start of the step."""
    couplings, joints, n = model.couplings, model.joints, model.body_count
    if couplings is None:
        return None
    before = couplings.evaluate(joints, state.coordinates(model), rates_before, n)
    return Lengths(couplings, *before, *couplings.evaluate(joints, coordinates, rates, n))
