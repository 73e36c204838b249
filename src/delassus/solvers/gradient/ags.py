"""AGS: Gauß–Seidel sweeps with Nesterov's momentum and restarts, coloured, for heaps too large to factorise.

    z = sweep(y),    y⁺ = z + β (z − x),    x⁺ = z

A sweep solves every contact exactly, as `nbgs` does, in body space where bodies are known: D is not formed. It belongs
to this family since it is a gradient method in another metric: under the convex law a sweep is a gradient step with the
lower triangle of D in place of a step length, its momentum is that of `apgd`, and so are the team of threads and the
images, which momentum extrapolates without touching D. With d the diagonal of D, which stands for that triangle,
momentum is dropped when

- Σ d_i (y_i − z_i)(z_i − x_i) > 0: the sweep turned against it (O'Donoghue and Candès' gradient scheme);
- Σ d_i (z_i − x_i)(y_i − x_i) < 0: the new point lies behind the last, seen along it. Sweeps may have negative
  eigenvalues under Coulomb's law; with momentum near one, −1/3 already alternates for ever;
- Σ d_i (z_i − y_i)² exceeds a multiple of its least since the last restart: under Coulomb's law the sweep is no descent
  step, and this alone notices that momentum feeds a cycle.

Blocks are swept in the order of their colours whatever the number of threads, so that the bits are the same for all.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.gradient.coloured import Blocks, Coloured
from delassus.solvers.gradient.coloured_sweep import Sweep, extrapolate_rows, push_piece, sweep_piece
from delassus.solvers.method import Method
from delassus.solvers.parts.parallel.passes import Data, own_rows
from delassus.solvers.parts.parallel.team import wait
from delassus.solvers.settings import AtLeastOne, Count, Settings

_EXCESS_CONVEX, _EXCESS_EXACT = 4.0, 2.0  # a convex sweep may lengthen for a while and be right, Coulomb's rarely
_SEEN, _LONGER = 96, 2.0  # sweeps before it may yield, and how many times those done the rest must promise to take
_REFRESH = 64  # sweeps after which the image is formed anew from the reactions, before rounding piles up


@dataclass(frozen=True)
class Ags(Settings):
    """Settings of accelerated Gauß–Seidel."""

    excess: AtLeastOne | None = None  # restart when a sweep's squared length exceeds its least by this; none: by law
    momentum: bool = True  # without: plain Gauß–Seidel in the order of the colours
    threads: Count = 1  # team of threads; the bits do not depend on it
    yields: bool = (
        False  # end where the recent rate promises far more sweeps than were done: another method comes after
    )


class AgsMethod(Method):
    """Accelerated Gauß–Seidel at work on one problem."""

    is_compiled = True
    batch_min = 8  # a judgement takes as long as two sweeps

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        coloured = self.coloured = Coloured(problem, self.settings.threads)
        self.convex = problem.law is Law.CCP
        self.excess = self.settings.excess or (_EXCESS_CONVEX if self.convex else _EXCESS_EXACT)
        self.points = np.tile(reactions[coloured.rows], (2, 1))  # where the last two sweeps ended, in turn
        self.images = np.zeros((3, coloured.image_size))  # of y, of x, and x's formed anew
        self.slip = np.zeros(problem.contact_count)
        self.sums = np.zeros((coloured.piece_count, 3))
        self.work = np.zeros((self.settings.threads, 2, max(12, problem.cone.bilateral.max(initial=0))))
        # θ, β, least squared length since the last restart, which of the turns, sweeps done, restarts
        self.state = np.array([1.0, 0.0, np.inf, 0.0, 0.0, 0.0])
        self.seen: list[tuple[int, float]] = []  # sweeps, and the logarithm of what the judge found then

    def advance(self, count: int) -> None:
        coloured = self.coloured
        coloured.run(
            _advance,
            coloured.data,
            coloured.blocks,
            count,
            (self.convex, self.settings.momentum, self.excess),
            (self.state, self.points, self.images, self.slip, self.sums, self.work),
        )
        self.reactions[coloured.rows] = self.points[int(self.state[3])]
        self.words = [f"{int(self.state[4])} sweeps with momentum, dropped {self.restarts} times"]

    def judged(self, excess: float) -> None:
        """Yield where that is asked for: on heaps at rest sweeps gain three digits quickly, and the others hardly."""
        if not self.settings.yields or not 1.0 < excess < math.inf:
            return
        done, left = int(self.state[4]), math.log(excess)
        before, was = next((each for each in reversed(self.seen) if 2 * each[0] <= done), (done, left))
        self.seen.append((done, left))
        if done >= _SEEN and left * (done - before) > _LONGER * done * (was - left):
            self.finished = True

    def repose(self, problem: Problem) -> bool:
        """Go on from the present point, without momentum, with the free velocity of `problem`."""
        self.coloured.offset[:] = problem.free_velocity[self.coloured.rows]
        turn = int(self.state[3])
        self.points[1 - turn] = self.points[turn]
        self.images[0] = self.images[1]
        self.state[:3] = 1.0, 0.0, np.inf
        return True

    @property
    def restarts(self) -> int:
        """How often the momentum was dropped."""
        return int(self.state[5])


class _Iterate(NamedTuple):
    """What sweeps change, see `AgsMethod`."""

    state: np.ndarray
    points: np.ndarray
    images: np.ndarray
    slip: np.ndarray
    sums: np.ndarray
    work: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, blocks, count, rule, iterate):
    """`count` sweeps of one team member; `parts`, sums by member, stay unused: see `coloured`.

    rule: (the convex law?, momentum?, excess)."""
    convex, momentum, excess = rule
    now = _Iterate(*iterate)
    state, points, images, sums, work = now.state, now.points, now.images, now.sums, now.work[t]
    theta, beta, least = state[0], state[1], state[2]
    turn, done, restarts = int(state[3]), int(state[4]), state[5]
    rigid, pieces = Data(*data).rigid, len(sums)
    first, last = own_rows(t, data)
    for _ in range(count):
        x, out = points[turn], points[1 - turn]
        if rigid and done % _REFRESH == 0:
            _refresh(t, barrier, data, blocks, images, x, work)
        elif not rigid:
            extrapolate_rows(first, last, beta, x, out)
            wait(t, barrier)
        _sweep(t, barrier, data, blocks, Sweep(convex, beta, images[0], x, out, now.slip, work), sums)
        slope = square = along = 0.0
        for p in range(pieces):
            slope, square, along = slope + sums[p, 0], square + sums[p, 1], along + sums[p, 2]
        following = 0.5 * theta * (np.sqrt(theta * theta + 4.0) - theta)
        beta = theta * (1.0 - theta) / (theta * theta + following) if momentum else 0.0
        theta, least = following, min(least, square)
        if slope > 0.0 or along < 0.0 or square > excess * least:
            theta, beta, least, restarts = 1.0, 0.0, np.inf, restarts + 1.0
        if rigid:
            _extrapolate_image(t, data, beta, images)
        wait(t, barrier)
        turn, done = 1 - turn, done + 1
    if t == 0:
        state[0], state[1], state[2] = theta, beta, least
        state[3], state[4], state[5] = turn, done, restarts


@njit(cache=True, error_model="numpy")
def _sweep(t, barrier, data, blocks, sweep, sums):
    """Own pieces of every group, in turn with the others; the last wait ends the sweep."""
    block = Blocks(*blocks)
    for g in range(len(block.group) - 1):
        low, high = _own_pieces(t, len(barrier), block.group[g], block.group[g + 1], block.serial[g])
        for p in range(low, high):
            sums[p, 0], sums[p, 1], sums[p, 2] = sweep_piece(p, data, blocks, sweep)
        wait(t, barrier)


@njit(cache=True, error_model="numpy")
def _refresh(t, barrier, data, blocks, images, x, work):
    """Replace the image of x by that of its reactions, and mend the image of y by as much.

    The order of additions is that of the colours, so that the bits do not depend on the number of threads."""
    block = Blocks(*blocks)
    of_y, of_x, fresh = images[0], images[1], images[2]
    first, last = Data(*data).image_share[t], Data(*data).image_share[t + 1]
    for i in range(first, last):
        fresh[i] = 0.0
    wait(t, barrier)
    for g in range(len(block.group) - 1):
        low, high = _own_pieces(t, len(barrier), block.group[g], block.group[g + 1], block.serial[g])
        for p in range(low, high):
            push_piece(p, data, blocks, fresh, x, work)
        wait(t, barrier)
    for i in range(first, last):
        of_y[i] += fresh[i] - of_x[i]
        of_x[i] = fresh[i]
    wait(t, barrier)


@njit(cache=True, error_model="numpy")
def _extrapolate_image(t, data, beta, images):
    """Own part of the image of the next y, from those of z and of x; that of z becomes x's."""
    of_y, of_x = images[0], images[1]
    for i in range(Data(*data).image_share[t], Data(*data).image_share[t + 1]):
        z = of_y[i]
        of_y[i] = z + beta * (z - of_x[i])
        of_x[i] = z


@njit(cache=True)
def _own_pieces(t, threads, first, last, serial):
    """First and last + 1 of a member's pieces of a group; all of them for the first member where they are serial."""
    if serial:
        return (first, last) if t == 0 else (last, last)
    size = last - first
    return first + size * t // threads, first + size * (t + 1) // threads
