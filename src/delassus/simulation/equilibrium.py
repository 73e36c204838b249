"""Where everything comes to rest: a start without the swinging that gravity would set off.

Steps of implicit Euler, each begun at rest and longer than the one before: with growing h the masses count less and
less, until a step is one of Newton's method for K δ = f + Jᵀλ, contacts, friction and joints included."""

from dataclasses import replace

import numpy as np

from delassus.arguments import whole
from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.memory import Memory
from delassus.simulation.one_step import step
from delassus.simulation.settings import StepSettings, check_arguments, sorted_inputs

_GROWTH = 2.0  # of steps, as long as they gain little: the longer they are, the less do tolerances of velocity say
_LITTLE = 0.2  # of the motion in the step before: less is a gain
_FAR = 0.1  # of the size of what moves: a step that moves something further was too long
_SMALL = 1e-7  # of that size: motion in a step that counts as none
_NEAR = 1e-5  # of that size: what moves less is near enough, and longer steps only blur it
_G = 9.81  # [m/s²]: in a step too short for anything to fall, to move little says nothing, so that
_NONE_OF_A_FALL, _LITTLE_OF_A_FALL = 1e-4, 1e-2  # of a free fall are the most that count as none and as near
_TOL = 1e-9  # of the solves: what they leave moves things, h times as far


def equilibrate(
    model: Model, state: State, inputs: Inputs | None = None, settings: StepSettings | None = None, *, most: int = 200
) -> State:
    """The state at rest that this one comes to, at the same time.  inputs: what acts, constant; settings: whose solver,
    law and tolerances are used; most: steps at most. What rolls or falls for ever is refused, by name.

        model, state = builder.build()
        state = equilibrate(model, state)
    """
    check_arguments(model, state, None, None)
    inputs, settings = sorted_inputs(model, inputs, settings)
    most = whole(most, "equilibrate: most", 1)
    given = replace(settings or StepSettings(), integrator="euler", theta=None)
    try:
        return _rest(model, state, inputs, given, most)
    except ProblemError:
        # Where things turn far before they rest, the first of Newton's rounds leads past the goal again and again.
        if model.flexible is None and model.forces is None:
            raise
    return _rest(model, state, inputs, replace(given, integrator="iterated"), most)


def _rest(model: Model, state: State, inputs: Inputs | None, given: StepSettings, most: int) -> State:
    usual = given.h
    size = _size(state)
    here, memory, factor, last = _at_rest(state, state), Memory(), 1.0, np.inf
    for _ in range(most):
        taken = replace(given, h=usual * factor, tol=min(given.tol, _TOL))
        try:
            after, report = step(model, here, inputs, taken, memory)
            way, said = _way(here, after), f"the solver says {report.solution.status.value}"
        except ProblemError as error:  # too long for the shape at hand
            way, report, said = np.inf, None, str(error)
        if report is None or not report.solution.converged or way > _FAR * size:
            if factor < 1e-3:
                raise ProblemError(f"equilibrate: no step of {usual * factor:.2g} s finds a way: {said}")
            factor, memory = 0.25 * factor, Memory()
            continue
        here = _at_rest(after, state)
        fall = _G * (usual * factor) ** 2
        if max(way, last) <= min(_SMALL * size, _NONE_OF_A_FALL * fall):
            return here
        if way >= max(_LITTLE * last, min(_NEAR * size, _LITTLE_OF_A_FALL * fall)):
            factor *= _GROWTH
        elif way >= last:  # what is left is the error of the solves, h times as far
            factor /= _GROWTH
        last = way
    raise ProblemError(
        f"equilibrate: after {most} steps {_fastest(model, after)} still moves: hold it, add friction or damping, "
        "or simulate it"
    )


def _at_rest(state: State, start: State) -> State:
    return State(state.q, np.zeros_like(state.u), start.t, state.turns, state.nodes, np.zeros_like(state.node_velocity))


def _size(state: State) -> float:
    """Of what moves [m]."""
    places = np.concatenate([state.position, state.nodes])
    return max(float(np.ptp(places, axis=0).max(initial=0.0)), 1e-3) if len(places) else 1.0


def _way(before: State, after: State) -> float:
    """The furthest anything has moved [m, rad]."""
    turned = np.minimum(np.abs(after.quaternion - before.quaternion), np.abs(after.quaternion + before.quaternion))
    moved = (after.position - before.position, after.nodes - before.nodes, turned)
    return max(float(np.abs(way).max(initial=0.0)) for way in moved)


def _fastest(model: Model, state: State) -> str:
    body = np.linalg.norm(state.u[:, :3], axis=1) if len(state.u) else np.zeros(1)
    node = np.linalg.norm(state.node_velocity, axis=1) if len(state.nodes) else np.zeros(1)
    if body.max() >= node.max() and len(state.u):
        return repr(model.body_names[int(np.argmax(body))])
    assert model.flexible is not None
    k = int(np.searchsorted(model.flexible.elements.node_start, int(np.argmax(node)), side="right")) - 1
    return repr(model.flexible.names[k])
