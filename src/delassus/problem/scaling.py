"""Scaling that keeps the cones: one positive factor per block, one unit for D and one for v.

With S the block factors, D̂ = S D S / α and v̂_f = S v_f / β, the solution is λ = (β/α) S λ̂ and v = β S⁻¹ v̂. A factor
per *block* leaves every cone, its dual and De Saxcé's term as they are; a factor per row would not.
"""

from dataclasses import dataclass

import numpy as np

from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Scaling:
    """row: S, (m,), constant within each block; delassus: α [1/kg]; velocity: β [m/s]."""

    row: np.ndarray
    delassus: float
    velocity: float

    def reactions(self, scaled: np.ndarray) -> np.ndarray:
        """λ of the original problem from λ̂."""
        return (self.velocity / self.delassus) * self.row * scaled

    def scaled_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """λ̂ from λ."""
        return reactions * (self.delassus / self.velocity) / self.row


def normalise(problem: Problem, *, per_block: bool = False) -> tuple[Problem, Scaling]:
    """The problem in units where mean diag D̂ = 1 and the rms of v̂_f is 1, its structure kept.

    per_block: additionally give every block a mean diagonal of one, which evens out mass ratios."""
    start = problem.cone.block_start
    row = np.ones(problem.row_count)
    diagonal = problem.delassus.diagonal
    if per_block and problem.row_count:
        sizes = np.diff(start)
        mean = np.add.reduceat(diagonal, start[:-1]) / sizes
        row = np.repeat(1.0 / np.sqrt(np.where(mean > 0.0, mean, 1.0)), sizes)
    alpha = float(np.mean(row * row * diagonal)) if problem.row_count else 1.0
    beta = float(np.sqrt(np.mean((row * problem.free_velocity) ** 2))) if problem.row_count else 1.0
    scaling = Scaling(row, alpha if alpha > 0.0 else 1.0, beta if beta > 0.0 else 1.0)
    return scale(problem, scaling), scaling


def scale(problem: Problem, scaling: Scaling) -> Problem:
    """The scaled problem, in the same storage as the original."""
    s, alpha, beta = scaling.row, scaling.delassus, scaling.velocity
    if s.shape != (problem.row_count,) or not (s > 0).all() or alpha <= 0 or beta <= 0:
        raise ProblemError("a scaling needs one positive factor per row and positive units")
    delassus = problem.delassus.scaled(s, alpha)
    u_f = bias = None
    if delassus.is_primal and problem.u_f is not None and problem.bias is not None:
        u_f, bias = problem.u_f / beta, s * problem.bias / beta
    return Problem(
        delassus,
        s * problem.free_velocity / beta,
        problem.cone,
        problem.law,
        u_f=u_f,
        bias=bias,
        rest_speed=problem.rest_speed / beta,
    )


def scale_dense(D: np.ndarray, v_f: np.ndarray, limits: int) -> tuple[np.ndarray, np.ndarray, Scaling]:
    """D̂, v̂_f and the scaling of `normalise(per_block=True)`, for a full matrix of `limits` rows and contacts."""
    scaled, v, row = np.empty_like(D), np.empty_like(v_f), np.empty_like(v_f)
    delassus, velocity = _scale_dense(D, v_f, limits, scaled, v, row)
    return scaled, v, Scaling(row, delassus, velocity)


@njit(cache=True, error_model="numpy")
def _scale_dense(D, v_f, limits, scaled, v, row):
    m = len(v_f)
    i, alpha, beta = 0, 0.0, 0.0
    while i < m:
        size = 1 if i < limits else 3
        mean = 0.0
        for a in range(size):
            mean += D[i + a, i + a] / size
        s = 1.0 / np.sqrt(mean) if mean > 0.0 else 1.0
        for a in range(size):
            row[i + a] = s
            alpha += s * s * D[i + a, i + a] / m
            beta += (s * v_f[i + a]) ** 2 / m
        i += size
    alpha = alpha if alpha > 0.0 else 1.0
    beta = np.sqrt(beta) if beta > 0.0 else 1.0
    for i in range(m):
        v[i] = row[i] * v_f[i] / beta
        for j in range(m):
            scaled[i, j] = row[i] * D[i, j] * row[j] / alpha
    return alpha, beta
