"""The non-negative orthant (reactions of limits), its own dual."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Orthant:
    """R₊ⁿ: a limit only pushes."""

    dim: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def contains(self, x: ArrayLike, tol: float = 0.0) -> bool:
        """Is no entry below −tol?"""
        return bool(np.all(np.asarray(x) >= -tol))

    def project(self, x: ArrayLike) -> np.ndarray:
        """max(0, x) (Tsounis et al. 2025, eq. 147)."""
        return np.maximum(np.asarray(x, dtype=float), 0.0)

    def project_dual(self, x: ArrayLike) -> np.ndarray:
        """Projection onto the dual cone, which is the orthant itself."""
        return self.project(x)

    def distance(self, x: ArrayLike) -> np.ndarray:
        """max(0, −x) per entry, (dim,)."""
        return np.maximum(-np.asarray(x, dtype=float), 0.0)
