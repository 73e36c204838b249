"""What cannot be read out of states (torques, reactions, contact forces, anything computed) is noted as the world
moves, where somebody asked for it beforehand."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.errors import ProblemError, SettingsError, nearest
from delassus.world.history import Series

if TYPE_CHECKING:
    from delassus.world.world import World

Reading = Callable[["World"], Any]

JOINT_WORDS = {"torque": "N m", "force": "N", "reaction": "N, N m", "target": "rad, m", "effort": "N m, N"}
BODY_WORDS = {"contact_force": "N"}
TENDON_WORDS = {"force": "N, N m"}


class Watched:
    """Quantities that are noted after every step, by name."""

    def __init__(self) -> None:
        self._readings: dict[str, tuple[Reading, str]] = {}
        self._t: dict[str, list[float]] = {}
        self._values: dict[str, list[np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self._readings)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._readings

    def add(self, world: "World", name: str, function: Reading | None) -> None:
        """Note `name` from now on: a word of a handle, or what a function of the world returns."""
        if function is None:
            self._readings[name] = _reading(world, name)
        elif callable(function):
            self._readings[name] = (function, "-")
        else:
            raise SettingsError(f"watch({name!r}): {function!r} is no function of the world")
        self._t[name], self._values[name] = [], []

    def look(self, world: "World") -> None:
        """After a step."""
        for name, (read, _) in self._readings.items():
            value = np.array(read(world), dtype=float)
            self._t[name].append(world.time)
            self._values[name].append(value.reshape(-1) if value.ndim else value)

    def forget_after(self, t: float) -> None:
        """Drop what is later than t [s]."""
        for name, times in self._t.items():
            keep = int(np.searchsorted(times, t, side="right"))
            del times[keep:], self._values[name][keep:]

    def fresh(self) -> "Watched":
        """A watch of these quantities with nothing noted yet."""
        out = Watched()
        out._readings = dict(self._readings)
        for name in self._readings:
            out._t[name], out._values[name] = [], []
        return out

    def series(self, name: str) -> Series:
        """What was noted of one of them."""
        return Series(name, self._readings[name][1], np.array(self._t[name]), np.array(self._values[name]))


class _Word:
    """Reads a word of a joint or body; an object, so that worlds that watch can be pickled."""

    def __init__(self, kind: str, owner: str, word: str):
        self.kind, self.owner, self.word = kind, owner, word

    def __call__(self, world: "World") -> Any:
        return getattr(getattr(world, self.kind)(self.owner), self.word)


def _reading(world: "World", name: str) -> tuple[Reading, str]:
    kind, _, rest = str(name).partition(":")
    owner, _, word = rest.rpartition(".")
    all_words = {"joint": JOINT_WORDS, "body": BODY_WORDS, "tendon": TENDON_WORDS}
    words = all_words.get(kind)
    if words is None or word not in words:
        known = [f"{what}:….{w}" for what, some in all_words.items() for w in some]
        hint = nearest(word, list(words)) if words else "known: " + ", ".join(known)
        raise ProblemError(f"watch({name!r}): give a function of the world, too, or such a name; {hint}")
    read = _Word(kind, owner, word)
    read(world)  # complains of names that are not there
    return read, words[word]
