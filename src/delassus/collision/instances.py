"""A shape attached to a body: what the modelling side hands to collision."""

import math
from dataclasses import dataclass

import numpy as np

from delassus.errors import ProblemError
from delassus.shapes import Shape

UNIT = 1e-6  # how far a quaternion's length may be from one
ALL = 0xFFFFFFFF
FIXTURES = 1 << 31  # fixed bodies, and bodies, that exclusions can tell apart


@dataclass(frozen=True, eq=False)
class Instance:
    """A shape with its pose in the body's frame and what contact needs to know about it.

    body: index, −1 for the world; position [m]; quaternion (w, x, y, z); mu, restitution [-];
    group, mask: two shapes may touch when each one's group shares a bit with the other's mask;
    margin [m]: a contact is reported when gap ≤ the sum of the two margins;
    fixture: which fixed body a shape of the world belongs to, for exclusions; softening: (8,), see softening.py."""

    shape: Shape
    body: int = -1
    position: tuple[float, float, float] | np.ndarray = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] | np.ndarray = (1.0, 0.0, 0.0, 0.0)
    mu: float = 0.5
    restitution: float = 0.0
    group: int = 1
    mask: int = ALL
    margin: float = 0.0
    fixture: int = 0
    softening: np.ndarray | None = None

    def __post_init__(self) -> None:
        # there may be very many instances: numbers are checked several times faster than small arrays
        position, quaternion = np.array(self.position, dtype=float), np.array(self.quaternion, dtype=float)
        if position.shape != (3,) or not all(map(math.isfinite, position.tolist())):
            raise self._error("position", "expected three finite numbers")
        length = math.hypot(*quaternion.tolist()) if quaternion.shape == (4,) else math.nan
        if not abs(length - 1) <= UNIT:
            raise self._error("quaternion", "expected a unit (w, x, y, z)")
        if self.body < -1:
            raise self._error("body", "give an index or −1 for the world")
        if self.shape.static_only and self.body >= 0:
            raise ProblemError(f"{self._name}: a {self.shape.kind} cannot move, attach it to the world (body −1)")
        for field, value in (("mu", self.mu), ("restitution", self.restitution), ("margin", self.margin)):
            if not (value >= 0 and (math.isfinite(value) or field == "mu")):  # what never slips has μ = ∞
                raise self._error(field, "it must be finite and not negative")
        if self.restitution > 1:
            raise self._error("restitution", "it must be at most 1")
        if not 0 <= self.fixture < FIXTURES:
            raise self._error("fixture", f"give a number from 0 to {FIXTURES - 1}")
        for field, value in (("group", self.group), ("mask", self.mask)):
            if not 0 <= value <= ALL:
                raise self._error(field, "it must fit in 32 bits")
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "quaternion", quaternion / length)

    @property
    def _name(self) -> str:
        return f"{self.shape.kind} on body {self.body}"

    def _error(self, field: str, wanted: str) -> ProblemError:
        return ProblemError(f"{self._name}: {field} is {getattr(self, field)}, {wanted}")
