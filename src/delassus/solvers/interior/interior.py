"""Mehrotra's predictor-corrector with Nesterov–Todd scaling, and Gondzio's correctors (000 §4.11, §4.14).

The bodies' velocities are eliminated: with equal steps for all variables the iterates (x, y) do not depend on where
they start, since the momentum equation is linear. What is left is r_p = y − (D x + q), and per iteration

    (D + W²) dx = W (z \\ r_z) + r_p,    dy = D dx − r_p,    r_z = σ τ e − z∘z − (W dx_p)∘(W⁻¹ dy_p).
"""

import math
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numba import njit

from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import (
    arrow_solve,
    centrality,
    eigenvalues,
    form_scaling,
    from_eigenvalues,
    jordan_product,
    largest_step,
    scale_by,
    smallest_eigenvalue,
    unscale_by,
)

_REACH = 0.3  # a corrector aims at a step longer by this (Gondzio's δ) …
_GAIN = 0.1  # … and is kept when it gains this part of it
_BAND = 0.1  # eigenvalues below this fraction of the target, or above its inverse, are corrected
_CENTRING = 0.1  # σ is at least this times what the predictor falls short of a full step
_FRACTION = 0.99  # of the way to the boundary
_CENTRED = 1e-3  # smallest eigenvalue of a product, as a fraction of τ, that a step may leave
_SLOPPY = 0.3  # residual of a solve, against what closed contacts still move
_ROUGH = 30.0  # the predictor may be this much rougher: it is not followed, only looked at
_STIFFEST = 1e10  # penalty of joints: 1e-16 of it is lost in the rest of the matrix


class System(Protocol):
    """(I + S D) dx = right in one of its forms."""

    krylov: int  # iterations of the last solve
    is_single: bool  # is the present factor of single precision?
    needs_roots: bool  # does it work with F, S = F Fᵀ?

    def factor(self, weights: Weights, single: bool) -> bool:
        """Factor the system of these weights; False where that fails."""

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = D dx (compliance left out), to a residual of `goal`; False where that broke down."""


class Interior:
    """x: (m',) bilateral rows first; y: (m' − free,); correctors: Gondzio's, at most; joint: penalty of bilateral rows;
    single_above: τ down to which the factor may have single precision."""

    centring, sloppy, centred = _CENTRING, _SLOPPY, _CENTRED

    def __init__(self, standard: Standard, system: System, x: np.ndarray, y: np.ndarray, *, correctors: int,
                 joint: float, single_above: float):  # fmt: skip
        self.standard, self.system = standard, system
        self.x, self.y = x, y
        self.correctors, self.joint, self.single_above = correctors, joint, single_above
        m, c = standard.row_count, standard.row_count - standard.free
        self.weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
        self.eta, self.w, self.z = np.empty(standard.limits + standard.cones), np.empty(c), np.empty(c)
        self.dx, self.image, self.right = np.empty(m), np.empty(m), np.zeros(m)
        self.scaled_dx, self.scaled_dy, self.q = np.empty(c), np.empty(c), np.empty(c)
        self.tau, _ = centrality(standard.limits, x[standard.free :], y)
        self.details: dict[str, float] = {}

    def step(self) -> bool:
        """One iteration: one factorisation, two solves and one per corrector tried; False where it broke down."""
        standard, limits, free = self.standard, self.standard.limits, self.standard.free
        x, y = self.x, self.y
        standard.correct(x)
        v = standard.velocity(x)
        primal = y - v[free:]
        self.tau, _ = centrality(limits, x[free:], y)
        form_scaling(limits, x[free:], y, self.eta, self.w, self.z)
        self.weights.from_scaling(self.eta, self.w, standard.compliance, self.joint)
        # what a solve leaves over becomes primal residual; it should stay well below the velocities of closed contacts
        self.goal = self.sloppy * self.tau / (1.0 + math.sqrt(dot(x, x) / max(1, len(x))))
        begin = perf_counter()
        if not self.system.factor(self.weights, self.tau > self.single_above):
            return False
        factored = perf_counter()
        carried = self.weights.times(np.concatenate([-v[:free], primal]))

        # predictor: q = −z
        self.krylov = 0
        dx, dy = self._direction(-self.z, primal, carried, _ROUGH)
        if dx is None:
            return False
        step = min(1.0, self._longest(dx, dy))
        tau_aff, _ = centrality(limits, x[free:] + step * dx[free:], y + step * dy)
        sigma = min(1.0, max(tau_aff / self.tau, 0.0)) ** 3 if self.tau > 0.0 else 0.0
        sigma = max(sigma, self.centring * (1.0 - step))
        # corrector, with the predictor's second-order term
        target = sigma * self.tau
        scale_by(limits, self.eta, self.w, dx[free:], self.scaled_dx)
        unscale_by(limits, self.eta, self.w, dy, self.scaled_dy)
        complementarity(limits, self.z, self.scaled_dx, self.scaled_dy, target, self.q)
        dx, dy = self._direction(self.q, primal, carried)
        if dx is None:
            return False
        longest = self._longest(dx, dy)
        tried = 0
        while tried < self.correctors and longest < 1.0:
            tried += 1
            better = self._corrected(dx, dy, min(1.0, longest + _REACH), max(target, 1e-3 * self.tau))
            if better is None:
                break
            new = self._longest(*better)
            if new < longest + _GAIN * _REACH and new < 1.0:
                break
            (dx, dy), longest = better, new
        step = self._stay_inside(dx, dy, min(1.0, self._fraction() * longest))
        x += step * dx
        y += step * dy
        self.tau, _ = centrality(limits, x[free:], y)
        self._stiffen(step, dx, v[:free])
        self.details = {
            "tau": self.tau, "step": step, "sigma": sigma, "correctors": float(tried), "krylov": float(self.krylov),
            "primal": float(np.abs(primal).max(initial=0.0)), "joint": float(np.abs(v[:free]).max(initial=0.0)),
            "factor": factored - begin, "solve": perf_counter() - factored, "single": float(self.system.is_single),
        }  # fmt: skip
        return step > 0.0

    def _stiffen(self, step: float, dx: np.ndarray, before: np.ndarray) -> None:
        """Raise the penalty of joints where a nearly full step did not close them: other constraints leave them little
        mobility then."""
        free = self.standard.free
        if free and step > 0.8 and np.abs(dx[:free]).max() > 0.03 * self.joint * np.abs(before).max():
            self.joint = min(30.0 * self.joint, max(self.joint, _STIFFEST))

    def _direction(self, q: np.ndarray, primal: np.ndarray, carried: np.ndarray, rough: float = 1.0) -> tuple[Any, Any]:
        """(dx, dy) of (D + W²) dx = W q + r_p, or (None, None). carried: S r_p, with −S v on bilateral rows; rough:
        factor on the residual of the solve."""
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        if standard.compliance is None:
            unscale_by(limits, self.eta, self.w, q, self.right[free:])  # S W = W⁻¹, without its rounding
            self.right[:free] = 0.0
        else:
            self.right[:free] = 0.0
            scale_by(limits, self.eta, self.w, q, self.right[free:])
            self.right[:] = self.weights.times(self.right)
        self.right += carried
        if not self.system.solve(self.right, self.dx, self.image, rough * self.goal):
            return None, None
        self.krylov += self.system.krylov
        dy = self.image[free:] - primal
        if standard.compliance is not None:
            dy += standard.compliance[free:] * self.dx[free:]
        return self.dx.copy(), dy

    def _corrected(
        self, dx: np.ndarray, dy: np.ndarray, reach: float, target: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The direction with outlying complementarity products at step `reach` pulled towards the target, or None."""
        free, limits = self.standard.free, self.standard.limits
        scale_by(limits, self.eta, self.w, dx[free:], self.scaled_dx)
        unscale_by(limits, self.eta, self.w, dy, self.scaled_dy)
        outliers(limits, self.z, self.scaled_dx, self.scaled_dy, reach, target, self.q)
        zero = np.zeros_like(dy)
        more_dx, more_dy = self._direction(self.q, zero, np.zeros_like(dx))
        if more_dx is None:
            return None
        return dx + more_dx, dy + more_dy

    def _longest(self, dx: np.ndarray, dy: np.ndarray) -> float:
        free, limits = self.standard.free, self.standard.limits
        return min(largest_step(limits, self.x[free:], dx[free:]), largest_step(limits, self.y, dy))

    def _fraction(self) -> float:
        """How much of the way to the boundary is taken."""
        return _FRACTION

    def _stay_inside(self, dx: np.ndarray, dy: np.ndarray, step: float) -> float:
        """The step, shortened until no product falls far behind the others: a point next to the boundary of one cone
        would be held there by it in all iterations to come."""
        free, limits = self.standard.free, self.standard.limits
        for _ in range(40):
            x, y = self.x[free:] + step * dx[free:], self.y + step * dy
            if min(smallest_eigenvalue(limits, x), smallest_eigenvalue(limits, y)) > 0.0:
                tau, least = centrality(limits, x, y)
                if least >= self.centred * tau:
                    return step
            step *= 0.85
        return 0.0


