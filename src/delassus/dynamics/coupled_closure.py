"""Joints closed with couplings and tendons, as closure.py closes them alone: along the least change in the mass metric,
all masses in one dense matrix."""

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
    """`close_joints`, with lengths that are held and armature of tendons where the model has any.  near: (n_d,)
    coordinates not half a turn from these, since lengths count turns."""
    if joints.row_count and (model.couplings is None or not len(model.couplings.geared)):
        q, u = close_joints(model, q, u, tol=tol, joints=joints)
    if not model.closes_lengths:
        return q, u
    residual, J, W, soft = linearised(model, q, joints, near)
    for _ in range(_STEPS):
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        there = moved(q, -least_change(J, W, soft, residual).reshape(-1, 6), 1.0)
        left, J_there, W_there, _ = linearised(model, there, joints, near)
        if not np.abs(left).max() < np.abs(residual).max():
            break
        q, residual, J, W = there, left, J_there, W_there
    if len(u):
        u = u - least_change(J, W, soft, np.where(soft > 0.0, 0.0, J @ u.ravel())).reshape(-1, 6)
    return q, u


def linearised(
    model: Model, q: np.ndarray, joints: JointArrays, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Errors (m,), rows (m, 6 n_b), inverse masses (n_b, 6, 6) and compliances (m,) of joints and of lengths that are
    held at these poses, then of armature as closure.py has it."""
    couplings, n, rotation = model.couplings, model.body_count, rotations_of(q)
    frames = joints.frames(q, rotation)
    residual, rows = joints.constraints(frames)
    bodies, none = joints.row_bodies, np.zeros(len(joints.geared))
    geared = over_all(joints.coordinates(frames)[1][joints.geared], joints.coordinate_bodies[joints.geared], n)
    errors, J, soft = [residual, none], [over_all(rows, bodies, n), geared], [1.0 / joints.armature[joints.geared]]
    if model.closes_lengths:
        assert couplings is not None
        values, rates = model.joints.coordinates(model.joints.frames(q, rotation))
        turn = 2.0 * np.pi
        values = np.where(model.joints.counted, values + turn * np.rint((near - values) / turn), values)
        length, of_lengths = couplings.evaluate(model.joints, values, rates, n)
        held, heavy = couplings.held, couplings.geared
        errors = [residual, length[held] - couplings.lower[held], none, np.zeros(len(heavy))]
        J = [J[0], of_lengths[held], geared, of_lengths[heavy]]
        soft.append(1.0 / couplings.armature[heavy])
    of_armature = np.concatenate(soft)
    every = np.concatenate(errors)
    compliance = np.append(np.zeros(len(every) - len(of_armature)), of_armature)
    return every, np.concatenate(J), model.mass_blocks(rotation)[1], compliance


def over_all(rows: np.ndarray, bodies: np.ndarray, n: int) -> np.ndarray:
    """Rows (m, 12) of two bodies each, (m, 2), as (m, 6 n)."""
    out = np.zeros((len(rows), n, 6))
    for side in range(2):
        on = np.flatnonzero(bodies[:, side] >= 0)
        out[on, bodies[on, side]] += rows[on, 6 * side : 6 * side + 6]
    return out.reshape(len(rows), 6 * n)


def least_change(J: np.ndarray, W: np.ndarray, soft: np.ndarray, right: np.ndarray) -> np.ndarray:
    """H⁻¹Jᵀ (J H⁻¹ Jᵀ + E)⁺ right, (6 n_b,).  soft: (m,) E."""
    response = np.einsum("bij,mbj->mbi", W, J.reshape(len(J), -1, 6)).reshape(len(J), -1)
    D = J @ response.T + np.diag(soft)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(D), np.finfo(float).tiny))
    push = np.linalg.lstsq(scale[:, None] * D * scale, scale * right, rcond=_REDUNDANT)[0]
    return response.T @ (scale * push)
