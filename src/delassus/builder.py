"""ModelBuilder: a mechanism said in a few lines."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from delassus.collision import Instance, shape_arrays
from delassus.collision.instances import ALL
from delassus.errors import ProblemError, nearest
from delassus.joints import JOINTS
from delassus.joints.arrays import IMPOSED, PASSIVE, PD, JointArrays
from delassus.joints.primitives import SLIDE
from delassus.model import Model
from delassus.spatial import axis_frame, matrix_to_quaternion, quaternion_multiply, quaternion_to_matrix, rotate
from delassus.state import State

_REACH = 0.05  # default of `ModelBuilder(reach=…)`

_ROUNDING = 1e-4  # relative: principal moments of flat bodies, a + b = c, are often written with five digits

WORLD = -1
"""The base of unary joints and the owner of fixed shapes."""


@dataclass(frozen=True)
class Material:
    """mu: friction [-]; restitution: of Newton's impact law, 0 … 1 [-]."""

    mu: float = 0.5
    restitution: float = 0.0


@dataclass(eq=False)
class Body:
    """A handle the builder gives out. Poses are of the body's own frame, wherever the user put it."""

    name: str
    index: int
    position: np.ndarray
    quaternion: np.ndarray
    centre: np.ndarray  # centre of mass in the body's own frame [m]
    mass: float
    inertia: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    shapes: list[tuple[Any, np.ndarray, np.ndarray]]
    material: Material
    group: int
    mask: int
    fixture: int = 0  # number among the fixed bodies, which all have the index of the world

    @property
    def is_fixed(self) -> bool:
        return self.index == WORLD


@dataclass(frozen=True)
class Motor:
    """Implicit proportional-derivative drive of a coordinate: stiffness [N/m, N m/rad], damping [N s/m, N m s]."""

    stiffness: float = 0.0
    damping: float = 0.0


IMPOSED_MOTION = "imposed"
"""Drive of a joint coordinate that follows `Inputs.target` and `target_rate` exactly (000 eq. 3.21)."""


@dataclass
class _Joint:
    name: str
    kind: str
    base: Body | None
    follower: Body
    origin: np.ndarray
    frame: np.ndarray
    follower_origin: np.ndarray
    follower_frame: np.ndarray
    length: float
    options: list[dict[str, Any]] = field(default_factory=list)


