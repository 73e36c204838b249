"""What happened in a step."""

from dataclasses import dataclass, field

import numpy as np

from delassus.collision import Contacts
from delassus.dynamics import Rows
from delassus.problem import Problem
from delassus.simulation.report_text import report_text
from delassus.solvers import Solution
from delassus.status import Status


@dataclass(frozen=True, eq=False)
class StepReport:
    """What happened in a step; `print` shows a screen of it. energy: kinetic and potential after it [J]; drift: worst
    error of hard joints before it [m, rad]; penetration: deepest [m]; times: seconds by stage; t: time after it and h:
    its length [s]; held_back: coordinates whose drives are at the limits of their efforts, or whose prescribed motion
    the joint's limits stop; warnings: sentences about what does not make sense, although solved; at: (n_b, 7) poses
    where the rows were evaluated; solved: poses and velocities before joints were closed; rounds: how often forces were
    linearised, once but for the integrator "iterated"; pieces: reports of the pieces and impacts of a step that was
    divided at its times of impact, in order, none of others: see joined.py for what the report says then."""

    rows: Rows
    problem: Problem
    solution: Solution
    contacts: Contacts
    energy: tuple[float, float]
    drift: float
    penetration: float
    times: dict[str, float]
    t: float = 0.0
    h: float = 0.0
    held_back: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    at: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))
    solved: tuple[np.ndarray, np.ndarray] | None = None
    rounds: int = 1
    pieces: tuple["StepReport", ...] = ()

    @property
    def ok(self) -> bool:
        """Was the one-step problem solved, and does what came out make sense? A penalty step has no contact problem: it
        is fine where its joints, limits and drives were solved, although it never converged."""
        return self.solution.status in (Status.CONVERGED, Status.PENALTY) and not self.warnings

    def __str__(self) -> str:
        return report_text(self)

    def __repr__(self) -> str:
        return (
            f"StepReport(t = {self.t:.6g} s, {self.solution.status.value}, {self.solution.iterations} iterations, "
            f"{self.rows.contact_count} contacts, penetration {self.penetration:.2e} m, drift {self.drift:.2e})"
        )
