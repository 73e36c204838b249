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
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.placement import moves_far
from delassus.dynamics.coupled_closure import least_change, linearised, over_all
from delassus.dynamics.impacts import wait_at_obstacles
from delassus.dynamics.limit_closure import shift_into_limits
from delassus.dynamics.loose import Loose
from delassus.dynamics.rows import Rows, row_rate
from delassus.dynamics.softness import Softness
from delassus.dynamics.stabilisation import Rates, Stabilisation
from delassus.integrators import move, moved, moved_each
from delassus.joints.arrays import IMPOSED
from delassus.joints.data import Freedoms, Rotors
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


class Way(NamedTuple):
    """Bodies from where rows are evaluated to the end of the step."""

    at: np.ndarray  # (n_b, 7) poses where rows are evaluated
    before: np.ndarray  # (n_b, 6) velocities before the step
    u: np.ndarray  # (n_b, 6) and after it
    elapsed: np.ndarray  # (n_b,) time to where rows are evaluated [s]
    left: np.ndarray  # (n_b,) from there to the end [s]


class Touching(NamedTuple):
    """Contacts and what pushes them apart."""

    bodies: np.ndarray  # (n_c, 2)
    shapes: np.ndarray  # (n_c, 2)
    gap: np.ndarray  # (n_c,) [m]
    first: int  # their first row
    rows: np.ndarray  # (m, 12)
    response: np.ndarray  # (m, 12) H⁻¹ Jᵀ by rows
    compliance: np.ndarray  # (m,), or empty: all are hard
    rotors: tuple[Any, ...]  # fields of `Rotors`


class Reach(NamedTuple):
    """How far shapes reach."""

    body: np.ndarray  # (n_s,) of each shape, −1 for the world
    arm: np.ndarray  # (n_s,) as `moves_far` takes it [m]
    least: float
    radius: np.ndarray  # (n_s,) of the bounding balls [m]


def move_on(
    model: Model,
    way: Way,
    h: float,
    rows: Rows,
    problem: Problem,
    settings: Stabilisation,
    reactions: np.ndarray,
    loose: Loose | None = None,
) -> np.ndarray:
    """Poses at the end of the step, (n_b, 7).  reactions: (m,) [N s]; loose: given, nothing waits for what bounces."""
    if settings.through_velocities:
        return moved_each(way.at, way.u, way.left)
    q, contacts, shapes, pace = np.empty_like(way.at), rows.contacts, model.shapes, model.shapes.pace
    first, soft = rows.cone.contact_start, _NONE if rows.compliance is None else rows.compliance
    if problem.delassus.has_bodies:
        response, inverse = problem.delassus.rigid.response, problem.delassus.rigid.mass_inverse
    else:  # bodies alone are moved, by their masses alone; nodes follow forces
        response, inverse = _response_of(model, way.at, rows)
    count = len(contacts) if rows.nodes is None else int((contacts.shapes < shapes.count).all(axis=1).sum())
    of = contacts.bodies[:count], contacts.shapes[:count], contacts.gap[:count]
    rotors = (*model.joints.rotors, rows.rates, inverse)
    touching = tuple(Touching(*of, first, rows.rows, response, soft, rotors))
    reach = tuple(Reach(shapes.body, pace.arm, pace.least, shapes.radius))
    if not move_free(tuple(way), h, touching, reach, settings.rates, False, q):
        pushing = reactions[first : first + 3 * len(contacts) : 3]
        share = wait_at_obstacles(model, way.at, way.left[:, None] * way.u, contacts, pushing, loose)
        way = way._replace(left=share * way.left)
        move_free(tuple(way), h, touching, reach, settings.rates, True, q)
    return q


