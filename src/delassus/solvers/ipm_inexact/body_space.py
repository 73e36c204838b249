"""(D + W² + R) dx = b through the bodies: with S = (W² + E + R)⁻¹, (I + Jᵀ S J) du = Jᵀ S b and dx = S (b − J du).

Fewer unknowns, never rank deficient, and one pass over the rows per product. If the residual of du is ρ, that of dx is J ρ.
"""

import numpy as np

from delassus.errors import SettingsError
from delassus.linalg.incomplete import BlockDiagonal, IncompleteFactor
from delassus.linalg.rigid_delassus import add_response, multiply_rows
from delassus.linalg.symmetric import Factorisation, factorisation
from delassus.solvers.ipm.body_system import _pattern, add_weighted, assemble_blocks
from delassus.solvers.ipm.standard import RigidRows, Standard
from delassus.solvers.ipm.weights import Weights, apply_weights
from delassus.solvers.ipm_inexact.directions import Scaling, krylov_method
from delassus.solvers.ipm_inexact.settings import IpmInexact

_LOOK = 4  # conjugate gradient iterations between two looks at the measure, which costs a pass of its own


class BodySystem:
    """softness: (m',) the diagonal of R."""

    def __init__(self, standard: Standard, settings: IpmInexact, softness: np.ndarray):
        operator = standard.operator
        if not isinstance(operator, RigidRows):
            raise SettingsError("space='body' needs rigid bodies, which this problem does not hold: use space='contact'")
        self.standard, self.settings, self.operator = standard, settings, operator
        self.soft = softness if standard.compliance is None else softness + standard.compliance
        self.weights = Weights(standard.free, standard.limits, standard.cones, False)
        self.shift = 0.0
        self.preconditioner: Factorisation | IncompleteFactor | BlockDiagonal | None = None
        self.pattern, self.slots, self.on_diagonal = _pattern(
            operator.bodies, operator.body_count, np.ones(len(operator.bodies), bool)
        )
        self.values = self.pattern.values()
        if settings.linear == "direct":
            self.preconditioner = factorisation(self.pattern)
        elif settings.preconditioner == "jacobi":
            self.preconditioner = BlockDiagonal(self.pattern)
        elif settings.preconditioner in ("ic0", "ilu0"):
            self.preconditioner = IncompleteFactor(self.pattern, definite=settings.preconditioner == "ic0")
        n = self.pattern.size
        self.u, self.push, self.image = np.empty(n), np.empty(n), np.empty(standard.row_count)
        self.looked, self.last = 0, np.inf

    def factor(self, scaling: Scaling) -> bool:
        """Weights and preconditioner of this scaling; False where that fails."""
        self.scaling = scaling
        self.weights.from_scaling(scaling.eta, scaling.w, self.soft, np.inf)
        if self.preconditioner is None:
            return True
        op = self.operator
        assemble_blocks(op.bodies, op.start, op.rows, self.weights.diagonal, self.weights.blocks, self.slots,
                        self.on_diagonal, self.values)  # fmt: skip
        works = self.preconditioner.factor(self.values)
        self.shift = getattr(self.preconditioner, "shift", 0.0)
        return works

    def solve(self, b: np.ndarray, dx: np.ndarray, tol: float, most: int) -> tuple[int, float]:
        """As `ContactSystem.solve`."""
        op = self.operator
        apply_weights(self.weights.diagonal, self.weights.blocks, b, self.image)
        self.push[:] = 0.0
        add_response(op.bodies, op.start, op.rows, self.image, self.push)
        if self.settings.linear == "direct":
            self._precondition(self.push, self.u)
            count = 0
            out = np.empty_like(self.u)
            self._apply(self.u, out)
            size = self._true_measure(self.push - out)
        else:
            self.looked = 0
            count, size = krylov_method(self.settings.linear)(
                self._apply, self._precondition, self.push, self.u, self._measure, tol, most
            )
        multiply_rows(op.bodies, op.start, op.rows, self.u, self.image)
        np.subtract(b, self.image, out=self.image)
        apply_weights(self.weights.diagonal, self.weights.blocks, self.image, dx)
        return count, size

    def _apply(self, u: np.ndarray, out: np.ndarray) -> None:
        op = self.operator
        out[:] = u
        add_weighted(op.bodies, op.start, op.rows, self.weights.diagonal, self.weights.blocks, u, out)

    def _precondition(self, r: np.ndarray, out: np.ndarray) -> None:
        if self.preconditioner is None:
            out[:] = r
        else:
            self.preconditioner.solve(r, out)

    def _measure(self, r: np.ndarray) -> float:
        if self.looked % _LOOK == 0:
            self.last = self._true_measure(r)
        self.looked += 1
        return self.last

    def _true_measure(self, r: np.ndarray) -> float:
        """Of J ρ."""
        op = self.operator
        multiply_rows(op.bodies, op.start, op.rows, r, self.image)
        return self.scaling.measure(self.image)
