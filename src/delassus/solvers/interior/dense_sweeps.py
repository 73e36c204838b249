"""Projected Gauß–Seidel on the reduced problem: where the interior point starts."""

from numba import njit

from delassus.cones.coulomb import project_coulomb
from delassus.solvers.parts.lanes import push_three, three_rows_times


@njit(cache=True, error_model="numpy")
def sweep_reduced(rows, q, soft, count, x, u):
    """`count` sweeps; u: (size,) = Ĵᵀ x, kept. Blocks have unit mobility, so the step is one."""
    limits, segments, at, J, lines, _, paired = rows
    for _ in range(count):
        i = 0
        for k in range(len(segments)):
            c0, n0, c1, n1 = segments[k, 0], segments[k, 1], segments[k, 2], segments[k, 3]
            p = at[k]
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
