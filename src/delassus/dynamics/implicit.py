"""H = M − θ²h² ∂f/∂q − θh ∂f/∂v: forces whose change during the step is part of the masses (Mangoni's thesis, ch. 3).

The θ-scheme  M(u⁺ − u) = h f(q_θ, u_θ),  u_θ = (1 − θ) u + θ u⁺,  q_θ = q + θh u_θ,  q⁺ = q + h u_θ  with f linearised
where the step begins:

    H (u⁺ − u) = h f(q, u) + θh² ∂f/∂q u + Jᵀλ

θ = 1 is the thesis's implicit Euler (its equation 3.22), θ = ½ the midpoint rule, of second order. About another point,
(q_k, u_k) with q_k = q + θh ((1 − θ) u + θ u_k), it reads  H (u⁺ − u_k) = M (u − u_k) + h f(q_k, …) + Jᵀλ : Newton's
method over the step (thesis, §3.4).

Springs, bushings and forces of the user's own (forces/), and all else under θ < 1, are evaluated at (q + θh u, u)
instead, where Newton's method with u_k = u begins:  H (u⁺ − u) = h f(q + θh u, u) + Jᵀλ. With θ = ½ that is where the
rows are, and of second order whatever is left out of H. Linearised where the step begins, a stiff spring (k h²/m = 1e4)
that turns by 5 mrad in a step lost half of its energy of rotation in a second under θ = 1, and gained without bound
under θ = ½; a bar of elements that turns by 50 mrad in a step lost 44 % of its energy in 300 steps, now 3 %.

Rigid bodies come first, as two blocks of three velocities each, then nodes, one block each. The pattern of H is that of
the model, so that a factorisation's analysis serves every step.
"""

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from delassus.forces import Masses
from delassus.kernel import njit
from delassus.linalg.factor.definite import Definite
from delassus.model.model import Model


@dataclass(frozen=True, eq=False)
class Linearised:
    """What pushes at one configuration.  H: (blocks, 3, 3) in the pattern; momentum: (n,) h f + θh² ∂f/∂q u, the right
    side of H (u⁺ − u), or h f alone [N s]; energy: of what gives it back [J]; least_determinant: of the elements'
    deformation, zero or less where one is inverted."""

    H: np.ndarray
    momentum: np.ndarray
    energy: float
    least_determinant: float


