"""What every peer returns."""

import numpy as np

Answer = tuple[np.ndarray, int, str, float, str]
"""Reactions (m,), iterations, the status it claims in our words, seconds, and a note."""
