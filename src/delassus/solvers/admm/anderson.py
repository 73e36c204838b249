"""Anderson's extrapolation of the ADMM iterates (Walker and Ni, SIAM J. Numer. Anal. 49, 2011).

With ρ held, one iteration is a map t → F(t) of t = x − z/ρ, from which y = P_K(t) and z = ρ (y − t) follow. The last k
differences of F(t) − t and F(t) predict where F(t) − t vanishes; the window of differences and its least squares are
those of `parts.anderson.window`. What is ADMM's own are the guards, since its map loses its memory with every change of
ρ and an extrapolated point is three vectors: a point whose F(t) − t is much longer than before is thrown away, and the
plain iteration goes on from where it was; where ‖F(t) − t‖ no longer falls, plain iterations are made for a while, each
time more of them, because with friction the map is no contraction, and extrapolation can cycle on it for ever (a chute
of 292 contacts, at 6e-5).

All vectors are of the rows that are split: (n,).
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import dot
from delassus.solvers.parts.anderson.window import fit, insert, take_away

_GROWTH = 2.0  # of ‖F(t) − t‖ beyond which an extrapolated point is thrown away
_REGULARISATION = 1e-10  # of the least squares, see `fit`

_PATIENCE, _FALL = 50, 0.9  # iterations in which the norm must fall by this factor
_FIRST_REST, _MORE_REST = 10, 1.5  # plain iterations after the first time it did not, and factor for the next time

# entries of `status`
HELD, NEXT = 0, 1  # differences held, where the next one goes
HAS_LAST, IS_EXTRAPOLATED, NORM = 2, 3, 4  # is there a last point?, was it extrapolated?, its norm
BEST, SINCE = 5, 6  # least norm so far, iterations since it fell
REST, NEXT_REST = 7, 8  # plain iterations left to do, how many the next time
STATUS_SIZE = 9
SCRATCH = 3  # rows of scratch: coefficients and scales of the least squares, and its right side


def empty_memory(depth: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Memory of `depth` differences, none held yet: (vectors, matrices, scratch, status).

    vectors: (2 depth + 4, rows) differences of F − t, of F, then t, the last F − t, the last F, F − t;
    matrices: (2, depth, depth) inner products of the former, and the factor of the least squares;
    scratch: (SCRATCH, depth)."""
    status = np.empty(STATUS_SIZE)
    clear_status(status)
    vectors = np.empty((2 * depth + 4 if depth else 0, rows))
    return vectors, np.empty((2, depth, depth)), np.empty((SCRATCH, depth)), status


@njit(cache=True)
def clear_status(status):
    """`status` before the first iteration."""
    for i in range(STATUS_SIZE):
        status[i] = 0.0
    status[BEST], status[NEXT_REST] = math.inf, _FIRST_REST


@njit(cache=True, error_model="numpy")
def forget(memory, rho, y, z):
    """Begin anew from the iterate (y, z) with the penalty ρ."""
    vectors, matrices, _, status = memory
    if len(vectors):
        t = vectors[2 * matrices.shape[1]]
        for i in range(len(t)):
            t[i] = y[i] - z[i] / rho
    _clear(status)


@njit(cache=True)
def _clear(status):
    """Drop the differences."""
    status[HELD] = status[NEXT] = status[HAS_LAST] = status[IS_EXTRAPOLATED] = 0.0


@njit(cache=True, error_model="numpy")
def extrapolate(memory, is_allowed, x, new):
    """Take note of F(t) in `new` and, where allowed, replace it by a better guess; x moves with it."""
    vectors, matrices, scratch, status = memory
    depth = matrices.shape[1]
    dF, dG, gram = vectors[:depth], vectors[depth : 2 * depth], matrices[0]
    t, last_f, last, f = vectors[2 * depth], vectors[2 * depth + 1], vectors[2 * depth + 2], vectors[2 * depth + 3]
    n = len(t)
    for i in range(n):
        f[i] = new[i] - t[i]
    norm = math.sqrt(dot(f, f))
    if status[IS_EXTRAPOLATED] > 0.0 and norm > _GROWTH * status[NORM]:
        for i in range(n):
            x[i] += last[i] - new[i]
            new[i] = t[i] = last[i]
        _clear(status)
        return
    if not _is_falling(status, norm):
        is_allowed = False
    if status[HAS_LAST] > 0.0:
        at = int(status[NEXT])
        status[HELD], status[NEXT] = min(status[HELD] + 1.0, float(depth)), (at + 1) % depth
        insert(at, int(status[HELD]), new, f, last, last_f, dG, dF, gram, scratch[2])
    else:
        for i in range(n):
            last_f[i], last[i] = f[i], new[i]
    status[HAS_LAST], status[NORM], status[IS_EXTRAPOLATED] = 1.0, norm, 0.0
    held, gamma = int(status[HELD]), scratch[0]
    if is_allowed and held and fit(held, gram, scratch[2], _REGULARISATION, gamma, scratch[1], matrices[1]):
        status[IS_EXTRAPOLATED] = 1.0
        take_away(held, gamma, dG, new)
        for i in range(n):
            x[i] += new[i] - last[i]
    for i in range(n):
        t[i] = new[i]


@njit(cache=True)
def _is_falling(status, norm):
    """False for some iterations from when the norm has not fallen for long."""
    if norm < _FALL * status[BEST]:
        status[BEST], status[SINCE] = norm, 0.0
    else:
        status[SINCE] += 1.0
    if status[SINCE] > _PATIENCE:
        status[REST], status[SINCE] = status[NEXT_REST], 0.0
        status[NEXT_REST] *= _MORE_REST
        _clear(status)
    if status[REST] > 0.0:
        status[REST] -= 1.0
        return False
    return True
