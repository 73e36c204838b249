"""Penetration removed by moving bodies, not by speeding them up: nothing bounces off a stabilisation.

Gaps at the end of a step are known to first order. What was open when it began must not be closed beyond touching, what
penetrated comes out at the bounded rate of `Stabilisation`. Where that fails by more than rounding, bodies are moved
along the contacts' normals by the least displacement in the mass metric, a few sweeps of projected Gauß–Seidel."""

import numpy as np
from numba import njit

from delassus.dynamics.rows import row_rate

_SWEEPS = 30
_SMALL = 1e-6  # of the smaller shape: penetrations below are left to velocities, which they do not disturb
_ENOUGH = 0.1  # of that: where sweeps may end


@njit(cache=True, error_model="numpy")
def separate(touching, radius, before, elapsed, after, left, h, plain, move):
    """Displacements (n_b, 6) that take bodies out of penetrations they would end the step with, into `move`, which is
    zero; returns whether there are any.

    touching: bodies, shapes and gaps of the contacts, their first row, rows, H⁻¹ Jᵀ by rows and compliances; radius: of
    the shapes [m]; before, after: (n_b, 6) velocities; elapsed, left: (n_b,) times to where rows are evaluated, and
    from there to the end [s]; plain: of Stabilisation."""
    bodies, shapes, gap, first, rows, response, soft = touching
    rate, margin, cap = plain[2], plain[3], plain[4]
    n = len(gap)
    lack, lacks = np.empty(n), False  # what each contact lacks to where it should be [m]
    for c in range(n):
        r = first + 3 * c
        began = ends = gap[c] + margin
        for side in range(2):
            b = bodies[c, side]
            if b >= 0:
                for k in range(6):
                    began -= elapsed[b] * rows[r, 6 * side + k] * before[b, k]
                    ends += left[b] * rows[r, 6 * side + k] * after[b, k]
        wanted = min(began + min(-rate * began, cap * h), 0.0) if began < 0.0 else 0.0
        lack[c] = -np.inf if len(soft) and soft[r] > 0.0 else wanted - ends
        lacks = lacks or lack[c] > _SMALL * min(radius[shapes[c, 0]], radius[shapes[c, 1]])
    if lacks:
        _sweep(bodies, shapes, first, rows, response, radius, lack, move)
    return lacks


@njit(cache=True, error_model="numpy")
def _sweep(bodies, shapes, first, rows, response, radius, lack, move):
    """Projected Gauß–Seidel on the normals: displacements whose contacts lack nothing, or push nothing."""
    push = np.zeros(len(lack))
    for _ in range(_SWEEPS):
        done = True
        for c in range(len(lack)):
            r = first + 3 * c
            mobility = 0.0
            for k in range(12):
                mobility += rows[r, k] * response[r, k]
            more = max((lack[c] - row_rate(bodies, c, rows, r, move)) / mobility, -push[c])
            push[c] += more
            for side in range(2):
                b = bodies[c, side]
                if b >= 0:
                    for k in range(6):
                        move[b, k] += more * response[r, 6 * side + k]
            done = done and abs(more) * mobility <= _ENOUGH * _SMALL * min(radius[shapes[c, 0]], radius[shapes[c, 1]])
        if done:
            return
