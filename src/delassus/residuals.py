"""The only judge. Every figure anybody reports about a point is computed here, on that point, in unscaled units.

With v = D λ + v_f and w = v + Γ(v) (Γ = 0 under CCP and FRICTIONLESS, μ = 0 under the latter):

| name | definition | unit |
|---|---|---|
| natural_map_relative | ‖λ − P_K(λ − ρ w)‖₂ / max(ρ‖v_f‖₂, ‖λ‖₂), ρ = m / trace D: the meaning of `tol` | – |
| worst_velocity | max_k ‖λ_k − P(λ_k − ρ_k w_k)‖ / ρ_k, ρ_k = d_k / trace D_kk: the meaning of `tol_velocity` | m/s |
| natural_map | ‖λ − P_K(λ − w)‖_∞ (paper 003 eq. 163, 176); mixes units, kept for comparison | – |
| primal | ‖λ − P_K λ‖_∞ (003 eq. 156) | N s |
| dual | ‖w − P_K* w‖_∞ (003 eq. 157, 174) | m/s |
| complementarity | max_k |λ_k · w_k| (003 eq. 158, 175), bilateral rows one by one | J |
| siconos | ‖λ − P_K(λ − w)‖₂ / max(‖v_f‖₂, ‖λ‖₂, ‖v‖₂), the scaling most Siconos solvers stop on | – |
| cost | |λ · v| / n_c over contacts (004 §5.2.2) | J |
| feasibility | max_k max(μ‖v_t‖ − v_n, ‖λ_t‖ − μ λ_n, 0) (004 §5.2.2); a CCP notion | mixed |
| error | max(cost, feasibility) (004 §5.2.4) | mixed |
| projected_gradient | ‖(λ − P_K(λ − τ v)) / τ‖₂ with τ = ρ (002 eq. 24) | m/s |
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb, project_coulomb_dual
from delassus.law import Law
from delassus.problem.problem import Problem


@dataclass(frozen=True)
class Residuals:
    """See the table at the top of this module."""

    natural_map_relative: float
    worst_velocity: float
    natural_map: float
    primal: float
    dual: float
    complementarity: float
    siconos: float
    cost: float
    feasibility: float
    projected_gradient: float

    @property
    def error(self) -> float:
        """max(cost, feasibility), the error of paper 004 §5.2.4."""
        return max(self.cost, self.feasibility)

    def as_dict(self) -> dict[str, float]:
        """Plain dictionary, `error` included."""
        return asdict(self) | {"error": self.error}


@dataclass(frozen=True)
class Measure:
    """The two figures a solve is stopped on: `relative` [-] and `velocity` [m/s]."""

    relative: float
    velocity: float


def measure(problem: Problem, reactions: np.ndarray) -> Measure:
    """Relative natural map and worst velocity of λ under the problem's law.  reactions: (m,) [N s]."""
    v = problem.constraint_velocity(reactions)
    return _measure_at(problem, reactions, v)


def evaluate(problem: Problem, reactions: np.ndarray) -> Residuals:
    """Every residual of λ under the problem's law.  reactions: (m,) [N s]."""
    reactions = np.ascontiguousarray(reactions, dtype=float)
    v = problem.constraint_velocity(reactions)
    both = _measure_at(problem, reactions, v)
    out = np.empty(7)
    cone = problem.cone
    _all(reactions, v, problem.mu, cone.bilateral_rows, cone.unilateral, _gamma(problem), problem.step, out)
    largest = max(problem.free_speed, _norm(reactions), _norm(v))
    return Residuals(
        natural_map_relative=both.relative,
        worst_velocity=both.velocity,
        natural_map=float(out[0]),
        primal=float(out[1]),
        dual=float(out[2]),
        complementarity=float(out[3]),
        siconos=_ratio(math.sqrt(out[4]), largest),
        cost=abs(float(reactions[cone.contact_start :] @ v[cone.contact_start :])) / max(cone.contact_count, 1),
        feasibility=float(out[5]),
        projected_gradient=math.sqrt(out[6]),
    )


def _measure_at(problem: Problem, reactions, v) -> Measure:
    cone = problem.cone
    square, velocity, size = _natural_map(
        reactions, v, problem.mu, cone.block_start, cone.bilateral.size, cone.unilateral,
        problem.diagonal_blocks, _gamma(problem), problem.step,
    )  # fmt: skip
    scale = max(problem.step * problem.free_speed, math.sqrt(size))
    return Measure(_ratio(math.sqrt(square), scale), velocity)


def _gamma(problem: Problem) -> bool:
    return problem.law is Law.NCP


