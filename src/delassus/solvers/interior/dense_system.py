"""(I + S Ĵ Ĵᵀ + …) dx = right of small problems, compiled: (I + ĴᵀSĴ) du = Ĵᵀ right, dx = right − S Ĵ du.

The matrix is full but for its envelope: row k of the upper factor ends at end[k]. Vectors u have six numbers more than
there are columns, zeros, and the matrix six more rows and columns: the place of what belongs to no body.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.kernel.six_wide import push_three, three_rows_times
from delassus.linalg.factor.envelope import solve_factored
from delassus.solvers.interior.joint_groups import AT
from delassus.solvers.interior.reduced import Rows
from delassus.solvers.parts.jordan import apply_blocks

_ROUNDING = 1e-14  # relative residual of a solve beyond which there is nothing to gain
_MOST = 6  # conjugate gradient iterations


class DenseSystem(NamedTuple):
    """The matrix of a small problem, and scratch for its solves.  size: columns of Ĵ."""

    rows: Rows
    diagonal: np.ndarray
    """(limits,) S of orthant rows."""
    blocks: np.ndarray
    """(cones, 3, 3) S of contacts."""
    A: np.ndarray
    """(size + 6, size + 6) upper triangle of I + ĴᵀSĴ, or its factor."""
    flat: np.ndarray
    """A as one row."""
    T: np.ndarray
    """(3, 12 or size + 6) scratch of a block."""
    bodies: np.ndarray
    """(3, size + 6) vectors of bodies."""
    image: np.ndarray
    """(2, m') vectors of rows."""


@njit(cache=True, error_model="numpy", inline="always")
def dense_system(rows, diagonal, blocks, image):
    """A `DenseSystem` with matrix and vectors of bodies set to zero: what belongs to no body is only added to."""
    wide = len(rows.end) + 6
    A, bodies, T = np.empty((wide, wide)), np.empty((3, wide)), np.empty((3, 12 if rows.paired else wide))
    flat = A.ravel()
    for p in range(len(flat)):
        flat[p] = 0.0
    for k in range(len(bodies)):
        for c in range(wide):
            bodies[k, c] = 0.0
    return DenseSystem(rows, diagonal, blocks, A, flat, T, bodies, image)


@njit(cache=True, error_model="numpy")
def times_rows(rows, u, out):
    """out = Ĵ u.  The loop over blocks stands in each of these kernels: as a function per block, inlined or not, they
    made a solve a quarter slower."""
    limits, places, J, lines, paired = rows.limits, rows.places, rows.J, rows.lines, rows.paired
    i = 0
    for k in range(len(places)):
        c0, n0, c1, n1 = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        p = places[k, AT]
        if k < limits:
            value = 0.0
            for c in range(n0):
                value += J[p + c] * u[c0 + c]
            p += n0
            for c in range(n1):
                value += J[p + c] * u[c1 + c]
            out[i] = value
            i += 1
            continue
        if paired:
            out[i], out[i + 1], out[i + 2] = three_rows_times(lines, i, c0, c1, u)
            i += 3
            continue
        w = n0 + n1
        a, b, d = 0.0, 0.0, 0.0
        for c in range(n0):
            f = u[c0 + c]
            a += J[p + c] * f
            b += J[p + w + c] * f
            d += J[p + 2 * w + c] * f
        p += n0
        for c in range(n1):
            f = u[c1 + c]
            a += J[p + c] * f
            b += J[p + w + c] * f
            d += J[p + 2 * w + c] * f
        out[i], out[i + 1], out[i + 2] = a, b, d
        i += 3


@njit(cache=True, error_model="numpy")
def add_pushes(rows, x, u):
    """u += Ĵᵀ x."""
    limits, places, J, lines, paired = rows.limits, rows.places, rows.J, rows.lines, rows.paired
    i = 0
    for k in range(len(places)):
        c0, n0, c1, n1 = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        p = places[k, AT]
        if k < limits:
            f = x[i]
            for c in range(n0):
                u[c0 + c] += J[p + c] * f
            p += n0
            for c in range(n1):
                u[c1 + c] += J[p + c] * f
            i += 1
            continue
        if paired:
            push_three(lines, i, c0, c1, x[i], x[i + 1], x[i + 2], u)
            i += 3
            continue
        w = n0 + n1
        f, g, h = x[i], x[i + 1], x[i + 2]
        for c in range(n0):
            u[c0 + c] += J[p + c] * f + J[p + w + c] * g + J[p + 2 * w + c] * h
        p += n0
        for c in range(n1):
            u[c1 + c] += J[p + c] * f + J[p + w + c] * g + J[p + 2 * w + c] * h
        i += 3


@njit(cache=True, error_model="numpy", inline="always")
def velocity(rows, q, soft, x, u, out):
    """out = Ĵ Ĵᵀ x + E x + q; u: (size + 6,) scratch, Ĵᵀ x afterwards."""
    rows = Rows(*rows)
    for c in range(len(u)):
        u[c] = 0.0
    add_pushes(rows, x, u)
    times_rows(rows, u, out)
    for i in range(len(out)):
        out[i] += soft[i] * x[i] + q[i]


@njit(cache=True, error_model="numpy")
def sweep(rows, q, soft, count, x, u):
    """`count` sweeps of projected Gauß–Seidel: where the interior point starts.  u: (size + 6,) = Ĵᵀ x, also
    afterwards. Blocks have unit mobility, so the step is one."""
    limits, places, J, lines, paired = rows.limits, rows.places, rows.J, rows.lines, rows.paired
    for _ in range(count):
        i = 0
        for k in range(len(places)):
            c0, n0, c1, n1 = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
            p = places[k, AT]
            if k < limits:
                value = q[i] + soft[i] * x[i]
                for c in range(n0):
                    value += J[p + c] * u[c0 + c]
                for c in range(n1):
                    value += J[p + n0 + c] * u[c1 + c]
                new = max(0.0, x[i] - value)
                change = new - x[i]
                if change != 0.0:
                    x[i] = new
                    for c in range(n0):
                        u[c0 + c] += J[p + c] * change
                    for c in range(n1):
                        u[c1 + c] += J[p + n0 + c] * change
                i += 1
                continue
            w = n0 + n1
            a, b, d = q[i] + soft[i] * x[i], q[i + 1] + soft[i + 1] * x[i + 1], q[i + 2] + soft[i + 2] * x[i + 2]
            if paired:
                e, f, g = three_rows_times(lines, i, c0, c1, u)
                a, b, d = a + e, b + f, d + g
            else:
                for c in range(w):
                    f = u[c0 + c] if c < n0 else u[c1 + c - n0]
                    a += J[p + c] * f
                    b += J[p + w + c] * f
                    d += J[p + 2 * w + c] * f
            a, b, d = project_coulomb(x[i] - a, x[i + 1] - b, x[i + 2] - d, 1.0)
            e, f, g = a - x[i], b - x[i + 1], d - x[i + 2]
            if e != 0.0 or f != 0.0 or g != 0.0:
                x[i], x[i + 1], x[i + 2] = a, b, d
                if paired:
                    push_three(lines, i, c0, c1, e, f, g, u)
                    i += 3
                    continue
                for c in range(n0):
                    u[c0 + c] += J[p + c] * e + J[p + w + c] * f + J[p + 2 * w + c] * g
                for c in range(n0, w):
                    u[c1 + c - n0] += J[p + c] * e + J[p + w + c] * f + J[p + 2 * w + c] * g
            i += 3


@njit(cache=True, error_model="numpy")
def assemble(system):
    """Upper triangle of A = I + ĴᵀSĴ within its envelope."""
    rows, A, T, flat = system.rows, system.A, system.T, system.flat
    limits, places, J, end, paired = rows.limits, rows.places, rows.J, rows.end, rows.paired
    diagonal, blocks = system.diagonal, system.blocks
    wide = len(A)
    for i in range(len(end)):
        for j in range(i, end[i]):
            A[i, j] = 0.0
        A[i, i] = 1.0
    for k in range(len(places)):
        c0, n0, c1, n1 = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        w = n0 + n1
        p = places[k, AT]
        if k < limits:
            s = diagonal[k]
            for a in range(n0):
                f = s * J[p + a]
                for c in range(a, n0):
                    A[c0 + a, c0 + c] += f * J[p + c]
                for c in range(n1):
                    A[c0 + a, c1 + c] += f * J[p + n0 + c]
            for a in range(n1):
                f = s * J[p + n0 + a]
                for c in range(a, n1):
                    A[c1 + a, c1 + c] += f * J[p + n0 + c]
            continue
        S = blocks[k - limits]
        s00, s01, s02 = S[0, 0], S[0, 1], S[0, 2]
        s11, s12, s22 = S[1, 1], S[1, 2], S[2, 2]
        for c in range(w):
            a, b, d = J[p + c], J[p + w + c], J[p + 2 * w + c]
            T[0, c] = s00 * a + s01 * b + s02 * d
            T[1, c] = s01 * a + s11 * b + s12 * d
            T[2, c] = s02 * a + s12 * b + s22 * d
        if paired:
            for a in range(6 if c0 == wide - 6 or c1 == wide - 6 else 12):
                at_row = wide * (c0 + a if a < 6 else c1 + a - 6)
                push_three(T, 0, at_row + c0, at_row + c1, J[p + a], J[p + 12 + a], J[p + 24 + a], flat)
            continue
        for a in range(n0):
            f, g, h = J[p + a], J[p + w + a], J[p + 2 * w + a]
            for c in range(a, n0):
                A[c0 + a, c0 + c] += f * T[0, c] + g * T[1, c] + h * T[2, c]
            for c in range(n1):
                A[c0 + a, c1 + c] += f * T[0, n0 + c] + g * T[1, n0 + c] + h * T[2, n0 + c]
        for a in range(n1):
            f, g, h = J[p + n0 + a], J[p + w + n0 + a], J[p + 2 * w + n0 + a]
            for c in range(a, n1):
                A[c1 + a, c1 + c] += f * T[0, n0 + c] + g * T[1, n0 + c] + h * T[2, n0 + c]


@njit(cache=True, error_model="numpy")
def solve_system(system, right, dx, image, goal):
    """dx and image = Ĵ Ĵᵀ dx to a momentum residual of `goal` (not looked at where it is infinite), by conjugate
    gradients with the factor as preconditioner, through the rows themselves: the assembled matrix has lost what S
    rounds away. Their number, or −1 where that broke down.

    Written so that every kernel is called in one place: each call is compiled anew."""
    rows, end = system.rows, system.rows.end
    r, p, z = system.bodies[0], system.bodies[1], system.bodies[2]
    v, x = system.image[0], system.image[1]
    m, size = len(right), len(end)
    for i in range(m):
        x[i] = right[i]
        dx[i] = image[i] = 0.0
    rho_last = 0.0
    alpha, iterations = 1.0, 0
    while True:
        # z = p + Ĵᵀ x with x = S Ĵ p; before the first iteration it is the right side
        if iterations == 0:
            z[:] = 0.0
        else:
            for i in range(len(z)):
                z[i] = p[i]
        add_pushes(rows, x, z)
        left = 0.0
        if iterations == 0:
            for i in range(size):
                r[i] = z[i]
                left += r[i] * r[i]
            goal = max(goal, _ROUNDING * math.sqrt(left))
        else:
            curvature = 0.0
            for i in range(size):
                curvature += p[i] * z[i]
            if not curvature > 0.0:
                break
            alpha = rho_last / curvature
            for i in range(size):
                r[i] -= alpha * z[i]
                left += r[i] * r[i]
            for i in range(m):
                image[i] += alpha * v[i]
                dx[i] += alpha * x[i]
        if (iterations and math.sqrt(left) <= goal) or iterations == _MOST:
            break
        for i in range(size):
            z[i] = r[i]
        solve_factored(system.A, end, z)
        rho = 0.0
        for i in range(size):
            rho += r[i] * z[i]
        if not (math.isfinite(rho) and rho > 0.0):
            break
        beta = rho / rho_last if iterations else 0.0
        for i in range(size):
            p[i] = z[i] + beta * p[i] if iterations else z[i]
        rho_last = rho
        times_rows(rows, p, v)
        apply_blocks(system.diagonal, system.blocks, v, x)
        iterations += 1
        if goal == math.inf:
            for i in range(m):
                image[i] = v[i]
                dx[i] = x[i]
            break
    finite = True
    for i in range(m):
        dx[i] = right[i] - dx[i]
        finite = finite and math.isfinite(dx[i])
    return iterations if finite else -1
