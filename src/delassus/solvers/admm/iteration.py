"""The iteration of Tsounis et al. 2025, Alg. 6, many times in one compiled call.

With s = Γ(z) and v = v_f + s − η x − ρ y − z (lines 4–5):

    x⁺ = −(D + (η + ρ) I)⁻¹ v,    x⁺ ← ω x⁺ + (1 − ω) y,    y⁺ = P_K(x⁺ − z/ρ),    z⁺ = z − ρ (x⁺ − y⁺)    (lines 6–9)

At the fixed point x = y are the reactions and z = v + Γ(v). Rows that are not split have y = x and z = 0.

Arguments the two loops share. cone: (bilateral rows, how many of these are not split, limits, mu, De Saxcé's term?);
prox: (η, ω); rule: (moves?, ratio, factor, patience, moved), see `Admm`; state: see below; memory: of `anderson`;
shift: (m,) η + ρ, written when ρ changes; x, y, z: (m,) the iterate, updated; work: (2 m + what the storage needs,).
"""

import math

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.linalg.dense_product import dense_times
from delassus.linalg.operators.shifted_inverse import SMALL, invert_small, solve_shifted
from delassus.solvers.admm.anderson import extrapolate, forget
from delassus.solvers.admm.penalty import next_penalty

# entries of `state`: ρ in use, ρ of the rule, the first ρ, the one factored, iterations done, iterations between looks
# at the residuals, iteration of the next look, last direction of ρ
RHO, WANTED, FIRST, FACTORED, COUNT, WAIT, LOOK, DIRECTION = 0, 1, 2, 3, 4, 5, 6, 7
STATE_SIZE = 8


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
def iterate_dense(count, inverse, D, cone, v_f, prox, rule, state, memory, shift, x, y, z, work):
    """At most `count` iterations with a full inverse; returns how many were done: fewer where D, (m, m), is too large
    to be inverted here and a new ρ asks for it."""
    m = len(x)
    right, new = work[:m], work[m : 2 * m]
    for done in range(1, count + 1):
        _right_side(cone, v_f, prox, state[RHO], shift, x, y, z, right)
        dense_times(inverse, right, new)
        if _split(cone, prox, rule, state, memory, shift, x, y, z, right, new):
            if m > SMALL:
                return done
            invert_small(D, shift, inverse)
            state[FACTORED] = state[RHO]
    return count


@njit(cache=True, error_model="numpy")
def iterate_sparse(count, kind, inverse, lu, bodies, cone, v_f, prox, rule, state, memory, shift, x, y, z, work):
    """At most `count` iterations with sparse factors; returns how many were done: fewer where ρ changed."""
    m = len(x)
    right, new, scratch = work[:m], work[m : 2 * m], work[2 * m :]
    for done in range(1, count + 1):
        _right_side(cone, v_f, prox, state[RHO], shift, x, y, z, right)
        solve_shifted(kind, inverse, lu, bodies, right, new, scratch)
        if _split(cone, prox, rule, state, memory, shift, x, y, z, right, new):
            return done
    return count


@njit(cache=True, error_model="numpy")
def _right_side(cone, v_f, prox, rho, shift, x, y, z, right):
    """right = −v of lines 4–5."""
    free, exact, limits, mu, has_term = cone
    eta = prox[0]
    for i in range(exact):
        right[i] = shift[i] * x[i] - v_f[i]
    for i in range(exact, len(x)):
        right[i] = z[i] + rho * y[i] + eta * x[i] - v_f[i]
    if has_term:
        for k in range(len(mu)):
            i = free + limits + 3 * k
            right[i] -= mu[k] * math.sqrt(z[i + 1] * z[i + 1] + z[i + 2] * z[i + 2])


@njit(cache=True, error_model="numpy")
def _split(cone, prox, rule, state, memory, shift, x, y, z, right, new):
    """Lines 7–9 from x⁺ in `new`, then line 18; was ρ changed? right, new: overwritten."""
    free, exact, limits, mu, _ = cone
    eta, omega = prox
    rho = state[RHO]
    m, start = len(x), free + limits
    state[COUNT] += 1.0
    looks = rule[0] and state[COUNT] >= state[LOOK]
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
    _, ratio, factor, patience, moved = rule
    before = state[WANTED]
    wanted = state[WANTED] = next_penalty(before, state[FIRST], primal, dual, ratio, factor)
    if wanted != before:
        direction = 1.0 if wanted > before else -1.0
        if direction == -state[DIRECTION]:
            state[WAIT] *= patience
        state[DIRECTION] = direction
    state[LOOK] = state[COUNT] + state[WAIT]
    if wanted == state[RHO] or max(wanted / state[RHO], state[RHO] / wanted) < moved:
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
