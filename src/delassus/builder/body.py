"""Bodies as the builder holds them: pose, mass, shapes, material."""

from dataclasses import dataclass
from typing import Any

import numpy as np

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
