"""What both spaces share: the scaling of an iteration, the measure of a direction's error, the Krylov methods by name.

Let A dx = b + r. To first order the products x∘y after the step are the target plus W⁻¹ r in the scaled space, where x
and y coincide, whatever A: r matters relative to √τ there. So the Krylov methods stop on the largest ‖W⁻¹ r‖ / √τ of a
cone, not on ‖r‖: it is the worst cone that shortens the step. (The root mean square over cones let a few be wrong, and
steps of a tenth alternate with long ones.) As published, they stop on ‖r‖.

Under the exact law the velocities have De Saxcé's term (Kleinert et al. 2014, eq. 7): in the standard cone ‖y_t‖ on the
normal row, whatever μ. Its generalised Jacobian (eq. 13) adds ξ · (rows t of D) to row n, ξ = y_t / ‖y_t‖: the matrix
of a direction is no longer symmetric.
"""

import math
from collections.abc import Callable

import numpy as np

from delassus.kernel import njit
from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.linalg.iterative.krylov import bicgstab, cg, gmres
from delassus.solvers.parts.jordan import form_scaling, form_squares, scaled


def krylov_method(name: str) -> Callable[..., tuple[int, float]]:
    """The Krylov method behind a name of the settings."""
    return {"cg": cg, "bicgstab": bicgstab, "gmres": gmres}[name]


class Scaling:
    """Nesterov–Todd scaling of all cones.  diagonal: (limits,) and blocks: (cones, 3, 3) of W²;
    unit: √τ of the target; euclidean: residuals are measured by ‖r‖; slopes: (cones, 2) ξ of De Saxcé's term, or None
    where there is none."""

    def __init__(self, free: int, limits: int, cones: int, *, euclidean: bool = False, is_exact_law: bool = False):
        self.free, self.limits, self.euclidean = free, limits, euclidean
        self.slopes = np.zeros((cones, 2)) if is_exact_law else None
        c = limits + 3 * cones
        self.eta, self.w, self.z = np.empty(limits + cones), np.empty(c), np.empty(c)
        self.diagonal, self.blocks = np.empty(limits), np.empty((cones, 3, 3))
        self.unit = 1.0

    def form(self, x: np.ndarray, y: np.ndarray, target: float) -> None:
        """x, y: the cones' part, inside; target: τ the direction aims at."""
        form_scaling(self.limits, x, y, self.eta, self.w, self.z)
        form_squares(self.limits, self.eta, self.w, False, self.diagonal, self.blocks)
        self.unit = math.sqrt(target) if target > 0.0 else 1.0

    def measure(self, r: np.ndarray) -> float:
        """max ‖W⁻¹ r‖ / √τ over the cones, bilateral rows as they are; or ‖r‖."""
        if self.euclidean:
            return math.sqrt(dot(r, r))
        return _largest_unscaled(self.free, self.limits, self.eta, self.w, r) / self.unit

    def add_square(self, softness: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
        """out += (W² + R) x."""
        _add_square(self.free, self.diagonal, self.blocks, softness, x, out)

    def tolerance(self, b: np.ndarray, accuracy: float, gain: float) -> float:
        """Of the measure, for a direction with the right side b.  gain: a direction leaves at most this part of it, or
        small corrections would be none at all."""
        return accuracy * self.measure(b) if self.euclidean else min(accuracy, gain * self.measure(b))

    def add_sliding(self, y: np.ndarray) -> np.ndarray:
        """y (m',), on whose normal rows De Saxcé's term is added where the law has it."""
        if self.slopes is not None:
            _add_sliding(self.free + self.limits, y)
        return y

    def set_slopes(self, y: np.ndarray) -> None:
        """ξ at these velocities (m',)."""
        if self.slopes is not None:
            _fill_slopes(self.free + self.limits, y, self.slopes)

    def add_slopes(self, v: np.ndarray) -> np.ndarray:
        """v = D dx (m',), which becomes the derivative of the velocities along dx."""
        if self.slopes is not None:
            _add_slopes(self.free + self.limits, self.slopes, v)
        return v


@njit(cache=True, error_model="numpy")
def _add_sliding(first, y):
    for i in range(first, len(y), 3):
        y[i] += math.sqrt(y[i + 1] * y[i + 1] + y[i + 2] * y[i + 2])


@njit(cache=True, error_model="numpy")
def _fill_slopes(first, y, slopes):
    for k in range(len(slopes)):
        a, b = y[first + 3 * k + 1], y[first + 3 * k + 2]
        length = math.sqrt(a * a + b * b)
        slopes[k, 0], slopes[k, 1] = (a / length, b / length) if length > 0.0 else (0.0, 0.0)


@njit(cache=True, error_model="numpy")
def _add_slopes(first, slopes, v):
    for k in range(len(slopes)):
        i = first + 3 * k
        v[i] += slopes[k, 0] * v[i + 1] + slopes[k, 1] * v[i + 2]


@njit(cache=True, error_model="numpy")
def _largest_unscaled(free, limits, eta, w, r):
    """The longest W⁻¹ r of a cone."""
    most = 0.0
    for i in range(free):
        most = max(most, r[i] * r[i])
    for i in range(limits):
        most = max(most, (r[free + i] / eta[i]) ** 2)
    for k in range(len(eta) - limits):
        i = limits + 3 * k
        j = free + i
        a, b, c = scaled(w[i], -w[i + 1], -w[i + 2], r[j], r[j + 1], r[j + 2])
        most = max(most, (a * a + b * b + c * c) / (eta[limits + k] * eta[limits + k]))
    return math.sqrt(most)


@njit(cache=True, error_model="numpy")
def _add_square(free, diagonal, blocks, softness, x, out):
    for i in range(len(x)):
        out[i] += softness[i] * x[i]
    for i in range(len(diagonal)):
        out[free + i] += diagonal[i] * x[free + i]
    for k in range(len(blocks)):
        i = free + len(diagonal) + 3 * k
        for a in range(3):
            out[i + a] += blocks[k, a, 0] * x[i] + blocks[k, a, 1] * x[i + 1] + blocks[k, a, 2] * x[i + 2]
