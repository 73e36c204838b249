"""The one-step problem: everything a step needs from mathematics.

    H u = p + Jᵀ λ,    v = J u + b + E λ,    K* ∋ v + Γ(v) ⊥ λ ∈ K

or, with D = J H⁻¹ Jᵀ + E and v_f = J H⁻¹ p + b, in the dual view v = D λ + v_f. Velocities in m/s and rad/s, reactions
are impulses in N s and N m s. Rows: bilateral, unilateral, then contacts as triples (n, t₁, t₂).
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import real, shown
from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.law import Law
from delassus.linalg.operators.delassus import FEW_ROWS, Delassus
from delassus.linalg.operators.matrix import fill_blocks_of_full
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem.scales import fill_scale, fill_scale_of_bodies, measure_rigid, trace_of
from delassus.problem.storage import Matrix, dual_storage, free_velocity_of, primal_storage, rigid_storage, vector

_APART = 1e-9  # of the sliding velocity: what separates by as much does not touch by rounding


PACKED = 4
"""Entries at the beginning of `Problem.packed` that tell sizes and kind."""

_NONE = np.empty(0)
_LAWS = {law: number for number, law in enumerate(Law)}
_OF_V_F = (
    "data",
    "data_of_free_motion",
    "is_free",
    "free_speed",
    "packed",
    "_packing",
)  # cached, and dependent on v_f


class Problem:
    """Build one with `Problem.dual`, `Problem.rigid` or `Problem.primal`; it is not changed afterwards.

    >>> import numpy as np, delassus
    >>> problem = delassus.Problem.dual(np.eye(3), [-1.0, 0.3, -0.4], mu=[0.3])
    >>> delassus.solve(problem).reactions.round(3).tolist()
    [1.0, -0.18, 0.24]

    delassus: D in one of its storages; free_velocity: v_f, (m,) [m/s]; u_f: (n,) and bias: b, (m,), or None where only
    the dual view is known; rest_speed [m/s]: errors of velocity are never compared with less than this; a step of a
    simulation sets what falls in one step, h g. before: (n,) velocities before the step, where there is one: reactions
    that are kept from step to step must not speed things up. row_count: m; contact_count: n_c; is_small: of few rows,
    and D at hand in full? mu: (n_c,) friction coefficients of the law at hand, zero under FRICTIONLESS.
    """

    def __init__(
        self,
        delassus: Delassus,
        free_velocity: np.ndarray,
        cone: ProductCone,
        law: Law | str,
        *,
        u_f: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        rest_speed: float = 0.0,
        before: np.ndarray | None = None,
    ):
        self.delassus = delassus
        self.cone = cone
        self.u_f: Any = u_f  # (n,), or None where only D is known; so is bias (m,)
        self.rest_speed, self.before = rest_speed, before
        self.row_count, self.contact_count = cone.row_count, cone.contact_count
        self.is_small = cone.row_count <= FEW_ROWS and not delassus.has_bodies
        self._pose(free_velocity, bias, law)

    def _pose(self, free_velocity: np.ndarray, bias: np.ndarray | None, law: Law | str) -> None:
        """Set what depends on v_f, b and the law, and what every solve needs unless that takes forming D."""
        self.free_velocity, self.law = free_velocity, Law.of(law)
        self.bias: Any = bias
        self.mu = np.zeros_like(self.cone.mu) if self.law is Law.FRICTIONLESS else self.cone.mu
        if self.delassus.has_blocks_at_hand:
            _ = self.data

    # -- constructors ------------------------------------------------------------------------------------------------

    @classmethod
    def dual(
        cls,
        D: Matrix,
        v_f: ArrayLike,
        *,
        mu: ArrayLike | None = None,
        cone: ProductCone | None = None,
        law: Law | str = Law.NCP,
    ) -> "Problem":
        """v = D λ + v_f.  D: (m, m) [1/kg], dense or sparse, positive semi-definite up to a small non-symmetric part;
        v_f: (m,) [m/s]; mu: (n_c,) for contacts only, or cone for other rows too."""
        cone = _cone_of(mu, cone)
        return cls(dual_storage(D, cone), vector(v_f, "v_f", cone.row_count), cone, law)

    @classmethod
    def rigid(
        cls,
        mass: ArrayLike,
        bodies: ArrayLike,
        rows: ArrayLike,
        *,
        cone: ProductCone,
        p: ArrayLike | None = None,
        u_f: ArrayLike | None = None,
        b: ArrayLike | None = None,
        compliance: ArrayLike | None = None,
        law: Law | str = Law.NCP,
    ) -> "Problem":
        """Rigid bodies with structure kept.  mass: (n_b, 6, 6); bodies: (block_count, 2), −1 for the world;
        rows: (m, 12); momentum p: (6 n_b,) [N s] or free velocity u_f: (6 n_b,); b, compliance: (m,)."""
        return cls._of_primal(rigid_storage(mass, bodies, rows, cone, compliance), p, u_f, b, cone, law)

    @classmethod
    def primal(
        cls,
        H: Matrix,
        J: Matrix,
        *,
        mu: ArrayLike | None = None,
        cone: ProductCone | None = None,
        p: ArrayLike | None = None,
        u_f: ArrayLike | None = None,
        b: ArrayLike | None = None,
        compliance: ArrayLike | None = None,
        law: Law | str = Law.NCP,
    ) -> "Problem":
        """General H: (n, n) [kg] and J: (m, n); recognised as rigid bodies when H is 6×6 block diagonal and no block
        of rows touches more than two bodies. Momentum p: (n,) or free velocity u_f: (n,); b, compliance: (m,)."""
        cone = _cone_of(mu, cone)
        return cls._of_primal(primal_storage(H, J, cone, compliance), p, u_f, b, cone, law)

    @classmethod
    def _of_primal(
        cls,
        delassus: Delassus,
        p: ArrayLike | None,
        u_f: ArrayLike | None,
        b: ArrayLike | None,
        cone: ProductCone,
        law: Law | str,
    ) -> "Problem":
        u_f = free_velocity_of(delassus, p, u_f)
        bias = np.zeros(cone.row_count) if b is None else vector(b, "b", cone.row_count)
        return cls(delassus, delassus.rows_times(u_f) + bias, cone, law, u_f=u_f, bias=bias)

    # -- what solvers and the judge need -----------------------------------------------------------------------------

    @cached_property
    def diagonal_blocks(self) -> np.ndarray:
        """The blocks D_kk of joints, limits and contacts, flat, row by row (Σ d_k²,)."""
        if self.is_small:
            return self._packing[1]
        return self.delassus.diagonal_blocks(self.cone.block_start)

    @cached_property
    def rho(self) -> float:
        """ρ = m / trace D over the limit and contact rows (all rows if there are none) [kg]: the factor of velocities
        in the natural map that makes the measure independent of units."""
        if self.is_small:
            return self._packing[2]
        joints = self.cone.bilateral.size if self.cone.bilateral_rows < self.row_count else 0
        trace = trace_of(self.diagonal_blocks, self.cone.block_start, joints)
        first = self.cone.block_start[joints]
        return float(self.row_count - first) / trace if trace > 0.0 else 1.0

    @cached_property
    def free_speed(self) -> float:
        """‖v_f‖₂ [m/s]."""
        if self.is_small:
            return self._packing[3]
        return math.sqrt(float(self.free_velocity @ self.free_velocity))

    @cached_property
    def velocity_scale(self) -> np.ndarray:
        """What errors of velocity are compared with, of each block, (block_count,) [m/s]: the largest free velocity of
        its island, positive unless all of v_f and `rest_speed` are zero.

        One figure for the whole problem would let a fast body loosen the tolerance of everything else. Of an island it
        is the largest of: velocities of joint rows, approach velocities of limits and contacts, sliding velocities.
        What separates needs no reaction and does not count: an open contact carries its gap over the time step, which
        says nothing of how things move. An island in which nothing moves has no figure of its own: it is compared with
        `rest_speed` or, where that is zero, with what moves elsewhere."""
        cone, delassus = self.cone, self.delassus
        out = np.empty(cone.block_count)
        arguments = cone.block_start, cone.bilateral.size, self.free_velocity, self.rest_speed, out
        if delassus.has_bodies:  # needed in every step: one compiled call
            fill_scale_of_bodies(delassus.rigid.bodies, len(delassus.rigid.mass), *arguments)
        else:
            fill_scale(delassus.islands(cone.block_start), *arguments)
        return out

    @cached_property
    def data(self) -> tuple[Any, ...]:
        """The fields of `ProblemData`, a plain tuple."""
        if self.delassus.has_bodies and "velocity_scale" not in self.__dict__:
            return self._measure_rigid(self.delassus.rigid)
        if self.is_small:
            self.packed = self._packing[0]
        return self._data_with(self.diagonal_blocks, self.velocity_scale, self.rho)

    @property
    def judged_by(self) -> tuple[Any, ...]:
        """Former name of `data`."""
        return self.data

    def _data_with(self, diagonal_blocks: np.ndarray, velocity_scale: np.ndarray, rho: float) -> tuple[Any, ...]:
        """`data` with these blocks, scales and ρ."""
        cone, is_exact = self.cone, self.law is Law.NCP
        rows = self.mu, cone.block_start, cone.bilateral.size, cone.bilateral_rows, cone.unilateral
        return *rows, diagonal_blocks, velocity_scale, is_exact, rho, self.free_speed

    @cached_property
    def is_free(self) -> bool:
        """Does the free motion break no constraint, by more than rounding? Then no reactions are a solution, whatever D
        is."""
        cone, v = self.cone, self.free_velocity
        contacts = v[cone.contact_start :].reshape(-1, 3)
        slip = self.mu * np.hypot(contacts[:, 1], contacts[:, 2])
        least = _APART * slip if self.law is Law.NCP else (1.0 + _APART) * slip
        limits = v[cone.bilateral_rows : cone.contact_start]
        return not cone.bilateral_rows and bool((limits >= 0.0).all() and (contacts[:, 0] >= least).all())

    @cached_property
    def data_of_free_motion(self) -> tuple[Any, ...]:
        """What stands for `data` where no reactions are a solution: every error is zero, however it is measured, and
        nothing of D needs to be known."""
        return self._data_with(np.ones(self.cone.block_area), np.ones(self.cone.block_count), 1.0)

    def _measure_rigid(self, rigid: RigidDelassus) -> tuple[Any, ...]:
        """`data` of rigid bodies, in one compiled call, since every step needs it."""
        cone, known, joints = self.cone, self.__dict__, self.cone.bilateral.size
        blocks, scale, whole = np.empty(cone.block_area), np.empty(cone.block_count), np.empty(2)
        measure_rigid(rigid.plain, len(rigid.mass), joints, self.free_velocity, self.rest_speed, blocks, scale, whole)
        known["diagonal_blocks"], known["velocity_scale"] = blocks, scale
        known["rho"], known["free_speed"] = whole.item(0), whole.item(1)
        return self._data_with(blocks, scale, self.rho)

    @cached_property
    def packed(self) -> np.ndarray | None:
        """Of small problems all that a solve reads, one behind the other: m, n_c, the number of blocks and a
        number for the law and the kinds of rows, then
        D in full, (m²,), v_f, (m,), μ, (n_c,), velocity scales, (block_count,), ρ and ‖v_f‖₂. Many of them joined are a
        batch: with everything in one place that takes a seventh of the time. None for larger ones."""
        return self._packing[0] if self.is_small else None

    @cached_property
    def _packing(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        """`packed`, diagonal blocks, ρ and ‖v_f‖₂ of a small problem, in one compiled call."""
        cone, blocks = self.cone, np.empty(self.cone.block_area)
        out = np.empty(PACKED + self.row_count * (self.row_count + 1) + self.contact_count + cone.block_count + 2)
        joints = cone.bilateral.size if cone.bilateral_rows < self.row_count else 0
        kind = 4 * _LAWS[self.law] + 2 * (cone.bilateral_rows > 0) + (cone.unilateral > 0)
        rho, speed = _pack(
            kind,
            self.delassus.full,
            self.free_velocity,
            self.mu,
            self.velocity_scale,
            cone.block_start,
            joints,
            blocks,
            out,
        )
        return out, blocks, rho, speed

    def constraint_velocity(self, reactions: np.ndarray) -> np.ndarray:
        """v = D λ + v_f, (m,) [m/s]."""
        return self.delassus.velocity(self.reactions_of(reactions), self.free_velocity)

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray | None:
        """u = u_f + H⁻¹ Jᵀ λ, (n,) [m/s, rad/s]; None where only the dual view is known."""
        if self.u_f is None or not self.delassus.is_primal:
            return None
        return self.u_f + self.delassus.body_velocity(self.reactions_of(reactions))

    def velocities(self, reactions: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """v and u of the same reactions, through one solve with H where both are known."""
        return self.delassus.velocities(self.reactions_of(reactions), self.free_velocity, self.u_f, self.bias)

    def reactions_of(self, given: ArrayLike, what: str = "reactions") -> np.ndarray:
        """One number per row, (m,), as kernels read them, which do not look at lengths.  what: it is called."""
        if type(given) is np.ndarray and given.shape == (self.row_count,) and given.dtype == float:
            return given if given.flags.c_contiguous else given.copy()
        found = real(given)
        if found is None or found.shape != (self.row_count,):
            has = shown(given) if found is None else f"of shape {found.shape}"
            raise ProblemError(f"{what} is {has}, expected ({self.row_count},): one number per row")
        return np.ascontiguousarray(found, dtype=float)

    @property
    def step(self) -> float:
        """Former name of `rho`, kept for one release."""
        return self.rho

    def with_law(self, law: Law | str) -> "Problem":
        """A copy judged by another law."""
        return self.shifted(self.free_velocity, self.bias, law)

    def shifted(self, free_velocity: np.ndarray, bias: np.ndarray | None, law: Law | str) -> "Problem":
        """A copy with another v_f and b, (m,) [m/s], judged by the velocity scales of this one."""
        out = Problem.__new__(Problem)
        kept = {"velocity_scale": self.velocity_scale, **self.__dict__}
        out.__dict__.update({name: kept[name] for name in kept if name not in _OF_V_F})
        out._pose(free_velocity, bias, law)
        return out

    def __repr__(self) -> str:
        return f"Problem({self.law.value}, {self.cone!r}, {self.delassus!r})"


@njit(cache=True)
def _pack(kind, D, v_f, mu, scale, block_start, joints, blocks, out):
    """Fills diagonal blocks and `Problem.packed`; (ρ, ‖v_f‖₂)."""
    m, at = len(v_f), PACKED
    out[0], out[1], out[2], out[3] = m, len(mu), len(scale), kind
    fill_blocks_of_full(D, block_start, blocks)
    for i in range(m):
        for j in range(m):
            out[at] = D[i, j]
            at += 1
    square = 0.0
    for i in range(m):
        out[at + i] = v_f[i]
        square += v_f[i] * v_f[i]
    at += m
    for each in (mu, scale):
        for i in range(len(each)):
            out[at + i] = each[i]
        at += len(each)
    trace = trace_of(blocks, block_start, joints)
    rho = (m - block_start[joints]) / trace if trace > 0.0 else 1.0
    out[at], out[at + 1] = rho, math.sqrt(square)
    return rho, math.sqrt(square)


def _cone_of(mu: ArrayLike | None, cone: ProductCone | None) -> ProductCone:
    if mu is not None and cone is None:
        return ProductCone(mu=mu)
    if cone is not None and mu is None:
        if not isinstance(cone, ProductCone):
            raise ProblemError(f"cone is {shown(cone)}: give a ProductCone, or mu for contacts alone")
        return cone
    raise ProblemError("give either mu (contacts only) or cone (any rows), not both or neither")
