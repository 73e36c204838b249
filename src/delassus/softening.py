"""Soft constraints: what gives, and how much. Of single joints, limits and materials, or of all rows of a kind.

`Softening` is MuJoCo's manner: rows that behave like damped springs whatever the masses (Tsounis et al. 2025, eq.
103–110). Each softened row with residual r and speed v⁻ gets an impedance d(|r|) between d₀ and d_w, shaped by a
sigmoid over the width w, and from it

    c = (1 − d)/d,    b = 2/(d_w T),    k = d/(d_w² T² ζ²)

(T time constant, ζ damping ratio). The compliance is E = c D_jj and the row asks for v⁺ + E λ = v⁻ − h (b v⁻ + k r). At
rest under gravity a contact therefore sinks in by c g / k; alone it swings with ω = d/(d_w T ζ) and damping ratio ζ.

`Spring` is an ordinary one, of so many newtons per metre (as contacts have in Mangoni's thesis and in Mangoni and
Tasora): at rest a mass gives way by m g / k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from delassus.arguments import number, numbers, shown, truth
from delassus.errors import ProblemError, SettingsError
from delassus.kernel import njit

NOT_SAID, HARD, IMPEDANCE, SPRING = -1.0, 0.0, 1.0, 2.0
"""First of the `WIDTH` numbers that say how soft something is: nothing is said, hard, `Softening` (T, ζ, d₀, d_w, w,
midpoint, power follow) or `Spring` (stiffness and damping follow, then those
of a joint's angles)."""
WIDTH = 8
_MOST_POWER = 1e3  # of the sigmoid: larger ones are a step, and overflow


@dataclass(frozen=True)
class Softening:
    """How soft rows are, and, in `StepSettings`, which. The defaults are MuJoCo's; symbols as above, in softening.py.

    joints, limits, contacts: whether rows of that kind are soft, where nothing is said at the joint or material.
    time_constant: T [s], at least twice the step, or the spring is stiffer than the step resolves.
    damping_ratio: ζ [-], 1: critical.
    impedance: d₀ at zero residual, between 0 and 1 [-]; nearer to 1 is harder.
    impedance_width: d_w at residuals of the width and beyond, between 0 and 1 [-].
    width: w, the residual at which the impedance is d_w [m, rad].
    midpoint: of the sigmoid between d₀ and d_w, between 0 and 1 [of the width].
    power: of the sigmoid, at least 1 [-]; 1 is a straight line.
    """

    joints: bool = False
    limits: bool = False
    contacts: bool = True
    time_constant: float = 0.02
    damping_ratio: float = 1.0
    impedance: float = 0.9
    impedance_width: float = 0.95
    width: float = 1e-3
    midpoint: float = 0.5
    power: float = 2.0

    def __post_init__(self) -> None:
        for name in ("impedance", "impedance_width", "midpoint"):
            self._need(name, lambda x: 0.0 < x < 1.0, "a number between 0 and 1")
        for name in ("time_constant", "damping_ratio", "width"):
            self._need(name, lambda x: 0.0 < x < np.inf, "a positive number")
            number(getattr(self, name), f"softening.{name}", "-", error=SettingsError)
        self._need("power", lambda x: 1.0 <= x <= _MOST_POWER, f"at least 1, and {_MOST_POWER:g} at most")
        for name in ("joints", "limits", "contacts"):
            truth(getattr(self, name), f"softening.{name}", error=SettingsError)

    def _need(self, name: str, is_fine: Callable[[Any], bool], wanted: str) -> None:
        value = numbers(getattr(self, name))
        if value.shape != () or not is_fine(value):
            raise SettingsError(f"softening.{name} is {shown(getattr(self, name))}: give {wanted}")

    @cached_property
    def plain(self) -> np.ndarray:
        """What compiled code needs, (WIDTH,)."""
        return np.array(
            [IMPEDANCE, self.time_constant, self.damping_ratio, self.impedance, self.impedance_width, self.width,
             self.midpoint, self.power]
        )  # fmt: skip

    def impedance_of(self, residual: np.ndarray) -> np.ndarray:
        """d(|r|), (n,) [-]."""
        return np.array([impedance(self.plain, r) for r in residual])


@dataclass(frozen=True)
class Spring:
    """A spring with a damper beside it.

    stiffness: [N/m, or N m/rad for angles].
    damping: [N s/m, N m s/rad].
    angular_stiffness: of the rows of a joint that keep angles [N m/rad]; None: the number of stiffness.
    angular_damping: of the same [N m s/rad]; None: the number of damping.
    """

    stiffness: float
    damping: float = 0.0
    angular_stiffness: float | None = None
    angular_damping: float | None = None

    def __post_init__(self) -> None:
        for name in ("stiffness", "angular_stiffness", "damping", "angular_damping"):
            value, gives = getattr(self, name), "stiffness" in name
            if value is None and name.startswith("angular"):
                continue
            number(value, f"spring: {name}", "N/m, N m/rad" if gives else "N s/m, N m s", positive=gives)

    @cached_property
    def plain(self) -> np.ndarray:
        """What compiled code needs, (WIDTH,)."""
        k, c = self.angular_stiffness, self.angular_damping
        turning = [self.stiffness if k is None else k, self.damping if c is None else c]
        return np.array([SPRING, self.stiffness, self.damping, *turning] + [0.0] * (WIDTH - 5))


def plain_softness(given: Any, what: str) -> np.ndarray:
    """(WIDTH,) numbers for a Softening, a Spring, False (hard, whatever the settings say) or None (as they say)."""
    if given is None:
        return np.full(WIDTH, NOT_SAID)
    if given is False:
        return np.full(WIDTH, HARD)
    if isinstance(given, Softening | Spring):
        return given.plain
    raise ProblemError(
        f"{what} is {given!r}: give a Softening, a Spring, False for hard or None for what the settings say"
    )


@njit(cache=True)
def impedance(plain, residual):
    """d(|r|) [-] (Tsounis et al. 2025, eq. 103–104)."""
    _, _, _, low, high, width, midpoint, power = plain
    x = min(abs(residual) / width, 1.0)
    if x <= midpoint:
        y = x**power / midpoint ** (power - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** power / (1.0 - midpoint) ** (power - 1.0)
    return low + y * (high - low)