def _response_of(model: Model, at: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """M⁻¹ Jᵀ by rows, (m, 12), and M⁻¹, (n_b, 6, 6)."""
    response = np.empty_like(rows.rows)
    _, inverse = model.mass_blocks(rotations_of(at))
    form_response(inverse, rows.bodies, rows.cone.block_start, rows.rows, response)
    return response, inverse


@njit(cache=True, error_model="numpy", **ADDRESSED)
def move_free(way, h, touching, reach, rates, is_free, q):
    """q from where rows are evaluated, without penetration at the contacts: 1.  0, and nothing done, where a shape
    moves so far that its way has to be looked at first, unless it is known to be free.

    way, touching, reach, rates: fields of `Way`, `Touching`, `Reach`, and `Rates` of Stabilisation."""
    way, of, reach = Way(*way), Touching(*touching), Reach(*reach)
    if not is_free and moves_far(reach.body, reach.arm, reach.least, way.u, 0.0, h):
        return 0
    n = len(way.u)
    shift = np.empty((n, 6))
    for b in range(n):
        for k in range(6):
            shift[b, k] = way.left[b] * way.u[b, k]
    move(way.at, shift, 1.0, q)
    if len(of.gap):
        shift[:] = 0.0
        if separate(of, reach.radius, way, h, rates, shift):
            move(q, shift, 1.0, q)
    return 1


@njit(cache=True, error_model="numpy")
def separate(of, radius, way, h, rates, shift):
    """Displacements (n_b, 6) that take bodies out of penetrations they would end the step with, into `shift`, which is
    zero; returns whether there are any.  of: `Touching`; radius: of the shapes [m]; way: `Way`; rates: fields of
    `Rates`."""
    by, rows = Rates(*rates), of.rows
    n = len(of.gap)
    lack, lacks = np.empty(n), False  # what each contact lacks to where it should be [m]
    for c in range(n):
        r = of.first + 3 * c
        began = ends = of.gap[c] + by.penetration_margin
        for side in range(2):
            b = of.bodies[c, side]
            if b >= 0:
                for k in range(6):
                    began -= way.elapsed[b] * rows[r, 6 * side + k] * way.before[b, k]
                    ends += way.left[b] * rows[r, 6 * side + k] * way.u[b, k]
        out = min(-by.contact * began, by.depenetration_speed * h)
        wanted = min(began + out, 0.0) if began < 0.0 else 0.0
        lack[c] = -np.inf if len(of.compliance) and of.compliance[r] > 0.0 else wanted - ends
        lacks = lacks or lack[c] > _SMALL_PENETRATION * min(radius[of.shapes[c, 0]], radius[of.shapes[c, 1]])
    if lacks:
        _sweep(of, radius, lack, shift)
    return lacks


@njit(cache=True, error_model="numpy")
def _sweep(of, radius, lack, shift):
    """Projected Gauß–Seidel on the normals: displacements whose contacts lack nothing, or push nothing. Rotors are
    mass, μ = −a R δ on their rows R, as in closure.py: joints are closed afterwards in the metric that they are part
    of, and what a lever had turned by as if without its rotor would stay."""
    rotors, rows, push = Rotors(*of.rotors), of.rows, np.zeros(len(lack))
    count = len(rotors.geared)
    carried, turning, turned = np.zeros(count), rotors.rates[rotors.geared], np.empty((count, 12))
    form_response(rotors.inverse, rotors.bodies, np.arange(count + 1), turning, turned)
    for _ in range(_SWEEPS):
        done = True
        for k in range(count):
            mobility = 1.0 / rotors.armature[k]
            for i in range(12):
                mobility += turning[k, i] * turned[k, i]
            lag = carried[k] / rotors.armature[k]
            more = -(row_rate(rotors.bodies, k, turning, k, shift) + lag) / mobility
            carried[k] += more
            _push(rotors.bodies, k, turned, k, more, shift)
        for c in range(len(lack)):
            r = of.first + 3 * c
            mobility = 0.0
            for k in range(12):
                mobility += rows[r, k] * of.response[r, k]
            more = max((lack[c] - row_rate(of.bodies, c, rows, r, shift)) / mobility, -push[c])
            push[c] += more
            _push(of.bodies, c, of.response, r, more, shift)
            smaller = min(radius[of.shapes[c, 0]], radius[of.shapes[c, 1]])
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
    model: Model, q: np.ndarray, way: Way, h: float, rows: Rows, settings: Stabilisation, softness: Softness
) -> tuple[np.ndarray, np.ndarray]:
    """Poses (n_b, 7) within the limits, to first order, and coordinates (n_d,) to count turns from.  q: poses at the
    end."""
    joints, freedoms = model.joints, model.freedoms
    if settings.through_velocities or not freedoms.limit_count:
        return q, rows.coordinates
    lack, own = np.zeros(freedoms.coordinate_count), joints.coordinate_count
    hard, along = softness.limits[:, 0] == HARD, (rows.coordinates, rows.rates)
    lacks = lacks_of(joints.coordinate_data, hard, along, tuple(way), h, settings.rates, lack[:own])
    if rows.lengths is not None:
        free = rows.lengths.couplings.free
        began = rows.lengths.now - rows.lengths.rows @ (way.elapsed[:, None] * way.before).ravel()
        ends = rows.lengths.now + rows.lengths.rows @ ((h - way.elapsed)[:, None] * way.u).ravel()
        for k in np.flatnonzero(hard[own:]):
            c, d = free[k], own + k
            lack[d] = lack_of(began[c], ends[c], freedoms.lower[d], freedoms.upper[d], h, settings.rates)
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
    each = of_joints if rows.lengths is None else np.concatenate([of_joints, rows.lengths.rows[free]])
    J, soft = np.concatenate([J, each[out]]), np.append(soft, np.zeros(len(out)))
    shift = least_change(J, inverse, soft, np.append(-residual, lack[out]))
    return moved(q, shift.reshape(-1, 6), 1.0), rows.coordinates + of_joints @ shift


