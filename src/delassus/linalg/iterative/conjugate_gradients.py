"""Conjugate gradients with a preconditioner that is nearly the inverse: what makes a rough factor exact."""

import math
from collections.abc import Callable

import numpy as np

from delassus.kernel import njit

Apply = Callable[[np.ndarray, np.ndarray], None]  # (x, out): out = A x


def conjugate_gradients(
    apply: Apply, precondition: Apply, right: np.ndarray, x: np.ndarray, tol: float, goal: float, most: int
) -> tuple[int, float]:
    """A x = right for symmetric positive definite A, from x = 0; x is written.

    Ends when ‖right − A x‖ is at most goal, or tol ‖right‖, or after `most` iterations; returns (iterations, residual).
    The first iteration costs one preconditioner and one product: a good factor needs no more."""
    x[:] = 0.0
    r, z, p, q = right.copy(), np.empty_like(right), np.zeros_like(right), np.empty_like(right)
    norm = math.sqrt(dot(r, r))
    if norm == 0.0:
        return 0, 0.0
    rho_last, residual = math.inf, norm
    goal = max(goal, tol * norm)
    for k in range(most):
        precondition(r, z)
        rho = dot(r, z)
        if not (math.isfinite(rho) and rho > 0.0):  # a broken factor, or a residual of rounding only
            return k, residual
        _direction(z, rho / rho_last, p)
        apply(p, q)
        curvature = dot(p, q)
        if not curvature > 0.0:
            return k, residual
        residual = math.sqrt(_advance(rho / curvature, p, q, x, r))
        rho_last = rho
        if residual <= goal:
            return k + 1, residual
    return most, residual


@njit(cache=True)
def dot(a, b):
    """a·b in one thread: BLAS starts several for long vectors, which costs more than it saves."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _direction(z, beta, p):
    for i in range(len(p)):
        p[i] = z[i] + beta * p[i]


@njit(cache=True)
def _advance(alpha, p, q, x, r):
    """x += α p, r −= α q; returns ‖r‖²."""
    total = 0.0
    for i in range(len(x)):
        x[i] += alpha * p[i]
        r[i] -= alpha * q[i]
        total += r[i] * r[i]
    return total
