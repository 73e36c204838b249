"""Velocities of rigid bodies from reactions of two doubles each.

One unit in the last place of what 10²⁰ kg press with is 800 m/s of a body of 10 kg: Jᵀ λ is formed in pairs first,
where the forces on the light body cancel, and only then divided by its mass.
"""

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.pairs import add, div, get, mul, put, sub, times


def pair_velocities(
    delassus: RigidDelassus, u_f: np.ndarray, bias: np.ndarray, high: np.ndarray, low: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """v = J u + b + E λ, (m, 2), and u = u_f + H⁻¹ Jᵀ λ, (6 n_b, 2), of λ = high + low, (m,) each [N s]."""
    bodies, block_start, rows, _, compliance = delassus.plain
    x, u, v = np.column_stack([high, low]), np.zeros((len(u_f), 2)), np.empty((len(high), 2))
    add_pushes(bodies, block_start, rows, x, u)
    _divide_by_masses(delassus.mass, u)
    _add_doubles(u_f, u)
    times_rows(bodies, block_start, rows, u, v)
    _add_doubles(bias, v)
    if len(compliance):
        add_soft(compliance, x, v)
    return v, u


@njit(cache=True, error_model="numpy")
def times_rows(bodies, block_start, rows, u, out):
    """out = J u.  u: (n, 2), out: (m, 2)."""
    for k in range(len(bodies)):
        for i in range(block_start[k], block_start[k + 1]):
            value = (0.0, 0.0)
            for side in range(2):
                body = bodies[k, side]
                if body >= 0:
                    for a in range(6):
                        value = add(value, times(get(u, 6 * body + a), rows[i, 6 * side + a]))
            put(out, i, value)


@njit(cache=True, error_model="numpy")
def add_pushes(bodies, block_start, rows, x, out):
    """out += Jᵀ x.  x: (m, 2), out: (n, 2)."""
    for k in range(len(bodies)):
        for i in range(block_start[k], block_start[k + 1]):
            for side in range(2):
                body = bodies[k, side]
                if body >= 0:
                    for a in range(6):
                        j = 6 * body + a
                        put(out, j, add(get(out, j), times(get(x, i), rows[i, 6 * side + a])))


@njit(cache=True, error_model="numpy")
def add_soft(compliance, x, v):
    """v += E x."""
    for i in range(len(compliance)):
        put(v, i, add(get(v, i), times(get(x, i), compliance[i])))


@njit(cache=True, error_model="numpy")
def _add_doubles(values, out):
    for i in range(len(values)):
        put(out, i, add(get(out, i), (values[i], 0.0)))


@njit(cache=True, error_model="numpy")
def _divide_by_masses(mass, u):
    """u ← H⁻¹ u by elimination without pivots: a mass is positive definite up to a small skew part."""
    A = np.zeros((6, 6, 2))
    for k in range(len(mass)):
        for i in range(6):
            for j in range(6):
                A[i, j, 0], A[i, j, 1] = mass[k, i, j], 0.0
        for c in range(6):
            for i in range(c + 1, 6):
                if A[i, c, 0] != 0.0:
                    f = div(get(A[i], c), get(A[c], c))
                    for j in range(c + 1, 6):
                        put(A[i], j, sub(get(A[i], j), mul(f, get(A[c], j))))
                    put(u, 6 * k + i, sub(get(u, 6 * k + i), mul(f, get(u, 6 * k + c))))
        for i in range(5, -1, -1):
            value = get(u, 6 * k + i)
            for j in range(i + 1, 6):
                value = sub(value, mul(get(A[i], j), get(u, 6 * k + j)))
            put(u, 6 * k + i, div(value, get(A[i], i)))
