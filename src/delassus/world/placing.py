"""Putting joints and bodies somewhere without opening what is closed.

What hangs on a joint moves as one piece, along the screw that the joint leaves free, and keeps its inner motion. Where
the joint is part of a loop there is no such piece, and all bodies move (loops.py)."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import unit_quaternion, vector
from delassus.errors import ProblemError
from delassus.joints.primitives import ROTVEC
from delassus.model.model import Model
from delassus.spatial import quaternion_multiply, quaternion_to_matrix, rotate, rotation_exp
from delassus.world import reading
from delassus.world.loops import loop_placed, rows_at

if TYPE_CHECKING:
    from delassus.world.world import World

_TURN = 2.0 * math.pi
_FAR = 1.0  # [rad, m]: most that one iteration of Newton's changes a coordinate of a piece by
_ITERATIONS = 100
_CLOSED = 1e-12  # [m, rad]
_REACHED = 1e-8  # [m, rad]: far more than Newton's method leaves where it converges
_REDUNDANT = 1e-10  # of the largest: singular values below belong to redundant rows
_BEYOND = 1e-9  # [m, rad]: a limit is not crossed by rounding


def place_joint(world: "World", j: int, values: dict[int, float], rates: dict[int, float]) -> None:
    """Bring coordinates of joint j to these values [m, rad] and rates, by their numbers; the rest of them stay."""
    model = world.model
    _check_reach(model, values)
    piece, side = _hanging(model, j)
    _check_welds(model, np.ones(model.body_count, bool) if piece is None else piece, f"joint {model.joints.names[j]!r}")
    if piece is None:
        world._place(*loop_placed(model, world._q, world._u, world._turns, values, rates, j))
    else:
        world._place(*_piece_placed(model, world._q, world._u, world._turns, values, rates, j, piece, side))


def place_body(
    world: "World",
    b: int,
    position: ArrayLike | None,
    orientation: ArrayLike | None,
    velocity: ArrayLike | None,
    angular_velocity: ArrayLike | None,
) -> None:
    """Bring body b, with all that is joined to it, to a pose of its own frame and a velocity of that frame's origin."""
    model, q, u = world.model, world._q, world._u
    name = model.body_names[b]
    piece, is_tied = _connected(model, b, without=-1)
    if is_tied:
        tied = [n for n, pair in zip(model.joints.names, model.joints.bodies) if -1 in pair and piece[pair].any()]
        raise ProblemError(f"body {name!r} is tied to the world by joint {tied[0]!r}: set its joints instead")
    _check_welds(model, piece, f"body {name!r}")
    old, old_p = q[b, 3:], reading.position(model, b, q)
    p = old_p if position is None else vector(position, f"body {name!r}: position", 3)
    new = old if orientation is None else unit_quaternion(orientation, f"body {name!r}: orientation")
    v = reading.velocity(model, b, q, u) if velocity is None else vector(velocity, f"body {name!r}: velocity", 3)
    w = u[b, 3:] if angular_velocity is None else vector(angular_velocity, f"body {name!r}: angular_velocity", 3)
    turn = quaternion_multiply(new, old * [1.0, -1.0, -1.0, -1.0])
    there = _carried(q, piece, turn, p - rotate(turn, old_p))
    if orientation is None:  # bits stay
        there[:, 3:] = q[:, 3:]
    before = np.concatenate([reading.velocity(model, b, q, u), u[b, 3:]])
    world._place(
        there,
        _carried_velocities(q, u, there, piece, turn, before, old_p, np.concatenate([v, w]), p),
        world._turns.copy(),
    )


