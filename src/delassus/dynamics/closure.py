"""Joints closed again after a step, in position and velocity, along the least change in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once. The velocities are then made to obey the joints where
they are now, which keeps redundant rows from contradicting each other in the next step.

Armature is mass of coordinates, H = M + Rᵀ a R, although masses are stored without it: μ = −a R δ act on its rows R
beside the impulses of the joints, as rows of compliance 1/a. Without them a geared double pendulum lost energy at first
order under Moreau's scheme, and under Euler's whatever the step.
"""

import math

import numpy as np

from delassus.integrators import move, moved
from delassus.joints.arrays import JointArrays
from delassus.joints.primitives import evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.dense_inverse import DenseInverse, pivoted_cholesky, pivoted_solve
from delassus.linalg.operators.rigid import RigidDelassus, add_response, form_dense, multiply_rows
from delassus.model.model import Model
from delassus.spatial import matrices_of, rotations_of

MOST_ROWS = 600  # joint rows up to which the dense factorisation is worth its time
COMPILED = 120  # rows up to which the compiled loop beats LAPACK behind Python
_STEPS = 30  # Newton's: one or two suffice but where a mechanism is nearly singular
_STALE = 0.1  # a step that leaves more of the error than this asks for a factorisation where it led
_HALVINGS = 12  # of a step that does not lessen the error
_PASSES = 8  # over the velocities, where the factorisation is of a configuration nearby
_ROUNDING = 4e-15  # of the fastest velocity: rates below this are rounding, and no pass lessens them; nor does one …
_STUCK = 0.5  # … that leaves more than this
_NO_FACTOR = -1  # instead of a rank
_REDUNDANT = 1e-10  # pivots below this fraction of the largest belong to redundant rows

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
    if joints.row_count <= COMPILED:
        q, u = q.copy(), u.copy()
        masses = model.inverse_mass, model.inverse_inertia
        close(joints.closing, masses, tol, q, u, room_for(joints, len(q)))
        return q, u
    return _close_large(model, joints, q, u, tol)


