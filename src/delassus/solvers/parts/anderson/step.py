"""Anderson acceleration, compiled: what happens between two maps.

`begin_map` puts the planned point in place, the map is applied, `end_map` accepts or refuses the result and plans the
next point. Arguments the two share. state: (STATE_SIZE,), see below; rule: (growth, patience, regularisation), see
`Anderson`; cone: (rows of joints, limits, mu, may jump?); buffers: the fields of `Buffers` as a plain tuple;
point: (n,) where the iteration is, written.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers.parts.anderson.window import combine, insert, residual, weighted_norm

# Entries of `state`: ‖f‖ of the last accepted map; is the next point on trial, planned at all; do g and f hold a map;
# entries of the window, and where the next one goes; ‖f‖ at the last progress, and maps since then; …
NORM, ON_TRIAL, HAS_NEXT, HAS_LAST, COUNT, SLOT, MILESTONE, IDLE = 0, 1, 2, 3, 4, 5, 6, 7
# … following the drift, and for how many maps at most; steps × ‖Δf‖ / ‖f‖ of the jump on trial, and its bound; what the
# judge said last, as a factor over the tolerance, and ‖f‖ then.
FOLLOWS, FOLLOW, JUMPED, REACH, EXCESS, EXCESS_NORM = 8, 9, 10, 11, 12, 13
STATE_SIZE = 14

GROWTH = 1.5  # a point on trial whose ‖f‖ exceeds this many times the last one's is refused
REGULARISATION = 1e-6  # added to the unit diagonal of the normal equations
_PROGRESS = 0.8  # a smaller ‖f‖ than this fraction of the last milestone's is progress
_STEADY = 0.01  # relative change of f between maps below which it drifts
_REACH = 0.3  # first bound on what a jump multiplies the change of f by, relative to f
_FOLLOW = 20  # plain maps on a plateau before the window gets another chance; twice as many the next time
_MET = 0.8  # the judge is called once ‖f‖ has fallen to this fraction of what, in proportion, meets the tolerance
_TRUST = 0.3  # a combination or jump longer than this part of the point itself is shortened …
_TRUST_AFTER = 5  # … combinations only after so many maps without progress, where they follow null directions of D


class Buffers(NamedTuple):
    """Vectors (n,), matrices with a row per entry of the window, and scratch."""

    weight: np.ndarray  # makes ‖f‖ the norm to be minimised
    x: np.ndarray  # where the present map began
    next: np.ndarray  # where the next one is to begin
    g: np.ndarray  # where the last accepted one ended: the plain point to go back to
    f: np.ndarray  # its weight (g − x)
    new_f: np.ndarray
    G: np.ndarray  # (memory, n) differences of g
    F: np.ndarray  # (memory, n) differences of f
    gram: np.ndarray  # (memory, memory) of F
    right: np.ndarray  # (memory,) products of F and f
    gamma: np.ndarray  # (memory,) scratch
    inverse: np.ndarray  # (memory,) scratch
    L: np.ndarray  # (memory, memory) scratch


def buffers(memory: int, weight: np.ndarray) -> Buffers:
    """Buffers for points as long as `weight`."""
    x, after, g, f, new_f = np.zeros((5, len(weight)))
    G, F = np.zeros((2, memory, len(weight)))
    gram, L = np.zeros((2, memory, memory))
    right, gamma, inverse = np.zeros((3, memory))
    return Buffers(weight, x, after, g, f, new_f, G, F, gram, right, gamma, inverse, L)


def first_state() -> np.ndarray:
    """`state` before the first map."""
    state = np.zeros(STATE_SIZE)
    begin(state)
    return state


@njit(cache=True)
def begin(state):
    """Write the state before the first map into zeros."""
    state[NORM] = state[MILESTONE] = state[EXCESS] = math.inf
    state[FOLLOW], state[REACH] = _FOLLOW, _REACH


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def begin_map(state, buffers, point):
    """Put the planned point in place; was there one?"""
    x, planned = buffers[1], buffers[2]
    moved = state[HAS_NEXT] != 0.0
    for i in range(len(point)):
        if moved:
            point[i] = planned[i]
        x[i] = point[i]
    return moved


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def end_map(state, rule, cone, buffers, point):
    """Accept the map that ended in `point`, or go back to the last one's end, which is written; was it accepted?"""
    growth, patience, regularisation = rule
    weight, x, planned, g, f, new_f, G, F, gram, right, gamma, inverse, L = buffers
    norm = residual(x, point, weight, new_f)
    jumped, state[JUMPED] = state[JUMPED], 0.0
    if state[ON_TRIAL] != 0.0 and not norm <= growth * state[NORM]:
        for i in range(len(g)):
            point[i] = g[i]
        forget(state)
        if jumped > 0.0:
            state[REACH] = 0.25 * jumped
        return False
    if jumped > 0.0:
        state[REACH] = min(1.0, 2.0 * jumped)
    change = math.inf
    if state[HAS_LAST] != 0.0:
        slot = int(state[SLOT])
        state[COUNT] = min(state[COUNT] + 1.0, float(len(G)))
        state[SLOT] = (slot + 1) % len(G)
        change = insert(slot, int(state[COUNT]), point, new_f, g, f, G, F, gram, right)
    else:
        for i in range(len(g)):
            g[i], f[i] = point[i], new_f[i]
    state[NORM], state[HAS_LAST] = norm, 1.0
    _look_back(state, patience)
    planned_one = False
    if state[FOLLOWS] != 0.0:
        planned_one = cone[3] and change < _STEADY * norm and _jump(state, cone, change, weight, x, g, planned)
    elif state[COUNT] > 0.0:
        longest = _TRUST if state[IDLE] > _TRUST_AFTER else math.inf
        planned_one = combine(
            int(state[COUNT]), G, gram, right, g, regularisation, weight, longest, gamma, inverse, L, planned
        )
    state[HAS_NEXT] = state[ON_TRIAL] = 1.0 if planned_one else 0.0
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def may_be_met(state):
    """Has ‖f‖ fallen so far since the judge spoke that it should be asked again?"""
    return state[EXCESS] * state[NORM] < _MET * state[EXCESS_NORM]


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def forget(state):
    """Empty the window: what it holds says nothing about what comes."""
    state[COUNT] = state[SLOT] = state[HAS_LAST] = state[HAS_NEXT] = state[ON_TRIAL] = 0.0


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _look_back(state, patience):
    """Was there progress? Without it, change between combining and following the drift."""
    state[IDLE] += 1.0
    if state[NORM] < _PROGRESS * state[MILESTONE]:
        state[MILESTONE], state[IDLE], state[FOLLOWS] = state[NORM], 0.0, 0.0
    elif state[IDLE] > (state[FOLLOW] if state[FOLLOWS] != 0.0 else patience):
        if state[FOLLOWS] != 0.0:
            state[FOLLOW] *= 2.0
        state[MILESTONE], state[IDLE], state[FOLLOWS] = state[NORM], 0.0, 1.0 - state[FOLLOWS]
        state[COUNT] = state[SLOT] = 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _jump(state, cone, change, weight, x, g, planned):
    """Along the drift to where the first contact or limit would change its state, or, after half of the plain maps, as
    far as it is steady.  change: ‖Δf‖ to the last map; False where neither leads anywhere."""
    norm = state[NORM]
    event = steps_to_event(x, g, cone[0], cone[1], cone[2])
    steady = state[REACH] * norm / change if change > 0.0 else math.inf
    most = min(steady, _TRUST * weighted_norm(g, weight) / norm)
    steps = min(event, most)
    waited = state[IDLE] >= state[FOLLOW] // 2.0
    if not (steps > 2.0 and event < math.inf and (event <= most or waited)):
        return False
    state[JUMPED] = steps * change / norm
    for i in range(len(g)):
        planned[i] = g[i] + steps * (g[i] - x[i])
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def steps_to_event(x, g, joint_rows, limits, mu):
    """The least t > 0 at which g + t (g − x) takes a limit or contact that is inside its cone to the boundary."""
    least = math.inf
    for i in range(joint_rows, joint_rows + limits):
        if g[i] > 0.0 and x[i] > g[i]:
            least = min(least, g[i] / (x[i] - g[i]))
    for k in range(len(mu)):
        i = joint_rows + limits + 3 * k
        if g[i] <= 0.0:
            continue
        d0, d1, d2 = g[i] - x[i], g[i + 1] - x[i + 1], g[i + 2] - x[i + 2]
        if mu[k] == 0.0:
            if d0 < 0.0:
                least = min(least, -g[i] / d0)
            continue
        # ‖λ_t + t d_t‖² = μ² (λ_n + t d_n)²: a t² + 2 b t + c = 0 with c < 0 inside
        inside = (mu[k] * g[i]) ** 2
        a = d1 * d1 + d2 * d2 - (mu[k] * d0) ** 2
        b = g[i + 1] * d1 + g[i + 2] * d2 - mu[k] ** 2 * g[i] * d0
        c = g[i + 1] ** 2 + g[i + 2] ** 2 - inside
        square = b * b - a * c
        if c > -1e-6 * inside or square < 0.0:  # slides already, or never will
            continue
        divisor = b + math.sqrt(square)
        if divisor > 0.0:
            least = min(least, -c / divisor)
    return least
