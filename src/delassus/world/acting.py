"""What acts on a world from outside: targets and efforts of joints, pushes on bodies and nodes; and the `Inputs` of a
step made of it.

A target moves on at its rate from when it was set. All targets are kept for one time, `since`, so that they stay
constant numbers while many steps are taken. A push lasts exactly as long as it was asked for: the step in which it ends
gets the fraction that is left, and the impulse is force × seconds whatever the time step is.
"""

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from delassus.dynamics import Inputs
from delassus.model.model import Model
from delassus.spatial import rotate

_ROUNDING = 1e-9  # of a step: a push that would go on for less ends now, with all that is left of it


@dataclass(kw_only=True)
class Passing:
    """Something that acts for a while; left: for how long [s]."""

    left: float

    def ends(self, h: float) -> bool:
        """Within a step of h [s]?"""
        return self.left <= (1.0 + _ROUNDING) * h

    def share(self, h: float) -> float:
        """Of a step of h [s], how much it acts."""
        return self.left / h if self.ends(h) else 1.0


@dataclass
class Push(Passing):
    """A force (3,) [N] and a moment (3,) [N m], world axes, on a body, at a point of it, (3,) from its centre of mass
    in its own axes [m]."""

    body: int
    force: np.ndarray
    moment: np.ndarray
    point: np.ndarray


@dataclass
class NodePush(Passing):
    """Forces (k, 3) [N], world axes, on nodes (k,) of flexible bodies."""

    nodes: np.ndarray
    force: np.ndarray


class Acting:
    """effort: (n_d,) [N, N m]; target, target_rate: (n_d,) [m, rad and per second], of the time `since` [s]; is_given:
    (n_d,) was a target or its rate set? pushes: those that still act."""

    def __init__(self, model: Model):
        count = model.joints.coordinate_count
        self.effort, self.target, self.target_rate = np.zeros(count), np.zeros(count), np.zeros(count)
        self.is_given = np.zeros(count, bool)
        self.since = 0.0
        self.pushes: list[Push | NodePush] = []
        self._bodies, self._nodes = model.body_count, model.node_count
        self._made: Inputs | None = None

    def copy(self) -> "Acting":
        """One that is independent of this."""
        return deepcopy(self)

    def set_effort(self, d: int, value: float) -> None:
        """Of coordinate d [N, N m]."""
        self.effort[d], self._made = value, None

    def set_target(self, d: int, t: float, *, target: float | None = None, rate: float | None = None) -> None:
        """Of coordinate d, from time t [s] on."""
        if t != self.since:
            self.target, self.since = self.target_at(t), t
        if target is not None:
            self.target[d] = target
        if rate is not None:
            self.target_rate[d] = rate
        self.is_given[d], self._made = True, None

    def target_at(self, t: float) -> np.ndarray:
        """(n_d,) [m, rad] at time t [s]."""
        return self.target + (t - self.since) * self.target_rate

    def inputs(self, q: np.ndarray, h: float, given: Inputs | None = None) -> Inputs:
        """Of the step of h [s] from these poses.  given: what the scene itself asks for, at its time: efforts and
        forces add up, and targets that were set here take the place of its own."""
        if self._made is None:
            time = self.since if self.target_rate.any() else None
            nothing = np.zeros((self._bodies, 6))
            self._made = Inputs(nothing, self.effort.copy(), self.target.copy(), self.target_rate.copy(), time)
        out = self._made if given is None else self._added(given)
        if not self.pushes:
            return out
        pushed = replace(out, wrench=out.wrench + self._wrench(q, h))
        return replace(pushed, node_force=self._node_force(h, out.node_force)) if self._nodes else pushed

    def passed(self, h: float) -> None:
        """A step of h [s] was taken."""
        if self.pushes:
            self.pushes = [replace(push, left=push.left - h) for push in self.pushes if not push.ends(h)]

    @property
    def is_constant(self) -> bool:
        """Does the next step get what this one gets?"""
        return not self.pushes

    def _added(self, given: Inputs) -> Inputs:
        if not (self.effort.any() or self.is_given.any()):
            return given
        assert given.time is not None  # `World` says for when it asked
        return replace(
            given,
            effort=given.effort + self.effort,
            target=np.where(self.is_given, self.target_at(given.time), given.target),
            target_rate=np.where(self.is_given, self.target_rate, given.target_rate),
        )

    def _wrench(self, q: np.ndarray, h: float) -> np.ndarray:
        out = np.zeros((self._bodies, 6))
        for push in (push for push in self.pushes if isinstance(push, Push)):
            share, arm = push.share(h), rotate(q[push.body, 3:], push.point)
            out[push.body, :3] += share * push.force
            out[push.body, 3:] += share * (push.moment + np.cross(arm, push.force))
        return out

    def _node_force(self, h: float, given: np.ndarray) -> np.ndarray:
        """(n_n, 3) what is given, and the pushes [N]."""
        out = given.copy() if len(given) else np.zeros((self._nodes, 3))
        for push in (push for push in self.pushes if isinstance(push, NodePush)):
            np.add.at(out, push.nodes, push.share(h) * push.force)
        return out
