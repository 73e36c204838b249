"""Vectors, orientations and placed shapes as people give them, checked where they are given."""

import numpy as np

from delassus.errors import ProblemError
from delassus.spatial import matrix_to_quaternion


def placed(name: str, part):
    """(shape, position, quaternion) of a shape given alone or with its pose."""
    shape, *pose = part if isinstance(part, tuple) else (part,)
    if not hasattr(shape, "static_only"):
        raise ProblemError(f"{name}: {shape!r} is not a shape; see delassus.shapes")
    position = vector(pose[0] if pose else (0, 0, 0), f"{name}: shape position", 3)
    return shape, position, unit_quaternion(pose[1] if len(pose) > 1 else (1, 0, 0, 0), f"{name}: shape orientation")


def vector(value, what: str, count: int) -> np.ndarray:
    out = np.array(value, dtype=float)
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ProblemError(f"{what} is {value!r}: give {count} finite numbers")
    return out


def unit_quaternion(value, what: str) -> np.ndarray:
    """A quaternion (4,) or rotation matrix (3, 3) as a unit quaternion."""
    out = np.array(value, dtype=float)
    if out.shape == (3, 3) and np.allclose(out.T @ out, np.eye(3), atol=1e-8):
        return matrix_to_quaternion(out)
    if out.shape != (4,) or not np.isfinite(out).all() or abs(np.linalg.norm(out) - 1.0) > 1e-3:
        raise ProblemError(f"{what} is {value!r}: give a unit quaternion (w, x, y, z) or a rotation matrix")
    return out / np.linalg.norm(out)
