"""Gauß–Seidel sweeps over triples with Anderson acceleration, judged inside, until another method would be cheaper.

The rules of acceleration are those of `modifiers/anderson`, without its jumps: what sweeps cannot do soon is left to
Newton's method. How long they go on is a matter of price. After the first sweeps the closed contacts are known and a
factorisation over them is priced in nanoseconds, as a sweep is; sweeps may cost as much as a few factorisations, and
more while the slope of the residual promises the tolerance within some more. Prices are constants: nothing depends on
the clock.
"""

import math

import numpy as np
from numba import njit

from delassus.solvers.parts.anderson.window import dot
from delassus.solvers.parts.block_sweeps import sweep_threes
from delassus.solvers.parts.elimination_order import block_operations
from delassus.solvers.parts.judged import excess_over
from delassus.solvers.parts.threes import velocity

# Entries of `state`. Of the acceleration: does (g, f) hold a map, is the point on trial, entries of the window and
# where the next goes, ‖f‖ of the last accepted map, at the last progress and maps since; …
HAS_LAST, ON_TRIAL, COUNT, SLOT, NORM, MILESTONE, IDLE = 0, 1, 2, 3, 4, 5, 6
# … of the judge: sweeps done, when to judge next, excess of the best point, of the last one judged and ‖f‖ then; the
# best excess and the sweeps at the judgement before; …
DONE, NEXT, BEST, JUDGED, JUDGED_NORM, BEFORE, BEFORE_DONE = 7, 8, 9, 10, 11, 12, 13
# … of the price: sweeps before it is asked for, nanoseconds of a factorisation and of a sweep (zero before), sweeps
# that the first factorisations are worth, and that the last ones are.
FIRST, FACTOR_PRICE, SWEEP_PRICE, BUDGET, FAR = 14, 15, 16, 17, 18
STATE_SIZE = 19

GO_ON, CONVERGED, TOO_DEAR = 0, 1, 2
"""How a call ends: at its number of sweeps, at the tolerances, or because another method would be cheaper."""

_PROGRESS = 0.8  # a smaller ‖f‖ than this fraction of the last milestone's is progress
_MET = 0.8  # the judge is called once ‖f‖ has fallen to this fraction of what, in proportion, meets the tolerances
_GROWTH = 1.5  # a point whose ‖f‖ exceeds this many times the last one's is refused
_REGULARISATION = 1e-6  # added to the unit diagonal of the normal equations
_TRUST, _TRUST_AFTER = 0.3, 5  # part of the point a combination may change after so many sweeps without progress
_WORTH, _WORTH_CONVERGING = 4.0, 10.0  # factorisations that sweeps may cost; the same where they promise to converge

# What a factorisation and a sweep cost on the machines at hand [ns]; flat: twice as much changes little.
_PER_PRODUCT, _PER_CLOSED, _PER_BLOCK, _PER_TRIPLE = 6.0, 230.0, 2.0, 35.0
_MOST_FILL = 3_000_000  # blocks of U beyond which factors are not priced: they would take seconds


def first_state(first: int) -> np.ndarray:
    """`state` before the first sweep.  first: sweeps before a price is asked for; 0: never, sweeps go on."""
    state = np.zeros(STATE_SIZE)
    begin(state, float(first))
    return state


@njit(cache=True)
def begin(state, first):
    """Write the state before the first sweep."""
    for i in range(STATE_SIZE):
        state[i] = 0.0
    state[NORM] = state[MILESTONE] = state[BEST] = state[JUDGED] = state[JUDGED_NORM] = state[BEFORE] = math.inf
    state[NEXT], state[FIRST] = min(4.0, first) if first > 0.0 else 4.0, first


