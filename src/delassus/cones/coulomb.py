"""The Coulomb cone K_μ = {(x_n, x_t): ‖x_t‖ ≤ μ x_n} and its dual K*_μ = {x_n ≥ μ‖x_t‖}, normal first."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, numbers, shown
from delassus.errors import ProblemError
from delassus.kernel import njit

MOST_DE_SAXCE = 1.0
"""The largest μ of exact friction that the natural map of w is asked about. De Saxcé's term counts a sliding velocity
μ times: with μ = 1e7 a body that falls through the floor at 0.01 m/s, and creeps along it at 1e-8, had w_n > 0 and an
error of 2e-8. Up to μ = 1 the natural map bounds the error of Signorini's law, −ρ v_n ≤ √(1 + μ²) ‖λ − P_K(λ − ρ w)‖
(by Moreau's decomposition); beyond, contacts are judged by Alart and Curnier's map."""


@dataclass(frozen=True, eq=False)
class Coulomb:
    """A stack of Coulomb cones, one per contact.  mu: (n,) friction coefficients [-], x: (n, 3), normal first."""

    mu: np.ndarray

    def __post_init__(self) -> None:
        mu = np.atleast_1d(numbers(self.mu))
        if mu.ndim != 1:
            raise ProblemError(f"mu is {shown(self.mu)}: give a friction coefficient for each contact, (n,)")
        check_friction(mu)
        object.__setattr__(self, "mu", mu)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.mu.size, 3)

    def contains(self, x: ArrayLike, tol: float = 0.0) -> bool:
        """Is the distance of every triple to its cone at most tol?"""
        return bool(np.all(self.distance(x) <= number(tol, "tol", "-")))

    def project(self, x: ArrayLike) -> np.ndarray:
        """Nearest point of K_μ, per contact (Tsounis et al. 2025, eq. 150)."""
        return _apply(x, self.mu, _project_all)

    def project_dual(self, x: ArrayLike) -> np.ndarray:
        """Nearest point of K*_μ, per contact (Tsounis et al. 2025, eq. 151; μ = 0 gives the half-space x_n ≥ 0)."""
        return _apply(x, self.mu, _project_dual_all)

    def distance(self, x: ArrayLike) -> np.ndarray:
        """‖x − P_K x‖ per contact, (n,)."""
        x = _triples(x, len(self.mu))
        return np.linalg.norm(x - self.project(x), axis=1)


def check_friction(mu: np.ndarray) -> None:
    """Refuse friction coefficients that are not finite and non-negative, naming the first bad contact."""
    bad = ~(np.isfinite(mu) & (mu >= 0))
    if bad.any():
        k = int(np.argmax(bad))
        raise ProblemError(f"mu[{k}] is {mu[k]}: a friction coefficient must be finite and not negative")


def _triples(x: ArrayLike, count: int) -> np.ndarray:
    """(count, 3), one triple per contact."""
    found = numbers(x)
    if found.size != 3 * count:
        raise ProblemError(f"x holds {found.size} numbers, the cone has {count} contacts: give three for each")
    return found.reshape(-1, 3)


def _apply(x: ArrayLike, mu: np.ndarray, kernel: Callable[..., Any]) -> np.ndarray:
    x = _triples(x, len(mu))
    out = np.empty_like(x)
    kernel(x, mu, out)
    return out


@njit(cache=True, error_model="numpy")
def project_coulomb(xn, x1, x2, mu):
    """P_K of one triple (eq. 150), written so that μ = 0 and μ = ∞-like values need no special case."""
    xt = math.sqrt(x1 * x1 + x2 * x2)  # not hypot, which is ten times slower and saves only what is beyond 1e154
    if mu * xt <= -xn:
        return 0.0, 0.0, 0.0
    if xt <= mu * xn:
        return xn, x1, x2
    # Now xt > 0, or x is NaN (a diverging method) and so is the result. The point lies on the ray s (1, μ x_t/‖x_t‖).
    s = (mu * xt + xn) / (mu * mu + 1.0)
    f = mu * s / xt
    return s, f * x1, f * x2


@njit(cache=True, error_model="numpy")
def project_coulomb_dual(xn, x1, x2, mu):
    """P_K* of one triple (eq. 151)."""
    xt = math.sqrt(x1 * x1 + x2 * x2)
    if xt <= -mu * xn:
        return 0.0, 0.0, 0.0
    if xn >= mu * xt:
        return xn, x1, x2
    s = (xt + mu * xn) / (mu * mu + 1.0)
    f = s / xt
    return mu * s, f * x1, f * x2


@njit(cache=True, error_model="numpy")
def project_disk(x1, x2, radius):
    """Nearest point of the disk ‖x‖ ≤ radius in the plane (eq. 148)."""
    norm = math.sqrt(x1 * x1 + x2 * x2)
    if norm <= radius:
        return x1, x2
    f = radius / norm
    return f * x1, f * x2


@njit(cache=True)
def _project_all(x, mu, out):
    for k in range(len(mu)):
        out[k, 0], out[k, 1], out[k, 2] = project_coulomb(x[k, 0], x[k, 1], x[k, 2], mu[k])


@njit(cache=True)
def _project_dual_all(x, mu, out):
    for k in range(len(mu)):
        out[k, 0], out[k, 1], out[k, 2] = project_coulomb_dual(x[k, 0], x[k, 1], x[k, 2], mu[k])
