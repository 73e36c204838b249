"""Symmetric systems by PARDISO from Intel's MKL, called directly: its Python wrapper copies and hashes the matrix at
every call, which doubles the time of a solve.

Blocks go to PARDISO as they are (iparm 37): the order is then found on the graph of bodies, several times faster.
"""

import ctypes
import glob
import sys
from functools import cache

import numpy as np

from delassus.linalg.symmetric import Pattern

_ANALYSE, _FACTOR, _SOLVE, _RELEASE = 11, 22, 33, -1
_DEFINITE, _INDEFINITE = 2, -2
_ONE, _SILENT = ctypes.c_int32(1), ctypes.c_int32(0)


@cache
def _library() -> ctypes.CDLL | None:
    """MKL's single dynamic library where pip installs it, or on the system's path."""
    places = [f"{sys.prefix}/lib/libmkl_rt.so*", f"{sys.prefix}/Library/bin/mkl_rt*.dll"]
    for name in [path for place in places for path in sorted(glob.glob(place))] + ["libmkl_rt.so", "mkl_rt.dll"]:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.pardiso.restype = None
        return library
    return None


def pardiso_is_there() -> bool:
    """Can MKL be loaded?"""
    return _library() is not None


class Pardiso:
    """Cholesky (definite) or LDLᵀ of a symmetric matrix; the analysis is done at the first factorisation.

    order: (block rows,) int32, the fill-reducing order of another instance with the same pattern, or None to find one;
    afterwards it holds the one used."""

    def __init__(
        self, pattern: Pattern, *, definite: bool, single: bool, threads: int, order: np.ndarray | None = None
    ):
        library = _library()
        assert library is not None
        self.library = library
        self.threads = threads
        self.pattern = pattern
        self.indptr = np.ascontiguousarray(pattern.indptr, np.int32)
        self.indices = np.ascontiguousarray(pattern.indices, np.int32)
        self.kind = np.float32 if single else np.float64
        self.memory = np.zeros(64, np.int64)
        self.options = _options(pattern.block, single, definite)
        self.values = np.empty(len(self.indices) * pattern.block**2, self.kind)
        self.right, self.left = np.empty(pattern.size, self.kind), np.empty(pattern.size, self.kind)
        self.order = np.zeros(len(self.indptr) - 1, np.int32) if order is None else order.copy()
        self.options[4] = 2 if order is None else 1
        self.error, self.phase = ctypes.c_int32(0), ctypes.c_int32(0)
        kind, size = ctypes.c_int32(_DEFINITE if definite else _INDEFINITE), ctypes.c_int32(len(self.indptr) - 1)
        self.arguments = (
            _at(self.memory), ctypes.byref(_ONE), ctypes.byref(_ONE), ctypes.byref(kind), ctypes.byref(self.phase),
            ctypes.byref(size), _at(self.values), _at(self.indptr), _at(self.indices), _at(self.order),
            ctypes.byref(_ONE), _at(self.options), ctypes.byref(_SILENT), _at(self.right), _at(self.left),
            ctypes.byref(self.error),
        )  # fmt: skip
        self.analysed = False

    def factor(self, values: np.ndarray) -> bool:
        self.values[:] = values.reshape(-1)
        if not self.analysed:
            self.analysed = self._call(_ANALYSE)
        return self.analysed and self._call(_FACTOR)

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        self.right[:] = right
        self._call(_SOLVE)
        out[:] = self.left

    def _call(self, phase: int) -> bool:
        self.phase.value = phase
        before = self.library.MKL_Set_Num_Threads_Local(self.threads)
        self.library.pardiso(*self.arguments)
        self.library.MKL_Set_Num_Threads_Local(before)
        return self.error.value == 0

    def release(self) -> None:
        """Give the memory back; the next factorisation starts from the order, which is kept."""
        if self.analysed:
            self._call(_RELEASE)
            self.analysed = False
            self.memory[:] = 0
            self.options[4] = 1

    def __del__(self):
        if getattr(self, "analysed", False):
            self._call(_RELEASE)


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


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
