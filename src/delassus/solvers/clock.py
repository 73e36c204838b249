"""The clock of a solve. It stands still while kernels are compiled (half a minute, once per machine) or loaded from
Numba's cache (half a second, once per process): neither is time a method needs, and a time limit must not count it.

Numba tells when its compiler is at work. A thread that waits for what another one compiles waits with a stopped clock.
"""

import logging
import threading
from time import perf_counter

from numba.core import event

_LONG = 1.0  # seconds of compilation after which somebody wonders what is going on
_WORKS, _COMPILES = "numba:compiler_lock", "numba:compile"  # the first also while it loads from the cache
_logger = logging.getLogger("delassus.compiling")


class _Compiler(event.Listener):
    """Adds up, thread by thread, the seconds between the first start and the last end of events that nest."""

    def __init__(self):
        self._of_thread = threading.local()
        self._compiles = self._is_announced = False

    @property
    def seconds(self) -> float:
        return getattr(self._of_thread, "seconds", 0.0)

    def on_start(self, event) -> None:
        if event.kind == _COMPILES:
            self._compiles = True
            return
        here = self._of_thread
        depth = getattr(here, "depth", 0)
        if depth == 0:
            here.begin = perf_counter()
        here.depth = depth + 1

    def on_end(self, event) -> None:
        here = self._of_thread
        if event.kind == _COMPILES or not getattr(here, "depth", 0):  # or began before we listened
            return
        here.depth -= 1
        spent = self.seconds + perf_counter() - here.begin
        if here.depth == 0:
            here.seconds = spent
        if spent > _LONG and self._compiles:
            self._announce()

    def _announce(self) -> None:
        """Once per process."""
        if not self._is_announced:
            self._is_announced = True
            _logger.warning(
                "delassus compiles its kernels: this happens once and is remembered; time limits do not count it"
            )


_compiler = _Compiler()
event.register(_WORKS, _compiler)
event.register(_COMPILES, _compiler)


def clock() -> float:
    """Seconds since some moment [s], of this thread, without those spent compiling."""
    return perf_counter() - _compiler.seconds
