"""Bodies of a world by name, moving and fixed."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import numbers, vector
from delassus.errors import ProblemError
from delassus.spatial import quaternion_to_matrix, rotate
from delassus.world import reading
from delassus.world.acting import Push
from delassus.world.handle import Handle
from delassus.world.placing import place_body

if TYPE_CHECKING:
    from delassus.world.joint import Joint
    from delassus.world.world import World


class Energy(NamedTuple):
    """kinetic and potential energy, of gravity with respect to the origin [J]."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Their sum [J]."""
        return self.kinetic + self.potential


class Body(Handle):
    """A body of a world. Poses are of its own frame, where the user put it when building; its centre of mass is
    `centre_of_mass`. All vectors are in world axes. What is fixed has a pose, and no velocity, mass or energy."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As it was built."""
        model = self._world.model
        return model.fixed_names[self._fixture] if self.is_fixed else model.body_names[self._index]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"body {self.name!r}"

    @property
    def is_fixed(self) -> bool:
        """Does it belong to the world?"""
        return self._index >= self._world.model.body_count

    @property
    def position(self) -> np.ndarray:
        """(3,) origin of its own frame [m]."""
        if self.is_fixed:
            return self._world.model.fixed_pose[self._fixture, :3].copy()
        return reading.position(self._world.model, self._index, self._world._q)

    @property
    def orientation(self) -> np.ndarray:
        """(4,) unit quaternion (w, x, y, z), body → world."""
        if self.is_fixed:
            return self._world.model.fixed_pose[self._fixture, 3:].copy()
        return self._world._q[self._index, 3:].copy()

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) the same as a matrix: its columns are the body's axes."""
        return quaternion_to_matrix(self.orientation)

    @property
    def centre_of_mass(self) -> np.ndarray:
        """(3,) [m]."""
        return self._world._q[self._moving("centre_of_mass"), :3].copy()

    @property
    def velocity(self) -> np.ndarray:
        """(3,) of the origin of its own frame [m/s]; `velocity_at(body.centre_of_mass)` is that of its centre."""
        if self.is_fixed:
            return np.zeros(3)
        return reading.velocity(self._world.model, self._index, self._world._q, self._world._u)

    @property
    def angular_velocity(self) -> np.ndarray:
        """(3,) [rad/s]."""
        return np.zeros(3) if self.is_fixed else self._world._u[self._index, 3:].copy()

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self._world.model.mass[self._moving("mass")])

    @property
    def inertia(self) -> np.ndarray:
        """(3, 3) about its centre of mass, world axes, now [kg m²]."""
        return self.rotation @ self._world.model.inertia[self._moving("inertia")] @ self.rotation.T

    @property
    def momentum(self) -> np.ndarray:
        """(3,) mass times the velocity of its centre of mass [N s]."""
        return self.mass * self._world._u[self._index, :3]

    @property
    def angular_momentum(self) -> np.ndarray:
        """(3,) about its centre of mass [N m s]."""
        return reading.spin(self._world.model, self._moving("angular_momentum"), self._world._q, self._world._u)

    @property
    def energy(self) -> Energy:
        """Kinetic and potential, and their `total` [J]."""
        model, b = self._world.model, self._moving("energy")
        kinetic = reading.kinetic_energy(model, b, self._world._q, self._world._u)
        return Energy(float(kinetic), float(reading.potential_energy(model, b, self._world._q)))

    @property
    def contact_force(self) -> np.ndarray:
        """(3,) sum of all contact forces on it over the last step, a mean [N]."""
        return self._world.contacts.force_on(self.name)

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of its shapes, as `world.contacts` says them: "box", or "box-1", "sphere-2" where there are several."""
        return self._world._shape_names.of(self._index)

    @property
    def joints(self) -> "tuple[Joint, ...]":
        """Joints that hold it."""
        if self.is_fixed:
            return ()
        held = (self._world.model.joints.bodies == self._index).any(axis=1)
        return tuple(joint for joint, is_its in zip(self._world.joints, held) if is_its)

    def point(self, local: ArrayLike) -> np.ndarray:
        """(3,) [m] in the world of a point (3,) [m] in its own frame."""
        return self.position + rotate(self.orientation, vector(local, f"{self.label}: point", 3))

    def velocity_at(self, point: ArrayLike) -> np.ndarray:
        """(3,) [m/s] of the material point that is at this place (3,) [m, world] now."""
        arm = vector(point, f"{self.label}: velocity_at", 3) - self.position
        return self.velocity + np.cross(self.angular_velocity, arm)

    def push(
        self,
        force: ArrayLike = (0.0, 0.0, 0.0),
        *,
        at: ArrayLike | None = None,
        moment: ArrayLike = (0.0, 0.0, 0.0),
        seconds: float | None = None,
    ) -> None:
        """Let a force (3,) [N] and a moment (3,) [N m], world axes, act from now on for some seconds [s]; None: for the
        next step; inf: for ever.

        at: point [m, world] where the force acts, and which it stays on as the body moves; None: the centre of mass.
        The impulse is force × seconds, whether that is a whole number of steps or not. Pushes add up."""
        b = self._moving("push")
        force, moment = vector(force, f"{self.label}: push: force", 3), vector(moment, f"{self.label}: push: moment", 3)
        left = seconds_of(self._world, seconds, self.label)
        arm = np.zeros(3)
        if at is not None:
            away = vector(at, f"{self.label}: push: at", 3) - self._world._q[b, :3]
            arm = self.rotation.T @ away
        self._world._acting.pushes.append(Push(b, force, moment, arm, left=left))

    def set(
        self,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> None:
        """Put it somewhere: position (3,) [m] and orientation (quaternion or matrix) of its own frame, velocity (3,)
        [m/s] of that frame's origin, angular_velocity (3,) [rad/s]. What is joined to it moves along as one piece; a
        body that joints tie to the world is set through these joints."""
        place_body(self._world, self._moving("set"), position, orientation, velocity, angular_velocity)

    @property
    def _fixture(self) -> int:
        return self._index - self._world.model.body_count

    def _moving(self, word: str) -> int:
        if self.is_fixed:
            raise ProblemError(f"{self.label} is fixed: it has no {word}")
        return self._index

    def _instead_of(self, name: str) -> str:
        settable = ("position", "orientation", "velocity", "angular_velocity")
        return f": body.set({name}=…) puts it there" if name in settable else ""

    def __repr__(self) -> str:
        what = "fixed" if self.is_fixed else f"{self.mass:.4g} kg"
        return f"Body({self.name!r}, {what}, at {np.array2string(self.position, precision=4)} m)"


def seconds_of(world: "World", seconds: Any, who: str) -> float:
    """For how long a push acts; None: for one step."""
    if seconds is None:
        return world.settings.h
    time = numbers(seconds)
    if time.shape != () or not time > 0.0:
        raise ProblemError(f"{who}: push: seconds is {seconds!r}: give a positive time [s]")
    return float(time)
