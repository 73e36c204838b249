"""What a step remembers for the next: reactions by block name, where the next solve starts from."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import instance, numbers
from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_WIDTH = 6  # reactions of a block: no joint has more rows
_NO_NAMES, _NO_REACTIONS = np.zeros(0, np.uint64), np.zeros((0, _WIDTH))


class Named(Protocol):
    """Blocks of rows that have names: `dynamics.Rows`, for one."""

    @property
    def names(self) -> np.ndarray: ...

    @property
    def cone(self) -> ProductCone: ...


class Memory:
    """Reactions of the last step by block name. Part of the state for exact resume.

    names: (n,) uint64, ascending; reactions: (n, 6) [N s]; low: (n, 6), their second doubles, or None where one was
    enough."""

    def __init__(
        self, names: ArrayLike | None = None, reactions: ArrayLike | None = None, low: ArrayLike | None = None
    ):
        self.names = _NO_NAMES if names is None else _names(names)
        self.reactions = _NO_REACTIONS if reactions is None else np.ascontiguousarray(numbers(reactions))
        self.low = None if low is None else np.ascontiguousarray(numbers(low))
        for name, array in (("reactions", self.reactions), ("low", self.low)):
            if array is not None and array.shape != (len(self.names), _WIDTH):
                expected = f"({len(self.names)}, {_WIDTH}), one row per name"
                raise SettingsError(f"Memory: {name} has shape {array.shape}, expected {expected}")

    def __repr__(self) -> str:
        return f"Memory(reactions of {len(self.names)} blocks)"

    def recall(self, rows: Named) -> np.ndarray:
        """λ for these rows: remembered for blocks known by name, zero for new ones; (m,), or (2, m) with second doubles
        [N s]."""
        out = np.empty(rows.cone.row_count)
        recall_reactions(self.names, self.reactions, rows.names, rows.cone.block_start, out)
        if self.low is None:
            return out
        both = np.stack([out, out])
        recall_reactions(self.names, self.low, rows.names, rows.cone.block_start, both[1])
        return both

    def store(self, rows: Named, reactions: np.ndarray) -> None:
        """Keep the reactions, (m,) or (2, m) as `recall` gives them, under their blocks' names."""
        order = np.empty(len(rows.names), np.int64)
        sort_names(rows.names, order)
        self.names, self.reactions, self.low = np.empty_like(rows.names), np.empty((len(order), _WIDTH)), None
        if reactions.ndim == 2:
            self.low = np.empty_like(self.reactions)
            store_reactions(rows.names, order, rows.cone.block_start, reactions[1], self.names, self.low)
            reactions = reactions[0]
        store_reactions(rows.names, order, rows.cone.block_start, reactions, self.names, self.reactions)

    def become(self, other: "Memory") -> None:
        """Take over what another one remembers."""
        instance(other, Memory, "Memory.become")
        self.names, self.reactions, self.low = other.names, other.reactions, other.low

    def copy(self) -> "Memory":
        """One that the next `store` leaves alone."""
        out = object.__new__(Memory)  # after every step: what is an array already need not be looked at
        out.names, out.reactions, out.low = self.names, self.reactions, self.low
        return out


def _names(names: ArrayLike) -> np.ndarray:
    """(n,) uint64, ascending."""
    found = np.asarray(names)
    if found.ndim != 1 or not (found.dtype.kind in "ui" or found.size == 0):
        raise SettingsError(f"Memory: names is {names!r}: give names of blocks, whole numbers (n,)")
    out = np.ascontiguousarray(found, np.uint64)
    if (out[1:] < out[:-1]).any():
        raise SettingsError("Memory: names must ascend: sort them, and the rows of reactions with them")
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def sort_names(names, order):
    """order: (n,) such that names[order] ascends. By insertion: they come nearly so, pair by pair."""
    for k in range(len(names)):
        at = k
        while at > 0 and names[order[at - 1]] > names[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def recall_reactions(known, reactions, names, block_start, out):
    """out: (m,) what is known of the blocks by name, zero for new ones.  known: (n,) ascending."""
    for k in range(len(names)):
        first, last = 0, len(known)
        while first < last:
            middle = (first + last) // 2
            if known[middle] < names[k]:
                first = middle + 1
            else:
                last = middle
        found = first < len(known) and known[first] == names[k]
        for i in range(block_start[k], block_start[k + 1]):
            out[i] = reactions[first, i - block_start[k]] if found else 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def store_reactions(names, order, block_start, reactions, kept, table):
    """The reactions of the blocks, in this order, into kept (n,) names and table (n, 6)."""
    for p in range(len(order)):
        k = order[p]
        kept[p] = names[k]
        for a in range(table.shape[1]):
            i = block_start[k] + a
            table[p, a] = reactions[i] if i < block_start[k + 1] else 0.0