@njit(cache=True, error_model="numpy")
def accelerated_phase(
    most, state, vectors, G, F, small, pointer, column, value, diagonal, constants, v, mu, convex, r, slip, best,
    tols, units, place, judged_by, judgements,
):  # fmt: skip
    """At most so many sweeps from r, in place; how it ended. `best` holds the best point judged.

    vectors: (7, 3 n), G, F: (memory, 3 n), small: (2 memory + 3, memory), all scratch that state refers to; constants,
    slip: of `sweep_threes`; tols, units, place, judged_by, judgements: of `excess_over`."""
    weight, x, g, f, u = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    reactions, velocities = vectors[5][: len(place)], vectors[6][: len(place)]
    if state[DONE] == 0.0:
        for k in range(len(mu)):
            trace = (diagonal[9 * k] + diagonal[9 * k + 4] + diagonal[9 * k + 8]) / 3.0
            root = math.sqrt(trace) if trace > 0.0 else 1.0
            weight[3 * k] = weight[3 * k + 1] = weight[3 * k + 2] = root
    end = state[DONE] + most
    while state[DONE] < end:
        for i in range(len(r)):
            x[i] = r[i]
        sweep_threes(pointer, column, value, diagonal, constants, v, mu, convex, r, slip)
        state[DONE] += 1.0
        if not _accept(state, weight, x, r, g, f, G, F, small):
            continue
        if state[DONE] >= state[NEXT] or state[NORM] * state[JUDGED] < _MET * state[JUDGED_NORM] or state[NORM] == 0.0:
            velocity(pointer, column, value, diagonal, v, r, u)
            excess = excess_over(tols, r, u, units, place, judged_by, reactions, velocities, state[DONE], judgements)
            state[JUDGED], state[JUDGED_NORM] = excess, state[NORM]
            if excess < state[BEST]:
                state[BEST] = excess
                for i in range(len(r)):
                    best[i] = r[i]
            if excess <= 1.0:
                return CONVERGED
            if not math.isfinite(state[NORM]):
                return TOO_DEAR
            if state[DONE] >= state[NEXT] and _is_too_dear(state, mu, best, pointer, column):
                return TOO_DEAR
        _combine(state, weight, r, g, G, small)
    return GO_ON


