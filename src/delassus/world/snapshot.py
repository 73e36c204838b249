"""A moment of a world, to come back to."""

from dataclasses import dataclass, field

import numpy as np

from delassus.dynamics import Inputs
from delassus.model.state import State
from delassus.simulation import Memory, StepSettings
from delassus.world.acting import Acting


@dataclass(frozen=True, eq=False)
class Before:
    """What a step started from: enough to take it again, bit for bit, and so to report on it."""

    state: State
    memory: Memory
    inputs: Inputs
    settings: StepSettings


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that changes in a world: poses, velocities, turns, nodes, time, what the next solve starts from, what
    acts, and what the last step started from. Can be pickled; belongs to one model (its hash)."""

    model: str
    q: np.ndarray
    u: np.ndarray
    t: float
    turns: np.ndarray
    steps: int
    memory: Memory
    acting: Acting
    before: Before | None
    nodes: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    node_velocity: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def __repr__(self) -> str:
        nodes = f", {len(self.nodes)} nodes" if len(self.nodes) else ""
        return f"Snapshot(t = {self.t:.6g} s, {len(self.q)} bodies{nodes}, after {self.steps} steps)"
