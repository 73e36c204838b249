"""The whole space (reactions of bilateral rows); its dual is the origin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Free:
    """Rⁿ: a joint may push either way, and its constraint velocity must vanish."""

    dim: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def contains(self, x: ArrayLike, tol: float = 0.0) -> bool:
        """Always."""
        del tol
        return bool(np.all(np.isfinite(x)))

    def project(self, x: ArrayLike) -> np.ndarray:
        """x itself."""
        return np.array(x, dtype=float)

    def project_dual(self, x: ArrayLike) -> np.ndarray:
        """The origin."""
        return np.zeros_like(np.asarray(x, dtype=float))

    def distance(self, x: ArrayLike) -> np.ndarray:
        """Zero per entry, (dim,)."""
        return np.zeros(np.shape(x))
