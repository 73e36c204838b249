"""Anderson's extrapolation of the ADMM iterates.

With ρ held, one iteration is a map t → F(t) of t = x − z/ρ, from which y = P_K(t) and z = ρ (y − t) follow. From the
last k differences of F(t) − t and F(t), least squares predicts where F(t) − t vanishes (Walker and Ni, SIAM J. Numer.
Anal. 49, 2011). A point whose F(t) − t is much longer than before is thrown away, and the plain iteration goes on from
where it was. Where ‖F(t) − t‖ no longer falls, plain iterations are made for a while, each time more of them: with
friction the map is no contraction, and extrapolation can cycle on it for ever (a chute of 292 contacts, at 6e-5).
"""

import math

import numpy as np
from numba import njit

_GROWTH = 2.0  # of ‖F(t) − t‖ beyond which an extrapolated point is thrown away
_RIDGE = 1e-10  # added to the diagonal of the least-squares system, relative to its trace

_PATIENCE, _FALL = 50, 0.9  # iterations in which the norm must fall by this factor
_FIRST_REST, _MORE_REST = 10, 1.5  # plain iterations after the first time it did not, and factor for the next time

# entries of `status`: differences held, where the next one goes, is there a last point?, was it extrapolated?, its
# norm, least norm so far, iterations since it fell, plain iterations left to do, how many the next time
HELD, NEXT, HAS_LAST, IS_BOLD, NORM, BEST, SINCE, REST, NEXT_REST = 0, 1, 2, 3, 4, 5, 6, 7, 8
STATUS_SIZE = 9


def empty_memory(depth: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Memory of `depth` differences, none held yet: (vectors, products, status).

    vectors: (2 depth + 4, rows) differences of F − t, of F, then t, the last F − t, the last F, F − t;
    products: (depth, 2 depth + 1) inner products of the former, and the least-squares system made of them."""
    status = np.empty(STATUS_SIZE)
    clear_status(status)
    return np.empty((2 * depth + 4 if depth else 0, rows)), np.empty((depth, 2 * depth + 1)), status


@njit(cache=True)
def clear_status(status):
    """`status` before the first iteration."""
    for i in range(STATUS_SIZE):
        status[i] = 0.0
    status[BEST], status[NEXT_REST] = math.inf, _FIRST_REST


@njit(cache=True, error_model="numpy")
def forget(memory, rho, y, z):
    """Begin anew from the iterate (y, z) with the penalty ρ."""
    vectors, products, status = memory
    if len(vectors):
        t = vectors[2 * len(products)]
        for i in range(len(t)):
            t[i] = y[i] - z[i] / rho
    _clear(status)


@njit(cache=True)
def _clear(status):
    """Drop the differences."""
    status[HELD] = status[NEXT] = status[HAS_LAST] = status[IS_BOLD] = 0.0


@njit(cache=True, error_model="numpy")
def extrapolate(memory, exact, is_bold, x, new):
    """Take note of F(t) in `new` and, where bold, replace it by a better guess; x moves with it. Rows before `exact`
    are left alone."""
    vectors, products, status = memory
    depth = len(products)
    dF, dG, system = vectors[:depth], vectors[depth : 2 * depth], products[:, depth:]
    t, last_f, last, f = vectors[2 * depth], vectors[2 * depth + 1], vectors[2 * depth + 2], vectors[2 * depth + 3]
    m = len(t)
    for i in range(exact, m):
        f[i] = new[i] - t[i]
    norm = math.sqrt(_dot(f, f, exact))
    if status[IS_BOLD] > 0.0 and norm > _GROWTH * status[NORM]:
        for i in range(exact, m):
            x[i] += last[i] - new[i]
            new[i] = t[i] = last[i]
        _clear(status)
        return
    if not _is_falling(status, norm):
        is_bold = False
    if status[HAS_LAST] > 0.0:
        at = int(status[NEXT])
        for i in range(exact, m):
            dF[at, i] = f[i] - last_f[i]
            dG[at, i] = new[i] - last[i]
        held = min(int(status[HELD]) + 1, depth)
        for k in range(held):
            products[at, k] = products[k, at] = _dot(dF[at], dF[k], exact)
        status[HELD], status[NEXT] = held, (at + 1) % depth
    for i in range(exact, m):
        last_f[i], last[i] = f[i], new[i]
    status[HAS_LAST], status[NORM], status[IS_BOLD] = 1.0, norm, 0.0
    held = int(status[HELD])
    if is_bold and held and _fit(products, dF, f, exact, held, system):
        status[IS_BOLD] = 1.0
        for k in range(held):
            c = system[k, depth]
            for i in range(exact, m):
                new[i] -= c * dG[k, i]
        for i in range(exact, m):
            x[i] += new[i] - last[i]
    for i in range(exact, m):
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


@njit(cache=True, error_model="numpy")
def _fit(products, dF, f, exact, held, system):
    """Coefficients c of the least ‖f − Σ c_k dF_k‖ into the last column of `system`; False where there is none."""
    last = system.shape[1] - 1
    trace = 0.0
    for k in range(held):
        trace += products[k, k]
    if not trace > 0.0:
        return False
    for k in range(held):
        for j in range(held):
            system[k, j] = products[k, j]
        system[k, k] += _RIDGE * trace
        system[k, last] = _dot(dF[k], f, exact)
    for k in range(held):  # Gauß; positive definite
        for j in range(k + 1, held):
            factor = system[j, k] / system[k, k]
            for i in range(k + 1, held):
                system[j, i] -= factor * system[k, i]
            system[j, last] -= factor * system[k, last]
    for k in range(held - 1, -1, -1):
        for j in range(k + 1, held):
            system[k, last] -= system[k, j] * system[j, last]
        system[k, last] /= system[k, k]
        if not math.isfinite(system[k, last]):
            return False
    return True


@njit(cache=True)
def _dot(a, b, first):
    """Σ a_i b_i from `first` on, in four sums, so that no addition waits for the one before it."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    i = first
    while i + 3 < len(a):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        i += 4
    while i < len(a):
        s0 += a[i] * b[i]
        i += 1
    return (s0 + s1) + (s2 + s3)
