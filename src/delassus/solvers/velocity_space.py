"""The published interior point with the bodies' velocities as unknowns (000 §4.11), for contacts without friction.

    u − u_f = Cᵀ γ + Dᵀ λ,    C u + b + E γ = 0,    y = D u + b + E λ,    y ≥ 0,  λ ≥ 0,  y∘λ = 0

in coordinates of unit masses. All other methods keep reactions and work out velocities as u_f + H⁻¹ Jᵀ λ, which is as
exact as λ: where 10 kg carry 10²⁰ kg, reactions in double precision are multiples of 8192 N s, and that is 800 m/s of
the lowest body. Here velocities come from the constraints, y = D u + b to rounding, and momentum holds up to the last
digit of the largest force on a body. The linear systems stay accurate since I + Dᵀ S D is diagonally dominant on the
graph of bodies: what rounding leaves of a force is divided by the stiffness S = λ/y of the contact it came through.

Bilateral rows enter as a penalty, refined by their multipliers.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.errors import ProblemError
from delassus.linalg.rigid_delassus import RigidDelassus
from delassus.problem import Problem
from delassus.solvers.jordan import standard_cone

_PENALTY = 1e8  # of bilateral rows, against unit masses: joints close by eight digits an iteration
_INSIDE = 0.99  # largest part of the way to the boundary
_MOST = 200  # iterations
_MOMENTUM = 1e-9  # error of momentum, over the forces on a body, that is small enough
_STUCK = 1e-10  # a step shorter than this: rounding has won


@dataclass(frozen=True, eq=False)
class VelocityPoint:
    """u: (n,) body velocities; reactions: (m,) [N s], to double precision only; worst_velocity: max over rows of
    min(v, λ D_kk), or |v| for joints [m/s]; momentum: error of the momentum equation over the sum of its terms,
    the worst body [-]; iterations."""

    u: np.ndarray
    reactions: np.ndarray
    worst_velocity: float
    momentum: float
    iterations: int


def takes(problem: Problem) -> bool:
    """Rigid bodies, symmetric masses, no friction under the problem's law."""
    return isinstance(problem.delassus, RigidDelassus) and problem.u_f is not None and not problem.mu.any()


def solve_velocities(problem: Problem, goal: float) -> VelocityPoint | None:
    """The problem's velocities to `goal` [m/s] on every row, or None where that was not reached."""
    method = VelocityIpm(problem)
    for count in range(1, _MOST + 1):
        works = method.step()
        point = method.point(count)
        if point.worst_velocity <= goal and point.momentum <= _MOMENTUM:
            return point
        if not works:
            return None
    return None