def _check_welds(model: Model, piece: np.ndarray, what: str) -> None:
    """Refuse to tear bodies (n_b,) away from nodes that are welded to them."""
    if model.flexible is None:
        return
    welds = model.flexible.welds
    held = np.flatnonzero((welds.body >= 0) & piece[welds.body])
    if len(held):
        node = int(welds.node[held[0]])
        soft = model.flexible.names[int(np.searchsorted(model.flexible.elements.node_start, node, side="right")) - 1]
        raise ProblemError(
            f"{what} cannot be set: {soft!r} is welded to {model.body_names[welds.body[held[0]]]!r} and would be torn: "
            "build it in its place, or give all bodies and nodes at once, world.state = State(…)"
        )


def _check_reach(model: Model, values: dict[int, float]) -> None:
    """Refuse values beyond limits, and rotation vectors longer than half a turn."""
    joints = model.joints
    for d, value in values.items():
        name, low, high = joints.coordinate_names[d], joints.lower[d], joints.upper[d]
        if not low - _BEYOND <= value <= high + _BEYOND:
            raise ProblemError(f"{name!r} cannot be {value:g}: its limits are [{low:g}, {high:g}]")
    vectors = [value for d, value in values.items() if joints.coordinate_primitive[d] == ROTVEC]
    if math.hypot(*vectors) >= math.pi:
        first = joints.names[joints.coordinate_joint[next(iter(values))]]
        raise ProblemError(f"joint {first!r}: a rotation vector is shorter than π, {vectors} is not")


# -- pieces ------------------------------------------------------------------------------------------------------------


def _connected(model: Model, b: int, without: int) -> tuple[np.ndarray, bool]:
    """(n_b,) which bodies joints connect with body b, joint `without` left out; and are they tied to the world?"""
    piece, is_tied = np.zeros(model.body_count, bool), False
    piece[b], left = True, [b]
    while left:
        here = left.pop()
        for j in np.flatnonzero((model.joints.bodies == here).any(axis=1)):
            first, second = (int(x) for x in model.joints.bodies[j])
            other = second if first == here else first
            if j == without:
                continue
            if other < 0:
                is_tied = True
            elif not piece[other]:
                piece[other] = True
                left.append(other)
    return piece, is_tied


def _hanging(model: Model, j: int) -> tuple[np.ndarray | None, int]:
    """The bodies (n_b,) that move as one piece when joint j does, and on which of its sides; None in a loop."""
    base, follower = (int(b) for b in model.joints.bodies[j])
    piece, is_tied = _connected(model, follower, without=j)
    if (base < 0 and is_tied) or (base >= 0 and piece[base]):
        return None, 1
    if not is_tied:
        return piece, 1
    piece, is_tied = _connected(model, base, without=j)
    return (None if is_tied else piece), 0


