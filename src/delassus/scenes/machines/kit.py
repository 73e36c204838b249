"""What the machines are made of: links hinged to links, push rods that close loops, motors that hold or wave."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder import Body, Material, ModelBuilder, Motor
from delassus.dynamics import Inputs
from delassus.model.model import Model
from delassus.model.state import State
from delassus.shapes import Box, Capsule, Plane
from delassus.spatial import axis_frame, matrix_to_quaternion

X, Y, Z = np.eye(3)
_GROUND, _MACHINE = 1, 2  # collision groups: machines touch the ground, not themselves


@dataclass
class Machine:
    """A machine under construction. masses: heaviest and lightest part [kg]; motor: of every driven joint; wave:
    amplitude of the motion that driven joints follow [rad], 0: they hold their pose; period [s]."""

    heaviest: float
    lightest: float
    motor: Motor
    wave: float = 0.0
    period: float = 2.0
    builder: ModelBuilder = field(default_factory=ModelBuilder)
    waving: dict[str, float] = field(default_factory=dict)  # joint → phase [rad]

    def ground(self, mu: float = 0.8) -> None:
        """A floor at z = 0."""
        self.builder.fixed("ground", shapes=[Plane()], material=Material(mu), group=_GROUND)

    def block(
        self,
        name: str,
        position: ArrayLike,
        size: tuple[float, float, float],
        mass: float,
        *,
        touches: bool = False,
        mu: float = 0.8,
    ) -> Body:
        """A box, not joined to anything yet."""
        return self.builder.body(
            name, position=position, mass=mass, shapes=[Box(size)], material=Material(mu), group=_MACHINE,
            mask=_GROUND if touches else 0,
        )  # fmt: skip

    def mount(self, body: Body) -> None:
        """Hold a body to the world."""
        self.builder.joint("fixed", None, body, name=f"{body.name}-mount")

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
        damping: float = 0.0,
        phase: float = 0.0,
        thick: float = 0.02,
        touches: bool = False,
    ) -> Body:
        """A rod from `at` to `to` [m, world], hinged to its parent at `at` about `axis`."""
        body = self._rod(name, at, to, mass, thick, touches)
        self.hinge(name, parent, body, at, axis, driven, damping, phase)
        return body

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
        driven: bool = True,
        ends: tuple[str, str] = ("revolute", "revolute"),
        phase: float = 0.0,
        crank_mass: float,
        rod_mass: float,
        drive_ends: bool = False,
    ) -> None:
        """A crank on the parent and a rod to the child that move the child's hinge: a parallelogram, so that child and
        crank turn alike. hinge: of the child; along: direction of the child from there; arm: length of the crank and
        distance of the rod's end from the hinge; offset: distance of the crank's pivot from the hinge [m].
        ends: kinds of joint at crank and child; drive_ends: both are hinges with motors of their own."""
        hinge, along, axis = (np.asarray(x, float) for x in (hinge, along, axis))
        reach = arm * along / np.linalg.norm(along)
        aside = np.cross(axis, along)
        pivot = hinge + offset * aside / np.linalg.norm(aside)
        crank = self._rod(f"{name}-crank", pivot, pivot + reach, crank_mass, 0.3 * arm, False)
        self.hinge(f"{name}-crank", parent, crank, pivot, axis, driven, 0.0, phase)
        rod = self._rod(f"{name}-rod", pivot + reach, hinge + reach, rod_mass, 0.2 * offset, False)
        if drive_ends:  # the rod does not turn: it goes back against the crank what the child goes forth against it
            self.hinge(f"{name}-near", crank, rod, pivot + reach, axis, True, 0.0, phase + np.pi)
            self.hinge(f"{name}-far", rod, child, hinge + reach, axis, True, 0.0, phase)
            return
        frame = axis_frame(axis)
        self.builder.joint(ends[0], crank, rod, position=pivot + reach, frame=frame, name=f"{name}-near")
        self.builder.joint(ends[1], rod, child, position=hinge + reach, frame=frame, name=f"{name}-far")

    def between(self, part: float) -> float:
        """A mass between the lightest (0) and the heaviest (1), in ratio."""
        return float(self.lightest * (self.heaviest / self.lightest) ** part)

    def _rod(self, name: str, at: ArrayLike, to: ArrayLike, mass: float, thick: float, touches: bool) -> Body:
        at, to = np.asarray(at, float), np.asarray(to, float)
        length = float(np.linalg.norm(to - at))
        shape = Capsule(min(thick, 0.45 * length), max(length - 2 * thick, 0.1 * length))
        turned = matrix_to_quaternion(axis_frame((to - at) / length))
        return self.builder.body(
            name, position=0.5 * (at + to), orientation=turned, mass=mass, shapes=[shape], material=Material(0.8),
            group=_MACHINE, mask=_GROUND if touches else 0,
        )  # fmt: skip

    def hinge(
        self,
        name: str,
        parent: Body,
        body: Body,
        at: ArrayLike,
        axis: ArrayLike,
        driven: bool,
        damping: float,
        phase: float,
    ) -> None:
        self.builder.joint(
            "revolute", parent, body, position=at, axis=axis, motor=self.motor if driven else None, damping=damping,
            name=name,
        )  # fmt: skip
        if driven and self.wave:
            self.waving[name] = phase

    def motion(self, model: Model) -> Callable[[float, State], Inputs] | None:
        """(t, state) → Inputs: driven joints follow a wave that sets in softly, or None where they hold still."""
        if not self.waving:
            return None
        names = model.joints.coordinate_names
        where = np.array([names.index(f"{name}.angle") for name in self.waving])
        phases = np.array(list(self.waving.values()))
        count, rate = model.joints.coordinate_count, 2.0 * np.pi / self.period

        def inputs(t: float, state: State) -> Inputs:
            del state
            soft, slope = 1.0 - np.exp(-t / self.period), np.exp(-t / self.period) / self.period
            target, target_rate = np.zeros(count), np.zeros(count)
            angle = rate * t + phases
            target[where] = self.wave * soft * np.sin(angle)
            target_rate[where] = self.wave * (soft * rate * np.cos(angle) + slope * np.sin(angle))
            return Inputs.of(model, target=target, target_rate=target_rate)

        return inputs
