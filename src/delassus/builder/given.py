"""Numbers, vectors, orientations, shapes and limits of joints as people give them, checked where they are given."""

import warnings
from typing import Any

import numpy as np

from delassus.collision.instances import ALL
from delassus.errors import DelassusWarning, ProblemError
from delassus.given import numbers
from delassus.joints import JOINTS, JointKind
from delassus.joints.primitives import ROTVEC
from delassus.spatial import matrix_to_quaternion, quaternion_to_matrix

_UNIT = 1e-3  # a quaternion this far from unit length is a mistake, not rounding
_ORTHONORMAL = 1e-8  # entries of RᵀR − I of a rotation matrix


def placed_shapes(name: str, shapes: Any) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """(shape, position, quaternion) of every shape; one alone needs no list around it."""
    if _is_shape(shapes) or (_is_placed(shapes) and not (_is_shape(shapes[1]) or _is_placed(shapes[1]))):
        shapes = [shapes]
    try:
        parts = list(shapes)
    except TypeError:
        raise ProblemError(f"{name}: shapes is {shapes!r}: give a list of shapes; see delassus.shapes") from None
    return [_placed(name, part) for part in parts]


def _is_shape(value: Any) -> bool:
    return hasattr(value, "static_only") and not isinstance(value, type)


def _is_placed(value: Any) -> bool:
    """A shape with its pose behind it, or several shapes."""
    return isinstance(value, tuple) and len(value) > 1 and _is_shape(value[0])


def _placed(name: str, part: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    part = part[0] if isinstance(part, tuple) and len(part) == 1 else part
    if not (_is_shape(part) or _is_placed(part)):
        raise ProblemError(
            f"{name}: {part!r} is not a shape; see delassus.shapes, and give (shape, position) where it has a place"
        )
    shape, *pose = part if isinstance(part, tuple) else (part,)
    if len(pose) > 2:
        raise ProblemError(f"{name}: {part!r} has more than a shape, its position and its orientation")
    position = vector(pose[0] if pose else (0, 0, 0), f"{name}: shape position", 3)
    return shape, position, unit_quaternion(pose[1] if len(pose) > 1 else (1, 0, 0, 0), f"{name}: shape orientation")


def number(value: Any, what: str, unit: str, *, positive: bool = False, hint: str = "") -> float:
    """One finite number, not negative, or positive; hint: the end of the complaint."""
    out = numbers(value)
    if out.shape != () or not np.isfinite(out) or out < 0 or (positive and out == 0):
        wanted = "positive" if positive else "zero or more"
        raise ProblemError(f"{what} is {value!r}, it must be {wanted} [{unit}]{hint}")
    return float(out)


def bits(value: Any, what: str) -> int:
    """A set of collision groups: a whole number of 32 bits."""
    if not (isinstance(value, (int, np.integer)) and 0 <= value <= ALL):
        raise ProblemError(f"{what} is {value!r}: give a whole number of 32 bits, one for each group of bodies")
    return int(value)


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


def limit_pairs(name: str, kind: str, limits: Any) -> list[tuple[float, float]]:
    """(lower, upper) of every coordinate of the joint [m, rad], infinite where there are none."""
    coordinates = JOINTS[kind].coordinates
    given = [None] * len(coordinates) if limits is None else limits
    if len(coordinates) == 1 and numbers(given).shape == (2,):
        given = [given]
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != len(coordinates):
        raise ProblemError(f"joint {name}: limits is {limits!r}: {_wanted(JOINTS[kind])}")
    wanted = _wanted(JOINTS[kind])
    pairs = []
    for c, pair in zip(coordinates, given):
        pairs.append(_pair(f"joint {name}: limits of {c.name}", pair, c.unit, wanted))
    _check_rotation_vector(name, kind, [pair for pair, c in zip(pairs, coordinates) if c.primitive == ROTVEC])
    return pairs


def _wanted(kind: JointKind) -> str:
    if len(kind.coordinates) == 1:
        return "give (lower, upper), such as (-1.0, 1.0), inf for no limit"
    names = ", ".join(c.name for c in kind.coordinates)
    return f"give (lower, upper) or None for each coordinate of a {kind.name} joint, in a list ({names})"


def _pair(what: str, given: Any, unit: str, wanted: str) -> tuple[float, float]:
    both = numbers((-np.inf, np.inf) if given is None else given)
    if both.shape != (2,) or np.isnan(both).any() or both[0] == np.inf or both[1] == -np.inf:
        raise ProblemError(f"{what} are {given!r}: {wanted}")
    lower, upper = map(float, both)
    if not lower <= upper:
        raise ProblemError(f"{what} are the wrong way round, [{lower}, {upper}]: give the lower one first")
    finite = both[np.isfinite(both) & (both != 0.0)]
    if unit == "rad" and len(finite) and all(_is_like_degrees(angle) for angle in finite):
        warnings.warn(
            f"{what}, [{lower:g}, {upper:g}] rad, reach {np.abs(finite).max() / (2 * np.pi):.3g} turns: if degrees are "
            "meant, give np.radians(…)",
            DelassusWarning,
            stacklevel=5,  # the caller of ModelBuilder.joint
        )
    return lower, upper


def _is_like_degrees(angle: float) -> bool:
    """A round part of a turn in degrees, which is an odd number of radians."""
    return abs(angle) >= 30.0 and (angle % 30.0 == 0.0 or angle % 45.0 == 0.0)


def _check_rotation_vector(name: str, kind: str, pairs: list[tuple[float, float]]) -> None:
    """Refuse limits of a rotation vector that could be met at its jump: at half a turn it becomes its opposite."""
    if not np.isfinite(pairs).any():
        return
    far = np.linalg.norm([max(-lower, upper) for lower, upper in pairs])
    if not far < np.pi:
        raise ProblemError(
            f"joint {name}: limits of a {kind} joint must keep its rotation vector shorter than π, where it jumps, but "
            f"these reach {far:.3g} rad: limit all three components, or use revolute or universal joints, which count "
            "turns"
        )
