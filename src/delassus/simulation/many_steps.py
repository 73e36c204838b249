"""Many steps as a function; and what went wrong in them, in sentences."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

from delassus.errors import SettingsError
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.memory import Memory
from delassus.simulation.report import StepReport
from delassus.simulation.run import Asked, InputFunction, Run
from delassus.simulation.settings import StepSettings, changed_settings, check_arguments, check_function

Watcher = Callable[[int, State, StepReport, Memory], None]

_MOST_KINDS = 5  # of sentences that are told


def simulate(
    model: Model,
    state: State,
    inputs: InputFunction | None = None,
    settings: StepSettings | None = None,
    steps: int | range = 1,
    *,
    memory: Memory | None = None,
    watch: Watcher | None = None,
) -> State:
    """Take some steps; the state after the last.

    inputs: called with the time that second order asks for, where the rows are evaluated, and the state before the
    step; steps: how many, or their numbers; memory: where the first solve starts from, filled after every step; watch:
    called with (number, state, report, memory) after each, to record or display it. Without it, steps are taken in
    compiled code as far as that goes, with the same bits.

    >>> import delassus
    >>> builder = delassus.ModelBuilder()
    >>> ball = builder.body("ball", shapes=delassus.Sphere(0.1), density=1000.0)
    >>> model, state = builder.build()
    >>> round(delassus.simulate(model, state, steps=100, settings=delassus.StepSettings(h=1e-3)).t, 6)
    0.1
    """
    check_function(inputs, "simulate")
    check_arguments(model, state, None, memory)
    settings, memory = changed_settings(settings, {}, "simulate"), Memory() if memory is None else memory
    if not isinstance(steps, range):
        if not isinstance(steps, Integral) or steps < 0:
            raise SettingsError(f"simulate: steps is {steps!r}: give how many, zero or more, or a range of numbers")
        steps = range(int(steps))
    if not (watch is None or callable(watch)):
        raise SettingsError(f"simulate: watch is {watch!r}: give a function (number, state, report, memory), or None")
    if not steps:
        return state
    run = Run(model, state, settings, memory)
    numbers = iter(steps)

    def after(count: int) -> None:
        assert watch is not None
        watch(next(numbers), run.state, run.report, memory)

    try:
        asked = Asked(model, inputs, settings, "simulate")
        run.advance(len(steps), asked, after=None if watch is None else after, are_reported=watch is not None)
    finally:
        memory.become(run.memory)
    return run.state


@dataclass
class _Note:
    """A kind of sentence: the step that said it first, what it said, and how many did."""

    first: int
    text: str
    count: int = 0


class Trouble:
    """What reports of steps complain of: each kind of sentence once, with the step that said it first.

    steps: how many were looked at; not_converged, suspicious: how many of them were so."""

    def __init__(self) -> None:
        self.steps = self.not_converged = self.suspicious = 0
        self._failures: dict[str, _Note] = {}
        self._signs: dict[str, _Note] = {}

    def look_back(self, run: Run, count: int) -> None:
        """At so many steps that were taken in one call: those in compiled code converged and make sense."""
        if run.reported is None:
            self.steps += count
        else:
            self.look(run.steps - 1, run.reported)

    def look(self, k: int, report: StepReport) -> None:
        """k: number of the step."""
        self.steps += 1
        if report.ok:
            return
        status = report.solution.status
        if not report.solution.converged:
            self.not_converged += 1
            _note(self._failures, k, f"{status.value.replace('_', ' ')}: {status.advice}")
        self.suspicious += bool(report.warnings)
        for text in report.warnings:
            _note(self._signs, k, text)

    @property
    def ok(self) -> bool:
        """Did every step converge and make sense?"""
        return self.not_converged == self.suspicious == 0

    @property
    def warnings(self) -> list[str]:
        """A line per kind of what did not make sense, the most frequent first."""
        return _lines(self._signs)

    @property
    def texts(self) -> list[str]:
        """The same, and before it what did not converge."""
        return _lines(self._failures) + self.warnings


def _note(kinds: dict[str, _Note], k: int, text: str) -> None:
    """Count a sentence with those that differ in numbers alone."""
    note = kinds.setdefault(re.sub(r"[0-9][0-9.e+-]*", "", text), _Note(k, text))
    note.count += 1


def _lines(kinds: dict[str, _Note]) -> list[str]:
    often = sorted(kinds.values(), key=lambda note: -note.count)
    lines = [f"{note.count} steps, first step {note.first}: {note.text}" for note in often[:_MOST_KINDS]]
    more = len(often) - _MOST_KINDS
    return lines + ([f"and {more} other warnings"] if more > 0 else [])
