"""Writing a recording while a simulation runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from delassus.dynamics.turns import turns_after
from delassus.errors import FileError
from delassus.io.files import path_of
from delassus.io.place import label
from delassus.io.recording.about import About
from delassus.io.recording.columns import Arrays, Columns, memory_arrays, start_arrays
from delassus.io.recording.model_file import FILE, write_model
from delassus.io.recording.parts import part_path, part_paths, write_part
from delassus.io.recording.recording import FOLDER, Recording
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepReport

SAVE_SECONDS = 0.9  # between two saves: a process that is killed loses at most a second
PART_BYTES = 4 * 1024**2  # a part that holds more is finished: saving writes all of it again, a millisecond per MiB
FLUSH_STEPS = 1_000_000  # the same in steps
_LONGEST_CALL = 0.05  # seconds between two looks at the clock, where many steps are taken at once


class Recorder:
    """Collects steps and saves them at least once a second, into a part that grows until it is finished and the next
    begins.

    ahead: how many steps may be taken at once before the next look at the clock.
    Make one with `create` or `resume`; as a context manager it writes what is left when the block ends, however it
    ends."""

    def __init__(self, folder: Path, about: About, model: Model, state: State, first: int, memory: Memory | None):
        self.folder = folder
        self.about = about
        self._first = first  # number of the first step not yet written
        self._columns = Columns(model, state, float(about.settings["h"]))
        self._memory = memory
        self._state: State | Callable[[], State] = state
        self._saved = 0  # steps of the part that are on disk
        self._last_save = self._last_look = monotonic()
        self.ahead = 1

    @classmethod
    def create(
        cls, directory: str | Path, about: About, model: Model, state: State, *, overwrite: bool = False
    ) -> "Recorder":
        """Start a recording in a directory that has none. What cannot be written shows here, not after an hour."""
        folder = path_of(directory, "Recorder.create") / FOLDER
        old = part_paths(folder)
        if old and not overwrite:
            raise FileError(f"{label(directory)}: holds a recording already: resume it or choose another directory")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in old:
                path.unlink()
            (folder / FILE).unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise FileError(f"{label(folder)}: cannot be made a directory ({reason}): choose another") from None
        recorder = cls(folder, about, model, state, 0, None)
        write_model(folder, model)
        recorder._write()
        return recorder

    @classmethod
    def resume(cls, directory: str | Path, about: About, model: Model) -> tuple["Recorder", State, Memory]:
        """Continue a recording where it ends: (recorder, state, memory)."""
        recording = Recording(directory)
        difference = recording.about.difference(about)
        if difference is not None:
            raise FileError(
                f"{label(directory)}: cannot be resumed, this recording {difference}: give the same again or start in "
                "another directory"
            )
        state, memory = recording.state(-1), recording.memory()
        if not recording.counts_turns:
            state = replace(state, turns=_counted_turns(recording, model))
        if not recording.has_model:
            write_model(Path(directory) / FOLDER, model)
        if recording.about.format == about.format:
            about = replace(recording.about, goal=about.goal)
        return cls(Path(directory) / FOLDER, about, model, state, recording.step_count, memory), state, memory

    @property
    def step_count(self) -> int:
        """Steps taken, written or not."""
        return self._first + self._columns.count

    @property
    def written_count(self) -> int:
        """Steps that are on disk."""
        return self._first + self._saved

    def add(self, state: State, report: StepReport, memory: Memory | None = None) -> None:
        """Keep one step; saves when it is time to."""
        self._columns.add(state, report)
        # a copy: the next step replaces the memory's arrays before it is recorded, and an interrupt may come between
        self._state, self._memory = state, None if memory is None else memory.copy()
        self._look(monotonic())

    def keeper(self, steps: int, contacts: int) -> tuple[Any, Arrays]:
        """What keeps so many steps, `ahead` at most, as they are taken in compiled code; `add_taken` comes next.
        contacts: that each may have."""
        return self._columns.keeper(steps, contacts)

    def add_taken(self, steps: int, state: Callable[[], State], memory: Memory) -> None:
        """The steps that the `keeper` has kept count from now on; state, memory: after them, not changed later; the
        state is asked for where a part ends."""
        columns, filled = self._columns, self._columns.written()
        columns.filled, self._state, self._memory = filled, state, memory  # no calls here: an interrupt may come in one
        now = monotonic()
        seconds = now - self._last_look
        if seconds > _LONGEST_CALL:
            self.ahead = max(1, self.ahead // 2)
        elif steps == self.ahead and 2.0 * seconds < _LONGEST_CALL:
            self.ahead *= 2
        self._look(now)

    def _look(self, now: float) -> None:
        """At the clock: is it time to save?"""
        self._last_look = now
        if self._columns.count >= FLUSH_STEPS:
            self.flush()
        elif now - self._last_save > SAVE_SECONDS:
            self._save()
            if self._columns.bytes >= PART_BYTES:
                self._next_part()

    def flush(self) -> None:
        """Write what is left of the steps and begin a new part. If that fails they are kept and can be tried again."""
        if self._columns.count > self._saved:
            self._save()
        self._next_part()

    def _save(self) -> None:
        self._write()
        self._saved = self._columns.count
        self._last_save = monotonic()

    def _next_part(self) -> None:
        self._first += self._saved
        self._saved = 0
        if callable(self._state):
            self._state = self._state()
        self._columns.clear(self._state)

    def _write(self) -> None:
        arrays = start_arrays(self._columns.model, self._columns.start) | self._columns.arrays()
        write_part(part_path(self.folder, self._first), self.about.to_text(), arrays | memory_arrays(self._memory))

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, FileError):  # the disk has just refused: it would again
            self.flush()


def _counted_turns(recording: Recording, model: Model) -> np.ndarray:
    """Turns (n_d,) of joint angles at the end of a recording that did not count them: from its poses and velocities."""
    joints, turns = model.joints, np.zeros(model.joints.coordinate_count, np.int64)
    for k in range(recording.step_count if joints.any_counted else 0):
        state = replace(recording.state(k), turns=turns)
        _, rates = joints.coordinates(joints.frames(state.position, state.rotation))
        mean, dt = 0.5 * (state.u + recording.u[k + 1]), np.full(model.body_count, recording.t[k + 1] - state.t)
        turns = turns_after(joints, recording.q[k + 1], mean, state.coordinates(model), rates, dt)
    return turns
