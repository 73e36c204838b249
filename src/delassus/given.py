"""Numbers as people give them."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.errors import ProblemError


def numbers(value: Any) -> np.ndarray:
    """A new array of numbers; for what is none, one without entries in a shape that nobody asks for, so that whoever
    checks shapes complains of it in words of their own."""
    try:
        if value is not None and np.asarray(value).dtype.kind not in "USV":  # NumPy reads numbers out of texts, too
            return np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        pass
    return np.empty((0, 0, 0, 0))


def positive(kind: str, **sizes: float) -> None:
    """Refuse sizes that are not finite and positive, naming the first bad one."""
    for name, value in sizes.items():
        x = numbers(value)
        if x.shape != () or not (math.isfinite(x) and x > 0):
            raise ProblemError(f"{kind}: {name} is {value!r}, it must be finite and positive")


def points_of(kind: str, name: str, value: ArrayLike) -> np.ndarray:
    """Points as a read-only (n, 3) array, or an error that says what is wrong with them."""
    x = numbers(value)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ProblemError(f"{kind}: {name} has shape {x.shape}, expected (n, 3)")
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise ProblemError(f"{kind}: {name}[{int(np.argmax(bad))}] is not finite")
    x.flags.writeable = False
    return x
