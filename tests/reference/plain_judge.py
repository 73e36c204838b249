"""A second judge, written from the definitions alone: NumPy and extended precision.

It shares no code with `delassus.residuals`. Of a problem it reads the data (H, J, E, u_f, b, or D and v_f), works out
v = J H⁻¹ (Jᵀ λ) + E λ + v_f with H⁻¹ by elimination, and asks of reactions λ how far they are from the law, and how
much of that rounding can have done.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from delassus.law import Law
from delassus.problem import Problem

LONG = np.longdouble
EPS = float(np.finfo(float).eps)
OPERATIONS = 60  # roundings on the way to one velocity, at most: rows on a body, a solve with H, twelve products


@dataclass(frozen=True)
class Verdict:
    """relative: natural map [-]; velocity: the largest error of velocity over the velocities of its island [-];
    excuses: what rounding in double precision may have added to each."""

    relative: float
    velocity: float
    excuse_relative: float
    excuse_velocity: float

    def refutes(self, tol: float, tol_velocity: float) -> bool:
        """Is a claim of being within these tolerances wrong by more than rounding?"""
        return not (
            self.relative <= tol * (1 + 1e-9) + self.excuse_relative
            and self.velocity <= tol_velocity * (1 + 1e-9) + self.excuse_velocity
        )

    def confirms(self, tol: float, tol_velocity: float) -> bool:
        """Is it within the tolerances without any excuse?"""
        return self.relative <= tol and self.velocity <= tol_velocity

    def sees_better(self, tol: float, tol_velocity: float) -> bool:
        """Would a claim have been true, whatever rounding did?"""
        return self.relative + self.excuse_relative < tol * (
            1 - 1e-9
        ) and self.velocity + self.excuse_velocity < tol_velocity * (1 - 1e-9)


class PlainJudge:
    """Of one problem under its law."""

    def __init__(self, problem: Problem):
        cone = problem.cone
        self.sizes = [*cone.bilateral.tolist(), *[1] * cone.unilateral, *[3] * len(cone.mu)]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        self.joints, self.limits = len(cone.bilateral), cone.unilateral
        self.mu = np.zeros(len(cone.mu)) if problem.law is Law.FRICTIONLESS else cone.mu
        self.is_rigid = problem.delassus.kind == "rigid"
        self.is_exact = problem.law is Law.NCP
        self.factors, self.E, self.v_f, self.noise = _dual_view(problem)
        self.sizes_of_factors = [abs(factor) for factor in self.factors]
        self.scale = self._scales(_islands(problem, self.starts))
        diagonal = _diagonal(self.factors) + self.E
        first = self.starts[self.joints] if self.starts[self.joints] < len(self.v_f) else 0
        trace = diagonal[first:].sum()
        self.rho = (len(self.v_f) - first) / trace if trace > 0 else LONG(1)
        traces = [diagonal[a:b].sum() for a, b in zip(self.starts, self.starts[1:])]
        self.own = [size / trace if trace > 0 else self.rho for size, trace in zip(self.sizes, traces)]

    def judge(self, reactions: np.ndarray, low: np.ndarray | None = None) -> Verdict:
        """reactions: (m,) [N s]; low: (m,), their second doubles. With those the other judge of rigid bodies rounds at
        the thirty-first digit, so that doubts are those of this one."""
        with np.errstate(all="ignore"):  # reactions may be as large as numbers go
            return self._verdict(reactions, low)

    def _verdict(self, reactions: np.ndarray, low: np.ndarray | None) -> Verdict:
        eps = EPS if low is None or not self.is_rigid else float(np.finfo(LONG).eps)
        r = reactions.astype(LONG) if low is None else reactions.astype(LONG) + low
        v = _times(self.factors, r) + self.E * r + self.v_f
        moved = _times(self.sizes_of_factors, abs(r)) + self.E * abs(r)
        doubt = (OPERATIONS * (eps * moved + EPS * self.noise)).astype(float)  # of v [m/s]
        square, velocity, excuse = LONG(0), 0.0, 0.0
        doubt_square = 0.0
        for k, (a, b) in enumerate(zip(self.starts, self.starts[1:])):
            gap = self._gap(k, r[a:b], v[a:b], self.rho)
            square += gap @ gap
            length = float(np.sqrt(r[a:b] @ r[a:b]))
            # w = v + Γ(v) doubts the tangential part once more; λ − P(λ − ρ w) is rounded to the last digit of λ
            unsure = 2.5 * float(np.linalg.norm(doubt[a:b]))
            doubt_square += (float(self.rho) * unsure + 8 * eps * length) ** 2
            own = self._gap(k, r[a:b], v[a:b], self.own[k]) / self.own[k]
            error, scale = float(np.sqrt(own @ own)), self.scale[k]
            velocity = max(velocity, _over(error, scale))
            excuse = max(excuse, _over(unsure + 8 * eps * length / float(self.own[k]), scale))
        denominator = max(float(self.rho * np.sqrt(self.v_f @ self.v_f)), float(np.sqrt(r @ r)))
        relative = _over(float(np.sqrt(square)), denominator)
        return Verdict(relative, velocity, _over(doubt_square**0.5, denominator), excuse)

    def _gap(self, k: int, r, v, rho):
        """λ_k − P(λ_k − ρ w_k) of one block."""
        if k < self.joints:
            return rho * v
        if k < self.joints + self.limits:
            return r - np.maximum(r - rho * v, 0)
        mu = LONG(self.mu[k - self.joints - self.limits])
        if self.is_exact and mu > 1:  # Signorini's law and Coulomb's, one after the other
            disk = mu * max(r[0], LONG(0))
            pushed = r[1:] - rho * v[1:]
            length = np.sqrt(pushed @ pushed)
            nearest = pushed if length <= disk else pushed * (disk / length)
            return np.array([min(r[0], rho * v[0]), *(r[1:] - nearest)])
        w = v.copy()
        if self.is_exact:
            w[0] += mu * np.sqrt(v[1] ** 2 + v[2] ** 2)
        return r - _project(r - rho * w, mu)

    def _scales(self, island: np.ndarray) -> np.ndarray:
        """The largest free velocity of each block's island, without what separates; a millionth of all at least, and
        that of all where the island is at rest."""
        v = self.v_f.astype(float)
        own = []
        for k, (a, b) in enumerate(zip(self.starts, self.starts[1:])):
            speeds = np.abs(v[a:b])
            if k >= self.joints:
                speeds[0] = max(0.0, -v[a])
            own.append(speeds.max())
        all_of_them = np.abs(v).max(initial=0.0)
        speeds = np.array([max(own[j] for j in np.flatnonzero(island == island[k])) for k in range(len(own))])
        return np.where(speeds <= 1e-14 * all_of_them, all_of_them, np.maximum(speeds, 1e-6 * all_of_them))


def _over(value: float, scale: float) -> float:
    return 0.0 if value == 0.0 else (value / scale if scale > 0.0 else np.inf)


def _project(x, mu):
    """The point of {‖x_t‖ ≤ μ x_n} nearest to x."""
    length = np.sqrt(x[1] ** 2 + x[2] ** 2)
    if x[0] >= 0 and length <= mu * x[0]:
        return x
    if mu * length <= -x[0]:
        return np.zeros(3, LONG)
    normal = (x[0] + mu * length) / (1 + mu * mu)
    out = np.zeros(3, LONG)
    out[0] = normal
    if length > 0:
        out[1:] = mu * normal * x[1:] / length
    return out


def _dual_view(problem: Problem):
    """(factors of D − E, E, v_f, what rounding of v_f is proportional to)."""
    delassus = problem.delassus
    if delassus.kind == "matrix":
        v_f = problem.free_velocity.astype(LONG)
        return [delassus.D.toarray().astype(LONG)], LONG(0), v_f, np.abs(problem.free_velocity)
    if delassus.kind == "rigid":
        inverse = sp.block_diag([_inverse(block.astype(LONG)) for block in delassus.mass], format="csr", dtype=LONG)
        J = rigid_rows(delassus)
    else:
        inverse, J = _inverse(delassus.H.toarray().astype(LONG)), delassus.J.toarray().astype(LONG)
    E = LONG(0) if delassus.compliance is None else delassus.compliance.astype(LONG)
    v_f = J @ problem.u_f.astype(LONG) + problem.bias
    return [J, inverse, J.T], E, v_f, abs(J) @ np.abs(problem.u_f) + np.abs(problem.bias)


def _times(factors, x):
    for factor in reversed(factors):
        x = factor @ x
    return x


def _diagonal(factors):
    """Of the product of one matrix, or of J, H⁻¹ and Jᵀ."""
    if len(factors) == 1:
        return np.diag(factors[0])
    J, inverse, _ = factors
    both = (J @ inverse) * J
    return np.asarray(both.sum(axis=1)).ravel()


def rigid_rows(delassus) -> sp.csr_array:
    """J of rigid bodies, by rows."""
    J = np.zeros((len(delassus.rows), 6 * len(delassus.mass)), LONG)
    starts = delassus.block_start
    for k, pair in enumerate(delassus.bodies):
        for side, body in enumerate(pair):
            if body >= 0:
                rows = delassus.rows[starts[k] : starts[k + 1], 6 * side : 6 * side + 6]
                J[starts[k] : starts[k + 1], 6 * body : 6 * body + 6] += rows
    return sp.csr_array(J)


def _inverse(H):
    """By Gauß–Jordan elimination; H is positive definite up to a small skew part, so pivots are taken as they come."""
    n = len(H)
    work = np.concatenate([H, np.eye(n, dtype=LONG)], axis=1)
    for k in range(n):
        work[k] /= work[k, k]
        column = work[:, k].copy()
        column[k] = 0
        touched = np.flatnonzero(column)
        work[touched] -= np.outer(column[touched], work[k])
    return work[:, n:]


def _islands(problem: Problem, starts: np.ndarray) -> np.ndarray:
    """A label per block: blocks that act on what is joined to the same body, velocity or entry of D belong together."""
    delassus, count = problem.delassus, len(starts) - 1
    if delassus.kind == "matrix":
        entries = np.abs(delassus.D.toarray()) > 0
        linked = np.array(
            [[entries[a:b, c:d].any() for c, d in zip(starts, starts[1:])] for a, b in zip(starts, starts[1:])]
        ).reshape(count, count)
    else:
        if delassus.kind == "rigid":
            acts = np.array([[body in pair for body in range(len(delassus.mass))] for pair in delassus.bodies.tolist()])
            acts = acts.reshape(count, len(delassus.mass))
            joined = np.eye(acts.shape[1], dtype=bool)
        else:
            J = np.abs(delassus.J.toarray()) > 0
            acts = np.array([J[a:b].any(axis=0) for a, b in zip(starts, starts[1:])]).reshape(count, J.shape[1])
            joined = _closure(np.abs(delassus.H.toarray()) > 0)
        linked = acts @ joined @ acts.T
    return _closure(linked).argmax(axis=1) if count else np.zeros(0, int)


def _closure(linked: np.ndarray) -> np.ndarray:
    """Who can be reached from whom."""
    reach = linked | linked.T | np.eye(len(linked), dtype=bool)
    while True:
        further = reach @ reach
        if (further == reach).all():
            return reach
        reach = further
