"""Joints as the builder holds them: frames on both bodies, limits and drives of their coordinates."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, numbers
from delassus.builder.body import WORLD, Body
from delassus.errors import DelassusWarning, ProblemError
from delassus.joints import JOINTS, JointKind
from delassus.joints.arrays import IMPOSED, PASSIVE, PD, JointArrays
from delassus.joints.primitives import ROTVEC, SLIDE
from delassus.softening import WIDTH
from delassus.spatial import quaternion_to_matrix

ELSEWHERE = {"hinge": "revolute", "slide": "prismatic", "slider": "prismatic", "ball": "spherical", "weld": "fixed"}
"""What joints are called in other programs."""


@dataclass(frozen=True)
class Motor:
    """Proportional-derivative drive of a joint coordinate towards `Inputs.target` and `target_rate`, implicit: stable
    at any gain.

    stiffness: force or torque per error of position [N/m, N m/rad].
    damping: force or torque per error of rate [N s/m, N m s/rad].
    effort: the largest force or torque it gives [N, N m]; inf: no limit.
    """

    stiffness: float = 0.0
    damping: float = 0.0
    effort: float = np.inf

    def __post_init__(self) -> None:
        number(self.stiffness, "motor: stiffness", "N/m, N m/rad")
        number(self.damping, "motor: damping", "N s/m, N m s/rad")
        _check_effort("motor", self.effort)


@dataclass(frozen=True)
class Imposed:
    """Drive of a joint coordinate that follows `Inputs.target` and `target_rate` (Mangoni, thesis, eq. 3.21) up to the
    joint's limits, as far as its effort suffices: without a limit exactly, with one a servo of finite strength.

    effort: the largest force or torque it gives [N, N m]; inf: no limit.
    """

    effort: float = np.inf

    def __post_init__(self) -> None:
        _check_effort("imposed motion", self.effort)


def _check_effort(what: str, effort: float) -> None:
    if not (numbers(effort).shape == () and effort > 0.0):
        raise ProblemError(f"{what}: effort is {effort!r}, give a positive number [N, N m], inf for no limit")


IMPOSED_MOTION = "imposed"
"""Short for `Imposed()`."""


@dataclass
class Joint:
    """A joint as given, before the arrays are made of it. base: None for the world; origin (3,) [m], frame (3, 3), axes
    in columns: where it is in the world, seen from either body; length [m]: of a distance; options: one table per
    coordinate (`coordinate_options`); softening, limit_softening: (8,), see softening.py."""

    name: str
    kind: str
    base: Body | None
    follower: Body
    origin: np.ndarray
    frame: np.ndarray
    follower_origin: np.ndarray
    follower_frame: np.ndarray
    length: float
    options: list[dict[str, Any]]
    softening: np.ndarray
    limit_softening: np.ndarray


def coordinate_options(
    name: str,
    kind: str,
    limits: Any,
    motor: Any,
    damping: ArrayLike,
    friction: ArrayLike,
    limit_restitution: ArrayLike = 0.0,
    stiffness: ArrayLike = 0.0,
    rest: ArrayLike = 0.0,
    armature: ArrayLike = 0.0,
) -> list[dict[str, Any]]:
    """Limits, drive, damping, friction, spring and armature of each coordinate of a joint, checked."""
    coordinates = JOINTS[kind].coordinates
    count = len(coordinates)
    passive = (damping, friction, stiffness, armature)
    if count == 0 and (limits is not None or motor is not None or any(np.any(value) for value in passive)):
        raise ProblemError(f"joint {name}: a {kind} joint has no coordinates to limit, drive or damp")
    names = ", ".join(c.name for c in coordinates)
    motors = list(motor) if isinstance(motor, (list, tuple)) else [motor] * count
    out = []
    if len(motors) != count:
        raise ProblemError(
            f"joint {name}: motor has {len(motors)} entries, a {kind} joint has {count} coordinates ({names})"
        )
    pairs = limit_pairs(name, kind, limits)
    dampings, frictions, bounces, springs, armatures = (
        _per_coordinate(value, f"joint {name}: {what}", count, names)
        for what, value in (
            ("damping", damping),
            ("friction", friction),
            ("limit_restitution", limit_restitution),
            ("stiffness", stiffness),
            ("armature", armature),
        )
    )
    rests = numbers(rest)
    if rests.shape not in ((), (count,)) or not np.isfinite(rests).all():
        raise ProblemError(f"joint {name}: rest is {rest!r}: give finite numbers, one for all or one each ({names})")
    rests = np.broadcast_to(rests, count)
    if max(bounces, default=0.0) > 0.0 and not np.isfinite(pairs).any():
        raise ProblemError(f"joint {name}: limit_restitution is given and no limits: give limits=(lower, upper) too")
    for k in range(count):
        lower, upper = pairs[k]
        if not bounces[k] <= 1.0:
            raise ProblemError(f"joint {name}: limit_restitution is {bounces[k]}, give a number from 0 to 1")
        motor = Imposed() if isinstance(motors[k], str) and motors[k] == IMPOSED_MOTION else motors[k]
        if not (motor is None or isinstance(motor, Motor | Imposed)):
            raise ProblemError(
                f"joint {name}: motor is {motor!r}, give a Motor(stiffness, damping), {IMPOSED_MOTION!r} or None"
            )
        gains = motor if isinstance(motor, Motor) else Motor()
        effort = np.inf if motor is None else motor.effort
        drive = PASSIVE if motor is None else IMPOSED if isinstance(motor, Imposed) else PD
        out.append(
            {
                "lower": lower,
                "upper": upper,
                "damping": dampings[k],
                "friction": frictions[k],
                "drive": drive,
                "stiffness": gains.stiffness,
                "rate_gain": gains.damping,
                "effort": effort,
                "limit_restitution": bounces[k],
                "spring": springs[k],
                "rest": rests[k] if springs[k] else 0.0,
                "armature": armatures[k],
            }
        )
    return out


def _per_coordinate(value: Any, what: str, count: int, names: str) -> np.ndarray:
    """One number for all coordinates, or one each; (count,)."""
    out = numbers(value)
    if out.shape not in ((), (count,)) or not np.isfinite(out).all() or (out < 0).any():
        raise ProblemError(
            f"{what} is {value!r}: it must be finite and not negative, one number for all or one "
            f"per coordinate ({names})"
        )
    return np.broadcast_to(out, count)


def limit_pairs(name: str, kind: str, limits: Any) -> list[tuple[float, float]]:
    """(lower, upper) of every coordinate of the joint [m, rad], infinite where there are none."""
    coordinates, wanted, pairs = JOINTS[kind].coordinates, _wanted(JOINTS[kind]), []
    given = [None] * len(coordinates) if limits is None else limits
    if len(coordinates) == 1 and numbers(given).shape == (2,):
        given = [given]
    if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != len(coordinates):
        raise ProblemError(f"joint {name}: limits is {limits!r}: {wanted}")
    for c, pair in zip(coordinates, given):
        pairs.append(limit_pair(f"joint {name}: limits of {c.name}", pair, c.unit, wanted))
    _check_rotation_vector(name, kind, [pair for pair, c in zip(pairs, coordinates) if c.primitive == ROTVEC])
    return pairs


def _wanted(kind: JointKind) -> str:
    if len(kind.coordinates) == 1:
        return "give (lower, upper), such as (-1.0, 1.0), inf for no limit"
    names = ", ".join(c.name for c in kind.coordinates)
    return f"give (lower, upper) or None for each coordinate of a {kind.name} joint, in a list ({names})"


def limit_pair(what: str, given: Any, unit: str, wanted: str) -> tuple[float, float]:
    """(lower, upper) as given, infinite for None; wanted: the end of the complaint."""
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


def joint_arrays(joints: list[Joint]) -> JointArrays:
    """All joints of a mechanism as flat arrays."""
    kinds = [JOINTS[joint.kind] for joint in joints]
    rows = [row for kind in kinds for row in kind.rows]
    coordinates = [(j, c) for j, kind in enumerate(kinds) for c in kind.coordinates]
    options = [option for joint in joints for option in joint.options]
    ends = [joint_ends(joint) for joint in joints]

    def column(key: str) -> np.ndarray:
        return np.array([option[key] for option in options], dtype=float)

    def start(sizes: Sequence[int]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    return JointArrays(
        names=tuple(joint.name for joint in joints),
        kinds=tuple(joint.kind for joint in joints),
        bodies=np.array([end[0] for end in ends], dtype=np.int64).reshape(-1, 2),
        origin=np.array([end[1] for end in ends], dtype=float).reshape(-1, 2, 3),
        axes=np.array([end[2] for end in ends], dtype=float).reshape(-1, 2, 3, 3),
        length=np.array([joint.length for joint in joints], dtype=float),
        row_start=start([len(kind.rows) for kind in kinds]),
        row_primitive=np.array([row.primitive for row in rows], dtype=np.int64),
        row_base_axis=np.array([row.base_axis for row in rows], dtype=np.int64),
        row_follower_axis=np.array([row.follower_axis for row in rows], dtype=np.int64),
        coordinate_names=tuple(f"{joints[j].name}.{c.name}" for j, c in coordinates),
        coordinate_start=start([len(kind.coordinates) for kind in kinds]),
        coordinate_joint=np.array([j for j, _ in coordinates], dtype=np.int64),
        coordinate_primitive=np.array([c.primitive for _, c in coordinates], dtype=np.int64),
        coordinate_axis=np.array([c.axis for _, c in coordinates], dtype=np.int64),
        angular=np.array([c.primitive != SLIDE for _, c in coordinates], dtype=bool),
        lower=column("lower"),
        upper=column("upper"),
        damping=column("damping"),
        friction=column("friction"),
        drive=column("drive").astype(np.int64),
        stiffness=column("stiffness"),
        rate_gain=column("rate_gain"),
        effort=column("effort"),
        limit_restitution=column("limit_restitution"),
        softening=np.array([joint.softening for joint in joints]).reshape(-1, WIDTH),
        limit_softening=np.array([joints[j].limit_softening for j, _ in coordinates]).reshape(-1, WIDTH),
        spring=column("spring"),
        rest=column("rest"),
        armature=column("armature"),
    )


def joint_ends(joint: Joint) -> tuple[list[int], list[np.ndarray], list[np.ndarray]]:
    """(base and follower index, joint origins, joint axes) in the bodies' frames at their centres of mass."""
    pair, origins, axes = [], [], []
    for body, origin, frame in (
        (joint.base, joint.origin, joint.frame),
        (joint.follower, joint.follower_origin, joint.follower_frame),
    ):
        if body is None:
            pair.append(WORLD)
            origins.append(origin)
            axes.append(frame)
        else:
            R = quaternion_to_matrix(body.quaternion)
            pair.append(body.index)
            origins.append(R.T @ (origin - body.position) - body.centre)
            axes.append(R.T @ frame)
    return pair, origins, axes
