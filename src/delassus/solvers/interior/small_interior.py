"""`interior` for small problems, compiled: a batch of Mehrotra's iterations with Gondzio's correctors in one call."""

import math

import numpy as np
from numba import njit

from delassus.solvers.interior.interior import complementarity, outliers
from delassus.solvers.interior.natural_map import natural_map
from delassus.solvers.interior.small_system import add_pushes, assemble, factor, solve_system, times_rows
from delassus.solvers.interior.weights import apply_weights, soften
from delassus.solvers.parts.jordan import (
    centrality,
    form_scaling,
    form_squares,
    largest_step,
    scale_by,
    smallest_eigenvalue,
    unscale_by,
)

RUNNING, DONE, STALLED, BROKEN = 0, 1, 2, 3  # how a batch ended
RECORD = ("tau", "step", "sigma", "correctors", "krylov", "primal")  # what is told of an iteration
VECTORS = 14  # scratch vectors of m' numbers

_REACH, _GAIN = 0.3, 0.1  # as in `interior`
_CENTRING, _FRACTION, _CENTRED, _SLOPPY, _ROUGH = 0.1, 0.99, 1e-3, 0.3, 30.0
_SHORT, _SHORTS, _LATE = 0.1, 3, 1e-9  # as in `fast`
_IDLE = 0.9  # centring that leaves τ where it is: below _LATE rounding has won
_CHECKED = 1e-4  # τ below which solves are checked and refined; above, the factor is accurate enough


@njit(cache=True, error_model="numpy")
def velocity(rows, q, soft, x, u, out):
    """out = Ĵ Ĵᵀ x + E x + q; u: (size,) scratch."""
    limits, segments, at, J, _, paired = rows
    u[:] = 0.0
    add_pushes(limits, segments, at, J, paired, x, u)
    times_rows(limits, segments, at, J, paired, u, out)
    for i in range(len(out)):
        out[i] += soft[i] * x[i] + q[i]


@njit(cache=True, error_model="numpy")
def _ahead(limits, x, y, dx, dy, step, tau):
    """What part of τ is left after this step: τ is the mean of x·y over cones, so products are enough."""
    total = 0.0
    for i in range(len(x)):
        total += (x[i] + step * dx[i]) * (y[i] + step * dy[i])
    degree = limits + (len(x) - limits) // 3
    return min(1.0, max(total / (degree * tau), 0.0)) if tau > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def _step_inside(limits, x, y, dx, dy, step, trial_x, trial_y):
    """The step, shortened until no product falls far behind the others: see `Interior._stay_inside`."""
    for _ in range(40):
        for i in range(len(x)):
            trial_x[i], trial_y[i] = x[i] + step * dx[i], y[i] + step * dy[i]
        if min(smallest_eigenvalue(limits, trial_x), smallest_eigenvalue(limits, trial_y)) > 0.0:
            tau, least = centrality(limits, trial_x, trial_y)
            if least >= _CENTRED * tau:
                return step
        step *= 0.85
    return 0.0


