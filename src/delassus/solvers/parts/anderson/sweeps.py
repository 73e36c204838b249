"""Gauß–Seidel sweeps over triples with Anderson acceleration, judged inside, until another method would be cheaper.

The acceleration is that of `step`, without its jumps: what sweeps cannot do soon is left to Newton's method. How long
they go on is a matter of price. After the first sweeps the closed contacts are known and a factorisation over them is
priced in nanoseconds, as a sweep is; sweeps may cost as much as a few factorisations, and more while the slope of the
residual promises the tolerance within some more. Prices are constants: nothing depends on the clock.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers.parts.anderson import step
from delassus.solvers.parts.anderson.step import NORM, Buffers, begin_map, end_map
from delassus.solvers.parts.block_sweeps import COARSE, sweep_threes
from delassus.solvers.parts.elimination_order import block_operations
from delassus.solvers.parts.judged import Judge, excess_over
from delassus.solvers.parts.threes import Triples, velocity_of

# Entries of `state` behind those of `step`. Of the judge: sweeps done, when to judge next, excess of the best point, of
# the last one judged and ‖f‖ then; the best excess and the sweeps at the judgement before; …
DONE, NEXT, BEST, JUDGED, JUDGED_NORM, BEFORE, BEFORE_DONE = range(step.STATE_SIZE, step.STATE_SIZE + 7)
# … of the price: sweeps before it is asked for, nanoseconds of a factorisation and of a sweep (zero before), sweeps
# that the first factorisations are worth, and that the last ones are; is a judgement under way that asks for it?
FIRST, FACTOR_PRICE, SWEEP_PRICE, BUDGET, FAR, ASKS = range(step.STATE_SIZE + 7, step.STATE_SIZE + 13)
STATE_SIZE = step.STATE_SIZE + 13
VECTORS = 8  # of scratch

GO_ON, CONVERGED, TOO_DEAR, NEEDS_PRICE = 0, 1, 2, 3
"""How a call ends: at its number of sweeps, at the tolerances, because another method would be cheaper, or, of
`sweep_up_to`, for want of a price."""

_RULE = step.GROWTH, math.inf, step.REGULARISATION  # of acceleration: its patience never ends
_WORTH, _WORTH_CONVERGING = 4.0, 10.0  # factorisations that sweeps may cost; the same where they promise to converge
_FIRST_CONVERGING = 4.0  # times the first sweeps, that may be done beside those: systems also take passes over all rows
_CONVEX_SHARE = 0.3  # of that under a convex law: an interior point takes over, and it never takes long

# What a factorisation and a sweep cost on the machines at hand [ns]; flat: twice as much changes little.
_PER_PRODUCT, _PER_CLOSED, _PER_BLOCK, _PER_TRIPLE, _PER_CONVEX_TRIPLE = 6.0, 230.0, 2.0, 35.0, 200.0
_MOST_FILL = 3_000_000  # blocks of U beyond which factors are not priced: they would take seconds


def first_state(first: int) -> np.ndarray:
    """`state` before the first sweep.  first: sweeps before a price is asked for; 0: never, sweeps go on."""
    state = np.zeros(STATE_SIZE)
    begin(state, float(first))
    return state


@njit(cache=True, **NO_REFCOUNT)
def begin(state, first):
    """Write the state before the first sweep."""
    for i in range(STATE_SIZE):
        state[i] = 0.0
    step.begin(state)
    state[BEST] = state[JUDGED] = state[JUDGED_NORM] = state[BEFORE] = math.inf
    state[NEXT], state[FIRST] = min(4.0, first) if first > 0.0 else 4.0, first


class Sweeping(NamedTuple):
    """What accelerated sweeps change. Python hands a plain tuple of these."""

    state: np.ndarray
    """(STATE_SIZE,)."""
    vectors: np.ndarray
    """(VECTORS, 3 n) scratch that the state refers to; so are the next three."""
    G: np.ndarray
    """(memory, 3 n)."""
    F: np.ndarray
    """(memory, 3 n)."""
    small: np.ndarray
    """(2 memory + 3, memory)."""
    constants: np.ndarray
    """(n, 12) of `sweep_constants`, read."""
    r: np.ndarray
    """(3 n,) the point."""
    slip: np.ndarray
    """(n,) slip rates."""
    best: np.ndarray
    """(3 n,) the best point judged."""


@njit(cache=True, error_model="numpy")
def accelerated_phase(most, triples, sweeping, judge):
    """At most so many sweeps, in place; how it ended.  triples, sweeping, judge: fields of `Triples`, `Sweeping` and
    `Judge`."""
    triples, sweeping, judge = Triples(*triples), Sweeping(*sweeping), Judge(*judge)
    end = sweeping.state[DONE] + most
    while True:
        how = sweep_up_to(end, triples, sweeping, judge)
        if how != NEEDS_PRICE:
            return how
        sweeping.state[FACTOR_PRICE] = factor_price(triples.mu, sweeping.best, triples.pointer, triples.column)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def sweep_up_to(end, triples, sweeping, judge):
    """`accelerated_phase` up to sweep `end` without allocating: where a factorisation has to be priced, it ends with
    `NEEDS_PRICE`, to be called again with state[FACTOR_PRICE] written."""
    state, vectors, r, rows = sweeping.state, sweeping.vectors, sweeping.r, len(judge.place)
    u, reactions, velocities = vectors[4], vectors[6][:rows], vectors[7][:rows]
    while not is_too_dear(state, triples.mu, triples.convex, triples.column):
        if not sweep_until_due(end, triples, sweeping, COARSE):
            return GO_ON
        velocity_of(triples, triples.v, r, u)
        excess = excess_over(judge, r, u, reactions, velocities, state[DONE])
        how = take_judgement(state, excess, r, sweeping.best)
        if how != GO_ON:
            return how
    return TOO_DEAR


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sweep_until_due(end, triples, sweeping, last):
    """Sweeps up to number `end`, or until r should be judged: should it?  last: of `sweep_threes`. Vectors may be
    longer than all triples, and are zero there: of whole sixteens, loops take less time."""
    state, vectors, r, small = sweeping.state, sweeping.vectors, sweeping.r, sweeping.small
    mu, diagonal = triples.mu, triples.diagonal
    weight, memory = vectors[0], len(sweeping.G)
    buffers = Buffers(
        weight,
        vectors[1],
        vectors[5],
        vectors[2],
        vectors[3],
        vectors[4],
        sweeping.G,
        sweeping.F,
        small[:memory],
        small[2 * memory],
        small[2 * memory + 1],
        small[2 * memory + 2],
        small[memory : 2 * memory],
    )
    cone = 0, 0, mu, False
    if state[DONE] == 0.0:
        for k in range(len(mu)):
            trace = (diagonal[9 * k] + diagonal[9 * k + 4] + diagonal[9 * k + 8]) / 3.0
            root = math.sqrt(trace) if trace > 0.0 else 1.0
            weight[3 * k] = weight[3 * k + 1] = weight[3 * k + 2] = root
        for i in range(3 * len(mu), len(weight)):
            weight[i] = 0.0
    while state[DONE] < end:
        begin_map(state, buffers, r)
        sweep_threes(triples, diagonal, sweeping.constants, triples.v, r, sweeping.slip, last)
        state[DONE] += 1.0
        if not end_map(state, _RULE, cone, buffers, r):
            continue
        if state[DONE] >= state[NEXT] or state[NORM] == 0.0:
            return True
        # ‖f‖ in proportion to what the judge said last; it costs about as much as a sweep, so one in vain is no loss
        if state[JUDGED] < math.inf and state[NORM] * state[JUDGED] < state[JUDGED_NORM]:
            return True
    return False


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def take_judgement(state, excess, r, best):
    """What follows from the judge's word on r, its excess over the tolerances: CONVERGED, TOO_DEAR where r is no
    number, NEEDS_PRICE, or GO_ON, after `is_too_dear`."""
    state[JUDGED], state[JUDGED_NORM] = excess, state[NORM]
    if excess < state[BEST]:
        state[BEST] = excess
        for i in range(len(r)):
            best[i] = r[i]
    if excess <= 1.0:
        return CONVERGED
    if not math.isfinite(state[NORM]):
        return TOO_DEAR
    if state[DONE] >= state[NEXT]:
        state[ASKS] = 1.0
        if state[SWEEP_PRICE] == 0.0 and 0.0 < state[FIRST] <= state[DONE]:
            return NEEDS_PRICE
    return GO_ON


@njit(cache=True, error_model="numpy")
def factor_price(mu, r, pointer, column):
    """What a factorisation over joints and what is closed in r costs [ns]; infinite where it is too large for blocks of
    three."""
    products, closed = block_operations(mu, r, pointer, column, _MOST_FILL)
    return _PER_PRODUCT * products + _PER_CLOSED * closed


@njit(cache=True, **NO_REFCOUNT)
def full_price(closed):
    """What a factorisation costs over so many closed contacts, every one of which moves every other [ns]."""
    return _PER_PRODUCT * closed * closed * closed / 3.0 + _PER_CLOSED * closed


@njit(cache=True, **NO_REFCOUNT)
def sweep_price(blocks, triples, convex):
    """What a sweep costs [ns].  blocks, triples: how many there are."""
    return _PER_BLOCK * blocks + (_PER_CONVEX_TRIPLE if convex > 0.0 else _PER_TRIPLE) * triples


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def is_too_dear(state, mu, convex, column):
    """After a judgement that was due: would another method be cheaper by now? When to judge next is written. A
    factorisation has been priced if it has to be."""
    if state[ASKS] == 0.0:
        return False
    state[ASKS] = 0.0
    done, first = state[DONE], state[FIRST]
    if first > 0.0 and done >= first:
        if state[SWEEP_PRICE] == 0.0:
            state[SWEEP_PRICE] = sweep_price(len(column), len(mu), convex)
            ratio = state[FACTOR_PRICE] / state[SWEEP_PRICE] * (_CONVEX_SHARE if convex > 0.0 else 1.0)
            state[BUDGET] = max(first, _WORTH * ratio)
            state[FAR] = _FIRST_CONVERGING * first + _WORTH_CONVERGING * ratio
        stop = done >= state[BUDGET]
        if stop and done < state[FAR] and done >= state[BEFORE_DONE] + 8.0 and state[BEST] < state[BEFORE]:
            rate = math.log(state[BEFORE] / state[BEST]) / (done - state[BEFORE_DONE])
            stop = done + math.log(state[BEST]) / rate >= state[FAR]
        if stop:
            return True
    state[BEFORE], state[BEFORE_DONE] = state[BEST], done
    state[NEXT] = first if done < first else done + max(8.0, done // 4.0)
    return False
