"""The cones of limits and contacts in Jordan-algebra form: what every interior-point method computes with.

**The standard cone** is C = R₊^l × L^q with L = {x_0 ≥ ‖(x_1, x_2)‖}, self-dual, so that no friction coefficient is
left in the algebra. `standard_cone` gives the map from a problem's rows: λ = T x and y = T v with T = diag(1/μ, 1, 1)
for a contact (Kleinert et al. 2014, §4.1), so x·y = λ·v and λ ∈ K_μ ⇔ x ∈ L, v ∈ K*_μ ⇔ y ∈ L. A contact with μ = 0 is
a limit: its normal row is an orthant row and its tangential reactions are zero. Bilateral rows come first and belong to
no cone.

**Vectors** of C are flat, (l + 3q,): l scalars, then q triples. `limits` is l in all loops.

**Convention**: x∘y = (x·y, x_0 ȳ + y_0 x̄), unit element e = (1, 0, 0), det x = x_0² − ‖x̄‖², eigenvalues x_0 ± ‖x̄‖.
On the central path x∘y = τ e, hence x·y = τ per cone and τ = x·y / (l + q). (Kleinert et al., §3, divide products by
√2, which makes their determinants half and their eigenvalues 1/√2 of ours; Mangoni's thesis, §4.14, uses ours.)

**Nesterov–Todd scaling** (Mangoni §4.14.2, Kleinert et al. §4.5): W = η W̄ with W x = W⁻¹ y = z; W̄ is made of the unit
scaling point w̄, W̄² = 2 w̄ w̄ᵀ − J, J = diag(1, −1, −1), η² = √(det y / det x). On the orthant w = √(y/x).
"""

import math
from dataclasses import dataclass

import numpy as np
from numba.extending import register_jitable

from delassus.kernel import njit
from delassus.problem import Problem

CENTRING = 0.1  # σ of Mehrotra's corrector is at least this times what the predictor falls short of a full step
FRACTION = 0.99  # of the way to the boundary that a step may go


@register_jitable
def centring_parameter(left: float, step: float, centring: float) -> float:
    """σ from what the predictor leaves of τ, as a fraction, and the length of its step: σ = left³ (Mehrotra), and more
    where the predictor could not move.  For Python and for compiled code, in one double and in two."""
    return max(min(1.0, max(left, 0.0)) ** 3, centring * (1.0 - step))


# -- from a problem's rows to the standard cone ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StandardCone:
    """rows: (m',) the problem's rows that remain, bilateral ones, then limits and frictionless normals, then triples;
    factor: (m',) the diagonal of T; free: number of bilateral rows; limits: l; cones: q;
    block: (n',) the problem's block behind each block that remains (a joint, a limit, a contact)."""

    rows: np.ndarray
    factor: np.ndarray
    free: int
    limits: int
    cones: int
    block: np.ndarray

    @property
    def degree(self) -> int:
        """Number of cones l + q: what x·y is divided by."""
        return self.limits + self.cones

    def to_reactions(self, x: np.ndarray, out: np.ndarray) -> None:
        """λ (m,) of x (m',); rows that do not remain are zero."""
        out[:] = 0.0
        out[self.rows] = self.factor * x

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        return reactions[self.rows] / self.factor

    def from_velocities(self, v: np.ndarray) -> np.ndarray:
        """y (m',) of v (m,)."""
        return v[self.rows] * self.factor


def standard_cone(problem: Problem, kept: np.ndarray | None = None) -> StandardCone:
    """The map for limits and contacts of the problem under its law.  kept: (block_count,) bool, blocks to keep."""
    cone = problem.cone
    free, first = cone.bilateral_rows, cone.contact_start
    joints = cone.bilateral.size
    keep_limit = np.ones(cone.unilateral, bool) if kept is None else kept[joints : joints + cone.unilateral]
    keep_contact = np.ones(cone.contact_count, bool) if kept is None else kept[joints + cone.unilateral :]
    rough = problem.mu > 0.0
    normals = first + 3 * np.flatnonzero(keep_contact & ~rough)
    triples = np.flatnonzero(keep_contact & rough)
    limits = np.concatenate([free + np.flatnonzero(keep_limit), normals])
    rows = np.concatenate([np.arange(free), limits, (first + 3 * triples[:, None] + np.arange(3)).ravel()])
    factor = np.ones(len(rows))
    factor[free + len(limits) :: 3] = 1.0 / problem.mu[triples]
    contacts = joints + cone.unilateral
    block = np.concatenate(
        [
            np.arange(joints),
            joints + np.flatnonzero(keep_limit),
            contacts + np.flatnonzero(keep_contact & ~rough),
            contacts + triples,
        ]
    )
    return StandardCone(rows, factor, free, len(limits), len(triples), block)


