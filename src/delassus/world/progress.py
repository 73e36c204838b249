"""A line that says how far a run is."""

import sys
from time import monotonic

from delassus.waiting import clock

_PERIOD = 0.2  # s between two lines: drawing must not cost more than stepping


class Progress:
    """Time, steps per second and what is left, on stderr, over and over in the same line; compiling is no stepping."""

    def __init__(self, steps: int, h: float):
        self._steps, self._h, self._begun, self._next, self._width = steps, h, clock(), 0.0, 0

    def show(self, done: int, t: float, *, is_last: bool = False) -> None:
        """done: steps taken; t: simulated time [s]."""
        now = monotonic()
        if now < self._next and not is_last:
            return
        self._next = now + _PERIOD
        wall = max(clock() - self._begun, 1e-9)
        speed = done / wall
        left = "" if is_last else f", {(self._steps - done) / max(speed, 1e-9):.0f} s left"
        share = 100.0 * done / max(self._steps, 1)
        text = f"t = {t:.3f} s  {share:3.0f} %  {speed:.3g} steps/s, {speed * self._h:.2g} × real time{left}"
        self._width = max(self._width, len(text))
        sys.stderr.write("\r" + text.ljust(self._width) + ("\n" if is_last else ""))
        sys.stderr.flush()
