"""Joints closed again after a step, in position and velocity, along the least change in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once. The velocities are then made to obey the joints where
they are now, which keeps redundant rows from contradicting each other in the next step.
"""

import numpy as np
from numba import njit

from delassus.integrators.motion import move, moved
from delassus.joints.arrays import evaluate_constraints, joint_frames
from delassus.linalg.dense_inverse import DenseInverse
from delassus.linalg.pivoted import pivoted_cholesky, pivoted_solve
from delassus.linalg.rigid_delassus import RigidDelassus, add_response, form_dense, form_response, multiply_rows
from delassus.model import Model, form_mass_blocks
from delassus.spatial import matrices_of, quaternion_to_matrix

MOST_ROWS = 600  # joint rows up to which the dense factorisation is worth its time
_COMPILED = 120  # rows up to which the compiled loop beats LAPACK behind Python
_STEPS = 4  # simplified Newton steps: each gains a factor of the first correction, some 1e-6
_REDUNDANT = 1e-10  # pivots below this fraction of the largest belong to redundant rows


def close_joints(model: Model, q: np.ndarray, u: np.ndarray, *, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Poses near q whose joint errors are below tol [m, rad], and velocities near u that obey the joints there.

    q: (n_b, 7), u: (n_b, 6). One factorisation serves all steps; where it does not suffice, the best is returned."""
    joints = model.joints
    if joints.row_count <= _COMPILED:
        q, u = q.copy(), u.copy()
        _close(joints.plain, model.mass, model.inertia, model.inverse_inertia, tol, q, u)
        return q, u
    rotation = quaternion_to_matrix(q[:, 3:])
    residual, rows = joints.constraints(joints.frames(q[:, :3], rotation))
    mass, mass_inverse = model.mass_blocks(rotation)
    operator = RigidDelassus(mass, joints.bodies, rows, joints.row_start, mass_inverse=mass_inverse)
    inverse = DenseInverse(operator.dense())
    for _ in range(_STEPS):
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        q = moved(q, operator.body_velocity(inverse.solve(-residual)).reshape(-1, 6), 1.0)
        residual, _ = joints.constraints(joints.frames(q[:, :3], quaternion_to_matrix(q[:, 3:])))
    rate = operator.rows_times(u.ravel())
    return q, u + operator.body_velocity(inverse.solve(-rate)).reshape(-1, 6)


@njit(cache=True)
def _close(joints, body_mass, inertia, inverse_inertia, tol, q, u):
    """The same in one compiled call, for small mechanisms; q and u change in place.  joints: `JointArrays.plain`."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    n, m, joint_count = len(q), start[-1], len(bodies)
    origin, axes, centre = (
        np.empty((joint_count, 2, 3)),
        np.empty((joint_count, 2, 3, 3)),
        np.empty((joint_count, 2, 3)),
    )
    rotation, mass, inverse = np.empty((n, 3, 3)), np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    residual, rows, response = np.empty(m), np.empty((m, 12)), np.empty((m, 12))
    D, order, push, rate = np.empty((m, m)), np.empty(m, np.int64), np.empty(m), np.empty(m)
    scale = np.empty(m)
    rank = -1
    for _ in range(_STEPS):
        matrices_of(q[:, 3:], rotation)
        joint_frames(bodies, local_origin, local_axes, q[:, :3], rotation, origin, axes, centre)
        evaluate_constraints(
            start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, rows
        )
        if rank < 0:
            form_mass_blocks(body_mass, inertia, inverse_inertia, rotation, mass, inverse)
            form_response(inverse, bodies, start, rows, response)
            form_dense((bodies, start, rows, response, np.empty(0)), D)
            for i in range(m):
                scale[i] = 1.0 / np.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
            for i in range(m):  # unit diagonals, or the rows of heavy bodies look redundant beside those of light ones
                for j in range(m):
                    D[i, j] *= scale[i] * scale[j]
            rank = pivoted_cholesky(D, order, _REDUNDANT)
        if np.abs(residual).max() <= tol:
            break
        pivoted_solve(D, order, rank, -scale * residual, push)
        push *= scale
        step = np.zeros(6 * n)
        add_response(bodies, start, response, push, step)
        move(q, step.reshape(n, 6), 1.0, q)
    multiply_rows(bodies, start, rows, u.ravel(), rate)
    pivoted_solve(D, order, rank, -scale * rate, push)
    push *= scale
    change = np.zeros(6 * n)
    add_response(bodies, start, response, push, change)
    u += change.reshape(n, 6)
