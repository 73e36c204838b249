"""Moreau's midpoint: rows half a step ahead, positions with the mean of old and new velocities."""

import numpy as np

from delassus.integrators.motion import moved


class Moreau:
    """Constraint errors of curved paths are of third order per step, and free flight is of second order."""

    lead = 0.5  # of a step: how far ahead rows are evaluated

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated: q + h/2 u⁻."""
        return moved(q, u, 0.5 * h)
