"""Joints closed again after a step, in position and velocity, along the least change in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once. The velocities are then made to obey the joints where
they are now, which keeps redundant rows from contradicting each other in the next step.

Each island is closed alone. J H⁻¹ Jᵀ couples joints with a common body, and is factored in an order chosen once
(`closing_order.py`): chains and trees cost as much as they have joints.

Armature is mass of coordinates, H = M + Rᵀ a R, although masses are stored without it: μ = −a R δ act on its rows R
beside the impulses of the joints, as rows of compliance 1/a. Without them a geared double pendulum lost energy at first
order under Moreau's scheme, and under Euler's whatever the step.
"""

import numpy as np

from delassus.dynamics.closing_island import ClosingRoom, evaluate, factor, rates, respond, room_of
from delassus.dynamics.closing_order import Closing, closing_of
from delassus.integrators import move
from delassus.joints.arrays import JointArrays
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.spatial import rotations_of

_STEPS = 30  # Newton's: one or two suffice but where a mechanism is nearly singular
_STALE = 0.1  # a step that leaves more of the error than this asks for a factorisation where it led
_HALVINGS = 12  # of a step that does not lessen the error
_PASSES = 8  # over the velocities, where the factorisation is of a configuration nearby
_ROUNDING = 4e-15  # of the fastest velocity: rates below this are rounding, and no pass lessens them; nor does one …
_STUCK = 0.5  # … that leaves more than this
_FAR = 1e-15  # of the distance from the origin: joint errors below this are rounding

POSES_ALONE = np.empty((0, 6))
"""Instead of velocities: only poses are to be closed."""


def close_joints(
    model: Model, q: np.ndarray, u: np.ndarray, *, tol: float, joints: JointArrays | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Poses near q whose joint errors are below tol [m, rad], and velocities near u that obey the joints there.

    q: (n_b, 7), u: (n_b, 6), or POSES_ALONE where velocities are not wanted, which needs no factorisation where joints
    are closed; joints: those to close, all of the model's unless some are soft and meant to give. One factorisation
    serves all steps as long as they gain a factor of ten; a step that does not lessen the error is halved. Where that
    does not suffice, the best is returned: `joint_error` says how good."""
    joints = model.joints if joints is None else joints
    q, u = q.copy(), u.copy()
    masses = model.inverse_mass, model.inverse_inertia
    close(closing_of(joints), masses, tol, q, u, room_for(joints))
    return q, u


def room_for(joints: JointArrays) -> tuple[np.ndarray, ...]:
    """What `close` works in."""
    return room_of(closing_of(joints))


def joint_error(model: Model, q: np.ndarray) -> float:
    """The worst joint error at these poses (n_b, 7) [m, rad]."""
    residual, _ = model.joints.constraints(model.joints.frames(q, rotations_of(q)))
    return float(np.abs(residual).max(initial=0.0))


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def close(closing, masses, tol, q, u, room):
    """`close_joints` in one compiled call; q and u (n_b, 6), or (0, ·), change in place; returns 0.  closing: of
    `closing_of`; masses: inverse masses (n_b,) and inverse inertias (n_b, 3, 3) of bodies in their own frames; room: of
    `room_for`."""
    closing, room = Closing(*closing), ClosingRoom(*room)
    body = closing.body
    for b in range(len(body)):
        for i in range(7):
            room.q[b, i] = q[body[b], i]
    if len(u) > 0:
        for b in range(len(body)):
            for i in range(6):
                room.u[b, i] = u[body[b], i]
    for g in range(len(closing.islands) - 1):
        is_factored = _close_poses(closing, masses, tol, g, room)
        if len(u) > 0:
            _project(closing, masses, g, is_factored, room)
    for b in range(len(body)):
        for i in range(7):
            q[body[b], i] = room.q[b, i]
    if len(u) > 0:
        for b in range(len(body)):
            for i in range(6):
                u[body[b], i] = room.u[b, i]
    return np.int64(0)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _close_poses(closing, masses, tol, g, room):
    """Poses of island g closed in place; is its matrix factored, where they are now or nearby?"""
    first, last = closing.islands[g, 1], closing.islands[g + 1, 1]
    worst = evaluate(closing, g, room.q, room)
    enough, is_factored = max(tol, _FAR * _reach(room.q, first, last)), False
    for _ in range(_STEPS):
        if worst <= enough:
            break
        is_fresh = not is_factored
        if is_fresh:
            factor(closing, masses, g, room)
            is_factored = True
        respond(closing, g, room)
        left = worst
        for halving in range(_HALVINGS):
            move(room.q[first:last], room.change[first:last], 0.5**halving, room.there[first:last])
            left = evaluate(closing, g, room.there, room)
            if left < worst:
                break
        if not left < worst:
            evaluate(closing, g, room.q, room)
            if is_fresh:
                break
            is_factored = False
            continue
        if left > _STALE * worst:
            is_factored = False
        worst = left
        for b in range(first, last):
            for i in range(7):
                room.q[b, i] = room.there[b, i]
    return is_factored


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _reach(q, first, last):
    """How far from the origin these bodies are [m]."""
    out = 0.0
    for b in range(first, last):
        for i in range(3):
            out = max(out, abs(q[b, i]))
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _project(closing, masses, g, is_factored, room):
    """Velocities of island g that obey its rows, in place."""
    first, last = closing.islands[g, 1], closing.islands[g + 1, 1]
    fastest, before = 0.0, np.inf
    for b in range(first, last):
        for i in range(6):
            fastest = max(fastest, abs(room.u[b, i]))
    for _ in range(_PASSES):
        size = rates(closing, g, room)
        if size <= _ROUNDING * fastest or not size < _STUCK * before:
            break
        if not is_factored:
            factor(closing, masses, g, room)
            is_factored = True
        before = size
        respond(closing, g, room)
        for b in range(first, last):
            for i in range(6):
                room.u[b, i] += room.change[b, i]
