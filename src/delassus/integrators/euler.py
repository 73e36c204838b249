"""Semi-implicit Euler: rows at the start of the step, positions with the new velocities (paper 003 eq. 10)."""

import numpy as np


class SemiImplicitEuler:
    """First order; the constraint error of a curved path is h²/2 per step."""

    lead = 0.0  # of a step: how far ahead rows are evaluated

    def predict(self, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
        """Where gaps, rows and masses are evaluated: here."""
        del u, h
        return q