def _along(rates: np.ndarray, bodies: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """What displacements (n_b, 6) change coordinates by, (n_d,).  rates: (n_d, 12), bodies: (n_d, 2)."""
    of_bodies = np.concatenate([shift, np.zeros((1, 6))])[bodies]  # the last one is the world's
    return np.asarray((rates * of_bodies.reshape(-1, 12)).sum(axis=1))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def lacks_of(freedoms, hard, along, way, h, settings, lack):
    """What each coordinate lacks to where it should be, into `lack`; returns whether any does.  freedoms: fields of
    `Freedoms`; along: values and rate rows of the coordinates; way: of `Way`; settings: of `Rates`."""
    of, (values, rates), way, lacks = Freedoms(*freedoms), along, Way(*way), False
    for d in range(len(lack)):
        if not hard[d] or (of.drive[d] == IMPOSED and not math.isfinite(of.effort[d])):
            continue  # prescribed motion stops at limits by itself (joint_rows.py)
        began = ends = values[d]
        for side in range(2):
            b = of.bodies[of.joint[d], side]
            if b >= 0:
                for k in range(6):
                    began -= way.elapsed[b] * rates[d, 6 * side + k] * way.before[b, k]
                    ends += (h - way.elapsed[b]) * rates[d, 6 * side + k] * way.u[b, k]
        found = lack_of(began, ends, of.lower[d], of.upper[d], h, settings)
        if found != 0.0:
            lack[d], lacks = found, True
    return lacks


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def lack_of(began, ends, lower, upper, h, rates):
    """What a coordinate that goes from `began` to `ends` lacks to where its limits want it, 0 for nothing."""
    by, out = Rates(*rates), 0.0
    for sign, bound in ((1.0, upper), (-1.0, lower)):
        over = max(sign * (began - bound), 0.0)  # zero where there is no limit
        more = sign * (ends - bound) - (over - min(by.limit * over, by.depenetration_speed * h))
        if more > _SMALL_OVERSHOOT:
            out = -sign * more
    return out
