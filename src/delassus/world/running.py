"""Many steps of a world: with a control function, an end found out on the way, a line of progress, a recording."""

import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any

from delassus.arguments import numbers
from delassus.errors import DelassusWarning, SettingsError
from delassus.scenes import MOST_STEPS
from delassus.simulation.many_steps import Trouble
from delassus.waiting import clock
from delassus.world.progress import Progress
from delassus.world.recording import recorder_for

if TYPE_CHECKING:
    from delassus.world.world import World

Control = Callable[["World"], None]
Until = Callable[["World"], Any]

_CHUNK = 1000  # steps between two looks at the clock of the progress line
_ROUNDING = 1e-9  # of a step


@dataclass(frozen=True)
class Ran:
    """What a call of `run` did.  steps: how many; t: time at its end [s]; seconds: of the wall clock, without
    those spent compiling; was_stopped: did `until` end it?  trouble: what did not converge or make sense."""

    steps: int
    t: float
    seconds: float
    was_stopped: bool
    trouble: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Did every step converge and make sense?"""
        return not self.trouble

    def __repr__(self) -> str:
        how = ", stopped" if self.was_stopped else ""
        speed = f", {self.steps / self.seconds:.3g} steps/s" if self.seconds > 0.0 and self.steps else ""
        return "\n".join([f"Ran({self.steps} steps to t = {self.t:.6g} s{how}{speed})", *self.trouble])


def steps_of(count: int | None, seconds: float | None, h: float) -> int:
    """How many steps were asked for, by number or by time [s], the last one perhaps going a little beyond."""
    if (count is None) == (seconds is None):
        raise SettingsError("run: say how long, run(1000) for steps or run(seconds=2.0), one of the two")
    if seconds is not None:
        time = numbers(seconds)
        if time.shape != () or not 0.0 <= time < math.inf or time / h > MOST_STEPS:
            raise SettingsError(f"run: seconds is {seconds!r}: give a time of at most {MOST_STEPS} steps [s]")
        return math.ceil(float(time) / h - _ROUNDING)
    if not isinstance(count, Integral) or isinstance(count, bool) or not 0 <= int(count) <= MOST_STEPS:
        raise SettingsError(f"run({count!r}): give a whole number of steps, or a time: run(seconds={count!r})")
    return int(count)


def run(
    world: "World",
    count: int | None,
    seconds: float | None,
    control: Control | None,
    every: float | None,
    until: Until | None,
    progress: bool,
    record: str | PathLike[str] | None,
    overwrite: bool,
) -> Ran:
    """`World.run`."""
    h = world.settings.h
    total = steps_of(count, seconds, h)
    period = _period(control, every, h)
    for name, function in (("control", control), ("until", until)):
        if function is not None and not callable(function):
            raise SettingsError(f"run: {name} is {function!r}: give a function of the world")
    recorder = None if record is None else recorder_for(world, record, total, overwrite)
    line = Progress(total, h) if progress else None
    begun, done, was_stopped = clock(), 0, False
    world._trouble_of_run = trouble = Trouble()
    next_call = 0.0  # in steps
    with recorder or nullcontext():
        world._recorder = recorder
        try:
            while done < total and not was_stopped:
                if control is not None and done >= next_call - _ROUNDING:
                    _called(control, world)
                    next_call += period
                ahead = total - done
                if control is not None:
                    ahead = min(ahead, max(1, math.ceil(next_call - _ROUNDING) - done))
                if until is not None:
                    ahead = 1
                done += world._take(ahead if line is None else min(ahead, _CHUNK))
                was_stopped = until is not None and bool(until(world))
                if line is not None:
                    line.show(done, world.time)
        finally:
            world._recorder = None
            world._trouble_of_run = None
            if line is not None:
                line.show(done, world.time, is_last=True)
    if not trouble.ok:
        text = (
            f"run: of {done} steps {trouble.not_converged} did not converge and {trouble.suspicious} are suspicious: "
        )
        warnings.warn(text + "; ".join(trouble.texts), DelassusWarning, stacklevel=3)
    return Ran(done, world.time, clock() - begun, was_stopped, tuple(trouble.texts))


def _period(control: Control | None, every: float | None, h: float) -> float:
    """Steps between two calls of the control function."""
    if every is None:
        return 1.0
    if control is None:
        raise SettingsError("run: every= is how often control= is called: give a control function, too")
    time = numbers(every)
    if time.shape != () or not 0.0 < time < math.inf:
        raise SettingsError(f"run: every is {every!r}: give the time between two calls of control [s]")
    return max(1.0, float(time) / h)


def _called(control: Control, world: "World") -> None:
    answer: Any = control(world)  # type: ignore[func-returns-value]
    if answer is not None:
        raise SettingsError(
            f"run: the control function returned {answer!r}, which nobody reads: let it set targets and efforts, as in "
            "world.joint('hinge').effort = 2.0"
        )
