"""Waiting for the compiler: a clock that stands still meanwhile, and what somebody is told who waits. In a terminal or
a notebook that is one line that changes every half second, what is compiled, how many so far, how long; elsewhere, in a
log, one sentence. Commands show `line()` in their own way."""

import logging
import sys
import threading
from time import perf_counter
from typing import Any

from numba.core import event

from delassus.kernel.compile_time import spent

LONG = 1.0  # seconds of compiling after which somebody wonders what is going on
PERIOD = 0.5  # between two changes of the line
_GAP = 1.0  # seconds without compiling after which the line is done: a first step compiles one kernel after another
SENTENCE = "delassus compiles its kernels: this happens once and is remembered; time limits do not count it"
_logger = logging.getLogger("delassus.compiling")


def clock() -> float:
    """Seconds since some moment [s], of this thread, without those spent compiling."""
    return perf_counter() - spent.seconds


class Waiting(event.Listener):
    """Kernels that were and are compiled, in all threads."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0  # that are done, and how long they took
        self._now, self._depth, self._begun, self._ended = "", 0, 0.0, 0.0
        self._lock, self._is_said = threading.Lock(), False
        self._teller: threading.Thread | None = None

    def on_start(self, event: Any) -> None:
        """A kernel, or a part of one."""
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._now, self._begun = _name(event), perf_counter()
            if self._teller is None:
                self._teller = threading.Thread(target=self._tell, daemon=True, name="delassus-waiting")
                self._teller.start()

    def on_end(self, event: Any) -> None:
        """It is done."""
        with self._lock:
            if not self._depth:  # it began before we listened
                return
            self._depth -= 1
            if self._depth == 0:
                self._ended = perf_counter()
                self.seconds += self._ended - self._begun
                self.count += 1

    @property
    def is_at_work(self) -> bool:
        """Is something compiled now, or was just before?"""
        return self._depth > 0 or (self.count > 0 and perf_counter() - self._ended < _GAP)

    def line(self) -> str:
        """What is compiled now, how many so far, how long; empty where nothing is, or not long enough to tell."""
        took = self.seconds + (perf_counter() - self._begun if self._depth else 0.0)
        if not self.is_at_work or took < LONG:
            return ""
        return f"compiling kernels, once: {self.count} done in {took:.0f} s, now {self._now}"

    def _tell(self) -> None:
        """Until nothing has been compiled for a while."""
        pause, width = threading.Event(), 0
        while True:
            pause.wait(PERIOD)
            with self._lock:
                text = self.line()
                if not self.is_at_work:
                    self._teller = None
                    break
            if text and not self._is_said and not _is_seen():
                self._is_said = True
                _logger.warning(SENTENCE)
            if text and _is_seen() and not _logger.disabled:
                width = max(width, len(text))
                _write("\r" + text.ljust(width))
        if width:
            _write("\r" + f"compiled {self.count} kernels in {self.seconds:.0f} s".ljust(width) + "\n")


def _name(event: Any) -> str:
    function = (event.data or {}).get("dispatcher", None)
    return getattr(getattr(function, "py_func", None), "__name__", "one")


def _is_seen() -> bool:
    """Does somebody look at a line that is written over and over?"""
    stream = sys.stderr
    is_notebook = type(stream).__module__.startswith("ipykernel")
    return stream is not None and (is_notebook or (hasattr(stream, "isatty") and stream.isatty()))


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # closed meanwhile
        pass


waiting = Waiting()
"""Of this process."""

event.register("numba:compile", waiting)
