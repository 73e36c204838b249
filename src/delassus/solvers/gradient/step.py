"""The projected gradient step, fused: velocity, step, projection and the push of the new reactions, in one pass.

This is where gradient methods spend their time. A contact's three rows of Ĵ are read once, 288 of the 420 or so bytes
that an iteration moves per contact; a product with D alone would read them twice.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.six_wide import push_three, three_rows_times
from delassus.solvers.parts.parallel.passes import Data, push_one, row_of, row_times


class Step(NamedTuple):
    """What a step is made with; a plain tuple from Python."""

    length: float  # in units of S
    beta: float  # of the momentum
    relax: float  # share of the projected step that is taken
    gamma: bool  # with De Saxcé's term?


class Points(NamedTuple):
    """Reactions (m,) a step reads and writes, which may be the same arrays."""

    x: np.ndarray
    before: np.ndarray
    out: np.ndarray


@njit(cache=True, error_model="numpy")
def step_units(t, data, step, points, image, values):
    """One projected gradient step from y = x + β (x − before), fused: out = y + relax (P_K(y − step s w(y)) − y) on
    own rows, projected in the metric of S⁻¹, its push on the bodies included, so that Ĵ is read once.

    w = v(y), plus De Saxcé's μ‖v_t‖ on the normals if gamma; step: `Step`, points: `Points`, image: of y. Adds to
    values, with d = out − y, [dᵀ S⁻¹ d, wᵀ (out − x), dᵀ E d]."""
    step, beta, relax, gamma = step
    x, before, out = points
    problem = Data(*data)
    rigid, bilateral, singles = problem.rigid, problem.bilateral, problem.singles
    mu, scale, offset = problem.mu, problem.scale, problem.offset
    pair, rows, compliance, pushed = problem.pair, problem.rows, problem.compliance, problem.pushed[t]
    soft = len(compliance) > 0
    weighted = slope = give = 0.0
    first, last = problem.unit_share[t], problem.unit_share[t + 1]
    for k in range(first, min(last, singles)):
        y = x[k] + beta * (x[k] - before[k])
        v = offset[k]
        if rigid:
            v += row_times(rows, k, 6 * pair[k, 0], 6 * pair[k, 1], image)
        else:
            v += image[k]
        if soft:
            v += compliance[k] * y
        z = y - step * scale[k] * v
        if k >= bilateral:
            z = max(z, 0.0)
        if relax != 1.0:
            z = y + relax * (z - y)
        d = z - y
        out[k] = z
        if scale[k] > 0.0:
            weighted += d * d / scale[k]
        slope += v * (z - x[k])
        if soft:
            give += compliance[k] * d * d
        if rigid:
            push_one(rows, k, 6 * pair[k, 0], 6 * pair[k, 1], z, pushed)
    # views of the member's contacts: indices from zero upwards spare the tests for negative ones
    first, last = max(first, singles), max(last, singles)
    i, size = row_of(first, singles), 3 * (last - first)
    x, before, out = _triples(x, i, size), _triples(before, i, size), _triples(out, i, size)
    offset = _triples(problem.offset, i, size)
    given = _triples(image, 0, 0) if rigid else _triples(image, i, size)
    compliance = _triples(compliance, i, size) if soft else _triples(compliance, 0, 0)
    mu, stretch = mu[first - singles : last - singles], problem.stretch[first - singles : last - singles]
    scale, pair = scale[first:last], pair[first:last]
    for k in range(len(mu)):
        x0, x1, x2 = x[k, 0], x[k, 1], x[k, 2]
        y0, y1, y2 = x0 + beta * (x0 - before[k, 0]), x1 + beta * (x1 - before[k, 1]), x2 + beta * (x2 - before[k, 2])
        a = b = 0
        if rigid:
            a, b = 6 * pair[k, 0], 6 * pair[k, 1]
            v0, v1, v2 = three_rows_times(rows, i + 3 * k, a, b, image)
        else:
            v0, v1, v2 = given[k, 0], given[k, 1], given[k, 2]
        v0, v1, v2 = v0 + offset[k, 0], v1 + offset[k, 1], v2 + offset[k, 2]
        if soft:
            v0, v1, v2 = v0 + compliance[k, 0] * y0, v1 + compliance[k, 1] * y1, v2 + compliance[k, 2] * y2
        if gamma:
            v0 += mu[k] * math.sqrt(v1 * v1 + v2 * v2)
        s, c = scale[k], stretch[k]  # in the metric, tangents are c times as long, and the cone is one with c μ
        h, r = step * s, 1.0 / c
        ht = h * r * r
        z0, z1, z2 = project_without_branches(y0 - h * v0, c * (y1 - ht * v1), c * (y2 - ht * v2), c * mu[k])
        z1, z2 = r * z1, r * z2
        if relax != 1.0:
            z0, z1, z2 = y0 + relax * (z0 - y0), y1 + relax * (z1 - y1), y2 + relax * (z2 - y2)
        d0, d1, d2 = z0 - y0, z1 - y1, z2 - y2
        out[k, 0], out[k, 1], out[k, 2] = z0, z1, z2
        if s > 0.0:
            weighted += (d0 * d0 + c * c * (d1 * d1 + d2 * d2)) / s
        slope += v0 * (z0 - x0) + v1 * (z1 - x1) + v2 * (z2 - x2)
        if soft:
            give += compliance[k, 0] * d0 * d0 + compliance[k, 1] * d1 * d1 + compliance[k, 2] * d2 * d2
        if rigid:
            push_three(rows, i + 3 * k, a, b, z0, z1, z2, pushed)
    values[0] += weighted
    values[1] += slope
    values[2] += give


@njit(cache=True)
def _triples(x, first, size):
    """x[first : first + size] as rows of three, a view."""
    return x[first : first + size].reshape(-1, 3)


@njit(cache=True, error_model="numpy")
def project_without_branches(xn, x1, x2, mu):
    """`project_coulomb` without branches: a processor guesses wrongly which case comes next, and that costs more than
    computing all of them, a quarter of the whole pass."""
    xt = math.sqrt(x1 * x1 + x2 * x2)
    inside, outside = xt <= mu * xn, mu * xt <= -xn
    s = (mu * xt + xn) / (mu * mu + 1.0)
    f = mu * s / (xt if xt > 0.0 else 1.0)
    s = 0.0 if outside else (xn if inside else s)
    f = 0.0 if outside else (1.0 if inside else f)
    return s, f * x1, f * x2
