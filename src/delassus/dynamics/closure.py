"""Joints closed again after a step: a Newton step on their errors, along the least displacement in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies back by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once and leaves the velocities alone.
"""

import numpy as np
from scipy.linalg import lapack

from delassus.integrators.motion import moved
from delassus.linalg.rigid_delassus import RigidDelassus
from delassus.model import Model
from delassus.spatial import quaternion_to_matrix

_SHIFT = 1e-11  # of the mean diagonal: redundant joints make the matrix singular, and their errors agree
MOST_ROWS = 600  # joint rows up to which the dense factorisation is worth its time


def close_joints(model: Model, q: np.ndarray, *, tol: float, most_steps: int = 3) -> np.ndarray:
    """Poses near q with joint errors below tol [m, rad] where `most_steps` Newton steps suffice.  q: (n_b, 7)."""
    joints = model.joints
    for _ in range(most_steps):
        position, rotation = q[:, :3], quaternion_to_matrix(q[:, 3:])
        residual, rows = joints.constraints(joints.frames(position, rotation))
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        mass, inverse = model.mass_blocks(rotation)
        operator = RigidDelassus(mass, joints.bodies, rows, joints.row_start, mass_inverse=inverse)
        D = operator.dense()
        D[np.diag_indices(len(D))] += _SHIFT * max(np.trace(D) / len(D), 1e-300)
        lu, pivots, _ = lapack.dgetrf(D, overwrite_a=True)
        push = lapack.dgetrs(lu, pivots, -residual)[0]
        q = moved(q, operator.body_velocity(push).reshape(-1, 6), 1.0)
    return q
