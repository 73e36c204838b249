"""Soft constraints in MuJoCo's manner: rows that behave like critically damped springs (paper 003 eq. 103–110).

Each softened row with residual r and speed v⁻ gets an impedance d(|r|) between d₀ and d_w, shaped by a sigmoid over the
width w, and from it

    c = (1 − d)/d,    b = 2/(d_w T),    k = d/(d_w² T² ζ²)

(T time constant, ζ damping ratio). The compliance is E = c D_jj and the row asks for v⁺ + E λ = v⁻ − h (b v⁻ + k r). At
rest under gravity a contact therefore sinks in by c g / k.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from delassus.errors import SettingsError


@dataclass(frozen=True)
class Softening:
    """Which rows are soft, and how. The defaults are MuJoCo's."""

    joints: bool = False
    limits: bool = False
    contacts: bool = True
    time_constant: float = 0.02  # T [s]; at least twice the step, or the spring is stiffer than the step resolves
    damping_ratio: float = 1.0  # ζ [-]
    impedance: float = 0.9  # d₀ at zero residual, in (0, 1)
    impedance_width: float = 0.95  # d_w at residuals of the width and beyond, in (0, 1)
    width: float = 1e-3  # w [m, rad]
    midpoint: float = 0.5  # of the sigmoid, in (0, 1)
    power: float = 2.0  # of the sigmoid, at least 1; 1 is a straight line

    def __post_init__(self):
        for name in ("impedance", "impedance_width", "midpoint"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise SettingsError(f"softening.{name} is {getattr(self, name)}: give a number between 0 and 1")
        for name in ("time_constant", "damping_ratio", "width"):
            if not getattr(self, name) > 0.0:
                raise SettingsError(f"softening.{name} is {getattr(self, name)}: give a positive number")
        if not self.power >= 1.0:
            raise SettingsError(f"softening.power is {self.power}: give at least 1")

    @cached_property
    def plain(self) -> tuple[float, ...]:
        """What compiled code needs: joints, limits, contacts (1 or 0), T, ζ, d₀, d_w, w, midpoint, power."""
        return (
            float(self.joints), float(self.limits), float(self.contacts), self.time_constant, self.damping_ratio,
            self.impedance, self.impedance_width, self.width, self.midpoint, self.power,
        )  # fmt: skip

    def check_step(self, h: float) -> None:
        """Refuse springs that are stiffer than a step of h [s] resolves."""
        if self.time_constant < 2.0 * h:
            raise SettingsError(
                f"softening.time_constant is {self.time_constant} s, less than two steps of {h} s: raise it or lower h"
            )

    def impedance_of(self, residual: np.ndarray) -> np.ndarray:
        """d(|r|), (n,) [-]."""
        return np.array([impedance(self.plain, r) for r in residual])


HARD = (0.0, 0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 1.0, 0.5, 1.0)
"""`Softening.plain` where nothing is soft."""


@njit(cache=True)
def impedance(plain, residual):
    """d(|r|) [-] (003 eq. 103–104)."""
    _, _, _, _, _, low, high, width, midpoint, power = plain
    x = min(abs(residual) / width, 1.0)
    if x <= midpoint:
        y = x**power / midpoint ** (power - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** power / (1.0 - midpoint) ** (power - 1.0)
    return low + y * (high - low)


@njit(cache=True)
def soften(plain, residual, speed, mobility, h):
    """(bias [m/s], compliance [1/kg]) of a row with this residual [m, rad], speed before the step [m/s] and mobility
    D_jj [1/kg]."""
    d = impedance(plain, residual)
    T, ratio, end = plain[3], plain[4], plain[6]
    damping = 2.0 / (end * T)
    stiffness = d / (end * T * ratio) ** 2
    return -(1.0 - h * damping) * speed + h * stiffness * residual, (1.0 - d) / d * mobility
