"""Reading a recording."""

from bisect import bisect_right
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from delassus.errors import FileError, ProblemError
from delassus.io.files import path_of
from delassus.io.place import label
from delassus.io.recording.about import About
from delassus.io.recording.by_name import (
    BodyRecord,
    FlexibleRecord,
    JointRecord,
    PairRecord,
    TendonRecord,
    body_record,
    flexible_record,
    joint_record,
    pair_record,
    tendon_record,
)
from delassus.io.recording.columns import JUDGED, STATUSES, is_ragged
from delassus.io.recording.model_file import FILE, read_model
from delassus.io.recording.parts import STEM, Part, part_paths
from delassus.io.recording.schema import check_columns, check_values
from delassus.io.recording.trajectory import Trajectory
from delassus.joints import JOINTS
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory

FOLDER = "recording"
MAX_BYTES = 8 * 1024**3
_COUNTED = {c.name for kind in JOINTS.values() for c in kind.coordinates if c.counts_turns}
_MEMORY = {"names", "reactions"}  # what a memory always holds


class Recording(Trajectory):
    """A trajectory whose columns are read when asked for.

    directory: what was given to the run, or the folder with the parts; max_bytes: most that may be held in memory at a
    time [bytes]. Raises `FileError` for anything but consecutive, undamaged parts."""

    def __init__(self, directory: str | Path, *, max_bytes: int = MAX_BYTES):
        super().__init__({})
        folder = path_of(directory, "Recording")
        self._label = label(folder)
        self._paths = part_paths(folder / FOLDER) or part_paths(folder)
        if not self._paths:
            raise FileError(f"{self._label}: holds no recording: check the path")
        self._bytes_left = max_bytes
        self._shapes: list[dict[str, tuple[int, ...]]] = []
        self._formats: list[int] = []
        self._firsts: list[int] = []
        self._part_in_hand: tuple[str, int, np.ndarray] | None = None
        self._loaded: dict[str, np.ndarray] = {}
        self._look()
        if self.step_count and self.array("solver/status").max() >= len(STATUSES):
            raise FileError(f"{self._label}: solver/status has values without meaning: damaged")

    def _look(self) -> None:
        """Headers of all parts: the same run, one after the other, complete."""
        expected, run = 0, None
        for path in self._paths:
            with Part(path) as part:
                self.about = About.from_text(part.about(), label(path))
                # a resumed run may be meant to be longer than it was at first; all else is the same
                run, before = replace(self.about, goal=0), run
                if before is not None and before != run and not before.is_continued_by(run):
                    how = before.difference(run) or "has other names"
                    part.fail(
                        f"belongs to another run, the part before it {how}: remove it to keep the steps before it"
                    )
                shapes = part.shapes()
                if self.about.format == 1:
                    shapes |= _no_turns(shapes, len(self.about.coordinates))
                steps = _step_count(part, shapes, self.about)
                if int(path.stem.removeprefix(STEM)) != expected:
                    part.fail(f"is not the next one, which would start at step {expected}: a part is missing")
                self._firsts.append(expected)
                expected += steps
            self._shapes.append(shapes)
            self._formats.append(self.about.format)
        self._step_count = expected

    @property
    def step_count(self) -> int:
        return self._step_count

    @property
    def counts_turns(self) -> bool:
        """Are the turns of joint angles known at the end? In older recordings they are not, and read as zero."""
        return self._formats[-1] > 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._shapes[-1] | self._shapes[0])

    @property
    def has_model(self) -> bool:
        """Does it hold the model? Those of older versions do not."""
        return (self._paths[0].parent / FILE).exists()

    @cached_property
    def model(self) -> Model:
        """What moved: shapes, masses, joints, materials, names, colours, meshes. Forces of the user's own, which are
        programs, are not part of it."""
        found = read_model(self._paths[0].parent)
        if found is None:
            raise FileError(
                f"{self._label}: was made by a version that did not keep the model: resume it once, or build the model"
            )
        if (found.body_names, found.joints.names) != (self.about.bodies, self.about.joints):
            raise FileError(f"{self._label}: {FILE} is the model of another run: damaged")
        return found

    def state(self, k: int) -> State:
        """After k steps; negative: counted from the end."""
        try:
            return super().state(k)
        except ProblemError as error:
            raise FileError(f"{self._label}: after {k} steps: {error}: damaged") from None

    def body(self, name: str) -> BodyRecord | FlexibleRecord:
        """Where a body was, moving or flexible, how fast, and the resultant of its contacts, over all steps."""
        return flexible_record(self, name) if name in self.flexible_names else body_record(self, name)

    def joint(self, name: str) -> JointRecord:
        """Coordinates and reactions of a joint over all steps."""
        return joint_record(self, name)

    def tendon(self, name: str) -> TendonRecord:
        """Length and force of a tendon over all steps."""
        return tendon_record(self, name)

    def between(self, first: str, second: str) -> PairRecord:
        """Every contact of two bodies; "world" is all that is fixed. Forces are those on the second."""
        return pair_record(self, first, second)

    def memory(self) -> Memory:
        """What the solve after the last step would start from."""
        fresh, shapes = Memory(), self._shapes[-1]
        with Part(self._paths[-1]) as part:
            found = {name.removeprefix("memory/") for name in shapes if name.startswith("memory/")}
            if not found:
                return fresh
            lengths = {shapes[f"memory/{name}"][:1] for name in found}
            if found - {"low"} != _MEMORY or len(lengths) != 1:
                part.fail("memory/ is not what a solve starts from: damaged")
            arrays = {name: part.read(f"memory/{name}") for name in found}
            for name, array in arrays.items():
                wanted = getattr(fresh, "reactions" if name == "low" else name)
                if array.dtype != wanted.dtype or array.shape[1:] != wanted.shape[1:]:
                    part.fail(f"memory/{name} is {array.dtype} {array.shape}: damaged")
        return Memory(**arrays)

    def _load(self, name: str) -> np.ndarray:
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def _nodes_at(self, name: str, k: int) -> np.ndarray:
        """From one part: all nodes of all steps may be far more than memory holds."""
        if k == 0:
            return super()._nodes_at(name, k)
        p = bisect_right(self._firsts, k - 1) - 1
        if self._part_in_hand is None or self._part_in_hand[:2] != (name, p):
            with Part(self._paths[p]) as part:
                self._part_in_hand = name, p, part.read(name)
        return self._part_in_hand[2][k - 1 - self._firsts[p]]

    def _read(self, name: str) -> np.ndarray:
        only_first = name.startswith("start/")
        parts = []
        is_turns = name in ("turns", "start/turns")
        whole = list(zip(self._paths, self._shapes, self._formats))
        for path, shapes, form in whole[: 1 if only_first else None]:
            if name in shapes and is_turns and form == 1:
                parts.append(np.zeros(shapes[name], np.int64))
            elif name in shapes:
                with Part(path) as part:
                    self._charge(name, shapes[name])
                    parts.append(part.read(name))
                    if is_turns and parts[-1].dtype != np.int64:
                        part.fail(f"{name} is {parts[-1].dtype}, expected whole numbers: damaged")
            elif name in JUDGED and "contacts/gap" in shapes:  # written before contacts were judged one by one
                parts.append(np.full(shapes["contacts/gap"], np.nan, np.float32))
        try:
            out = parts[0] if len(parts) == 1 else np.concatenate(parts)
        except ValueError:
            raise FileError(f"{self._label}: {name} changes its shape from part to part: damaged") from None
        check_values(self._label, name, out, self.about)
        return self._unwrapped(out) if name == "joints/coordinate" and 1 in self._formats else out

    def _unwrapped(self, coordinates: np.ndarray) -> np.ndarray:
        """Angles that parts of format 1 hold within (−π, π], with their turns as far as steps of less than half a turn
        tell them.  coordinates: (N, n_d)."""
        old = sum(shapes["t"][0] for shapes, form in zip(self._shapes, self._formats) if form == 1 and "t" in shapes)
        for d, name in enumerate(self.about.coordinates[: coordinates.shape[-1]]):
            if name.rpartition(".")[2] in _COUNTED:
                coordinates[:old, d] = np.unwrap(coordinates[:old, d])
        return coordinates

    def _charge(self, name: str, shape: tuple[int, ...]) -> None:
        self._bytes_left -= 8 * int(np.prod(shape, dtype=object))
        if self._bytes_left < 0:
            raise FileError(f"{self._label}: {name} does not fit in memory: raise max_bytes if it is meant to")

    def __repr__(self) -> str:
        about = self.about
        return f"{super().__repr__()[:-1]}, {about.scene or 'no scene'}, h = {about.settings.get('h')} s)"


