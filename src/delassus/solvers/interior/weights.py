"""The block-diagonal S in (I + S D) dx = right, which both phases solve: (W² + E)⁻¹ of the interior point, and the
derivative of the projection in the polish. One number per bilateral and orthant row, a symmetric 3×3 block per contact.
"""

import math

import numpy as np
from numba import njit

from delassus.solvers.parts.jordan import apply_blocks, form_squares


class Weights:
    """diagonal: (free + limits,) and blocks: (cones, 3, 3), written by the methods below and by `polish`; roots:
    (cones, 3, 3) F with F Fᵀ = S, or empty where the system asks for none."""

    def __init__(self, free: int, limits: int, cones: int, with_roots: bool):
        self.free, self.limits = free, limits
        self.diagonal = np.zeros(free + limits)
        self.blocks = np.zeros((cones, 3, 3))
        self.roots = np.zeros((cones if with_roots else 0, 3, 3))

    def times(self, v: np.ndarray) -> np.ndarray:
        """S v, (m',)."""
        out = np.empty_like(v)
        apply_blocks(self.diagonal, self.blocks, v, out)
        return out

    def from_scaling(self, eta: np.ndarray, w: np.ndarray, compliance: np.ndarray | None, joint: float) -> None:
        """S = (W² + E)⁻¹ on cones; joint: S of a bilateral row without compliance, the penalty r of r GᵀG."""
        free = self.free
        form_squares(self.limits, eta, w, True, self.diagonal[free:], self.blocks)
        self.diagonal[:free] = joint
        if len(self.roots):
            inverse_roots(self.limits, eta, w, self.roots)
        if compliance is not None:
            soften(free, compliance, self.diagonal, self.blocks, self.roots, eta, w)

    def root_times(self, v: np.ndarray) -> np.ndarray:
        """F v, (m',)."""
        out = np.empty_like(v)
        apply_blocks(np.sqrt(self.diagonal), self.roots, v, out)
        return out

    def root_transposed_times(self, v: np.ndarray) -> np.ndarray:
        """Fᵀ v, (m',)."""
        out = np.empty_like(v)
        apply_blocks(np.sqrt(self.diagonal), self.roots.transpose(0, 2, 1), v, out)
        return out


@njit(cache=True, error_model="numpy")
def _inverse_of(h, a, b, c, V):
    """V = W⁻¹ of one contact: the boost with −w̄ over η."""
    f = 1.0 / (1.0 + a)
    V[0, 0], V[0, 1], V[0, 2] = a / h, -b / h, -c / h
    V[1, 0], V[1, 1], V[1, 2] = -b / h, (1.0 + f * b * b) / h, f * b * c / h
    V[2, 0], V[2, 1], V[2, 2] = -c / h, f * b * c / h, (1.0 + f * c * c) / h


@njit(cache=True, error_model="numpy")
def inverse_roots(limits, eta, w, roots):
    """roots (n_c, …): W⁻¹ of every cone, from its scale eta and its Nesterov–Todd point w."""
    for k in range(len(roots)):
        i = limits + 3 * k
        _inverse_of(eta[limits + k], w[i], w[i + 1], w[i + 2], roots[k])


@njit(cache=True, error_model="numpy")
def soften(free, compliance, diagonal, blocks, roots, eta, w):
    """(W² + E)⁻¹ = V (I + V E V)⁻¹ V with V = W⁻¹: I + V E V is never near singular, W² may be."""
    first = len(diagonal)
    limits = first - free
    for i in range(first):
        diagonal[i] = 1.0 / (1.0 / diagonal[i] + compliance[i])
    V, M = np.empty((3, 3)), np.empty((3, 3))
    for k in range(len(blocks)):
        i = first + 3 * k
        e0, e1, e2 = compliance[i], compliance[i + 1], compliance[i + 2]
        if e0 == 0.0 and e1 == 0.0 and e2 == 0.0:
            continue
        j = limits + 3 * k
        _inverse_of(eta[limits + k], w[j], w[j + 1], w[j + 2], V)
        for p in range(3):
            for q in range(3):
                M[p, q] = V[p, 0] * e0 * V[0, q] + V[p, 1] * e1 * V[1, q] + V[p, 2] * e2 * V[2, q]
            M[p, p] += 1.0
        # Cholesky of M, then F = (L⁻¹ V)ᵀ and S = F Fᵀ
        l00 = math.sqrt(M[0, 0])
        l10, l20 = M[1, 0] / l00, M[2, 0] / l00
        l11 = math.sqrt(M[1, 1] - l10 * l10)
        l21 = (M[2, 1] - l20 * l10) / l11
        l22 = math.sqrt(M[2, 2] - l20 * l20 - l21 * l21)
        for q in range(3):
            M[0, q] = V[0, q] / l00
            M[1, q] = (V[1, q] - l10 * M[0, q]) / l11
            M[2, q] = (V[2, q] - l20 * M[0, q] - l21 * M[1, q]) / l22
        for p in range(3):
            for q in range(3):
                blocks[k, p, q] = M[0, p] * M[0, q] + M[1, p] * M[1, q] + M[2, p] * M[2, q]
                if len(roots):
                    roots[k, p, q] = M[q, p]
