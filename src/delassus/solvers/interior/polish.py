"""Semismooth Newton on the augmented Lagrangian: what brings an interior point from 1e-6 to rounding.

The interior-point method ends where the distance of a point to its cone is lost in rounding. The proximal point
iteration

    x ← argmin over C of ½ ξ·D ξ + q·ξ + ‖ξ − x‖²/(2ρ)

has no such limit. Its dual in the velocities is smooth: with p(ξ) = P_G(G⁻¹ (x/ρ − q − D ξ)), G = 1/ρ + E, it is the
root of D (ξ − p(ξ)), the gradient of ½ ξ·Dξ + ½ p·G p. Newton's system is (I + S D) dξ = p − ξ with S the derivative
of the projection: the interior point's system on the same pattern, with other weights.
"""

import math
from time import perf_counter

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb
from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.solvers.interior.interior import System
from delassus.solvers.interior.natural_map import project_standard
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights

_ENOUGH = 0.5  # a step is taken when the slope at its end is at most this part of the slope at its start
_INNER = 0.3  # the inner problem is solved when its residual is this part of the outer one's
_LEAST, _MOST = 1.0, 1e7  # range of ρ


class Polish:
    """x: (m',) the reactions to start from; rho: (m',) the weights of rows, equal within a contact, in scaled units."""

    def __init__(self, standard: Standard, system: System, x: np.ndarray, rho: np.ndarray):
        self.standard, self.system = standard, system
        self.rho = rho.copy()
        self._change_rho(1.0)
        m = standard.row_count
        self.weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
        self.soft = (
            np.zeros(m) if standard.compliance is None else even(standard.compliance, standard.free, standard.limits)
        )
        self.dx, self.image, self.trial = np.empty(m), np.empty(m), np.empty(m)
        self.p, self.best = np.empty(m), x
        self.tried = 0  # Newton steps since x last moved
        self.details: dict[str, float] = {}
        self._move(x, standard.operator.product(x))
        self._project(self.t)

    def _move(self, x: np.ndarray, t: np.ndarray) -> None:
        """A new centre, with its t = D x."""
        standard = self.standard
        self.x, self.xi = x, x.copy()
        standard.correct(x)
        self.offset = standard.offset
        if standard.compliance is not None:
            self.offset = self.offset + (standard.compliance - self.soft) * x
        self.t = t
        self.tried, self.last = 0, math.inf

    def _change_rho(self, factor: float) -> None:
        """Multiply the weights of limits and contacts; those of joints are the caller's."""
        free = self.standard.free
        self.rho[free:] = np.clip(factor * self.rho[free:], _LEAST, _MOST)

    def _project(self, t: np.ndarray) -> None:
        """p and S at D ξ = t."""
        standard = self.standard
        prox(standard.free, standard.limits, self.x, self.rho, self.soft, self.offset, t,
              self.p, self.weights.diagonal, self.weights.blocks, self.weights.roots)  # fmt: skip

    def step(self) -> bool:
        """One Newton step, and a new centre where the inner problem is solved.

        The reactions to judge are `best`, the projection of ξ, not p, in which ρ times the rounding of v remains."""
        standard = self.standard
        begin = perf_counter()
        if not self.system.factor(self.weights, False):
            return False
        factored = perf_counter()
        if not self.system.solve(self.p - self.xi, self.dx, self.image, 0.0):
            return False
        solved = perf_counter()
        slope = dot(self.xi - self.p, self.image)
        length = self._search(slope)
        if length == 0.0:
            return False
        self.xi += length * self.dx
        self.t += length * self.image
        self._project(self.t)
        self.tried += 1
        best = self.xi.copy()
        project_standard(standard.free, standard.limits, best)
        t_best = standard.operator.product(best)
        pull = (best - self.x) / self.rho
        inner, outer = inner_and_outer(
            standard.free, standard.limits, best, t_best + self.offset + self.soft * best, pull, standard.speed
        )
        self.best = best
        self.details = {
            "step": length, "inner": inner, "outer": outer, "krylov": float(self.system.krylov),
            "factor": factored - begin, "solve": solved - factored, "single": 0.0,
        }  # fmt: skip
        stuck = length == 1.0 and inner > 0.3 * self.last  # nothing but rounding is left of the inner problem
        self.last = inner
        if inner <= _INNER * outer or (stuck and self.tried > 2):
            factor = 10.0 if self.tried <= 2 else 3.0 if self.tried <= 5 else 1.0 if self.tried <= 8 else 0.3
            self._change_rho(factor)
            self._move(best, t_best)
            self._project(self.t)
        return True

    def _search(self, slope: float) -> float:
        """Step length where the slope along dξ has fallen enough: the function is convex, so no values are needed."""
        if not (math.isfinite(slope) and slope < 0.0):
            return 1.0 if math.isfinite(slope) else 0.0  # rounding: the gradient is as small as it gets
        low, high, length = 0.0, math.inf, 1.0
        for _ in range(25):
            np.multiply(self.image, length, out=self.trial)
            self.trial += self.t
            self._project(self.trial)
            here = dot(self.xi + length * self.dx - self.p, self.image)
            if abs(here) <= _ENOUGH * abs(slope):
                return length
            if here > 0.0:
                high = length
                length = 0.5 * (low + high)
            else:
                low = length
                if length >= 1.0:
                    return length
                length = 0.5 * (low + high)
        return length


