"""Symmetric systems by PARDISO from Intel's MKL.

Blocks go to PARDISO as they are (iparm 37): the order is then found on the graph of bodies, several times faster.
"""

import numpy as np

from delassus.linalg.factor.mkl import ANALYSE, FACTOR, SOLVE, PardisoHandle, mkl
from delassus.linalg.factor.symmetric import Pattern

_DEFINITE, _INDEFINITE = 2, -2
_SOLVED_AT_ONCE = 64  # right sides in one call: six times faster than one by one; 256 are slower again
_ORDER_GIVEN, _ORDER_WANTED = 1, 2  # what PARDISO does with `order`: iparm 5


def pardiso_is_there() -> bool:
    """Can MKL be loaded?"""
    return mkl() is not None


class Pardiso:
    """Cholesky (definite) or LDLᵀ of a symmetric matrix; the analysis is done at the first factorisation.

    order: (block rows,) int32, the fill-reducing order of another instance with the same pattern, or None to find one;
    afterwards it holds the one used."""

    def __init__(
        self, pattern: Pattern, *, definite: bool, single: bool, threads: int, order: np.ndarray | None = None
    ):
        self.kind = np.float32 if single else np.float64
        self.values = np.empty(len(pattern.indices) * pattern.block**2, self.kind)
        self.right, self.left = np.empty(pattern.size, self.kind), np.empty(pattern.size, self.kind)
        self.options = _options(pattern.block, single, definite)
        self.options[4] = _ORDER_WANTED if order is None else _ORDER_GIVEN
        self.order = np.zeros(len(pattern.indptr) - 1, np.int32) if order is None else order.copy()
        self.handle = PardisoHandle(
            _DEFINITE if definite else _INDEFINITE,
            pattern.indptr,
            pattern.indices,
            self.values,
            self.right,
            self.left,
            self.options,
            threads,
            self.order,
        )
        self.analysed = False

    def factor(self, values: np.ndarray) -> bool:
        self.values[:] = values.reshape(-1)
        self.analysed = self.analysed or self.handle.call(ANALYSE)
        return self.analysed and self.handle.call(FACTOR)

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        self.right[:] = right
        if self.handle.call(SOLVE):
            out[:] = self.left
        else:
            out[:] = np.nan

    def solve_many(self, right: np.ndarray) -> np.ndarray:
        out = np.empty(right.shape)
        for first in range(0, len(right), _SOLVED_AT_ONCE):
            found = self.handle.solve_many(right[first : first + _SOLVED_AT_ONCE].astype(self.kind, copy=False))
            out[first : first + _SOLVED_AT_ONCE] = np.nan if found is None else found
        return out

    def release(self) -> None:
        """Give the memory back; the next factorisation starts from the order, which is kept."""
        if self.analysed:
            self.handle.release()
            self.analysed = False
            self.options[4] = _ORDER_GIVEN


def _options(block: int, single: bool, definite: bool) -> np.ndarray:
    """iparm, numbered from zero as in Intel's C reference."""
    options = np.zeros(64, np.int32)
    options[0] = 1  # no defaults
    options[1] = 2  # nested dissection
    options[9] = 8 if definite else 10  # pivots below 10^-… of the norm are replaced
    options[10] = 0  # no scaling: the caller does that
    options[12] = 0 if definite else 1  # matchings for indefinite systems
    options[20] = 1  # Bunch–Kaufman pivots
    options[27] = int(single)
    options[34] = 1  # count from zero
    options[36] = block if block > 1 else 0
    return options
