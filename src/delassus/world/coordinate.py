"""One coordinate of a joint of a world."""

from delassus.errors import ProblemError
from delassus.joints.arrays import PASSIVE
from delassus.world.handle import Handle, finite
from delassus.world.loads import coordinate_load


class Coordinate(Handle):
    """One coordinate of a joint: the angle of a hinge, the position of a slider. Units are rad, rad/s, N m for angles
    and m, m/s, N for positions; angles count turns (those of spherical joints do not)."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Joint and coordinate, as in "hinge.angle"."""
        return self._world.model.joints.coordinate_names[self._index]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"coordinate {self.name!r}"

    @property
    def unit(self) -> str:
        """Of its value: "rad" or "m"."""
        return "rad" if self._world.model.joints.angular[self._index] else "m"

    @property
    def effort_unit(self) -> str:
        """Of what acts on it: "N m" or "N"."""
        return "N m" if self._world.model.joints.angular[self._index] else "N"

    @property
    def value(self) -> float:
        """Where it is now [rad, m]."""
        return float(self._world._coordinates[0][self._index])

    @property
    def rate(self) -> float:
        """How fast it changes now [rad/s, m/s]."""
        return float(self._world._rates[self._index])

    @property
    def limits(self) -> tuple[float, float]:
        """(lower, upper) [rad, m], infinite where there are none."""
        joints = self._world.model.joints
        return float(joints.lower[self._index]), float(joints.upper[self._index])

    @property
    def has_motor(self) -> bool:
        """Does anything drive it towards its target?"""
        return bool(self._world.model.joints.drive[self._index] != PASSIVE)

    @property
    def target(self) -> float:
        """Where its motor, or its prescribed motion, should bring it [rad, m], now. Moves on at `target_rate`."""
        return float(self._world._acting.target_at(self._world.time)[self._index])

    @target.setter
    def target(self, value: float) -> None:
        self._need_motor("target")
        self._world._set_target(self._index, target=finite(value, f"the target of {self.name!r}", self.unit))

    @property
    def target_rate(self) -> float:
        """How fast its target moves [rad/s, m/s]."""
        return float(self._world._acting.target_rate[self._index])

    @target_rate.setter
    def target_rate(self, value: float) -> None:
        self._need_motor("target_rate")
        self._world._set_target(self._index, rate=finite(value, f"the target_rate of {self.name!r}", f"{self.unit}/s"))

    @property
    def effort(self) -> float:
        """Torque or force that acts on it from now on, beside that of its motor, until another is set [N m, N]."""
        return float(self._world._acting.effort[self._index])

    @effort.setter
    def effort(self, value: float) -> None:
        self._world._set_effort(self._index, finite(value, f"the effort of {self.name!r}", self.effort_unit))

    @property
    def load(self) -> float:
        """What motor and `effort` exerted on it over the last step, a mean [N m, N]. The joint's own damping is in it
        where its motor has no limit of effort: the two are one row then."""
        return coordinate_load(self._world, self._index)

    def _instead_of(self, name: str) -> str:
        joint, _, coordinate = self.name.rpartition(".")
        return f": world.joint({joint!r}).set({coordinate}=…) moves it" if name in ("value", "rate") else ""

    def _need_motor(self, what: str) -> None:
        if not self.has_motor:
            raise ProblemError(
                f"{self.name!r} has no motor, so it follows no {what}: give its joint motor=Motor(stiffness, damping) "
                f"or Imposed() when building it, or set its effort [{self.effort_unit}]"
            )

    def __repr__(self) -> str:
        return f"Coordinate({self.name!r}, {self.value:.6g} {self.unit}, {self.rate:.6g} {self.unit}/s)"
