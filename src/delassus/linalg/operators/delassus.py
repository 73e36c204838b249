"""What every storage of D = J H⁻¹ Jᵀ + E answers, with defaults from its matrix or its product.

Nobody outside `linalg` asks a storage what class it is. A new one, say of finite elements, derives from `Delassus`,
gives `row_count` and either `product` or `matrix`, and every solver takes it. What it knows beyond D it may say too:

| question | who asks | default |
|---|---|---|
| `has_bodies`: rigid bodies with two of them per block of rows? then `rigid`, `pair_count` | compiled loops that never form D | False |
| `is_flexible`: are H and J known, but no rigid bodies? | which method, how D is stored | `is_primal` and not `has_bodies` |
| `is_primal`: are H and J known? then `jacobian`, `mass_matrix`, `mass_solve`, `rows_times`, `body_velocity` | interior points, certificates, files | False |
| `islands`, `part`: which blocks couple, and D of some of them | the judge, partition | from the matrix |
| `scaled`, `softened`, `with_unit_masses`: related operators | scaling, Newton's method, phase one | from the matrix |
| `mass_ratio`, `has_odd_masses`, `inertia_trace`, `velocity_units`: of the bodies | auto, stopping rules, certificates | None, or from H |
| `stored_entries`, `entry_bound`: how full D is | Newton's method, `delassus info` | 0, squares of islands |
"""  # noqa: E501

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from delassus.errors import ProblemError

if TYPE_CHECKING:
    from delassus.linalg.operators.matrix import MatrixDelassus
    from delassus.linalg.operators.rigid import RigidDelassus

FEW_ROWS = 60
"""Rows up to which D is held in full where it is a matrix or H is sparse: twenty contacts, 29 kB."""

_SYMMETRIC = 1e-12  # relative skew part below which a matrix is taken as symmetric
ODD_MASSES = 1e4  # ratio of masses up to which one double per reaction is enough


