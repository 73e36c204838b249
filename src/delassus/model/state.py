"""Where everything is and how it moves."""

import hashlib
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import instance, numbers, real, shown
from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.spatial import rotations_of

_FLOAT, _WHOLE = np.dtype(float), np.dtype(np.int64)
_MOST_TURNS = 2.0**53  # more are no whole number of double precision
_NO_TURNS = np.zeros(0, np.int64)
_NO_NODES = np.zeros((0, 3))
FINE, _NOT_FINITE = -1, -2
_UNIT = 1e-3  # a quaternion this far from unit length is a mistake, not rounding
_EXACT = 1e-12  # one this near is left as it is, bit for bit; in between it is made of unit length


@dataclass(frozen=True, eq=False)
class State:
    """q: (n_b, 7) centre of mass [m] and quaternion (w, x, y, z); u: (n_b, 6) twist (linear, angular) [m/s, rad/s] in
    the world frame, at the centre of mass; t: time [s]; turns: (n_d,) whole turns that joint angles have made beyond
    (−π, π], see dynamics/turns.py; () for none; nodes, node_velocity: (n_n, 3) of the flexible bodies' nodes, one body
    after the other [m, m/s]. Replaced, never changed."""

    q: np.ndarray
    u: np.ndarray
    t: float = 0.0
    turns: np.ndarray = field(default_factory=lambda: _NO_TURNS)
    nodes: np.ndarray = field(default_factory=lambda: _NO_NODES)
    node_velocity: np.ndarray = field(default_factory=lambda: _NO_NODES)

    def __post_init__(self) -> None:
        q = self.q if type(self.q) is np.ndarray and self.q.dtype is _FLOAT else numbers(self.q)
        u = self.u if type(self.u) is np.ndarray and self.u.dtype is _FLOAT else numbers(self.u)
        q, u = np.ascontiguousarray(q), np.ascontiguousarray(u)
        if q.ndim != 2 or q.shape[1] != 7 or u.shape != (len(q), 6):
            raise ProblemError(f"state has q {q.shape} and u {u.shape}, expected (n, 7) and (n, 6)")
        if type(self.t) is not float:
            object.__setattr__(self, "t", _time(self.t))
        wrong = first_wrong(q, u)
        if wrong == _NOT_FINITE or not isfinite(self.t):
            raise ProblemError("state holds NaN or Inf: check initial velocities and forces")
        if wrong >= 0:
            norm = np.linalg.norm(q[:, 3:], axis=1)
            if abs(norm - 1.0).max() > _UNIT:
                wrong = int(np.argmax(abs(norm - 1.0)))
                raise ProblemError(f"state: the quaternion of body {wrong} is not of unit length (w, x, y, z)")
            q = np.concatenate([q[:, :3], q[:, 3:] / norm[:, None]], axis=1)
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "u", u)
        object.__setattr__(self, "turns", _whole(self.turns))
        if self.nodes is not _NO_NODES or self.node_velocity is not _NO_NODES:
            nodes, velocity = _nodes(self.nodes, self.node_velocity)
            object.__setattr__(self, "nodes", nodes)
            object.__setattr__(self, "node_velocity", velocity)

    @property
    def position(self) -> np.ndarray:
        """(n_b, 3) [m]."""
        return self.q[:, :3]

    @property
    def quaternion(self) -> np.ndarray:
        """(n_b, 4)."""
        return self.q[:, 3:]

    @property
    def rotation(self) -> np.ndarray:
        """(n_b, 3, 3)."""
        return rotations_of(self.q)

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of every bit of the state: equal if and only if the states are."""
        digest = hashlib.sha256()
        for part in (self.q, self.u, np.float64(self.t)):
            digest.update(part.tobytes())
        if self.turns.any():  # none given and none taken are the same
            digest.update(self.turns.tobytes())
        if len(self.nodes):
            digest.update(self.nodes.tobytes())
            digest.update(self.node_velocity.tobytes())
        return digest.hexdigest()[:16]

    def coordinates(self, model: Model) -> np.ndarray:
        """Joint coordinates (n_d,) [m, rad] in the order of `model.joints.coordinate_names`, turns counted."""
        joints = instance(model, Model, "State.coordinates: model").joints
        values, _ = joints.coordinates(joints.frames(self.q, self.rotation))
        return values + 2.0 * np.pi * joints.turns_of(self.turns)

    def at(self, t: float) -> "State":
        """This state at another time."""
        return replace(self, t=t)

    def __repr__(self) -> str:
        nodes = f", {len(self.nodes)} nodes" if len(self.nodes) else ""
        return f"State(t={self.t:.6g} s, {len(self.q)} bodies{nodes}, {self.hash})"


def _nodes(nodes: ArrayLike, velocity: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both (n_n, 3) and finite; velocities that are not given are zero."""
    x, v = np.ascontiguousarray(numbers(nodes)), np.ascontiguousarray(numbers(velocity))
    if not v.size and x.size:
        v = np.zeros_like(x)
    if x.ndim != 2 or x.shape[1] != 3 or v.shape != x.shape:
        raise ProblemError(f"state has nodes {x.shape} and node_velocity {v.shape}, expected (n, 3) both")
    for what, values in (("nodes", x), ("node_velocity", v)):
        if not np.isfinite(values).all():
            k = int(np.argmin(np.isfinite(values).all(axis=1)))
            raise ProblemError(f"state.{what}[{k}] is {values[k].tolist()}: every entry must be finite")
    return x, v


def _whole(turns: ArrayLike) -> np.ndarray:
    """Turns as integers (n_d,)."""
    if type(turns) is np.ndarray and turns.dtype is _WHOLE and turns.ndim == 1:
        return turns
    given = real(turns)
    if given is None or given.ndim != 1 or (np.abs(numbers(given)) >= _MOST_TURNS).any() or (given % 1 != 0).any():
        raise ProblemError(f"state.turns is {shown(turns)}: give a whole number per joint coordinate")
    return given.astype(np.int64)


def _time(t: float) -> float:
    """[s]"""
    out = numbers(t)
    if out.shape != ():
        raise ProblemError(f"state.t is {shown(t)}: give one number, a time in seconds")
    return float(out)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def first_wrong(q, u):
    """The first body whose quaternion is not of unit length to rounding, _NOT_FINITE, or FINE."""
    for b in range(len(q)):
        for i in range(7):
            if not np.isfinite(q[b, i]):
                return _NOT_FINITE
        for i in range(6):
            if not np.isfinite(u[b, i]):
                return _NOT_FINITE
    for b in range(len(q)):
        norm = np.sqrt(q[b, 3] ** 2 + q[b, 4] ** 2 + q[b, 5] ** 2 + q[b, 6] ** 2)
        if abs(norm - 1.0) > _EXACT:
            return b
    return FINE
