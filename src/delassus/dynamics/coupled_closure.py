"""Joints closed with couplings, as closure.py closes them alone: along the least change in the mass metric."""

import numpy as np

from delassus.dynamics.closure import close_joints
from delassus.integrators import moved
from delassus.joints.arrays import JointArrays
from delassus.model.model import Model
from delassus.spatial import rotations_of

_STEPS = 10  # Newton's: two or three suffice but where a mechanism is nearly singular
_REDUNDANT = 1e-10  # of the largest: singular values below belong to redundant rows


def close_model(
    model: Model, q: np.ndarray, u: np.ndarray, *, tol: float, joints: JointArrays, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`close_joints`, with the couplings of the model where it has any.  near: (n_d,) coordinates not half a turn from
    these, since couplings count turns."""
    if joints.row_count:
        q, u = close_joints(model, q, u, tol=tol, joints=joints)
    if model.couplings is None:
        return q, u
    residual, J, W = _linear(model, q, joints, near)
    soft = np.zeros(len(residual))
    soft[len(soft) - len(joints.geared) :] = 1.0 / joints.armature[joints.geared]
    for _ in range(_STEPS):
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        there = moved(q, -_least(J, W, soft, residual).reshape(-1, 6), 1.0)
        left, J_there, W_there = _linear(model, there, joints, near)
        if not np.abs(left).max() < np.abs(residual).max():
            break
        q, residual, J, W = there, left, J_there, W_there
    if len(u):
        rate = J @ u.ravel()
        rate[len(rate) - len(joints.geared) :] = 0.0
        u = u - _least(J, W, soft, rate).reshape(-1, 6)
    return q, u


def _linear(
    model: Model, q: np.ndarray, joints: JointArrays, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors (m,), rows (m, 6 n_b) and inverse masses (n_b, 6, 6) of joints and couplings at these poses, then of
    armature as closure.py has them."""
    couplings, n, rotation = model.couplings, model.body_count, rotations_of(q)
    assert couplings is not None
    values, rates = model.joints.coordinates(model.joints.frames(q, rotation))
    turn = 2.0 * np.pi
    values = np.where(model.joints.counted, values + turn * np.rint((near - values) / turn), values)
    coupled, coupled_rows = couplings.evaluate(model.joints, values, rates, n)
    frames = joints.frames(q, rotation)
    residual, rows = joints.constraints(frames)
    rows = np.concatenate([rows, joints.coordinates(frames)[1][joints.geared]])
    bodies = np.concatenate([joints.row_bodies, joints.coordinate_bodies[joints.geared]])
    J = np.zeros((len(rows), n, 6))
    for side in range(2):
        on = np.flatnonzero(bodies[:, side] >= 0)
        J[on, bodies[on, side]] += rows[on, 6 * side : 6 * side + 6]
    m, none = len(residual), np.zeros(len(joints.geared))
    J = np.concatenate([J[:m], coupled_rows.reshape(-1, n, 6), J[m:]])
    return np.concatenate([residual, coupled, none]), J.reshape(-1, 6 * n), model.mass_blocks(rotation)[1]


def _least(J: np.ndarray, W: np.ndarray, soft: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H⁻¹Jᵀ (J H⁻¹ Jᵀ + E)⁺ right, (6 n_b,).  soft: (m,) E."""
    response = np.einsum("bij,mbj->mbi", W, J.reshape(len(J), -1, 6)).reshape(len(J), -1)
    D = J @ response.T + np.diag(soft)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(D), np.finfo(float).tiny))
    push = np.linalg.lstsq(scale[:, None] * D * scale, scale * right, rcond=_REDUNDANT)[0]
    return response.T @ (scale * push)
