"""Limits of joint coordinates as people give them, checked where they are given."""

import warnings
from typing import Any

import numpy as np

from delassus.errors import DelassusWarning, ProblemError
from delassus.given import numbers
from delassus.joints import JOINTS, JointKind
from delassus.joints.primitives import ROTVEC


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
