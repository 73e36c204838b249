"""A model compiled by MuJoCo, built with `ModelBuilder`: bodies, joints, loops, what may touch.

Bodies without joints are parts of the one they are fixed to. A body with several joints is

- a universal joint, where it has two hinges through one point at right angles;
- a rolling joint, where it has two parallel hinges that an equality keeps at the same angle;
- otherwise a chain of links, one joint each. Links between need some mass: each takes `SHARE` of the body's, spread as
  the body's is, so that totals stay what they are and accelerations are off by about that much.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.builder import Body, ModelBuilder
from delassus.importers.geometry import Touching, shape_of
from delassus.importers.notes import Notes
from delassus.importers.tree import BALL, FREE, HINGE, Tree, about_z, frame_about
from delassus.spatial import quaternion_multiply, quaternion_to_matrix, rotate

SHARE = 1e-5
"""Of a body's mass that each link between its joints takes. Less makes reactions harder to compute: they are known to
rounding over the ratio of masses."""
NO_LIMIT = 1e10
"""[m, rad]: an end of a range that is none."""
_PARALLEL = 1e-9  # of unit vectors, and of lengths over the body's arm: axes that differ by less are the same
CONNECT, WELD, JOINT_EQUALITY, TENDON_EQUALITY = 0, 1, 2, 3


@dataclass(frozen=True)
class Freedom:
    """One coordinate of the file: the joint's name in our model and its coordinate; the file's is factor × ours."""

    joint: str
    coordinate: str
    factor: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.joint}.{self.coordinate}"


class Mechanism:
    """From arrays to a builder.  freedoms: by number of the file's joint; links: of our bodies, in their order, where
    they are in the tree: (the file's body, joint after which it is the link, or −1 for the body itself)."""

    def __init__(self, arrays: dict[str, Any], table: dict[str, Any], notes: Notes):
        self.a, self.names, self.notes, self.tree = arrays, table["names"], notes, Tree(arrays)
        self.builder = ModelBuilder(gravity=table["gravity"], mixing="max")
        self.freedoms: dict[int, Freedom] = {}
        self.links: list[tuple[int, int]] = []
        self.bodies: dict[int, Body] = {}
        self.drives: dict[int, Any] = {}  # motors by the file's joint
        self.bodies_at, self.after = self.tree.links(self.tree.qpos0)
        self.equal = self._equal_hinges()

    def name(self, kind: str, k: int) -> str:
        """Of the file, or made up where it says none."""
        return self.names[kind][k] or f"{kind}{k}"

    def build_bodies(self, touching: Touching) -> None:
        """All of them, with shapes and the joints of the tree."""
        weld = self.a["body_weldid"]
        for b in range(self.tree.body_count):
            if weld[b] == 0:
                self._fixed(b, touching)
            elif weld[b] == b:
                self._moving(b, touching)
            else:
                self._shapes(b, self.bodies[int(weld[b])], int(weld[b]), touching)

    def root(self, b: int) -> Body | None:
        """The moving body of ours that a body of the file is part of, None for the world."""
        weld = int(self.a["body_weldid"][b])
        return self.bodies[weld] if weld else None

    # -- bodies --------------------------------------------------------------------------------------------------------

    def _fixed(self, b: int, touching: Touching) -> None:
        if self.a["body_mocapid"][b] >= 0:
            self.notes.add("mocap", self.name("body", b), "does not move: its pose is not set from outside")
        if not touching.has_shapes(b):
            return
        at = self.bodies_at[b]
        name = "world" if b == 0 else self._free_name(self.name("body", b))
        body = self.builder.fixed(name, position=at.position, orientation=at.quaternion, colour=touching.colour(b))
        self._shapes(b, body, b, touching)

    def _moving(self, b: int, touching: Touching) -> None:
        mass, centre, inertia = self._mass(b)
        joints = list(self.tree.joints_of(b))
        steps = self._steps(joints)
        at, base = self.bodies_at[b], self.root(int(self.a["body_parentid"][b]))
        name = self._free_name(self.name("body", b))
        light = SHARE * (len(steps) - 1)
        for k, step in enumerate(steps):
            last = k == len(steps) - 1
            link = at if last else self.after[step[-1]]
            share = 1.0 - light if last else SHARE
            body = self.builder.body(
                name if last else self._free_name(f"{name}~{k + 1}"),
                position=link.position,
                orientation=link.quaternion,
                mass=share * mass,
                inertia=share * inertia,
                centre=centre,
                colour=touching.colour(b),
            )
            self.links.append((b, -1 if last else step[-1]))
            if last:
                self.bodies[b] = body
            self._join(step, base, body)
            base = body
        if light:
            self.notes.add(
                "links between joints", name, f"have {SHARE:g} of the body's mass each, as nothing is massless here"
            )
        self._shapes(b, body, b, touching)

    def _shapes(self, b: int, body: Body, root: int, touching: Touching) -> None:
        """Shapes of body b of the file, on ours, whose frame is that of `root`."""
        here, there = self.bodies_at[b], self.bodies_at[root]
        for g in touching.of(b):
            shape, position, quaternion = shape_of(self.a, g, self.name("geom", g), self.notes)
            if shape is None:
                continue
            world = here.position + rotate(here.quaternion, position)
            inverse = there.quaternion * np.array([1.0, -1, -1, -1])
            if shape.static_only and not body.is_fixed:
                self.notes.add(
                    shape.kind, self.name("geom", g), "is on a moving body and left out: it can only stand still"
                )
                continue
            self.builder.attach(
                body,
                shape,
                position=rotate(inverse, world - there.position),
                orientation=quaternion_multiply(inverse, quaternion_multiply(here.quaternion, quaternion)),
                material=touching.friction(g),
                group=touching.group(g),
                mask=touching.mask(g),
            )

    def _mass(self, root: int) -> tuple[float, np.ndarray, np.ndarray]:
        """(mass, centre, inertia about it) of all that is fixed to a body, in its frame."""
        a, at = self.a, self.bodies_at[root]
        R = quaternion_to_matrix(at.quaternion)
        parts = []
        for b in np.flatnonzero(a["body_weldid"] == root):
            link = self.bodies_at[b]
            turned = R.T @ quaternion_to_matrix(quaternion_multiply(link.quaternion, a["body_iquat"][b]))
            centre = R.T @ (link.position + rotate(link.quaternion, a["body_ipos"][b]) - at.position)
            parts.append((float(a["body_mass"][b]), centre, turned @ np.diag(a["body_inertia"][b]) @ turned.T))
        mass = sum(m for m, _, _ in parts)
        middle = sum(m * c for m, c, _ in parts) / mass
        inertia = np.zeros((3, 3))
        for m, c, theta in parts:
            d = c - middle
            inertia += theta + m * (d @ d * np.eye(3) - np.outer(d, d))
        return mass, middle, 0.5 * (inertia + inertia.T)

    # -- joints --------------------------------------------------------------------------------------------------------

    def _steps(self, joints: list[int]) -> list[tuple[int, ...]]:
        """The joints of a body, those that one joint of ours is together."""
        kinds, k = self.a["jnt_type"], 0
        out: list[tuple[int, ...]] = []
        while k < len(joints):
            pair = tuple(joints[k : k + 2])
            if len(pair) == 2 and all(kinds[j] == HINGE for j in pair) and (self._rolls(*pair) or self._crosses(*pair)):
                out.append(pair)
            else:
                out.append((joints[k],))
            k += len(out[-1])
        return out

    def _rolls(self, i: int, j: int) -> bool:
        axes, points = self.a["jnt_axis"], self.a["jnt_pos"]
        between = points[j] - points[i]
        along = abs(between @ axes[i])
        return (
            (i, j) in self.equal
            and abs(axes[i] - axes[j]).max() < _PARALLEL
            and along < 1e-9
            and float(np.linalg.norm(between)) > 1e-9
        )

    def _crosses(self, i: int, j: int) -> bool:
        axes, points = self.a["jnt_axis"], self.a["jnt_pos"]
        together = abs(points[i] - points[j]).max() < 1e-12
        return together and abs(axes[i] @ axes[j]) < _PARALLEL and (i, j) not in self.equal

    def _equal_hinges(self) -> set[tuple[int, int]]:
        """Pairs of neighbouring joints of one body that an equality keeps at the same value."""
        a, out = self.a, set()
        for e in range(len(a["eq_type"])):
            i, j = int(a["eq_obj1id"][e]), int(a["eq_obj2id"][e])
            if a["eq_type"][e] == JOINT_EQUALITY and a["eq_active0"][e] and j == i + 1:
                q = a["qpos0"][a["jnt_qposadr"]]
                if a["jnt_bodyid"][i] == a["jnt_bodyid"][j] and (a["eq_data"][e, :5] == [0, 1, 0, 0, 0]).all():
                    out |= {(i, j)} if q[i] == q[j] else set()
        return out

    def _join(self, step: tuple[int, ...], base: Body | None, body: Body) -> None:
        """The joint of ours for one or two of the file, between two bodies as they are at the reference."""
        j = step[0]
        kind = int(self.a["jnt_type"][j])
        if len(step) == 2 and self._rolls(*step):
            self._rolling(step, base, body)
        elif len(step) == 2:
            self._universal(step, base, body)
        elif kind == FREE:
            self._note_free(j)
        elif kind == BALL:
            self._ball(j, base, body)
        else:
            self._single(j, base, body)

    def _passive(self, joints: tuple[int, ...], factor: float = 1.0) -> dict[str, Any]:
        """Damping, friction, spring, armature, limits and drive of coordinates of one degree of freedom each; where
        several joints are one coordinate, ours is `factor` of theirs."""
        a = self.a
        out: dict[str, list[Any]] = {
            key: [] for key in ("damping", "friction", "stiffness", "rest", "armature", "limits")
        }
        for j in joints:
            d, p = int(a["jnt_dofadr"][j]), int(a["jnt_qposadr"][j])
            out["damping"].append(float(a["dof_damping"][d]))
            out["friction"].append(float(a["dof_frictionloss"][d]))
            out["stiffness"].append(float(a["jnt_stiffness"][j]))
            out["rest"].append(factor * float(a["qpos_spring"][p]))
            out["armature"].append(float(a["dof_armature"][d]))
            out["limits"].append(ends_of(a["jnt_range"][j], factor) if a["jnt_limited"][j] else None)
            if a["jnt_limited"][j] and a["jnt_margin"][j]:
                self.notes.add(
                    "joint margin",
                    self.name("joint", j),
                    "is left out: limits act where the range ends, not before",
                )
        return out

    def _single(self, j: int, base: Body | None, body: Body) -> None:
        """A hinge or a slide, whose coordinate counts as the file's does."""
        link, q0 = self.after[j], float(self.tree.qpos0[self.a["jnt_qposadr"][j]])
        axis, at, name = self.tree.axis(link, j), self.tree.anchor(link, j), self._joint_name(j)
        frame = frame_about(axis)
        is_hinge = self.a["jnt_type"][j] == HINGE
        follower = {"follower_frame": frame @ about_z(q0)} if is_hinge else {"position": at - q0 * axis}
        self.builder.joint(
            "revolute" if is_hinge else "prismatic",
            base,
            body,
            frame=frame,
            name=name,
            collide=True,
            motor=self.drives.get(j),
            **self._passive((j,)),
            **({"position": at, "follower_position": at} | follower),
        )
        self.freedoms[j] = Freedom(name, "angle" if is_hinge else "position")

    def _ball(self, j: int, base: Body | None, body: Body) -> None:
        a, d, name = self.a, int(self.a["jnt_dofadr"][j]), self._joint_name(j)
        damping, armature = float(a["dof_damping"][d]), float(a["dof_armature"][d])
        link = self.after[j]
        self.builder.joint(
            "spherical",
            base,
            body,
            position=self.tree.anchor(link, j),
            frame=link.quaternion,
            name=name,
            damping=damping,
            armature=armature,
            stiffness=float(a["jnt_stiffness"][j]),
            friction=float(a["dof_frictionloss"][d]),
            collide=True,
        )
        if a["jnt_limited"][j]:
            self.notes.add("ball limit", name, "is left out: only single angles have limits here")
        if damping or armature or a["dof_frictionloss"][d]:
            self.notes.add(
                "ball damping",
                name,
                "friction and armature too act on the rotation vector's rate, not on the spin",
            )

    def _rolling(self, pair: tuple[int, ...], base: Body | None, body: Body) -> None:
        """Two hinges of equal angle q; our angle is 2 q, so that springs and the like of both together are half of one
        joint's, and limits are the tighter ones."""
        i, j = pair
        link = self.after[j]
        first, second, axis = self.tree.anchor(link, i), self.tree.anchor(link, j), self.tree.axis(link, i)
        both = self._passive(pair, 2.0)
        limits = [(-np.inf, np.inf) if x is None else x for x in both["limits"]]
        stiffness = sum(both["stiffness"])
        rest = sum(k * r for k, r in zip(both["stiffness"], both["rest"])) / stiffness if stiffness else 0.0
        name, frame = self._joint_name(i), frame_about(axis, second - first)
        q0 = float(self.tree.qpos0[self.a["jnt_qposadr"][i]])
        self.builder.joint(
            "rolling",
            base,
            body,
            position=first,
            frame=frame @ about_z(-q0),
            follower_position=second,
            follower_frame=frame @ about_z(q0),
            name=name,
            collide=True,
            limits=(max(x[0] for x in limits), min(x[1] for x in limits)),
            stiffness=stiffness / 4.0,
            rest=rest,
            friction=sum(both["friction"]) / 2.0,
            damping=sum(both["damping"]) / 4.0,
            armature=sum(both["armature"]) / 4.0,
        )
        self.freedoms[i] = self.freedoms[j] = Freedom(name, "angle", 0.5)

    def _universal(self, pair: tuple[int, ...], base: Body | None, body: Body) -> None:
        """Two hinges through one point: the first about x of the base's frame, the second about y of the follower's."""
        i, j = pair
        link = self.after[j]
        x, y = self.tree.axis(link, i), self.tree.axis(link, j)
        frame, both = np.stack([x, y, np.cross(x, y)], axis=1), self._passive(pair)
        first, second = (float(self.tree.qpos0[self.a["jnt_qposadr"][k]]) for k in pair)
        name = self._joint_name(i)
        at = self.tree.anchor(link, i)
        base_frame = frame @ _about(0, -first)
        self.builder.joint(
            "universal",
            base,
            body,
            position=at,
            frame=base_frame,
            follower_position=at,
            follower_frame=frame @ _about(1, second),
            name=name,
            collide=True,
            motor=[self.drives.get(i), self.drives.get(j)],
            **both,
        )
        self.freedoms[i], self.freedoms[j] = Freedom(name, "first"), Freedom(name, "second")

    def _note_free(self, j: int) -> None:
        d = int(self.a["jnt_dofadr"][j])
        if self.a["dof_damping"][d : d + 6].any() or self.a["dof_armature"][d : d + 6].any():
            self.notes.add("free joint", self.name("joint", j), "its damping and armature are left out")

    def _joint_name(self, j: int) -> str:
        return self.name("joint", j)

    def _free_name(self, name: str) -> str:
        """Names of bodies are unique here, those of fixed and moving ones together."""
        while self.builder._has(name):
            name += "+"
        return name


def ends_of(given: np.ndarray, factor: float = 1.0) -> tuple[float, float]:
    """A range of the file, (2,): MuJoCo's largest number stands for none, as ranges have two ends there."""
    low, high = (factor * x if abs(x) < NO_LIMIT else float(np.copysign(np.inf, x)) for x in given.tolist())
    return low, high


def _about(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R
