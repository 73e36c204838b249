"""The first state of a mechanism: whether its joints are closed and its bodies apart, closing it on purpose, and how
many turns its angles have made: as many as their limits ask for.

Soft joints are left alone: they may start as springs under load."""

import warnings
from dataclasses import replace

import numpy as np

from delassus.collision import detect_at
from delassus.collision.instances import FIXTURES
from delassus.dynamics.closure import close_joints
from delassus.dynamics.forces import lengths_of
from delassus.dynamics.softness import softness_of
from delassus.errors import DelassusWarning, ProblemError
from delassus.joints.arrays import JointArrays
from delassus.joints.primitives import DOT
from delassus.model.model import Model
from delassus.model.state import State
from delassus.softening import HARD
from delassus.spatial import rotations_of

_OPEN = 1e-6  # of the mechanism's size, and rad: joints further open than this were not meant so
_PARTING = 1e-6  # of the bodies' own speeds: rates that part a joint
_DEEP = 0.01  # of the smaller body's radius: overlaps deeper than this were not meant so
_CLOSED = 1e-12  # of the mechanism's size, and rad: what assembling asks for
_NAMED = 3  # of many culprits
_TURN = 2.0 * np.pi
_AT_LIMIT = 1e-6  # [m, rad]: a coordinate this little outside its limits is at them, not outside


def check_start(model: Model, q: np.ndarray, u: np.ndarray | None, *, stacklevel: int) -> None:
    """Refuse joints that are open as placed; warn of velocities that part them and of bodies that overlap.

    q: (n_b, 7), u: (n_b, 6), None where they are known to obey the joints."""
    hard = softness_of(model, None).closed
    found = open_joints(hard, q)
    if found:
        raise ProblemError(
            f"{_listed(found)} as placed: move the bodies or give the joint's follower_position and follower_frame, or "
            "close it on purpose with build(assemble=True)"
        )
    for text in (_parting(hard, q, u), _overlapping(model, q)):
        if text:
            warnings.warn(text, DelassusWarning, stacklevel=stacklevel + 1)