class ModelBuilder:
    """Collects bodies and joints; `build()` gives the constant `Model` and its first `State`.

    >>> from delassus import ModelBuilder
    >>> from delassus.shapes import Box, Plane
    >>> builder = ModelBuilder()
    >>> ground = builder.fixed("ground", shapes=[Plane()])
    >>> arm = builder.body("arm", position=(0.5, 0, 1), density=1000.0, shapes=[Box((1.0, 0.1, 0.1))])
    >>> hinge = builder.joint("revolute", ground, arm, position=(0, 0, 1), axis=(0, 1, 0), limits=(-1.0, 1.0))
    >>> model, state = builder.build()
    >>> model
    Model(1 bodies of 10 kg, 1 fixed, 1 revolute)
    """

    def __init__(self, *, gravity=(0.0, 0.0, -9.81), mixing: str = "geometric", reach: float = _REACH):
        """reach: contacts are reported this fraction of a shape's bounding radius before they touch [-]."""
        self.reach = reach
        self.gravity = _vector(gravity, "gravity", 3)
        self.mixing = mixing
        self.bodies: list[Body] = []
        self.fixtures: list[Body] = []
        self.joints: list[_Joint] = []
        self.excluded: list[tuple[int, int]] = []  # moving bodies that never touch
        self.excluded_fixed: list[tuple[int, int]] = []  # moving body and fixture that never touch
        self._names: dict[str, set[str]] = {"bodies": set(), "joints": set()}

    # -- bodies --------------------------------------------------------------------------------------------------------

    def body(
        self, name: str | None = None, *, position=(0, 0, 0), orientation=(1, 0, 0, 0), velocity=(0, 0, 0),
        angular_velocity=(0, 0, 0), mass: float | None = None, inertia=None, density: float | None = None, shapes=(),
        material: Material | None = None, group: int = 1, mask: int = ALL,
    ) -> Body:  # fmt: skip
        """A moving body: from density [kg/m³] and shapes, or mass [kg] (with shapes spread over them) and inertia
        (3, 3) or (3,) [kg m²] about the centre of mass. shapes: shape, or (shape, position, quaternion) each."""
        name = self._name(name, "body", "bodies")
        parts = [_placed(name, part) for part in shapes]
        m, centre, theta = _mass_properties(name, parts, mass, inertia, density)
        position, quaternion = _vector(position, f"{name}: position", 3), _unit(orientation, f"{name}: orientation")
        made = Body(
            name, len(self.bodies), position, quaternion, centre, m, theta, _vector(velocity, f"{name}: velocity", 3),
            _vector(angular_velocity, f"{name}: angular_velocity", 3), parts, material or Material(), group, mask,
        )  # fmt: skip
        self.bodies.append(made)
        self._names["bodies"].add(name)
        return made

    def fixed(
        self, name: str | None = None, *, shapes=(), position=(0, 0, 0), orientation=(1, 0, 0, 0),
        material: Material | None = None, group: int = 1, mask: int = ALL,
    ) -> Body:  # fmt: skip
        """A body that never moves: ground, container, pedestal."""
        name = self._name(name, "fixed", "bodies")
        made = Body(
            name, WORLD, _vector(position, f"{name}: position", 3), _unit(orientation, f"{name}: orientation"),
            np.zeros(3), 0.0, np.zeros((3, 3)), np.zeros(3), np.zeros(3), [_placed(name, part) for part in shapes],
            material or Material(), group, mask, len(self.fixtures),
        )  # fmt: skip
        self.fixtures.append(made)
        self._names["bodies"].add(name)
        return made

    def exclude(self, first: Body, second: Body) -> None:
        """Never test these two bodies for contact; one of them may be fixed."""
        for body in (first, second):
            if not self._knows(body):
                raise ProblemError(f"exclude: body {body.name!r} does not belong to this builder")
        if first.is_fixed:
            first, second = second, first
        if second.is_fixed and not first.is_fixed:  # two fixed bodies never touch anyway
            self.excluded_fixed.append((first.index, second.fixture))
        elif not first.is_fixed:
            self.excluded.append((first.index, second.index))

    # -- joints --------------------------------------------------------------------------------------------------------

    def joint(
        self, kind: str, base: Body | None, follower: Body, *, position=None, axis=(0, 0, 1), frame=None,
        follower_position=None, follower_frame=None, name: str | None = None, length: float | None = None, limits=None,
        motor=None, damping=0.0, friction=0.0, collide: bool = False,
    ) -> str:  # fmt: skip
        """Join follower to base (None or a fixed body: the world), as they are placed now.

        position: of the joint's frame [m, world], default the follower's origin; axis: its z axis, or frame: (3, 3)
        with the axes as columns. follower_position, follower_frame: where they differ on the follower (distance
        joints, or joints not yet assembled). limits: (lower, upper) per coordinate; motor: Motor or "imposed" per
        coordinate; damping [N s/m, N m s] and dry friction [N, N m]: one number or one per coordinate. collide: let
        the pair touch; otherwise the two bodies are excluded from contact, a fixed base with its own shapes only."""
        if kind not in JOINTS:
            raise ProblemError(f"unknown joint {kind!r}; {nearest(kind, list(JOINTS))}")
        for body in (base, follower):
            if body is not None and not self._knows(body):
                raise ProblemError(f"joint {name or kind}: body {body.name!r} does not belong to this builder")
        if follower.is_fixed or base is follower:
            raise ProblemError(f"joint {name or kind}: the follower must be a moving body other than the base")
        name = self._name(name, kind, "joints")
        origin = follower.position if position is None else _vector(position, f"{name}: position", 3)
        axes = axis_frame(_vector(axis, f"{name}: axis", 3)) if frame is None else np.array(frame, dtype=float)
        other = origin if follower_position is None else _vector(follower_position, f"{name}: follower_position", 3)
        other_axes = axes if follower_frame is None else np.array(follower_frame, dtype=float)
        for label, matrix in (("frame", axes), ("follower_frame", other_axes)):
            if matrix.shape != (3, 3) or not np.allclose(matrix.T @ matrix, np.eye(3), atol=1e-8):
                raise ProblemError(f"joint {name}: {label} is not a rotation matrix; give orthonormal columns")
        far = float(np.linalg.norm(other - origin)) if length is None else float(length)
        if not (np.isfinite(far) and far >= 0) or (kind == "distance" and far == 0):
            raise ProblemError(f"joint {name}: length is {far}, it must be positive [m]")
        options = _coordinate_options(name, kind, limits, motor, damping, friction)
        moving_base = None if base is None or base.is_fixed else base
        self.joints.append(_Joint(name, kind, moving_base, follower, origin, axes, other, other_axes, far, options))
        self._names["joints"].add(name)
        if not collide and base is not None:
            self.exclude(base, follower)
        return name

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self) -> tuple[Model, State]:
        """The model and the state it starts from, at t = 0."""
        count = len(self.bodies)
        q, u = np.empty((count, 7)), np.empty((count, 6))
        for k, body in enumerate(self.bodies):
            arm = rotate(body.quaternion, body.centre)
            q[k] = [*(body.position + arm), *body.quaternion]
            u[k] = [*(body.velocity + np.cross(body.angular_velocity, arm)), *body.angular_velocity]
        model = Model(
            tuple(body.name for body in self.bodies),
            tuple(body.name for body in self.fixtures),
            np.array([body.mass for body in self.bodies]),
            np.array([body.inertia for body in self.bodies]).reshape(count, 3, 3),
            self.gravity,
            self._joint_arrays(),
            self._shape_arrays(),
        )
        return model, State(q, u)

    def _shape_arrays(self):
        instances = []
        for body in self.bodies + self.fixtures:
            for shape, position, quaternion in body.shapes:
                if body.is_fixed:
                    position = body.position + rotate(body.quaternion, position)
                    quaternion = quaternion_multiply(body.quaternion, quaternion)
                else:
                    position = position - body.centre
                margin = 0.0 if shape.static_only else self.reach * shape.bounding_radius
                m = body.material
                instances.append(
                    Instance(
                        shape, body.index, position, quaternion, m.mu, m.restitution, body.group, body.mask, margin,
                        body.fixture,
                    )
                )  # fmt: skip
        return shape_arrays(instances, exclude=self.excluded, exclude_fixed=self.excluded_fixed, mixing=self.mixing)

    def _joint_arrays(self) -> JointArrays:
        kinds = [JOINTS[joint.kind] for joint in self.joints]
        rows = [row for kind in kinds for row in kind.rows]
        coordinates = [(j, c) for j, kind in enumerate(kinds) for c in kind.coordinates]
        options = [option for joint in self.joints for option in joint.options]
        ends = [_joint_ends(joint) for joint in self.joints]

        def column(key):
            return np.array([option[key] for option in options], dtype=float)

        def start(sizes):
            return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

        return JointArrays(
            names=tuple(joint.name for joint in self.joints),
            kinds=tuple(joint.kind for joint in self.joints),
            bodies=np.array([end[0] for end in ends], dtype=np.int64).reshape(-1, 2),
            origin=np.array([end[1] for end in ends], dtype=float).reshape(-1, 2, 3),
            axes=np.array([end[2] for end in ends], dtype=float).reshape(-1, 2, 3, 3),
            length=np.array([joint.length for joint in self.joints], dtype=float),
            row_start=start([len(kind.rows) for kind in kinds]),
            row_primitive=np.array([row.primitive for row in rows], dtype=np.int64),
            row_base_axis=np.array([row.base_axis for row in rows], dtype=np.int64),
            row_follower_axis=np.array([row.follower_axis for row in rows], dtype=np.int64),
            coordinate_names=tuple(f"{self.joints[j].name}.{c.name}" for j, c in coordinates),
            coordinate_start=start([len(kind.coordinates) for kind in kinds]),
            coordinate_joint=np.array([j for j, _ in coordinates], dtype=np.int64),
            coordinate_primitive=np.array([c.primitive for _, c in coordinates], dtype=np.int64),
            coordinate_axis=np.array([c.axis for _, c in coordinates], dtype=np.int64),
            angular=np.array([c.primitive != SLIDE for _, c in coordinates], dtype=bool),
            lower=column("lower"), upper=column("upper"), damping=column("damping"), friction=column("friction"),
            drive=column("drive").astype(np.int64), stiffness=column("stiffness"), rate_gain=column("rate_gain"),
        )  # fmt: skip

    def _name(self, name: str | None, stem: str, among: str) -> str:
        used = self._names[among]
        if name is None:
            name = f"{stem}-{len(used) + 1}"
            while name in used:
                name += "+"
        if name in used:
            raise ProblemError(f"the name {name!r} is taken: names must be unique")
        return name

    def _knows(self, body: Body) -> bool:
        mine, k = (self.fixtures, body.fixture) if body.is_fixed else (self.bodies, body.index)
        return k < len(mine) and mine[k] is body


