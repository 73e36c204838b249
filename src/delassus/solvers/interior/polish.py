"""Semismooth Newton on the augmented Lagrangian: what brings an interior point from 1e-6 to rounding.

The interior-point method ends where the distance of a point to its cone is lost in rounding. The proximal point
iteration

    x ← argmin over C of ½ ξ·D ξ + q·ξ + ‖ξ − x‖²/(2ρ)

has no such limit. Its dual in the velocities is smooth: with p(ξ) = P_G(G⁻¹ (x/ρ − q − D ξ)), G = 1/ρ + E, it is the
root of D (ξ − p(ξ)), the gradient of ½ ξ·Dξ + ½ p·G p. Newton's system is (I + S D) dξ = p − ξ with S the derivative
of the projection: the interior point's system on the same pattern, with other weights.

A step is `begin_newton_step`, a linear solve, `take_newton_step`, the velocity of `best`, and `settle`. All vectors are
(m',), bilateral rows first.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.solvers.interior.iteration import Scaled, project_standard
from delassus.solvers.interior.weights import WeightArrays

_FIRST_RHO = 0.01  # first ρ over 1/η, the root of reaction over velocity
_ENOUGH = 0.5  # a step is taken when the slope at its end is at most this part of the slope at its start
_BISECTIONS = 25  # of a step, at most
_INNER = 0.3  # the inner problem is solved when its residual is this part of the outer one's
_NO_GAIN = 0.3  # a full step that leaves more than this of the inner residual has nothing but rounding to work on
_LEAST_RHO, _MOST_RHO = 1.0, 1e7  # range of ρ
_CHANGES = ((2.0, 10.0), (5.0, 3.0), (8.0, 1.0), (math.inf, 0.3))  # Newton steps up to which ρ is multiplied by this


class Newton(NamedTuple):
    """Arrays of the polish.  diagonal, blocks, roots: of S, see `weights`; counts: (5,) Newton steps since the centre
    moved, the last inner residual, the norm of the natural map when that had halved last, steps since one of its two
    numbers did, and the worst velocity when that had; the rest (m',): x: the centre; xi: ξ; best: its projection, the
    reactions to judge (in p, ρ times the rounding of v remains); rho: ρ, equal within a contact; even: compliance with
    equal tangents; t: D ξ without compliance; offset: q and the rest of compliance; p: p(ξ); right, dx, image: of
    Newton's system; trial, point: scratch."""

    diagonal: np.ndarray
    blocks: np.ndarray
    roots: np.ndarray
    counts: np.ndarray
    x: np.ndarray
    xi: np.ndarray
    best: np.ndarray
    rho: np.ndarray
    even: np.ndarray
    t: np.ndarray
    offset: np.ndarray
    p: np.ndarray
    right: np.ndarray
    dx: np.ndarray
    image: np.ndarray
    trial: np.ndarray
    point: np.ndarray


def newton_of(scaled: tuple[Any, ...], x: np.ndarray, rho: np.ndarray, weights: WeightArrays) -> Newton:
    """Arrays for a polish from x (m').  scaled: `Scaled` as a plain tuple; rho: (m',) first weights in scaled units;
    weights: overwritten. Before the first step `t` is to be filled."""
    out = Newton(*weights, np.empty(5), *np.zeros((len(Newton._fields) - 4, len(x))))
    _begin(scaled, x, rho, tuple(out))
    return out


@njit(cache=True, error_model="numpy")
def first_rho(limits, eta, rho):
    """rho (limits + 3 cones,): ρ to begin with.  eta: (limits + cones,) of the scaling."""
    for i in range(len(rho)):
        rho[i] = _FIRST_RHO / eta[i if i < limits else limits + (i - limits) // 3]


@njit(cache=True, error_model="numpy")
def _begin(scaled, x, rho, newton):
    problem, s = Scaled(*scaled), Newton(*newton)
    free, limits, soft = problem.free, problem.limits, problem.soft
    s.counts[0], s.counts[1], s.counts[2], s.counts[3], s.counts[4] = 0.0, math.inf, math.inf, 0.0, math.inf
    for i in range(len(x)):
        s.x[i] = s.xi[i] = s.best[i] = x[i]
        s.rho[i] = rho[i] if i < free else min(_MOST_RHO, max(_LEAST_RHO, rho[i]))
        s.even[i] = soft[i]
    for i in range(free + limits, len(x), 3):  # the projection is then in closed form
        s.even[i + 1] = s.even[i + 2] = max(soft[i + 1], soft[i + 2])


@njit(cache=True, error_model="numpy", inline="always")
def begin_newton_step(scaled, q, newton):
    """p, S and the right side p − ξ of Newton's system.  q: (m',) free velocities, with what the model of D leaves out
    (`Standard.offset`)."""
    problem, s = Scaled(*scaled), Newton(*newton)
    for i in range(len(q)):
        s.offset[i] = q[i] + (problem.soft[i] - s.even[i]) * s.x[i]
    _prox(problem.free, problem.limits, s, s.t)
    for i in range(len(q)):
        s.right[i] = s.p[i] - s.xi[i]


@njit(cache=True, error_model="numpy", inline="always")
def take_newton_step(scaled, newton):
    """Move ξ along dξ, t with it, and project `best`; the length, zero where the direction is of no use."""
    problem, s = Scaled(*scaled), Newton(*newton)
    length = _length(problem.free, problem.limits, s)
    if length == 0.0:
        return length
    for i in range(len(s.xi)):
        s.xi[i] += length * s.dx[i]
        s.t[i] += length * s.image[i]
        s.best[i] = s.xi[i]
    project_standard(problem.free, problem.limits, s.best)
    return length


@njit(cache=True, error_model="numpy", inline="always")
def settle(scaled, q, length, v, reached, newton):
    """A new centre where the inner problem is solved; (inner, outer residual, whether the centre moved).

    q: of `begin_newton_step`; v: velocity of `best`; reached: norm and worst velocity of its natural map."""
    problem, s = Scaled(*scaled), Newton(*newton)
    free, soft, counts = problem.free, problem.soft, s.counts
    norm, worst = reached
    counts[0] += 1.0
    counts[3] += 1.0
    if norm <= 0.5 * counts[2]:
        counts[2], counts[3] = norm, 0.0
    if worst <= 0.5 * counts[4]:  # the worst velocity may jump while all others get better, or stay where it is
        counts[4], counts[3] = worst, 0.0
    for i in range(len(v)):
        s.trial[i] = (s.best[i] - s.x[i]) / s.rho[i]
        s.point[i] = v[i] - (soft[i] - s.even[i]) * (s.best[i] - s.x[i])
    inner, outer = _inner_and_outer(free, problem.limits, s.best, s.point, s.trial, problem.speed)
    stuck = length == 1.0 and inner > _NO_GAIN * counts[1] and counts[0] > 2.0
    counts[1] = inner
    moves = inner <= _INNER * outer or stuck
    if moves:
        change = 1.0
        for most, factor in _CHANGES[::-1]:
            if counts[0] <= most:
                change = factor
        for i in range(len(v)):
            if i >= free:
                s.rho[i] = min(_MOST_RHO, max(_LEAST_RHO, change * s.rho[i]))
            s.x[i] = s.xi[i] = s.best[i]
            s.t[i] = v[i] - q[i] - soft[i] * s.best[i]
        counts[0], counts[1] = 0.0, math.inf
    return inner, outer, moves


@njit(cache=True, error_model="numpy", inline="always")
def _length(free, limits, s):
    """Step length where the slope along dξ has fallen enough: the function is convex, so no values are needed."""
    slope = 0.0
    for i in range(len(s.xi)):
        slope -= s.right[i] * s.image[i]
    if not math.isfinite(slope):
        return 0.0
    if slope >= 0.0:
        return 1.0  # rounding: the gradient is as small as it gets
    low, high, length = 0.0, math.inf, 1.0
    for _ in range(_BISECTIONS):
        for i in range(len(s.t)):
            s.trial[i] = s.t[i] + length * s.image[i]
        _prox(free, limits, s, s.trial)
        here = 0.0
        for i in range(len(s.xi)):
            here += (s.xi[i] + length * s.dx[i] - s.p[i]) * s.image[i]
        if abs(here) <= _ENOUGH * abs(slope):
            return length
        if here > 0.0:
            high = length
        else:
            low = length
            if length >= 1.0:
                return length
        length = 0.5 * (low + high)
    return length


@njit(cache=True, error_model="numpy")
def _inner_and_outer(free, limits, x, v, pull, speed):
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
def _prox(free, limits, s, t):
    """p = P_G(G⁻¹ (x/ρ − q − t)), G = 1/ρ + E, and S = G^-½ ∂P G^-½ of the projection in scaled coordinates."""
    x, rho, soft, offset, p = s.x, s.rho, s.even, s.offset, s.p
    diagonal, blocks, roots = s.diagonal, s.blocks, s.roots
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
