"""What a recording is of: enough to refuse to continue it with anything else."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from delassus import __version__
from delassus.errors import FileError
from delassus.model.model import Model
from delassus.model.state import State

FORMAT = 2
_READ = (1, FORMAT)  # 1: without the turns of joint angles, which were then known within (−π, π] only
_LATER = {"coordinates": "maximal"}
"""Settings that came later, with what recordings without them were made with."""

# Defaults of format 1 that are others now: (then, now). A run made with the old ones goes on with the new ones.
_CHANGED = {
    "tol_velocity": (1e-6, "auto"),
    "stabilisation.contact": (0.1, 1.0),
    "stabilisation.closure": (1e-9, 1e-12),
}


@dataclass(frozen=True)
class About:
    """scene: name and parameters: its arguments; settings: of the steps, as plain values; model, start: hashes;
    bodies, joints, coordinates: names; goal: steps the run was meant to have in the end."""

    scene: str
    parameters: dict[str, Any]
    settings: dict[str, Any]
    model: str
    start: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    coordinates: tuple[str, ...]
    goal: int
    version: str = __version__
    format: int = FORMAT

    @classmethod
    def of(
        cls,
        model: Model,
        state: State,
        settings: Any,
        *,
        scene: str = "",
        parameters: Mapping[str, Any] | None = None,
        goal: int = 0,
    ) -> "About":
        """Of a run that starts from this state."""
        return cls(
            scene,
            plain(parameters or {}),
            plain(settings),
            model.hash,
            state.hash,
            model.body_names,
            model.joints.names,
            model.joints.coordinate_names,
            goal,
        )

    def to_text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str, name: str) -> "About":
        """Inverse of `to_text`; name: of the file, for the complaint."""
        damaged = FileError(f"{name}: about is not what a recording says of itself: damaged, or not a recording")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise damaged from None
        if not isinstance(found, dict) or set(found) != {field.name for field in fields(cls)}:
            raise damaged
        if type(found["format"]) is not int or found["format"] not in _READ:
            raise FileError(f"{name}: format {found['format']!r}, this version reads up to {FORMAT}: update delassus")
        lists = ("bodies", "joints", "coordinates")
        texts = all(isinstance(found[key], str) for key in ("scene", "model", "start", "version"))
        names = all(isinstance(found[key], list) and all(isinstance(n, str) for n in found[key]) for key in lists)
        tables = isinstance(found["parameters"], dict) and isinstance(found["settings"], dict)
        if not (texts and names and tables and type(found["goal"]) is int):
            raise damaged
        words = [found["scene"], found["version"], *(name for key in lists for name in found[key])]
        if not all(word.isprintable() for word in words):
            raise FileError(f"{name}: has names with characters for control: damaged, or not a recording")
        known: dict[str, Any] = {key: tuple(value) if key in lists else value for key, value in found.items()}
        return cls(**known)

    def difference(self, other: "About") -> str | None:
        """What keeps `other` from continuing this recording, in a few words; None if nothing does. Settings that came
        after an older recording was made are not held against it."""
        if self.version != other.version:
            return f"was made by delassus {self.version}, this is {other.version}"
        if self.scene != other.scene:
            return f"is of the scene {self.scene!r}, not {other.scene!r}"
        for what, mine, yours in (
            ("parameter", self.parameters, other.parameters),
            ("setting", self.settings, other.settings),
        ):
            a, b = _paths(mine), _paths(yours)
            if what == "setting":
                a, b = _LATER | a, _LATER | b
            if self.format < other.format:
                a, b = ({key: table[key] for key in a.keys() & b.keys()} for table in (a, b))
                a |= {key: now for key, (then, now) in _CHANGED.items() if (a.get(key), b.get(key)) == (then, now)}
            # names that both have come first: `threads = 2, not 1` says more than settings one solver alone has
            for key in sorted(a | b, key=lambda key: key not in a or key not in b):
                if a.get(key) != b.get(key):
                    return f"has the {what} {key} = {a.get(key)}, not {b.get(key)}"
        if self.model != other.model:
            return "is of another model"
        return None if self.start == other.start else "starts from another state"

    def is_continued_by(self, other: "About") -> bool:
        """Is a part with `other` the same run, resumed by a version that writes a newer format?"""
        names = (self.bodies, self.joints, self.coordinates) == (other.bodies, other.joints, other.coordinates)
        return self.format < other.format and names and self.difference(other) is None


def plain(value: Any) -> Any:
    """Settings and parameters as dictionaries, lists, numbers and texts: what JSON keeps to the last bit."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value.item() if isinstance(value, np.generic) else value


def _paths(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted keys."""
    out: dict[str, Any] = {}
    for key, value in table.items():
        out |= _paths(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value}
    return out
