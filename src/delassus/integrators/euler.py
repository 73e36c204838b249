"""Semi-implicit Euler: rows at the start of the step, positions with the new velocities (paper 003 eq. 10)."""

import numpy as np

from delassus.integrators.motion import moved


class SemiImplicitEuler:
    """First order; the constraint error of a curved path is h²/2 per step."""

    lead = 0.0  # of a step: how far ahead rows are evaluated

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated: here."""
        del u, h
        return q

    def advance(self, q: np.ndarray, at: np.ndarray, u_before: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """q + h u⁺."""
        del at, u_before
        return moved(q, u, h)
