"""Gauß–Seidel sweeps with momentum: they predict where the interior point may start, and which contacts stay open.
Those can be left out, and every one is checked again.

A contact stays open when its velocity lies deep inside the dual cone: v_n − μ‖v_t‖ large (not v_n alone, since
contacts that slide under the convex law have v_n = μ‖v_t‖). Large means against how much the prediction still moves.

The sweeps of `splitting` and `ags` would do, but they compile six local solvers and a team of threads for it; here is
one small loop for each storage. In place of D_kk it takes a diagonal, which is the same between spheres.
Those of `dense_system` are others: joints are eliminated there, and rows scaled to standard cones project otherwise.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.rigid import add_response, push_row, row_times
from delassus.linalg.operators.rigid_data import RigidData
from delassus.problem import Problem
from delassus.solvers.parts.one_contact.uncoupled import solve_uncoupled

_SWEEPS, _MORE = 20, 10  # sweeps before the first look at the velocities, and before the second
_ROUND, _MANY = 30, 200  # sweeps of a round after these, where there are so many contacts that iterations are dear
_GAINS = 0.0, 1.2, 2.5, 2.5  # of at most so many rounds: by how much the last one must have shortened the sweeps
_LEAST = 60  # contacts below which nothing is gained
_SAFE = 30.0  # open means a gap of this many times the recent change of velocities


class Iterate(NamedTuple):
    """What sweeps change.  state: (2,) θ of the momentum and the square of the last length; diagonal: (m,) of D;
    metric: (n_c, 2) see `_metric`; x: (m,) the last point; point: (m,) where the next sweep begins; u, ahead: (n,)
    velocities of bodies at these two, empty without bodies."""

    state: np.ndarray
    diagonal: np.ndarray
    metric: np.ndarray
    x: np.ndarray
    point: np.ndarray
    u: np.ndarray
    ahead: np.ndarray


class Kinds(NamedTuple):
    """bilateral: rows of joints, the first of all; scalars: rows before the contacts; mu: (n_c,)."""

    bilateral: int
    scalars: int
    mu: np.ndarray


@dataclass(frozen=True, eq=False)
class Forecast:
    """reactions: (m,) [N s] after the sweeps; kept: (block_count,) bool, or None where all blocks are; is_slow: did
    sweeps hardly get on? Then small residuals do not mean that the solution is near."""

    reactions: np.ndarray
    kept: np.ndarray | None
    is_slow: bool = False


def forecast(problem: Problem, reactions: np.ndarray, presolve: bool) -> Forecast:
    """Sweep from the given reactions, and say which blocks matter; all of them where there is no D to sweep over."""
    if problem.row_count == 0 or not problem.delassus.has_matrix_at_hand:
        return Forecast(reactions.copy(), None)
    method = Sweeps(problem, reactions.copy())
    method.advance(_SWEEPS)
    first = problem.constraint_velocity(method.reactions)
    method.advance(_MORE)
    gain = math.inf
    for least in _GAINS if problem.contact_count >= _MANY else ():
        if not gain > least:
            break
        before, first = method.length, problem.constraint_velocity(method.reactions)
        method.advance(_ROUND)
        gain = before / method.length if method.length > 0.0 else 0.0
    swept = method.reactions
    is_slow = not gain > _GAINS[-1]
    if not np.isfinite(swept).all():
        return Forecast(np.zeros_like(swept), None)
    if not presolve or problem.contact_count < _LEAST:
        return Forecast(swept, None, is_slow)
    second = problem.constraint_velocity(swept)
    start = problem.cone.contact_start
    gap = _gap(second[start:], problem.mu)
    change = np.abs(gap - _gap(first[start:], problem.mu))
    rest = swept[start:].reshape(-1, 3)
    # what a contact's own gap moved, but no less than what the median one did
    doubt = np.maximum(change, np.sqrt(np.mean(change**2)))
    is_open = (rest == 0.0).all(axis=1) & (gap > _SAFE * doubt)
    kept = np.ones(problem.cone.block_count, bool)
    kept[problem.cone.block_count - problem.contact_count :] = ~is_open
    return Forecast(swept, kept if is_open.any() else None, is_slow)


def violated(problem: Problem, kept: np.ndarray, reactions: np.ndarray) -> np.ndarray:
    """(block_count,) bool: contacts left out whose velocity is not in the dual cone."""
    v = problem.constraint_velocity(reactions)
    gap = _gap(v[problem.cone.contact_start :], problem.mu)
    out = np.zeros(len(kept), bool)
    first = problem.cone.block_count - problem.contact_count
    out[first:] = ~kept[first:] & (gap < 0.0)
    return out


def _gap(v: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """v_n − μ‖v_t‖, (n_c,) [m/s]."""
    triples = v.reshape(-1, 3)
    return triples[:, 0] - mu * np.hypot(triples[:, 1], triples[:, 2])


class Sweeps:
    """Gauß–Seidel with Nesterov's momentum, dropped where a sweep turns against it (as `ags` does).

    reactions: (m,) [N s], changed in place by `advance`."""

    def __init__(self, problem: Problem, reactions: np.ndarray):
        self.problem, self.reactions = problem, reactions
        metric = _metric(problem.diagonal_blocks[len(problem.diagonal_blocks) - 9 * problem.contact_count :])
        self.state, u = np.array([1.0, 0.0]), np.empty(0)
        if problem.delassus.has_bodies:
            rigid = problem.delassus.rigid
            assert problem.bias is not None
            assert problem.u_f is not None
            data = RigidData(*rigid.plain)
            self.rigid = tuple(data if len(data.compliance) else data._replace(compliance=np.zeros(problem.row_count)))
            u = problem.u_f.copy()
            add_response(rigid.bodies, rigid.block_start, rigid.response, reactions, u)
        diagonal, point = problem.delassus.diagonal, reactions.copy()
        self.iterate = tuple(Iterate(self.state, diagonal, metric, reactions, point, u, u.copy()))

    @property
    def length(self) -> float:
        """√(Σ d_i (z_i − y_i)²) of the last sweep from y to z."""
        return math.sqrt(self.state[1])

    def advance(self, count: int) -> None:
        """`count` sweeps."""
        problem, cone = self.problem, self.problem.cone
        kinds = tuple(Kinds(cone.bilateral_rows, cone.contact_start, problem.mu))
        if problem.delassus.has_bodies:
            _sweep_bodies(count, kinds, self.rigid, problem.bias, self.iterate)
        else:
            D = problem.delassus.matrix()
            _sweep_rows(count, kinds, (D.indptr, D.indices, D.data), problem.free_velocity, self.iterate)


def _metric(blocks: np.ndarray) -> np.ndarray:
    """(n_c, 2) a and b of diag(a, b, b) no less than D_kk, by Gerschgorin's circles, equal where that is of this form.
    blocks: (9 n_c,) [1/kg]."""
    D = blocks.reshape(-1, 3, 3)
    out = np.stack([D[:, 0, 0], 0.5 * (D[:, 1, 1] + D[:, 2, 2])], axis=1)
    scale = 1.0 / np.sqrt(np.maximum(out, np.finfo(float).tiny))[:, [0, 1, 1]]
    return out * (scale * (np.abs(D) @ scale[:, :, None])[:, :, 0]).max(axis=1, initial=1.0)[:, None]


@njit(cache=True, error_model="numpy")
def _extrapolate(begin, iterate):
    """From y (`begin`) to z (`point`) a sweep was done: x ← z and y ← z + β (z − x), velocities of bodies likewise."""
    state, diagonal, x, point = iterate.state, iterate.diagonal, iterate.x, iterate.point
    u, ahead = iterate.u, iterate.ahead
    theta, slope, square = state[0], 0.0, 0.0
    for i in range(len(x)):
        slope += diagonal[i] * (begin[i] - point[i]) * (point[i] - x[i])
        square += diagonal[i] * (begin[i] - point[i]) ** 2
    following = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
    beta = theta * (1.0 - theta) / (theta * theta + following)
    if slope > 0.0:
        following, beta = 1.0, 0.0
    for i in range(len(x)):
        z = point[i]
        point[i] = z + beta * (z - x[i])
        x[i] = z
    for j in range(len(u)):
        z = ahead[j]
        ahead[j] = z + beta * (z - u[j])
        u[j] = z
    state[0], state[1] = following, square


@njit(cache=True, error_model="numpy")
def _sweep_bodies(count, kinds, rigid, bias, iterate):
    """`count` sweeps.  kinds, iterate: plain tuples; rigid: `RigidData`, with a compliance; bias: (m,) [m/s]."""
    kinds, rigid, iterate = Kinds(*kinds), RigidData(*rigid), Iterate(*iterate)
    bilateral, scalars, mu = kinds.bilateral, kinds.scalars, kinds.mu
    bodies, start, rows = rigid.bodies, rigid.block_start, rigid.rows
    response, compliance = rigid.response, rigid.compliance
    diagonal, metric, reactions, u = iterate.diagonal, iterate.metric, iterate.point, iterate.ahead
    begin = np.empty(len(reactions))
    for _ in range(count):
        begin[:] = reactions
        for block in range(len(bodies)):
            a, b, i = bodies[block, 0], bodies[block, 1], start[block]
            if i < scalars:
                for j in range(i, start[block + 1]):
                    v = row_times(a, b, rows, j, u) + bias[j] + compliance[j] * reactions[j]
                    if diagonal[j] > 0.0:
                        new = reactions[j] - v / diagonal[j]
                        if j >= bilateral:
                            new = max(0.0, new)
                        push_row(a, b, response, j, new - reactions[j], u)
                        reactions[j] = new
                continue
            k = (i - scalars) // 3
            n, t = metric[k, 0], metric[k, 1]
            if not (n > 0.0 and t > 0.0):
                continue
            y0, y1, y2 = reactions[i], reactions[i + 1], reactions[i + 2]
            n0, n1, n2 = solve_uncoupled(
                n,
                t,
                row_times(a, b, rows, i, u) + bias[i] + (compliance[i] - n) * y0,
                row_times(a, b, rows, i + 1, u) + bias[i + 1] + (compliance[i + 1] - t) * y1,
                row_times(a, b, rows, i + 2, u) + bias[i + 2] + (compliance[i + 2] - t) * y2,
                mu[k],
                True,
            )
            d0, d1, d2 = n0 - y0, n1 - y1, n2 - y2
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
                push_row(a, b, response, i, d0, u)
                push_row(a, b, response, i + 1, d1, u)
                push_row(a, b, response, i + 2, d2, u)
        _extrapolate(begin, iterate)


@njit(cache=True, error_model="numpy")
def _sweep_rows(count, kinds, matrix, free_velocity, iterate):
    """`count` sweeps.  kinds, iterate: plain tuples; matrix: D in compressed rows, (indptr, indices, data)."""
    kinds, iterate = Kinds(*kinds), Iterate(*iterate)
    bilateral, scalars, mu = kinds.bilateral, kinds.scalars, kinds.mu
    indptr, indices, data = matrix
    diagonal, metric, reactions = iterate.diagonal, iterate.metric, iterate.point
    m = len(reactions)
    v, begin = np.empty(3), np.empty(m)
    for _ in range(count):
        begin[:] = reactions
        i = 0
        while i < m:
            size = 1 if i < scalars else 3
            for a in range(size):
                v[a] = free_velocity[i + a]
                for p in range(indptr[i + a], indptr[i + a + 1]):
                    v[a] += data[p] * reactions[indices[p]]
            if i < scalars:
                if diagonal[i] > 0.0:
                    new = reactions[i] - v[0] / diagonal[i]
                    reactions[i] = new if i < bilateral else max(0.0, new)
            else:
                k = (i - scalars) // 3
                n, t = metric[k, 0], metric[k, 1]
                if n > 0.0 and t > 0.0:
                    reactions[i], reactions[i + 1], reactions[i + 2] = solve_uncoupled(
                        n,
                        t,
                        v[0] - n * reactions[i],
                        v[1] - t * reactions[i + 1],
                        v[2] - t * reactions[i + 2],
                        mu[k],
                        True,
                    )
            i += size
        _extrapolate(begin, iterate)
