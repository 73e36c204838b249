"""(D + W² + R) dx = b between contacts (Kleinert et al. 2014, eq. 29): by a Krylov method with a preconditioner, or
directly.

Under the exact law the derivative of De Saxcé's term stands beside D. Preconditioners leave it out, a direct solve
makes up for it by GMRES."""

import math

import numpy as np

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Factorisation, factorisation
from delassus.linalg.iterative.block_product import BlockProduct
from delassus.linalg.iterative.incomplete import BlockDiagonal, IncompleteFactor, banded_order
from delassus.solvers.interior.inexact.directions import Scaling, krylov_method
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.inexact.units import Units, between_units
from delassus.solvers.interior.standard import RigidRows, Standard

_ROUNDS = 3  # of a direct solve, each on what the last one left
_EXACT = 1e-9  # of the right side: what a direct solve leaves under the exact law


class ContactSpace:
    """softness: (m',) the diagonal of R. Without preconditioner D is never formed."""

    def __init__(self, standard: Standard, settings: IpmInexact, softness: np.ndarray):
        self.standard, self.settings, self.softness = standard, settings, softness
        self.shift = 0.0
        # two passes over the rows of bodies read half of what the blocks of D between contacts take
        self.is_matrix_free = isinstance(standard.operator, RigidRows)
        self.preconditioner: Factorisation | BlockDiagonal | IncompleteFactor | None = None
        if settings.linear != "direct" and settings.preconditioner == "none":
            self.is_matrix_free = True
            return
        self.units = Units(standard)
        pattern, self.base = between_units(standard, self.units)
        self.matrix = BlockProduct(pattern)
        if settings.linear == "direct":
            self.preconditioner = factorisation(pattern)
        elif settings.preconditioner == "jacobi":
            self.preconditioner = BlockDiagonal(pattern)
        else:
            kind, order = settings.preconditioner, banded_order(pattern) if settings.order == "banded" else None
            self.preconditioner = IncompleteFactor(
                pattern, definite=kind == "ic0", order=order, fill=int(kind == "ilu1"), scalar=settings.scalar
            )
        self.padded = np.zeros(self.units.size)
        self.padded_out = np.zeros(self.units.size)

    def factor(self, scaling: Scaling) -> bool:
        """Assemble the matrix of this scaling and its preconditioner; False where that fails."""
        self.scaling = scaling
        if self.preconditioner is None:
            return True
        values = self.matrix.values
        values[:] = self.base
        diagonal = self.matrix.pattern.indptr
        blocks = values.reshape(-1, self.units.side, self.units.side)
        _add_rows(self.units.side, self.units.position, diagonal, self.softness, blocks)
        free, limits = self.standard.free, self.standard.limits
        first = self.units.position[free : free + limits]
        _add_rows(self.units.side, first, diagonal, scaling.diagonal, blocks)
        if self.standard.cones:
            _add_blocks(self.units.count - self.standard.cones, diagonal, scaling.blocks, blocks)
        works = self.preconditioner.factor(values)
        self.shift = getattr(self.preconditioner, "shift", 0.0)
        return works

    def solve(self, b: np.ndarray, dx: np.ndarray, tol: float, most: int) -> tuple[int, float]:
        """dx with a residual of at most tol in the measure of the scaling, if `most` iterations do; (iterations,
        measure)."""
        name, measure = self.settings.linear, self.scaling.measure
        if name == "direct" and self.scaling.slopes is None:
            return 0, self._refined(b, dx, tol)
        if name == "direct":
            return 0, krylov_method("gmres")(self.apply, self.precondition, b, dx, measure, _EXACT * measure(b), most)[
                1
            ]
        return krylov_method(name)(self.apply, self.precondition, b, dx, measure, tol, most)

    def _refined(self, b: np.ndarray, dx: np.ndarray, tol: float) -> float:
        """dx by the factors, again on what they leave as long as that helps: near the end W² spans more digits than a
        double has, and how many factors keep differs between processors. Its measure."""
        best, more = math.inf, np.empty_like(b)
        dx[:], r = 0.0, b
        for _ in range(_ROUNDS):
            self.precondition(r, more)
            more += dx
            r = self._residual(b, more)
            size = self.scaling.measure(r)
            if size < best:
                dx[:] = more
            if not size <= 0.5 * best or size <= tol:
                return size if size < best else best
            best = size
        return best

    def _residual(self, b: np.ndarray, dx: np.ndarray) -> np.ndarray:
        out = np.empty_like(b)
        self.apply(dx, out)
        return b - out

    def apply(self, x: np.ndarray, out: np.ndarray) -> None:
        """out = (D + W² + R) x, of the last scaling; with De Saxcé's slopes where it has them."""
        if self.is_matrix_free or self.scaling.slopes is not None:
            out[:] = self.scaling.add_slopes(self.standard.product(x))
            self.scaling.add_square(self.softness, x, out)
        elif self.units.is_full:
            self.matrix.times(x, out)
        else:
            self.matrix.times(self.units.padded(x, self.padded), self.padded_out)
            out[:] = self.padded_out[self.units.position]

    def precondition(self, r: np.ndarray, out: np.ndarray) -> None:
        """out = M⁻¹ r; with linear="direct" that is the solution."""
        if self.preconditioner is None:
            out[:] = r
        elif self.units.is_full:
            self.preconditioner.solve(r, out)
        else:
            self.preconditioner.solve(self.units.padded(r, self.padded), self.padded_out)
            out[:] = self.padded_out[self.units.position]


@njit(cache=True)
def _add_rows(side, position, diagonal, values, blocks):
    """Add a diagonal matrix, values (k,) at these positions."""
    for i in range(len(position)):
        unit, a = position[i] // side, position[i] % side
        blocks[diagonal[unit], a, a] += values[i]


@njit(cache=True)
def _add_blocks(first, diagonal, squares, blocks):
    """Add W² of the contacts, whose units begin at `first`."""
    for k in range(len(squares)):
        for a in range(3):
            for b in range(3):
                blocks[diagonal[first + k], a, b] += squares[k, a, b]
