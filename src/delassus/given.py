"""Numbers as people give them."""

from typing import Any

import numpy as np


def numbers(value: Any) -> np.ndarray:
    """A new array of numbers; for what is none, one without entries in a shape that nobody asks for, so that whoever
    checks shapes complains of it in words of their own."""
    try:
        if value is not None and np.asarray(value).dtype.kind not in "USV":  # NumPy reads numbers out of texts, too
            return np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        pass
    return np.empty((0, 0, 0, 0))
