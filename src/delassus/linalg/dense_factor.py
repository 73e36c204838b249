"""Small symmetric systems by LAPACK on the full matrix."""

import numpy as np
from scipy.linalg import lapack

from delassus.linalg.symmetric import Pattern


class DenseFactor:
    """Cholesky, or Bunch–Kaufman for indefinite matrices."""

    def __init__(self, pattern: Pattern, definite: bool):
        n = pattern.size
        row, column, source = pattern.full()
        lower = row >= column
        self.definite = definite
        self.at = row[lower] + n * column[lower]  # in Fortran order
        self.source = source[lower]
        self.full = np.zeros(n * n)
        self.size = n
        self.pivots: np.ndarray | None = None
        self.L = np.zeros((0, 0))

    def factor(self, values: np.ndarray) -> bool:
        self.full[self.at] = values.reshape(-1)[self.source]
        A = self.full.reshape(self.size, self.size, order="F")
        if self.definite:
            self.L, info = lapack.dpotrf(A, lower=1, clean=0)
        else:
            self.L, self.pivots, info = lapack.dsytrf(A, lower=1)
        return info == 0

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        if self.definite:
            out[:] = lapack.dpotrs(self.L, right, lower=1)[0]
        else:
            out[:] = lapack.dsytrs(self.L, self.pivots, right, lower=1)[0]
