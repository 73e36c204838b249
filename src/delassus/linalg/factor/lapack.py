"""LAPACK inside compiled code: Gauß elimination with row pivoting, the routine behind `np.linalg.solve`.

`np.linalg.solve` in a kernel is the same call behind checks and messages that take four seconds to compile.
"""

from typing import Any

import llvmlite.binding
import numpy as np
from numba import njit, types
from numba.core import config
from numba.extending import get_cython_function_address

_SYMBOL = "delassus_dgesv"
_INTEGERS, _NUMBERS = types.CPointer(types.int32), types.CPointer(types.float64)
_dgesv: Any = types.ExternalFunction(
    _SYMBOL, types.void(_INTEGERS, _INTEGERS, _NUMBERS, _INTEGERS, _INTEGERS, _NUMBERS, _INTEGERS, _INTEGERS)
)
# by name and not by address, so that kernels that call it can be cached
llvmlite.binding.add_symbol(_SYMBOL, get_cython_function_address("scipy.linalg.cython_lapack", "dgesv"))


@njit(cache=True, error_model="numpy")
def _solve_general(A, b, work, pivots):
    n = len(b)
    for i in range(n):
        for j in range(n):
            work[j, i] = A[i, j]  # LAPACK's columns are rows here
    sizes = np.empty(3, np.int32)
    sizes[0], sizes[1], sizes[2] = n, 1, 0
    size, count, info = sizes[0:1], sizes[1:2], sizes[2:3]
    _dgesv(size.ctypes, count.ctypes, work.ctypes, size.ctypes, pivots.ctypes, b.ctypes, size.ctypes, info.ctypes)
    return sizes[2] == 0


def _solve_plainly(A: np.ndarray, b: np.ndarray, work: np.ndarray, pivots: np.ndarray) -> bool:
    """The same without compiled code."""
    del work, pivots
    try:
        b[:] = np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        return False
    return True


solve_general: Any = _solve_plainly if config.DISABLE_JIT else _solve_general  # type: ignore[attr-defined]
"""solve_general(A, b, work, pivots): b ← A⁻¹ b; False where A is singular.  A: (n, n), b: (n,), work: (n, n) float
and pivots: (n,) int32 are overwritten."""
