"""The draft force of a blade: whole ways by one solver, and single steps solved again by others."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from delassus import residuals
from delassus.model.state import State
from delassus.problem import Problem
from delassus.scenes.scene import Setup
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.solvers.settings import Settings
from delassus.solvers.table import find

WINDOW = 15
"""Steps of the moving mean."""
_SWEEPS = 60  # a step, at most, while the bed comes to rest


@dataclass
class Draft:
    """One run, one entry per step.  t [s]; force [N]; depth: deepest penetration [m]; residual: relative natural map;
    seconds: of solving; end: the last state."""

    name: str
    t: np.ndarray
    force: np.ndarray
    depth: np.ndarray
    residual: np.ndarray
    seconds: np.ndarray
    end: State

    @property
    def noise(self) -> float:
        """Standard deviation around the moving mean [N]."""
        return float((self.force - moving_mean(self.force)).std())


def moving_mean(x: np.ndarray) -> np.ndarray:
    """Over `WINDOW` entries, fewer at the ends."""
    weights = np.ones(min(WINDOW, len(x)))
    return np.convolve(x, weights, "same") / np.convolve(np.ones(len(x)), weights, "same")


def at_rest(setup: Setup) -> tuple[State, Memory]:
    """The bed when the blade begins to move, by cheap sweeps."""
    memory, state = Memory(), setup.state
    loose = replace(setup.settings, solver="nbgs", tol=1e-3, tol_velocity=None, max_iter=_SWEEPS)
    assert setup.inputs is not None
    for _ in range(round(setup.parameters["rest"] / setup.settings.h)):
        state, _ = step(setup.model, state, setup.inputs(state.t, state), loose, memory)
    return state, memory


def drawn(
    name: str,
    setup: Setup,
    state: State,
    memory: Memory,
    settings: StepSettings,
    watch: Callable[[int, StepReport, np.ndarray], None] | None = None,
    most: int | None = None,
) -> Draft:
    """Draw the blade all the way, or for so many steps at most.  watch: (number, report, start of the solve)."""
    memory = memory.copy()
    columns: list[tuple[float, ...]] = []
    assert setup.inputs is not None
    count = setup.steps() - round(state.t / settings.h)
    for number in range(count if most is None else min(most, count)):
        before = memory.copy()
        begin = time.process_time()
        state, report = step(setup.model, state, setup.inputs(state.t, state), settings, memory)
        spent = time.process_time() - begin
        solution = report.solution
        columns.append(
            (
                state.t,
                draft_of(report, solution.reactions, settings.h),
                report.penetration,
                solution.residuals.natural_map_relative,
                spent,
            )
        )
        if watch is not None:
            watch(number, report, before.recall(report.rows))
    t, force, depth, residual, seconds = np.array(columns).T
    return Draft(name, t, force, depth, residual, seconds, state)


def draft_of(report: StepReport, reactions: np.ndarray, h: float) -> float:
    """Draft force [N] of these reactions: minus what the contacts push the blade, body 0, along x."""
    contacts, first = report.contacts, report.rows.cone.contact_start
    triples = reactions[first : first + 3 * len(contacts.gap)].reshape(-1, 3)
    along = np.einsum("ni,ni->n", triples, contacts.frame[:, :, 0]) / h
    return float(along[contacts.bodies[:, 0] == 0].sum() - along[contacts.bodies[:, 1] == 0].sum())


def to_error(
    problem: Problem, settings: Settings, error: float, most: int, seconds: float = 60.0
) -> tuple[np.ndarray, float, float]:
    """(reactions, seconds of processor, error of Kleinert et al. 2014, §5.2.4) of a method that starts from nothing and
    stops at this error, or after `most` iterations or so many seconds."""
    line, own = find(settings)
    begin = time.process_time()
    method = line.start(problem, own, np.zeros(problem.row_count))
    spent, found = time.process_time() - begin, np.inf
    for _ in range(most):
        begin = time.process_time()
        method.advance(1)
        spent += time.process_time() - begin
        found = residuals.evaluate(problem, method.reactions).error
        if found <= error or spent >= seconds or method.finished:
            break
    return method.reactions, spent, found


def for_seconds(problem: Problem, settings: Settings, seconds: float, batch: int = 20) -> np.ndarray:
    """Reactions of a method that starts from nothing and has so much time."""
    line, own = find(settings)
    begin = time.process_time()
    method = line.start(problem, own, np.zeros(problem.row_count))
    while time.process_time() - begin < seconds and not method.finished:
        method.advance(batch)
    return method.reactions
