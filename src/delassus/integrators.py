"""Time integrators: where gaps, rows and masses are evaluated, and how velocities move the bodies.

An integrator never calls a solver. Both schemes take impulses over the whole step; rotations move along the exponential
map, so quaternions stay of unit length."""

import math

import numpy as np

from delassus.errors import SettingsError, nearest
from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED


def moved(q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Poses after a time h with constant twists, along the exponential map.  q: (n, 7), u: (n, 6), h [s]."""
    out = np.empty_like(q)
    move(q, u, h, out)
    return out


@njit(cache=True, error_model="numpy", **BORROWED)
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


class Integrator:
    """lead: of a step, how far ahead rows are evaluated; theta: weight of the end of the step in what forces with
    derivatives see (dynamics/implicit.py), 1 − lead; tangents: of finite elements, the first that makes H positive
    definite is taken."""

    lead = 0.0
    tangents: tuple[str, ...] = ("warped",)

    @property
    def theta(self) -> float:
        return 1.0 - self.lead

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated, (n, 7)."""
        raise NotImplementedError


class SemiImplicitEuler(Integrator):
    """Rows at the start of the step, positions with the new velocities (Tsounis et al. 2025, eq. 10): first order; the
    constraint error of a curved path is h²/2 per step."""

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated: here."""
        del u, h
        return q


class Moreau(Integrator):
    """The midpoint: rows half a step ahead, positions with the mean of old and new velocities. Constraint errors of
    curved paths are of third order per step, and free flight is of second order."""

    lead = 0.5
    tangents = ("exact", "clamped")  # another tangent would cost the second order

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated: q + h/2 u⁻."""
        return moved(q, u, 0.5 * h)


INTEGRATORS: dict[str, type[Integrator]] = {"euler": SemiImplicitEuler, "moreau": Moreau}
"""Every integrator by name."""


def integrator(name: str) -> Integrator:
    """The integrator of that name."""
    if name not in INTEGRATORS:
        raise SettingsError(f"unknown integrator {name!r}; {nearest(str(name), list(INTEGRATORS))}")
    return INTEGRATORS[name]()
