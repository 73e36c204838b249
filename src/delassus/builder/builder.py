"""ModelBuilder: a mechanism said in a few lines."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import direction, number, rotation_matrix, shown, unit_quaternion, vector
from delassus.builder.beam import BeamMethods
from delassus.builder.body import WORLD, Body, Material, Surface, bits, colour_of, mass_properties, placed_shapes
from delassus.builder.coupling import CouplingMethods, GivenCoupling, model_couplings
from delassus.builder.flexible import FlexibleBody
from delassus.builder.force import GivenForce, GivenOwn, model_forces
from delassus.builder.force_methods import ForceMethods
from delassus.builder.joint import ELSEWHERE, Joint, coordinate_options, joint_arrays
from delassus.builder.start import assembled, check_lengths, check_start, starting_turns
from delassus.collision import Instance, shape_arrays
from delassus.collision.arrays import MIXING, ShapeArrays
from delassus.collision.instances import ALL
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.forces import Forces
from delassus.joints import JOINTS
from delassus.model.model import Model
from delassus.model.state import State
from delassus.softening import Softening, Spring, plain_softness
from delassus.spatial import axis_frame, quaternion_multiply, rotate

_REACH = 0.05  # default of `ModelBuilder(reach=…)`


class ModelBuilder(BeamMethods, ForceMethods, CouplingMethods):
    """Collects bodies, joints and forces (`spring`, `bushing`, …: builder/force_methods.py); `build()` gives the
    constant `Model` and its first `State`.

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

    def __init__(
        self,
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        mixing: str = "geometric",
        reach: float = _REACH,
        mass: str = "lumped",
    ):
        """gravity [m/s²]; mixing: friction of a pair from that of its two materials, "geometric" (√(μ_a μ_b)), "min",
        "max", "average" or "product"; reach: contacts are reported this fraction of a shape's bounding radius before
        they touch [-]; what moves further in a step is followed along its path, whatever its reach; mass: of finite
        elements, "lumped" or "consistent"."""
        if mixing not in MIXING:
            raise SettingsError(f"mixing is {mixing!r}: {nearest(str(mixing), list(MIXING))}")
        self.reach = number(reach, "reach", "of a shape's radius")
        self.gravity = vector(gravity, "gravity", 3)
        self.mixing = mixing
        self.bodies: list[Body] = []
        self.fixtures: list[Body] = []
        self.joints: list[Joint] = []
        self.excluded: list[tuple[int, int]] = []  # moving bodies that never touch
        self.excluded_fixed: list[tuple[int, int]] = []  # moving body and fixture that never touch
        self.flexibles: list[FlexibleBody] = []
        self.excluded_flexible: list[tuple[int, int]] = []
        self.excluded_flexible_fixed: list[tuple[int, int]] = []
        self.mass = mass
        self.forces: list[GivenForce] = []
        self.own_forces: list[GivenOwn] = []
        self.couplings: list[GivenCoupling] = []
        self._names: dict[str, set[str]] = {"bodies": set(), "joints": set(), "forces": set(), "couplings": set()}

    # -- bodies --------------------------------------------------------------------------------------------------------

    def body(
        self,
        name: str | None = None,
        *,
        position: ArrayLike = (0, 0, 0),
        orientation: ArrayLike = (1, 0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0),
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        density: float | None = None,
        centre: ArrayLike | None = None,
        shapes: Any = (),
        material: Material | float | None = None,
        group: int = 1,
        mask: int = ALL,
        colour: ArrayLike | None = None,
    ) -> Body:
        """A moving body: from density [kg/m³] and shapes, mass [kg] and shapes it is spread over, or mass and inertia
        (3, 3) or (3,) [kg m²] about the centre of mass, which is the origin, or at centre (3,) [m] in the body's frame.

        position: of the body's own frame [m]; orientation: unit quaternion (w, x, y, z) or rotation matrix; velocity
        [m/s] of its origin and angular_velocity [rad/s], world frame. shapes: one or a list, each alone or as (shape,
        position, orientation) in the body's frame; material: a Material, or a number for its friction coefficient;
        group, mask: two bodies may touch when each one's group shares a bit with the other's mask; colour: of its
        shapes in pictures, red, green, blue and, if given, opacity, 0 … 1."""
        name = self._name(name, "body", "bodies")
        parts = placed_shapes(name, shapes)
        m, centre, theta = mass_properties(name, parts, mass, inertia, density, centre)
        position = vector(position, f"{name}: position", 3)
        quaternion = unit_quaternion(orientation, f"{name}: orientation")
        made = Body(
            name,
            len(self.bodies),
            position,
            quaternion,
            centre,
            m,
            theta,
            vector(velocity, f"{name}: velocity", 3),
            vector(angular_velocity, f"{name}: angular_velocity", 3),
            parts,
            Material.of(material, name),
            bits(group, f"{name}: group"),
            bits(mask, f"{name}: mask"),
            0,
            colour_of(colour, name),
        )
        self.bodies.append(made)
        self._names["bodies"].add(name)
        return made

    def fixed(
        self,
        name: str | None = None,
        *,
        shapes: Any = (),
        position: ArrayLike = (0, 0, 0),
        orientation: ArrayLike = (1, 0, 0, 0),
        material: Material | float | None = None,
        group: int = 1,
        mask: int = ALL,
        colour: ArrayLike | None = None,
    ) -> Body:
        """A body that never moves: ground, container, pedestal. Arguments as in `body`."""
        name = self._name(name, "fixed", "bodies")
        made = Body(
            name,
            WORLD,
            vector(position, f"{name}: position", 3),
            unit_quaternion(orientation, f"{name}: orientation"),
            np.zeros(3),
            0.0,
            np.zeros((3, 3)),
            np.zeros(3),
            np.zeros(3),
            placed_shapes(name, shapes),
            Material.of(material, name),
            bits(group, f"{name}: group"),
            bits(mask, f"{name}: mask"),
            fixture=len(self.fixtures),
            colour=colour_of(colour, name),
        )
        self.fixtures.append(made)
        self._names["bodies"].add(name)
        return made

    def attach(
        self,
        body: Body | str,
        shape: Any,
        *,
        position: ArrayLike = (0, 0, 0),
        orientation: ArrayLike = (1, 0, 0, 0),
        material: Material | float | None = None,
        group: int | None = None,
        mask: int | None = None,
    ) -> None:
        """One more shape on a body, at its place in the body's frame, with a surface of its own: what is not given is
        the body's. Masses stay as they are."""
        body = self._body(body, "attach")
        placed = placed_shapes(body.name, [(shape, position, orientation)])
        if shape.static_only and not body.is_fixed:
            raise ProblemError(
                f"{body.name}: planes and meshes belong to fixed bodies; a moving body needs solid shapes"
            )
        body.surfaces[len(body.shapes)] = Surface(
            body.material if material is None else Material.of(material, body.name),
            body.group if group is None else bits(group, f"{body.name}: group"),
            body.mask if mask is None else bits(mask, f"{body.name}: mask"),
        )
        body.shapes += placed

    def exclude(self, first: Any, second: Any) -> None:
        """Never test these two bodies (or their names) for contact; one of them may be fixed, or flexible."""
        if self.flexibles and self._exclude_flexible(first, second):
            return
        first, second = self._body(first, "exclude"), self._body(second, "exclude")
        if first.is_fixed:
            first, second = second, first
        if second.is_fixed and not first.is_fixed:  # two fixed bodies never touch anyway
            self.excluded_fixed.append((first.index, second.fixture))
        elif not first.is_fixed:
            self.excluded.append((first.index, second.index))

    # -- joints --------------------------------------------------------------------------------------------------------

    def joint(
        self,
        kind: str,
        base: Body | str | None,
        follower: Body | str,
        *,
        position: ArrayLike | None = None,
        axis: ArrayLike = (0, 0, 1),
        frame: ArrayLike | None = None,
        follower_position: ArrayLike | None = None,
        follower_frame: ArrayLike | None = None,
        name: str | None = None,
        length: float | None = None,
        limits: Any = None,
        motor: Any = None,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        limit_restitution: ArrayLike = 0.0,
        softening: Softening | Spring | None = None,
        limit_softening: Softening | Spring | None = None,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike = 0.0,
        armature: ArrayLike = 0.0,
        collide: bool = False,
    ) -> str:
        """Join follower to base (bodies or their names; None, "world" or a fixed body: the world), as placed now.

        position: of the joint's frame [m, world], default the follower's origin; axis: its z axis, or frame: (3, 3)
        with the axes as columns, or a quaternion. follower_position, follower_frame: where they differ on the follower
        (distance joints, or joints not yet assembled). limits: (lower, upper) per coordinate [m, rad], inf for none;
        angles count turns (those of spherical joints do not, see dynamics/turns.py) and start in (−π, π], or as many
        turns from there as their limits ask for; motor: Motor, "imposed" or Imposed per coordinate; damping
        [N s/m, N m s], dry friction [N, N m] and restitution at the limits (Newton's, 0 … 1): one number or one per
        coordinate. softening, limit_softening: `Softening` or `Spring` of its rows and its limits, False for hard, None
        for what the settings of the step say. stiffness [N/m, N m/rad] of a spring of the joint's own, which pulls to
        rest [m, rad] beside any motor; armature [kg, kg m²]: inertia that moves with the coordinate alone, such as a
        geared rotor's: one number or one per coordinate. collide: let the pair touch; otherwise the two bodies are
        excluded from contact, a fixed base with its own shapes only."""
        if not isinstance(kind, str) or kind not in JOINTS:
            meant = ELSEWHERE.get(kind) if isinstance(kind, str) else None
            hint = f"did you mean {meant!r}?" if meant else nearest(str(kind)[:100], list(JOINTS))
            raise ProblemError(f"unknown joint {shown(kind)}; {hint}")
        if base is not None:
            base = None if base == "world" and not self._has("world") else self._body(base, f"joint {name or kind}")
        follower = self._body(follower, f"joint {name or kind}")
        if follower.is_fixed or base is follower:
            raise ProblemError(f"joint {name or kind}: the follower must be a moving body other than the base")
        name = self._name(name, kind, "joints")
        where = f"joint {name}"
        origin = follower.position if position is None else vector(position, f"{where}: position", 3)
        given = None if frame is None else rotation_matrix(frame, f"{where}: frame")
        axes = axis_frame(direction(axis, f"{where}: axis")) if given is None else given
        other = origin if follower_position is None else vector(follower_position, f"{where}: follower_position", 3)
        other_axes = axes if follower_frame is None else rotation_matrix(follower_frame, f"{where}: follower_frame")
        far = float(np.linalg.norm(other - origin)) if length is None else length
        far = number(far, f"{where}: length", "m", positive=JOINTS[kind].has_length)
        options = coordinate_options(
            name, kind, limits, motor, damping, friction, limit_restitution, stiffness, rest, armature
        )
        softness = [
            plain_softness(given, f"{where}: {what}")
            for what, given in (("softening", softening), ("limit_softening", limit_softening))
        ]
        moving_base = None if base is None or base.is_fixed else base
        self.joints.append(
            Joint(name, kind, moving_base, follower, origin, axes, other, other_axes, far, options, *softness)
        )
        self._names["joints"].add(name)
        if not collide and base is not None:
            self.exclude(base, follower)
        return name

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self, *, assemble: bool = False, check: bool = True) -> tuple[Model, State]:
        """The model and the state it starts from, at t = 0.

        assemble: close open joints, moving the bodies as little as possible in the mass metric, and make velocities
        obey them; loops that cannot close are an error. check: refuse open joints and warn of bodies that overlap and
        of velocities that part joints."""
        count = len(self.bodies)
        q, u = np.empty((count, 7)), np.empty((count, 6))
        for k, body in enumerate(self.bodies):
            arm = rotate(body.quaternion, body.centre)
            q[k] = [*(body.position + arm), *body.quaternion]
            u[k] = [*(body.velocity + np.cross(body.angular_velocity, arm)), *body.angular_velocity]
        shapes = self._shape_arrays()
        colours = [body.colour for body in self.bodies + self.fixtures for _ in body.shapes]
        joints = joint_arrays(self.joints)
        model = Model(
            tuple(body.name for body in self.bodies),
            tuple(body.name for body in self.fixtures),
            np.array([body.mass for body in self.bodies]),
            np.array([body.inertia for body in self.bodies]).reshape(count, 3, 3),
            self.gravity,
            joints,
            shapes,
            np.array([body.centre for body in self.bodies]).reshape(count, 3),
            np.array([[*body.position, *body.quaternion] for body in self.fixtures]).reshape(-1, 7),
            self._flexible_arrays(self.mass) if self.flexibles else None,
            self._model_forces() if self.forces or self.own_forces else None,
            np.array(colours).reshape(-1, 4)[shapes.instance],
            couplings=model_couplings(self.couplings, joints) if self.couplings else None,
        )
        if assemble:
            q, u = assembled(model, q, u)
        if check:
            check_start(model, q, None if assemble else u, stacklevel=2)
        state = State(q, u, turns=starting_turns(model, q))
        check_lengths(model, state)
        if model.flexible is None:
            return model, state
        nodes, velocity = (np.concatenate(x) for x in zip(*((b.mesh.nodes, b.velocity) for b in self.flexibles)))
        return model, replace(state, nodes=nodes, node_velocity=velocity)

    def _model_forces(self) -> Forces:
        nodes = sum(len(one.mesh.nodes) for one in self.flexibles)
        return model_forces(self.forces, self.own_forces, len(self.bodies), nodes)

    def _shape_arrays(self) -> ShapeArrays:
        instances = []
        for body in self.bodies + self.fixtures:
            plain = Surface(body.material, body.group, body.mask)
            for k, (shape, position, quaternion) in enumerate(body.shapes):
                if body.is_fixed:
                    position = body.position + rotate(body.quaternion, position)
                    quaternion = quaternion_multiply(body.quaternion, quaternion)
                else:
                    position = position - body.centre
                margin = 0.0 if shape.static_only else self.reach * shape.bounding_radius
                own = body.surfaces.get(k, plain)
                m = own.material
                instances.append(
                    Instance(
                        shape,
                        body.index,
                        position,
                        quaternion,
                        m.mu,
                        m.restitution,
                        own.group,
                        own.mask,
                        margin,
                        body.fixture,
                        m.softness,
                    )
                )
        return shape_arrays(instances, exclude=self.excluded, exclude_fixed=self.excluded_fixed, mixing=self.mixing)
