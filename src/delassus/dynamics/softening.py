"""Soft constraints in MuJoCo's manner: rows that behave like critically damped springs (paper 003 eq. 103–110).

Each softened row with residual r and speed v⁻ gets an impedance d(|r|) between d₀ and d_w, shaped by a sigmoid over the
width w, and from it

    c = (1 − d)/d,    b = 2/(d_w T),    k = d/(d_w² T² ζ²)

(T time constant, ζ damping ratio). The compliance is E = c D_jj and the row asks for v⁺ + E λ = v⁻ − h (b v⁻ + k r). At
rest under gravity a contact therefore sinks in by c g / k.
"""

from dataclasses import dataclass

import numpy as np

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

    def impedance_of(self, residual: np.ndarray) -> np.ndarray:
        """d(|r|), (n,) [-] (003 eq. 103–104)."""
        x = np.minimum(np.abs(residual) / self.width, 1.0)
        low = x**self.power / self.midpoint ** (self.power - 1.0)
        high = 1.0 - (1.0 - x) ** self.power / (1.0 - self.midpoint) ** (self.power - 1.0)
        return self.impedance + np.where(x <= self.midpoint, low, high) * (self.impedance_width - self.impedance)

    def soften(self, residual, speed, mobility, h: float) -> tuple[np.ndarray, np.ndarray]:
        """(bias [m/s], compliance [1/kg]) of rows with these residuals [m, rad], speeds before the step [m/s] and
        mobilities D_jj [1/kg], each (n,)."""
        if self.time_constant < 2.0 * h:
            raise SettingsError(
                f"softening.time_constant is {self.time_constant} s, less than two steps of {h} s: raise it or lower h"
            )
        d = self.impedance_of(residual)
        damping = 2.0 / (self.impedance_width * self.time_constant)
        stiffness = d / (self.impedance_width * self.time_constant * self.damping_ratio) ** 2
        return -(1.0 - h * damping) * speed + h * stiffness * residual, (1.0 - d) / d * mobility