# -- one cone: pure functions of scalars -----------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def determinant(x0, x1, x2):
    """det x = x_0² − ‖x̄‖², as a product of eigenvalues: the difference of squares would cancel twice."""
    length = math.sqrt(x1 * x1 + x2 * x2)
    return (x0 - length) * (x0 + length)


@njit(cache=True, error_model="numpy")
def eigenvalues(x0, x1, x2):
    """The smaller and the larger spectral value x_0 ∓ ‖x̄‖."""
    length = math.sqrt(x1 * x1 + x2 * x2)
    return x0 - length, x0 + length


@njit(cache=True, error_model="numpy")
def jordan_product(x0, x1, x2, y0, y1, y2):
    """x∘y."""
    return x0 * y0 + x1 * y1 + x2 * y2, x0 * y1 + y0 * x1, x0 * y2 + y0 * x2


@njit(cache=True, error_model="numpy")
def arrow_solve(a0, a1, a2, b0, b1, b2):
    """z with a∘z = b, that is L(a)⁻¹ b, for invertible a (Mangoni, eq. 4.35)."""
    z0 = (a0 * b0 - a1 * b1 - a2 * b2) / determinant(a0, a1, a2)
    return z0, (b1 - z0 * a1) / a0, (b2 - z0 * a2) / a0


@njit(cache=True, error_model="numpy")
def from_eigenvalues(low, high, x1, x2):
    """The element with these eigenvalues and the Jordan frame of (·, x1, x2); any frame where x̄ = 0."""
    length = math.sqrt(x1 * x1 + x2 * x2)
    mean, half = 0.5 * (low + high), 0.5 * (high - low)
    if length > 0.0:
        return mean, half * x1 / length, half * x2 / length
    return mean, half, 0.0


@njit(cache=True, error_model="numpy")
def quadratic(w0, w1, w2, x0, x1, x2):
    """P(w) x = 2 (w·x) w − det(w) J x (Kleinert et al. §3 (h), in our convention)."""
    dot, det = 2.0 * (w0 * x0 + w1 * x1 + w2 * x2), determinant(w0, w1, w2)
    return dot * w0 - det * x0, dot * w1 + det * x1, dot * w2 + det * x2


@njit(cache=True, error_model="numpy")
def boundary_step(x0, x1, x2, d0, d1, d2):
    """Largest θ with x + θ d in L for x inside it; inf where d is in L (Kleinert et al., Lemma 2; Mangoni §4.14.3)."""
    det = determinant(x0, x1, x2)
    cross = x0 * d0 - x1 * d1 - x2 * d2
    discriminant = cross * cross - det * determinant(d0, d1, d2)
    root = math.sqrt(max(discriminant, 0.0)) - cross
    return det / root if root > 0.0 else math.inf


@njit(cache=True, error_model="numpy")
def scaling_point(x0, x1, x2, y0, y1, y2):
    """(η, w̄_0, w̄_1, w̄_2) of the Nesterov–Todd scaling for x and y inside L; det w̄ = 1.

    w̄ = (ȳ + J x̄) / (2γ) with x̄, ȳ of determinant one and γ² = (1 + x̄·ȳ)/2 (Mangoni §4.14.2)."""
    det_x, det_y = determinant(x0, x1, x2), determinant(y0, y1, y2)
    a, b = 1.0 / math.sqrt(det_x), 1.0 / math.sqrt(det_y)
    gamma = math.sqrt(0.5 * (1.0 + a * b * (x0 * y0 + x1 * y1 + x2 * y2)))
    f = 0.5 / gamma
    w1, w2 = f * (b * y1 - a * x1), f * (b * y2 - a * x2)
    # w̄_0 from det w̄ = 1 rather than from the sum: the identity survives rounding near the boundary
    w0 = math.sqrt(1.0 + w1 * w1 + w2 * w2)
    return math.sqrt(a / b), w0, w1, w2


