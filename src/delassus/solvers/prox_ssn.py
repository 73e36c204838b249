"""Proximal semismooth Newton for exact Coulomb friction, dense: for problems of up to some thousand rows.

Outer loop, a proximal point iteration: r_{k+1} solves the law for (D + α I, v_f − α r_k), which is well-posed however
hyperstatic D is, with α falling as long as the inner loop is quick. Inner loop: Newton on the Alart–Curnier function

    F_n = r_n − max(0, r_n − ρ u_n),    F_t = r_t − P_disk(μ max(0, r_n − ρ u_n))(r_t − ρ u_t)

with Armijo's rule on ‖F‖. In units where the mean diagonal of D and the rms of v_f are one, ρ = 100 is decisive: a ρ of
one costs several times more factorisations, a thousand breaks sphere piles. Every block is scaled by its own mobility
first, so that mass ratios do not matter to the proximal term.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import lapack

from delassus.problem import Problem, normalise
from delassus.solvers.elimination import Elimination
from delassus.solvers.settings import Settings, require
from delassus.solvers.splitting import Splitting, SplittingMethod

_POOR = 0.1  # relative residual above which a guess is not worth starting from
_PATIENCE, _RESTARTS = 8, 6  # outer iterations without halving the residual before starting afresh, and how often


@dataclass(frozen=True)
class ProxSsn(Settings):
    """Settings of the proximal semismooth Newton method."""

    rho: float = 100.0  # step of the Alart–Curnier function, in scaled units
    alpha: float = 1e-2  # first proximal weight, in scaled units
    alpha_min: float = 1e-10  # and the least
    newton_steps: int = 12  # at most, per outer iteration
    warm_up: int = 30  # Gauß–Seidel sweeps before the first outer iteration, unless a guess is given

    def __post_init__(self):
        require(self.rho > 0.0, f"rho is {self.rho}: give a positive number")
        require(0.0 < self.alpha_min <= self.alpha, f"alpha is {self.alpha}: give at least alpha_min, both positive")
        require(self.newton_steps >= 1, f"newton_steps is {self.newton_steps}: give at least one")
        require(self.warm_up >= 0, f"warm_up is {self.warm_up}: give zero or more")


class ProxSsnMethod:
    """One iteration is one outer (proximal) iteration; joints are eliminated first."""

    def __init__(self, problem: Problem, settings: ProxSsn, reactions: np.ndarray, sweeps: Splitting):
        self.settings = settings
        self.reactions = reactions
        self.sweeps = sweeps
        self.finished = False
        self.is_costly = True
        self.alpha = settings.alpha
        self.failed_alpha = 0.0
        self.eliminated = Elimination(problem)
        if not len(self.eliminated.v):
            return
        whole = self.eliminated.problem()
        self.scaled, self.scaling = normalise(whole, per_block=True)
        self.D = self.scaled.delassus.dense()
        self.v = self.scaled.free_velocity
        self.limits, self.mu = self.scaled.cone.unilateral, self.scaled.mu
        self.r = self.scaling.scaled_reactions(reactions[self.eliminated.joint_rows :])
        self.restarts = 0
        self.residual = self.milestone = self._error(self.r)
        self.since = 0  # outer iterations since the residual last halved
        if self.residual > _POOR:
            self._restart()

    def advance(self, count: int) -> None:
        """`count` outer iterations, then the joints that go with the contacts."""
        if len(self.eliminated.v):
            for _ in range(count):
                if self.residual <= 1e-15:
                    break
                self._outer()
                self._look_back()
            self.reactions[self.eliminated.joint_rows :] = self.scaling.reactions(self.r)
        self.eliminated.write_joints(self.reactions)

    def judged(self, excess: float) -> None:
        del excess

    def _look_back(self) -> None:
        """Start afresh where the residual no longer falls: hyperstatic problems have many corners to come from."""
        self.since += 1
        if self.residual <= 0.5 * self.milestone:
            self.milestone, self.since = self.residual, 0
        elif self.since >= _PATIENCE and self.restarts < _RESTARTS:
            self.restarts += 1
            self._restart()

    def _restart(self) -> None:
        """From zero, through some sweeps: after an impact the last step's reactions are worse than none."""
        self.r = self._swept(self.scaled, np.zeros(len(self.v)), self.settings.warm_up * (1 + 2 * self.restarts))
        self.residual = self.milestone = self._error(self.r)
        self.alpha, self.failed_alpha, self.since = self.settings.alpha, 0.0, 0

    def _outer(self) -> None:
        """One proximal step, with a second try after Gauß–Seidel sweeps on the *same* regularised problem."""
        alpha = self.alpha
        target = 0.5 * self.residual
        W = self.D + alpha * np.eye(len(self.v))
        shifted = self.v - alpha * self.r
        start = self.r
        for attempt in range(2):
            solution, steps, solved = self._newton(W, shifted, start, target)
            if solved:
                break
            if attempt == 0:
                regular = Problem.dual(W, shifted, cone=self.scaled.cone, law=self.scaled.law)
                start = self._swept(regular, solution, 50)
        if not solved:
            self.failed_alpha, self.alpha = alpha, min(4.0 * alpha, 1.0)
            self._accept(solution)
            return
        # extrapolating pays while the proximal weight is felt
        step = 1.3 if alpha > 1e-5 else 1.0
        rose = not self._accept(self.r + step * (solution - self.r)) and not self._accept(solution)
        if not rose:
            factor = 0.1 if steps <= 3 else 0.3 if steps <= 6 else 0.7 if steps <= 10 else 1.0
            wanted = alpha * factor
            if wanted <= self.failed_alpha:
                wanted = max(wanted, 0.7 * alpha)  # approach a weight that failed before slowly
            self.alpha = max(wanted, self.settings.alpha_min)
        else:
            self.r, self.residual = solution, self._error(solution)

    def _accept(self, r: np.ndarray) -> bool:
        """Take r if its unregularised residual is below the present one."""
        error = self._error(r)
        if error >= self.residual:
            return False
        self.r, self.residual = r, error
        return True

    def _error(self, r: np.ndarray) -> float:
        """Relative Alart–Curnier residual with unit step, in scaled units."""
        F = np.empty(len(r))
        _alart_curnier(r, self.D @ r + self.v, 1.0, self.limits, self.mu, F)
        return float(np.linalg.norm(F) / max(np.linalg.norm(self.v), np.linalg.norm(r)))

    def _newton(self, W, v, r, target: float) -> tuple[np.ndarray, int, bool]:
        """(r, steps, solved): Newton on the regularised problem until its residual is below target."""
        rho, scale = self.settings.rho, max(np.linalg.norm(v), np.linalg.norm(r))
        m = len(r)
        F, trial_F, A, row = np.empty(m), np.empty(m), np.empty((m, 3)), np.empty(m, np.int64)
        r = r.copy()
        norm = _alart_curnier(r, W @ r + v, rho, self.limits, self.mu, F)
        for step in range(self.settings.newton_steps):
            if norm <= target * scale:
                return r, step, True
            closed = _derivative(r, W @ r + v, rho, self.limits, self.mu, A, row)
            direction = -F  # of open contacts, whose reactions vanish; they are no unknowns of the system
            if closed:
                J, right = np.empty((closed, closed)).T, np.empty(closed)
                _newton_system(W, A, rho, self.limits, F, row[:closed], J, right)
                _, _, moves, info = lapack.dgesv(J, right, overwrite_a=True)
                if info != 0 or not np.isfinite(moves).all():
                    return r, step, False
                direction[row[:closed]] = moves
            length = 1.0
            for _ in range(12):
                trial = r + length * direction
                trial_norm = _alart_curnier(trial, W @ trial + v, rho, self.limits, self.mu, trial_F)
                if trial_norm <= (1.0 - 1e-4 * length) * norm:
                    break
                length *= 0.5
            else:
                return r, step, False
            r, norm = trial, trial_norm
            F, trial_F = trial_F, F
        return r, self.settings.newton_steps, norm <= target * scale

    def _swept(self, problem: Problem, r: np.ndarray, count: int) -> np.ndarray:
        """r after some Gauß–Seidel sweeps."""
        if not count:
            return r
        method = SplittingMethod(problem, self.sweeps, r.copy())
        method.advance(count)
        return method.reactions if np.isfinite(method.reactions).all() else r


