"""What the handles of a world share: they belong to it, have a name, and say which word was meant where it is wrong."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.arguments import numbers
from delassus.errors import ProblemError, nearest

if TYPE_CHECKING:
    from delassus.world.world import World


class Handle:
    """Part of a world, found by its name. Holds no numbers: it reads and sets those of the world."""

    __slots__ = ("_index", "_world")

    def __init__(self, world: "World", index: int):
        object.__setattr__(self, "_world", world)
        object.__setattr__(self, "_index", index)

    _world: "World"
    _index: int

    @property
    def label(self) -> str:
        """How messages call it."""
        return type(self).__name__.lower()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.label} has no {name!r}; {nearest(name, _words(self))}")

    def __setattr__(self, name: str, value: Any) -> None:
        found = getattr(type(self), name, None)
        if not isinstance(found, property):
            raise AttributeError(f"{self.label} has no {name!r} to set; {nearest(name, _words(self, settable=True))}")
        if found.fset is None:
            raise AttributeError(f"{self.label}: {name} is read, not assigned{self._instead_of(name)}")
        found.fset(self, value)

    def _instead_of(self, name: str) -> str:
        """How to change what this word reads, the end of a sentence."""
        del name
        return ""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (other._world, other._index) == (self._world, self._index)

    def __hash__(self) -> int:
        return hash((type(self), id(self._world), self._index))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._world, self._index)


def _words(handle: Handle, *, settable: bool = False) -> list[str]:
    """Words of a handle that are not private."""
    kind = type(handle)
    words = [name for name in dir(kind) if not name.startswith("_")]
    if not settable:
        return words
    return [w for w in words if isinstance(getattr(kind, w), property) and getattr(kind, w).fset is not None]


def find(name: Any, names: tuple[str, ...], what: str) -> int:
    """The number of that name; what: "joint" or "body", for the complaint."""
    try:
        return names.index(name)
    except ValueError:
        pass
    if not isinstance(name, str):
        raise ProblemError(f"world.{what}({name!r}): give a name, one of {', '.join(names) or 'none'}")
    if not names:
        raise ProblemError(f"there is no {what} {name!r}: this world has none")
    raise ProblemError(f"there is no {what} {name!r}; {nearest(name, list(names))}")


def finite(value: Any, what: str, unit: str) -> float:
    """One finite number."""
    if type(value) is float and math.isfinite(value):  # nearly always
        return value
    out = numbers(value)
    if out.shape not in ((), (1,)) or not np.isfinite(out).all():
        raise ProblemError(f"{what} is {value!r}: give one finite number [{unit}]")
    return float(out.reshape(()))
