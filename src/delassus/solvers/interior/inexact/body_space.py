"""(D + W² + R) dx = b through the bodies: with S = (W² + E + R)⁻¹, (I + Jᵀ S J) du = Jᵀ S b and dx = S (b − J du).

Fewer unknowns, never rank deficient, and one pass over the rows per product. If the residual of du is ρ, that of dx is
J ρ, and rounding of S on top, which refinement takes away as long as √τ is well above 1e-5: natural maps below about
1e-7 are for `space="contact"`.
"""

import numpy as np

from delassus.errors import SettingsError
from delassus.linalg.factor.symmetric import Factorisation, factorisation
from delassus.linalg.iterative.incomplete import BlockDiagonal, IncompleteFactor, banded_order
from delassus.linalg.iterative.multigrid import Multigrid
from delassus.linalg.operators.rigid import add_response, multiply_rows
from delassus.solvers.interior.body_system import _pattern, add_weighted, assemble_blocks
from delassus.solvers.interior.inexact.directions import Scaling, krylov_method
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.standard import RigidRows, Standard
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import apply_blocks

_LOOK = 4  # iterations between two looks at the measure, which costs a pass of its own
_ROUNDS = 3  # of refinement


class BodySpace:
    """softness: (m',) the diagonal of R."""

    def __init__(self, standard: Standard, settings: IpmInexact, softness: np.ndarray):
        operator = standard.operator
        if not isinstance(operator, RigidRows):
            raise SettingsError("space='body' needs rigid bodies, and this problem holds none: use space='contact'")
        self.standard, self.settings, self.operator = standard, settings, operator
        self.softness = softness
        self.soft = softness if standard.compliance is None else softness + standard.compliance
        self.weights = Weights(standard.free, standard.limits, standard.cones, False)
        self.shift = 0.0
        everything = np.ones(len(operator.bodies), bool)
        self.pattern, self.slots, self.on_diagonal = _pattern(operator.bodies, operator.body_count, everything)
        self.values = self.pattern.values()
        self.preconditioner = self._preconditioner()
        n, m = self.pattern.size, standard.row_count
        self.u, self.push, self.image, self.more = np.empty(n), np.empty(n), np.empty(m), np.empty(m)
        self.looks, self.last = 0, np.inf

    def _preconditioner(self) -> Factorisation | BlockDiagonal | Multigrid | IncompleteFactor | None:
        name = "direct" if self.settings.linear == "direct" else self.settings.preconditioner
        if name == "none":
            return None
        if name == "direct":
            return factorisation(self.pattern)
        if name == "jacobi":
            return BlockDiagonal(self.pattern)
        if name == "amg":
            return Multigrid(self.pattern)
        order = banded_order(self.pattern) if self.settings.order == "banded" else None
        return IncompleteFactor(
            self.pattern, definite=name == "ic0", order=order, fill=int(name == "ilu1"), scalar=self.settings.scalar
        )

    def factor(self, scaling: Scaling) -> bool:
        """Weights and preconditioner of this scaling; False where that fails."""
        self.scaling = scaling
        self.weights.from_scaling(scaling.eta, scaling.w, self.soft, np.inf)
        if self.preconditioner is None:
            return True
        places = self.slots, self.on_diagonal
        assemble_blocks(self.operator.unit_rows, tuple(self.weights.arrays), places, self.values)
        works = self.preconditioner.factor(self.values)
        self.shift = getattr(self.preconditioner, "shift", 0.0)
        return works

    def solve(self, b: np.ndarray, dx: np.ndarray, tol: float, most: int) -> tuple[int, float]:
        """As `ContactSpace.solve`."""
        dx[:] = 0.0
        r, total, size = b, 0, np.inf
        for _ in range(_ROUNDS):
            total += self._correct(r, self.more, tol, most - total)
            dx += self.more
            r = b - self._product(dx)
            size, before = self.scaling.measure(r), size
            if size <= tol or size > 0.5 * before or total >= most:
                break
        return total, size

    def _product(self, dx: np.ndarray) -> np.ndarray:
        out = self.standard.product(dx)
        self.scaling.add_square(self.softness, dx, out)
        return out

    def _correct(self, b: np.ndarray, dx: np.ndarray, tol: float, most: int) -> int:
        """dx for the right side b; iterations taken."""
        op, weights, count = self.operator, self.weights, 0
        apply_blocks(weights.diagonal, weights.blocks, b, self.image)
        self.push[:] = 0.0
        add_response(op.bodies, op.start, op.rows, self.image, self.push)
        if self.settings.linear == "direct":
            self._precondition(self.push, self.u)
        else:
            self.looks = 0
            method = krylov_method(self.settings.linear)
            count, _ = method(self._apply, self._precondition, self.push, self.u, self._measure, 0.8 * tol, most)
        multiply_rows(op.bodies, op.start, op.rows, self.u, self.image)
        np.subtract(b, self.image, out=self.image)
        apply_blocks(weights.diagonal, weights.blocks, self.image, dx)
        return count

    def _apply(self, u: np.ndarray, out: np.ndarray) -> None:
        out[:] = u
        add_weighted(self.operator.unit_rows, tuple(self.weights.arrays), u, out)

    def _precondition(self, r: np.ndarray, out: np.ndarray) -> None:
        if self.preconditioner is None:
            out[:] = r
        else:
            self.preconditioner.solve(r, out)

    def _measure(self, r: np.ndarray) -> float:
        """Of J ρ."""
        if self.looks % _LOOK == 0:
            op = self.operator
            multiply_rows(op.bodies, op.start, op.rows, r, self.image)
            self.last = self.scaling.measure(self.image)
        self.looks += 1
        return self.last
