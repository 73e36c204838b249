"""Bias velocities: how violated constraints are driven back, and how impacts bounce (Tsounis et al. 2025, eq. 53–55,
89–94)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from delassus.arguments import number, numbers, shown, truth
from delassus.errors import SettingsError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_RATE = 0.1  # fraction of a penetration of rounding size that velocities push out per step
_PUSH = 0.01  # of what gravity gives in a step: speed that velocities may keep from pushing out a penetration
_RATE_OF_NODES = 0.2  # the same of penetrations of flexible surfaces
# Gaps within this much of h² g (1e-11 m in a step of 1 ms) are none. What rests on more than three points has gaps of
# either sign, which are closed in one step and pushed out in ten: it would rattle at this size for ever, never at rest.
_TOUCHES = 1e-6
_RESTS = 0.125  # of what gravity gives in a step: a contact that closes more slowly rests
_SIZES = {
    "closure": ("m, rad", True, True),
    "penetration_margin": ("m", False, False),
    "depenetration_speed": ("m/s", True, True),
    "bounce_speed": ("m/s", False, True),
}
"""Settings, their units, whether they must be positive, and whether they may be infinite."""


class Rates(NamedTuple):
    """The numbers of `Stabilisation`, of the same names."""

    joint: float
    limit: float
    contact: float
    penetration_margin: float
    depenetration_speed: float
    bounce_speed: float


class Pushing(NamedTuple):
    """What biases of rows are made of in a step. `Stabilisation.pushing` is a plain tuple of these fields."""

    joint: float  # fraction of a joint's error that velocities remove [-]
    limit: float  # of a limit's overshoot [-]
    contact: float  # of a penetration [-]
    penetration_margin: float  # [m]
    depenetration_speed: float  # [m/s, rad/s]
    bounce_speed: float  # [m/s]
    push: float  # largest speed at which velocities push a penetration or an overshoot out [m/s, rad/s]
    gravity: tuple[float, float, float]  # [m/s²]
    ahead: float  # time from the start of the step to where rows are evaluated [s]
    behind: float  # time from there to its end [s]
    slowest_bounce: float  # of contacts [m/s]


@dataclass(frozen=True)
class Stabilisation:
    """How errors of position are removed: a rate per kind of constraint, the fraction of its error removed in a step.

    joint: fraction of a joint's error, through the velocities [-].
    closure: joints are closed to this after each step, or to rounding, through the positions [m, rad]; inf: not at all.
    limit: fraction of a limit's overshoot, through the positions [-].
    contact: fraction of a penetration, through the positions [-].
    penetration_margin: penetration that is left alone, δ of Tsounis et al. 2025, eq. 91a [m].
    depenetration_speed: cap on the speed of pushing out penetration and overshoot [m/s, rad/s].
    bounce_speed: an approach slower than this does not bounce [m/s], nor does a contact's that is slower than an eighth
        of what gravity gives in a step.
    through_velocities: penetration and overshoot are pushed out through the velocities, and fast bodies are not
        followed [yes, no].

    The 1/h·Φ form of Mangoni's thesis and Heyn et al. 2013 is a rate of one (`Stabilisation.full()`).
    """

    joint: float = 0.2
    closure: float = 1e-12
    limit: float = 0.2
    contact: float = 1.0
    penetration_margin: float = 0.0
    depenetration_speed: float = 1.0
    bounce_speed: float = 1e-3
    through_velocities: bool = False

    def __post_init__(self) -> None:
        for name in ("joint", "limit", "contact"):
            value = numbers(getattr(self, name))
            if value.shape != () or not 0.0 <= value <= 1.0:
                raise SettingsError(
                    f"stabilisation.{name} is {shown(getattr(self, name))}: give a fraction from 0 to 1"
                )
            object.__setattr__(self, name, float(value))  # compiled code is made for floats alone
        for name, (unit, must, may) in _SIZES.items():
            given = getattr(self, name)
            if may and isinstance(given, Real) and given == np.inf:
                given = np.inf
            else:
                what, hint = f"stabilisation.{name}", ", or inf for none" if may else ""
                given = number(given, what, unit, positive=must, hint=hint, error=SettingsError)
            object.__setattr__(self, name, given)
        truth(self.through_velocities, "stabilisation.through_velocities", error=SettingsError)

    @classmethod
    def full(cls) -> "Stabilisation":
        """Φ/h on every row: the form of Mangoni's thesis and Heyn et al. 2013."""
        everything = {"joint": 1.0, "limit": 1.0, "contact": 1.0, "depenetration_speed": np.inf}
        return cls(**everything, closure=np.inf, through_velocities=True)

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Fields of `Rates`."""
        return tuple(float(getattr(self, name)) for name in Rates._fields)

    def pushing(self, gravity: np.ndarray, h: float, ahead: float) -> tuple[Any, ...]:
        """Fields of `Pushing`.  gravity: (3,) [m/s²]; h, ahead: the step and where in it rows are evaluated [s]."""
        if self.through_velocities:
            return self._pushing(self.contact, self.depenetration_speed, (0.0, 0.0, 0.0), h, ahead)
        push = min(self.depenetration_speed, _PUSH * h * math.hypot(*gravity))
        x, y, z = gravity.tolist()
        return self._pushing(min(self.contact, _RATE), push, (x, y, z), h, ahead)

    def pushing_nodes(self, h: float, ahead: float) -> tuple[Any, ...]:
        """The same for surfaces of flexible bodies, where velocities do all of the pushing: moving nodes by hand would
        strain the elements behind them."""
        rate = min(self.contact, _RATE_OF_NODES)
        return self._pushing(rate, self.depenetration_speed, (0.0, 0.0, 0.0), h, ahead)

    def _pushing(
        self, contact: float, push: float, gravity: tuple[float, float, float], h: float, ahead: float
    ) -> tuple[Any, ...]:
        joint, limit, _, margin, *speeds = self.rates
        times = float(ahead), float(h - ahead), self.slowest_bounce(gravity, h)
        return (joint, limit, float(contact), margin, *speeds, float(push), gravity, *times)

    def slowest_bounce(self, gravity: Iterable[float], h: float) -> float:
        """The slowest approach of a contact that bounces [m/s]: slower ones would be up for less than a quarter of the
        step h [s], gravity (3,) [m/s²]."""
        return float(max(self.bounce_speed, _RESTS * h * math.hypot(*gravity)))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def limit_bias(pushing, gap, approach, restitution, h):
    """b on a limit [m/s, rad/s]: reach it and no further (Tsounis et al. 2025, eq. 90), come back a little, the rest
    through positions (moving.py); one that is reached in this step bounces.  pushing: fields of `Pushing`; gap [m,
    rad]; approach: speed before the step, negative towards the limit."""
    by = Pushing(*pushing)
    out = gap / h if gap >= 0.0 else max(by.limit * gap / h, -by.push)
    if restitution > 0.0 and approach < -by.bounce_speed and gap <= -approach * h:
        return min(out, 0.0) + restitution * approach
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def contact_bias(pushing, gap, approach, restitution, h, horizon, before, after):
    """b on a contact's normal [m/s]: v_n + b ≥ 0 (Tsounis et al. 2025, eq. 91, two-sided, and eq. 54).

    pushing: fields of `Pushing`; gap [m], negative when penetrating; approach: v_n before the step [m/s]; restitution
    [-]; horizon: time until rows are evaluated again [s]; before, after: what else changes v_n in this step before and
    after the impact [m/s]. An open contact may close within the horizon and no further; a penetrating one is pushed out
    a little (the rest through the positions, moving.py); one that closes bounces. One that separates may be pressed
    shut by its neighbours as fast as Moreau's rule lets it, v⁺ + e v⁻ ≥ 0, and no slower than it closes in the horizon:
    stopped short of that it would do work."""
    by = Pushing(*pushing)
    r = gap + by.penetration_margin
    g = by.gravity
    touching = _TOUCHES * h * h * math.sqrt(g[0] ** 2 + g[1] ** 2 + g[2] ** 2)
    r = max(r - touching, 0.0) if r > 0.0 else min(r + touching, 0.0)
    out = r / horizon if r >= 0.0 else max(by.contact * r / h, -by.push)
    approach += before
    if restitution > 0.0 and approach < -by.slowest_bounce and r <= -approach * horizon:
        return min(out, 0.0) - max(after - restitution * approach, 0.0)
    if restitution > 0.0 and approach > by.slowest_bounce:
        return max(out, restitution * approach - after)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def weight_along(gravity, pairs, c, rows, r):
    """rows[r] · gravity of the bodies that move [m/s²].  pairs: (n_c, 2), rows: (m, 12)."""
    value = 0.0
    for side in range(2):
        if pairs[c, side] >= 0:
            for k in range(3):
                value += rows[r, 6 * side + k] * gravity[k]
    return value