def room_for(joints: JointArrays, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """What a compiled closing of these joints between so many bodies works in: numbers, and the order of rows."""
    m = joints.row_count + len(joints.geared)
    return np.empty(28 * m + m * m + 31 * bodies + 30 * joints.count), np.empty(m, np.int64)


def joint_error(model: Model, q: np.ndarray) -> float:
    """The worst joint error at these poses (n_b, 7) [m, rad]."""
    return float(np.abs(_errors(model.joints, q)[0]).max(initial=0.0))


def _errors(joints: JointArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint errors, then a zero for each geared coordinate, (m,), and rows (m, 12) at these poses."""
    frames = joints.frames(q, rotations_of(q))
    residual, rows = joints.constraints(frames)
    if not len(joints.geared):
        return residual, rows
    geared = joints.coordinates(frames)[1][joints.geared]
    return np.concatenate([residual, np.zeros(len(geared))]), np.concatenate([rows, geared])


def _close_large(
    model: Model, joints: JointArrays, q: np.ndarray, u: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same as `close`, with LAPACK."""
    residual, rows = _errors(joints, q)
    worst, inverse = np.abs(residual).max(initial=0.0), None
    for _ in range(_STEPS):
        if worst <= tol:
            break
        is_fresh = inverse is None
        if inverse is None:
            operator, inverse = _factored(model, joints, q, rows)
        move = operator.body_velocity(inverse.solve(-residual)).reshape(-1, 6)
        for halving in range(_HALVINGS):
            there = moved(q, move, 0.5**halving)
            new_residual, new_rows = _errors(joints, there)
            left = np.abs(new_residual).max()
            if left < worst:
                break
        if not left < worst:
            if is_fresh:
                break
            inverse = None
            continue
        stale = left > _STALE * worst
        q, residual, rows, worst = there, new_residual, new_rows, left
        inverse = None if stale else inverse
    if not len(u):
        return q, u
    if inverse is None:
        operator, inverse = _factored(model, joints, q, rows)
    bodies, start = joints.closing[1]
    here = RigidDelassus(operator.mass, bodies, rows, start, mass_inverse=operator.mass_inverse)
    enough, before = _ROUNDING * np.abs(u).max(), np.inf
    for _ in range(_PASSES):
        rate = here.rows_times(u.ravel())
        rate[joints.row_count :] = 0.0
        size = np.abs(rate).max()
        if size <= enough or not size < _STUCK * before:
            break
        before = size
        u = u + operator.body_velocity(inverse.solve(-rate)).reshape(-1, 6)
    return q, u


def _factored(model: Model, joints: JointArrays, q: np.ndarray, rows: np.ndarray) -> tuple[RigidDelassus, DenseInverse]:
    mass, mass_inverse = model.mass_blocks(rotations_of(q))
    _, (bodies, start), _, compliance = joints.closing
    soft = compliance if len(compliance) else None
    operator = RigidDelassus(mass, bodies, rows, start, soft, mass_inverse)
    return operator, DenseInverse(operator.dense())


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def close(joints, masses, tol, q, u, room):
    """The same in one compiled call, for small mechanisms; q and u (n_b, 6), or (0, ·), change in place; returns 0.
    joints: `JointArrays.closing`; masses: inverse masses (n_b,) and inverse inertias (n_b, 3, 3) of bodies in their own
    frames; room: of `room_for`."""
    room = _cut(joints, len(q), room)
    change, there = room[8], room[9]
    worst = _evaluate(joints, q, room)
    rank = _NO_FACTOR
    for _ in range(_STEPS):
        if worst <= tol:
            break
        is_fresh = rank == _NO_FACTOR
        if is_fresh:
            rank = _factor(joints, masses, room)
        _respond(joints, rank, room)
        left = worst
        for halving in range(_HALVINGS):
            move(q, change, 0.5**halving, there)
            left = _evaluate(joints, there, room)
            if left < worst:
                break
        if not left < worst:
            _evaluate(joints, q, room)
            if is_fresh:
                break
            rank = _NO_FACTOR
            continue
        if left > _STALE * worst:
            rank = _NO_FACTOR
        worst = left
        _copy(there, q)
    if len(u) > 0:
        _project(joints, masses, rank, u, room)
    return np.int64(0)


@njit(cache=True, inline="always")
def _cut(joints, n, room):
    """The room in pieces, for n bodies, m rows with those of armature, c joints: residuals (m,), rows and how bodies
    respond to them (m, 12), D (m, m), its order, scales and two vectors (m,), a change (n, 6), poses (n, 7), rotations
    (n, 3, 3), of joints' frames origins (c, 2, 3), axes (c, 2, 3, 3) and centres (c, 2, 3), inverse inertias
    (n, 3, 3)."""
    count, m, (numbers, order) = len(joints[0][0]), joints[1][1][-1], room
    a, b, c = 4 * m, 28 * m, 28 * m + m * m
    d, e = c + 31 * n, c + 31 * n + 12 * count
    return (
        numbers[:m], numbers[a : a + 12 * m].reshape(m, 12), numbers[a + 12 * m : b].reshape(m, 12),
        numbers[b:c].reshape(m, m), order, numbers[m : 2 * m], numbers[2 * m : 3 * m], numbers[3 * m : a],
        numbers[c : c + 6 * n].reshape(n, 6), numbers[c + 6 * n : c + 13 * n].reshape(n, 7),
        numbers[c + 13 * n : c + 22 * n].reshape(n, 3, 3), numbers[d : d + 6 * count].reshape(count, 2, 3),
        numbers[e : e + 18 * count].reshape(count, 2, 3, 3), numbers[d + 6 * count : e].reshape(count, 2, 3),
        numbers[c + 22 * n : d].reshape(n, 3, 3),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _project(joints, masses, rank, u, room):
    """Velocities u (n_b, 6) that obey the rows, in place."""
    residual, rows, change, (bodies, start) = room[0], room[1], room[8], joints[1]
    first = joints[0][4][-1]
    enough, before = _ROUNDING * max_abs(u.reshape(-1)), np.inf
    for _ in range(_PASSES):
        multiply_rows(bodies, start, rows, u.reshape(-1), residual)
        for i in range(first, len(residual)):
            residual[i] = 0.0
        size = max_abs(residual)
        if size <= enough or not size < _STUCK * before:
            break
        if rank == _NO_FACTOR:
            rank = _factor(joints, masses, room)
        before = size
        _respond(joints, rank, room)
        for b in range(len(u)):
            for i in range(6):
                u[b, i] += change[b, i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _evaluate(joints, q, room):
    """Joint errors and rows at these poses; the worst error."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints[0]
    joint, kind, axis = joints[2]
    residual, rows, rotation, origin, axes, centre = room[0], room[1], room[10], room[11], room[12], room[13]
    matrices_of(q, 3, rotation)
    joint_frames(bodies, local_origin, local_axes, q, rotation, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, rows
    )
    first = start[-1]
    if len(joint):
        evaluate_coordinates(joint, kind, axis, bodies, origin, axes, centre, residual[first:], rows[first:])
        for i in range(first, len(residual)):
            residual[i] = 0.0
    return max_abs(residual)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _copy(a, out):
    # `out[:] = a` would do, and takes two seconds to compile
    for i in range(len(a)):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_response(joints, masses, room):
    """H⁻¹ Jᵀ by rows where these were evaluated last: `form_response` without full blocks of masses."""
    (bodies, start), (inverse_mass, inverse_inertia) = joints[1], masses
    rows, response, R, world = room[1], room[2], room[10], room[14]
    for b in range(len(R)):
        for a in range(3):
            x = R[b, a, 0] * inverse_inertia[b, 0, 0] + R[b, a, 1] * inverse_inertia[b, 1, 0]
            y = R[b, a, 0] * inverse_inertia[b, 0, 1] + R[b, a, 1] * inverse_inertia[b, 1, 1]
            z = R[b, a, 0] * inverse_inertia[b, 0, 2] + R[b, a, 1] * inverse_inertia[b, 1, 2]
            x += R[b, a, 2] * inverse_inertia[b, 2, 0]
            y += R[b, a, 2] * inverse_inertia[b, 2, 1]
            z += R[b, a, 2] * inverse_inertia[b, 2, 2]
            for c in range(3):
                world[b, a, c] = x * R[b, c, 0] + y * R[b, c, 1] + z * R[b, c, 2]
    for k in range(len(bodies)):
        for side in range(2):
            b, at = bodies[k, side], 6 * side
            for i in range(start[k], start[k + 1]):
                x, y, z = rows[i, at + 3], rows[i, at + 4], rows[i, at + 5]
                for a in range(3):
                    if b >= 0:
                        response[i, at + a] = inverse_mass[b] * rows[i, at + a]
                        response[i, at + 3 + a] = world[b, a, 0] * x + world[b, a, 1] * y + world[b, a, 2] * z
                    else:
                        response[i, at + a] = response[i, at + 3 + a] = 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _factor(joints, masses, room):
    """Factor of J H⁻¹ Jᵀ where rows were evaluated last, scaled to unit diagonals, or those of heavy bodies look
    redundant beside those of light ones; returns the rank."""
    rows, response, D, order, scale, push = room[1], room[2], room[3], room[4], room[5], room[6]
    _fill_response(joints, masses, room)
    form_dense((joints[1][0], joints[1][1], rows, response, joints[3]), True, D)
    for i in range(len(D)):
        scale[i] = 1.0 / math.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
    for i in range(len(D)):
        for j in range(i + 1):
            D[i, j] *= scale[i] * scale[j]
    return pivoted_cholesky(D, order, push, _REDUNDANT)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _respond(joints, rank, room):
    """Changes −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f of velocities, (n_b, 6), that residuals f ask for."""
    residual, response, D, order, scale, push, y, change = (
        room[0], room[2], room[3], room[4], room[5], room[6], room[7], room[8],
    )  # fmt: skip
    for i in range(len(scale)):
        push[i] = -scale[i] * residual[i]
    pivoted_solve(D, order, rank, push, y, push)
    for i in range(len(scale)):
        push[i] *= scale[i]
    for b in range(len(change)):
        for i in range(6):
            change[b, i] = 0.0
    add_response(joints[1][0], joints[1][1], response, push, change.reshape(-1))