def _piece_placed(
    model: Model,
    q: np.ndarray,
    u: np.ndarray,
    turns: np.ndarray,
    values: dict[int, float],
    rates: dict[int, float],
    j: int,
    piece: np.ndarray,
    side: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses, velocities and turns after a piece was moved.  side: of joint j that it is on."""
    joints, one = model.joints, model.joints.only(np.arange(model.joints.count) == j)
    own = slice(int(joints.coordinate_start[j]), int(joints.coordinate_start[j + 1]))
    start, start_rows = reading.coordinates(model, q, turns)
    wanted = np.array([values.get(d, start[d]) for d in range(own.start, own.stop)])
    speed = reading.rates(model, start_rows, u)
    wanted_speed = np.array([rates.get(d, speed[d]) for d in range(own.start, own.stop)])
    b, a = int(joints.bodies[j, side]), int(joints.bodies[j, 1 - side])
    counted, at, turn = joints.counted[own], q, np.array([1.0, 0.0, 0.0, 0.0])
    opening = rows_at(one, q)[0]  # of joints that give: it stays
    for _ in range(_ITERATIONS if values else 0):
        residual, rows, raw = rows_at(one, at)
        error = wanted - raw
        error -= np.where(counted, _TURN * np.rint(error / _TURN), 0.0)
        if np.abs(np.concatenate([opening - residual, error])).max(initial=0.0) <= _CLOSED:
            break
        error *= min(1.0, _FAR / max(np.abs(error).max(initial=0.0), _CLOSED))
        twist = _solved(rows[:, 6 * side : 6 * side + 6], np.concatenate([opening - residual, error]))
        step, shift = _screw(twist, at[b, :3])
        at, turn = _carried(at, piece, step, shift), quaternion_multiply(step, turn)
    residual, rows, raw = rows_at(one, at)
    left = wanted - raw
    left -= np.where(counted, _TURN * np.rint(left / _TURN), 0.0)
    if not np.abs(left).max(initial=0.0) <= _REACHED:
        raise ProblemError(f"joint {joints.names[j]!r} cannot be brought to {wanted}: it is singular on the way there")
    new_turns = joints.turns_of(turns).copy()
    new_turns[own] = np.where(counted, np.rint((wanted - raw) / _TURN), 0)
    # velocities: those of the other side, and the inner motion of the piece turned with it
    ground = np.zeros(6) if a < 0 else u[a]
    centre = np.zeros(3) if a < 0 else q[a, :3]
    v = _carried_velocities(q, u, at, piece, turn, ground, centre, ground, centre)
    twists = np.concatenate([np.zeros(6) if x < 0 else v[x] for x in joints.bodies[j]])
    gap = np.concatenate([-rows[: len(residual)] @ twists, wanted_speed - rows[len(residual) :] @ twists])
    return at, _with_twist(v, at, piece, _solved(rows[:, 6 * side : 6 * side + 6], gap), at[b, :3]), new_turns


def _solved(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(A, right, rcond=_REDUNDANT)[0]


def _screw(twist: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(quaternion, shift (3,)) of the motion x → R x + shift that a twist (6,) at `centre` leads to in unit time."""
    w = twist[3:]
    rho, angle = twist[:3] - np.cross(w, centre), float(np.linalg.norm(w))
    if angle < 1e-8:
        a, b = 0.5, 1.0 / 6.0
    else:
        a, b = (1.0 - math.cos(angle)) / angle**2, (angle - math.sin(angle)) / angle**3
    turned = np.cross(w, rho)
    return rotation_exp(w), rho + a * turned + b * np.cross(w, turned)


def _carried(q: np.ndarray, piece: np.ndarray, turn: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Poses after x → R x + shift of a piece."""
    out = q.copy()
    out[piece, :3] = rotate(turn, q[piece, :3]) + shift
    fresh = quaternion_multiply(turn, q[piece, 3:])
    out[piece, 3:] = fresh / np.linalg.norm(fresh, axis=1, keepdims=True)
    return out


def _carried_velocities(
    q: np.ndarray,
    u: np.ndarray,
    at: np.ndarray,
    piece: np.ndarray,
    turn: np.ndarray,
    before: np.ndarray,
    before_at: np.ndarray,
    after: np.ndarray,
    after_at: np.ndarray,
) -> np.ndarray:
    """Velocities of a piece that was carried from q to `at`: its motion against a rigid one, `before` (6,) at the point
    before_at, is turned and put on top of another, `after`."""
    out, R = u.copy(), quaternion_to_matrix(turn)
    for b in np.flatnonzero(piece):
        own = u[b] - _field(before, before_at, q[b, :3])
        out[b] = np.concatenate([R @ own[:3], R @ own[3:]]) + _field(after, after_at, at[b, :3])
    return out


def _with_twist(u: np.ndarray, q: np.ndarray, piece: np.ndarray, twist: np.ndarray, at: np.ndarray) -> np.ndarray:
    out = u.copy()
    for b in np.flatnonzero(piece):
        out[b] += _field(twist, at, q[b, :3])
    return out


def _field(twist: np.ndarray, at: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(6,) of a body at this point that moves rigidly with a twist given at another."""
    return np.concatenate([twist[:3] + np.cross(twist[3:], point - at), twist[3:]])
