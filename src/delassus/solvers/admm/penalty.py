"""The penalty ρ of ADMM: fixed, moved by a constant factor, or moved by a power of the condition number.

Residual balancing (Tsounis et al. 2025, eq. 171, 172b): ρ rises while the splitting (x ≠ y) is what is wrong, and falls
while the momentum is. The spectral rule (eq. 172, after Nishihara et al. and Carpentier et al., RSS 2024) starts from ρ
= √(L m) (L/m)^p with L the largest eigenvalue of D and m = η, the smallest one the proximal term leaves.
"""

import math
from collections.abc import Callable

import numpy as np

from delassus.kernel import njit
from delassus.linalg.dense_product import dense_times

RULES = ("fixed", "linear", "spectral")

_STEPS = 20  # of power iteration: L within a few per cent, and ρ feels only a power of it
_RANGE = 1e8  # ρ stays within this factor of where it began


@njit(cache=True)
def next_penalty(rho, first, primal, dual, ratio, factor):
    """ρ after a look at the residuals, ∞-norms of x − y and η Δx + ρ Δy.  first: where ρ began."""
    if primal > ratio * dual:
        return min(rho * factor, first * _RANGE)
    if dual > ratio * primal:
        return max(rho / factor, first / _RANGE)
    return rho


def spectral_penalty(L: float, eta: float, power: float) -> float:
    """√(L η) (L/η)^power (eq. 172a)."""
    return math.sqrt(L * eta) * (L / eta) ** power


def largest_eigenvalue(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """L of D by power iteration, from below; one where D vanishes.  product: x → D x."""
    x = power_start(size)
    L = 0.0
    for _ in range(_STEPS):
        x /= math.sqrt(x @ x)
        x = product(x)
        L = math.sqrt(x @ x)
        if L == 0.0:
            return 1.0
    return L


def power_start(size: int) -> np.ndarray:
    """Where power iteration starts, always: cos 0, cos 1, cos 2, …, orthogonal to nothing that symmetry would make."""
    return np.cos(np.arange(size))


@njit(cache=True, error_model="numpy")
def largest_eigenvalue_dense(D, x, work):
    """Largest eigenvalue of a full matrix (in fact of Dᵀ, which has the same eigenvalues), from the start x.  x,
    work: (m,), overwritten."""
    L = 0.0
    for _ in range(_STEPS):
        square = 0.0
        for i in range(len(x)):
            square += x[i] * x[i]
        L = math.sqrt(square)
        if L == 0.0:
            return 1.0
        for i in range(len(x)):
            work[i] = x[i] / L
        dense_times(D, work, x)
    square = 0.0
    for i in range(len(x)):
        square += x[i] * x[i]
    return math.sqrt(square) if square > 0.0 else 1.0
