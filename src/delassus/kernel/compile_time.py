"""Seconds that Numba's compiler has taken, by thread. A solve's clock stands still while kernels are compiled (half a
minute, once per machine) or loaded from Numba's cache (half a second, once per process): neither is time a method
needs, and a time limit must not count it.

Numba tells when its compiler is at work. A thread that waits for what another one compiles waits with a stopped clock.
Meanwhile Python does not look for garbage: the compiler makes so many objects that this took a tenth of its time.
"""

import gc
import threading
from time import perf_counter
from typing import Any

from numba.core import event

_WORKS = "numba:compiler_lock"  # it compiles, or loads from the cache


class _Spent(threading.local):
    """Of one thread: seconds compiled so far, when the event under way began, and how deep events nest."""

    seconds = 0.0
    begin = 0.0
    depth = 0


class _Compiler(event.Listener):
    """Adds up, thread by thread, the seconds between the first start and the last end of events that nest."""

    def __init__(self, spent: _Spent):
        self.spent = spent
        self._lock, self._threads, self._collects = threading.Lock(), 0, True  # those at work or waiting for it

    def on_start(self, event: Any) -> None:
        """Numba begins to compile or to load."""
        here = self.spent
        if here.depth == 0:
            here.begin = perf_counter()
            self._count(1)
        here.depth += 1

    def on_end(self, event: Any) -> None:
        """Numba is done with it."""
        here = self.spent
        if not here.depth:  # it began before we listened
            return
        here.depth -= 1
        if here.depth == 0:
            here.seconds += perf_counter() - here.begin
            self._count(-1)

    def _count(self, change: int) -> None:
        """One thread more or less: the first stops the search for garbage, the last lets it go on as it was."""
        with self._lock:
            if self._threads == 0:
                self._collects = gc.isenabled()
                gc.disable()
            self._threads += change
            if self._threads == 0 and self._collects:
                gc.enable()


spent = _Spent()
"""Of the thread that asks: `spent.seconds`."""

_compiler = _Compiler(spent)
event.register(_WORKS, _compiler)
