"""Mechanisms that touch nothing: all rows are bilateral, and the step is one linear system. For few rows it is formed,
solved and judged in one compiled call: the loop of a method would cost more than the work."""

import numpy as np
from numba import njit

from delassus.linalg.dense_product import times_plus
from delassus.linalg.factor.dense_elimination import CARRY_ROWS, carry
from delassus.linalg.operators.rigid import form_dense
from delassus.problem import Problem
from delassus.residuals import measure_at
from delassus.solvers.settings import Settings


def joints_at_once(
    problem: Problem, settings: Settings, reactions: np.ndarray, tols: tuple[float, float], max_iter: int
) -> list[list[float]]:
    """(iterations, relative natural maps, relative worst velocities) of the guess and, where that is not good enough,
    of the solution, with which the reactions are overwritten; nothing where there is more than joints, or too many.
    tols: (tol, tol_velocity)."""
    del settings
    cone, rigid = problem.cone, problem.delassus.rigid
    rows = len(reactions)
    if cone.bilateral_rows != rows or not 0 < rows <= CARRY_ROWS or rigid is None:
        return []
    judgements = np.empty((3, 2))
    count = _solve(rigid.plain, problem.free_velocity, problem.judged_by, tols, max_iter, reactions, judgements)
    return judgements[:, :count].tolist()


@njit(cache=True, error_model="numpy")
def _solve(rigid, v_f, judged_by, tols, most, reactions, judgements):
    """How many judgements there are; none where D is not symmetric. One iteration is one solve."""
    m = len(v_f)
    D, v, carried = np.empty((m, m)), np.empty(m), np.empty((m, 1))
    form_dense(rigid, D)
    for k in range(2):
        times_plus(D, reactions, v_f, v)
        relative, velocity = measure_at(reactions, v, judged_by)
        judgements[0, k], judgements[1, k], judgements[2, k] = k, relative, velocity
        if k >= min(1, most) or (relative <= tols[0] and velocity <= tols[1]):
            return k + 1
        if not carry(D, v_f, carried):
            return 0
        for i in range(m):
            reactions[i] = -carried[i, 0]
    return 2
