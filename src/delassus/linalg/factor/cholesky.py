"""Cholesky factors of full matrices by LAPACK: MKL's where it is installed, since its threads can be counted.

SciPy's own takes all cores there are, and where others use them too it may be twenty times slower than with one.
"""

import ctypes

import numpy as np
from scipy.linalg import lapack

from delassus.kernel import njit
from delassus.linalg.blas_threads import threads_for
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
        if mkl() is not None:
            return self._call("dpotrf")
        if not len(A):
            return True
        with threads_for(len(A)):
            self.L, info = lapack.dpotrf(A.T, lower=0, overwrite_a=1)
        self.L = self.L.T
        return bool(info == 0)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, (n,)."""
        if mkl() is None:
            return lapack.dpotrs(self.L.T, right, lower=0)[0] if self.size else right.copy()
        out = right.copy()
        self._call("dpotrs", out)
        return out

    def inverse(self) -> np.ndarray:
        """A⁻¹, (n, n), in place of the factors."""
        if mkl() is None:
            self.L = lapack.dpotri(self.L.T, lower=0)[0].T if self.size else self.L
        else:
            self._call("dpotri")
        mirror(self.L)
        return self.L

    def _call(self, name: str, right: np.ndarray | None = None) -> bool:
        """Is MKL content? Lower triangles by rows are upper ones by columns, which LAPACK takes."""
        library = mkl()
        assert library is not None
        if not self.size:
            return True
        n, one, info = ctypes.c_int32(self.size), ctypes.c_int32(1), ctypes.c_int32(0)
        size, L = ctypes.byref(n), ctypes.c_void_p(self.L.ctypes.data)
        if right is None:
            arguments = [size, L, size]
        else:
            arguments = [size, ctypes.byref(one), L, size, ctypes.c_void_p(right.ctypes.data), size]
        before = library.MKL_Set_Num_Threads_Local(self.threads)
        getattr(library, name)(ctypes.c_char_p(b"U"), *arguments, ctypes.byref(info))
        library.MKL_Set_Num_Threads_Local(before)
        return info.value == 0


@njit(cache=True)
def mirror(A):
    """The upper triangle like the lower one."""
    for i in range(len(A)):
        for j in range(i):
            A[j, i] = A[i, j]
