"""Newton's method on the regularised problem of the proximal iteration, with Armijo's rule on ‖F‖.

Alart and Curnier's function of W = D + α I and v − α r₀, in scaled units. What differs between small, full and sparse
matrices is how W is applied and how the linear system is solved; small ones have a compiled loop of their own.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from delassus.solvers.newton.alart_curnier import alart_curnier, projection_derivative, smoothed_derivative

HALVINGS = 12  # of a step before Newton's method counts as failed
ARMIJO = 1e-4  # least decrease of ‖F‖, as a share of what a full step promises
_SMOOTHED_BELOW = 0.3  # step length below which the next step uses the smoothed derivative


class Newton(ABC):
    """v: (m,); kinds: rows of joints and limits, and friction coefficients (n_c,); rho: of the function."""

    def __init__(self, v: np.ndarray, kinds: tuple[int, int, np.ndarray], rho: float):
        self.v, self.kinds, self.rho = v, kinds, rho
        self.free = math.sqrt(float(v @ v))
        self.blocks, self.row = np.empty((len(v), 3)), np.empty(len(v), np.int64)
        self.width = 0.0  # of the kinks the derivative is smoothed over

    @abstractmethod
    def velocity(self, r: np.ndarray, alpha: float, v: np.ndarray) -> np.ndarray:
        """(D + α I) r + v."""

    @abstractmethod
    def direction(self, r: np.ndarray, u: np.ndarray, alpha: float, F: np.ndarray) -> np.ndarray | None:
        """Newton's step, or None where the system is singular."""

    @abstractmethod
    def sweep(self, alpha: float, centre: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """r after `count` Gauß–Seidel sweeps on the regularised problem."""

    def derivative(self, r: np.ndarray, u: np.ndarray) -> int:
        """Blocks of the derivative of the projection and the rows of closed contacts, whose number is returned."""
        if self.width > 0.0:
            return smoothed_derivative(r, u, self.rho, *self.kinds, self.width, self.blocks, self.row)
        return projection_derivative(r, u, self.rho, *self.kinds, self.blocks, self.row)

    def error(self, r: np.ndarray) -> float:
        """Relative residual of r with ρ = 1, not regularised."""
        norm = alart_curnier(r, self.velocity(r, 0.0, self.v), 1.0, *self.kinds, np.empty_like(r))
        scale = max(self.free, math.sqrt(float(r @ r)))
        return norm / scale if scale > 0.0 else norm

    def solve(
        self, alpha: float, centre: np.ndarray, start: np.ndarray, target: float, steps: int
    ) -> tuple[np.ndarray, int, bool]:
        """(r, steps taken, solved): at most `steps` Newton steps towards a relative residual, ρ = 1, of `target`."""
        v, r, rho = self.v - alpha * centre, start, self.rho
        goal = target * max(float(np.linalg.norm(v)), float(np.linalg.norm(r)))
        F, trial_F, nothing = np.empty_like(r), np.empty_like(r), np.zeros_like(v)
        u = self.velocity(r, alpha, v)
        norm = alart_curnier(r, u, rho, *self.kinds, F)
        smoothed = stuck = False  # is the derivative, and did the other one find no descent?
        for step in range(steps):
            if alart_curnier(r, u, 1.0, *self.kinds, trial_F) <= goal:
                return r, step, True
            self.width = norm / math.sqrt(len(r)) if smoothed else 0.0
            direction = self.direction(r, u, alpha, F)
            if direction is None or not np.isfinite(direction).all():
                return r, step, False
            length, pull = 1.0, self.velocity(direction, alpha, nothing)
            for _ in range(HALVINGS):
                trial = r + length * direction
                trial_norm = alart_curnier(trial, u + length * pull, rho, *self.kinds, trial_F)
                if trial_norm <= (1.0 - ARMIJO * length) * norm:
                    break
                length *= 0.5
            else:
                if stuck:
                    return r, step, False
                stuck, smoothed = True, not smoothed
                continue
            r, norm, stuck, smoothed = trial, trial_norm, False, length < _SMOOTHED_BELOW
            u = self.velocity(r, alpha, v)
            F, trial_F = trial_F, F
        return r, steps, alart_curnier(r, u, 1.0, *self.kinds, trial_F) <= goal
