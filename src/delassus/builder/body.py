"""Bodies as the builder holds them: pose, mass, shapes, material."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.builder.given import number
from delassus.errors import ProblemError
from delassus.softening import Softening, Spring, plain_softness

WORLD = -1
"""The base of unary joints and the owner of fixed shapes."""


@dataclass(frozen=True)
class Material:
    """What a surface is like.

    mu: friction coefficient [-]; of a pair see `ModelBuilder(mixing=…)`.
    restitution: of Newton's impact law, from 0 (no rebound) to 1 [-]; of a pair the larger counts.
    stiffness: of a spring along the normal of every contact point [N/m], so that what is carried by one sinks in by
        m g/k; None: hard. Springs of a pair are in series.
    damping: beside that spring [N s/m].
    softening: MuJoCo's manner instead, see `Softening`; False: hard, whatever the settings say; None: as they say. Of a
        pair, what gives counts (`dynamics.softness.mix`).
    """

    mu: float = 0.5
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0
    softening: Softening | bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number(self.mu, "material: mu", "-"))
        object.__setattr__(self, "restitution", number(self.restitution, "material: restitution", "-"))
        if self.restitution > 1.0:
            raise ProblemError(f"material: restitution is {self.restitution}, it must be from 0 to 1 [-]")
        if self.stiffness is None and self.damping != 0.0:
            raise ProblemError(f"material: damping is {self.damping} without a stiffness: give stiffness [N/m], too")
        if self.stiffness is not None and (self.softening is not None or self.restitution > 0.0):
            raise ProblemError("material: a stiffness bounces and gives by itself: leave restitution and softening out")
        plain_softness(self._soft, "material: softening")

    @property
    def _soft(self) -> Softening | Spring | bool | None:
        return self.softening if self.stiffness is None else Spring(self.stiffness, self.damping)

    @property
    def softness(self) -> np.ndarray:
        """(8,), see softening.py."""
        return plain_softness(self._soft, "material: softening")

    @classmethod
    def of(cls, given: "Material | float | None", name: str) -> "Material":
        """A number is the friction coefficient; nothing is the default.  name: of the body, for the complaint."""
        if given is None or isinstance(given, cls):
            return given or cls()
        if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
            return cls(float(given))
        raise ProblemError(f"{name}: material is {given!r}: give a Material, or a number for its friction coefficient")


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

    def __repr__(self) -> str:
        what = "fixed" if self.is_fixed else f"{self.mass:.4g} kg"
        kinds = ", ".join(shape.kind for shape, _, _ in self.shapes) or "no shapes"
        return f"Body({self.name!r}, {what}, {kinds}, at {np.array2string(self.position, precision=4)} m)"
