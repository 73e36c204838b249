"""Where everything is and how fast, as forces see it; and what a small displacement along the velocities is."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from delassus.spatial import quaternion_multiply, rotation_exp, rotations_of


@dataclass(frozen=True, eq=False)
class Configuration:
    """q: (n_b, 7) centres of mass [m] and quaternions (w, x, y, z); u: (n_b, 6) twists (linear, angular) in the world
    frame [m/s, rad/s]; nodes, node_velocity: (n_n, 3) of flexible bodies [m, m/s]; t: time [s].

    Velocities are numbered [6 per rigid body | 3 per node]: those of body b are 6 b … 6 b + 5, those of node n are
    6 n_b + 3 n … 6 n_b + 3 n + 2."""

    q: np.ndarray
    u: np.ndarray
    nodes: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    node_velocity: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    t: float = 0.0

    @classmethod
    def of(cls, given: Any) -> "Configuration":
        """One, or whatever has its fields, as states do."""
        if isinstance(given, cls):
            return given
        return cls(given.q, given.u, given.nodes, given.node_velocity, given.t)

    @cached_property
    def rotation(self) -> np.ndarray:
        """(n_b, 3, 3) body → world."""
        return rotations_of(self.q)

    @property
    def velocities(self) -> np.ndarray:
        """All of them in one array, (6 n_b + 3 n_n,)."""
        return np.concatenate([self.u.ravel(), self.node_velocity.ravel()])

    def displaced(self, along: np.ndarray) -> "Configuration":
        """Positions moved by `along` (6 n_b + 3 n_n,) [m, rad]: rotations by a rotation vector in the world frame."""
        count = len(self.q)
        twist = along[: 6 * count].reshape(-1, 6)
        turned = quaternion_multiply(rotation_exp(twist[:, 3:]), self.q[:, 3:]).reshape(-1, 4)
        q = np.concatenate([self.q[:, :3] + twist[:, :3], turned], axis=1)
        return replace(self, q=q, nodes=self.nodes + along[6 * count :].reshape(-1, 3))

    def sped_up(self, by: np.ndarray) -> "Configuration":
        """Velocities changed by `by` (6 n_b + 3 n_n,) [m/s, rad/s]."""
        count = len(self.q)
        faster = self.node_velocity + by[6 * count :].reshape(-1, 3)
        return replace(self, u=self.u + by[: 6 * count].reshape(-1, 6), node_velocity=faster)
