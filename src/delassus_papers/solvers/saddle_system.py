"""The published matrix, nothing eliminated (Mangoni, thesis, §4.8, eq. 4.28): velocities are unknowns beside reactions,
and joints stay joints. Made symmetric and equilibrated,

    [ H   Jᵀ ] [ du]   [−r_d      ]
    [ J  −N  ] [−dx] = [ N right  ],    N = S⁻¹ = Y/X + E of limits and contacts without friction, E of joints

where the right side of joints is −r_p. Where reactions are 1e16 times apart, velocities that follow from reactions have
no digits left; these have.
"""

import numpy as np
import scipy.sparse as sp

from delassus.linalg.factor.symmetric import factorisation, pattern_of
from delassus.linalg.operators.matrix import csr_times
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights


class SaddleSystem:
    """momentum: (n,) r_d [N s] and joint: (free,) r_p of bilateral rows [m/s] of the next solves; du: (n,) the
    direction of velocities of the last one."""

    needs_roots, krylov, is_single = False, 1, False

    def __init__(self, standard: Standard, backend: str, threads: int):
        delassus = standard.problem.delassus
        self.free, self.soft = standard.free, standard.soft
        self.H, _ = delassus.mass_symmetric
        self.J = sp.csr_array(sp.diags_array(standard.factor) @ delassus.jacobian()[standard.cone.rows])
        self.J.sum_duplicates()
        self.J_transposed = sp.csr_array(self.J.T)
        self.n, m = self.H.shape[0], standard.row_count
        self.momentum, self.joint, self.du = np.zeros(self.n), np.zeros(self.free), np.zeros(self.n)
        self.N = sp.csr_array(sp.eye_array(m))
        # entries numbered from one: where each stands among the values of H, J and N
        parts, first = (self.H, self.J, self.N), 1 + np.cumsum([0, self.H.nnz, self.J.nnz])
        H, J, N = (
            sp.csr_array((k + np.arange(part.nnz), part.indices, part.indptr), shape=part.shape)
            for part, k in zip(parts, first)
        )
        whole = sp.csr_array(sp.block_array([[H, J.T], [J, N]]))
        self.pattern, source = pattern_of(whole)
        self.source = np.where(source >= 0, whole.data[source], 0)
        self.row = np.repeat(np.arange(self.n + m), np.diff(self.pattern.indptr))
        self.factors = factorisation(self.pattern, backend=backend, definite=False, threads=threads)

    def factor(self, weights: Weights, single: bool) -> bool:
        """N of these weights in its place, rows and columns equilibrated."""
        del single
        with np.errstate(divide="ignore"):  # the factorisation has broken down, and is said to have
            self.N.data[:] = np.concatenate([self.soft[: self.free], 1.0 / weights.diagonal[self.free :]])
        if not np.isfinite(self.N.data).all():
            return False
        entries = np.concatenate([[0.0], self.H.data, self.J.data, -self.N.data])[self.source]
        largest = np.full(self.n + len(self.soft), np.finfo(float).tiny)
        np.maximum.at(largest, self.row, np.abs(entries))
        np.maximum.at(largest, self.pattern.indices, np.abs(entries))
        self.scale = 1.0 / np.sqrt(largest)
        return self.factors.factor(self.scale[self.row] * entries * self.scale[self.pattern.indices])

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = J du; one solve, whatever it leaves."""
        del goal
        wanted = self.N.data * right
        wanted[: self.free] = -self.joint
        whole = self.scale * np.concatenate([-self.momentum, wanted])
        answer = np.empty_like(whole)
        self.factors.solve(whole, answer)
        answer *= self.scale
        self.du, dx[:] = answer[: self.n], -answer[self.n :]
        image[:] = csr_times(self.J, self.du)
        return bool(np.isfinite(answer).all())
