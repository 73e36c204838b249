"""Anderson acceleration of any method that iterates a map G on a vector x: Gauß–Seidel, Jacobi, ADMM.

With f(x) = G(x) − x and the last few points, the next one is the combination whose f would be least if G were affine:

    x⁺ = G(x) − Σ γ_j ΔG_j,    γ = argmin ‖f − Σ γ_j Δf_j‖    (Walker and Ni, SIAM J. Numer. Anal. 49, 2011, eq. 2.3)

in a norm where each block of rows counts with the mean of its diagonal of D, which makes ‖f‖² an energy and the method
indifferent to units and kinder to mass ratios. Coulomb's law makes G only piecewise smooth, hence two guards:

- A point whose f is larger than the last one's by more than `growth` is refused and the iteration goes on from G of the
  last point, with an empty window. That costs one map per refusal, so that even if every point were refused twice as
  many maps as without acceleration would do. Going back to the best point instead can repeat itself for ever.
- On hyperstatic problems reactions drift: f stays constant for thousands of maps while some contact unloads at a
  constant rate along a null direction of D. There the window has nothing to combine. After `patience` maps without
  progress plain maps follow the drift, and a jump goes to where the first contact would open or begin to slide, or as
  far as the drift is steady. Plain phases grow longer each time, so that combinations cannot undo them for ever.
  Combinations without progress may follow null directions too, and take reactions to a hundred times their size, so
  they are kept short.

Neither is a proof: G itself need not converge. Of 480 random problems one took three times as many maps as without
acceleration, none was lost.

What did not help on the FCLIB files: over-relaxed sweeps inside G (complex eigenvalues: BoxesStack and OneObject-316
stall with ω = 1.6), alternating the direction of the sweeps, several sweeps per map, windows of 12 and more, projecting
the combined point onto the cones, a Euclidean norm, waiting before the first step. Regularisation from 1e-10 to 1e-4,
windows of 5 to 10, growth 1.5 to 2 and patience 10 to 16 all give the same within the scatter between nearby problems.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.compose import Composed, Modifier
from delassus.solvers.driver import Solver, advanced
from delassus.solvers.method import Method
from delassus.solvers.parts.anderson.step import (
    EXCESS,
    EXCESS_NORM,
    GROWTH,
    NORM,
    REGULARISATION,
    begin_map,
    buffers,
    end_map,
    first_state,
    forget,
    may_be_met,
)
from delassus.solvers.settings import AtLeastOne, Count, Range, Settings

_LEAST_BATCH = 64  # iterations between two judgements, unless ‖f‖ says that the tolerance may be met


@dataclass(frozen=True)
class Anderson(Settings):
    """Settings of the acceleration."""

    memory: Annotated[int, Range("[1, 100]")] = 8  # differences of points kept, the size of the least-squares problem
    stride: Count = 1  # iterations of the accelerated method per map
    growth: AtLeastOne = GROWTH  # refuse a point whose residual of the map exceeds this factor times the last one's
    patience: Count = 16  # maps without progress before plain maps and a jump along the drift are tried
    regularisation: Annotated[float, Range("[0, 1)")] = (
        REGULARISATION  # added to the unit diagonal of the normal equations
    )


class AndersonMethod(Method):
    """Anderson acceleration of one method at work.

    Of the method it asks what `Method` declares for this: a map of `reactions` or of `point`, `map_key`, `accelerated`.
    """

    def __init__(self, problem: Problem, inner: Method, settings: Anderson):
        self.inner = inner
        self.reactions, self.finished, self.is_costly = inner.reactions, inner.finished, inner.is_costly
        self.in_reactions = inner.iterates_reactions
        self.batch_min = 1
        self.left, self.stride = 0, settings.stride  # iterations that the present map still lacks, and of each
        self.key = inner.map_key
        self.state = first_state()
        self.rule = float(settings.growth), float(settings.patience), float(settings.regularisation)
        self.cone = problem.cone.bilateral_rows, problem.cone.unilateral, problem.mu, self.in_reactions
        weight = _energy_weight(problem) if self.in_reactions else np.ones_like(self._point())
        self.buffers = tuple(buffers(settings.memory, weight))
        self.fused = inner.accelerated

    def advance(self, count: int) -> int:
        """`count` iterations of the accelerated method; fewer where f says that the tolerance may be met by now, since
        convergence comes suddenly: from a plateau to rounding within a dozen maps."""
        if self.fused is not None:
            done, self.left = self.fused(count, self.left, self.stride, self.state, self.rule, self.cone, self.buffers)
            return done
        done = 0
        while done < count and not self.finished:
            done += self._part_of_map(count - done)
            if self.left == 0 and may_be_met(self.state):
                break
        return done

    def judged(self, excess: float) -> None:
        self.inner.judged(excess)
        self.state[EXCESS], self.state[EXCESS_NORM] = excess, self.state[NORM]
        self.batch_min = _LEAST_BATCH  # from now on ‖f‖ tells when to ask again
        key = self.inner.map_key
        if key != self.key:
            self.key = key
            forget(self.state)

    def _part_of_map(self, most: int) -> int:
        """Begin a map where none is under way, do at most so many of its iterations, and end it with the last."""
        if self.left == 0:
            point = self._point()
            if begin_map(self.state, self.buffers, point):
                self._move_to(point)
            self.left = self.stride
        count = min(most, self.left)
        done = advanced(self.inner, count, len(self.reactions))
        self.reactions, self.finished = self.inner.reactions, self.inner.finished
        self.left -= done
        if self.left == 0:
            point = self._point()
            if not end_map(self.state, self.rule, self.cone, self.buffers, point):
                self._move_to(point)
        return done

    def _point(self) -> np.ndarray:
        return self.reactions if self.in_reactions else self.inner.point

    def _move_to(self, point: np.ndarray) -> None:
        if not self.in_reactions:
            self.inner.move_to(point)


def _start(problem: Problem, settings: Composed, reactions: np.ndarray, line: Solver) -> Method:
    assert isinstance(settings.modifier, Anderson)
    return AndersonMethod(problem, line.start(problem, settings.base, reactions), settings.modifier)


ANDERSON = Modifier(
    Anderson(solver="anderson"),
    "Walker and Ni 2011",
    "several times fewer iterations where the method converges slowly, above all towards 1e-8",
    objection=lambda line: None if line.is_map else "it does not iterate one fixed map that could be accelerated",
    laws=lambda laws: laws,
    start=_start,
    prepare=lambda settings: settings.for_acceleration(),
)


def _energy_weight(problem: Problem) -> np.ndarray:
    """(m,) root of the mean diagonal of each row's own block D_kk [kg^-½]; one where D_kk vanishes."""
    sizes = np.diff(problem.cone.block_start)
    diagonal_start = np.cumsum(sizes * sizes) - sizes * sizes
    weight = np.empty(problem.row_count)
    _root_mean_diagonal(problem.diagonal_blocks, problem.cone.block_start, diagonal_start, weight)
    return weight


@njit(cache=True)
def _root_mean_diagonal(diagonal_blocks, block_start, diagonal_start, weight):
    for k in range(len(diagonal_start)):
        first, last = block_start[k], block_start[k + 1]
        trace = 0.0
        for i in range(last - first):
            trace += diagonal_blocks[diagonal_start[k] + i * (last - first + 1)]
        weight[first:last] = math.sqrt(trace / (last - first)) if trace > 0.0 else 1.0
