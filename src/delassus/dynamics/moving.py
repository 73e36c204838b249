"""From where rows are evaluated to the end of the step: with the new velocities, not into what is in the way, and back
within the limits of joints.

Penetration and overshoot are removed by moving bodies, not by speeding them up: nothing bounces off a stabilisation.
Gaps at the end of a step are known to first order. What was open when it began must not be closed beyond touching, what
penetrated comes out at the bounded rate of `Stabilisation`. Where that fails by more than rounding, bodies are moved
along the contacts' normals by the least displacement in the mass metric, a few sweeps of projected Gauß–Seidel.

A limit that is passed in the first half of a step, or by a body that was hit in it, is overshot before any row can act.
Pushed back through the velocities, a slider that met a limit without restitution came back at 1 m/s, and one that
bounced had 10 % more energy. What was within its limits when the step began ends within them; what was beyond comes
back at the same bounded rate.
"""

import math

import numpy as np

from delassus.collision.placement import moves_far
from delassus.dynamics.coupled_closure import least_change, linearised, over_all
from delassus.dynamics.impacts import wait_at_obstacles
from delassus.dynamics.limit_closure import shift_into_limits
from delassus.dynamics.rows import Rows, row_rate
from delassus.dynamics.softness import Softness
from delassus.dynamics.stabilisation import Stabilisation
from delassus.integrators import move, moved, moved_each
from delassus.joints.arrays import IMPOSED
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.operators.rigid import form_response
from delassus.model.model import Model
from delassus.problem import Problem
from delassus.softening import HARD
from delassus.spatial import rotations_of

_NONE = np.zeros(0)
_SWEEPS = 30
_SMALL_PENETRATION = 1e-6  # of the smaller shape: penetrations below are left to velocities, which they do not disturb
_ENOUGH = 0.1  # of that: where sweeps may end
_SMALL_OVERSHOOT = 1e-6  # [m, rad]: overshoots below are left to velocities, which they do not disturb