@njit(cache=True, error_model="numpy")
def _alart_curnier(r, u, rho, limits, mu, F):
    """F of the module's docstring; returns its norm."""
    total = 0.0
    for i in range(limits):
        F[i] = r[i] - max(0.0, r[i] - rho * u[i])
        total += F[i] * F[i]
    for k in range(len(mu)):
        i = limits + 3 * k
        n = max(0.0, r[i] - rho * u[i])
        t1, t2 = r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        radius, length = mu[k] * n, np.sqrt(t1 * t1 + t2 * t2)
        f = 1.0 if length <= radius else radius / length
        F[i], F[i + 1], F[i + 2] = r[i] - n, r[i + 1] - f * t1, r[i + 2] - f * t2
        total += F[i] ** 2 + F[i + 1] ** 2 + F[i + 2] ** 2
    return np.sqrt(total)


@njit(cache=True, error_model="numpy")
def _derivative(r, u, rho, limits, mu, A, row):
    """Rows of the block-diagonal derivative of the projection, (m, 3): columns n, t₁, t₂ (limits use the first), and
    the rows of closed contacts and limits, written to `row`; returns their number."""
    count = 0
    for i in range(limits):
        A[i, 0] = 1.0 if r[i] - rho * u[i] > 0.0 else 0.0
        A[i, 1] = A[i, 2] = 0.0
        if A[i, 0] > 0.0:
            row[count] = i
            count += 1
    for k in range(len(mu)):
        i = limits + 3 * k
        for a in range(3):
            A[i + a, 0] = A[i + a, 1] = A[i + a, 2] = 0.0
        n = r[i] - rho * u[i]
        if n <= 0.0:
            continue
        A[i, 0] = 1.0
        t1, t2 = r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        radius, length = mu[k] * n, np.sqrt(t1 * t1 + t2 * t2)
        if length <= radius:
            A[i + 1, 1] = A[i + 2, 2] = 1.0
        else:
            e1, e2, f = t1 / length, t2 / length, radius / length
            A[i + 1, 0], A[i + 2, 0] = mu[k] * e1, mu[k] * e2
            A[i + 1, 1], A[i + 1, 2] = f * (1.0 - e1 * e1), -f * e1 * e2
            A[i + 2, 1], A[i + 2, 2] = -f * e1 * e2, f * (1.0 - e2 * e2)
        for a in range(3):
            row[count] = i + a
            count += 1
    return count


@njit(cache=True, error_model="numpy")
def _newton_system(W, A, rho, limits, F, row, J, right):
    """J d = right for the closed rows: J = I − A (I − ρ W) on them; open ones move by −F and enter the right side."""
    m, closed = len(W), len(row)
    is_closed = np.zeros(m, np.bool_)
    for p in range(closed):
        is_closed[row[p]] = True
    for p in range(closed):
        i = row[p]
        first = i if i < limits else limits + 3 * ((i - limits) // 3)
        width = 1 if i < limits else 3
        right[p] = -F[i]
        for c in range(closed):
            value = 0.0
            for a in range(width):
                value += A[i, a] * W[first + a, row[c]]
            J[p, c] = rho * value
            if i == row[c]:
                J[p, c] += 1.0
            if first <= row[c] < first + width:
                J[p, c] -= A[i, row[c] - first]
        for j in range(m):
            if not is_closed[j] and F[j] != 0.0:
                for a in range(width):
                    right[p] += rho * A[i, a] * W[first + a, j] * F[j]
