"""Checks of arguments: numbers, words, points, vectors and orientations as callers pass them, and errors that name
them."""

import math
import sys
from collections.abc import Collection
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from delassus.errors import DelassusError, ProblemError, nearest
from delassus.spatial import matrix_to_quaternion, quaternion_to_matrix

_UNIT = 1e-3  # a quaternion this far from unit length is a mistake, not rounding
_ORTHONORMAL = 1e-8  # entries of RᵀR − I of a rotation matrix
_LEAST, _MOST = 1e-100, 1e100  # numbers that are not zero: squares and cubes beyond leave the range of floating point
_LEAST_SIZE, _MOST_SIZE = 1e-50, 1e50  # of sizes, whose fifth powers are inertia [m]
_REAL = "biuf"  # kinds of NumPy's types that are real numbers

Given = TypeVar("Given")
Kind = type[DelassusError]
"""Of the complaint."""


def real(value: Any) -> np.ndarray | None:
    """An array of real numbers, of its own type and perhaps `value` itself; None for what is none: texts, complex
    numbers, arrays with a mask, and what has no shape."""
    masked = sys.modules.get("numpy.ma")  # loaded where there are such arrays
    if value is None or (masked is not None and isinstance(value, masked.MaskedArray)):
        return None
    try:
        out = np.asarray(value)
        if out.dtype.kind in _REAL:
            return out
        if out.dtype.kind == "O" and all(isinstance(one, Real) for one in out.flat):
            return out.astype(float)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    return None


def numbers(value: Any) -> np.ndarray:
    """A new array of numbers; for what is none, one without entries in a shape that nobody asks for, so that whoever
    checks shapes complains of it in words of their own."""
    found = real(value)
    return np.empty((0, 0, 0, 0)) if found is None else np.array(found, dtype=float, order="C")


def number(
    value: Any, what: str, unit: str, *, positive: bool = False, hint: str = "", error: Kind = ProblemError
) -> float:
    """One finite number, not negative, or positive; hint: the end of the complaint; error: its kind. Where it is not
    zero it lies between 1e-100 and 1e100: others overflow, or are denormal, and nobody means them."""
    out = numbers(value)
    if out.shape != () or not np.isfinite(out) or out < 0 or (positive and out == 0):
        wanted = "positive" if positive else "zero or more"
        raise error(f"{what} is {shown(value)}, it must be {wanted} [{unit}]{hint}")
    if out != 0 and not _LEAST <= out <= _MOST:
        raise error(f"{what} is {shown(value)}, it must lie between {_LEAST:g} and {_MOST:g} [{unit}]{hint}")
    return float(out)


def whole(value: Any, what: str, least: int = 0, *, error: Kind = ProblemError) -> int:
    """One whole number, also one like 1e4, from `least` on, that compiled code can count to."""
    out = real(value)
    if out is None or out.shape != () or out.dtype.kind == "b" or not least <= out < 2**63 or out != np.floor(out):
        raise error(f"{what} is {shown(value)}: give a whole number from {least} on")
    return int(out)


def truth(value: Any, what: str, *, error: Kind = ProblemError) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise error(f"{what} is {shown(value)}: give True or False")
    return bool(value)


def word(value: Any, what: str, known: Collection[str], *, error: Kind = ProblemError) -> str:
    """One of some names."""
    if not isinstance(value, str) or value not in known:
        raise error(f"unknown {what} {shown(value)}; {nearest(str(value)[:100], list(known))}")
    return value


def instance(value: Any, kind: type[Given], what: str) -> Given:
    """An object of that class."""
    if not isinstance(value, kind):
        raise ProblemError(f"{what} is {shown(value)}: give a {kind.__name__}")
    return value


def shown(value: Any) -> str:
    """What was given, for a complaint: on one line, and not longer than one."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # a class of the caller's own, or a whole number of too many digits
        return f"a {type(value).__name__} ({type(error).__name__})"
    return text if len(text) <= 100 else f"{text[:100]}…"


def positive(kind: str, **sizes: float) -> None:
    """Refuse sizes [m] that are not finite and positive, naming the first bad one, and those whose fifth powers are
    not."""
    for name, value in sizes.items():
        x = numbers(value)
        if x.shape != () or not (math.isfinite(x) and x > 0):
            raise ProblemError(f"{kind}: {name} is {shown(value)}, it must be finite and positive")
        if not _LEAST_SIZE <= x <= _MOST_SIZE:
            raise ProblemError(f"{kind}: {name} is {value!r}, it must lie between {_LEAST_SIZE:g} and {_MOST_SIZE:g}")


def points_of(kind: str, name: str, value: ArrayLike) -> np.ndarray:
    """Points as a read-only (n, 3) array, or an error that says what is wrong with them."""
    x = numbers(value)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ProblemError(f"{kind}: {name} has shape {x.shape}, expected (n, 3)")
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise ProblemError(f"{kind}: {name}[{int(np.argmax(bad))}] is not finite")
    if x.size and np.abs(x).max() > _MOST_SIZE:
        where = int(np.argmax(np.abs(x).max(axis=1)))
        raise ProblemError(f"{kind}: {name}[{where}] is {x[where].tolist()}: give coordinates up to {_MOST_SIZE:g} m")
    x.flags.writeable = False
    return x


def vector(value: Any, what: str, count: int) -> np.ndarray:
    """count finite numbers as an array, none beyond 1e100."""
    out = numbers(value)
    if out.shape != (count,) or not np.isfinite(out).all() or np.abs(out).max(initial=0.0) > _MOST:
        raise ProblemError(f"{what} is {shown(value)}: give {count} finite numbers, none beyond {_MOST:g}")
    return out


def direction(value: Any, what: str) -> np.ndarray:
    """Three numbers that point somewhere, of any length."""
    out = vector(value, what, 3)
    if not np.linalg.norm(out) >= _LEAST:
        raise ProblemError(f"{what} is {shown(value)}, which points nowhere: give a direction, such as (0, 0, 1)")
    return out


def unit_quaternion(value: Any, what: str) -> np.ndarray:
    """A quaternion (4,) or rotation matrix (3, 3) as a unit quaternion."""
    out = numbers(value)
    if out.shape == (3, 3):
        return matrix_to_quaternion(rotation_matrix(value, what))
    if out.shape != (4,) or not np.isfinite(out).all() or abs(np.linalg.norm(out) - 1.0) > _UNIT:
        raise ProblemError(
            f"{what} is {shown(value)}: give a unit quaternion (w, x, y, z), or a rotation matrix (3, 3); "
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
