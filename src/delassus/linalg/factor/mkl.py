"""Intel's MKL, where pip or the system has installed it: the library and one PARDISO handle."""

import ctypes
import glob
import sys
from functools import cache

import numpy as np

ANALYSE, FACTOR, SOLVE, FORGET, RELEASE = 11, 22, 33, 0, -1
"""Phases of PARDISO; the last two give back the memory of the factors, and all of it."""


@cache
def mkl() -> ctypes.CDLL | None:
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


class PardisoHandle:
    """One matrix pattern in PARDISO, called through preallocated arrays: the usual Python wrapper copies and hashes the
    matrix at every call, which doubles the time of a solve.

    kind: PARDISO's matrix type; pointer, column: compressed rows (of blocks), counted from zero; values, right, left:
    contiguous arrays of the caller's that every call reads or writes; options: iparm, counted from zero as in Intel's C
    reference; order: (rows,) int32, the fill-reducing order that PARDISO reads or writes if the options say so."""

    def __init__(
        self,
        kind: int,
        pointer: np.ndarray,
        column: np.ndarray,
        values: np.ndarray,
        right: np.ndarray,
        left: np.ndarray,
        options: np.ndarray,
        threads: int,
        order: np.ndarray | None = None,
    ):
        library = mkl()
        assert library is not None
        self.library, self.threads = library, threads
        self.memory = np.zeros(64, np.int64)
        order = np.zeros(1, np.int32) if order is None else order
        starts, columns = np.ascontiguousarray(pointer, np.int32), np.ascontiguousarray(column, np.int32)
        self.arrays = starts, columns, values, right, left, options, order  # kept alive: PARDISO has their addresses
        self.phase, self.error = ctypes.c_int32(0), ctypes.c_int32(0)
        one, silent, matrix = ctypes.c_int32(1), ctypes.c_int32(0), ctypes.c_int32(kind)
        size = ctypes.c_int32(len(pointer) - 1)
        self.arguments = (
            *(_at(self.memory), ctypes.byref(one), ctypes.byref(one), ctypes.byref(matrix)),
            *(ctypes.byref(self.phase), ctypes.byref(size), _at(values), _at(starts)),
            *(_at(columns), _at(order), ctypes.byref(one), _at(options)),
            *(ctypes.byref(silent), _at(right), _at(left), ctypes.byref(self.error)),
        )
        self.used = False

    def call(self, phase: int) -> bool:
        """Did PARDISO succeed?"""
        self.used = True
        self.phase.value = phase
        before = self.library.MKL_Set_Num_Threads_Local(self.threads)
        self.library.pardiso(*self.arguments)
        self.library.MKL_Set_Num_Threads_Local(before)
        return self.error.value == 0

    def solve_many(self, right: np.ndarray) -> np.ndarray | None:
        """(k, n), row i the solution for row i of `right`, (k, n), of the kind of the values; None where it failed."""
        right = np.ascontiguousarray(right)
        out, count, arguments = np.empty_like(right), ctypes.c_int32(len(right)), self.arguments
        self.arguments = (*arguments[:10], ctypes.byref(count), *arguments[11:13], _at(right), _at(out), arguments[15])
        works = self.call(SOLVE)
        self.arguments = arguments
        return out if works else None

    def release(self) -> None:
        """Give PARDISO's memory back; the next call must be an analysis."""
        if self.used:
            self.call(RELEASE)
            self.memory[:] = 0
            self.used = False

    def __del__(self) -> None:
        if hasattr(self, "used"):
            self.release()


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
