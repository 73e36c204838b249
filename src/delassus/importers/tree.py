"""Where the links of a tree of bodies are, joint by joint, as MuJoCo counts them: a link for every joint, since a body
may have several.

A link is a body's frame after its first k joints: the last one is the body itself, those before carry no mass there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.spatial import quaternion_multiply, quaternion_to_matrix, rotate, rotation_exp

FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3
"""Kinds of joints, MuJoCo's numbers."""
POSITIONS = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}
VELOCITIES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}


@dataclass
class Link:
    """A pose and its rates: position (3,) [m], quaternion (4,), velocity of the origin (3,) [m/s] and angular velocity
    (3,) [rad/s], world axes."""

    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray

    def velocity_at(self, point: np.ndarray) -> np.ndarray:
        """Of a point that is fixed to the link."""
        return self.velocity + np.cross(self.spin, point - self.position)


class Tree:
    """The arrays of a compiled model that say where bodies are; body 0 is the world."""

    def __init__(self, arrays: dict[str, Any]):
        self.a = arrays
        self.body_count, self.joint_count = len(arrays["body_parentid"]), len(arrays["jnt_type"])
        self.qpos0 = arrays["qpos0"]
        self.velocity_count = int(sum(VELOCITIES[int(kind)] for kind in arrays["jnt_type"]))

    def joints_of(self, body: int) -> range:
        """Numbers of the joints between a body and its parent, in their order."""
        first = int(self.a["body_jntadr"][body])
        return range(first, first + int(self.a["body_jntnum"][body]))

    def links(self, qpos: np.ndarray, qvel: np.ndarray | None = None) -> tuple[list[Link], dict[int, Link]]:
        """(all bodies, what is there after each joint by its number)."""
        rates = np.zeros(self.velocity_count) if qvel is None else qvel
        bodies = [Link(np.zeros(3), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))]
        after: dict[int, Link] = {}
        for body in range(1, self.body_count):
            parent = bodies[int(self.a["body_parentid"][body])]
            at = parent.position + rotate(parent.quaternion, self.a["body_pos"][body])
            turned = quaternion_multiply(parent.quaternion, self.a["body_quat"][body])
            link = Link(at, turned, parent.velocity_at(at), parent.spin)
            for j in self.joints_of(body):
                link = after[j] = self._moved(link, j, qpos, rates)
            link.quaternion = link.quaternion / np.linalg.norm(link.quaternion)
            bodies.append(link)
        return bodies, after

    def anchor(self, link: Link, j: int) -> np.ndarray:
        """(3,) [m] where joint j is, given the link before or after it."""
        return link.position + rotate(link.quaternion, self.a["jnt_pos"][j])

    def axis(self, link: Link, j: int) -> np.ndarray:
        """(3,) unit."""
        return rotate(link.quaternion, self.a["jnt_axis"][j])

    def _moved(self, link: Link, j: int, qpos: np.ndarray, qvel: np.ndarray) -> Link:
        kind, p, v = int(self.a["jnt_type"][j]), int(self.a["jnt_qposadr"][j]), int(self.a["jnt_dofadr"][j])
        if kind == FREE:
            quaternion = qpos[p + 3 : p + 7] / np.linalg.norm(qpos[p + 3 : p + 7])
            spin = rotate(quaternion, qvel[v + 3 : v + 6])
            return Link(qpos[p : p + 3].copy(), quaternion, qvel[v : v + 3].copy(), spin)
        axis, anchor = self.axis(link, j), self.anchor(link, j)
        if kind == SLIDE:
            at = link.position + axis * (qpos[p] - self.qpos0[p])
            return Link(at, link.quaternion, link.velocity_at(at) + axis * qvel[v], link.spin)
        if kind == HINGE:
            turned = quaternion_multiply(rotation_exp(axis * (qpos[p] - self.qpos0[p])), link.quaternion)
            more = axis * qvel[v]
        else:
            turned = quaternion_multiply(link.quaternion, qpos[p : p + 4] / np.linalg.norm(qpos[p : p + 4]))
            more = rotate(turned, qvel[v : v + 3])
        at = anchor - rotate(turned, self.a["jnt_pos"][j])
        return Link(at, turned, link.velocity_at(at) + np.cross(more, at - anchor), link.spin + more)


def frame_about(axis: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    """(3, 3) rotation whose third column is this axis, and whose first is nearest to x, where one is given."""
    z = axis / np.linalg.norm(axis)
    if x is None:
        x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def about_z(angle: float) -> np.ndarray:
    """(3, 3)."""
    return quaternion_to_matrix(rotation_exp(np.array([0.0, 0.0, angle])))