def move_on(
    model: Model, at: np.ndarray, before: np.ndarray, u: np.ndarray, elapsed: np.ndarray, h: float, rows: Rows,
    problem: Problem, settings: Stabilisation, reactions: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Poses at the end of the step, (n_b, 7).  at: where rows are evaluated, at times elapsed (n_b,) [s]; before, u:
    (n_b, 6) velocities before and after the step; reactions: (m,) [N s]."""
    left = h - elapsed
    if settings.through_velocities:
        return moved_each(at, u, left)
    q, contacts, shapes, pace = np.empty_like(at), rows.contacts, model.shapes, model.shapes.pace
    first, soft = rows.cone.contact_start, _NONE if rows.compliance is None else rows.compliance
    if problem.delassus.has_bodies:
        response, inverse = problem.delassus.rigid.response, problem.delassus.rigid.mass_inverse
    else:  # bodies alone are moved, by their masses alone; nodes follow forces
        response, inverse = _response_of(model, at, rows)
    count = len(contacts) if rows.nodes is None else int((contacts.shapes < shapes.count).all(axis=1).sum())
    pairs, gap = contacts.bodies[:count], contacts.gap[:count]
    rotors = (*model.joints.rotors, rows.rates, inverse)
    touching = (pairs, contacts.shapes[:count], gap, first, rows.rows, response, soft, rotors)
    reach = (shapes.body, pace.arm, pace.least, shapes.radius)
    if not move_free(at, before, u, elapsed, left, h, touching, reach, settings.plain, False, q):
        left = wait_at_obstacles(model, at, u, left, contacts, reactions[first : first + 3 * len(contacts) : 3])
        move_free(at, before, u, elapsed, left, h, touching, reach, settings.plain, True, q)
    return q


def _response_of(model: Model, at: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """M⁻¹ Jᵀ by rows, (m, 12), and M⁻¹, (n_b, 6, 6)."""
    response = np.empty_like(rows.rows)
    _, inverse = model.mass_blocks(rotations_of(at))
    form_response(inverse, rows.bodies, rows.cone.block_start, rows.rows, response)
    return response, inverse


@njit(cache=True, error_model="numpy", **ADDRESSED)
def move_free(at, before, u, elapsed, left, h, touching, reach, plain, is_free, q):
    """q from `at`, without penetration at the contacts: 1.  0, and nothing done, where a shape moves so far that its
    way has to be looked at first, unless it is known to be free."""
    body, arm, least, radius = reach
    if not is_free and moves_far(body, arm, least, u, 0.0, h):
        return 0
    n = len(u)
    way = np.empty((n, 6))
    for b in range(n):
        for k in range(6):
            way[b, k] = left[b] * u[b, k]
    move(at, way, 1.0, q)
    if len(touching[2]):
        way[:] = 0.0
        if separate(touching, radius, before, elapsed, u, left, h, plain, way):
            move(q, way, 1.0, q)
    return 1


@njit(cache=True, error_model="numpy")
def separate(touching, radius, before, elapsed, after, left, h, plain, shift):
    """Displacements (n_b, 6) that take bodies out of penetrations they would end the step with, into `shift`, which is
    zero; returns whether there are any.

    touching: bodies, shapes and gaps of the contacts, their first row, rows, H⁻¹ Jᵀ by rows, compliances, and rotors:
    numbers, bodies and armature of geared coordinates, rate rows of all coordinates, H⁻¹ (n_b, 6, 6); radius: of the
    shapes [m]; before, after: (n_b, 6) velocities; elapsed, left: (n_b,) times to where rows are evaluated, and from
    there to the end [s]; plain: of Stabilisation."""
    bodies, shapes, gap, first, rows, response, soft, rotors = touching
    rate, margin, cap = plain[2], plain[3], plain[4]
    n = len(gap)
    lack, lacks = np.empty(n), False  # what each contact lacks to where it should be [m]
    for c in range(n):
        r = first + 3 * c
        began = ends = gap[c] + margin
        for side in range(2):
            b = bodies[c, side]
            if b >= 0:
                for k in range(6):
                    began -= elapsed[b] * rows[r, 6 * side + k] * before[b, k]
                    ends += left[b] * rows[r, 6 * side + k] * after[b, k]
        wanted = min(began + min(-rate * began, cap * h), 0.0) if began < 0.0 else 0.0
        lack[c] = -np.inf if len(soft) and soft[r] > 0.0 else wanted - ends
        lacks = lacks or lack[c] > _SMALL_PENETRATION * min(radius[shapes[c, 0]], radius[shapes[c, 1]])
    if lacks:
        _sweep(bodies, shapes, first, rows, response, rotors, radius, lack, shift)
    return lacks


@njit(cache=True, error_model="numpy")
def _sweep(bodies, shapes, first, rows, response, rotors, radius, lack, shift):
    """Projected Gauß–Seidel on the normals: displacements whose contacts lack nothing, or push nothing. Rotors are
    mass, μ = −a R δ on their rows R, as in closure.py: joints are closed afterwards in the metric that they are part
    of, and what a lever had turned by as if without its rotor would stay."""
    push, (geared, joined, armature, rates, inverse) = np.zeros(len(lack)), rotors
    carried, turning, turned = np.zeros(len(geared)), rates[geared], np.empty((len(geared), 12))
    form_response(inverse, joined, np.arange(len(geared) + 1), turning, turned)
    for _ in range(_SWEEPS):
        done = True
        for k in range(len(geared)):
            mobility = 1.0 / armature[k]
            for i in range(12):
                mobility += turning[k, i] * turned[k, i]
            more = -(row_rate(joined, k, turning, k, shift) + carried[k] / armature[k]) / mobility
            carried[k] += more
            _push(joined, k, turned, k, more, shift)
        for c in range(len(lack)):
            r = first + 3 * c
            mobility = 0.0
            for k in range(12):
                mobility += rows[r, k] * response[r, k]
            more = max((lack[c] - row_rate(bodies, c, rows, r, shift)) / mobility, -push[c])
            push[c] += more
            _push(bodies, c, response, r, more, shift)
            smaller = min(radius[shapes[c, 0]], radius[shapes[c, 1]])
            done = done and abs(more) * mobility <= _ENOUGH * _SMALL_PENETRATION * smaller
        if done:
            return


@njit(cache=True, error_model="numpy")
def _push(bodies, c, response, r, impulse, shift):
    for side in range(2):
        b = bodies[c, side]
        if b >= 0:
            for k in range(6):
                shift[b, k] += impulse * response[r, 6 * side + k]


def return_to_limits(
    model: Model, q: np.ndarray, before: np.ndarray, u: np.ndarray, elapsed: np.ndarray, h: float, rows: Rows,
    settings: Stabilisation, softness: Softness,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Poses (n_b, 7) within the limits, to first order, and coordinates (n_d,) to count turns from.

    q: poses at the end; before, u: (n_b, 6) velocities before and after; elapsed: (n_b,) time to where rows are
    evaluated [s]."""
    joints, freedoms = model.joints, model.freedoms
    if settings.through_velocities or not freedoms.limit_count:
        return q, rows.coordinates
    lack, own = np.zeros(freedoms.coordinate_count), joints.coordinate_count
    hard = softness.limits[:, 0] == HARD
    lacks = lacks_of(
        joints.bodies, joints.plain_coordinates, hard, rows.coordinates, rows.rates, before, u, elapsed, h,
        settings.plain, lack[:own],
    )  # fmt: skip
    if rows.lengths is not None:
        free = rows.lengths.couplings.free
        began = rows.lengths.now - rows.lengths.rows @ (elapsed[:, None] * before).ravel()
        ends = rows.lengths.now + rows.lengths.rows @ ((h - elapsed)[:, None] * u).ravel()
        for k in np.flatnonzero(hard[own:]):
            c, d = free[k], own + k
            lack[d] = lack_of(began[c], ends[c], freedoms.lower[d], freedoms.upper[d], h, settings.plain)
            lacks = lacks or lack[d] != 0.0
    if not lacks:
        return q, rows.coordinates
    n = model.body_count
    if not model.closes_lengths and not lack[own:].any():
        shift = shift_into_limits(model, softness.limited, q, lack[:own])
        return moved(q, shift, 1.0), rows.coordinates + _along(rows.rates, joints.coordinate_bodies, shift)
    out = np.flatnonzero(lack)
    residual, J, inverse, soft = linearised(model, q, softness.closed, rows.coordinates)
    of_joints = over_all(rows.rates, joints.coordinate_bodies, n)
    along = of_joints if rows.lengths is None else np.concatenate([of_joints, rows.lengths.rows[free]])
    shift = least_change(
        np.concatenate([J, along[out]]), inverse, np.append(soft, np.zeros(len(out))),
        np.append(-residual, lack[out]),
    )  # fmt: skip
    return moved(q, shift.reshape(-1, 6), 1.0), rows.coordinates + of_joints @ shift


def _along(rates: np.ndarray, bodies: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """What displacements (n_b, 6) change coordinates by, (n_d,).  rates: (n_d, 12), bodies: (n_d, 2)."""
    of_bodies = np.concatenate([shift, np.zeros((1, 6))])[bodies]  # the last one is the world's
    return np.asarray((rates * of_bodies.reshape(-1, 12)).sum(axis=1))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def lacks_of(bodies, freedoms, hard, coordinates, rates, before, u, elapsed, h, plain, lack):
    """What each coordinate lacks to where it should be, into `lack`; returns whether any does.  plain: of
    Stabilisation."""
    joint, lower, upper, drive, effort = freedoms[0], freedoms[4], freedoms[5], freedoms[8], freedoms[11]
    lacks = False
    for d in range(len(lack)):
        if not hard[d] or (drive[d] == IMPOSED and not math.isfinite(effort[d])):
            continue  # prescribed motion stops at limits by itself (joint_rows.py)
        began = ends = coordinates[d]
        for side in range(2):
            b = bodies[joint[d], side]
            if b >= 0:
                for k in range(6):
                    began -= elapsed[b] * rates[d, 6 * side + k] * before[b, k]
                    ends += (h - elapsed[b]) * rates[d, 6 * side + k] * u[b, k]
        found = lack_of(began, ends, lower[d], upper[d], h, plain)
        if found != 0.0:
            lack[d], lacks = found, True
    return lacks


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def lack_of(began, ends, lower, upper, h, plain):
    """What a coordinate that goes from `began` to `ends` lacks to where its limits want it, 0 for nothing."""
    out = 0.0
    for sign, bound in ((1.0, upper), (-1.0, lower)):
        over = max(sign * (began - bound), 0.0)  # zero where there is no limit
        more = sign * (ends - bound) - (over - min(plain[1] * over, plain[4] * h))
        if more > _SMALL_OVERSHOOT:
            out = -sign * more
    return out
