"""A proof, rounding included, that no motion of ordinary speed obeys the constraints.

Constraint velocities are v = v_f + J δu + E λ, with δu the change of the bodies' velocities. An admissible motion has
v in K*, so d·v ≥ 0 for every d in K, which is

    (Jᵀd)·δu + d·(E λ) ≥ −d·v_f.

Let s be the largest component of δu, rotations times the body's radius of gyration r, and of the yielding E λ of soft
rows. The left side is at most s Σ|A d|, where the rows of A are those of Jᵀ (over r for rotations) and the unit rows of
soft constraints. Hence no motion is admissible unless

    s ≥ V = −d·v_f / Σ|A d|.

Masses appear nowhere: a light body under a heavy one needs large reactions, not large velocities, and that is what
distinguishes it from a contradiction. With n terms in a sum and γ = (n + 8)·1.1e-16, the computed Σ|A d| is too small
by at most γ|A||d| and −d·v_f too large by at most γ|d|·(|J||u_f| + |b|); eight terms more cover that d was projected
onto K with a few roundings. Infeasible means V > 10⁸ max|v_f| with both taken into account. Large reactions prove
nothing by themselves. Under the exact law admissible means v_n ≥ 0, so there d has no tangential part.

Where only D is known, D d ≈ 0 may mean heavy bodies as well as a contradiction: nothing is claimed, except for rows of
D that are exactly zero, whose velocity is v_f whatever the reactions are.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from delassus.cones.product import project_product
from delassus.law import Law
from delassus.linalg.factor.symmetric import factorisation, pattern_of
from delassus.problem import Problem

_BEYOND = 1e8  # times max|v_f|: an absurd speed. Walls at 1e-4 rad of each other let a body escape at 1e4
_PROMISING = 1e1  # times max|v_f|: below, purifying is a waste of time
_ROUNDING = 2.0**-53
_EXTRA_TERMS = 8  # roundings of projecting and scaling d
_CUTS = (1e-2, 1e-4, 1e-6)  # times the largest reaction: smaller ones are taken as no part of the proof
_FREE_PASSES, _PASSES = 2, 4  # of balancing and projecting: first across boundaries of cones, then along them
_SHIFT = 1e-12  # on the unit diagonal of the system for it …
_REFINEMENTS = 3  # … which these take away again


class Certificate:
    """Proofs for one problem; nothing is computed before the first question."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.is_proven = False  # by any direction so far
        self._best: np.ndarray | None = None
        self._best_speed = 0.0

    def proves(self, *directions: np.ndarray, purify: bool = False) -> bool:
        """Is one of these reactions (m,), projected onto K, a proof? purify: look nearby for a better one too."""
        if any(self.speed(direction, purify) > _BEYOND for direction in directions):
            return True
        # late in a run reactions without bound have lost their digits: the best direction seen may be an earlier one
        return purify and self._best is not None and self.speed(self._best, purify) > _BEYOND

    def speed(self, direction: np.ndarray, purify: bool = False) -> float:
        """V over max|v_f| of the direction (m,), projected onto K; zero where it proves nothing."""
        if not self.problem.delassus.is_primal:
            return 0.0
        d = self._projected(direction)
        needed = self._speed(d)
        if needed > self._best_speed:
            self._best, self._best_speed = d, needed
        if purify and _PROMISING < needed <= _BEYOND:
            needed = max(needed, self._purified_speed(d))
        self.is_proven = self.is_proven or needed > _BEYOND
        return needed

    def _speed(self, d: np.ndarray) -> float:
        """The certificate for d in K."""
        reference = np.abs(self.problem.free_velocity).max(initial=0.0)
        size = np.abs(d)
        push = -float(d @ self.problem.free_velocity)
        push -= (len(d) + _EXTRA_TERMS) * _ROUNDING * float(size @ self._velocity_terms)
        if not push > 0.0 or not np.isfinite(push):
            return 0.0
        moved = np.abs(self._A @ d) + self._gamma * (self._A_abs @ size)
        total = float(moved.sum()) * reference
        return push / total if total > 0.0 else np.inf

    def _projected(self, direction: np.ndarray) -> np.ndarray:
        """P_K of the direction, at most one in size."""
        size = np.abs(direction).max(initial=0.0)
        d = np.zeros_like(direction)
        if size > 0.0 and np.isfinite(size):
            cone = self.problem.cone
            project_product(direction / size, self._friction, cone.bilateral_rows, cone.unilateral, d)
        return d

    def _purified_speed(self, d: np.ndarray) -> float:
        """The largest V nearby. A proof and ordinary reactions mixed into it differ in size, but where to cut is not
        known; what is left is balanced."""
        cone = self.problem.cone
        size = np.repeat(np.sqrt(np.add.reduceat(d * d, cone.block_start[:-1])), np.diff(cone.block_start))
        size[: cone.bilateral_rows] = np.inf
        best = 0.0
        for cut in _CUTS:
            part = np.where(size >= cut * np.abs(d).max(), d, 0.0)
            for k in range(_FREE_PASSES + _PASSES):
                part = self._projected(self._balanced(part, k < _FREE_PASSES))
                best = max(best, self._speed(part))
                if best > _BEYOND:
                    return best
        return best

    def _balanced(self, d: np.ndarray, freely: bool) -> np.ndarray:
        """d with A d = 0, changed as little as possible relative to the room that each block has in its cone, or freely
        to its size."""
        W = self._room(d, freely)
        B = sp.csr_array(self._A @ W)
        row = np.sqrt(np.asarray((B * B).sum(axis=1)).ravel())
        row = np.divide(1.0, row, out=np.zeros_like(row), where=row > 0.0)
        B = sp.csr_array(sp.diags_array(row) @ B)
        system = sp.csr_array(B @ B.T + _SHIFT * sp.eye_array(B.shape[0]))
        pattern, source = pattern_of(system)
        factor = factorisation(pattern)
        if factor.factor(np.where(source < 0, 0.0, system.data[source])):
            y = np.empty(B.shape[0])
            for _ in range(_REFINEMENTS):
                factor.solve(row * (self._A @ d), y)
                d = d - W @ (B.T @ y)
        factor.release()
        return d

    def _room(self, d: np.ndarray, freely: bool) -> sp.csr_array:
        """(m, m) block diagonal: how far d may move in each direction. Along the boundary of a friction cone by its own
        size, across by its distance from it; bilateral rows, which no cone confines, by the largest reaction."""
        cone = self.problem.cone
        first = cone.contact_start
        scalars = np.abs(d[:first])
        scalars[: cone.bilateral_rows] = np.abs(d).max(initial=0.0)
        triples = d[first:].reshape(-1, 3)
        size, slip = np.linalg.norm(triples, axis=1), np.hypot(triples[:, 1], triples[:, 2])
        across = np.empty_like(triples)
        across[:, 0] = -self._friction
        across[:, 1] = np.divide(triples[:, 1], slip, out=np.ones_like(slip), where=slip > 0.0)
        across[:, 2] = np.divide(triples[:, 2], slip, out=np.zeros_like(slip), where=slip > 0.0)
        across /= np.sqrt(1.0 + self._friction[:, None] ** 2)
        distance = size if freely else np.maximum(0.0, -np.einsum("ki,ki->k", across, triples))
        blocks = (
            size[:, None, None] * np.eye(3) - (size - distance)[:, None, None] * across[:, :, None] * across[:, None]
        )
        count = len(triples)
        contacts = sp.bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=(3 * count, 3 * count))
        return sp.csr_array(sp.block_diag([sp.diags_array(scalars), contacts]))

    # -- what the problem says once ----------------------------------------------------------------------------------

    @cached_property
    def _friction(self) -> np.ndarray:
        return self.problem.mu if self.problem.law is Law.CCP else np.zeros_like(self.problem.mu)

    @cached_property
    def _velocity_terms(self) -> np.ndarray:
        """|J||u_f| + |b|, (m,): the terms that v_f was summed from."""
        problem = self.problem
        if problem.u_f is None or problem.bias is None:
            return np.abs(problem.free_velocity)
        return abs(problem.delassus.jacobian()) @ np.abs(problem.u_f) + np.abs(problem.bias)

    @cached_property
    def _A(self) -> sp.csr_array:
        """Jᵀ with rotations over the radius of gyration, and a unit row for every soft constraint."""
        delassus = self.problem.delassus
        A = sp.csr_array(delassus.jacobian().T)
        unit = delassus.velocity_units()
        if unit is not None:
            A = sp.diags_array(unit) @ A
        if delassus.compliance is not None:
            soft = np.flatnonzero(delassus.compliance)
            A = sp.vstack([A, sp.csr_array(sp.eye_array(len(delassus.compliance)))[soft]])
        return sp.csr_array(A)

    @cached_property
    def _A_abs(self) -> sp.csr_array:
        return sp.csr_array(abs(self._A))

    @cached_property
    def _gamma(self) -> np.ndarray:
        """γ of every sum A d."""
        return _ROUNDING * (np.diff(self._A.indptr) + _EXTRA_TERMS)

    @cached_property
    def is_immovable(self) -> bool:
        """Is there a block of zero rows of D whose v_f lies outside K*? No direction is needed to see that."""
        problem, cone = self.problem, self.problem.cone
        still = problem.delassus.diagonal == 0.0
        if not still.any():
            return False
        still &= abs(problem.delassus.matrix()).sum(axis=1) == 0.0
        still = np.repeat(np.logical_and.reduceat(still, cone.block_start[:-1]), np.diff(cone.block_start))
        d = self._projected(np.where(still, -problem.free_velocity, 0.0))
        self.is_proven = self.is_proven or bool(d @ problem.free_velocity < 0.0)
        return bool(d @ problem.free_velocity < 0.0)