@njit(cache=True, error_model="numpy")
def interior_batch(rows, numbers, is_soft, x, y, v, work, bodies, A, eta, diagonal, blocks, roots,
                   count, correctors, switch, switch_velocity, record, shorts):  # fmt: skip
    """At most `count` iterations, until the natural map is below `switch` and `switch_velocity`.

    numbers: (4, m') q, compliance, speed; v: (m',) the velocity of x, kept; work: (VECTORS, m'), bodies: (3, size + 6);
    record: (count, len(RECORD)) out; returns (iterations, how it ended, norm, worst, short steps in a row)."""
    limits, segments, at, J, end, paired = rows
    q, soft, speed = numbers[0], numbers[1], numbers[2]
    w, z, primal, carried, dx, dy, a, b = (
        work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7],
    )  # fmt: skip
    right, c, more_dx, more_dy, scratch = work[8], work[9], work[10], work[11], work[12:14]
    m, T = len(x), np.zeros((3, 12 if paired else len(A)))
    norm, worst = natural_map(limits, x, v, q, speed)
    tau, _ = centrality(limits, x, y)
    done = 0
    while done < count:
        largest, size = 0.0, 0.0
        for i in range(m):
            primal[i] = y[i] - v[i]
            largest = max(largest, abs(primal[i]))
            size += x[i] * x[i]
        form_scaling(limits, x, y, eta, w, z)
        form_squares(limits, eta, w, True, diagonal, blocks)
        if is_soft:
            soften(0, soft, diagonal, blocks, roots, eta, w)
        goal = math.inf if tau > _CHECKED else _SLOPPY * tau / (1.0 + math.sqrt(size / m))
        assemble(limits, segments, at, J, end, paired, diagonal, blocks, T, A)
        if not factor(A, end):
            return done, BROKEN, norm, worst, shorts
        apply_weights(diagonal, blocks, primal, carried)
        krylov = 0
        # stage 0: predictor; 1: corrector with the predictor's second-order term; then Gondzio's. One loop for all of
        # them, since every call of a kernel is compiled anew.
        stage, sigma, target, longest = 0, 0.0, 0.0, 0.0
        while True:
            if stage == 0:
                for i in range(m):
                    c[i] = -z[i]
            elif stage == 1:
                complementarity(limits, z, a, b, target, c)
            else:
                outliers(limits, z, a, b, min(1.0, longest + _REACH), max(target, 1e-3 * tau), c)
            _right_side(limits, eta, w, c, is_soft, diagonal, blocks, right)
            if stage < 2:
                right += carried
            rough = _ROUGH if stage == 0 else 1.0
            used = solve_system(rows, diagonal, blocks, A, right, more_dx, more_dy, rough * goal, scratch, bodies)
            if used < 0:
                break
            krylov += used
            for i in range(m):
                more_dy[i] += soft[i] * more_dx[i]
                if stage < 2:
                    more_dy[i] -= primal[i]
                else:
                    more_dx[i] += dx[i]
                    more_dy[i] += dy[i]
            new = min(largest_step(limits, x, more_dx), largest_step(limits, y, more_dy))
            if stage >= 2 and new < longest + _GAIN * _REACH and new < 1.0:
                break
            longest = new
            for i in range(m):
                dx[i], dy[i] = more_dx[i], more_dy[i]
            if stage > correctors or (stage > 0 and longest >= 1.0):
                break
            if stage == 0:
                step = min(1.0, longest)
                sigma = max(_ahead(limits, x, y, dx, dy, step, tau) ** 3, _CENTRING * (1.0 - step))
                target = sigma * tau
            scale_by(limits, eta, w, dx, a)
            unscale_by(limits, eta, w, dy, b)
            stage += 1
        if used < 0 and stage < 2:
            return done, BROKEN, norm, worst, shorts
        step = _step_inside(limits, x, y, dx, dy, min(1.0, _FRACTION * longest), a, b)
        for i in range(m):
            x[i] += step * dx[i]
            y[i] += step * dy[i]
        tau, _ = centrality(limits, x, y)
        velocity(rows, q, soft, x, bodies[0], v)
        norm, worst = natural_map(limits, x, v, q, speed)
        record[done, 0], record[done, 1], record[done, 2] = tau, step, sigma
        record[done, 3], record[done, 4], record[done, 5] = max(0, stage - 1), krylov, largest
        done += 1
        shorts = shorts + 1 if step < _SHORT else 0
        if norm <= switch and worst <= switch_velocity:
            return done, DONE, norm, worst, shorts
        if not step > 0.0 or shorts >= _SHORTS or ((shorts > 0 or sigma > _IDLE) and tau < _LATE):
            return done, STALLED, norm, worst, shorts
    return done, RUNNING, norm, worst, shorts


@njit(cache=True, error_model="numpy")
def _right_side(limits, eta, w, q, is_soft, diagonal, blocks, out):
    """out = S W q, which is W⁻¹ q without compliance."""
    if is_soft:
        scale_by(limits, eta, w, q, q)
        apply_weights(diagonal, blocks, q, out)
    else:
        unscale_by(limits, eta, w, q, out)
