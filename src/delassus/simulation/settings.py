"""How a step is taken."""

from dataclasses import dataclass, field

import numpy as np

from delassus.dynamics import Softening, Stabilisation
from delassus.errors import SettingsError
from delassus.integrators import integrator
from delassus.law import Law
from delassus.solvers import Settings
from delassus.solvers.driver import Limits, VelocityTolerance
from delassus.solvers.table import find


@dataclass(frozen=True)
class StepSettings:
    """How a step is taken. Every value is checked here.

    h: time step [s].
    solver: a name of `SOLVERS`, with modifiers ("apgd+desaxce"), its settings object, or "auto", a portfolio.
    law: "ncp" (exact Coulomb friction), "ccp" (its convex relaxation) or "frictionless".
    tol: largest relative natural map of a step that is called converged [-].
    tol_velocity: largest error of velocity of such a step, as a factor of the larger of its island's free velocities
        and h g [-]; "auto": the same number as tol; None: not asked.
    max_iter: iterations of the solver at most.
    integrator: "moreau" (midpoint, second order) or "euler" (semi-implicit, first order).
    stabilisation: how errors of joints, limits and contacts are removed, see `Stabilisation`.
    softening: which rows are soft, and how, where joints and materials say nothing themselves, see `Softening`; None:
        none.
    warm_start: let the solve start from the reactions that the `Memory` given to `step` holds.
    threads: of collision detection; solvers that have threads take them in their own settings.
    """

    h: float = 1e-3
    solver: str | Settings = "auto"
    law: Law = Law.NCP
    tol: float = 1e-6
    tol_velocity: VelocityTolerance = "auto"
    max_iter: int = 20_000
    integrator: str = "moreau"
    stabilisation: Stabilisation = field(default_factory=Stabilisation)
    softening: Softening | None = None
    warm_start: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", Law.of(self.law))
        for name, what in (("h", "a positive time step in seconds"), ("tol", "a positive number")):
            value = getattr(self, name)
            if not (isinstance(value, (int, float, np.number)) and np.isfinite(value) and value > 0):
                raise SettingsError(f"{name} is {value!r}: give {what}")
        for name in ("max_iter", "threads"):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value > 0):
                raise SettingsError(f"{name} is {value!r}: give a whole number from 1 on")
        for name, kind in (("stabilisation", Stabilisation), ("softening", Softening)):
            value = getattr(self, name)
            if not isinstance(value, kind) and not (name == "softening" and value is None):
                raise SettingsError(f"{name} is {value!r}: give {kind.__name__}(…)")
        Limits(self.tol, self.velocity_factor, self.max_iter, None)
        integrator(self.integrator)
        if self.solver != "auto":
            find(self.solver)

    @property
    def velocity_factor(self) -> float | None:
        """tol_velocity as a number."""
        return self.tol if self.tol_velocity == "auto" else self.tol_velocity
