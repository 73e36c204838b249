"""What the machines are made of: links hinged to links, hulls, push rods that close loops, plates around them. Bodies
collide with the ground and with each other unless a joint connects them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder import Body, Material, ModelBuilder, Motor
from delassus.scenes.machines.motion import Motion
from delassus.shapes import Box, Capsule, Convex, Plane, Shape
from delassus.spatial import axis_frame, matrix_to_quaternion, quaternion_to_matrix

X, Y, Z = np.eye(3)
SIDES = (("left", 1.0), ("right", -1.0))
LIMITS = (-1.6, 1.6)  # rad: of a hinge that is not told otherwise
CRANK_LIMITS = (-1.2, 1.2)  # rad: of a crank, short of where its rod would be in line with it
_GRIP = Material(0.8)
_FRICTION = 1e-3  # N m s: damping of a hinge without motor


def frustum(bottom: Sequence[float], top: Sequence[float], height: float, shift: float = 0.0) -> Convex:
    """Hull of two rectangles [m], the upper one shifted along x, about the middle of its height."""
    corners = [
        (sx * size[0] / 2 + move, sy * size[1] / 2, z)
        for size, move, z in ((bottom, 0.0, -height / 2), (top, shift, height / 2))
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return Convex(np.array(corners))


def bar(length: float, start: float, end: float, sides: int = 6) -> Convex:
    """Hull along z, of so many sides, of radii [m] at its two ends."""
    turn = 2.0 * np.pi * (np.arange(sides) + 0.5) / sides
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros(sides)], axis=1)
    return Convex(np.concatenate([start * ring - 0.5 * length * Z, end * ring + 0.5 * length * Z]))


@dataclass(frozen=True)
class Piece:
    """A link of a chain. step: from its hinge to the next [m]; hull: radii at its ends [m], None: a short round link
    between crossed axes."""

    step: tuple[float, float, float]
    axis: np.ndarray
    hull: tuple[float, float] | None = None
    limits: tuple[float, float] = LIMITS
    driven: bool = True
    thick: float = 0.02


@dataclass
class Machine:
    """A machine under construction. heaviest, lightest: part [kg]; motor: of every driven joint; motion: what driven
    joints follow, filled while they are made."""

    heaviest: float
    lightest: float
    motor: Motor
    motion: Motion
    builder: ModelBuilder = field(default_factory=ModelBuilder)
    _inner: dict[str, list[Body]] = field(default_factory=dict)  # compact link → what it keeps apart

    def ground(self) -> None:
        """A floor at z = 0."""
        self.builder.fixed("ground", shapes=[Plane()], material=_GRIP)

    def solid(self, name: str, position: ArrayLike, shape: Shape, mass: float) -> Body:
        """A body of one shape, not joined to anything yet."""
        return self.builder.body(name, position=position, mass=mass, shapes=[shape], material=_GRIP)

    def mount(self, body: Body) -> None:
        """Hold a body to the world; it may stand on the ground without touching it."""
        self.builder.joint("fixed", None, body, name=f"{body.name}-mount")
        self.builder.exclude(body, "ground")

    def plate(self, body: Body, centre: ArrayLike, size: tuple[float, float, float]) -> None:
        """A box more on a body, axes and place [m] those of the world now: part of the shell around its mechanism.
        Masses stay."""
        R = quaternion_to_matrix(body.quaternion)
        self.builder.attach(
            body,
            Box(size),
            position=R.T @ (np.asarray(centre, float) - body.position),
            orientation=matrix_to_quaternion(R.T),
        )

    def link(
        self,
        name: str,
        parent: Body,
        at: ArrayLike,
        to: ArrayLike,
        axis: ArrayLike,
        mass: float,
        *,
        driven: bool = True,
        limits: tuple[float, float] = LIMITS,
        damping: float = 0.0,
        thick: float = 0.02,
        hull: tuple[float, float] | None = None,
        compact: bool = False,
    ) -> Body:
        """A rod from `at` to `to` [m, world], hinged to its parent at `at` about `axis`, which may turn within limits
        [rad] from here: round, or a hull of these radii at its ends. compact: a short link between crossed axes, whose
        neighbours on both sides may overlap."""
        body = self._rod(name, at, to, mass, thick, hull)
        self.hinge(name, parent, body, at, axis, driven=driven, limits=limits, damping=damping)
        if compact:
            self._inner[name] = [parent]
        return body

    def chain(
        self, name: str, parent: Body, at: ArrayLike, pieces: Sequence["Piece"], weight: float
    ) -> tuple[list[Body], np.ndarray]:
        """Links one after the other, and where they are hinged and end [m], (n + 1, 3). weight: of the first one
        between lightest and heaviest; the next are lighter."""
        points = np.cumsum([at, *(piece.step for piece in pieces)], axis=0)
        bodies: list[Body] = []
        for k, piece in enumerate(pieces):
            bodies.append(
                self.link(
                    f"{name}-{k + 1}",
                    bodies[-1] if bodies else parent,
                    points[k],
                    points[k + 1],
                    piece.axis,
                    self.between(max(weight - 0.05 * k, 0.08)),
                    driven=piece.driven,
                    limits=piece.limits,
                    damping=0.0 if piece.driven else _FRICTION,
                    hull=piece.hull,
                    thick=piece.thick,
                    compact=piece.hull is None,
                )
            )
        return bodies, points

    def hinge(
        self,
        name: str,
        parent: Body,
        body: Body,
        at: ArrayLike,
        axis: ArrayLike,
        *,
        driven: bool = True,
        limits: tuple[float, float] = LIMITS,
        damping: float = 0.0,
    ) -> None:
        """Join two bodies, as they are placed now."""
        self.builder.joint(
            "revolute",
            parent,
            body,
            position=at,
            axis=axis,
            motor=self.motor if driven else None,
            damping=damping,
            limits=limits,
            name=name,
        )
        for other in self._inner.get(parent.name, []):
            self.builder.exclude(other, body)

    def push_rod(
        self,
        name: str,
        parent: Body,
        child: Body,
        hinge: ArrayLike,
        along: ArrayLike,
        axis: ArrayLike,
        *,
        arm: float,
        offset: float,
        moves: str,
        ends: tuple[str, str] = ("revolute", "revolute"),
        aside: float = 0.0,
        thick: float = 0.006,
        drive_ends: bool = False,
    ) -> None:
        """A crank on the parent and a rod to the child that move the child's hinge, the joint `moves`: a parallelogram,
        so that child and crank turn alike. hinge: of the child; along: direction of the child from there; arm: length
        of the crank and distance of the rod's end from the hinge; offset: distance of the crank's pivot from the hinge;
        aside: of all this along the axis [m]. ends: kinds of joint at crank and child; drive_ends: both are hinges with
        motors of their own."""
        along, axis = np.asarray(along, float), np.asarray(axis, float)
        foot = np.asarray(hinge, float) + aside * axis
        reach = arm * along / np.linalg.norm(along)
        across = np.cross(axis, along)
        pivot = foot + offset * across / np.linalg.norm(across)
        crank = self._rod(f"{name}-crank", pivot, pivot + reach, self.between(0.1), thick)
        self.hinge(f"{name}-crank", parent, crank, pivot, axis, limits=CRANK_LIMITS)
        self.motion.follow(f"{name}-crank", moves)
        rod = self._rod(f"{name}-rod", pivot + reach, foot + reach, self.lightest, thick)
        if drive_ends:  # the rod does not turn: it goes back against the crank what the child goes forth against it
            self.hinge(f"{name}-near", crank, rod, pivot + reach, axis)
            self.hinge(f"{name}-far", rod, child, foot + reach, axis)
            self.motion.follow(f"{name}-near", moves, -1.0)
            self.motion.follow(f"{name}-far", moves)
            return
        frame = axis_frame(axis)
        self.builder.joint(ends[0], crank, rod, position=pivot + reach, frame=frame, name=f"{name}-near")
        self.builder.joint(ends[1], rod, child, position=foot + reach, frame=frame, name=f"{name}-far")

    def between(self, part: float) -> float:
        """A mass between the lightest (0) and the heaviest (1), in ratio."""
        return float(self.lightest * (self.heaviest / self.lightest) ** part)

    def _rod(
        self,
        name: str,
        at: ArrayLike,
        to: ArrayLike,
        mass: float,
        thick: float,
        hull: tuple[float, float] | None = None,
    ) -> Body:
        at, to = np.asarray(at, float), np.asarray(to, float)
        length = float(np.linalg.norm(to - at))
        shape = (
            bar(length, *hull) if hull else Capsule(min(thick, 0.45 * length), max(length - 2 * thick, 0.1 * length))
        )
        turned = matrix_to_quaternion(axis_frame((to - at) / length))
        return self.builder.body(
            name, position=0.5 * (at + to), orientation=turned, mass=mass, shapes=[shape], material=_GRIP
        )
