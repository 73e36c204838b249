"""Krylov methods for inexact Newton directions: conjugate gradients, BiCGstab, GMRES, preconditioned.

All start from zero and stop when a *measure* of the residual, which the caller chooses, is small enough: what an
inexact direction may be wrong by is not known in the Euclidean norm. Counted are iterations: of BiCGstab each takes two
products with the matrix, of the others one (`PRODUCTS`).
"""

import math
from collections.abc import Callable

import numpy as np

from delassus.kernel import njit
from delassus.linalg.iterative.conjugate_gradients import dot

Apply = Callable[[np.ndarray, np.ndarray], None]  # (x, out): out = A x
Measure = Callable[[np.ndarray], float]  # of a residual
PRODUCTS = {"cg": 1, "gmres": 1, "bicgstab": 2, "direct": 0}
"""With the matrix in an iteration, by name of the method."""


def cg(
    apply: Apply, precondition: Apply, right: np.ndarray, x: np.ndarray, measure: Measure, tol: float, most: int
) -> tuple[int, float]:
    """A x = right for symmetric positive definite A and preconditioner; (iterations, measure reached)."""
    x[:] = 0.0
    r, z, p, q = right.copy(), np.empty_like(right), np.zeros_like(right), np.empty_like(right)
    size, rho_last = measure(r), math.inf
    for k in range(most):
        if size <= tol:
            return k, size
        precondition(r, z)
        rho = dot(r, z)
        if not (math.isfinite(rho) and rho > 0.0):  # an indefinite preconditioner
            return k, size
        _combine(z, rho / rho_last, p)
        apply(p, q)
        curvature = dot(p, q)
        if not curvature > 0.0:
            return k, size
        _add(rho / curvature, p, x)
        _add(-rho / curvature, q, r)
        rho_last, size = rho, measure(r)
    return most, size


def bicgstab(
    apply: Apply, precondition: Apply, right: np.ndarray, x: np.ndarray, measure: Measure, tol: float, most: int
) -> tuple[int, float]:
    """A x = right for any A (van der Vorst 1992, preconditioned from the right); (iterations, measure reached).

    Residuals do not fall steadily: the best point seen is returned."""
    x[:] = 0.0
    r, shadow = right.copy(), right.copy()
    p, v, s, t = np.zeros_like(r), np.zeros_like(r), np.empty_like(r), np.empty_like(r)
    p_hat, s_hat = np.empty_like(r), np.empty_like(r)
    best, size = x.copy(), measure(r)
    least = size
    rho_last = alpha = omega = 1.0
    done = 0
    while done < most and least > tol:
        rho = dot(shadow, r)
        if rho == 0.0 or not math.isfinite(rho):
            break
        _search(r, rho / rho_last * alpha / omega, omega, v, p)
        precondition(p, p_hat)
        apply(p_hat, v)
        along = dot(shadow, v)
        if along == 0.0:
            break
        alpha = rho / along
        _subtract(r, alpha, v, s)
        precondition(s, s_hat)
        apply(s_hat, t)
        done += 1
        square = dot(t, t)
        omega = dot(t, s) / square if square > 0.0 else 0.0
        _add(alpha, p_hat, x)
        _add(omega, s_hat, x)
        _subtract(s, omega, t, r)
        size = measure(r)
        if size < least:
            least = size
            best[:] = x
        if omega == 0.0 or not math.isfinite(size):
            break
        rho_last = rho
    x[:] = best
    return done, least


def gmres(
    apply: Apply, precondition: Apply, right: np.ndarray, x: np.ndarray, measure: Measure, tol: float, most: int
) -> tuple[int, float]:
    """A x = right for any A by GMRES, restarted, preconditioned from the right; (iterations, measure reached).

    The recurrence knows the Euclidean norm only; the measure is taken of the true residual at every restart, and
    whenever that norm has fallen as far as the measure was missing."""
    n = len(right)
    x[:] = 0.0
    basis, r, z, image = np.empty((_RESTART + 1, n)), right.copy(), np.empty(n), np.empty(n)
    H = np.zeros((_RESTART + 1, _RESTART))
    size, done = measure(r), 0
    while size > tol and done < most:
        length = math.sqrt(dot(r, r))
        basis[0] = r / length
        target = np.zeros(_RESTART + 1)
        target[0] = length
        k = 0
        while k < _RESTART and done < most:
            precondition(basis[k], z)
            apply(z, basis[k + 1])
            _orthogonalise(basis, k + 1, H[:, k])
            done, k = done + 1, k + 1
            y, missing = _least_squares(H[: k + 1, :k], target[: k + 1])
            if missing * size <= 0.7 * tol * length or H[k, k - 1] == 0.0:
                break
        _combination(basis, y, image)
        precondition(image, z)
        x += z
        apply(x, image)
        _subtract(right, 1.0, image, r)
        size = measure(r)
        if not math.sqrt(dot(r, r)) < 0.999 * length:  # stagnation, or rounding
            break
    return done, size


_RESTART = 60  # vectors kept by GMRES


def _least_squares(H: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """The y that makes ‖H y − target‖ least, and that norm."""
    y = np.linalg.lstsq(H, target, rcond=None)[0]
    gap = H @ y - target
    return y, math.sqrt(float(gap @ gap))


@njit(cache=True)
def _orthogonalise(basis, k, column):
    """Make vector k of the basis orthogonal to those before it and of unit length; twice is enough."""
    w = basis[k]
    column[: k + 1] = 0.0
    for _ in range(2):
        for i in range(k):
            h = dot(basis[i], w)
            column[i] += h
            for j in range(len(w)):
                w[j] -= h * basis[i, j]
    length = math.sqrt(dot(w, w))
    column[k] = length
    if length > 0.0:
        for j in range(len(w)):
            w[j] /= length


@njit(cache=True)
def _combination(basis, y, out):
    """out = Σ y_i basis_i."""
    for j in range(len(out)):
        out[j] = 0.0
    for i in range(len(y)):
        for j in range(len(out)):
            out[j] += y[i] * basis[i, j]


@njit(cache=True)
def _combine(z, beta, p):
    """p = z + β p."""
    for i in range(len(p)):
        p[i] = z[i] + beta * p[i]


@njit(cache=True)
def _add(f, p, x):
    """x += f p."""
    for i in range(len(x)):
        x[i] += f * p[i]


@njit(cache=True)
def _subtract(a, f, b, out):
    """out = a − f b."""
    for i in range(len(out)):
        out[i] = a[i] - f * b[i]


@njit(cache=True)
def _search(r, beta, omega, v, p):
    """p = r + β (p − ω v)."""
    for i in range(len(p)):
        p[i] = r[i] + beta * (p[i] - omega * v[i])
