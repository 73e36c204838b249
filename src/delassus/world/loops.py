"""Putting a joint of a loop somewhere: all bodies move, by the least displacement in the mass metric that closes every
joint, in small steps from where they are, so that a loop does not jump to its other way of closing."""

import math

import numpy as np

from delassus.errors import ProblemError
from delassus.integrators import moved
from delassus.joints.arrays import JointArrays
from delassus.model.model import Model
from delassus.spatial import quaternion_to_matrix
from delassus.world import reading

_TURN = 2.0 * math.pi
_STRIDE = 0.05  # [rad, m] from one configuration to the next
_ITERATIONS = 100
_CLOSED = 1e-12  # [m, rad]
_REACHED = 1e-10  # [m, rad]: what a loop may leave of its errors: rows of over-constrained ones are nearly dependent
_MOVES = 1e-6  # of the rates asked for
_REDUNDANT = 1e-10  # of the largest: singular values below belong to redundant rows


def rows_at(joints: JointArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(joint errors (m,), rows (m + n_d, 12) of errors and coordinates, coordinates (n_d,) without turns)."""
    frames = joints.frames(q[:, :3], quaternion_to_matrix(q[:, 3:]))
    residual, rows = joints.constraints(frames)
    values, rate_rows = joints.coordinates(frames)
    return residual, np.concatenate([rows, rate_rows]), values


def loop_placed(
    model: Model,
    q: np.ndarray,
    u: np.ndarray,
    turns: np.ndarray,
    values: dict[int, float],
    rates: dict[int, float],
    j: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses, velocities and turns at these values and rates of coordinates, by number, of joint j, which is within a
    loop that stays closed."""
    joints, asked = model.joints, np.array(sorted(values), np.int64)
    now, _ = reading.coordinates(model, q, turns)
    goal = np.array([values[d] for d in asked])
    way = goal - now[asked]
    count = max(1, math.ceil(np.abs(way).max(initial=0.0) / _STRIDE)) if len(asked) else 0
    for k in range(1, count + 1):
        part = goal - (1.0 - k / count) * way
        q = _closed(model, q, now, asked, part)
        raw, _ = reading.coordinates(model, q, np.zeros_like(turns))
        here = raw + np.where(joints.counted, _TURN * np.rint((now - raw) / _TURN), 0.0)
        missing = np.abs(np.concatenate([rows_at(joints, q)[0], here[asked] - part])).max()
        if not missing <= _REACHED:
            names = ", ".join(f"{joints.coordinate_names[d]!r} to {v:g}" for d, v in values.items())
            raise ProblemError(
                f"the loop of joint {joints.names[j]!r} does not close with {names}: it gets as far as {now[asked]}"
            )
        now = here
    raw, _ = reading.coordinates(model, q, np.zeros_like(turns))
    new_turns = np.where(joints.counted, np.rint((now - raw) / _TURN), 0).astype(np.int64)
    set_rates = np.array(sorted(rates), np.int64)
    J = dense_rows(model, q, set_rates)
    wanted = np.concatenate([np.zeros(joints.row_count), [rates[d] for d in set_rates]])
    u = u + _least(model, q, J, wanted - J @ u.ravel()).reshape(-1, 6)
    if np.abs(J @ u.ravel() - wanted).max(initial=0.0) > _MOVES * max(1.0, np.abs(wanted).max(initial=0.0)):
        raise ProblemError(f"the loop of joint {joints.names[j]!r} does not let it move with {rates}")
    return q, u, new_turns


def _closed(model: Model, q: np.ndarray, now: np.ndarray, asked: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Poses near q with all joints closed and the coordinates `asked` at their goals; the best found where there are
    none.  now: (n_d,) coordinates before, with their turns."""
    joints, best, least = model.joints, q, np.inf
    for _ in range(_ITERATIONS):
        residual, _, raw = rows_at(joints, q)
        here = raw + np.where(joints.counted, _TURN * np.rint((now - raw) / _TURN), 0.0)
        error = np.concatenate([-residual, goal - here[asked]])
        size = float(np.abs(error).max(initial=0.0))
        if size < least:
            best, least = q, size
        elif size > 0.5 * least and least <= _REACHED:
            break
        if size <= _CLOSED:
            break
        q = moved(q, _least(model, q, dense_rows(model, q, asked), error).reshape(-1, 6), 1.0)
    return best


def dense_rows(model: Model, q: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """(m, 6 n_b): rows of all joints, then of these coordinates."""
    joints = model.joints
    _, rows, _ = rows_at(joints, q)
    chosen = np.concatenate([rows[: joints.row_count], rows[joints.row_count + asked]])
    bodies = np.concatenate([joints.row_bodies, joints.coordinate_bodies[asked]])
    out = np.zeros((len(chosen), model.body_count + 1, 6))  # the last is the world, whose rows are zero
    for side in range(2):
        out[np.arange(len(chosen)), bodies[:, side]] += chosen[:, 6 * side : 6 * side + 6]
    return out[:, :-1].reshape(len(chosen), -1)


def _least(model: Model, q: np.ndarray, J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x (6 n_b,) with J x = right that is least in the mass metric."""
    _, inverse = model.mass_blocks(quaternion_to_matrix(q[:, 3:]))
    response = np.einsum("bij,mbj->mbi", inverse, J.reshape(len(J), -1, 6)).reshape(len(J), -1)
    return response.T @ np.linalg.lstsq(J @ response.T, right, rcond=_REDUNDANT)[0]
