"""The block-diagonal S in (I + S D) dx = right, which both phases solve: (W² + E)⁻¹ of the interior point, and the
derivative of the projection in the polish. One number per bilateral and orthant row, a symmetric 3×3 block per contact.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.solvers.parts.jordan import apply_blocks, form_squares


class WeightArrays(NamedTuple):
    """S in compiled code.  diagonal: (free + limits,); blocks: (cones, 3, 3); roots: (cones, 3, 3) F with F Fᵀ = S, or
    empty."""

    diagonal: np.ndarray
    blocks: np.ndarray
    roots: np.ndarray


class Weights:
    """diagonal: (free + limits,) and blocks: (cones, 3, 3), written by the methods below and by `polish`; roots:
    (cones, 3, 3) F with F Fᵀ = S, or empty where the system asks for none."""

    def __init__(self, free: int, limits: int, cones: int, with_roots: bool):
        self.free, self.limits = free, limits
        self.diagonal = np.zeros(free + limits)
        self.blocks = np.zeros((cones, 3, 3))
        self.roots = np.zeros((cones if with_roots else 0, 3, 3))

    @property
    def arrays(self) -> WeightArrays:
        """For compiled code; a plain tuple of it is quicker to hand over."""
        return WeightArrays(self.diagonal, self.blocks, self.roots)

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
            inverse_roots(
                self.limits, eta, w, np.zeros(len(w)) if compliance is None else compliance[free:], self.roots
            )
        if compliance is not None:
            soften(free, compliance, tuple(self.arrays), eta, w)

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
def _inverse_of(h, a, b, c):
    """W⁻¹ of one contact, the boost with −w̄ over η: the rows of its upper triangle."""
    f = 1.0 / (1.0 + a)
    return (a / h, -b / h, -c / h), ((1.0 + f * b * b) / h, f * b * c / h), (1.0 + f * c * c) / h


@njit(cache=True, error_model="numpy")
def inverse_roots(limits, eta, w, soft, roots):
    """roots (n_c, 3, 3): W⁻¹ of every hard cone, from its scale eta and its Nesterov–Todd point w; those of soft ones
    are written by `soften`.  soft: (limits + 3 n_c,) compliance."""
    for k in range(len(roots)):
        i = limits + 3 * k
        if soft[i] == 0.0 and soft[i + 1] == 0.0 and soft[i + 2] == 0.0:
            (v00, v01, v02), (v11, v12), v22 = _inverse_of(eta[limits + k], w[i], w[i + 1], w[i + 2])
            V = roots[k]
            V[0, 0], V[0, 1], V[0, 2] = v00, v01, v02
            V[1, 0], V[1, 1], V[1, 2] = v01, v11, v12
            V[2, 0], V[2, 1], V[2, 2] = v02, v12, v22


@njit(cache=True, error_model="numpy")
def soften(free, compliance, weights, eta, w):
    """S of soft rows, (W² + E)⁻¹ = V (I + V E V)⁻¹ V with V = W⁻¹: I + V E V is never near singular, W² may be."""
    S = WeightArrays(*weights)
    diagonal, blocks, roots = S.diagonal, S.blocks, S.roots
    first = len(diagonal)
    limits = first - free
    for i in range(first):
        diagonal[i] = 1.0 / (1.0 / diagonal[i] + compliance[i])
    for k in range(len(blocks)):
        i, j = first + 3 * k, limits + 3 * k
        e0, e1, e2 = compliance[i], compliance[i + 1], compliance[i + 2]
        if e0 == 0.0 and e1 == 0.0 and e2 == 0.0:
            continue
        (v00, v01, v02), (v11, v12), v22 = _inverse_of(eta[limits + k], w[j], w[j + 1], w[j + 2])
        # M = I + V E V = L Lᵀ, then F = (L⁻¹ V)ᵀ and S = F Fᵀ
        l00 = math.sqrt(1.0 + v00 * e0 * v00 + v01 * e1 * v01 + v02 * e2 * v02)
        l10 = (v01 * e0 * v00 + v11 * e1 * v01 + v12 * e2 * v02) / l00
        l20 = (v02 * e0 * v00 + v12 * e1 * v01 + v22 * e2 * v02) / l00
        l11 = math.sqrt(1.0 + v01 * e0 * v01 + v11 * e1 * v11 + v12 * e2 * v12 - l10 * l10)
        l21 = (v02 * e0 * v01 + v12 * e1 * v11 + v22 * e2 * v12 - l20 * l10) / l11
        l22 = math.sqrt(1.0 + v02 * e0 * v02 + v12 * e1 * v12 + v22 * e2 * v22 - l20 * l20 - l21 * l21)
        f00, f10, f20 = v00 / l00, v01 / l00, v02 / l00
        f01, f11, f21 = (v01 - l10 * f00) / l11, (v11 - l10 * f10) / l11, (v12 - l10 * f20) / l11
        f02 = (v02 - l20 * f00 - l21 * f01) / l22
        f12 = (v12 - l20 * f10 - l21 * f11) / l22
        f22 = (v22 - l20 * f20 - l21 * f21) / l22
        B = blocks[k]
        B[0, 0] = f00 * f00 + f01 * f01 + f02 * f02
        B[1, 1] = f10 * f10 + f11 * f11 + f12 * f12
        B[2, 2] = f20 * f20 + f21 * f21 + f22 * f22
        B[0, 1] = B[1, 0] = f00 * f10 + f01 * f11 + f02 * f12
        B[0, 2] = B[2, 0] = f00 * f20 + f01 * f21 + f02 * f22
        B[1, 2] = B[2, 1] = f10 * f20 + f11 * f21 + f12 * f22
        if len(roots):
            F = roots[k]
            F[0, 0], F[0, 1], F[0, 2] = f00, f01, f02
            F[1, 0], F[1, 1], F[1, 2] = f10, f11, f12
            F[2, 0], F[2, 1], F[2, 2] = f20, f21, f22