def even(compliance: np.ndarray, free: int, limits: int) -> np.ndarray:
    """Compliance with equal tangents, the larger of the two: the projection is then in closed form."""
    out = compliance.copy()
    triples = out[free + limits :].reshape(-1, 3)
    triples[:, 1:] = triples[:, 1:].max(axis=1, keepdims=True)
    return out


@njit(cache=True, error_model="numpy")
def inner_and_outer(free, limits, x, v, pull, speed):
    """(‖x − P_C(x − v − pull)‖, ‖pull‖), as velocities over the rms of free ones: inner and outer residual."""
    inner, outer = 0.0, 0.0
    for i in range(free):
        inner += ((v[i] + pull[i]) / speed[i]) ** 2
    for i in range(free, free + limits):
        inner += ((x[i] - max(0.0, x[i] - v[i] - pull[i])) / speed[i]) ** 2
    for i in range(free + limits, len(x), 3):
        a, b, c = project_coulomb(
            x[i] - v[i] - pull[i], x[i + 1] - v[i + 1] - pull[i + 1], x[i + 2] - v[i + 2] - pull[i + 2], 1.0
        )
        inner += ((x[i] - a) ** 2 + (x[i + 1] - b) ** 2 + (x[i + 2] - c) ** 2) / speed[i] ** 2
    for i in range(len(x)):
        outer += (pull[i] / speed[i]) ** 2
    return math.sqrt(inner), math.sqrt(outer)


@njit(cache=True, error_model="numpy")
def prox(free, limits, x, rho, soft, offset, t, p, diagonal, blocks, roots):
    """p = P_G(G⁻¹ (x/ρ − q − t)), G = 1/ρ + E, and S = G^-½ ∂P G^-½ of the projection in scaled coordinates."""
    first = free + limits
    for i in range(first):
        weight = 1.0 / rho[i]
        g = weight + soft[i]
        value = (weight * x[i] - offset[i] - t[i]) / g
        inside = i < free or value > 0.0
        p[i] = value if inside else 0.0
        diagonal[i] = 1.0 / g if inside else 0.0
    for k in range(len(blocks)):
        i = first + 3 * k
        weight = 1.0 / rho[i]
        S = blocks[k]
        gn, gt = weight + soft[i], weight + soft[i + 1]
        rn, rt = 1.0 / math.sqrt(gn), 1.0 / math.sqrt(gt)
        c0 = rn * (weight * x[i] - offset[i] - t[i])
        c1 = rt * (weight * x[i + 1] - offset[i + 1] - t[i + 1])
        c2 = rt * (weight * x[i + 2] - offset[i + 2] - t[i + 2])
        mu = rn / rt
        a, b, c = project_coulomb(c0, c1, c2, mu)
        p[i], p[i + 1], p[i + 2] = rn * a, rt * b, rt * c
        length = math.sqrt(c1 * c1 + c2 * c2)
        if len(roots):
            roots[k] = 0.0
        if mu * length <= -c0:  # open
            S[:] = 0.0
        elif length <= mu * c0:  # sticking
            S[:] = 0.0
            S[0, 0], S[1, 1], S[2, 2] = rn * rn, rt * rt, rt * rt
            if len(roots):
                roots[k, 0, 0], roots[k, 1, 1], roots[k, 2, 2] = rn, rt, rt
        else:  # sliding: 1 along the ray, 0 across the surface, a/‖c_t‖ around the cone
            e1, e2 = c1 / length, c2 / length
            f = 1.0 / (1.0 + mu * mu)
            around = mu * a / length
            along = f * mu * mu
            S[0, 0] = rn * rn * f
            S[0, 1] = S[1, 0] = rn * rt * f * mu * e1
            S[0, 2] = S[2, 0] = rn * rt * f * mu * e2
            S[1, 1] = rt * rt * (along * e1 * e1 + around * e2 * e2)
            S[2, 2] = rt * rt * (along * e2 * e2 + around * e1 * e1)
            S[1, 2] = S[2, 1] = rt * rt * (along - around) * e1 * e2
            if len(roots):
                # columns: the ray, and around the cone
                root, g = math.sqrt(f), math.sqrt(around)
                roots[k, 0, 0], roots[k, 1, 0], roots[k, 2, 0] = rn * root, rt * root * mu * e1, rt * root * mu * e2
                roots[k, 1, 1], roots[k, 2, 1] = -rt * g * e2, rt * g * e1
