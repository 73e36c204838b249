"""What runs with flexible bodies are asked."""

import numpy as np

from delassus.io.recording import Trajectory
from delassus.model.model import Model


def mean_velocity(model: Model, run: Trajectory, k: int) -> np.ndarray:
    """Of the centre of mass of all flexible bodies after k steps, (3,) [m/s]."""
    assert model.flexible is not None
    mass = model.flexible.elements.nodal_mass
    return mass @ run.state(k).node_velocity / mass.sum()


def weight(model: Model) -> float:
    """Of everything that moves [N]."""
    nodes = 0.0 if model.flexible is None else float(model.flexible.elements.nodal_mass.sum())
    return float(np.linalg.norm(model.gravity)) * (float(model.mass.sum()) + nodes)
