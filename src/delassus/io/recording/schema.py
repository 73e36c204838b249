"""What a part of a recording must hold: every column with its shape and kind, and values that mean something."""

from collections.abc import Mapping

import numpy as np

from delassus.errors import FileError
from delassus.io.recording.about import About
from delassus.io.recording.columns import STAGES
from delassus.io.recording.parts import Part

_ANY = -1  # as many as the model has
_REAL, _WHOLE, _TEXT = "f", "iu", "S"
_MOST_AT_ONCE = 2**31  # contacts of a step
_OF_STEPS: dict[str, tuple[tuple[int, ...], str]] = {
    "t": ((), _REAL),
    "energy": ((2,), _REAL),
    "drift": ((), _REAL),
    "penetration": ((), _REAL),
    "solver/iterations": ((), _WHOLE),
    "solver/name": ((), _TEXT),
    "solver/natural_map_relative": ((), _REAL),
    "solver/status": ((), _WHOLE),
    "solver/worst_velocity": ((), _REAL),
    "contacts/count": ((), _WHOLE),
    "limits/count": ((), _WHOLE),
    "joints/drive": ((_ANY,), _REAL),
    "joints/friction": ((_ANY,), _REAL),
    "joints/reaction": ((_ANY,), _REAL),
    **{f"times/{stage}": ((), _REAL) for stage in STAGES},
    "contacts/bodies": ((2,), _WHOLE),
    "contacts/feature": ((), _WHOLE),
    "contacts/force": ((3,), _REAL),
    "contacts/gap": ((), _REAL),
    "contacts/mu": ((), _REAL),
    "contacts/normal": ((3,), _REAL),
    "contacts/point": ((3,), _REAL),
    "contacts/slip": ((3,), _REAL),
    "contacts/status": ((), _WHOLE),
    "limits/coordinate": ((), _WHOLE),
    "limits/force": ((), _REAL),
    "limits/is_upper": ((), _WHOLE),
}
"""Columns of parts with steps: the shape of an entry, and kinds of NumPy's types."""


def check_columns(part: Part, shapes: Mapping[str, tuple[int, ...]], about: About) -> None:
    """Refuse a part with steps that lacks a column, or has one of another shape or kind."""
    bodies = len(about.bodies)
    own = {"q": ((bodies, 7), _REAL), "u": ((bodies, 6), _REAL), "joints/coordinate": ((_ANY,), _REAL)}
    if "t" not in shapes:
        extra = [name for name in shapes if not name.startswith(("start/", "memory/"))]
        if extra:
            part.fail(f"has a column {extra[0]} and no times t: damaged")
        return
    for name, (entry, kind) in (_OF_STEPS | own).items():
        if name not in shapes:
            part.fail(f"{name} is missing: damaged, or not a part of a recording")
        shape = shapes[name][1:]
        fits = len(shape) == len(entry) and all(want in (_ANY, has) for want, has in zip(entry, shape))
        if not fits or part.kinds.get(name, kind) not in kind:
            part.fail(f"{name} has entries of shape {shape} and kind {part.kinds.get(name)!r}: damaged")
    if part.kinds.get("start/q") != "f" or part.kinds.get("start/t") != "f":
        part.fail("the first state is not of numbers: damaged")
    times = np.concatenate([part.read("start/t"), part.read("t")])
    if not np.isfinite(times).all() or (np.diff(times) < 0.0).any():
        part.fail("t holds times that are not finite, or run backwards: damaged")
    for name in ("contacts/count", "limits/count"):
        counts = part.read(name)
        if counts.size and not (counts.min() >= 0 and counts.max() < _MOST_AT_ONCE):
            part.fail(f"{name} holds {counts.min()} … {counts.max()}: damaged")


def check_values(who: str, name: str, values: np.ndarray, about: About) -> None:
    """Refuse numbers of bodies that are not there, and kinds of contact that there are not."""
    ranges = {"contacts/bodies": (-1, len(about.bodies)), "contacts/status": (0, 3)}
    if name in ranges and values.size:
        low, end = ranges[name]
        if not (values.min() >= low and values.max() < end):
            raise FileError(f"{who}: {name} holds {values.min()} … {values.max()}, which mean nothing: damaged")