def _no_turns(shapes: dict[str, tuple[int, ...]], coordinates: int) -> dict[str, tuple[int, ...]]:
    """What a part of format 1 does not have, read as zeros."""
    steps = {"turns": (*shapes["t"][:1], coordinates)} if "t" in shapes else {}
    return {"start/turns": (coordinates,), **steps}


def _step_count(part: Part, shapes: dict[str, tuple[int, ...]], about: About) -> int:
    """Steps in a part, all columns agreeing."""
    bodies, free = len(about.bodies), len(about.coordinates)
    start = {"t": (1,), "q": (bodies, 7), "u": (bodies, 6), "energy": (2,), "turns": (free,)}
    for name, shape in ((f"start/{key}", shape) for key, shape in start.items()):
        if shapes.get(name) != shape:
            part.fail(f"{name} has shape {shapes.get(name)}, expected {shape}: damaged, or not a recording")
    steps = shapes.get("t", (0,))[0] if shapes.get("t", (0,)) else -1
    if "t" in shapes and shapes.get("turns") != (steps, free):
        part.fail(f"turns has shape {shapes.get('turns')}, expected {(steps, free)}: damaged")
    if "start/nodes" in shapes:
        _check_nodes(part, shapes, steps)
    groups = [group for group in ("contacts", "limits", "exact") if f"{group}/count" in shapes]
    totals = {group: int(part.read(f"{group}/count").sum()) for group in groups}
    for name, shape in shapes.items():
        if name.startswith(("start/", "memory/")):
            continue
        wanted = totals.get(name.partition("/")[0], -1) if is_ragged(name) else steps
        if not shape or shape[0] != wanted:
            part.fail(f"{name} has {shape[0] if shape else 'no'} entries, expected {wanted}: damaged")
    check_columns(part, shapes, about)
    return steps


def _check_nodes(part: Part, shapes: dict[str, tuple[int, ...]], steps: int) -> None:
    """Nodes and velocities of flexible bodies, as many at the start as after every step."""
    each = (*shapes["start/nodes"][:1], 3)
    for name, wanted in (
        ("start/nodes", each),
        ("start/node_velocity", each),
        ("nodes", (steps, *each)),
        ("node_velocity", (steps, *each)),
    ):
        if (name.startswith("start/") or "t" in shapes) and shapes.get(name) != wanted:
            part.fail(f"{name} has shape {shapes.get(name)}, expected {wanted}: damaged")
