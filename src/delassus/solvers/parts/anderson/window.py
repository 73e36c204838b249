"""The window of Anderson acceleration: the last differences of a fixed-point iteration, and their best combination.

G, F: (memory, n) rows ΔG_j = G(x_j) − G(x_{j−1}) and Δf_j of a map G with f = weight (G(x) − x); gram: (memory, memory)
the products Δf_i · Δf_j; right: (memory,) those with the last f, Δf_j · f. The first `count` rows are in use, in any
order. A new difference costs one product with each of the others and one with f: since f grows by Δf, so do the other
right sides by what the Gram matrix gets.
"""

import math

from delassus.kernel import njit
from delassus.kernel.four_wide import dot
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def residual(x, g, weight, f):
    """f = weight (g − x), written; ‖f‖."""
    for i in range(len(x)):
        f[i] = weight[i] * (g[i] - x[i])
    return math.sqrt(dot(f, f))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def weighted_norm(g, weight):
    """‖weight g‖."""
    total = 0.0
    for i in range(len(g)):
        total += (weight[i] * g[i]) ** 2
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
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


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def fit(count, gram, right, regularisation, gamma, inverse, L):
    """gamma: γ of the least ‖f − Σ γ_j Δf_j‖; False where the factorisation breaks down.

    By L diag(d) Lᵀ of the normal equations (Gram + regularisation diag Gram) γ = Δf·f: what is added is the same part
    of each difference's own square, so that lengths do not matter. A division for each and no root, since these wait
    for each other.  gamma: (memory,), written; inverse: (memory,) 1 / d, L: (memory, memory), scratch."""
    for i in range(count):
        value, pivot = right[i], (1.0 + regularisation) * gram[i, i]
        for j in range(i):  # row by row, with forward substitution
            product = gram[i, j]
            for k in range(j):
                product -= L[i, k] * L[j, k]
            L[i, j] = product  # times d_j, until the row is complete
        for j in range(i):
            own = L[i, j] * inverse[j]
            pivot -= L[i, j] * own
            value -= own * gamma[j]
            L[i, j] = own
        if gram[i, i] == 0.0:  # no difference
            inverse[i] = gamma[i] = 0.0
            continue
        if not pivot > 0.0:
            return False
        inverse[i], gamma[i] = 1.0 / pivot, value
    for i in range(count - 1, -1, -1):
        value = gamma[i] * inverse[i]
        for k in range(i + 1, count):
            value -= L[k, i] * gamma[k]
        gamma[i] = value
        if not math.isfinite(value):
            return False
    return True


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def combine(count, G, gram, right, g, regularisation, weight, longest, gamma, inverse, L, out):
    """out = g − Σ γ_j ΔG_j with the γ of `fit`, shortened to `longest` times ‖weight g‖; False where there is none, or
    it is not finite: out is then not to be used."""
    if not fit(count, gram, right, regularisation, gamma, inverse, L):
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


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
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
