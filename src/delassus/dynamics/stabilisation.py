"""Bias velocities: how violated constraints are driven back, and how impacts bounce (Tsounis et al. 2025, eq. 53–55,
89–94)."""

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

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
_SIZES = {
    "closure": ("m, rad", True, True),
    "penetration_margin": ("m", False, False),
    "depenetration_speed": ("m/s", True, True),
    "bounce_speed": ("m/s", False, True),
}
"""Settings, their units, whether they must be positive, and whether they may be infinite."""


@dataclass(frozen=True)
class Stabilisation:
    """How errors of position are removed: a rate per kind of constraint, the fraction of its error removed in a step.

    joint: fraction of a joint's error, through the velocities [-].
    closure: joints are closed to this after each step, or to rounding, through the positions [m, rad]; inf: not at all.
    limit: fraction of a limit's overshoot, through the positions [-].
    contact: fraction of a penetration, through the positions [-].
    penetration_margin: penetration that is left alone, δ of Tsounis et al. 2025, eq. 91a [m].
    depenetration_speed: cap on the speed of pushing out penetration and overshoot [m/s, rad/s].
    bounce_speed: an approach slower than this does not bounce [m/s].
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
        return cls(
            closure=np.inf, joint=1.0, limit=1.0, contact=1.0, depenetration_speed=np.inf, through_velocities=True
        )  # fmt: skip

    @cached_property
    def plain(self) -> tuple[float, ...]:
        """What compiled code needs, in the order of the functions below."""
        return (
            self.joint, self.limit, self.contact, self.penetration_margin, self.depenetration_speed, self.bounce_speed,
        )  # fmt: skip

    def pushing(self, gravity: np.ndarray, h: float, ahead: float) -> tuple[float, ...]:
        """`plain`, then the largest speed at which velocities push a penetration out [m/s], gravity (3,) [m/s²] and
        the times before and after rows are evaluated in a step h [s]."""
        if self.through_velocities:
            return (*self.plain, self.depenetration_speed, 0.0, 0.0, 0.0, ahead, h - ahead)
        joint, limit, rate, *rest = self.plain
        push = min(self.depenetration_speed, _PUSH * h * math.hypot(*gravity))
        return (joint, limit, min(rate, _RATE), *rest, push, *gravity.tolist(), ahead, h - ahead)

    def pushing_nodes(self, h: float, ahead: float) -> tuple[float, ...]:
        """The same for surfaces of flexible bodies, where velocities do all of the pushing: moving nodes by hand would
        strain the elements behind them."""
        joint, limit, rate, *rest = self.plain
        push = self.depenetration_speed
        return (joint, limit, min(rate, _RATE_OF_NODES), *rest, push, 0.0, 0.0, 0.0, ahead, h - ahead)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def limit_bias(pushing, gap, approach, restitution, h):
    """b on a limit [m/s, rad/s]: reach it and no further (Tsounis et al. 2025, eq. 90), come back a little, the rest
    through positions (moving.py); one that is reached in this step bounces.  pushing: of Stabilisation; gap [m, rad];
    approach: speed before the step, negative towards the limit."""
    out = gap / h if gap >= 0.0 else max(pushing[1] * gap / h, -pushing[6])
    if restitution > 0.0 and approach < -pushing[5] and gap <= -approach * h:
        return min(out, 0.0) + restitution * approach
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def contact_bias(pushing, gap, approach, restitution, h, horizon, before, after):
    """b on a contact's normal [m/s]: v_n + b ≥ 0 (Tsounis et al. 2025, eq. 91, two-sided, and eq. 54).

    pushing: of Stabilisation; gap [m], negative when penetrating; approach: v_n before the step [m/s]; restitution [-];
    horizon: time until rows are evaluated again [s]; before, after: what else changes v_n in this step before and after
    the impact [m/s]. An open contact may close within the horizon and no further; a penetrating one is pushed out a
    little (the rest through the positions, moving.py); one that closes bounces."""
    rate, margin, bounce_speed, push = pushing[2], pushing[3], pushing[5], pushing[6]
    r = gap + margin
    touching = _TOUCHES * h * h * math.sqrt(pushing[7] ** 2 + pushing[8] ** 2 + pushing[9] ** 2)
    r = max(r - touching, 0.0) if r > 0.0 else min(r + touching, 0.0)
    out = r / horizon if r >= 0.0 else max(rate * r / h, -push)
    approach += before
    if restitution > 0.0 and approach < -bounce_speed and r <= -approach * horizon:
        return min(out, 0.0) - max(after - restitution * approach, 0.0)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def weight_along(pushing, pairs, c, rows, r):
    """rows[r] · gravity of the bodies that move [m/s²].  pairs: (n_c, 2), rows: (m, 12)."""
    value = 0.0
    for side in range(2):
        if pairs[c, side] >= 0:
            for k in range(3):
                value += rows[r, 6 * side + k] * pushing[7 + k]
    return value
