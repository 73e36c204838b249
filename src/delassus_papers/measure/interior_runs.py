"""Runs of the scenes of Mangoni's thesis and of Mangoni and Tasora, and iterations counted as they count them.

The papers stop when ‖r_p‖/n_λ, ‖r_d‖/n_v and μ = y·λ/n_λ are small, in SI units, with r_p and r_d of the method's own
variables, carried from iteration to iteration. The published method is held to that. At the reactions λ of any other
method the same figures follow from the problem alone: velocities obey momentum, so r_d = 0; y = max(v, 0) leaves r_p =
min(v, 0).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from delassus.integrators import moved
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.scenes.scene import Setup
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.solvers.interior.settings import InteriorSettings
from delassus.solvers.method import Method
from delassus.solvers.table import find
from delassus_papers.solvers.settings import ThesisIpm
from delassus_papers.solvers.thesis import ThesisMethod

PUBLISHED = "ipm-mangoni"
"""As in the thesis, algorithm 1."""
AS_IN_MANGONI_TASORA = {"start": "dapuzzo", "lengths": "common"}
"""What Mangoni and Tasora do otherwise: §2.3.2 and eq. 22."""


def method(name: str = "ipm", **changes: Any) -> InteriorSettings:
    """Settings of an interior point of the table, some changed."""
    settings = find(name)[1].changed(**changes)
    assert isinstance(settings, InteriorSettings)
    return settings


def thesis_ipm(**changes: Any) -> ThesisIpm:
    """Settings of the published method, some changed."""
    settings = find(PUBLISHED)[1].changed(**changes)
    assert isinstance(settings, ThesisIpm)
    return settings


@dataclass(frozen=True)
class Rule:
    """When a paper's method stops: norms of r_p per row [m/s] and of r_d per velocity [N s], and μ [J]."""

    primal: float
    mu: float

    def met(self, figures: "Figures") -> bool:
        return max(figures.primal, figures.joint, figures.momentum) < self.primal and figures.mu < self.mu


THESIS = Rule(1e-10, 1e-9)
"""Mangoni, PhD thesis, chapter 5."""
MANGONI_TASORA = Rule(1e-8, 1e-7)
"""Mangoni and Tasora, eq. 38."""


@dataclass(frozen=True)
class Figures:
    """‖r_p‖ per unilateral row and per bilateral row [m/s], ‖r_d‖ per velocity [N s], and μ [J], of one point."""

    primal: float
    joint: float
    momentum: float
    mu: float


def figures(problem: Problem, reactions: np.ndarray) -> Figures:
    """The papers' residuals at these reactions (made non-negative), frictionless law."""
    cone = problem.cone
    normal = np.concatenate(
        [np.arange(cone.bilateral_rows, cone.contact_start), np.arange(cone.contact_start, problem.row_count, 3)]
    )
    point = reactions.copy()
    point[normal] = np.maximum(point[normal], 0.0)
    v = problem.constraint_velocity(point)
    rows, joints = max(1, len(normal)), max(1, cone.bilateral_rows)
    return Figures(
        float(np.linalg.norm(np.minimum(v[normal], 0.0))) / rows,
        float(np.linalg.norm(v[: cone.bilateral_rows])) / joints,
        0.0,
        float(point[normal] @ np.maximum(v[normal], 0.0)) / rows,
    )


@dataclass(frozen=True, eq=False)
class Count:
    """iterations: factorisations until the rule was met, or all that were allowed; figures: after each, with those of
    the guess first where it was looked at; reactions: (m,); velocities: (n,) the published method's own, else empty."""

    iterations: int
    is_met: bool
    figures: list[Figures]
    reactions: np.ndarray
    velocities: np.ndarray


def iterations(
    problem: Problem, settings: InteriorSettings, rule: Rule, guess: np.ndarray | None = None, *, most: int = 200
) -> Count:
    """Iterate until the rule is met, or `most` times. The published method iterates once before it looks, as published
    (thesis, algorithm 1); a guess of others that meets the rule costs nothing."""
    line, known = find(settings)
    reactions = np.zeros(problem.row_count) if guess is None else guess.copy()
    trace = [] if isinstance(settings, ThesisIpm) else [figures(problem, reactions)]
    if trace and rule.met(trace[0]):
        return Count(0, True, trace, reactions, np.zeros(0))
    solver = line.start(problem, known, reactions)
    done = 0
    while done < most and not solver.finished:
        solver.advance(1)
        done += 1
        trace.append(_figures_of(solver, problem))
        if rule.met(trace[-1]):
            return Count(done, True, trace, solver.reactions, _velocities(solver))
    return Count(most, False, trace, solver.reactions, _velocities(solver))


def _figures_of(solver: Method, problem: Problem) -> Figures:
    if isinstance(solver, ThesisMethod):
        now = solver.interior.details
        if "tau" not in now:  # its first system could not be solved
            return Figures(np.nan, np.nan, np.nan, np.nan)
        return Figures(now["r_p"], now["r_joint"], now["r_d"], now["tau"])
    return figures(problem, solver.reactions)


def _velocities(solver: Method) -> np.ndarray:
    return solver.interior.u if isinstance(solver, ThesisMethod) else np.zeros(0)


def steps(
    setup: Setup, settings: StepSettings, count: int, skipped: int = 0
) -> Iterator[tuple[StepReport, np.ndarray]]:
    """(report, guess) of each step after those skipped: the guess is what the step before left, by contact, zero for
    new contacts."""
    state, memory = setup.state, Memory()
    for k in range(skipped + count):
        before = memory.copy()
        inputs = None if setup.inputs is None else setup.inputs(state.t, state)
        state, report = step(setup.model, state, inputs, settings, memory)
        if k >= skipped:
            yield report, before.recall(report.rows)


def carried_on(setup: Setup, settings: ThesisIpm, rule: Rule, count: int, skipped: int = 0) -> list[Count]:
    """One run of the method per call with contacts, `count` of them: bodies move with its own velocities, and its next
    run is given them and its last reactions, by contact, as guess; it ends with one that does not end by the rule.
    Steps skipped are taken by another method."""
    exact = replace(setup.settings, solver="ipm", tol=1e-10, tol_velocity=1e-9)
    state, memory, h = setup.state, Memory(), setup.settings.h
    for _ in range(skipped):
        state, _ = step(setup.model, state, None, exact, memory)
    known, out = settings.changed(own_tol=rule.primal), []
    own = Memory()
    for _ in range(count):
        _, report = step(setup.model, state, None, exact, memory.copy())
        guess = None if settings.warm == "none" else own.recall(report.rows)
        out.append(iterations(report.problem, known, rule, guess))
        if not out[-1].is_met:
            break
        own.store(report.rows, out[-1].reactions)
        v = out[-1].velocities.reshape(-1, 6)
        state = replace(state, q=moved(state.q, v, h), u=v, t=state.t + h)
    return out


def stack_problem(n: int, mass: float, ratio: float) -> Problem:
    """The first step of n spheres on top of each other.  mass: of the lowest [kg]; ratio: of each to the one below."""
    setup = SCENES["stacked-spheres"].build(n=n, mass=mass, ratio=ratio)
    return step(setup.model, setup.state, None, setup.settings, Memory())[1].problem