def _joint_ends(joint: _Joint):
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


def _coordinate_options(name: str, kind: str, limits, motor, damping, friction) -> list[dict[str, Any]]:
    """Limits, drive, damping and friction of each coordinate of a joint, checked."""
    coordinates = JOINTS[kind].coordinates
    count = len(coordinates)
    if count == 0 and (limits is not None or motor is not None or np.any(damping) or np.any(friction)):
        raise ProblemError(f"joint {name}: a {kind} joint has no coordinates to limit, drive or damp")
    pairs = [limits] if count == 1 and limits is not None and np.ndim(limits) == 1 else limits
    pairs = [None] * count if pairs is None else list(pairs)
    motors = list(motor) if isinstance(motor, (list, tuple)) else [motor] * count
    out = []
    for values, what in ((pairs, "limits"), (motors, "motor")):
        if len(values) != count:
            raise ProblemError(
                f"joint {name}: {what} has {len(values)} entries, a {kind} joint has {count} coordinates"
            )
    dampings, frictions = np.broadcast_to(damping, count), np.broadcast_to(friction, count)
    for k in range(count):
        lower, upper = (-np.inf, np.inf) if pairs[k] is None else pairs[k]
        turns = coordinates[k].primitive != SLIDE
        if turns and any(np.isfinite(x) and not -np.pi < x < np.pi for x in (lower, upper)):
            raise ProblemError(
                f"joint {name}: limits [{lower}, {upper}] of an angle must lie within (−π, π) rad, full turns are not "
                "counted: give radians, move the zero with a turned follower_frame, or inf for no limit"
            )
        if not lower <= upper:
            raise ProblemError(
                f"joint {name}: limits [{lower}, {upper}] of {coordinates[k].name} are the wrong way round"
            )
        if not all(np.isfinite(x) and x >= 0 for x in (dampings[k], frictions[k])):
            raise ProblemError(f"joint {name}: damping and friction must be finite and not negative")
        if not (motors[k] is None or isinstance(motors[k], Motor) or motors[k] == IMPOSED_MOTION):
            raise ProblemError(f"joint {name}: motor is {motors[k]!r}, give a Motor, {IMPOSED_MOTION!r} or None")
        gains = motors[k] if isinstance(motors[k], Motor) else Motor()
        if not all(np.isfinite(x) and x >= 0 for x in (gains.stiffness, gains.damping)):
            raise ProblemError(f"joint {name}: motor gains must be finite and not negative")
        drive = PASSIVE if motors[k] is None else IMPOSED if motors[k] == IMPOSED_MOTION else PD
        out.append({"lower": lower, "upper": upper, "damping": dampings[k], "friction": frictions[k], "drive": drive,
                    "stiffness": gains.stiffness, "rate_gain": gains.damping})  # fmt: skip
    return out


