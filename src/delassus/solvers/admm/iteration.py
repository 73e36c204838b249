"""The iteration of Tsounis et al. 2025, Alg. 6, many times in one compiled call.

With s = Γ(z) and v = v_f + s − η x − ρ y − z (lines 4–5):

    x⁺ = −(D + (η + ρ) I)⁻¹ v,    x⁺ ← ω x⁺ + (1 − ω) y,    y⁺ = P_K(x⁺ − z/ρ),    z⁺ = z − ρ (x⁺ − y⁺)    (lines 6–9)

At the fixed point x = y are the reactions and z = v + Γ(v). Rows that are not split have y = x and z = 0.

What the two loops share has names below; from Python all of them come as plain tuples.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.linalg.dense_product import dense_times
from delassus.linalg.operators.shifted_inverse import SMALL, invert_small, solve_shifted
from delassus.solvers.admm.anderson import extrapolate, forget
from delassus.solvers.admm.penalty import next_penalty

# entries of `state`
RHO, WANTED, FIRST, FACTORED = 0, 1, 2, 3  # ρ in use, ρ of the rule, the first ρ, the one factored
COUNT, WAIT, LOOK = 4, 5, 6  # iterations done, iterations between looks at the residuals, iteration of the next look
DIRECTION = 7  # last direction of ρ
STATE_SIZE = 8


class SplitCone(NamedTuple):
    """The rows as the iteration sees them."""

    free: int  # bilateral rows
    exact: int  # how many of these are not split
    limits: int
    mu: np.ndarray  # (n_c,)
    has_term: bool  # De Saxcé's


class Rule(NamedTuple):
    """How the penalty moves, see `Admm`."""

    is_moving: bool
    ratio: float
    factor: float
    patience: float
    moved: float


class Terms(NamedTuple):
    """What the iterations do not change."""

    cone: SplitCone
    v_f: np.ndarray  # (m,)
    eta: float
    omega: float
    rule: Rule


class Iterate(NamedTuple):
    """What they do change."""

    x: np.ndarray  # (m,), as y and z
    y: np.ndarray
    z: np.ndarray
    state: np.ndarray  # (STATE_SIZE,)
    memory: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # of `anderson`
    shift: np.ndarray  # (m,) η + ρ, written when ρ changes
    work: np.ndarray  # (2 m + what the storage needs,)


def first_state(rho: float, every: int) -> np.ndarray:
    """`state` before the first iteration, nothing factored."""
    state = np.empty(STATE_SIZE)
    fill_state(state, rho, every)
    return state


@njit(cache=True)
def fill_state(state, rho, every):
    """The state before the first iteration: penalty rho, nothing factored, first look at it after `every`."""
    state[RHO] = state[WANTED] = state[FIRST] = rho
    state[FACTORED] = state[COUNT] = state[DIRECTION] = 0.0
    state[WAIT] = state[LOOK] = every


@njit(cache=True, error_model="numpy")
def iterate_dense(count, inverse, D, terms, iterate):
    """At most `count` iterations with a full inverse; returns how many were done: fewer where D, (m, m), is too large
    to be inverted here and a new ρ asks for it."""
    now = Iterate(*iterate)
    m = len(now.x)
    right, new = now.work[:m], now.work[m : 2 * m]
    for done in range(1, count + 1):
        _right_side(terms, iterate, right)
        dense_times(inverse, right, new)
        if _split(terms, iterate, right, new):
            if m > SMALL:
                return done
            invert_small(D, now.shift, inverse)
            now.state[FACTORED] = now.state[RHO]
    return count


@njit(cache=True, error_model="numpy")
def iterate_sparse(count, kind, factors, terms, iterate):
    """At most `count` iterations with sparse factors; returns how many were done: fewer where ρ changed.

    kind, factors: of `solve_shifted`."""
    inverse, lu, bodies = factors
    now = Iterate(*iterate)
    m = len(now.x)
    right, new, scratch = now.work[:m], now.work[m : 2 * m], now.work[2 * m :]
    for done in range(1, count + 1):
        _right_side(terms, iterate, right)
        solve_shifted(kind, inverse, lu, bodies, right, new, scratch)
        if _split(terms, iterate, right, new):
            return done
    return count


@njit(cache=True, error_model="numpy")
def _right_side(terms, iterate, right):
    """right = −v of lines 4–5."""
    given, now = Terms(*terms), Iterate(*iterate)
    free, exact, limits, mu, has_term = given.cone
    v_f, eta, rho, shift = given.v_f, given.eta, now.state[RHO], now.shift
    x, y, z = now.x, now.y, now.z
    for i in range(exact):
        right[i] = shift[i] * x[i] - v_f[i]
    for i in range(exact, len(x)):
        right[i] = z[i] + rho * y[i] + eta * x[i] - v_f[i]
    if has_term:
        for k in range(len(mu)):
            i = free + limits + 3 * k
            right[i] -= mu[k] * math.sqrt(z[i + 1] * z[i + 1] + z[i + 2] * z[i + 2])


@njit(cache=True, error_model="numpy")
def _split(terms, iterate, right, new):
    """Lines 7–9 from x⁺ in `new`, then line 18; was ρ changed? right, new: overwritten."""
    given, now = Terms(*terms), Iterate(*iterate)
    free, exact, limits, mu, _ = given.cone
    eta, omega, rule = given.eta, given.omega, Rule(*given.rule)
    state, memory, shift = now.state, now.memory, now.shift
    x, y, z = now.x, now.y, now.z
    rho = state[RHO]
    m, start = len(x), free + limits
    state[COUNT] += 1.0
    looks = rule.is_moving and state[COUNT] >= state[LOOK]
    primal, dual = 0.0, 0.0  # ∞-norms of x − y and η Δx + ρ Δy (lines 12–13)
    for i in range(exact):
        dual = max(dual, abs(shift[i] * (new[i] - x[i])))
        x[i] = y[i] = new[i]
    for i in range(exact, m):
        new[i] = omega * new[i] + (1.0 - omega) * y[i]
        right[i] = eta * (new[i] - x[i]) - rho * y[i]  # the dual residual, but for ρ y⁺
        x[i] = new[i]
        new[i] -= z[i] / rho
    if len(memory[0]):
        extrapolate(memory, not looks, x[exact:], new[exact:])  # the rule looks at plain iterations only
    for i in range(exact, free):
        y[i] = new[i]
    for i in range(free, start):
        y[i] = max(0.0, new[i])
    for k in range(len(mu)):
        i = start + 3 * k
        y[i], y[i + 1], y[i + 2] = project_coulomb(new[i], new[i + 1], new[i + 2], mu[k])
    for i in range(exact, m):
        gap = x[i] - y[i]
        z[i] -= rho * gap
        primal = max(primal, abs(gap))
        dual = max(dual, abs(right[i] + rho * y[i]))
    if not looks or not _penalty_changed(rule, state, primal, dual):
        return False
    for i in range(exact, m):
        shift[i] = eta + state[RHO]
    forget(memory, state[RHO], y[exact:], z[exact:])
    return True


@njit(cache=True, error_model="numpy")
def _penalty_changed(rule, state, primal, dual):
    """Does the rule want a ρ that is worth a factorisation? Then state[RHO] is it."""
    before = state[WANTED]
    wanted = state[WANTED] = next_penalty(before, state[FIRST], primal, dual, rule.ratio, rule.factor)
    if wanted != before:
        direction = 1.0 if wanted > before else -1.0
        if direction == -state[DIRECTION]:
            state[WAIT] *= rule.patience
        state[DIRECTION] = direction
    state[LOOK] = state[COUNT] + state[WAIT]
    if wanted == state[RHO] or max(wanted / state[RHO], state[RHO] / wanted) < rule.moved:
        return False
    state[RHO] = wanted
    return True


@njit(cache=True, error_model="numpy")
def start_dual(cone, v, z):
    """z = P_K*(v + Γ(v)): what z would be if v were the constraint velocity of the solution."""
    free, _, limits, mu, has_term = cone
    for i in range(free):
        z[i] = 0.0
    for i in range(free, free + limits):
        z[i] = max(0.0, v[i])
    for k in range(len(mu)):
        i = free + limits + 3 * k
        n = v[i] + (mu[k] * math.sqrt(v[i + 1] ** 2 + v[i + 2] ** 2) if has_term else 0.0)
        a, b, c = project_coulomb(-n, -v[i + 1], -v[i + 2], mu[k])  # Moreau: P_K*(w) = w + P_K(−w)
        z[i], z[i + 1], z[i + 2] = n + a, v[i + 1] + b, v[i + 2] + c
