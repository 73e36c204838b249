"""Running a model in tests: states and reports of every step."""

from dataclasses import dataclass

import numpy as np

from delassus.dynamics import Inputs
from delassus.model.state import State
from delassus.simulation import Memory, StepReport, StepSettings, step


@dataclass
class Trajectory:
    states: list[State]
    reports: list[StepReport]

    @property
    def t(self):
        return np.array([s.t for s in self.states])

    def q(self, body=0):
        return np.array([s.q[body] for s in self.states])

    def u(self, body=0):
        return np.array([s.u[body] for s in self.states])

    @property
    def energy(self):
        return np.array([sum(r.energy) for r in self.reports])

    @property
    def drift(self):
        return max(r.drift for r in self.reports)

    @property
    def all_converged(self):
        return all(r.solution.converged for r in self.reports)


def simulate(model, state, duration, *, inputs=None, **settings) -> Trajectory:
    """Every step from the state on; inputs: function of time returning keyword arguments of Inputs.of."""
    how, memory = StepSettings(**settings), Memory()
    states, reports = [state], []
    for _ in range(round(duration / how.h)):
        given = None if inputs is None else Inputs.of(model, **inputs(state.t))
        state, report = step(model, state, given, how, memory)
        states.append(state)
        reports.append(report)
    return Trajectory(states, reports)