def _mass_properties(name: str, parts, mass, inertia, density):
    """(mass, centre of mass in the body's frame, inertia about it), from what was given."""
    given: tuple[float, np.ndarray, np.ndarray] | None = None
    if density is not None or (mass is not None and inertia is None and parts):
        if density is not None and not (np.isfinite(density) and density > 0):
            raise ProblemError(f"{name}: density is {density}, it must be positive [kg/m³]")
        solid = [part for part in parts if part[0].volume is not None]
        if not solid or len(solid) < len(parts):
            raise ProblemError(f"{name}: a moving body needs solid shapes; planes and meshes belong to fixed bodies")
        volume = sum(shape.volume for shape, _, _ in solid)
        rho = density if density is not None else mass / volume
        centre = sum(s.volume * (p + rotate(q, s.centre_of_mass)) for s, p, q in solid) / volume
        theta = np.zeros((3, 3))
        for s, p, q in solid:
            R, d = quaternion_to_matrix(q), p + rotate(q, s.centre_of_mass) - centre
            theta += rho * (R @ s.inertia_per_density @ R.T + s.volume * (d @ d * np.eye(3) - np.outer(d, d)))
        given = rho * volume, centre, theta
    elif mass is not None and inertia is not None:
        theta = np.array(inertia, dtype=float)
        given = float(mass), np.zeros(3), np.diag(theta) if theta.ndim == 1 else theta
    if given is None:
        raise ProblemError(f"{name}: give density and shapes, mass and shapes, or mass and inertia")
    m, centre, theta = given
    if not (np.isfinite(m) and m > 0):
        raise ProblemError(f"{name}: mass is {m}, it must be positive [kg]; use fixed() for bodies that never move")
    if theta.shape != (3, 3) or not np.isfinite(theta).all() or not np.allclose(theta, theta.T, rtol=1e-8):
        raise ProblemError(f"{name}: inertia must be a symmetric 3×3 matrix or three principal moments [kg m²]")
    a, b, c = np.linalg.eigvalsh(theta)
    if a <= 0:
        raise ProblemError(f"{name}: inertia is not positive definite; check its principal moments [kg m²]")
    if a + b < c * (1.0 - _ROUNDING):
        raise ProblemError(
            f"{name}: no distribution of mass has the principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m²: the largest "
            "must not exceed the sum of the others"
        )
    return m, centre, theta