class Implicit:
    """The pattern of H of one model, and what is assembled into it.

    indptr, indices: of the 3×3 blocks; rigid_count: velocities of rigid bodies, 6 n_b; count: of all, n."""

    def __init__(self, model: Model):
        self.rigid_count, self.count = 6 * model.body_count, 6 * model.body_count + 3 * model.node_count
        blocks, first = self.count // 3, 2 * model.body_count
        own = np.arange(blocks)
        body = np.arange(first)
        row, column = [own, body], [own, body ^ 1]  # translation and rotation of a body may couple
        if model.flexible is not None:
            indptr, indices = model.flexible.elements.pattern
            row.append(first + np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)))
            column.append(first + indices.astype(np.int64))
        self.couplings = [] if model.forces is None else [np.asarray(c) for c in model.forces.couplings()]
        for index in self.couplings:
            block = np.where(index >= 0, index // 3, -1)
            a, b = np.broadcast_arrays(block[:, :, None], block[:, None, :])
            both = (a >= 0) & (b >= 0)
            row.append(a[both])
            column.append(b[both])
        key = np.unique(np.concatenate(row) * np.int64(blocks) + np.concatenate(column))
        self.indices = (key % blocks).astype(np.int32)
        self.indptr = np.searchsorted(key, np.arange(blocks + 1) * np.int64(blocks)).astype(np.int32)
        self._body_slot = np.searchsorted(key, body * (blocks + 1))
        self._element_slot = np.searchsorted(key, row[2] * np.int64(blocks) + column[2]) if model.flexible else None
        self._slots = [_scalar_slots(index, key, blocks) for index in self.couplings]
        self.factor = Definite(self.indptr, self.indices)  # of the last step; its analysis serves the next one

    @classmethod
    def of(cls, model: Model) -> "Implicit":
        """Made once for a model."""
        if model not in _KNOWN:
            _KNOWN[model] = cls(model)
        return _KNOWN[model]

    def linearise(
        self,
        model: Model,
        mass: np.ndarray,
        configuration: Any,
        u: np.ndarray | None,
        h: float,
        theta: float,
        tangent: str,
        predicted: Any,
        is_clamped: bool = False,
        masses: Masses | None = None,
        element_theta: float | None = None,
    ) -> Linearised:
        """mass: (n_b, 6, 6) of the rigid bodies; configuration: where elements are evaluated; u: (n,) velocities before
        the step where that is its start, None elsewhere; tangent: of the elements, "exact", "clamped" or "warped";
        predicted: where springs and other forces are evaluated; is_clamped: leave out of H what makes it indefinite of
        them, too; masses: for the weights of stiff ones; element_theta: θ of the elements, where it is another."""
        H, momentum = np.zeros((len(self.indices), 3, 3)), np.zeros(self.count)
        _put_masses(mass, self._body_slot, H)
        energy, least = 0.0, np.inf
        if model.flexible is not None:
            own = theta if element_theta is None else element_theta
            energy, least = self._elements(model, configuration, u, h, own, tangent, H, momentum)
        if model.forces is not None:
            groups = model.forces.groups(predicted, "clamped" if is_clamped else "exact", masses)
            for group, slot in zip(groups, self._slots):
                _put_forces(tuple(group), slot, h, theta * h, H.reshape(-1), momentum)
        return Linearised(H, momentum, energy, least)

    def _elements(
        self,
        model: Model,
        configuration: Any,
        u: np.ndarray | None,
        h: float,
        theta: float,
        tangent: str,
        H: np.ndarray,
        momentum: np.ndarray,
    ) -> tuple[float, float]:
        flexible = model.flexible
        assert flexible is not None
        elements = flexible.elements
        indptr, indices = elements.pattern
        force, K = np.zeros((model.node_count, 3)), np.zeros((len(indices), 3, 3))
        C = np.zeros_like(K) if elements.is_damped else K[:0]
        found = elements.evaluate(
            configuration.nodes, force=force, stiffness=K, damping=C if len(C) else None, tangent=tangent
        )
        force += flexible.load + elements.nodal_mass[:, None] * model.gravity
        if len(C):
            subtract_product(indptr, indices, C, configuration.node_velocity, 1.0, force)
        impulse = momentum[self.rigid_count :].reshape(-1, 3)
        impulse += h * force
        if u is not None:
            subtract_product(indptr, indices, K, u[self.rigid_count :].reshape(-1, 3), theta * h * h, impulse)
        _put_elements(self._element_slot, elements.mass_blocks, K, C, theta * theta * h * h, theta * h, H)
        return found.energy, found.least_determinant

    def mass_times(self, model: Model, mass: np.ndarray, u: np.ndarray) -> np.ndarray:
        """M u, (n,) [N s]."""
        rigid = self.rigid_count
        out = np.einsum("bij,bj->bi", mass, u[:rigid].reshape(-1, 6)).ravel()
        if model.flexible is None:
            return out
        return np.concatenate([out, model.flexible.elements.mass_times(u[rigid:].reshape(-1, 3)).ravel()])

    def matrix(self, H: np.ndarray) -> sp.bsr_array:
        """H, (n, n) in blocks of three.  H: (blocks, 3, 3)."""
        return sp.bsr_array((H, self.indices, self.indptr), shape=(self.count, self.count))


_KNOWN: WeakKeyDictionary[Model, Implicit] = WeakKeyDictionary()


def _scalar_slots(index: np.ndarray, key: np.ndarray, blocks: int) -> np.ndarray:
    """(c, k, k) where each entry of a force's Jacobian goes in the values of H, −1 for the world."""
    a, b = np.broadcast_arrays(index[:, :, None], index[:, None, :])
    both = (a >= 0) & (b >= 0)
    place = np.searchsorted(key, (a // 3) * np.int64(blocks) + b // 3)
    return np.where(both, 9 * place + 3 * (a % 3) + b % 3, -1)


@njit(cache=True, error_model="numpy")
def _put_masses(mass, slot, H):
    for b in range(len(mass)):
        for part in range(2):
            at = slot[2 * b + part]
            for i in range(3):
                for j in range(3):
                    H[at, i, j] += mass[b, 3 * part + i, 3 * part + j]


@njit(cache=True, error_model="numpy")
def _put_elements(slot, mass, K, C, stiff, damped, H):
    """H += M + stiff K + damped C, C empty for none."""
    for k in range(len(slot)):
        at = slot[k]
        for i in range(3):
            H[at, i, i] += mass[k]
            for j in range(3):
                H[at, i, j] += stiff * K[k, i, j]
                if len(C):
                    H[at, i, j] += damped * C[k, i, j]


@njit(cache=True, error_model="numpy")
def subtract_product(indptr, indices, blocks, x, factor, out):
    """out −= factor · A x.  A: blocks (nnz, 3, 3) in that pattern; x, out: (n, 3)."""
    for a in range(len(indptr) - 1):
        for i in range(3):
            value = 0.0
            for p in range(indptr[a], indptr[a + 1]):
                b = indices[p]
                value += blocks[p, i, 0] * x[b, 0] + blocks[p, i, 1] * x[b, 1] + blocks[p, i, 2] * x[b, 2]
            out[a, i] -= factor * value


@njit(cache=True, error_model="numpy")
def _put_forces(group, slot, h, ahead, H, momentum):
    """momentum += h force, H −= ahead² dq + ahead dv, of which the symmetric part. What is left out of dq is
    −½[moment]× of each body, since rotations do not commute, and what damping adds where bodies turn: of the size of
    the forces, not of their stiffness. Forces themselves are exact, and H acts on u⁺ − u = O(h): an error of h³ in a
    step.  group: fields of `Group`."""
    index, force, dq, dv = group
    for c in range(len(index)):
        for i in range(index.shape[1]):
            if index[c, i] < 0:
                continue
            momentum[index[c, i]] += h * force[c, i]
            for j in range(index.shape[1]):
                if slot[c, i, j] >= 0:
                    stiff, damped = dq[c, i, j] + dq[c, j, i], dv[c, i, j] + dv[c, j, i]
                    H[slot[c, i, j]] -= 0.5 * ahead * (ahead * stiff + damped)
