"""The contacts of one configuration."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.machine import Pool

_SMALL = 800  # contacts: for fewer, asking the pool takes longer than fresh memory


class ContactColumns(NamedTuple):
    """The fields of Contacts that rigid bodies have, as compiled code writes them."""

    bodies: np.ndarray
    shapes: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    gap: np.ndarray
    mu: np.ndarray
    restitution: np.ndarray
    feature: np.ndarray


def empty_columns(n: int, pool: Pool | None = None) -> tuple[np.ndarray, ...]:
    """The fields of ContactColumns for n contacts, uninitialised."""
    kinds = ((n, 2), np.int64), ((n, 2), np.int32), ((n, 3), float), ((n, 3, 3), float), *[((n,), float)] * 3
    wanted = (*kinds, ((n,), np.uint64))
    if pool is None or n < _SMALL:
        return tuple([np.empty(shape, kind) for shape, kind in wanted])
    return pool.take(*wanted)


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """n contacts, sorted by the two shapes and, within a pair, in an order that depends on the geometry only."""

    bodies: np.ndarray  # (n, 2) A, B; −1 for the world
    shapes: np.ndarray  # (n, 2) rows of ShapeArrays, A < B; their count + number of a flexible body for its surface
    point: np.ndarray  # (n, 3) midway between the two surface points [m]
    frame: np.ndarray  # (n, 3, 3) rows n, t1, t2, right-handed; n points from A to B
    gap: np.ndarray  # (n,) negative when penetrating [m]
    mu: np.ndarray  # (n,)
    restitution: np.ndarray  # (n,)
    feature: np.ndarray  # (n,) uint64, unique, the same from step to step as long as the same features touch
    # Of flexible surfaces: the velocity of B against A is that of the bodies, and Σ weights · velocities of the nodes.
    nodes: np.ndarray | None = None  # (n, 4), −1 for none; None: rigid bodies alone
    weights: np.ndarray | None = None  # (n, 4), positive on side B, negative on side A

    @cached_property
    def data(self) -> tuple[np.ndarray, ...]:
        """Fields of `ContactColumns`."""
        pairs = self.bodies, self.shapes
        return (*pairs, self.point, self.frame, self.gap, self.mu, self.restitution, self.feature)

    @property
    def normal(self) -> np.ndarray:
        """(n, 3) from A to B."""
        return self.frame[:, 0]

    def where(self, keep: np.ndarray) -> "Contacts":
        """Some of them, by mask or numbers."""
        columns: Any = (getattr(self, name) for name in self.__dataclass_fields__)
        kept: Any = (None if column is None else column[keep] for column in columns)
        return Contacts(*kept)

    def rod_lengths(self, q: np.ndarray) -> np.ndarray:
        """(n,) from the centre of A over the point to the centre of B [m]: the sum of the radii of two spheres; of what
        touches the world, twice its own part; zero between flexible bodies.  q: (n_b, 7) poses."""
        known = self.bodies >= 0
        centres = q[np.where(known, self.bodies, 0), :3]
        parts = np.where(known, np.linalg.norm(centres - self.point[:, None], axis=2), 0.0)
        return parts.sum(axis=1) * np.where(known.all(axis=1), 1.0, 2.0)

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        if not len(self):
            return "Contacts(none)"
        pairs = len(np.unique(self.shapes, axis=0))
        soft = 0 if self.nodes is None else int((self.nodes >= 0).any(axis=1).sum())
        where = f", {soft} of them on flexible bodies" * bool(soft)
        return (
            f"Contacts({len(self)} points of {pairs} pairs{where}, gaps {self.gap.min():.3g} … {self.gap.max():.3g} m)"
        )


NO_CONTACTS = Contacts(*empty_columns(0))
"""Of bodies without shapes."""