def _placed(name: str, part):
    """(shape, position, quaternion) of a shape given alone or with its pose."""
    shape, *pose = part if isinstance(part, tuple) else (part,)
    if not hasattr(shape, "static_only"):
        raise ProblemError(f"{name}: {shape!r} is not a shape; see delassus.shapes")
    position = _vector(pose[0] if pose else (0, 0, 0), f"{name}: shape position", 3)
    return shape, position, _unit(pose[1] if len(pose) > 1 else (1, 0, 0, 0), f"{name}: shape orientation")


def _vector(value, what: str, count: int) -> np.ndarray:
    out = np.array(value, dtype=float)
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ProblemError(f"{what} is {value!r}: give {count} finite numbers")
    return out


def _unit(value, what: str) -> np.ndarray:
    """A quaternion (4,) or rotation matrix (3, 3) as a unit quaternion."""
    out = np.array(value, dtype=float)
    if out.shape == (3, 3) and np.allclose(out.T @ out, np.eye(3), atol=1e-8):
        return matrix_to_quaternion(out)
    if out.shape != (4,) or not np.isfinite(out).all() or abs(np.linalg.norm(out) - 1.0) > 1e-3:
        raise ProblemError(f"{what} is {value!r}: give a unit quaternion (w, x, y, z) or a rotation matrix")
    return out / np.linalg.norm(out)
