"""What poses and velocities say of bodies and joints, in one state or in many at once.

q: (…, n_b, 7) centres of mass [m] and quaternions, u: (…, n_b, 6) twists there [m/s, rad/s], as in `State`."""

import numpy as np

from delassus.linalg.operators.rigid import multiply_rows
from delassus.model.model import Model
from delassus.spatial import quaternion_to_matrix, rotate


def position(model: Model, b: int, q: np.ndarray) -> np.ndarray:
    """(…, 3) origin of the body's own frame [m]."""
    if not model.centre[b].any():
        return q[..., b, :3].copy()
    return q[..., b, :3] - rotate(q[..., b, 3:], model.centre[b])


def velocity(model: Model, b: int, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(…, 3) of the origin of the body's own frame [m/s]."""
    if not model.centre[b].any():
        return u[..., b, :3].copy()
    return u[..., b, :3] - np.cross(u[..., b, 3:], rotate(q[..., b, 3:], model.centre[b]))


def spin(model: Model, b: int, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(…, 3) angular momentum about the body's centre of mass, world axes [N m s]."""
    R = quaternion_to_matrix(q[..., b, 3:])
    return np.einsum("...ij,jk,...lk,...l->...i", R, model.inertia[b], R, u[..., b, 3:])


def kinetic_energy(model: Model, b: int, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(…) [J]."""
    linear = model.mass[b] * (u[..., b, :3] ** 2).sum(axis=-1)
    return 0.5 * (linear + (u[..., b, 3:] * spin(model, b, q, u)).sum(axis=-1))


def potential_energy(model: Model, b: int, q: np.ndarray) -> np.ndarray:
    """(…) of gravity, with respect to the origin [J]."""
    return -model.mass[b] * (q[..., b, :3] @ model.gravity)


def coordinates(model: Model, q: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint coordinates (n_d,) [m, rad], turns counted, and their rate rows (n_d, 12), of one state."""
    joints = model.joints
    values, rows = joints.coordinates(joints.frames(q[:, :3], quaternion_to_matrix(q[:, 3:])))
    return values + 2.0 * np.pi * joints.turns_of(turns), rows


def rates(model: Model, rows: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Rates (n_d,) of the joint coordinates [m/s, rad/s].  rows: (n_d, 12) of `coordinates`; u: (n_b, 6)."""
    out = np.empty(len(rows))
    multiply_rows(model.joints.coordinate_bodies, np.arange(len(rows) + 1), rows, u.reshape(-1), out)
    return out
