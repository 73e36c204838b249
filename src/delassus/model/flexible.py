"""The flexible bodies of a model: finite elements, their surfaces, and which nodes are held by what."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.errors import ProblemError, nearest

if TYPE_CHECKING:
    from delassus.fem import Elements

_NO_NODES = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class Welds:
    """Nodes that are held by rigid bodies or by the world.

    node: (n_w,); body: (n_w,), −1 for the world; point: (n_w, 3) where they are held, in the frame of the body at its
    centre of mass, or in the world [m]; velocity: (n_w, 3) of that point itself, in the same axes [m/s]; names: of what
    holds them, (n_w,)."""

    node: np.ndarray
    body: np.ndarray
    point: np.ndarray
    velocity: np.ndarray
    names: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.node)

    def at(self, t: float) -> np.ndarray:
        """Where nodes are held at a time t [s], (n_w, 3), as `point`."""
        return self.point + t * self.velocity


NO_WELDS = Welds(np.zeros(0, np.int64), np.zeros(0, np.int64), _NO_NODES, _NO_NODES)
"""Nothing is held."""


@dataclass(frozen=True, eq=False)
class Flexible:
    """names: of the flexible bodies; elements: of all of them, one after the other; surface: their surfaces as
    collision detection takes them, or None where nothing touches them; sets: nodes by name, "body.set"; load: (n_n, 3)
    forces on nodes that never change [N]."""

    names: tuple[str, ...]
    elements: "Elements"
    surface: Any = None
    welds: Welds = NO_WELDS
    sets: dict[str, np.ndarray] = field(default_factory=dict)
    load: np.ndarray = field(default_factory=lambda: _NO_NODES)

    def __post_init__(self) -> None:
        if len(self.load) != self.node_count:
            object.__setattr__(self, "load", np.zeros((self.node_count, 3)))

    @property
    def node_count(self) -> int:
        return self.elements.node_count

    def nodes_of(self, name: str) -> slice:
        """The nodes of one flexible body."""
        k = self.names.index(name)
        return slice(int(self.elements.node_start[k]), int(self.elements.node_start[k + 1]))

    def named(self, name: Any, who: str) -> np.ndarray:
        """Numbers of the nodes of a body, "beam", or of a set of its, "beam.tip".  who: asks, for the complaint."""
        if name in self.names:
            own = self.nodes_of(name)
            return np.arange(own.start, own.stop)
        if name not in self.sets:
            raise ProblemError(f"{who}: there is no {name!r}; {nearest(str(name), [*self.names, *self.sets])}")
        return self.sets[name]

    def shares(self, nodes: np.ndarray, name: str) -> np.ndarray:
        """How these nodes, found under this name, share a force: those of a body by their masses, so that it is moved
        as a whole, those of a set equally."""
        weight = self.elements.nodal_mass[nodes] if name in self.names else np.ones(len(nodes))
        return weight / weight.sum()

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of everything that matters to motion."""
        digest = hashlib.sha256()
        for mesh, material in zip(self.elements.meshes, self.elements.materials):
            digest.update(mesh.nodes.tobytes())
            digest.update(mesh.elements.tobytes())
            digest.update(repr(material).encode())
        digest.update(self.elements.mass_blocks.tobytes())
        for part in (self.load, self.welds.node, self.welds.body, self.welds.point, self.welds.velocity):
            digest.update(part.tobytes())
        if self.surface is not None:
            touching = self.surface
            for part in (
                touching.triangles,
                touching.material,
                touching.group,
                touching.mask,
                touching.self_contact,
                touching.excluded,
            ):
                digest.update(part.tobytes())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"{len(self.names)} flexible of {self.node_count} nodes and {self.elements.element_count} elements"
