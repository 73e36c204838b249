"""Elastic laws: energy per volume Ψ as a function of the principal stretches σ, and what forces and tangents need of
it.

All laws here are isotropic, and the same line for small strains: stress 2μ ε + λ tr(ε) I. In the axes U and V of
F = U diag(σ) Vᵀ the stress is P = U diag(∂Ψ/∂σ) Vᵀ, and its derivative by F falls apart into a 3×3 matrix ∂²Ψ/∂σᵢ∂σⱼ
for the stretches, and for each pair of axes i, j two numbers (Stomakhin et al. 2012; Smith, de Goes and Kim 2019):

    shear (Ψᵢ − Ψⱼ)/(σᵢ − σⱼ),  of the symmetric change eᵢeⱼᵀ + eⱼeᵢᵀ
    spin  (Ψᵢ + Ψⱼ)/(σᵢ + σⱼ),  of the antisymmetric one eᵢeⱼᵀ − eⱼeᵢᵀ

A law of one's own is one function like those below and a line `Law(name, function)` for `delassus.register`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from delassus.fem.stretch import eigenvectors
from delassus.kernel import njit
from delassus.tables import Table

_LEAST_STRETCH = 0.1  # for viscosity: of elements that are flatter, or inside out, that of a tenth of their thickness
_LEAST_SUM = 1e-6  # of two stretches: below, an element is a line, and what turns it is not defined


class Response(NamedTuple):
    """What a law says at p points. slope: ∂Ψ/∂σ (p, 3) [Pa]; curvature: ∂²Ψ/∂σ∂σ (p, 3, 3) [Pa]; shear and spin (p, 3)
    [Pa], k of the pair of axes other than k."""

    energy: np.ndarray  # (p,) [J/m³]
    slope: np.ndarray
    curvature: np.ndarray
    shear: np.ndarray
    spin: np.ndarray

    @classmethod
    def of(cls, points: int) -> "Response":
        """Room for so many points."""
        return cls(
            np.empty(points),
            np.empty((points, 3)),
            np.empty((points, 3, 3)),
            np.empty((points, 3)),
            np.empty((points, 3)),
        )


@dataclass(frozen=True)
class Law:
    """A line of LAWS.  evaluate(sigma (p, 3), mu (p,), lam (p,), response) fills the response; mu and lam: Lamé's
    constants [Pa] of small strains."""

    name: str
    evaluate: Callable[[np.ndarray, np.ndarray, np.ndarray, Response], Any]


@njit(cache=True, error_model="numpy")
def corotational(sigma, mu, lam, response):
    """Ψ = μ Σ(σ−1)² + λ/2 (Σ(σ−1))²: linear elasticity in axes that turn with the element. Stress grows with strain
    however large, and stays finite as an element is flattened."""
    for p in range(len(sigma)):
        m, n = mu[p], lam[p]
        s0, s1, s2 = sigma[p, 0], sigma[p, 1], sigma[p, 2]
        e0, e1, e2 = s0 - 1.0, s1 - 1.0, s2 - 1.0
        trace = e0 + e1 + e2
        response.energy[p] = m * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * n * trace * trace
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            response.slope[p, i] = 2.0 * m * (sigma[p, i] - 1.0) + n * trace
            response.curvature[p, i, i] = 2.0 * m + n
            response.curvature[p, i, j] = n
            response.curvature[p, j, i] = n
            both = sigma[p, j] + sigma[p, k]
            response.shear[p, i] = 2.0 * m
            response.spin[p, i] = 2.0 * (m * (both - 2.0) + n * trace) / max(both, _LEAST_SUM)


@njit(cache=True, error_model="numpy")
def svk(sigma, mu, lam, response):
    """St. Venant and Kirchhoff: Ψ = μ Σ E² + λ/2 (Σ E)², E = (σ²−1)/2. Stiffens under tension, gives way under strong
    compression (below 0.58 of the length it softens): for large rotations with moderate strains."""
    for p in range(len(sigma)):
        m, n = mu[p], lam[p]
        e0 = 0.5 * (sigma[p, 0] * sigma[p, 0] - 1.0)
        e1 = 0.5 * (sigma[p, 1] * sigma[p, 1] - 1.0)
        e2 = 0.5 * (sigma[p, 2] * sigma[p, 2] - 1.0)
        trace = e0 + e1 + e2
        response.energy[p] = m * (e0 * e0 + e1 * e1 + e2 * e2) + 0.5 * n * trace * trace
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            si, sj, sk = sigma[p, i], sigma[p, j], sigma[p, k]
            second = m * (si * si - 1.0) + n * trace  # second Piola–Kirchhoff stress
            response.slope[p, i] = si * second
            response.curvature[p, i, i] = second + (2.0 * m + n) * si * si
            response.curvature[p, i, j] = n * si * sj
            response.curvature[p, j, i] = n * si * sj
            mean = 0.5 * m * (sj * sj + sk * sk - 2.0) + n * trace  # of the other two
            response.shear[p, i] = mean + 0.5 * m * (sj + sk) * (sj + sk)
            response.spin[p, i] = mean + 0.5 * m * (sj - sk) * (sj - sk)


@njit(cache=True, error_model="numpy")
def neo_hookean(sigma, mu, lam, response):
    """Stable neo-Hookean (Smith, de Goes and Kim 2018, eq. 14): Ψ = μ'/2 (I − 3) + λ'/2 (J − α)² − μ'/2 log(I + 1),
    with I = Σσ², J = σ₀σ₁σ₂, less its value at rest. Keeps volume at large strains and recovers from inversion; μ' =
    4/3 μ and λ' = λ + 5/6 μ make it agree with the others for small strains."""
    for p in range(len(sigma)):
        m, n = 4.0 / 3.0 * mu[p], lam[p] + 5.0 / 6.0 * mu[p]
        s0, s1, s2 = sigma[p, 0], sigma[p, 1], sigma[p, 2]
        square = s0 * s0 + s1 * s1 + s2 * s2
        alpha = 1.0 + 0.75 * m / n
        volume = s0 * s1 * s2 - alpha
        rest = 0.5 * n * (1.0 - alpha) * (1.0 - alpha)
        # log((I+1)/4) without the cancellation of log(I+1) − log 4 near rest
        log = np.log1p(0.25 * (square - 3.0))
        response.energy[p] = 0.5 * m * (square - 3.0 - log) + 0.5 * n * volume * volume - rest
        weight = 1.0 / (square + 1.0)
        plain = m * (1.0 - weight)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            si, sj, sk = sigma[p, i], sigma[p, j], sigma[p, k]
            response.slope[p, i] = plain * si + n * volume * sj * sk
            response.curvature[p, i, i] = plain + 2.0 * m * weight * weight * si * si + n * sj * sk * sj * sk
            across = 2.0 * m * weight * weight * si * sj + n * sk * (si * sj * sk + volume)
            response.curvature[p, i, j] = across
            response.curvature[p, j, i] = across
            response.shear[p, i] = plain - n * volume * si
            response.spin[p, i] = plain + n * volume * si


