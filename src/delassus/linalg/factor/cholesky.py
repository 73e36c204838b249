"""Cholesky factors of full matrices by LAPACK: MKL's where it is installed, since its threads can be counted.

SciPy's own takes all cores there are, and where others use them too it may be twenty times slower than with one.
"""

import ctypes

import numpy as np
from scipy.linalg import lapack

from delassus.linalg.factor.mkl import mkl


class Cholesky:
    """Of one matrix after the other, (n, n), symmetric."""

    def __init__(self, size: int, threads: int):
        self.size, self.threads = size, threads
        self.L = np.empty((size, size))

    def factor(self, A: np.ndarray) -> bool:
        """Factor A, (n, n), by rows, of which the lower triangle is read and overwritten; False where it is not
        positive definite."""
        self.L = A
        if self._call("dpotrf"):
            return True
        if mkl() is not None:
            return False
        self.L, info = lapack.dpotrf(A.T, lower=0, overwrite_a=1)
        self.L = self.L.T
        return bool(info == 0)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, (n,)."""
        out = right.copy()
        if self._call("dpotrs", out):
            return out
        return lapack.dpotrs(self.L.T, right, lower=0)[0]

    def _call(self, name: str, right: np.ndarray | None = None) -> bool:
        """Is MKL there, and content? Lower triangles by rows are upper ones by columns, which LAPACK takes."""
        library = mkl()
        if library is None:
            return False
        n, one, info = ctypes.c_int32(self.size), ctypes.c_int32(1), ctypes.c_int32(0)
        size, L = ctypes.byref(n), ctypes.c_void_p(self.L.ctypes.data)
        arguments = (size, L, size) if right is None else (
            size, ctypes.byref(one), L, size, ctypes.c_void_p(right.ctypes.data), size
        )  # fmt: skip
        before = library.MKL_Set_Num_Threads_Local(self.threads)
        getattr(library, name)(ctypes.c_char_p(b"U"), *arguments, ctypes.byref(info))
        library.MKL_Set_Num_Threads_Local(before)
        return info.value == 0
