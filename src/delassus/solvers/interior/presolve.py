"""Contacts that will stay open can be left out: Gauß–Seidel sweeps predict them, and every one is checked again.

A contact stays open when its velocity lies deep inside the dual cone: v_n − μ‖v_t‖ large (not v_n alone, since
contacts that slide under the convex law have v_n = μ‖v_t‖). Large means against how much the prediction still moves.

The sweeps of `splitting` would do, but they compile six local solvers for it; here is one small loop for each storage.
Those of `dense_system` are others: joints are eliminated there, and rows scaled to standard cones project otherwise.
"""

from dataclasses import dataclass

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.linalg.operators.rigid import add_response, push_row, row_times
from delassus.problem import Problem

_SWEEPS, _MORE = 20, 10  # sweeps before the first look at the velocities, and before the second
_LEAST = 60  # contacts below which nothing is gained
_SAFE = 30.0  # open means a gap of this many times the recent change of velocities


@dataclass(frozen=True, eq=False)
class Forecast:
    """reactions: (m,) [N s] after the sweeps; kept: (block_count,) bool, or None where all blocks are."""

    reactions: np.ndarray
    kept: np.ndarray | None


def forecast(problem: Problem, reactions: np.ndarray, presolve: bool) -> Forecast:
    """Sweep from the given reactions, and say which blocks matter; all of them where there is no D to sweep over."""
    if problem.row_count == 0 or not problem.delassus.has_matrix_at_hand:
        return Forecast(reactions.copy(), None)
    method = Sweeps(problem, reactions.copy())
    method.advance(_SWEEPS)
    first = problem.constraint_velocity(method.reactions)
    method.advance(_MORE)
    swept = method.reactions
    if not np.isfinite(swept).all():
        return Forecast(np.zeros_like(swept), None)
    if not presolve or problem.contact_count < _LEAST:
        return Forecast(swept, None)
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
    return Forecast(swept, kept if is_open.any() else None)


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
    """reactions: (m,) [N s], changed in place by `advance`."""

    def __init__(self, problem: Problem, reactions: np.ndarray):
        self.problem, self.reactions = problem, reactions
        self.diagonal, self.rigid = problem.delassus.diagonal, problem.delassus.rigid
        rigid = self.rigid
        if rigid is not None:
            assert problem.bias is not None
            assert problem.u_f is not None
            self.compliance = np.zeros(problem.row_count) if rigid.compliance is None else rigid.compliance
            self.u = problem.u_f.copy()
            add_response(rigid.bodies, rigid.block_start, rigid.response, reactions, self.u)

    def advance(self, count: int) -> None:
        """`count` sweeps."""
        problem, rigid, cone = self.problem, self.rigid, self.problem.cone
        scalars = cone.contact_start
        if rigid is not None:
            _sweep_bodies(
                count, cone.block_start, cone.bilateral_rows, scalars, problem.mu, self.diagonal, rigid.bodies,
                rigid.rows, rigid.response, self.compliance, problem.bias, self.u, self.reactions,
            )  # fmt: skip
        else:
            D = problem.delassus.matrix()
            _sweep_rows(count, cone.bilateral_rows, scalars, problem.mu, self.diagonal, D.indptr, D.indices, D.data,
                        problem.free_velocity, self.reactions)  # fmt: skip


@njit(cache=True, error_model="numpy")
def _sweep_bodies(
    count, start, bilateral, scalars, mu, diagonal, bodies, rows, response, compliance, bias, u, reactions
):
    for _ in range(count):
        for k in range(len(bodies)):
            a, b, i = bodies[k, 0], bodies[k, 1], start[k]
            if i < scalars:
                for j in range(i, start[k + 1]):
                    v = row_times(a, b, rows, j, u) + bias[j] + compliance[j] * reactions[j]
                    if diagonal[j] > 0.0:
                        new = reactions[j] - v / diagonal[j]
                        if j >= bilateral:
                            new = max(0.0, new)
                        push_row(a, b, response, j, new - reactions[j], u)
                        reactions[j] = new
                continue
            trace = diagonal[i] + diagonal[i + 1] + diagonal[i + 2]
            if not trace > 0.0:
                continue
            step = 3.0 / trace
            n0, n1, n2 = project_coulomb(
                reactions[i] - step * (row_times(a, b, rows, i, u) + bias[i] + compliance[i] * reactions[i]),
                reactions[i + 1]
                - step * (row_times(a, b, rows, i + 1, u) + bias[i + 1] + compliance[i + 1] * reactions[i + 1]),
                reactions[i + 2]
                - step * (row_times(a, b, rows, i + 2, u) + bias[i + 2] + compliance[i + 2] * reactions[i + 2]),
                mu[(i - scalars) // 3],
            )
            d0, d1, d2 = n0 - reactions[i], n1 - reactions[i + 1], n2 - reactions[i + 2]
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
                push_row(a, b, response, i, d0, u)
                push_row(a, b, response, i + 1, d1, u)
                push_row(a, b, response, i + 2, d2, u)


@njit(cache=True, error_model="numpy")
def _sweep_rows(count, bilateral, scalars, mu, diagonal, indptr, indices, data, free_velocity, reactions):
    m = len(reactions)
    v = np.empty(3)
    for _ in range(count):
        i = 0
        while i < m:
            size = 1 if i < scalars else 3
            trace = 0.0
            for a in range(size):
                v[a] = free_velocity[i + a]
                for p in range(indptr[i + a], indptr[i + a + 1]):
                    v[a] += data[p] * reactions[indices[p]]
                trace += diagonal[i + a]
            if trace > 0.0:
                step = size / trace
                if i < scalars:
                    new = reactions[i] - step * v[0]
                    reactions[i] = new if i < bilateral else max(0.0, new)
                else:
                    reactions[i], reactions[i + 1], reactions[i + 2] = project_coulomb(
                        reactions[i] - step * v[0],
                        reactions[i + 1] - step * v[1],
                        reactions[i + 2] - step * v[2],
                        mu[(i - scalars) // 3],
                    )
            i += size
