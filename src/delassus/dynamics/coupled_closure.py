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
    for _ in range(_STEPS):
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        there = moved(q, -_least(J, W, residual).reshape(-1, 6), 1.0)
        left, J_there, W_there = _linear(model, there, joints, near)
        if not np.abs(left).max() < np.abs(residual).max():
            break
        q, residual, J, W = there, left, J_there, W_there
    if len(u):
        u = u - _least(J, W, J @ u.ravel()).reshape(-1, 6)
    return q, u


def _linear(
    model: Model, q: np.ndarray, joints: JointArrays, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors (m,), rows (m, 6 n_b) and inverse masses (n_b, 6, 6) of joints and couplings at these poses."""
    couplings, n, rotation = model.couplings, model.body_count, rotations_of(q)
    assert couplings is not None
    values, rates = model.joints.coordinates(model.joints.frames(q, rotation))
    turn = 2.0 * np.pi
    values = np.where(model.joints.counted, values + turn * np.rint((near - values) / turn), values)
    coupled, coupled_rows = couplings.evaluate(model.joints, values, rates, n)
    residual, rows = joints.constraints(joints.frames(q, rotation))
    J = np.zeros((len(rows) + len(coupled), n, 6))
    for side in range(2):
        body = joints.row_bodies[:, side]
        on = np.flatnonzero(body >= 0)
        J[on, body[on]] += rows[on, 6 * side : 6 * side + 6]
    J[len(rows) :] = coupled_rows.reshape(-1, n, 6)
    return np.concatenate([residual, coupled]), J.reshape(-1, 6 * n), model.mass_blocks(rotation)[1]


def _least(J: np.ndarray, W: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H⁻¹Jᵀ (J H⁻¹ Jᵀ)⁺ right, (6 n_b,)."""
    response = np.einsum("bij,mbj->mbi", W, J.reshape(len(J), -1, 6)).reshape(len(J), -1)
    D = J @ response.T
    scale = 1.0 / np.sqrt(np.maximum(np.diag(D), np.finfo(float).tiny))
    push = np.linalg.lstsq(scale[:, None] * D * scale, scale * right, rcond=_REDUNDANT)[0]
    return response.T @ (scale * push)
