"""What poses and velocities say of bodies and joints, in one state or in many at once.

q: (…, n_b, 7) centres of mass [m] and quaternions, u: (…, n_b, 6) twists there [m/s, rad/s], as in `State`."""

import numpy as np

from delassus.dynamics.rows import row_rate
from delassus.joints.data import Angles
from delassus.joints.primitives import empty_frames, evaluate_coordinates, joint_frames
from delassus.kernel import njit
from delassus.linalg.operators.rigid import add_response, multiply_rows
from delassus.model.model import Model
from delassus.simulation import StepReport
from delassus.spatial import matrices_of, quaternion_to_matrix, rotate, rotations_of


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
    values, rows = joints.coordinates(joints.frames(np.ascontiguousarray(q), rotations_of(q)))
    return values + 2.0 * np.pi * joints.turns_of(turns), rows


def rates(model: Model, rows: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Rates (n_d,) of the joint coordinates [m/s, rad/s].  rows: (n_d, 12) of `coordinates`; u: (n_b, 6)."""
    out = np.empty(len(rows))
    multiply_rows(model.joints.coordinate_bodies, np.arange(len(rows) + 1), rows, u.reshape(-1), out)
    return out


def coordinates_of_many(model: Model, q: np.ndarray, u: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint coordinates and their rates, (n, n_d) each, of many states."""
    values, speeds = np.empty(turns.shape), np.empty(turns.shape)
    _read_many(model.joints.angle_data, q, u, values, speeds)
    return values + 2.0 * np.pi * turns, speeds


@njit(cache=True, error_model="numpy", nogil=True)
def _read_many(angles, q, u, values, speeds):
    of = Angles(*angles)
    rotation, rows = np.empty((q.shape[1], 3, 3)), np.empty((len(of.joint), 12))
    frames = empty_frames(len(of.bodies))
    for w in range(len(q)):
        matrices_of(q[w], 3, rotation)
        joint_frames(of.bodies, of.origin, of.axes, q[w], rotation, frames)
        evaluate_coordinates((of.bodies, of.joint, of.primitive, of.axis), frames, values[w], rows)
        for d in range(len(of.joint)):
            speeds[w, d] = row_rate(of.bodies, of.joint[d], rows, d, u[w])


def contact_wrenches(report: StepReport) -> np.ndarray:
    """(n_b, 6) force and moment of all contacts on each body in that step, at its centre of mass [N, N m]."""
    rows = report.rows
    first, blocks = rows.cone.contact_start, rows.contact_count
    out = np.zeros(6 * len(report.at))
    start = np.arange(blocks + 1) * 3
    add_response(
        np.ascontiguousarray(rows.bodies[len(rows.bodies) - blocks :]),
        start,
        np.ascontiguousarray(rows.rows[first:]),
        report.solution.reactions[first:] / report.h,
        out,
    )
    return out.reshape(-1, 6)
