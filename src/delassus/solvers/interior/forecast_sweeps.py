"""A few projected Gauß–Seidel sweeps for the convex law: where the interior point starts, and which contacts may open.

The sweeps of `splitting` would do, but they compile six local solvers for it; this is one small loop for each storage.
"""

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb
from delassus.linalg.operators.rigid import RigidDelassus, add_response, push_row, row_times
from delassus.problem import Problem


class Sweeps:
    """reactions: (m,) [N s], changed in place by `advance`."""

    def __init__(self, problem: Problem, reactions: np.ndarray):
        self.problem, self.reactions = problem, reactions
        delassus = problem.delassus
        self.diagonal = delassus.diagonal
        if isinstance(delassus, RigidDelassus):
            assert problem.bias is not None
            assert problem.u_f is not None
            self.compliance = np.zeros(problem.row_count) if delassus.compliance is None else delassus.compliance
            self.u = problem.u_f.copy()
            add_response(delassus.bodies, delassus.block_start, delassus.response, reactions, self.u)

    def advance(self, count: int) -> None:
        """`count` sweeps."""
        problem, delassus, cone = self.problem, self.problem.delassus, self.problem.cone
        scalars = cone.contact_start
        if isinstance(delassus, RigidDelassus):
            _sweep_bodies(
                count, cone.block_start, cone.bilateral_rows, scalars, problem.mu, self.diagonal, delassus.bodies,
                delassus.rows, delassus.response, self.compliance, problem.bias, self.u, self.reactions,
            )  # fmt: skip
        else:
            D = delassus.matrix()
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
