"""Time integrators: where gaps, rows and masses are evaluated, and how velocities move the bodies.

An integrator never calls a solver. Both schemes take impulses over the whole step; rotations move along the exponential
map, so quaternions stay of unit length."""

import math

import numpy as np

from delassus.arguments import numbers, shown, word
from delassus.errors import SettingsError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


def moved(q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Poses after a time h with constant twists, along the exponential map.  q: (n, 7), u: (n, 6), h [s]."""
    out = np.empty_like(q)
    move(q, u, h, out)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def move(q, u, h, out):
    """The same into `out`, which may be q itself."""
    for b in range(len(q)):
        for i in range(3):
            out[b, i] = q[b, i] + h * u[b, i]
        # exp(h ω) q with the angular velocity in the world's frame, of unit length again
        ax, ay, az = h * u[b, 3], h * u[b, 4], h * u[b, 5]
        half = 0.5 * math.sqrt(ax * ax + ay * ay + az * az)
        c = math.cos(half)
        s = 0.5 * (math.sin(half) / half if half > 1e-8 else 1.0 - half * half / 6.0)
        ax, ay, az = s * ax, s * ay, s * az
        w, x, y, z = q[b, 3], q[b, 4], q[b, 5], q[b, 6]
        nw = c * w - ax * x - ay * y - az * z
        nx = c * x + ax * w + ay * z - az * y
        ny = c * y - ax * z + ay * w + az * x
        nz = c * z + ax * y - ay * x + az * w
        f = 1.0 / math.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
        out[b, 3], out[b, 4], out[b, 5], out[b, 6] = f * nw, f * nx, f * ny, f * nz


def moved_each(q: np.ndarray, u: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The same with a time for every body.  times: (n,) [s]."""
    return moved(q, times[:, None] * u, 1.0)


STIFFLY = 0.0
"""In the place of θ for springs and dampers: weights that follow their stiffness, see dynamics/softness.py."""


class Integrator:
    """A θ-scheme: what pushes acts at u_θ = (1 − θ) u⁻ + θ u⁺ and q + θh u_θ, and q⁺ = q⁻ + h u_θ.

    theta: θ, the weight of the end of the step; lead: 1 − θ, of a step, how far ahead rows are evaluated; weight: θ of
    springs, drives and dampers, or STIFFLY; tangents: of finite elements, the first that makes H positive definite is
    taken; is_iterated: are forces linearised again and again within a step?; is_penalty: are contacts springs?"""

    own_theta = 1.0
    tangents: tuple[str, ...] = ("warped",)
    is_iterated = False
    is_penalty = False

    def __init__(self, theta: float | None = None):
        """theta: from ½ to 1, None for the integrator's own."""
        self.theta = self.own_theta if theta is None else float(theta)
        self.lead = 1.0 - self.theta
        self.weight = self.theta

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated, (n, 7): q + (1 − θ) h u⁻."""
        return q if self.lead == 0.0 else moved(q, u, self.lead * h)


class SemiImplicitEuler(Integrator):
    """Rows at the start of the step, positions with the new velocities (Tsounis et al. 2025, eq. 10): θ = 1, first
    order; the constraint error of a curved path is h²/2 per step."""


class Moreau(Integrator):
    """The midpoint, θ = ½: rows half a step ahead, positions with the mean of old and new velocities. Constraint errors
    of curved paths are of third order per step, and free flight is of second order. Springs, drives and dampers that
    are too stiff for the step are weighted towards its end, unless θ is given."""

    own_theta = 0.5

    def __init__(self, theta: float | None = None):
        super().__init__(theta)
        self.weight = STIFFLY if theta is None else self.theta


class IteratedEuler(SemiImplicitEuler):
    """Implicit Euler with forces as they are at the end of the step, by Newton's method over it (Mangoni, thesis,
    §3.4); rows stay where they are. Without forces that have derivatives it is the semi-implicit one."""

    is_iterated = True
    tangents = ("exact", "clamped")  # Newton's method wants the first


class PenaltyEuler(SemiImplicitEuler):
    """Contacts as explicit springs (dynamics/penalty.py), all else as under implicit Euler: to compare with, and
    limited by the stiffness of these springs."""

    is_penalty = True


INTEGRATORS: dict[str, type[Integrator]] = {
    "euler": SemiImplicitEuler, "moreau": Moreau, "iterated": IteratedEuler, "penalty": PenaltyEuler,
}  # fmt: skip
"""Every integrator by name."""


def integrator(name: str, theta: float | None = None) -> Integrator:
    """The integrator of that name.  theta: its weight of the end of the step, None for its own."""
    word(name, "integrator", INTEGRATORS, error=SettingsError)
    if theta is None:
        return INTEGRATORS[name]()
    given = numbers(theta)
    if given.shape != () or not 0.5 <= given <= 1.0:
        raise SettingsError(f"theta is {shown(theta)}: give a number from 0.5 (second order) to 1, or None")
    if name != "moreau" and given != 1.0:
        raise SettingsError(f"theta is {theta!r} with integrator {name!r}, which is θ = 1: give integrator='moreau'")
    return INTEGRATORS[name](float(given))
