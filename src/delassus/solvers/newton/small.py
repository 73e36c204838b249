"""Newton's method and Gauß–Seidel on a small dense regularised problem, each one compiled call: see newton.py."""

import math

import numpy as np
from numba import njit

from delassus.linalg.dense_product import times_plus
from delassus.solvers.newton.alart_curnier import alart_curnier, projection_derivative
from delassus.solvers.newton.newton import ARMIJO, HALVINGS
from delassus.solvers.parts.one_contact.slip import solve_slip


class SmallNewton:
    """D: (m, m) and v: (m,) of limits and contacts, in scaled units; mu: (n_c,); rho: of Alart and Curnier's function.

    The regularised problem is W = D + α I with v − α r₀."""

    def __init__(self, D: np.ndarray, v: np.ndarray, limits: int, mu: np.ndarray, rho: float):
        m = len(v)
        self.D, self.v = D, v
        self.limits, self.mu, self.rho = limits, mu, rho
        self.free = math.sqrt(float(v @ v))
        self.W = np.empty((m, m))
        self.vectors = np.empty((8, m))
        self.blocks = np.empty((m, 3))
        self.row = np.empty(m, np.int64)
        self.system = np.empty(m * m)

    def error(self, r: np.ndarray) -> float:
        """Relative residual of r with ρ = 1, not regularised."""
        return _error(self.D, self.v, self.limits, self.mu, self.free, r, self.vectors)

    def solve(
        self, alpha: float, centre: np.ndarray, start: np.ndarray, target: float, steps: int
    ) -> tuple[np.ndarray, int, bool]:
        """(r, steps taken, solved): at most `steps` Newton steps towards a relative residual, ρ = 1, of `target`."""
        r = np.empty_like(start)
        taken, solved = _newton(
            self.D, self.v, self.limits, self.mu, self.rho, alpha, centre, start, target, steps,
            r, self.W, self.vectors, self.blocks, self.row, self.system,
        )  # fmt: skip
        return r, taken, solved

    def sweep(self, alpha: float, centre: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        """r after `count` Gauß–Seidel sweeps on the regularised problem."""
        r = start.copy()
        sweep_dense(self.D, self.v, self.limits, self.mu, alpha, centre, count, r, self.vectors)
        return r


@njit(cache=True, error_model="numpy")
def _norm(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return math.sqrt(total)


@njit(cache=True, error_model="numpy")
def _error(D, v, limits, mu, free, r, vectors):
    u, F = vectors[0], vectors[1]
    times_plus(D, r, v, u)
    norm, scale = alart_curnier(r, u, 1.0, 0, limits, mu, F), max(free, _norm(r))
    return norm / scale if scale > 0.0 else norm


@njit(cache=True, error_model="numpy")
def _newton(D, v, limits, mu, rho, alpha, centre, start, target, most, r, W, vectors, A, row, system):
    """Newton with Armijo's rule on ‖F‖; open contacts, whose reactions vanish, are no unknowns of the linear system.
    Returns (steps, solved); r is written."""
    m = len(v)
    shifted, u, F, trial = vectors[0], vectors[1], vectors[2], vectors[3]
    trial_u, trial_F, direction, right = vectors[4], vectors[5], vectors[6], vectors[7]
    for i in range(m):
        shifted[i] = v[i] - alpha * centre[i]
        r[i] = start[i]
        for j in range(m):
            W[i, j] = D[i, j]
        W[i, i] += alpha
    scale = max(_norm(shifted), _norm(r))
    times_plus(W, r, shifted, u)
    norm = alart_curnier(r, u, rho, 0, limits, mu, F)
    for step in range(most):
        if alart_curnier(r, u, 1.0, 0, limits, mu, right) <= target * scale:
            return step, True
        closed = projection_derivative(r, u, rho, 0, limits, mu, A, row)
        for i in range(m):
            direction[i] = -F[i]
        if closed:
            J = system[: closed * closed].reshape(closed, closed)
            newton_system(W, A, rho, limits, F, row[:closed], J, right)
            if not _solved(J, right[:closed]):
                return step, False
            for p in range(closed):
                direction[row[p]] = right[p]
        length, found = 1.0, False
        for _ in range(HALVINGS):
            for i in range(m):
                trial[i] = r[i] + length * direction[i]
            times_plus(W, trial, shifted, trial_u)
            trial_norm = alart_curnier(trial, trial_u, rho, 0, limits, mu, trial_F)
            if trial_norm <= (1.0 - ARMIJO * length) * norm:
                found = True
                break
            length *= 0.5
        if not found:
            return step, False
        norm = trial_norm
        for i in range(m):
            r[i], u[i], F[i] = trial[i], trial_u[i], trial_F[i]
    return most, alart_curnier(r, u, 1.0, 0, limits, mu, right) <= target * scale


@njit(cache=True, error_model="numpy")
def newton_system(W, A, rho, limits, F, row, J, right):
    """J d = right for the closed rows: J = I − A (I − ρ W) on them; open ones move by −F and enter the right side."""
    m, closed = len(W), len(row)
    for p in range(closed):
        i = row[p]
        first = i if i < limits else limits + 3 * ((i - limits) // 3)
        width = 1 if i < limits else 3
        right[p] = -F[i]
        at = 0  # next closed row among the columns
        for j in range(m):
            value = 0.0
            for a in range(width):
                value += A[i, a] * W[first + a, j]
            value *= rho
            if at < closed and row[at] == j:
                if i == j:
                    value += 1.0
                if first <= j < first + width:
                    value -= A[i, j - first]
                J[p, at] = value
                at += 1
            else:
                right[p] += value * F[j]


@njit(cache=True, error_model="numpy")
def _solved(A, b):
    """Solve A x = b in place, with row pivoting; False where A is singular or the answer not finite."""
    n = len(b)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        pivot = A[best, k]
        if not abs(pivot) > 0.0:
            return False
        if best != k:
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / pivot
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        value = b[i]
        for j in range(i + 1, n):
            value -= A[i, j] * b[j]
        b[i] = value / A[i, i]
        if not math.isfinite(b[i]):
            return False
    return True


@njit(cache=True, error_model="numpy")
def sweep_dense(D, v, limits, mu, alpha, centre, count, r, vectors):
    """Block Gauß–Seidel on W = D + α I, v − α r₀, in place, with the exact solve of every contact."""
    m = len(v)
    slip, shifted = vectors[0], vectors[1]
    block = np.empty(9)
    for i in range(m):
        slip[i] = 0.0
        shifted[i] = v[i] - alpha * centre[i]
    for _ in range(count):
        for i in range(limits):
            value = shifted[i]
            for j in range(m):
                value += D[i, j] * r[j]
            own = D[i, i] + alpha
            if own > 0.0:
                r[i] = max(0.0, r[i] - (value + alpha * r[i]) / own)
        for k in range(len(mu)):
            i = limits + 3 * k
            q = vectors[2]
            for a in range(3):
                value = shifted[i + a]
                for j in range(i):
                    value += D[i + a, j] * r[j]
                for j in range(i + 3, m):
                    value += D[i + a, j] * r[j]
                q[a] = value
                for b in range(3):
                    block[3 * a + b] = D[i + a, i + b]
                block[4 * a] += alpha
            r[i], r[i + 1], r[i + 2], slip[k] = solve_slip(block, 0, q[0], q[1], q[2], mu[k], slip[k])
