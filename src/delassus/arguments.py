"""Checks of arguments: numbers, points, vectors and orientations as callers pass them, and errors that name them."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.errors import ProblemError
from delassus.spatial import matrix_to_quaternion, quaternion_to_matrix

_UNIT = 1e-3  # a quaternion this far from unit length is a mistake, not rounding
_ORTHONORMAL = 1e-8  # entries of RᵀR − I of a rotation matrix


def numbers(value: Any) -> np.ndarray:
    """A new array of numbers; for what is none, one without entries in a shape that nobody asks for, so that whoever
    checks shapes complains of it in words of their own."""
    try:
        if value is not None and np.asarray(value).dtype.kind not in "USV":  # NumPy reads numbers out of texts, too
            return np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        pass
    return np.empty((0, 0, 0, 0))


def number(value: Any, what: str, unit: str, *, positive: bool = False, hint: str = "") -> float:
    """One finite number, not negative, or positive; hint: the end of the complaint."""
    out = numbers(value)
    if out.shape != () or not np.isfinite(out) or out < 0 or (positive and out == 0):
        wanted = "positive" if positive else "zero or more"
        raise ProblemError(f"{what} is {value!r}, it must be {wanted} [{unit}]{hint}")
    return float(out)


def positive(kind: str, **sizes: float) -> None:
    """Refuse sizes that are not finite and positive, naming the first bad one."""
    for name, value in sizes.items():
        x = numbers(value)
        if x.shape != () or not (math.isfinite(x) and x > 0):
            raise ProblemError(f"{kind}: {name} is {value!r}, it must be finite and positive")


def points_of(kind: str, name: str, value: ArrayLike) -> np.ndarray:
    """Points as a read-only (n, 3) array, or an error that says what is wrong with them."""
    x = numbers(value)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ProblemError(f"{kind}: {name} has shape {x.shape}, expected (n, 3)")
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise ProblemError(f"{kind}: {name}[{int(np.argmax(bad))}] is not finite")
    x.flags.writeable = False
    return x


def vector(value: Any, what: str, count: int) -> np.ndarray:
    """count finite numbers as an array."""
    out = numbers(value)
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ProblemError(f"{what} is {value!r}: give {count} finite numbers")
    return out


def direction(value: Any, what: str) -> np.ndarray:
    """Three numbers that point somewhere, of any length."""
    out = vector(value, what, 3)
    if not 0.0 < np.linalg.norm(out) < np.inf:
        raise ProblemError(f"{what} is {value!r}, which points nowhere: give a direction, such as (0, 0, 1)")
    return out


def unit_quaternion(value: Any, what: str) -> np.ndarray:
    """A quaternion (4,) or rotation matrix (3, 3) as a unit quaternion."""
    out = numbers(value)
    if out.shape == (3, 3):
        return matrix_to_quaternion(rotation_matrix(value, what))
    if out.shape != (4,) or not np.isfinite(out).all() or abs(np.linalg.norm(out) - 1.0) > _UNIT:
        raise ProblemError(
            f"{what} is {value!r}: give a unit quaternion (w, x, y, z), or a rotation matrix (3, 3); "
            "delassus.spatial.rotation_exp makes one from axis times angle [rad]"
        )
    return out / np.linalg.norm(out)


def rotation_matrix(value: Any, what: str) -> np.ndarray:
    """A (3, 3) matrix whose columns are the axes of a right-handed frame, given as such or as a quaternion. A
    left-handed one would be taken for some other rotation without a word, and turn a motor's feedback into its
    opposite."""
    out = numbers(value)
    if out.shape == (4,):
        return quaternion_to_matrix(unit_quaternion(value, what))
    if out.shape != (3, 3) or not np.allclose(out.T @ out, np.eye(3), rtol=0.0, atol=_ORTHONORMAL):
        raise ProblemError(f"{what} is not a rotation matrix (3, 3): give orthonormal columns x, y, z, or a quaternion")
    if np.linalg.det(out) < 0.0:
        raise ProblemError(f"{what} is left-handed (its determinant is −1): turn one column round, so that z = x × y")
    return out
