"""The window of Anderson acceleration: the last differences of a fixed-point iteration, and their best combination.

G, F: (memory, n) rows ΔG_j = G(x_j) − G(x_{j−1}) and Δf_j of a map G with f = weight (G(x) − x); gram: (memory, memory)
the products Δf_i · Δf_j; right: (memory,) those with the last f, Δf_j · f. The first `count` rows are in use, in any
order. A new difference costs one product with each of the others and one with f: since f grows by Δf, so do the other
right sides by what the Gram matrix gets.
"""

import math

from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED
from delassus.solvers.parts.fours import dot


@njit(cache=True, error_model="numpy", **BORROWED)
def residual(x, g, weight, f):
    """f = weight (g − x), written; ‖f‖."""
    for i in range(len(x)):
        f[i] = weight[i] * (g[i] - x[i])
    return math.sqrt(dot(f, f))


@njit(cache=True, error_model="numpy", **BORROWED)
def weighted_norm(g, weight):
    """‖weight g‖."""
    total = 0.0
    for i in range(len(g)):
        total += (weight[i] * g[i]) ** 2
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", **BORROWED)
def insert(slot, count, g, f, last_g, last_f, G, F, gram, right):
    """Write the differences into row `slot`, complete the Gram matrix and the right sides, and make g and f the last
    ones; ‖Δf‖."""
    own_g, own_f = G[slot], F[slot]
    for i in range(len(g)):  # two loops: the compiler gives up on vectors where more arrays may overlap
        own_g[i], last_g[i] = g[i] - last_g[i], g[i]
    for i in range(len(f)):
        own_f[i], last_f[i] = f[i] - last_f[i], f[i]
    for j in range(count):
        gram[slot, j] = gram[j, slot] = product = dot(F[j], own_f)
        right[j] += product
    right[slot] = dot(own_f, f)
    return math.sqrt(gram[slot, slot])


@njit(cache=True, error_model="numpy", **BORROWED)
def fit(count, gram, right, regularisation, gamma, scale, L):
    """gamma: γ of the least ‖f − Σ γ_j Δf_j‖; False where the factorisation breaks down.

    By Cholesky on the normal equations (Gram + regularisation) γ = Δf·f, each difference scaled to unit length.
    gamma: (memory,), written; scale: (memory,), L: (memory, memory), scratch."""
    for i in range(count):
        scale[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 0.0
        gamma[i] = scale[i] * right[i]
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


@njit(cache=True, error_model="numpy", **BORROWED)
def combine(count, G, gram, right, g, regularisation, weight, longest, gamma, scale, L, out):
    """out = g − Σ γ_j ΔG_j with the γ of `fit`, shortened to `longest` times ‖weight g‖; False where there is none, or
    it is not finite: out is then not to be used."""
    if not fit(count, gram, right, regularisation, gamma, scale, L):
        return False
    for i in range(len(out)):
        out[i] = g[i]
    take_away(count, gamma, G, out)
    if longest < math.inf:
        step = size = 0.0
        for i in range(len(out)):
            step += (weight[i] * (out[i] - g[i])) ** 2
            size += (weight[i] * g[i]) ** 2
        if step > longest * longest * size:
            shorter = longest * math.sqrt(size / step)
            for i in range(len(out)):
                out[i] = g[i] + shorter * (out[i] - g[i])
    return math.isfinite(dot(out, out))


@njit(cache=True, error_model="numpy", **BORROWED)
def take_away(count, gamma, G, out):
    """out −= Σ γ_j ΔG_j, four differences at a time: `out` is read and written a quarter as often."""
    n = len(out)
    for j in range(0, count - 3, 4):
        c0, c1, c2, c3 = gamma[j], gamma[j + 1], gamma[j + 2], gamma[j + 3]
        a, b, c, d = G[j], G[j + 1], G[j + 2], G[j + 3]
        for i in range(n):
            out[i] -= (c0 * a[i] + c1 * b[i]) + (c2 * c[i] + c3 * d[i])
    for j in range(count - count % 4, count):
        part, difference = gamma[j], G[j]
        for i in range(n):
            out[i] -= part * difference[i]