@njit(cache=True, error_model="numpy")
def complementarity(limits, z, a, b, target, q):
    """q = z \\ (target e − z∘z − a∘b)."""
    for i in range(limits):
        q[i] = (target - a[i] * b[i]) / z[i] - z[i]
    for i in range(limits, len(z), 3):
        p0, p1, p2 = jordan_product(a[i], a[i + 1], a[i + 2], b[i], b[i + 1], b[i + 2])
        s0, s1, s2 = arrow_solve(z[i], z[i + 1], z[i + 2], target - p0, -p1, -p2)
        q[i], q[i + 1], q[i + 2] = s0 - z[i], s1 - z[i + 1], s2 - z[i + 2]


@njit(cache=True, error_model="numpy")
def outliers(limits, z, a, b, step, target, q):
    """q = z \\ t with t moving the eigenvalues of (z + θ a)∘(z + θ b) into [0.1, 10] times the target."""
    for i in range(limits):
        low, high = _BAND * target, target / _BAND
        q[i] = _moved((z[i] + step * a[i]) * (z[i] + step * b[i]), low, high) / z[i]
    for i in range(limits, len(z), 3):
        low, high = _BAND * target, target / _BAND
        p0, p1, p2 = jordan_product(
            z[i] + step * a[i], z[i + 1] + step * a[i + 1], z[i + 2] + step * a[i + 2],
            z[i] + step * b[i], z[i + 1] + step * b[i + 1], z[i + 2] + step * b[i + 2],
        )  # fmt: skip
        small, large = eigenvalues(p0, p1, p2)
        t0, t1, t2 = from_eigenvalues(_moved(small, low, high), _moved(large, low, high), p1, p2)
        q[i], q[i + 1], q[i + 2] = arrow_solve(z[i], z[i + 1], z[i + 2], t0, t1, t2)


@njit(cache=True, error_model="numpy")
def _moved(value, low, high):
    """How far the value is moved: up to `low`, or down to `high` but not by more than `high`."""
    if value < low:
        return low - value
    if value > high:
        return max(high - value, -high)
    return 0.0
