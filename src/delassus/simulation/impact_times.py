"""A step divided at its times of impact, so that bounces are as exact as the motion between them.

Between impacts bodies move by ordinary, shorter steps; what bounces is left out of these (dynamics/loose.py) until it
meets. Where it first does, velocities jump by an impact of Moreau's: v⁺ + e v⁻ ≥ 0 on the contacts that approach,
together with joints, limits and contacts without restitution. Contacts with restitution that touch at rest come next,
if the jump made them approach: impacts that do not commute are taken one after the other, which is the limit of gaps
that close. Where that does not end, all that touches jumps at once.

Newton's restitution with friction may gain energy (Kane and Levinson 1985). With e = 0 no jump does: λᵀ v⁺ ≤ 0, so that
the change is λᵀ (v⁺ + v⁻)/2 ≤ −λᵀ D λ/2. So where a jump would gain, its e is lowered until it does not."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from delassus.collision import Contacts
from delassus.dynamics import Inputs, Rows, reduce
from delassus.dynamics.forces import total_energy
from delassus.dynamics.jump import jump_rows
from delassus.dynamics.loose import MEETS, Loose
from delassus.dynamics.softness import softness_of
from delassus.model.model import Model
from delassus.model.state import State
from delassus.problem import Problem
from delassus.simulation.joined import joined
from delassus.simulation.memory import Memory
from delassus.simulation.report import StepReport
from delassus.simulation.settings import StepSettings
from delassus.solvers import Solution, solve
from delassus.solvers.driver import clock

Take = Callable[[Model, State, Inputs, StepSettings, Memory | None, Loose | None], tuple[State, StepReport]]

_IN_TURN = 400  # jumps at one time until all that touches jumps at once
_AT_ONCE = 500  # … and until restitution is given up there
_GAINED = 1e-9  # of the kinetic energy that a jump may add: rounding, and what solving leaves
_FINE = 1e-3  # of the tolerances, where they can be had: what an impact is off by is never made good
_HALVINGS = 8  # of e, where it gains more
_ATTEMPTS = 8  # at a piece that ends where something meets
_NEARER = 0.1  # of a piece is tried where something seems to meet at once
_PIECES, _BODY_PIECES = 1000, 60_000  # of a step until impacts share their times, also times the number of bodies
_WINDOWS, _BODY_WINDOWS = 16, 6_000  # of a step that impacts share then, also times the number of bodies


def are_divided(model: Model, settings: StepSettings) -> bool:
    """Are steps of this model divided at impacts? Only where something bounces, and among rigid bodies."""
    if not model.shapes.bounces or settings.scheme.is_penalty or settings.stabilisation.through_velocities:
        return False
    softness = softness_of(model, settings.softening)
    return model.flexible is None and model.couplings is None and not softness.is_any_shape_soft


def divided(
    take: Take, model: Model, state: State, inputs: Inputs, settings: StepSettings, memory: Memory | None
) -> tuple[State, StepReport]:
    """The state after a step, and its report.  take: takes a piece."""
    pieces, jumps, h = list[StepReport](), 0, settings.h
    end = state.t + h
    exact = min(_PIECES, _BODY_PIECES // model.body_count)
    loose = Loose.of(model, settings.stabilisation, h)
    windows = min(_WINDOWS, _BODY_WINDOWS // model.body_count)
    is_clear = True  # nothing touches and approaches, as far as is known
    while True:
        late = len(pieces) >= exact
        if not is_clear:
            meeting = loose.meeting_now(model, state)
            if meeting[1].any() and not (late and (jumps or not windows)):
                state, report = _jump(model, state, inputs, settings, meeting, _IN_TURN if late else jumps)
                pieces.append(report)
                jumps += 1
                continue
        left = length = end - state.t
        for attempt in range(_ATTEMPTS):
            trial = None if memory is None else memory.copy()
            left_out = None if late and not windows else loose
            after, report = take(model, state, inputs, _shortened(settings, length), trial, left_out)
            if is_clear and left_out is not None and loose.meets:
                break
            first = None if left_out is None else loose.first_impact(model, state, after, attempt > 0)
            if first is not None and late:
                first = max(first, h / windows)
            if first is None or first >= length:
                break
            length = first if first > MEETS * h else _NEARER * length
        if is_clear and left_out is not None and loose.meets:
            is_clear = False
            continue
        if memory is not None and trial is not None:
            memory.become(trial)
        pieces.append(report)
        if inputs.time is None and length < left:
            inputs = replace(inputs, time=state.t)  # targets go on from the start of the step
        state, jumps, is_clear = after, 0, False
        if length >= left:
            break
    if len(pieces) == 1:
        return state, pieces[0]
    state = replace(state, t=end)
    return state, joined(pieces, h, total_energy(model, state))


def _shortened(settings: StepSettings, h: float) -> StepSettings:
    """The same for a piece of h [s]: shares of errors that are removed in a step are of the whole step."""
    if h >= settings.h * (1.0 - 1e-12):
        return settings
    share, given = h / settings.h, settings.stabilisation
    stabilisation = replace(given, joint=share * given.joint, limit=share * given.limit)
    return replace(settings, h=h, stabilisation=stabilisation)


def _jump(
    model: Model,
    state: State,
    inputs: Inputs,
    settings: StepSettings,
    meeting: tuple[Contacts, np.ndarray],
    jumps: int,
) -> tuple[State, StepReport]:
    """The state after an impact, and its report.  meeting: contacts that touch, and which of them bounce; jumps: how
    many there were at this time."""
    contacts, bounces = meeting
    if jumps < _IN_TURN:
        chosen = bounces | (contacts.restitution == 0.0)
        contacts, bounces = contacts.where(chosen), bounces[chosen]
    elif jumps < _AT_ONCE:
        bounces = contacts.restitution > 0.0
    else:
        bounces = np.zeros(len(contacts), bool)
    began = clock()
    softness = softness_of(model, settings.softening)
    rows, speed = jump_rows(model, state, contacts, inputs, settings.stabilisation, softness)
    asked = np.where(bounces, contacts.restitution * speed, 0.0)
    share = 1.0
    for halving in range(_HALVINGS + 2):
        rows.bias[rows.cone.contact_start :: 3] = share * asked
        problem, solution = _solved(model, state, inputs, rows, settings)
        assert solution.body_velocities is not None
        u = solution.body_velocities[: 6 * model.body_count].reshape(-1, 6)
        after = State(state.q, u, state.t, state.turns)
        grown = total_energy(model, after)[0] - total_energy(model, state)[0]
        if grown <= _GAINED * total_energy(model, state)[0] or halving > _HALVINGS or not bounces.any():
            break
        share = 0.5 * share if halving < _HALVINGS else 0.0
    report = StepReport(
        rows,
        problem,
        solution,
        contacts,
        total_energy(model, after),
        0.0,
        float(-contacts.gap.min(initial=0.0)),
        {"solve": clock() - began},
        state.t,
        0.0,
        (),
        (),
        state.q,
        None,
    )
    return after, report


def _solved(model: Model, state: State, inputs: Inputs, rows: Rows, settings: StepSettings) -> tuple[Problem, Solution]:
    problem = reduce(model, state.rotation, state.u, rows, inputs, 0.0, settings.law)
    factor, solution = settings.velocity_factor, None
    for fine in (_FINE, 1.0):
        solution = solve(
            problem,
            settings.solver,
            None if solution is None else solution.point,
            tol=fine * settings.tol,
            tol_velocity=None if factor is None else fine * factor,
            max_iter=settings.max_iter,
            threads=settings.threads,
        )
        if solution.converged:
            break
    assert solution is not None
    return problem, solution