class VelocityIpm:
    """published: start as 000 eq. 4.23 says, in SI units; otherwise from velocities and reactions of the problem's
    size. mu: y·λ / n [J]."""

    u: np.ndarray  # Lᵀ u of the bodies
    lam: np.ndarray
    y: np.ndarray
    dual: np.ndarray  # r_d, in units of √kg m/s
    joint: np.ndarray  # velocities of bilateral rows
    primal: np.ndarray  # r_p [m/s]

    def __init__(self, problem: Problem, *, published: bool = False):
        if not takes(problem):
            raise ProblemError("velocities are unknowns only for rigid bodies without friction: use another solver")
        delassus = problem.delassus
        assert isinstance(delassus, RigidDelassus)
        assert problem.u_f is not None
        assert problem.bias is not None
        self.problem, self.cone, self.published = problem, standard_cone(problem), published
        rows, free = self.cone.rows, self.cone.free
        # H = L Lᵀ; with velocities Lᵀ u masses are one
        root = np.linalg.cholesky(0.5 * (delassus.mass + delassus.mass.transpose(0, 2, 1)))
        self.root_transposed = _block_diagonal(root.transpose(0, 2, 1))
        self.back = _block_diagonal(np.linalg.inv(root).transpose(0, 2, 1))
        J = sp.csr_array(delassus.jacobian()[rows] @ self.back)
        bias = problem.bias[rows].copy()
        soft = np.zeros(len(rows)) if delassus.compliance is None else delassus.compliance[rows].copy()
        # joints have unit rows, so that one penalty serves them all
        self.length = np.ones(len(rows))
        self.length[:free] = np.sqrt(np.asarray((J * J).sum(axis=1)).ravel()[:free])
        self.length[self.length == 0.0] = 1.0
        J = sp.csr_array(sp.diags_array(1.0 / self.length) @ J)
        bias, soft = bias / self.length, soft / self.length**2
        self.C, self.D = sp.csr_array(J[:free]), sp.csr_array(J[free:])
        self.b_C, self.b_D, self.soft_C, self.soft_D = bias[:free], bias[free:], soft[:free], soft[free:]
        self.mobility = np.asarray((self.D * self.D).sum(axis=1)).ravel() + self.soft_D
        self.hard = 1.0 / (self.soft_C + 1.0 / _PENALTY)
        self.C_transposed, self.D_transposed = sp.csr_array(self.C.T), sp.csr_array(self.D.T)
        self.fixed = sp.eye_array(J.shape[1]) + self.C_transposed @ sp.diags_array(self.hard) @ self.C
        self.u_f = self.root_transposed @ problem.u_f
        self.gamma, self.step_length = np.zeros(free), 0.0
        self._start_published() if published else self._start_scaled()
        self.mu = self._complementarity(self.lam, self.y)

    # -- starting points ---------------------------------------------------------------------------------------------

    def _start_published(self) -> None:
        """000 eq. 4.23: ones, and the absolute value of one predictor from there, at least one."""
        self.u = self.root_transposed @ np.ones(len(self.u_f))
        self.lam, self.y = np.ones(self.D.shape[0]), np.ones(self.D.shape[0])
        self._renew()
        if self._factor():
            _, _, d_lam, d_y = self._direction(-self.y)
            self.lam, self.y = np.maximum(1.0, abs(self.lam + d_lam)), np.maximum(1.0, abs(self.y + d_y))
        self._renew()

    def _start_scaled(self) -> None:
        """No contact need carry more than everything that moves, stopped at once."""
        speed = float(np.abs(self.problem.free_velocity).max(initial=0.0)) or 1.0
        assert isinstance(self.problem.delassus, RigidDelassus)
        mass = float(np.trace(self.problem.delassus.mass[:, :3, :3], axis1=1, axis2=2).sum()) / 3.0
        self.u = self.u_f.copy()
        self.y, self.lam = np.full(self.D.shape[0], speed), np.full(self.D.shape[0], mass * speed)
        self._renew()

    # -- one iteration -----------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Predictor and corrector with one factor; False where nothing moves any more."""
        if not self._factor():
            return False
        _, _, d_lam, d_y = self._direction(-self.y)
        step = min(1.0, self._longest(d_lam, d_y))
        ahead = self._complementarity(self.lam + step * d_lam, self.y + step * d_y)
        sigma = min(1.0, max(0.0, ahead / self.mu)) ** 3 if self.mu > 0.0 else 0.0
        du, d_gamma, d_lam, d_y = self._direction(-self.y + (sigma * self.mu - d_lam * d_y) / self.lam)
        inside = min(_INSIDE, 0.9 + 0.1 * math.exp(-self.mu * max(1, len(self.y))))
        step = min(1.0, inside * self._longest(d_lam, d_y))
        if not math.isfinite(step):
            return False
        self.u += step * du
        self.gamma += step * d_gamma
        self.lam += step * d_lam
        self.y += step * d_y
        dual, primal = (1.0 - step) * self.dual, (1.0 - step) * self.primal
        self._renew()
        if self.published:  # residuals are said to shrink (000 eq. 4.14), nobody looks
            self.dual, self.primal = dual, primal
        self.mu, self.step_length = self._complementarity(self.lam, self.y), step
        return step > _STUCK

    def _renew(self) -> None:
        self.dual = self.u - self.u_f - self.C_transposed @ self.gamma - self.D_transposed @ self.lam
        self.joint = self.C @ self.u + self.b_C + self.soft_C * self.gamma
        self.primal = self.D @ self.u + self.b_D + self.soft_D * self.lam - self.y

    def _factor(self) -> bool:
        self.stiffness = 1.0 / (self.y / self.lam + self.soft_D)
        if not np.isfinite(self.stiffness).all():
            return False
        A = sp.csc_array(self.fixed + self.D_transposed @ sp.diags_array(self.stiffness) @ self.D)
        try:  # pivots from the diagonal: the matrix is positive definite, and exchanging rows would mix masses
            self.lu = spla.splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return False
        return True

    def _direction(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(du, dγ, dλ, dy) with (y/λ) dλ + dy = q."""
        push = self.stiffness * (q - self.primal)
        du = self.lu.solve(-self.dual - self.C_transposed @ (self.hard * self.joint) + self.D_transposed @ push)
        d_lam = push - self.stiffness * (self.D @ du)
        d_y = self.D @ du + self.primal + self.soft_D * d_lam
        return du, -self.hard * (self.joint + self.C @ du), d_lam, d_y

    def _longest(self, d_lam: np.ndarray, d_y: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return 1.0 / max(0.0, float((-d_lam / self.lam).max(initial=0.0)), float((-d_y / self.y).max(initial=0.0)),
                             1e-300)  # fmt: skip

    @staticmethod
    def _complementarity(lam: np.ndarray, y: np.ndarray) -> float:
        return float(lam @ y) / max(1, len(y))

    # -- what came out -----------------------------------------------------------------------------------------------

    def point(self, iterations: int) -> VelocityPoint:
        """The present velocities and how good they are."""
        v = self.D @ self.u + self.b_D + self.soft_D * self.lam
        worst = max(
            float(np.abs(np.minimum(v, self.lam * self.mobility)).max(initial=0.0)),
            float(np.abs(self.joint * self.length[: len(self.joint)]).max(initial=0.0)),
        )
        error = self.u - self.u_f - self.C_transposed @ self.gamma - self.D_transposed @ self.lam
        size = (
            abs(self.u) + abs(self.u_f) + abs(self.C_transposed) @ abs(self.gamma) + abs(self.D_transposed) @ self.lam
        )
        error, size = (np.linalg.norm(part.reshape(-1, 6), axis=1) for part in (error, size))
        reactions = np.zeros(self.problem.row_count)
        reactions[self.cone.rows] = np.concatenate([self.gamma, self.lam]) / self.length
        momentum = float((error / np.where(size > 0.0, size, 1.0)).max(initial=0.0))
        return VelocityPoint(self.back @ self.u, reactions, worst, momentum, iterations)


def _block_diagonal(blocks: np.ndarray) -> sp.csr_array:
    n = len(blocks)
    return sp.csr_array(sp.bsr_array((blocks, np.arange(n), np.arange(n + 1)), shape=(6 * n, 6 * n)))