@njit(cache=True, error_model="numpy")
def _is_too_dear(state, mu, best, pointer, column):
    """At a judgement that was due: would another method be cheaper by now? When to judge next is written."""
    done, first = state[DONE], state[FIRST]
    if first > 0.0 and done >= first:
        if state[SWEEP_PRICE] == 0.0:
            products, closed = block_operations(mu, best, pointer, column, _MOST_FILL)
            state[FACTOR_PRICE] = _PER_PRODUCT * products + _PER_CLOSED * closed
            state[SWEEP_PRICE] = _PER_BLOCK * len(column) + _PER_TRIPLE * len(mu)
            state[BUDGET] = max(first, _WORTH * state[FACTOR_PRICE] / state[SWEEP_PRICE])
            state[FAR] = _WORTH_CONVERGING * state[FACTOR_PRICE] / state[SWEEP_PRICE]
        stop = done >= state[BUDGET]
        if stop and done < state[FAR] and done >= state[BEFORE_DONE] + 8.0 and state[BEST] < state[BEFORE]:
            rate = math.log(state[BEFORE] / state[BEST]) / (done - state[BEFORE_DONE])
            stop = done + math.log(state[BEST]) / rate >= state[FAR]
        if stop:
            return True
    state[BEFORE], state[BEFORE_DONE] = state[BEST], done
    state[NEXT] = done + max(8.0, done // 4.0)
    if done < first:
        state[NEXT] = min(state[NEXT], first)
    return False


@njit(cache=True, error_model="numpy")
def _accept(state, weight, x, r, g, f, G, F, small):
    """Take the sweep from x to r into the window, or go back to the end of the last one, which is written; accepted?"""
    memory = len(G)
    gram, right = small[:memory], small[2 * memory]
    if state[ON_TRIAL] != 0.0 or state[HAS_LAST] == 0.0:
        norm = 0.0
        for i in range(len(r)):
            norm += (weight[i] * (r[i] - x[i])) ** 2
        norm = math.sqrt(norm)
        if state[ON_TRIAL] != 0.0 and not norm <= _GROWTH * state[NORM]:
            for i in range(len(r)):
                r[i] = g[i]
            state[COUNT] = state[SLOT] = state[HAS_LAST] = state[ON_TRIAL] = 0.0
            return False
        state[NORM] = norm
    if state[HAS_LAST] != 0.0:
        slot = int(state[SLOT])
        state[NORM] = math.sqrt(_differences(weight, x, r, g, f, G[slot], F[slot]))
        count = min(int(state[COUNT]) + 1, memory)
        own = F[slot]
        for j in range(count):
            product = dot(F[j], own)
            gram[slot, j] = gram[j, slot] = product
            if j != slot:
                right[j] += product  # F_j · f with the new f
        right[slot] = dot(own, f)
        state[COUNT], state[SLOT] = count, (slot + 1) % memory
    else:
        for i in range(len(r)):
            g[i], f[i] = r[i], weight[i] * (r[i] - x[i])
        state[HAS_LAST] = 1.0
    state[IDLE] += 1.0
    if state[NORM] < _PROGRESS * state[MILESTONE]:
        state[MILESTONE], state[IDLE] = state[NORM], 0.0
    return True


@njit(cache=True, error_model="numpy")
def _differences(weight, x, r, g, f, own_g, own_f):
    """f = weight (r − x) and g = r, written, their changes into the window; ‖f‖²."""
    n, s0, s1, s2, s3 = len(r) // 4 * 4, 0.0, 0.0, 0.0, 0.0
    for i in range(len(r)):
        new = weight[i] * (r[i] - x[i])
        own_g[i], own_f[i], g[i], f[i] = r[i] - g[i], new - f[i], r[i], new
    for i in range(0, n, 4):
        s0, s1 = s0 + f[i] * f[i], s1 + f[i + 1] * f[i + 1]
        s2, s3 = s2 + f[i + 2] * f[i + 2], s3 + f[i + 3] * f[i + 3]
    for i in range(n, len(r)):
        s0 += f[i] * f[i]
    return (s0 + s1) + (s2 + s3)


@njit(cache=True, error_model="numpy")
def _combine(state, weight, r, g, G, small):
    """r −= Σ γ_j ΔG_j with the γ of the least ‖f − Σ γ_j Δf_j‖: the next point to sweep from, on trial."""
    memory, count = len(G), int(state[COUNT])
    gram, L, right, gamma, scale = (
        small,
        small[memory:],
        small[2 * memory],
        small[2 * memory + 1],
        small[2 * memory + 2],
    )
    state[ON_TRIAL] = 0.0
    for i in range(count):  # Cholesky row by row, with forward substitution
        scale[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 0.0
        gamma[i] = scale[i] * right[i]
        for j in range(i):
            entry = gram[i, j] * scale[i] * scale[j]
            for k in range(j):
                entry -= L[i, k] * L[j, k]
            L[i, j] = entry / L[j, j]
            gamma[i] -= L[i, j] * gamma[j]
        pivot = 1.0 + _REGULARISATION
        for k in range(i):
            pivot -= L[i, k] * L[i, k]
        if not pivot > 0.0:
            return
        L[i, i] = math.sqrt(pivot)
        gamma[i] /= L[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            gamma[i] -= L[k, i] * gamma[k]
        gamma[i] /= L[i, i]
    for i in range(count):
        gamma[i] *= scale[i]
        if not math.isfinite(gamma[i]):
            return
    if not count:
        return
    state[ON_TRIAL] = 1.0
    j = 0
    while j + 4 <= count:  # four differences at a time: r is read and written less often
        a, b, c, d = G[j], G[j + 1], G[j + 2], G[j + 3]
        c0, c1, c2, c3 = gamma[j], gamma[j + 1], gamma[j + 2], gamma[j + 3]
        for i in range(len(r)):
            r[i] -= (c0 * a[i] + c1 * b[i]) + (c2 * c[i] + c3 * d[i])
        j += 4
    while j < count:
        a, c0 = G[j], gamma[j]
        for i in range(len(r)):
            r[i] -= c0 * a[i]
        j += 1
    if state[IDLE] > _TRUST_AFTER:
        step = size = 0.0
        for i in range(len(r)):
            step += (weight[i] * (r[i] - g[i])) ** 2
            size += (weight[i] * g[i]) ** 2
        if step > _TRUST * _TRUST * size:
            shorter = _TRUST * math.sqrt(size / step)
            for i in range(len(r)):
                r[i] = g[i] + shorter * (r[i] - g[i])