class Delassus:
    """D: (m, m) [1/kg], positive semi-definite up to a small non-symmetric part.

    kind: one word for the storage; row_count: m, set by the storage;
    compliance: (m,) diagonal of E [1/kg], which D includes, or None where it is zero or unknown;
    has_bodies: is it of rigid bodies, two per block of rows? then `rigid` is at hand;
    is_primal: are H and J known? velocity_count: n, the columns of J, 0 where they are not;
    has_blocks_at_hand: do diagonal blocks come without forming D?
    has_matrix_at_hand: is D formed soon, and small enough to be kept?
    """

    kind = "operator"
    row_count: int
    compliance: np.ndarray | None = None
    has_bodies = False
    is_primal = False
    velocity_count = 0
    has_blocks_at_hand = False
    has_matrix_at_hand = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.product is Delassus.product and cls.matrix is Delassus.matrix:
            raise TypeError(f"{cls.__name__} defines neither product(reactions) nor matrix(): give one of them")

    # -- D itself ----------------------------------------------------------------------------------------------------

    def product(self, reactions: np.ndarray) -> np.ndarray:
        """D λ, a new array (m,) [m/s].  reactions: λ, (m,) [N s]."""
        return self.matrix() @ reactions

    def matrix(self) -> sp.csr_array:
        """D in compressed rows, sorted, without duplicates, (m, m)."""
        return self._matrix_of_products

    @cached_property
    def _matrix_of_products(self) -> sp.csr_array:
        columns = [self.product(unit) for unit in np.eye(self.row_count)]
        return sp.csr_array(np.stack(columns, axis=1) if columns else np.zeros((0, 0)))

    @cached_property
    def _as_matrix(self) -> MatrixDelassus:
        """The same D held as a matrix, which gives the answers that a storage does not give itself."""
        from delassus.linalg.operators.matrix import MatrixDelassus  # which derives from this class

        return MatrixDelassus(self.matrix())

    def dense(self) -> np.ndarray:
        """D as a full matrix, a new array (m, m)."""
        return self.matrix().toarray()

    @cached_property
    def full(self) -> np.ndarray:
        """The same, kept, for problems of FEW_ROWS at most; not to be written to."""
        return self.dense()

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag D, (m,)."""
        return self.matrix().diagonal()

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        """The diagonal blocks D_kk one after the other, each row by row, (Σ d_k²,).  block_start: (block_count + 1,)
        first row of each block and, last, m."""
        return self._as_matrix.diagonal_blocks(block_start)

    def velocity(self, reactions: np.ndarray, free: np.ndarray) -> np.ndarray:
        """v = D λ + free, (m,) [m/s].  free: (m,) [m/s]."""
        v = self.product(reactions)
        v += free
        return v

    def velocities(
        self, reactions: np.ndarray, free: np.ndarray, u_f: np.ndarray | None, bias: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """v = D λ + free, (m,), and u = u_f + H⁻¹ Jᵀ λ, (n,), None where only D is known.  free: (m,) = J u_f + bias;
        u_f: (n,), bias: (m,), or None both."""
        if not self.is_primal or u_f is None:
            return self.velocity(reactions, free), None
        u = u_f + self.body_velocity(reactions)
        v = self.rows_times(u) + bias
        if self.compliance is not None:
            v += self.compliance * reactions
        return v, u

    @property
    def is_hard(self) -> bool:
        """Is E zero, as far as it is known apart from D?"""
        return self.compliance is None or not self.compliance.any()

    # -- how full it is, and what it couples -------------------------------------------------------------------------

    @property
    def stored_entries(self) -> int:
        """nnz(D) where D is held as a matrix, 0 where it would have to be formed."""
        return 0

    def entry_bound(self, block_start: np.ndarray) -> int:
        """Upper bound on nnz(D), without forming D."""
        held = np.bincount(self.islands(block_start), weights=np.diff(block_start))
        return int((held**2).sum())

    def islands(self, block_start: np.ndarray) -> np.ndarray:
        """Number of the group of coupled blocks that each block belongs to, (block_count,), in order of first
        appearance."""
        return self._as_matrix.islands(block_start)

    # -- related operators -------------------------------------------------------------------------------------------

    def part(self, blocks: np.ndarray, rows: np.ndarray, block_start: np.ndarray) -> tuple[Delassus, np.ndarray]:
        """D on some blocks that nothing outside couples to, and which velocities of u it keeps, (n',).  blocks: their
        numbers; rows: (m',) theirs; block_start: of the part."""
        return self._as_matrix.part(blocks, rows, block_start)

    def scaled(self, row: np.ndarray, unit: float) -> Delassus:
        """S D S / unit, with S = diag row, (m,); velocities u keep their meaning, masses are multiplied by unit."""
        return self._as_matrix.scaled(row, unit)

    def softened(self, by: float | np.ndarray) -> Delassus:
        """D + diag by, (m,) or one number for all rows [1/kg]."""
        return self._as_matrix.softened(by)

    def with_unit_masses(self) -> Delassus | None:
        """The same constraints with masses of one, rotations by the radius of gyration; soft rows get compliance one.
        None where only D is known."""
        return None

    # -- bodies ------------------------------------------------------------------------------------------------------

    @property
    def rigid(self) -> RigidDelassus:
        """D as rigid bodies: masses, two bodies per block, twelve numbers per row. Ask `has_bodies` first."""
        raise ProblemError(f"{self!r} has no rigid bodies: build the problem with Problem.rigid")

    @property
    def is_flexible(self) -> bool:
        """Are H and J known, and H that of more than rigid bodies?"""
        return self.is_primal and not self.has_bodies

    def pair_count(self, first: int) -> int:
        """How many pairs of rigid bodies the blocks from number `first` on act between; 0 where there are none."""
        del first
        return 0

    def jacobian(self) -> sp.csr_array:
        """J, (m, n)."""
        raise self._unknown("J")

    def mass_matrix(self) -> sp.csr_array:
        """H, (n, n) [kg]."""
        raise self._unknown("mass matrix")

    @cached_property
    def mass_symmetric(self) -> tuple[sp.csr_array, bool]:
        """The symmetric part of H, (n, n) [kg], and is it all of H, up to rounding?"""
        H = self.mass_matrix()
        half = sp.csr_array(0.5 * (H + H.T))
        return half, bool(abs(half - H).max() <= _SYMMETRIC * abs(half).max())

    def mass_solve(self, momentum: np.ndarray) -> np.ndarray:
        """H⁻¹ p, (n,) [m/s].  momentum: p, (n,) [N s]."""
        raise self._unknown("mass matrix")

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        """H⁻¹ Jᵀ λ, (n,) [m/s]."""
        return self.mass_solve(self.jacobian().T @ reactions)

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        """J u, (m,) [m/s].  u: (n,)."""
        return self.jacobian() @ u

    def inertia_trace(self) -> float | None:
        """Sum of the diagonal of H [kg]; None where only D is known."""
        return float(self.mass_matrix().diagonal().sum()) if self.is_primal else None

    def mass_ratio(self) -> float | None:
        """Heaviest over lightest body; None where bodies are not known."""
        return None

    def has_odd_masses(self) -> bool:
        """Are masses so far apart that the last digits of what heavy bodies press with may move a light one? Then one
        double per reaction is not enough. False where bodies are not known."""
        ratio = self.mass_ratio()
        return ratio is not None and ratio > ODD_MASSES

    def velocity_units(self) -> np.ndarray | None:
        """(n,) factors that make momenta of rotation comparable with those of translation: one over the radius of
        gyration [1/m] for rotations, one elsewhere. None where velocities are all of one kind."""
        return None

    def _unknown(self, what: str) -> ProblemError:
        return ProblemError(f"a dual problem has no {what}; build it with Problem.primal or Problem.rigid")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.row_count} rows)"
