"""The window of Anderson acceleration: the last differences of a fixed-point iteration, and their best combination.

G, F: (memory, n) rows ΔG_j = G(x_j) − G(x_{j−1}) and Δf_j of a map G with f = weight (G(x) − x); gram: (memory, memory)
the products Δf_i · Δf_j. The first `count` rows are in use, in any order.
"""

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def residual(x, g, weight, f):
    """f = weight (g − x), written; ‖f‖."""
    for i in range(len(x)):
        f[i] = weight[i] * (g[i] - x[i])
    return math.sqrt(dot(f, f))


@njit(cache=True, error_model="numpy")
def weighted_norm(g, weight):
    """‖weight g‖."""
    total = 0.0
    for i in range(len(g)):
        total += (weight[i] * g[i]) ** 2
    return math.sqrt(total)


@njit(cache=True, error_model="numpy")
def dot(a, b):
    """a · b in eight partial sums, which the compiler can form side by side without changing their order."""
    n = len(a) // 8 * 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for i in range(0, n, 8):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    for i in range(n, len(a)):
        s0 += a[i] * b[i]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, error_model="numpy")
def insert(slot, count, g, f, last_g, last_f, G, F, gram):
    """Write the differences into row `slot` and complete the Gram matrix; ‖Δf‖."""
    own_g, own_f = G[slot], F[slot]
    for i in range(len(g)):
        own_g[i] = g[i] - last_g[i]
        own_f[i] = f[i] - last_f[i]
    for j in range(count):
        gram[slot, j] = gram[j, slot] = dot(F[j], own_f)
    return math.sqrt(gram[slot, slot])


@njit(cache=True, error_model="numpy")
def fit(count, F, gram, f, regularisation, gamma, scale, L):
    """gamma: γ of the least ‖f − Σ γ_j Δf_j‖; False where the factorisation breaks down.

    By Cholesky on the normal equations (Gram + regularisation) γ = Δf·f, each difference scaled to unit length.
    gamma: (memory,), written; scale: (memory,), L: (memory, memory), scratch."""
    for i in range(count):
        scale[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 0.0
        gamma[i] = scale[i] * dot(F[i], f)
        for j in range(i):  # row by row, with forward substitution
            value = gram[i, j] * scale[i] * scale[j]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value / L[j, j]
            gamma[i] -= L[i, j] * gamma[j]
        pivot = 1.0 + regularisation
        for k in range(i):
            pivot -= L[i, k] * L[i, k]
        if not pivot > 0.0:
            return False
        L[i, i] = math.sqrt(pivot)
        gamma[i] /= L[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            gamma[i] -= L[k, i] * gamma[k]
        gamma[i] /= L[i, i]
    for i in range(count):
        gamma[i] *= scale[i]
        if not math.isfinite(gamma[i]):
            return False
    return True


@njit(cache=True, error_model="numpy")
def combine(count, G, F, gram, g, f, regularisation, weight, longest, gamma, scale, L, out):
    """out = g − Σ γ_j ΔG_j with the γ of `fit`, shortened to `longest` times ‖weight g‖; False where there is none, or
    it is not finite: out is then not to be used."""
    if not fit(count, F, gram, f, regularisation, gamma, scale, L):
        return False
    for i in range(len(out)):
        out[i] = g[i]
    for j in range(count):
        part, difference = gamma[j], G[j]
        for i in range(len(out)):
            out[i] -= part * difference[i]
    step = size = 0.0
    for i in range(len(out)):
        step += (weight[i] * (out[i] - g[i])) ** 2
        size += (weight[i] * g[i]) ** 2
    if step > longest * longest * size:
        shorter = longest * math.sqrt(size / step)
        for i in range(len(out)):
            out[i] = g[i] + shorter * (out[i] - g[i])
    return math.isfinite(step)