def _norm(x: np.ndarray) -> float:
    return math.sqrt(float(x @ x))


def _ratio(value: float, scale: float) -> float:
    """value / scale, where 0 / 0 is a perfect answer to the empty question."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 else math.inf


@njit(cache=True)
def _natural_map(reactions, v, mu, block_start, joints, limits, diagonal_blocks, gamma, step):
    """(‖λ − P_K(λ − ρ w)‖₂², worst velocity, ‖λ‖₂²)."""
    square = 0.0
    length = 0.0
    for i in range(len(reactions)):
        length += reactions[i] * reactions[i]
    worst = 0.0
    offset = 0
    for k in range(len(block_start) - 1):
        i = block_start[k]
        size = block_start[k + 1] - i
        trace = 0.0
        for a in range(size):
            trace += diagonal_blocks[offset + a * (size + 1)]
        offset += size * size
        own = size / trace if trace > 0.0 else step
        if k < joints:
            part = 0.0
            for a in range(size):
                part += v[i + a] * v[i + a]
            square += step * step * part
            worst = max(worst, math.sqrt(part))
        elif k < joints + limits:
            gap = reactions[i] - max(0.0, reactions[i] - step * v[i])
            square += gap * gap
            worst = max(worst, abs(reactions[i] - max(0.0, reactions[i] - own * v[i])) / own)
        else:
            friction = mu[k - joints - limits]
            square += _contact_gap(reactions, v, i, friction, gamma, step)
            worst = max(worst, math.sqrt(_contact_gap(reactions, v, i, friction, gamma, own)) / own)
    return square, worst, length


@njit(cache=True)
def _contact_gap(reactions, v, i, mu, gamma, step):
    """‖λ_k − P(λ_k − ρ w_k)‖² of the contact whose rows start at i."""
    wn = v[i] + mu * math.sqrt(v[i + 1] ** 2 + v[i + 2] ** 2) if gamma else v[i]
    pn, p1, p2 = project_coulomb(
        reactions[i] - step * wn, reactions[i + 1] - step * v[i + 1], reactions[i + 2] - step * v[i + 2], mu
    )
    return (reactions[i] - pn) ** 2 + (reactions[i + 1] - p1) ** 2 + (reactions[i + 2] - p2) ** 2


@njit(cache=True)
def _all(reactions, v, mu, bilateral, unilateral, gamma, step, out):
    """out: natural map ∞, primal ∞, dual ∞, complementarity, natural map 2-norm², feasibility, (002 eq. 24)²."""
    out[:] = 0.0
    for i in range(bilateral):
        out[0] = max(out[0], abs(v[i]))
        out[2] = max(out[2], abs(v[i]))
        out[3] = max(out[3], abs(reactions[i] * v[i]))
        out[4] += v[i] * v[i]
        out[6] += v[i] * v[i]
    start = bilateral + unilateral
    for i in range(bilateral, start):
        gap = reactions[i] - max(0.0, reactions[i] - v[i])
        out[0] = max(out[0], abs(gap))
        out[1] = max(out[1], -reactions[i])
        out[2] = max(out[2], -v[i])
        out[3] = max(out[3], abs(reactions[i] * v[i]))
        out[4] += gap * gap
        scaled = (reactions[i] - max(0.0, reactions[i] - step * v[i])) / step
        out[6] += scaled * scaled
    for k in range(len(mu)):
        i = start + 3 * k
        rn, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
        slip = math.hypot(v[i + 1], v[i + 2])
        wn = v[i] + mu[k] * slip if gamma else v[i]
        pn, p1, p2 = project_coulomb(rn - wn, r1 - v[i + 1], r2 - v[i + 2], mu[k])
        out[0] = max(out[0], abs(rn - pn), abs(r1 - p1), abs(r2 - p2))
        out[4] += (rn - pn) ** 2 + (r1 - p1) ** 2 + (r2 - p2) ** 2
        pn, p1, p2 = project_coulomb(rn, r1, r2, mu[k])
        out[1] = max(out[1], abs(rn - pn), abs(r1 - p1), abs(r2 - p2))
        pn, p1, p2 = project_coulomb_dual(wn, v[i + 1], v[i + 2], mu[k])
        out[2] = max(out[2], abs(wn - pn), abs(v[i + 1] - p1), abs(v[i + 2] - p2))
        out[3] = max(out[3], abs(rn * wn + r1 * v[i + 1] + r2 * v[i + 2]))
        out[5] = max(out[5], mu[k] * slip - v[i], math.hypot(r1, r2) - mu[k] * rn)
        out[6] += _contact_gap(reactions, v, i, mu[k], False, step) / (step * step)
