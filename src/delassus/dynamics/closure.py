"""Joints closed again after a step, in position and velocity, along the least change in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once. The velocities are then made to obey the joints where
they are now, which keeps redundant rows from contradicting each other in the next step.
"""

import numpy as np

from delassus.integrators import move, moved
from delassus.joints.arrays import JointArrays
from delassus.joints.primitives import evaluate_constraints, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.dense_inverse import DenseInverse, pivoted_cholesky, pivoted_solve
from delassus.linalg.operators.rigid import RigidDelassus, add_response, form_dense, form_response, multiply_rows
from delassus.model.model import Model, form_mass_blocks
from delassus.spatial import matrices_of, rotations_of

MOST_ROWS = 600  # joint rows up to which the dense factorisation is worth its time
COMPILED = 120  # rows up to which the compiled loop beats LAPACK behind Python
_STEPS = 30  # Newton's: one or two suffice but where a mechanism is nearly singular
_STALE = 0.1  # a step that leaves more of the error than this asks for a factorisation where it led
_HALVINGS = 12  # of a step that does not lessen the error
_PASSES = 8  # over the velocities, where the factorisation is of a configuration nearby
_CONSISTENT = 1e-12  # of the rates before: a pass that leaves less is the last
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
        close(joints.plain, model.mass, model.inertia, model.inverse_inertia, tol, q, u)
        return q, u
    return _close_large(model, joints, q, u, tol)


def joint_error(model: Model, q: np.ndarray) -> float:
    """The worst joint error at these poses (n_b, 7) [m, rad]."""
    return float(np.abs(_errors(model.joints, q)[0]).max(initial=0.0))


def _errors(joints: JointArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint errors (m,) and rows (m, 12) at these poses."""
    return joints.constraints(joints.frames(q, rotations_of(q)))


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
    here = RigidDelassus(operator.mass, joints.bodies, rows, joints.row_start, mass_inverse=operator.mass_inverse)
    enough = 0.0
    for k in range(_PASSES):
        rate = here.rows_times(u.ravel())
        size = np.abs(rate).max()
        if k and size <= enough:
            break
        enough = _CONSISTENT * size if k == 0 else enough
        u = u + operator.body_velocity(inverse.solve(-rate)).reshape(-1, 6)
    return q, u


def _factored(model: Model, joints: JointArrays, q: np.ndarray, rows: np.ndarray) -> tuple[RigidDelassus, DenseInverse]:
    mass, mass_inverse = model.mass_blocks(rotations_of(q))
    operator = RigidDelassus(mass, joints.bodies, rows, joints.row_start, mass_inverse=mass_inverse)
    return operator, DenseInverse(operator.dense())


@njit(cache=True, error_model="numpy", **ADDRESSED)
def close(joints, body_mass, inertia, inverse_inertia, tol, q, u):
    """The same in one compiled call, for small mechanisms; q and u (n_b, 6), or (0, ·), change in place;
    returns 0.  joints: `JointArrays.plain`."""
    bodies, start = joints[0], joints[4]
    n, m = len(q), start[-1]
    residual, rows, new_residual, new_rows = np.empty(m), np.empty((m, 12)), np.empty(m), np.empty((m, 12))
    response, D, order, scale = np.empty((m, 12)), np.empty((m, m)), np.empty(m, np.int64), np.empty(m)
    push, change, there = np.empty(m), np.empty((n, 6)), np.empty_like(q)
    masses = (body_mass, inertia, inverse_inertia)
    worst = _evaluate(joints, q, residual, rows)
    rank = -1  # no factorisation yet
    for _ in range(_STEPS):
        if worst <= tol:
            break
        is_fresh = rank < 0
        if is_fresh:
            rank = _factor(joints, masses, q, rows, response, D, order, scale)
        _respond(bodies, start, response, D, order, rank, scale, residual, push, change)
        left = worst
        for halving in range(_HALVINGS):
            move(q, change, 0.5**halving, there)
            left = _evaluate(joints, there, new_residual, new_rows)
            if left < worst:
                break
        if not left < worst:
            if is_fresh:
                break
            rank = -1
            continue
        if left > _STALE * worst:
            rank = -1
        worst = left
        _copy(there, q)
        _copy(new_rows, rows)
        for i in range(m):
            residual[i] = new_residual[i]
    if len(u) == 0:
        return np.int64(0)
    if rank < 0:
        rank = _factor(joints, masses, q, rows, response, D, order, scale)
    enough = 0.0
    for k in range(_PASSES):
        multiply_rows(bodies, start, rows, u.reshape(-1), residual)
        size = max_abs(residual)
        if k > 0 and size <= enough:
            break
        enough = _CONSISTENT * size if k == 0 else enough
        _respond(bodies, start, response, D, order, rank, scale, residual, push, change)
        for b in range(n):
            for i in range(6):
                u[b, i] += change[b, i]
    return np.int64(0)


@njit(cache=True, error_model="numpy")
def _evaluate(joints, q, residual, rows):
    """Joint errors and rows at these poses; the worst error."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    count = len(bodies)
    rotation = np.empty((len(q), 3, 3))
    origin, axes, centre = np.empty((count, 2, 3)), np.empty((count, 2, 3, 3)), np.empty((count, 2, 3))
    matrices_of(q, 3, rotation)
    joint_frames(bodies, local_origin, local_axes, q, rotation, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, rows
    )
    return max_abs(residual)


@njit(cache=True, error_model="numpy")
def _copy(a, out):
    # `out[:] = a` would do, and takes two seconds to compile
    for i in range(len(a)):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


@njit(cache=True, error_model="numpy")
def _factor(joints, masses, q, rows, response, D, order, scale):
    """Factor of J H⁻¹ Jᵀ, its rows scaled to unit diagonals, or those of heavy bodies look redundant beside those of
    light ones; returns the rank."""
    bodies, start = joints[0], joints[4]
    n, m = len(q), len(rows)
    rotation, mass, inverse = np.empty((n, 3, 3)), np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    matrices_of(q, 3, rotation)
    form_mass_blocks(masses[0], masses[1], masses[2], rotation, mass, inverse)
    form_response(inverse, bodies, start, rows, response)
    form_dense((bodies, start, rows, response, np.empty(0)), D)
    for i in range(m):
        scale[i] = 1.0 / np.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
    for i in range(m):
        for j in range(m):
            D[i, j] *= scale[i] * scale[j]
    return pivoted_cholesky(D, order, _REDUNDANT)


@njit(cache=True, error_model="numpy")
def _respond(bodies, start, response, D, order, rank, scale, right, push, change):
    """change = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ right, (n_b, 6)."""
    for i in range(len(scale)):
        push[i] = -scale[i] * right[i]
    pivoted_solve(D, order, rank, push, push)
    for i in range(len(scale)):
        push[i] *= scale[i]
    change[:] = 0.0
    add_response(bodies, start, response, push, change.reshape(-1))
