"""`polish` for small problems, compiled: a batch of Newton steps on the augmented Lagrangian in one call."""

import math

import numpy as np
from numba import njit

from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.solvers.interior.natural_map import natural_map, project_standard
from delassus.solvers.interior.polish import inner_and_outer, prox
from delassus.solvers.interior.small_interior import BROKEN, DONE, RUNNING, STALLED, velocity
from delassus.solvers.interior.small_system import add_pushes, assemble, factor, solve_system, times_rows

RECORD = ("step", "inner", "outer", "krylov")  # what is told of a step
VECTORS = 10  # scratch vectors of m' numbers
_ENOUGH, _INNER = 0.5, 0.3  # as in `polish`
_LEAST, _MOST = 1.0, 1e7


@njit(cache=True, error_model="numpy")
def _images(rows, x, u, out):
    """out = Ĵ Ĵᵀ x."""
    limits, segments, at, J, _, paired = rows
    u[:] = 0.0
    add_pushes(limits, segments, at, J, paired, x, u)
    times_rows(limits, segments, at, J, paired, u, out)


@njit(cache=True, error_model="numpy")
def _length(limits, slope, x, rho, soft, offset, xi, t, dx, image, trial, point, p, diagonal, blocks, roots):
    """Step length where the slope along dξ has fallen enough: see `Polish._search`."""
    if not math.isfinite(slope):
        return 0.0
    if slope >= 0.0:
        return 1.0  # rounding: the gradient is as small as it gets
    low, high, length = 0.0, math.inf, 1.0
    for _ in range(25):
        for i in range(len(x)):
            trial[i] = t[i] + length * image[i]
        prox(0, limits, x, rho, soft, offset, trial, p, diagonal, blocks, roots)
        for i in range(len(x)):
            point[i] = xi[i] + length * dx[i] - p[i]
        here = dot(point, image)
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
def polish_batch(rows, numbers, even, x, xi, rho, best, work, bodies, A, diagonal, blocks, roots,
                 count, target, target_velocity, patience, record, counts):  # fmt: skip
    """At most `count` steps, until the natural map of `best` is below the targets or has not halved for `patience`.

    x: (m',) the centre, xi, best: (m',) as in `Polish`; even: (m',) compliance with equal tangents; counts: (4,) steps
    since the centre moved, the last inner residual, the best natural map so far and the steps since; work:
    (VECTORS, m'); returns (steps, how it ended, norm, worst)."""
    limits, segments, at, J, end, paired = rows
    q, soft, speed = numbers[0], numbers[1], numbers[2]
    p, t, dx, image, trial, point, offset, v, pull = (
        work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7], work[8],
    )  # fmt: skip
    m, T, scratch = len(x), np.zeros((3, 12 if paired else len(A))), np.empty((2, len(x)))
    right = work[9]
    norm, worst = math.inf, math.inf
    _images(rows, xi, bodies[0], t)
    for i in range(m):
        offset[i] = q[i] + (soft[i] - even[i]) * x[i]
    prox(0, limits, x, rho, even, offset, t, p, diagonal, blocks, roots)
    for done in range(1, count + 1):
        assemble(limits, segments, at, J, end, paired, diagonal, blocks, T, A)
        if not factor(A, end):
            return done - 1, BROKEN, norm, worst
        for i in range(m):
            right[i] = p[i] - xi[i]
        krylov = solve_system(rows, diagonal, blocks, A, right, dx, image, 0.0, scratch, bodies)
        if krylov < 0:
            return done - 1, BROKEN, norm, worst
        length = _length(limits, -dot(right, image), x, rho, even, offset, xi, t, dx, image, trial, point, p,
                         diagonal, blocks, roots)  # fmt: skip
        if length == 0.0:
            return done - 1, BROKEN, norm, worst
        for i in range(m):
            xi[i] += length * dx[i]
            t[i] += length * image[i]
            best[i] = xi[i]
        counts[0] += 1.0
        project_standard(0, limits, best)
        velocity(rows, q, soft, best, bodies[0], v)
        norm, worst = natural_map(limits, best, v, q, speed)
        for i in range(m):
            pull[i] = (best[i] - x[i]) / rho[i]
            point[i] = v[i] - (soft[i] - even[i]) * (best[i] - x[i])
        inner, outer = inner_and_outer(0, limits, best, point, pull, speed)
        record[done - 1, 0], record[done - 1, 1], record[done - 1, 2], record[done - 1, 3] = (
            length,
            inner,
            outer,
            krylov,
        )
        if max(norm, worst) <= 0.5 * counts[2]:
            counts[2], counts[3] = max(norm, worst), 0.0
        else:
            counts[3] += 1.0
        if norm <= target and worst <= target_velocity:
            return done, DONE, norm, worst
        if counts[3] >= patience:
            return done, STALLED, norm, worst
        stuck = length == 1.0 and inner > 0.3 * counts[1] and counts[0] > 2.0
        counts[1] = inner
        if inner <= _INNER * outer or stuck:
            change = 10.0 if counts[0] <= 2.0 else 3.0 if counts[0] <= 5.0 else 1.0 if counts[0] <= 8.0 else 0.3
            for i in range(m):
                rho[i] = min(_MOST, max(_LEAST, change * rho[i]))
                x[i] = xi[i] = best[i]
                t[i] = v[i] - q[i] - soft[i] * best[i]
                offset[i] = q[i] + (soft[i] - even[i]) * x[i]
            counts[0], counts[1] = 0.0, math.inf
        prox(0, limits, x, rho, even, offset, t, p, diagonal, blocks, roots)
    return count, RUNNING, norm, worst
