"""Many small problems side by side in flat arrays, for attempts at all of them in one compiled call.

Ten microseconds are enough to solve a few contacts, and calls from Python take about as long. So the arrays of many
problems are joined, and compiled code looks at one problem after the other: `problem_of` gives it D, v_f and what the
judge needs, bit by bit what `solve` would pass.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from delassus.kernel import njit
from delassus.law import Law
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.linalg.operators.matrix import fill_blocks_of_full
from delassus.problem import Problem
from delassus.problem.problem import PACKED
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.parts.at_once import APART, Attempt

_CHUNK = 64  # problems that a thread takes at a time

Kernel = Callable[[tuple[Any, ...], int, int, np.ndarray, np.ndarray, np.ndarray], object]
"""(plain, first, last, reactions, found, counts): attempts at the problems first … last − 1 of a batch, without the
interpreter's lock."""


class Batch:
    """Problems under one law, packed.

    packed: `Problem.packed` of each; plain: for `problem_of`; row_start: (count + 1,) first row of each among the rows
    of all; most_rows, most_joints: largest numbers of rows, and of rows of joints, of any of them."""

    def __init__(self, problems: Sequence[Problem], packed: list[np.ndarray]):
        self.problems, count = problems, len(packed)
        joined, at = np.concatenate(packed), np.zeros((4, count + 1), np.int64)
        np.cumsum([len(each) for each in packed], out=at[3, 1:])
        rows, contacts, blocks = joined[at[3, :-1] + np.arange(3)[:, None]].astype(np.int64)
        np.cumsum([rows, contacts, blocks], axis=1, out=at[:3, 1:])
        if (blocks == contacts).all():  # contacts alone: blocks follow from their number
            start, numbers = np.arange(0, FEW_ROWS + 1, 3), np.zeros((1, 3), np.int64)
        else:
            cones = [problem.cone for problem in problems]
            start = np.concatenate([cone.block_start for cone in cones])
            numbers = np.array([(cone.bilateral.size, cone.bilateral_rows, cone.unilateral) for cone in cones])
        self.row_start = at[0]
        self.most_rows, self.most_joints = int(rows.max(initial=0)), int(numbers[:, 1].max(initial=0))
        self.plain = joined, start, numbers, at, problems[0].law is Law.NCP

    def attempt(self, kernel: Kernel, reactions: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """(found, counts) of attempts at all problems: those of an `Attempt`, one behind the other, and the judgements
        made of each, none where no attempt was made.  reactions: guesses of all problems one behind the other,
        overwritten; threads: by how many of them, which changes nothing but the time it takes."""
        count = len(self.problems)
        found, counts = np.empty(self._found_start(count)), np.zeros(count, np.int64)
        if threads == 1 or count <= _CHUNK:
            kernel(self.plain, 0, count, reactions, found, counts)
            return found, counts
        with ThreadPoolExecutor(threads) as team:
            chunks = range(0, count, _CHUNK)
            jobs = [
                team.submit(kernel, self.plain, first, min(first + _CHUNK, count), reactions, found, counts)
                for first in chunks
            ]
            for job in jobs:
                job.result()
        return found, counts

    def one(self, q: int, found: np.ndarray, count: int) -> Attempt:
        """What was found of problem q."""
        return Attempt(self.problems[q], found[self._found_start(q) : self._found_start(q + 1)], count)

    def within(self, found: np.ndarray, counts: np.ndarray, tol: float, tol_velocity: float) -> np.ndarray:
        """(count,) bool: which of the returned points the judge found within both tolerances."""
        first = 2 * self.row_start[:-1] + APART * np.arange(len(counts))
        return (counts > 0) & (found[first] <= tol) & (found[first + RESIDUAL_COUNT - 1] <= tol_velocity)

    def _found_start(self, q: int) -> int:
        return 2 * int(self.row_start[q]) + APART * q


def kinds_of(packed: list[np.ndarray]) -> np.ndarray:
    """(count,) number of the law and the kinds of rows of each."""
    return np.fromiter((each.item(PACKED - 1) for each in packed), float, len(packed))


@njit(cache=True, inline="always")
def problem_of(plain, q, blocks):
    """(D, v_f, judged_by) of problem q, views.  blocks: room for the diagonal blocks of the largest, written."""
    packed, start, numbers, at, is_exact = plain
    m, count = at[0, q + 1] - at[0, q], at[2, q + 1] - at[2, q]
    joints = bilateral = limits = 0
    bounds = start[: count + 1]
    if len(numbers) > 1 or numbers[0, 0] + numbers[0, 2] > 0:
        joints, bilateral, limits = numbers[q]
        bounds = start[at[2, q] + q : at[2, q + 1] + q + 1]  # each problem has one bound more than blocks
    first = at[3, q] + PACKED
    D, first = packed[first : first + m * m].reshape(m, m), first + m * m
    v_f, first = packed[first : first + m], first + m
    last = first + at[1, q + 1] - at[1, q]
    mu, scale, last = packed[first:last], packed[last : last + count], last + count
    blocks = blocks[: fill_blocks_of_full(D, bounds, blocks)]
    judged_by = mu, bounds, joints, bilateral, limits, blocks, scale, is_exact, packed[last], packed[last + 1]
    return D, v_f, judged_by


@njit(cache=True, inline="always")
def room_of(plain, q, reactions, found):
    """(reactions, found) of problem q, views."""
    at = plain[3]
    first, last = at[0, q], at[0, q + 1]
    return reactions[first:last], found[2 * first + q * APART : 2 * last + (q + 1) * APART]
