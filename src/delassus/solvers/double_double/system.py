"""H + Jᵀ S J between rigid bodies, in pairs: assembled, factored and solved inside its skyline."""

import numpy as np

from delassus.kernel import njit
from delassus.linalg.pairs import add, get, put, sub, times


def skyline(bodies: np.ndarray, count: int) -> np.ndarray:
    """First column of every row of the matrix, (6 count,): bodies are joined by blocks of rows."""
    first = np.arange(count)
    for a, b in bodies:
        if a >= 0 and b >= 0:
            first[max(a, b)] = min(first[max(a, b)], a, b)
    return np.repeat(6 * first, 6)


@njit(cache=True, error_model="numpy")
def assemble(mass, bodies, block_start, rows, joints, S, first, A):
    """A = H + Jᵀ S J, lower part.  S: (m, 3, 2), a row of the block's weights each; joints and limits have one weight
    per row."""
    for i in range(len(first)):
        for j in range(first[i], i + 1):
            A[i, j, 0], A[i, j, 1] = 0.0, 0.0
    for k in range(len(mass)):
        for i in range(6):
            for j in range(i + 1):
                A[6 * k + i, 6 * k + j, 0] = mass[k, i, j]
    for k in range(len(bodies)):
        start, size = block_start[k], block_start[k + 1] - block_start[k]
        for i in range(start, start + size):
            for side in range(2):
                if bodies[k, side] >= 0:
                    for a in range(6):
                        weighted = (0.0, 0.0)
                        if k < joints:
                            weighted = times(get(S[i], 0), rows[i, 6 * side + a])
                        else:
                            for j in range(size):
                                weighted = add(weighted, times(get(S[i], j), rows[start + j, 6 * side + a]))
                        if weighted[0] != 0.0:
                            _add_column(bodies[k], rows[i], 6 * bodies[k, side] + a, weighted, A)


@njit(cache=True, error_model="numpy")
def _add_column(pair, row, column, weighted, A):
    """A[:, column] += row · weighted, below the diagonal."""
    for side in range(2):
        if pair[side] >= 0:
            for a in range(6):
                i = 6 * pair[side] + a
                if i >= column and row[6 * side + a] != 0.0:
                    put(A[i], column, add(get(A[i], column), times(weighted, row[6 * side + a])))


@njit(cache=True, error_model="numpy")
def momentum_error(mass, u, u_f, pushed, out):
    """out = H (u − u_f) − pushed.  All (n, 2) but mass."""
    for k in range(len(mass)):
        for i in range(6):
            value = (-pushed[6 * k + i, 0], -pushed[6 * k + i, 1])
            for j in range(6):
                if mass[k, i, j] != 0.0:
                    moved = sub(get(u, 6 * k + j), get(u_f, 6 * k + j))
                    value = add(value, times(moved, mass[k, i, j]))
            put(out, 6 * k + i, value)
