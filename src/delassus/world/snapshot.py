"""A moment of a world, to come back to."""

from dataclasses import dataclass

import numpy as np

from delassus.simulation import Memory
from delassus.simulation.run import Before
from delassus.world.acting import Acting


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that changes in a world: poses, velocities, turns, nodes, time, what the next solve starts from, what
    acts, and what the last step started from. Can be pickled; belongs to one model (its hash)."""

    model: str
    q: np.ndarray
    u: np.ndarray
    t: float
    turns: np.ndarray
    nodes: np.ndarray
    node_velocity: np.ndarray
    steps: int
    memory: Memory
    acting: Acting
    before: Before | None

    def __repr__(self) -> str:
        nodes = f", {len(self.nodes)} nodes" if len(self.nodes) else ""
        return f"Snapshot(t = {self.t:.6g} s, {len(self.q)} bodies{nodes}, after {self.steps} steps)"