@njit(cache=True, error_model="numpy")
def clamp(response):
    """The nearest tangent that is positive semi-definite: negative eigenvalues become zero (Teran et al. 2005)."""
    V = np.empty((3, 3))
    for p in range(len(response.energy)):
        for k in range(3):
            response.shear[p, k] = max(response.shear[p, k], 0.0)
            response.spin[p, k] = max(response.spin[p, k], 0.0)
        A = response.curvature[p]
        minor = A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1]
        whole = (
            A[2, 2] * minor
            - A[1, 2] * (A[0, 0] * A[1, 2] - A[0, 1] * A[0, 2])
            + A[0, 2] * (A[0, 1] * A[1, 2] - A[1, 1] * A[0, 2])
        )
        if A[0, 0] > 0.0 and minor > 0.0 and whole > 0.0:
            continue
        value = eigenvectors(A[0, 0], A[1, 1], A[2, 2], A[1, 2], A[0, 2], A[0, 1], V)
        for i in range(3):
            for j in range(3):
                A[i, j] = 0.0
                for k in range(3):
                    A[i, j] += max(value[k], 0.0) * V[i, k] * V[j, k]


@njit(cache=True, error_model="numpy")
def warp(mu, lam, response):
    """The tangent of small strains, in axes that turn with the element: always positive semi-definite."""
    for p in range(len(mu)):
        for i in range(3):
            for j in range(3):
                response.curvature[p, i, j] = 2.0 * mu[p] + lam[p] if i == j else lam[p]
            response.shear[p, i] = 2.0 * mu[p]
            response.spin[p, i] = 0.0


@njit(cache=True, error_model="numpy")
def viscosity(sigma, mu, lam, beta, V, response):
    """The same by rates: stress β (2μ D + λ tr(D) I) in the deformed body, D the symmetric part of the velocity's
    gradient there. At rest that is β times the stiffness; at any shape it resists no rotation, has no moment and adds
    no energy, which β times the stiffness of a stressed body would. Derivatives by the place in the deformed body are
    those at rest over the stretches: the columns of V (p, 3, 3) become those of V diag(1/σ), and volumes grow by the
    determinant."""
    for p in range(len(sigma)):
        volume = beta[p]
        for k in range(3):
            stretch = max(sigma[p, k], _LEAST_STRETCH)
            volume *= stretch
            for i in range(3):
                V[p, i, k] /= stretch
        for i in range(3):
            for j in range(3):
                response.curvature[p, i, j] = volume * (2.0 * mu[p] + lam[p] if i == j else lam[p])
            response.shear[p, i] = volume * 2.0 * mu[p]
            response.spin[p, i] = 0.0


LAWS: Table[Law] = Table(
    "elastic_law",
    is_line=lambda line: isinstance(line, Law),
    name_of=lambda law: law.name,
    lines=(Law("corotational", corotational), Law("svk", svk), Law("neo-hookean", neo_hookean)),
)
