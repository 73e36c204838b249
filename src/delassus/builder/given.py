"""Vectors, orientations and placed shapes as people give them, checked where they are given."""

import numpy as np

from delassus.errors import ProblemError
from delassus.spatial import matrix_to_quaternion

_UNIT = 1e-3  # a quaternion this far from unit length is a mistake, not rounding
_ORTHONORMAL = 1e-8  # entries of RᵀR − I of a rotation matrix


def placed(name: str, part):
    """(shape, position, quaternion) of a shape given alone or with its pose."""
    shape, *pose = part if isinstance(part, tuple) else (part,)
    if not hasattr(shape, "static_only"):
        raise ProblemError(f"{name}: {shape!r} is not a shape; see delassus.shapes")
    position = vector(pose[0] if pose else (0, 0, 0), f"{name}: shape position", 3)
    return shape, position, unit_quaternion(pose[1] if len(pose) > 1 else (1, 0, 0, 0), f"{name}: shape orientation")


def vector(value, what: str, count: int) -> np.ndarray:
    """count finite numbers as an array."""
    out = _numbers(value)
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ProblemError(f"{what} is {value!r}: give {count} finite numbers")
    return out


def direction(value, what: str) -> np.ndarray:
    """Three numbers that point somewhere, of any length."""
    out = vector(value, what, 3)
    if not 0.0 < np.linalg.norm(out) < np.inf:
        raise ProblemError(f"{what} is {value!r}, which points nowhere: give a direction, such as (0, 0, 1)")
    return out


def unit_quaternion(value, what: str) -> np.ndarray:
    """A quaternion (4,) or rotation matrix (3, 3) as a unit quaternion."""
    out = _numbers(value)
    if out.shape == (3, 3):
        return matrix_to_quaternion(rotation_matrix(value, what))
    if out.shape != (4,) or not np.isfinite(out).all() or abs(np.linalg.norm(out) - 1.0) > _UNIT:
        raise ProblemError(f"{what} is {value!r}: give a unit quaternion (w, x, y, z) or a rotation matrix (3, 3)")
    return out / np.linalg.norm(out)


def rotation_matrix(value, what: str) -> np.ndarray:
    """A (3, 3) matrix whose columns are the axes of a right-handed frame. A left-handed one would be taken for some
    other rotation without a word, and turn a motor's feedback into its opposite."""
    out = _numbers(value)
    if out.shape != (3, 3) or not np.allclose(out.T @ out, np.eye(3), rtol=0.0, atol=_ORTHONORMAL):
        raise ProblemError(f"{what} is not a rotation matrix (3, 3): give orthonormal columns x, y, z")
    if np.linalg.det(out) < 0.0:
        raise ProblemError(f"{what} is left-handed (its determinant is −1): turn one column round, so that z = x × y")
    return out


def _numbers(value) -> np.ndarray:
    """An array of numbers; empty for what is none, so that its shape is wrong."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)