@njit(cache=True, error_model="numpy")
def scaled(w0, w1, w2, x0, x1, x2):
    """W̄ x; W̄⁻¹ x is `scaled` with −w1, −w2."""
    dot = w1 * x1 + w2 * x2
    f = x0 + dot / (1.0 + w0)
    return w0 * x0 + dot, x1 + f * w1, x2 + f * w2


# -- all limits and contacts: loops over flat vectors ----------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def fill_unit(limits, e):
    """e of the product cone."""
    e[:] = 0.0
    for i in range(limits):
        e[i] = 1.0
    for i in range(limits, len(e), 3):
        e[i] = 1.0


@njit(cache=True, error_model="numpy")
def centrality(limits, x, y):
    """(τ, smallest eigenvalue of P(x)^½ y over all cones): how far along the central path, and how close to it."""
    total, least = 0.0, math.inf
    for i in range(limits):
        product = x[i] * y[i]
        total += product
        least = min(least, product)
    for i in range(limits, len(x), 3):
        dot = x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2]
        det = determinant(x[i], x[i + 1], x[i + 2]) * determinant(y[i], y[i + 1], y[i + 2])
        total += dot
        # eigenvalues dot ± √(dot² − det); the smaller one without cancellation
        least = min(least, det / (dot + math.sqrt(max(dot * dot - det, 0.0))))
    degree = limits + (len(x) - limits) // 3
    return (total / degree if degree else 0.0), least


@njit(cache=True, error_model="numpy")
def smallest_eigenvalue(limits, x):
    """Least spectral value over all cones: positive inside, negative outside; inf without cones."""
    least = math.inf
    for i in range(limits):
        least = min(least, x[i])
    for i in range(limits, len(x), 3):
        least = min(least, eigenvalues(x[i], x[i + 1], x[i + 2])[0])
    return least


@njit(cache=True, error_model="numpy")
def largest_step(limits, x, d):
    """sup {θ: x + θ d ∈ C}, x inside C."""
    step = math.inf
    for i in range(limits):
        if d[i] < 0.0:
            step = min(step, -x[i] / d[i])
    for i in range(limits, len(x), 3):
        step = min(step, boundary_step(x[i], x[i + 1], x[i + 2], d[i], d[i + 1], d[i + 2]))
    return step


@njit(cache=True, error_model="numpy")
def multiply(limits, x, y, out):
    """out = x∘y."""
    for i in range(limits):
        out[i] = x[i] * y[i]
    for i in range(limits, len(x), 3):
        out[i], out[i + 1], out[i + 2] = jordan_product(x[i], x[i + 1], x[i + 2], y[i], y[i + 1], y[i + 2])


@njit(cache=True, error_model="numpy")
def divide(limits, a, b, out):
    """out = L(a)⁻¹ b."""
    for i in range(limits):
        out[i] = b[i] / a[i]
    for i in range(limits, len(a), 3):
        out[i], out[i + 1], out[i + 2] = arrow_solve(a[i], a[i + 1], a[i + 2], b[i], b[i + 1], b[i + 2])


@njit(cache=True, error_model="numpy")
def invert(limits, x, out):
    """out = x⁻¹ = J x / det x."""
    for i in range(limits):
        out[i] = 1.0 / x[i]
    for i in range(limits, len(x), 3):
        f = 1.0 / determinant(x[i], x[i + 1], x[i + 2])
        out[i], out[i + 1], out[i + 2] = f * x[i], -f * x[i + 1], -f * x[i + 2]


