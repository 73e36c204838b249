"""Families of problems with one parameter t, each of which is to be followed from its first t down to its last.

All of them smooth the law by ε and, with it, De Saxcé's term by δ = ε² and M to M + ε² I. With δ ~ ε every sliding
contact would be shifted by δ, and paths folded at once.
"""

import math

import numpy as np

from delassus.solvers.continuation.smoothed import by_normal, by_velocity, evaluate, slips, smoothed_projection
from delassus.solvers.continuation.system import System

LARGE = 10.0  # of ln ε, which corrections far off may ask for


class Family:
    """F(x, t), (3 n,), of one system."""

    def __init__(self, system: System, eps: float):
        self.system = system
        self._smooth_by(eps)

    def _smooth_by(self, eps: float) -> None:
        self.eps, self.delta, self.alpha = eps, eps * eps, eps * eps

    def value(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """F and ∂F/∂t, (3 n,) each."""
        raise NotImplementedError

    def solve(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """(∂F/∂x)⁻¹ F and (∂F/∂x)⁻¹ ∂F/∂t, (3 n,) each, by one factorisation."""
        F, by_t = self.value(x, t)
        found = self.system.solve(self.alpha, np.column_stack([F, by_t]))
        return found[:, 0].copy(), found[:, 1].copy()

    def sign(self) -> float:
        """Of det ∂F/∂x where `solve` was called last; NaN where it is not known."""
        return self.system.sign()

    def _at(self, x: np.ndarray, added: np.ndarray | float, gamma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(F, ∂F/∂ε, v) with v = (M + α I) x + q + added and γ times De Saxcé's term."""
        v = self.system.velocity(x) + self.alpha * x + added
        F, by_eps = np.empty_like(x), np.empty_like(x)
        evaluate(x, v, self.eps, self.delta, gamma, F, by_eps, self.system.Q, self.system.R)
        return F, by_eps, v


class Shift(Family):
    """Newton's homotopy: the free velocity q + t r, t from 1 to 0, with r such that `start` solves t = 1 exactly.

    x: (3 n,), near which it starts; gamma: factor on De Saxcé's term; slip: (n,) or a number, added to the normal
    velocities. With gamma = 0 the problem is convex, M + α I is definite, and the path has no folds; from far off its
    bends may still be sharper than the shortest step.
    """

    def __init__(self, system: System, eps: float, x: np.ndarray, gamma: float = 1.0, slip: np.ndarray | float = 0.0):
        super().__init__(system, eps)
        self.gamma, self.added = gamma, np.zeros_like(x)
        self.added[::3] = slip
        size = np.empty(system.contacts)
        y = system.velocity(x) + self.added
        slips(y, 0.0, size)
        y[::3] += gamma * size
        self.start, inner = np.empty_like(x), np.empty_like(x)
        smoothed_projection(x - y, eps, self.start)
        smoothed_projection(y - x, eps, inner)
        slips(inner, self.delta, size)
        inner[::3] -= gamma * size
        self.r = inner - (system.velocity(self.start) + self.alpha * self.start + self.added)

    def value(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        F, _, _ = self._at(x, t * self.r + self.added, self.gamma)
        by_t = np.empty_like(x)
        by_velocity(self.system.R, self.r, by_t)
        return F, by_t


class Slip(Family):
    """De Saxcé's term s₀ + (1 − t) (‖v_t‖ − s₀), t from 1 to 0: from a convex problem with one solution to the exact
    law, so that by degree the path, once started, has another end at t = 0.  s0: (n,), the slips of a point nearby."""

    def __init__(self, system: System, eps: float, s0: np.ndarray):
        super().__init__(system, eps)
        self.s0, self.added, self.size = s0, np.zeros(3 * system.contacts), np.empty(system.contacts)

    def value(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        self.added[::3] = t * self.s0
        F, _, v = self._at(x, self.added, 1.0 - t)
        slips(v, self.delta, self.size)
        by_t = np.empty_like(x)
        by_normal(self.system.R, self.s0 - self.size, by_t)
        return F, by_t


class Smooth(Family):
    """The exact law with ε = exp(t), t falling."""

    def __init__(self, system: System):
        super().__init__(system, 1.0)

    def value(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        self._smooth_by(math.exp(min(t, LARGE)))
        F, by_eps, v = self._at(x, 0.0, 1.0)
        change = 2.0 * self.alpha * x  # of v by t, through α; and through δ:
        change[::3] += 2.0 * self.delta * (self.delta / np.sqrt(v[1::3] ** 2 + v[2::3] ** 2 + self.delta**2) - 1.0)
        by_t = np.empty_like(x)
        by_velocity(self.system.R, change, by_t)
        return F, self.eps * by_eps + by_t