def assembled(model: Model, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses with closed joints, moved as little as possible in the mass metric, and velocities that obey them."""
    hard = softness_of(model, None).closed
    if not hard.row_count:
        return q, u
    hard = replace(hard, armature=np.zeros_like(hard.armature))  # a pose is looked for, and rotors are nowhere in it
    q, u = close_joints(model, q, u, tol=_CLOSED * max(_size(hard, q), 1.0), joints=hard)
    left = open_joints(hard, q)
    if left:
        raise ProblemError(
            f"the joints cannot all close: {_listed(left)} at best; check the lengths of the loop they are in, or "
            "start nearer to where it closes"
        )
    return q, u


def open_joints(joints: JointArrays, q: np.ndarray) -> list[str]:
    """Sentences like "joint 'hinge' is open by 0.2 m", the worst first, for joints that are not closed."""
    residual, _ = joints.constraints(joints.frames(q, rotations_of(q)))
    distance, angle = _per_joint(joints, residual)
    worst = np.maximum(distance / _size(joints, q), angle)
    order = [j for j in np.argsort(-worst, kind="stable") if not worst[j] <= _OPEN]
    return [f"joint {joints.names[j]!r} is open by {_amount(distance[j], angle[j], '')}" for j in order]


def _parting(joints: JointArrays, q: np.ndarray, u: np.ndarray | None) -> str:
    """A sentence about joints whose bodies start with velocities that part them; empty if there are none."""
    if u is None or not u.any():
        return ""
    _, rows = joints.constraints(joints.frames(q, rotations_of(q)))
    own = np.zeros((joints.row_count, 12))
    for side in range(2):
        body = joints.row_bodies[:, side]
        own[body >= 0, 6 * side : 6 * side + 6] = u[body[body >= 0]]
    distance, angle = _per_joint(joints, np.einsum("ri,ri->r", rows, own))
    # rates are compared with what each half of a row contributes: an exact cancellation leaves rounding
    speed, spin = _per_joint(joints, np.abs(rows * own).sum(axis=1))
    parts = (distance > _PARTING * speed) | (angle > _PARTING * spin)
    found = [f"joint {joints.names[j]!r} at {_amount(distance[j], angle[j], '/s')}" for j in np.flatnonzero(parts)]
    if not found:
        return ""
    return (
        f"the bodies start with velocities that part {_listed(found)}: the first step will stop that with an impulse; "
        "give velocities that agree, or let build(assemble=True) find the nearest that do"
    )


def _overlapping(model: Model, q: np.ndarray) -> str:
    """A sentence about bodies that overlap; empty if there are none."""
    shapes = model.shapes
    contacts = detect_at(shapes, q)
    radius = (shapes.radius - shapes.surface[:, 0])[contacts.shapes].min(axis=1) if len(contacts) else np.zeros(0)
    deepest: dict[tuple[str, str], float] = {}
    for k in np.flatnonzero(contacts.gap < -_DEEP * radius):
        first, second = (_owner(model, int(shapes.owner[s])) for s in contacts.shapes[k])
        pair = first, second
        deepest[pair] = max(deepest.get(pair, 0.0), -float(contacts.gap[k]))
    found = [f"{a!r} and {b!r} by {d:.3g} m" for (a, b), d in sorted(deepest.items(), key=lambda item: -item[1])]
    if not found:
        return ""
    return (
        f"bodies overlap: {_listed(found)}; they will be pushed apart: move them, exclude() the pair from contact, or "
        "say build(check=False)"
    )


def _owner(model: Model, owner: int) -> str:
    return model.fixed_names[owner - FIXTURES] if owner >= FIXTURES else model.body_names[owner]


def _per_joint(joints: JointArrays, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of each joint's rows, those of points and distances apart from those of axes; both (n_j,)."""
    of = np.repeat(np.arange(joints.count), joints.row_sizes)
    is_angle = joints.row_primitive == DOT
    squares = np.where(np.isfinite(rows), rows, np.inf) ** 2
    return tuple(
        np.sqrt(np.bincount(of, np.where(mask, squares, 0.0), minlength=joints.count))[: joints.count]
        for mask in (~is_angle, is_angle)
    )  # type: ignore[return-value]


def _size(joints: JointArrays, q: np.ndarray) -> float:
    """Extent of bodies and joints [m]; 1 where everything is in one point."""
    origin, _, _ = joints.frames(q, rotations_of(q))
    points = np.concatenate([q[:, :3], origin.reshape(-1, 3)])
    return (float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0) or 1.0


def _amount(distance: float, angle: float, per: str) -> str:
    parts = [f"{distance:.3g} m{per}"] if distance > _OPEN * angle else []
    if angle > _OPEN * distance:
        parts.append(f"{angle:.3g} rad{per}")
    return " and ".join(parts)


def _listed(found: list[str]) -> str:
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def starting_turns(model: Model, q: np.ndarray) -> np.ndarray:
    """Turns (n_d,) that bring every angle within its limits, as few as possible: zero unless (−π, π] is outside them.
    A coordinate that is outside whatever its turns gets a warning.  q: (n_b, 7)."""
    joints = model.joints
    values, _ = joints.coordinates(joints.frames(q, rotations_of(q)))
    turns = np.zeros(len(values), np.int64)
    for d, value in enumerate(values):
        lower, upper = joints.lower[d], joints.upper[d]
        if lower - _AT_LIMIT <= value <= upper + _AT_LIMIT:
            continue
        if joints.counted[d]:
            turns[d] = _turns_towards(value, lower, upper)
        start = value + _TURN * turns[d]
        if not lower - _AT_LIMIT <= start <= upper + _AT_LIMIT:
            warnings.warn(
                f"{joints.coordinate_names[d]} starts at {start:.4g}, outside its limits [{lower:.4g}, {upper:.4g}], "
                "and will be pushed back: move the body, the joint's frame or the limits",
                DelassusWarning,
                stacklevel=3,  # the caller of ModelBuilder.build
            )
    return turns


def check_lengths(model: Model, state: State) -> None:
    """Warn of tendons that start outside their limits."""
    couplings = model.couplings
    if couplings is None:
        return
    lengths, lower_ends, upper_ends = lengths_of(model, state)[0], couplings.lower, couplings.upper
    for c in couplings.free:
        length, lower, upper = lengths[c], lower_ends[c], upper_ends[c]
        is_soft = couplings.limit_softening[c, 0] > HARD  # springs may start under load
        if not is_soft and not lower - _AT_LIMIT <= length <= upper + _AT_LIMIT:
            warnings.warn(
                f"tendon {couplings.names[c]} starts at {length:.4g}, outside its limits [{lower:.4g}, {upper:.4g}], "
                "and will be pulled back: move the bodies or the limits",
                DelassusWarning,
                stacklevel=3,  # the caller of ModelBuilder.build
            )


def _turns_towards(value: float, lower: float, upper: float) -> int:
    """The fewest turns that bring an angle into its limits, or nearest to them where none does."""
    ways = [(bound - value) / _TURN for bound in (lower, upper) if np.isfinite(bound)]

    def outside(k: int) -> float:
        angle = value + _TURN * k
        return max(lower - angle, angle - upper, _AT_LIMIT)

    return min((int(end(way)) for way in ways for end in (np.floor, np.ceil)), key=lambda k: (outside(k), abs(k)))