@njit(cache=True, error_model="numpy")
def form_scaling(limits, x, y, eta, w, z):
    """Scaling of all cones: eta (l + q,), unit points w (l + 3q,) (ones on the orthant), and z = W x = W⁻¹ y."""
    for i in range(limits):
        eta[i], w[i], z[i] = math.sqrt(y[i] / x[i]), 1.0, math.sqrt(x[i] * y[i])
    for k in range((len(x) - limits) // 3):
        i = limits + 3 * k
        h, w0, w1, w2 = scaling_point(x[i], x[i + 1], x[i + 2], y[i], y[i + 1], y[i + 2])
        eta[limits + k], w[i], w[i + 1], w[i + 2] = h, w0, w1, w2
        z0, z1, z2 = scaled(w0, w1, w2, x[i], x[i + 1], x[i + 2])
        z[i], z[i + 1], z[i + 2] = h * z0, h * z1, h * z2


@njit(cache=True, error_model="numpy")
def scale_by(limits, eta, w, x, out):
    """out = W x; may be x itself."""
    for i in range(limits):
        out[i] = eta[i] * x[i]
    for k in range((len(x) - limits) // 3):
        i = limits + 3 * k
        a, b, c = scaled(w[i], w[i + 1], w[i + 2], x[i], x[i + 1], x[i + 2])
        h = eta[limits + k]
        out[i], out[i + 1], out[i + 2] = h * a, h * b, h * c


@njit(cache=True, error_model="numpy")
def unscale_by(limits, eta, w, y, out):
    """out = W⁻¹ y; may be y itself."""
    for i in range(limits):
        out[i] = y[i] / eta[i]
    for k in range((len(y) - limits) // 3):
        i = limits + 3 * k
        a, b, c = scaled(w[i], -w[i + 1], -w[i + 2], y[i], y[i + 1], y[i + 2])
        h = 1.0 / eta[limits + k]
        out[i], out[i + 1], out[i + 2] = h * a, h * b, h * c


@njit(cache=True, error_model="numpy")
def form_squares(limits, eta, w, inverse, diagonal, blocks):
    """W² (or W⁻² with inverse): diagonal (l,) of the orthant rows and blocks (q, 3, 3) of the contacts.

    W² = η² (2 w̄ w̄ᵀ − J) = P(w); with y = W² x. W⁻² the same with J w̄ and 1/η²."""
    sign = -1.0 if inverse else 1.0
    for i in range(limits):
        diagonal[i] = 1.0 / (eta[i] * eta[i]) if inverse else eta[i] * eta[i]
    for k in range(len(blocks)):
        i = limits + 3 * k
        h = eta[limits + k] * eta[limits + k]
        if inverse:
            h = 1.0 / h
        a, b, c = w[i], sign * w[i + 1], sign * w[i + 2]
        S = blocks[k]
        S[0, 0] = h * (2.0 * a * a - 1.0)
        S[1, 1] = h * (2.0 * b * b + 1.0)
        S[2, 2] = h * (2.0 * c * c + 1.0)
        S[0, 1] = S[1, 0] = 2.0 * h * a * b
        S[0, 2] = S[2, 0] = 2.0 * h * a * c
        S[1, 2] = S[2, 1] = 2.0 * h * b * c


@njit(cache=True, error_model="numpy")
def apply_blocks(diagonal, blocks, v, out):
    """out = S v, S of a diagonal and blocks as in `form_squares`; rows of no cone may stand before those of limits."""
    first = len(diagonal)
    for i in range(first):
        out[i] = diagonal[i] * v[i]
    for k in range(len(blocks)):
        i = first + 3 * k
        a, b, c = v[i], v[i + 1], v[i + 2]
        for j in range(3):
            out[i + j] = blocks[k, j, 0] * a + blocks[k, j, 1] * b + blocks[k, j, 2] * c


@njit(cache=True, error_model="numpy")
def centred_pair(limits, d, tau, x, y):
    """The pair inside C with x − y = d and x∘y = τ e: eigenvalues (ξ ± √(ξ² + 4τ))/2 on the frame of d."""
    for i in range(limits):
        x[i], y[i] = _split(d[i], tau)
    for i in range(limits, len(d), 3):
        low, high = eigenvalues(d[i], d[i + 1], d[i + 2])
        x_low, y_low = _split(low, tau)
        x_high, y_high = _split(high, tau)
        x[i], x[i + 1], x[i + 2] = from_eigenvalues(x_low, x_high, d[i + 1], d[i + 2])
        y[i], y[i + 1], y[i + 2] = from_eigenvalues(y_low, y_high, d[i + 1], d[i + 2])


@njit(cache=True, error_model="numpy")
def _split(xi, tau):
    """a, b > 0 with a − b = ξ and a b = τ, the smaller one without cancellation."""
    root = math.sqrt(xi * xi + 4.0 * tau)
    if xi >= 0.0:
        a = 0.5 * (xi + root)
        return a, tau / a
    b = 0.5 * (root - xi)
    return tau / b, b
