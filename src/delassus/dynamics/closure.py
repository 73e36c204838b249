"""Joints closed again after a step, in position and velocity, along the least change in the mass metric.

Velocities obey the joints at one configuration only, so every step of a curved path leaves a joint error of second
order. Feedback on velocities (Baumgarte) removes it over several steps and feeds it into the motion meanwhile; moving
the bodies by δ = −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f(q) removes it at once. The velocities are then made to obey the joints where
they are now, which keeps redundant rows from contradicting each other in the next step.
"""

import numpy as np

from delassus.integrators.motion import moved
from delassus.linalg.dense_inverse import DenseInverse
from delassus.linalg.rigid_delassus import RigidDelassus
from delassus.model import Model
from delassus.spatial import quaternion_to_matrix

MOST_ROWS = 600  # joint rows up to which the dense factorisation is worth its time
_STEPS = 4  # simplified Newton steps: each gains a factor of the first correction, some 1e-6


def close_joints(model: Model, q: np.ndarray, u: np.ndarray, *, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Poses near q whose joint errors are below tol [m, rad], and velocities near u that obey the joints there.

    q: (n_b, 7), u: (n_b, 6). One factorisation serves all steps; where it does not suffice, the best is returned."""
    joints = model.joints
    operator, inverse = None, None
    for _ in range(_STEPS):
        position, rotation = q[:, :3], quaternion_to_matrix(q[:, 3:])
        residual, rows = joints.constraints(joints.frames(position, rotation))
        if operator is None or inverse is None:
            mass, mass_inverse = model.mass_blocks(rotation)
            operator = RigidDelassus(mass, joints.bodies, rows, joints.row_start, mass_inverse=mass_inverse)
            inverse = DenseInverse(operator.dense())
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        q = moved(q, operator.body_velocity(inverse.solve(-residual)).reshape(-1, 6), 1.0)
    rate = operator.rows_times(u.ravel())
    return q, u + operator.body_velocity(inverse.solve(-rate)).reshape(-1, 6)
