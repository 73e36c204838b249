"""The proximal Newton iteration, compiled: outer (proximal) iterations, inner Newton steps, and the path to the least
reactions, all in units of `scale_threes`. What the method is about stands in `prox_ssn`.

One text for every linear solver. A call runs until the point is good enough, until it has done its number of Newton
systems, or, where systems are solved outside, until it needs one: it then returns `NEEDS_STEP` with the derivative in A
and F in `vectors`, and goes on when it is called again with Newton's step in its place.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import PADDING, row_times
from delassus.kernel.memory import NO_REFCOUNT, folded
from delassus.solvers.newton.alart_curnier import law_function, projection_derivative, smoothed_derivative
from delassus.solvers.newton.block_lu import Factors, block_lu_step
from delassus.solvers.parts.block_sweeps import COARSE, sweep_constants, sweep_threes
from delassus.solvers.parts.elimination_order import eliminate, fill_pattern, order_scratch
from delassus.solvers.parts.judged import Judge, excess_over
from delassus.solvers.parts.threes import Triples, velocity_of

# Rows of `vectors`: centre of the proximal term, iterate of Newton's method, its velocity and F; the same three of a
# trial; Newton's step and what it does to the velocity; v − α centre; a point to compare; what open triples contribute
# to the right side, and their F; the weight α of each row; and scratch of the judge.
CENTRE, ITERATE, SPEED, VALUE, TRIAL, TRIAL_SPEED, TRIAL_VALUE, STEP, PULL, SHIFTED = range(10)
POINT, COUPLED, OPEN_VALUE, WEIGHT = 10, 11, 12, 13
VECTORS = 16
SCRATCH = 22  # numbers per triple, of sweeps on the regularised problem

# Entries of `state`: proximal weight, the last one that failed, relative residual of the centre; what the inner loop is
# for (see below), which try it is, its steps, is the derivative smoothed, did the other one find no descent, ‖F‖, ‖F‖
# to reach with ρ = 1; …
ALPHA, FAILED, RESIDUAL, MODE, TRY, STEPS, SMOOTHED, STUCK, NORM, GOAL = range(10)
# … systems solved, outer iterations, excess of the best point; what a step waits for; where the inner loop is
# (see below), has the iteration started; the last weight of the path, or of a guess that needs none; sweeps to do on
# the regularised problem; were joints made exact, or is there no room for it (see below); …
SYSTEMS, OUTER, BEST, WAITS, INNER, STARTED, LAST, SWEEPS, EXACT = range(10, 19)
# … sweeps before the second try of an inner loop; its last steps in a row that gained next to nothing.
SECOND_TRY, IDLE = 19, 20
STATE_SIZE = 21

_NOT_STARTED, _POSED_AGAIN, _STARTED = 0.0, 1.0, 2.0  # where the inner loop is

_NOT_WAITING, _WAITS_FOR_STEP, _WAITS_FOR_ORDER = 0.0, 1.0, 2.0  # of a step: solved outside, or when order is made

_NOT_YET, _EXACT, _NO_ROOM = 0.0, 1.0, 2.0  # of making joints exact, at the end

# What an inner loop is for: a proximal step, a point of the path to the least reactions, or the correction after it.
PROXIMAL, PATH, CORRECTION = 0.0, 1.0, 2.0

GO_ON, CONVERGED, NEEDS_STEP, STUCK_FOR_GOOD, NEEDS_ORDER, _NEEDS_SWEEPS = range(6)
"""How a call ends: at its number of systems, at the tolerances, for want of a step, without hope, or, of `phase_up_to`,
because the system has grown."""

_HALVINGS = 12  # of a step before Newton's method counts as failed
_ARMIJO = 1e-4  # least decrease of ‖F‖, as a share of what a full step promises
_SMOOTHED_BELOW = 0.3  # step length below which the next step uses the smoothed derivative
_SMOOTHING = 3.0  # width of the smoothed kinks, in units of the rms of F
# A proximal step whose Newton iteration gains less than a tenth of ‖F‖ three times in a row counts as failed: the rest
# of its steps seldom helps, and sweeps or a larger weight do.
_IDLE_GAIN, _MOST_IDLE = 0.9, 3.0
# Sweeps on the regularised problem after a Newton iteration that failed, at most, and at least: as many as are worth so
# many systems. Fifty cost ten systems where contacts have few neighbours.
_MOST_SECOND_TRY, _LEAST_SECOND_TRY, _SECOND_TRY_WORTH = 50.0, 5.0, 2.0
_EXTRAPOLATION, _FELT = 1.3, 1e-5  # of a proximal step, while a weight above this is felt
_MOST_OUTER = 1000  # outer iterations; those of problems that were solved are a third of them
_MOST_FILL = 3_000_000  # blocks of U beyond which the system is left to others (300 MB)
_LEAST_SWEEPS = 6  # before the path, and as many as there are contacts: the more, the dearer a system
UNTOUCHED = 0.1
"""Part of the tolerances within which a guess is returned as it is. One that merely meets them would be returned step
after step, and its error, always the same, would add momentum in each."""
# A guess that is nearly right, as in the steps of a simulation, needs no path: relative residual up to which, also as a
# part of that of zero (walls that fall take twice as many systems from worse ones as from zero), first proximal weight
# from there in units of that residual, and residual to reach with it (half would do for the iteration itself, but the
# least reactions are found from contacts that stick to more digits than the tolerance asks for).
_GOOD_GUESS, _BETTER_THAN_NONE = 1e-2, 0.1
_ALPHA_OF_GUESS, _ALPHA_OF_GUESS_MIN, _GUESS_TARGET = 1e-2, 1e-6, 1e-2
_STEPS_WITHIN = 4.0  # Newton steps from a guess that meets the tolerances: it is taken where they do not find better
# Joints hold, however much contacts give way: with a weight as large as theirs the fingers of a gripper would open. The
# little that is left is for redundant ones.
_JOINT_WEIGHT = 1e-8
_JOINT_WEIGHT_PROXIMAL = 1e-5  # after a failed proximal step: factors of redundant joints lose fewer digits
_EXACT_ENOUGH = 1e-10  # residual of joints, relative: at 1 m/s it adds up to a nanometre in ten seconds
_WELL_WITHIN = 1e-3  # part of the tolerances that contacts and limits beside joints are within, or get a system more
_ROUNDING = 1e-15  # residual in scaled units below which nothing is left to gain

# The path to the least reactions: the law for D + α I with falling weight α.
_PATH_FACTOR = 1e-3  # between two weights
_PATH_END = 1e-8  # last weight: reactions that balance each other keep eight digits there
_PATH_RESIDUAL = 1e-6  # to solve each point for, in units of its weight: sets the accuracy of such reactions
_CORRECTED_BELOW = 1e-3  # weight from which a proximal step with the next weight follows each point, to make it exact
_ALPHA_AFTER_PATH = 100.0  # factor on a weight that was too small for the path: there the proximal iteration begins
CORRECTION_STEPS = 2
"""Systems at most for a correction, or for making joints exact."""


@njit(cache=True, **NO_REFCOUNT)
def begin(state, alpha, follows):
    """Write the state before the first outer iteration.  alpha: first weight; follows: 1.0 for the path, else 0.0."""
    for i in range(STATE_SIZE):
        state[i] = 0.0
    state[ALPHA], state[BEST], state[MODE] = alpha, math.inf, PATH if follows > 0.0 else PROXIMAL
    state[SECOND_TRY] = _MOST_SECOND_TRY


def sweeps_before_second_try(factor_price: float, sweep_price: float) -> float:
    """state[SECOND_TRY] where both are known [ns]."""
    worth = _SECOND_TRY_WORTH * factor_price / sweep_price
    return min(max(worth, _LEAST_SECOND_TRY), _MOST_SECOND_TRY)


class Rule(NamedTuple):
    """Settings, see `ProxSsn`; Python hands a plain tuple of these."""

    rho: float
    """Of the function F."""
    alpha: float
    """First proximal weight."""
    alpha_min: float
    """Least proximal weight."""
    newton_steps: float
    """At most, per outer iteration."""
    path_sweeps: float
    """On the regularised problem before the path, at most."""
    first_sweeps: float
    """Accelerated sweeps before the iteration, at least."""
    memory: float
    """Of their acceleration."""
    follows_path: float
    """1.0: to the least reactions, else 0.0."""


class Newton(NamedTuple):
    """What the iteration changes. Python hands a plain tuple of these."""

    state: np.ndarray
    """(STATE_SIZE,)."""
    vectors: np.ndarray
    """(VECTORS, 3 n)."""
    A: np.ndarray
    """(3 n, 3) derivative of the projections."""
    best: np.ndarray
    """(3 n,) the best point judged."""
    before: float
    """Iterations that were done already, added to those in the judgements."""
    outside: float
    """1.0 where systems are solved by the caller, else 0.0."""


class System(NamedTuple):
    """Where the linear system is kept."""

    numbers: np.ndarray
    """`index`, of `index_size`."""
    factors: np.ndarray
    """Of `order_members`; empty at first."""
    scratch: np.ndarray
    """(SCRATCH n,)."""


@njit(cache=True, error_model="numpy")
def proximal_phase(most, rule, newton, triples, judge):
    """At most so many more systems, from vectors[CENTRE]; how it ended.  rule, newton, triples, judge: fields of
    `Rule`, `Newton`, `Triples` and `Judge`."""
    rule, newton, triples, judge = Rule(*rule), Newton(*newton), Triples(*triples), Judge(*judge)
    n = len(triples.mu)
    index, factors = np.empty(index_size(n, len(triples.column)), np.int64), np.empty(0)
    scratch, end = np.empty(SCRATCH * n), newton.state[SYSTEMS] + most
    forget_members(index, n)
    while True:
        how = phase_up_to(end, rule, newton, System(index, factors, scratch), triples, judge)
        if how != NEEDS_ORDER:
            return how
        size = order_members(index, triples.pointer, triples.column)
        if size == 0:
            return STUCK_FOR_GOOD
        factors = np.empty(size)


# The linear system, in two arrays. Entries of `index`: how many triples are members, that is, are or were closed in
# this call, and how many blocks U has; then (n,) each is every triple a member, its number among them, its place in
# their order, and the members; the order, (n,), the rows of U and of L, (n + 1,) each; the seat of every block of D;
# scratch of `eliminate`, and in what is left the columns of U and of L.
_MEMBERS, _FILL, _HEAD = 0, 1, 2


@njit(cache=True, **NO_REFCOUNT)
def index_size(triples, blocks):
    """Length of `index` of a system.  blocks: of D, off its diagonal."""
    return _fixed_size(triples, blocks) + 2 * min(_MOST_FILL, triples * (triples - 1) // 2)


@njit(cache=True, **NO_REFCOUNT)
def _fixed_size(triples, blocks):
    return _HEAD + 7 * triples + 2 + blocks + order_scratch(triples)


@njit(cache=True, **NO_REFCOUNT)
def forget_members(index, triples):
    """No triple is a member."""
    for i in range(_HEAD + triples):
        index[i] = 0


@njit(cache=True, **NO_REFCOUNT)
def _columns_of(index, triples, blocks):
    """Columns of U and of L, views with room for all there may be."""
    at = _fixed_size(triples, blocks)
    middle = at + (len(index) - at) // 2
    return index[at:middle], index[middle:]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def order_members(index, pointer, column):
    """Order the members anew; length of `factors`, 0 where factors are too large."""
    n, blocks = len(pointer) - 1, len(column)
    at, count = _HEAD + n, 0
    is_member, number, position, members = index[_HEAD:at], index[at:], index[at + n :], index[at + 2 * n :]
    for k in range(n):
        number[k] = -1
        if is_member[k]:
            number[k], members[count] = count, k
            count += 1
    at += 3 * n
    order, starts, lower = index[at:], index[at + n : at + n + count + 1], index[at + 2 * n + 1 :]
    at += 3 * n + 2
    seat, scratch = index[at : at + blocks], index[at + blocks :]
    columns, left = _columns_of(index, n, blocks)
    fill = eliminate(members[:count], number, pointer, column, order, position, starts, columns, scratch)
    if fill < 0:
        return 0
    fill_pattern(position, starts, columns, lower, left, scratch)
    for p in range(blocks):  # behind the order for triples that are no members
        k = column[p] // 3
        seat[p] = position[k] if is_member[k] else count
    index[_MEMBERS], index[_FILL] = count, fill
    return 12 * fill + 27 * count + 24 + 3 * PADDING


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def phase_up_to(end, rule, newton, system, triples, judge):
    """`proximal_phase` up to so many systems in all, without allocating: it also ends where the system has grown, with
    `NEEDS_ORDER`, to be called again after `order_members` with factors as long as that says."""
    index, factors, state = system.numbers, system.factors, newton.state
    n, blocks, count, fill = len(triples.mu), len(triples.column), index[_MEMBERS], index[_FILL]
    at = _HEAD + 4 * n
    order, starts, lower = index[at : at + count], index[at + n :], index[at + 2 * n + 1 :]
    seat, is_member = index[at + 3 * n + 2 :], index[_HEAD : _HEAD + n]
    columns, left = _columns_of(index, n, blocks)
    if state[STARTED] == 0.0:
        _start(rule, newton, triples)
    at = 12 * fill + PADDING
    U, inverse, at = factors[:at], factors[at:], at + 12 * count + PADDING
    row, b = factors[at : at + 12 * count + 24 + PADDING], factors[at + 12 * count + 24 + PADDING :]
    if len(factors) > 0 and state[WAITS] == _WAITS_FOR_ORDER:
        for i in range(12 * count + PADDING):
            inverse[i] = 0.0
        for i in range(len(row)):
            row[i] = 0.0
    own = Factors(order, starts, columns, lower, left, seat, U, inverse, row, b)
    while True:
        how = _iterate(end, rule, newton, is_member, own, triples, judge)
        if how != _NEEDS_SWEEPS:
            return how
        _sweep(newton, system.scratch, triples)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _iterate(end, rule, newton, is_member, factors, triples, judge):
    """The iteration up to so many systems in all, without allocating: it also ends where sweeps are due, and where the
    system has grown and needs another order, to be called again when that is done."""
    state, vectors, A, best, before = newton.state, newton.vectors, newton.A, newton.best, newton.before
    v, mu, convex, rho = triples.v, triples.mu, triples.convex, rule.rho
    rows, row_count = len(v), len(judge.place)
    r, x, u, F, step = vectors[CENTRE], vectors[ITERATE], vectors[SPEED], vectors[VALUE], vectors[STEP]
    reactions, velocities = vectors[VECTORS - 2][:row_count], vectors[VECTORS - 1][:row_count]
    found = True
    while True:
        if state[WAITS] == _NOT_WAITING:
            if state[SWEEPS] > 0.0:
                return _NEEDS_SWEEPS
            if state[INNER] == _NOT_STARTED:
                velocity_of(triples, v, r, u)
                excess = excess_over(judge, r, u, reactions, velocities, before + state[SYSTEMS])
                if excess < state[BEST]:
                    state[BEST] = excess
                    for i in range(rows):
                        best[i] = r[i]
                is_untouched = before + state[SYSTEMS] == 0.0
                if excess <= (UNTOUCHED if is_untouched else 1.0):
                    if state[EXACT] != _NOT_YET or not has_joints(mu):
                        return CONVERGED
                    if excess <= _WELL_WITHIN and _error_of_joints(r, u, v, mu) <= _EXACT_ENOUGH:
                        return CONVERGED
                    # one system more for joints, which the tolerance leaves as loose as contacts, and what they push at
                    state[EXACT], state[MODE], state[LAST] = _EXACT, CORRECTION, 0.0
                elif state[OUTER] >= _MOST_OUTER or state[RESIDUAL] <= _ROUNDING:
                    return STUCK_FOR_GOOD
                elif state[SYSTEMS] >= end:
                    return GO_ON
            if state[INNER] != _STARTED:
                _begin_inner(rule, newton, triples)
            limit = rule.newton_steps
            if state[MODE] == CORRECTION:  # joints are linear: one step makes them as exact as they get
                limit = 1.0 if state[EXACT] == _EXACT else float(CORRECTION_STEPS)
            elif state[BEST] <= 1.0:
                limit = min(limit, _STEPS_WITHIN)
            is_solved = law_function(x, u, 1.0, mu, convex, vectors[TRIAL_VALUE]) <= state[GOAL]
            if is_solved or state[STEPS] >= limit or not found:
                found = True
                _end_inner(is_solved, rule, newton, triples)
                continue
            if state[SYSTEMS] >= end and state[EXACT] != _EXACT:
                return GO_ON  # and on with the same inner loop, when it is called again
            if state[SMOOTHED] > 0.0 and convex == 0.0:
                smoothed_derivative(x, u, rho, mu, _SMOOTHING * state[NORM] / math.sqrt(rows), triples.diagonal, A)
            else:
                projection_derivative(x, u, rho, mu, convex, triples.diagonal, A)
            state[SYSTEMS] += 1.0
            if newton.outside > 0.0:
                state[WAITS] = _WAITS_FOR_STEP
                return NEEDS_STEP
            if _gather(A, is_member):
                state[WAITS] = _WAITS_FOR_ORDER
                return NEEDS_ORDER
        if state[WAITS] == _WAITS_FOR_STEP:
            found = math.isfinite(step[0])
        else:
            _couple(triples, F, is_member, vectors[OPEN_VALUE], vectors[COUPLED], step)
            found = block_lu_step(factors, triples, rho, A, vectors[WEIGHT], F, vectors[COUPLED], step)
        state[WAITS] = _NOT_WAITING
        if found:
            found = _move(newton, rho, triples)


@njit(cache=True, **NO_REFCOUNT)
def has_joints(mu):
    """Does any triple belong to a joint? They come first."""
    return len(mu) > 0 and mu[0] < 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _error_of_joints(r, u, v, mu):
    """What joints leave of their velocities, as a part of the size that the relative residual is measured in."""
    error = free = size = 0.0
    for i in range(len(r)):
        error += u[i] * u[i] if mu[i // 3] < 0.0 else 0.0
        free += v[i] * v[i]
        size += r[i] * r[i]
    return math.sqrt(error / max(free, size)) if error > 0.0 else 0.0


@njit(cache=True, **NO_REFCOUNT)
def _contacts(mu):
    """How many triples belong to limits and contacts."""
    count = 0
    for k in range(len(mu)):
        count += mu[k] >= 0.0
    return count


@njit(cache=True, **NO_REFCOUNT)
def before_exact(most, state, mu):
    """How many of `most` systems may be solved before joints are made exact, for which the others are kept. Where they
    are too few for that, it is left out: the tolerances hold without."""
    if not has_joints(mu) or state[EXACT] != _NOT_YET:
        return most
    if most <= CORRECTION_STEPS:
        state[EXACT] = _NO_ROOM
        return most
    return most - CORRECTION_STEPS


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _gather(A, is_member):
    """Let every closed triple be a member; did their number grow?"""
    grew = False
    for k in range(len(is_member)):
        if A[3 * k, 0] != 0.0 and not is_member[k]:
            is_member[k], grew = 1, True
    return grew


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _couple(triples, F, is_member, open_F, coupled, step):
    """Triples outside the system are open and move by −F; what that does to the others goes to the right side."""
    pointer, column, value, any_there = triples.pointer, triples.column, triples.value, False
    for k in range(len(is_member)):
        for i in range(3 * k, 3 * k + 3):
            open_F[i] = 0.0 if is_member[k] else F[i]
            step[i], coupled[i] = -F[i], 0.0
            any_there = any_there or open_F[i] != 0.0
    if any_there:
        for k in range(len(is_member)):
            i = 3 * k
            coupled[i], coupled[i + 1], coupled[i + 2] = row_times(pointer[k], pointer[k + 1], column, value, open_F)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _move(newton, rho, triples):
    """Along Newton's step by Armijo's rule; False where neither derivative gives a descent, or too little of it."""
    state, vectors, mu, convex = newton.state, newton.vectors, triples.mu, triples.convex
    x, u, F = vectors[ITERATE], vectors[SPEED], vectors[VALUE]
    trial, trial_u, trial_F = vectors[TRIAL], vectors[TRIAL_SPEED], vectors[TRIAL_VALUE]
    step, pull, nothing, weight = vectors[STEP], vectors[PULL], vectors[POINT], vectors[WEIGHT]
    for i in range(len(x)):
        nothing[i] = 0.0
    velocity_of(triples, nothing, step, pull)
    for i in range(len(x)):
        pull[i] += weight[i] * step[i]
    length, norm = 1.0, state[NORM]
    for _ in range(_HALVINGS):
        for i in range(len(x)):
            trial[i] = x[i] + length * step[i]
            trial_u[i] = u[i] + length * pull[i]
        norm = law_function(trial, trial_u, rho, mu, convex, trial_F)
        if norm <= (1.0 - _ARMIJO * length) * state[NORM]:
            break
        length *= 0.5
    state[STEPS] += 1.0
    if not norm <= (1.0 - _ARMIJO * length) * state[NORM]:
        if state[STUCK] > 0.0 or convex > 0.0:
            return False
        state[STUCK], state[SMOOTHED] = 1.0, 1.0 - state[SMOOTHED]
        return True
    for i in range(len(x)):
        x[i], u[i], F[i] = trial[i], trial_u[i], trial_F[i]
    state[IDLE] = state[IDLE] + 1.0 if norm > _IDLE_GAIN * state[NORM] else 0.0
    state[NORM], state[STUCK], state[SMOOTHED] = norm, 0.0, 1.0 if length < _SMOOTHED_BELOW else 0.0
    return state[MODE] != PROXIMAL or state[IDLE] < _MOST_IDLE


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _start(rule, newton, triples):
    """Residual of the first centre, and whether it is one to begin at."""
    state, vectors, v, mu = newton.state, newton.vectors, triples.v, triples.mu
    r, x = vectors[CENTRE], vectors[ITERATE]
    state[STARTED] = 1.0
    state[RESIDUAL] = _error(vectors, r, triples)
    if state[MODE] == PATH:
        size = 0.0
        for i in range(len(x)):
            x[i] = 0.0
            size += v[i] * v[i]
        of_zero = 0.0
        if size > 0.0:
            of_zero = law_function(x, v, 1.0, mu, triples.convex, vectors[TRIAL_VALUE]) / math.sqrt(size)
        if state[RESIDUAL] <= min(_GOOD_GUESS, _BETTER_THAN_NONE * of_zero):
            # the least reactions of the last step: Newton's method around them finds the next
            state[MODE] = PROXIMAL
            state[ALPHA] = state[LAST] = max(_ALPHA_OF_GUESS * state[RESIDUAL], _ALPHA_OF_GUESS_MIN)
        else:
            # no guess, or one from before an impact, which is worse than none
            state[SWEEPS] = min(max(_contacts(mu), _LEAST_SWEEPS), rule.path_sweeps)
            for i in range(len(r)):
                r[i] = 0.0
        for i in range(len(r)):
            x[i] = r[i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _begin_inner(rule, newton, triples):
    """Pose the regularised problem and put Newton's method at its start: the centre, or what sweeps left."""
    state, vectors, v, mu = newton.state, newton.vectors, triples.v, triples.mu
    r, x, u, shifted, weight = vectors[CENTRE], vectors[ITERATE], vectors[SPEED], vectors[SHIFTED], vectors[WEIGHT]
    alpha, mode = state[ALPHA], state[MODE]
    if state[TRY] == 0.0:
        state[OUTER] += 1.0
        for i in range(len(r)):
            x[i] = r[i]
    state[INNER], state[STEPS], state[SMOOTHED], state[STUCK], state[IDLE] = _STARTED, 0.0, 0.0, 0.0, 0.0
    most = _JOINT_WEIGHT_PROXIMAL if mode == PROXIMAL and state[FAILED] > 0.0 else _JOINT_WEIGHT
    size = norm = 0.0
    for i in range(len(r)):
        weight[i] = min(alpha, most) if mu[i // 3] < 0.0 else alpha
        shifted[i] = v[i] - (0.0 if mode == PATH else weight[i] * r[i])
        size += shifted[i] * shifted[i]
        norm += x[i] * x[i]
    is_of_guess = state[OUTER] == 1.0 and state[LAST] > 0.0
    target = (_GUESS_TARGET if is_of_guess else 0.5) * state[RESIDUAL]
    if mode == PATH:
        target = max(_PATH_RESIDUAL * alpha, _ROUNDING)
    elif mode == CORRECTION:
        target = 0.01 * state[RESIDUAL]
    state[GOAL] = target * math.sqrt(max(size, norm))
    velocity_of(triples, shifted, x, u)
    for i in range(len(r)):
        u[i] += weight[i] * x[i]
    state[NORM] = law_function(x, u, rule.rho, mu, triples.convex, vectors[VALUE])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _end_inner(is_solved, rule, newton, triples):
    """What follows from an inner loop: the next centre, and the next weight."""
    state, vectors = newton.state, newton.vectors
    r, x, point = vectors[CENTRE], vectors[ITERATE], vectors[POINT]
    alpha, mode = state[ALPHA], state[MODE]
    if not is_solved and mode == PROXIMAL and state[TRY] == 0.0 and state[BEST] > 1.0:
        state[TRY], state[SWEEPS], state[INNER] = 1.0, state[SECOND_TRY], _POSED_AGAIN
        return
    state[INNER], state[TRY] = _NOT_STARTED, 0.0
    if mode == PATH:
        if not is_solved:
            state[MODE], state[ALPHA] = PROXIMAL, min(_ALPHA_AFTER_PATH * alpha, rule.alpha)
            return
        state[RESIDUAL] = _error(vectors, x, triples)
        for i in range(len(r)):
            r[i] = x[i]
        state[LAST] = alpha
        state[ALPHA] = max(_PATH_FACTOR * alpha, _PATH_END)
        if alpha <= _CORRECTED_BELOW:
            state[MODE] = CORRECTION
        return
    error = _error(vectors, x, triples)
    if mode == CORRECTION:
        state[MODE] = PATH if state[LAST] > _PATH_END else PROXIMAL
        if error < state[RESIDUAL]:
            _take(r, x, state, error)
        return
    if not is_solved:
        state[FAILED], state[ALPHA] = alpha, min(4.0 * alpha, 1.0)
        if error < state[RESIDUAL]:
            _take(r, x, state, error)
        return
    if alpha > _FELT:  # extrapolating pays while the proximal weight is felt
        for i in range(len(r)):
            point[i] = r[i] + _EXTRAPOLATION * (x[i] - r[i])
        further = _error(vectors, point, triples)
        if further < state[RESIDUAL]:
            for i in range(len(r)):
                x[i] = point[i]
            error = further
    rose = not error < state[RESIDUAL]
    _take(r, x, state, error)
    if not rose:
        steps = state[STEPS]
        wanted = alpha * (0.1 if steps <= 3.0 else 0.3 if steps <= 6.0 else 0.7 if steps <= 10.0 else 1.0)
        if wanted <= state[FAILED]:
            wanted = max(wanted, 0.7 * alpha)  # approach a weight that failed before slowly
        state[ALPHA] = max(wanted, rule.alpha_min)


@njit(cache=True, **NO_REFCOUNT)
def _take(r, x, state, error):
    """x is the next centre."""
    for i in range(len(r)):
        r[i] = x[i]
    state[RESIDUAL] = error


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _error(vectors, r, triples):
    """Relative residual of r with ρ = 1, not regularised."""
    u, F, v = vectors[TRIAL_SPEED], vectors[TRIAL_VALUE], triples.v
    velocity_of(triples, v, r, u)
    free = size = 0.0
    for i in range(len(r)):
        free += v[i] * v[i]
        size += r[i] * r[i]
    norm, scale = law_function(r, u, 1.0, triples.mu, triples.convex, F), math.sqrt(max(free, size))
    return norm / scale if scale > 0.0 else norm


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sweep(newton, scratch, triples):
    """Gauß–Seidel on the regularised problem from the iterate; before anything else its end is the first centre."""
    state, vectors, v, mu, diagonal = newton.state, newton.vectors, triples.v, triples.mu, triples.diagonal
    n, alpha = len(mu), state[ALPHA]
    r, x, shifted = vectors[CENTRE], vectors[ITERATE], vectors[SHIFTED]
    constants, own, slip = folded(scratch, n, 12), scratch[12 * n : 21 * n], scratch[21 * n :]
    for i in range(9 * n):
        own[i] = diagonal[i]
    for k in range(n):
        slip[k] = 0.0
    most = _JOINT_WEIGHT_PROXIMAL if state[MODE] == PROXIMAL and state[FAILED] > 0.0 else _JOINT_WEIGHT
    for k in range(n):
        for a in range(3):
            weight = min(alpha, most) if mu[k] < 0.0 else alpha
            own[9 * k + 4 * a] += weight
            shifted[3 * k + a] = v[3 * k + a] - (0.0 if state[MODE] == PATH else weight * r[3 * k + a])
    sweep_constants(own, mu, constants)
    for _ in range(int(state[SWEEPS])):
        sweep_threes(triples, own, constants, shifted, x, slip, COARSE)
    state[SWEEPS] = 0.0
    if state[INNER] == _NOT_STARTED:
        _take(r, x, state, _error(vectors, x, triples))
