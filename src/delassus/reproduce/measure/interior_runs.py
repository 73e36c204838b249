"""Runs of the scenes of Mangoni's thesis and of Mangoni and Tasora, and iterations counted as they count them.

The papers stop when ‖r_p‖/n_λ, ‖r_d‖/n_v and μ = y·λ/n_λ are small, in SI units. At any reactions λ the same figures
follow from the problem alone: velocities obey momentum, so r_d = 0; y = max(v, 0) leaves r_p = min(v, 0). So every
method is held to the papers' rule by an onlooker, whatever it stops on itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.problem import Problem
from delassus.scenes.scene import Setup
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.table import find


def method(**changes: Any) -> Ipm:
    """Settings of solver `ipm`, some changed."""
    settings = find("ipm")[1].changed(**changes)
    assert isinstance(settings, Ipm)
    return settings


@dataclass(frozen=True)
class Rule:
    """When a paper's method stops: norms of r_p per row [m/s], and μ [J]."""

    primal: float
    mu: float

    def met(self, figures: "Figures") -> bool:
        return figures.primal < self.primal and figures.joint < self.primal and figures.mu < self.mu


THESIS = Rule(1e-10, 1e-9)
"""Mangoni, PhD thesis, chapter 5."""
MANGONI_TASORA = Rule(1e-8, 1e-7)
"""Mangoni and Tasora, eq. 38."""


@dataclass(frozen=True)
class Figures:
    """‖r_p‖ per unilateral row and per bilateral row [m/s], and μ [J], of one point."""

    primal: float
    joint: float
    mu: float


def figures(problem: Problem, reactions: np.ndarray) -> Figures:
    """The papers' residuals at these reactions (made non-negative), frictionless law."""
    cone = problem.cone
    normal = np.concatenate([
        np.arange(cone.bilateral_rows, cone.contact_start), np.arange(cone.contact_start, problem.row_count, 3)
    ])  # fmt: skip
    point = reactions.copy()
    point[normal] = np.maximum(point[normal], 0.0)
    v = problem.constraint_velocity(point)
    rows, joints = max(1, len(normal)), max(1, cone.bilateral_rows)
    return Figures(
        float(np.linalg.norm(np.minimum(v[normal], 0.0))) / rows,
        float(np.linalg.norm(v[: cone.bilateral_rows])) / joints,
        float(point[normal] @ np.maximum(v[normal], 0.0)) / rows,
    )


@dataclass(frozen=True, eq=False)
class Count:
    """iterations: factorisations until the rule was met; figures: of the guess and after each; details: what the method
    wrote down."""

    iterations: int
    figures: list[Figures]
    details: dict[str, list[float]]


def iterations(
    problem: Problem, settings: Ipm, rule: Rule, guess: np.ndarray | None = None, *, most: int = 200,
    looks_first: bool = True,
) -> Count:  # fmt: skip
    """Iterate until the rule is met, or `most` times. looks_first: a guess that meets the rule costs nothing; the
    papers' loop iterates once before it looks."""
    line, known = find(settings)
    reactions = np.zeros(problem.row_count) if guess is None else guess.copy()
    trace = [figures(problem, reactions)]
    if looks_first and rule.met(trace[0]):
        return Count(0, trace, {})
    solver = line.start(problem, known, reactions)
    count = most
    for k in range(1, most + 1):
        if solver.finished:
            break
        solver.advance(1)
        trace.append(figures(problem, solver.reactions))
        if rule.met(trace[-1]):
            count = k
            break
    return Count(count, trace, solver.details or {})


def steps(setup: Setup, settings: StepSettings, count: int) -> Iterator[tuple[StepReport, np.ndarray]]:
    """(report, guess) of each step: the guess is what the step before left, by contact, zero for new contacts."""
    state, memory = setup.state, Memory()
    for _ in range(count):
        before = memory.copy()
        inputs = None if setup.inputs is None else setup.inputs(state.t, state)
        state, report = step(setup.model, state, inputs, settings, memory)
        yield report, before.recall(report.rows)
