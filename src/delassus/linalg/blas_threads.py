"""How many threads the BLAS and LAPACK of NumPy and SciPy take: one while a step or a solve is under way.

Matrices here are small, and OpenBLAS wakes all cores for them: eight slider-cranks took 20.8 ms a step instead of 0.86.
Few factors are large enough; they get back what the user had. MKL is told its threads at every call (factor/mkl.py).
"""

import ctypes
import sys
from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

LARGE = 1500
"""Unknowns from which the threads of a factorisation pay."""

_NAMES = [
    (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
    for prefix in ("scipy_", "")
    for suffix in ("64_", "", "_64", "64")
]


@cache
def libraries() -> tuple[tuple[Any, Any], ...]:
    """What asks each OpenBLAS that NumPy and SciPy have loaded for its number of threads, and what sets it. Another
    BLAS is left alone."""
    import numpy.linalg._umath_linalg as of_numpy
    import scipy.linalg._flapack as of_scipy

    found = []
    for module in (of_numpy, of_scipy):
        path = Path(str(module.__file__))
        places = [path]  # a symbol is looked for in what a library is linked to as well, but on Windows
        if sys.platform == "win32":
            places += sorted(path.parents[2].glob(f"{module.__name__.partition('.')[0]}.libs/*openblas*.dll"))
        for place in places:
            library = ctypes.CDLL(str(place))
            for get, put in _NAMES:
                if hasattr(library, get) and hasattr(library, put):
                    found.append((getattr(library, get), getattr(library, put)))
                    break
    return tuple(found)


class _OneThread(ContextDecorator):
    """Sets the number at the outermost entry of whoever is inside, and gives it back when the last one leaves."""

    def __init__(self) -> None:
        self.lock, self.inside = Lock(), 0
        self.given_back: list[tuple[Any, int]] = []  # what sets the number of a library, and what it was

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.given_back = [(put, count) for get, put in libraries() if (count := get()) > 1]
                for put, _ in self.given_back:
                    put(1)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                for put, count in self.given_back:
                    put(count)


class _AsBefore(AbstractContextManager[None]):
    """The user's threads again, inside `one_thread`."""

    def __enter__(self) -> None:
        for put, count in one_thread.given_back if one_thread.inside else ():
            put(count)

    def __exit__(self, *_: object) -> None:
        for put, _count in one_thread.given_back if one_thread.inside else ():
            put(1)


one_thread = _OneThread()
"""`with one_thread:`, or a decorator: BLAS takes one thread meanwhile, in the whole process."""


def threads_for(size: int) -> AbstractContextManager[None]:
    """Around a factorisation of so many unknowns: the user's threads where they pay."""
    return _AsBefore() if size >= LARGE else nullcontext()
