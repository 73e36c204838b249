"""Flexible bodies as the builder holds them: a mesh at its place, what it is made of, what holds and loads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, rotation_matrix, vector
from delassus.builder.body import Body, Material, NamedBodies, bits
from delassus.collision.instances import ALL
from delassus.errors import ProblemError, nearest
from delassus.fem import Elastic, Elements, Mesh
from delassus.model.flexible import Flexible, Welds
from delassus.spatial import quaternion_to_matrix, rotate

Nodes: TypeAlias = str | int | Sequence[int] | np.ndarray | Callable[[np.ndarray], ArrayLike]
"""Nodes of a mesh: the name of a set, numbers, or a function of their places (n, 3) → (n,) of bool."""


@dataclass(eq=False)
class FlexibleBody:
    """A handle the builder gives out.  index: among the flexible bodies; mesh: at its place in the world."""

    name: str
    index: int
    mesh: Mesh
    elastic: Elastic
    velocity: np.ndarray  # (n, 3) of its nodes [m/s]
    material: Material
    group: int
    mask: int
    margin: float
    self_contact: bool
    load: np.ndarray = field(init=False)  # (n, 3) [N]
    held: dict[int, tuple[Body | None, np.ndarray]] = field(default_factory=dict)  # by node: by whom, at which velocity

    def __post_init__(self) -> None:
        self.load = np.zeros_like(self.mesh.nodes)

    def nodes(self, which: Nodes) -> np.ndarray:
        """Numbers of the nodes that are meant, in the order of the mesh's own."""
        one = isinstance(which, (int, np.integer))
        found = self.mesh.nodes_where(which) if callable(which) else self.mesh.chosen([which] if one else which)
        if not len(found):
            raise ProblemError(f"{self.name}: no node is chosen by {which!r}; the mesh has sets {list(self.mesh.sets)}")
        return found

    def __repr__(self) -> str:
        return f"FlexibleBody({self.name!r}, {len(self.mesh.nodes)} nodes, {len(self.mesh.elements)} elements)"


class FlexibleParts(NamedBodies):
    """What a `ModelBuilder` can say of flexible bodies."""

    flexibles: list[FlexibleBody]
    excluded_flexible: list[tuple[int, int]]  # flexible and rigid body that never touch
    excluded_flexible_fixed: list[tuple[int, int]]  # flexible body and fixture
    reach: float

    def flexible(
        self,
        name: str | None,
        mesh: Mesh,
        elastic: Elastic,
        *,
        position: ArrayLike = (0, 0, 0),
        orientation: ArrayLike = (1, 0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0),
        material: Material | float | None = None,
        group: int = 1,
        mask: int = ALL,
        margin: float | None = None,
        self_contact: bool = False,
    ) -> FlexibleBody:
        """A body of finite elements, without stress as the mesh is.

        mesh: `fem.block(…)`, `fem.read_mesh(…)`, …; elastic: `fem.Elastic(young, poisson, density, …)`; position [m],
        orientation (quaternion or matrix): the mesh is turned about its origin, then shifted; velocity [m/s] of that
        origin and angular_velocity [rad/s]; material: of its surface, a Material or a friction coefficient; group,
        mask: as of `body`; margin: contacts are reported this long before they touch [m], by default `reach` times the
        mean length of the surface's edges; self_contact: may it touch itself?

            beam = builder.flexible("beam", fem.block(size=(1, 0.1, 0.1), cells=(20, 2, 2)), fem.Elastic(1e7, 0.3, 1000.0))
            builder.weld(beam, "x-")        # to the world; builder.weld(beam, "x+", to=gripper) to a rigid body
        """  # noqa: E501
        name = self._name(name, "flexible", "bodies")
        if not isinstance(mesh, Mesh):
            raise ProblemError(f"{name}: mesh is {mesh!r}: give a fem.Mesh, such as fem.block(size=…, cells=…)")
        if not isinstance(elastic, Elastic):
            raise ProblemError(f"{name}: elastic is {elastic!r}: give fem.Elastic(young, poisson, density)")
        at, R = vector(position, f"{name}: position", 3), rotation_matrix(orientation, f"{name}: orientation")
        placed = mesh.moved(at, R)
        spin, speed = vector(angular_velocity, f"{name}: angular_velocity", 3), vector(velocity, f"{name}: velocity", 3)
        surface = Material.of(material, name)
        if margin is None:
            corners = placed.nodes[placed.surface]
            margin = self.reach * float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).mean())
        made = FlexibleBody(
            name,
            len(self.flexibles),
            placed,
            elastic,
            speed + np.cross(spin, placed.nodes - at),
            surface,
            bits(group, f"{name}: group"),
            bits(mask, f"{name}: mask"),
            number(margin, f"{name}: margin", "m"),
            bool(self_contact),
        )
        self.flexibles.append(made)
        self._names["bodies"].add(name)
        return made

    def weld(
        self,
        flexible: FlexibleBody | str,
        nodes: Nodes,
        to: Body | str | None = None,
        *,
        velocity: ArrayLike = (0, 0, 0),
    ) -> None:
        """Hold nodes where they are, by a rigid body or (None) by the world; one node is a pin, three or more of them a
        clamp.  velocity: at which the places where they are held move, in the axes of the body [m/s]. For other
        motions, weld them to a body that an imposed joint moves."""
        flexible = self._flexible(flexible, "weld")
        holder = None if to is None or to == "world" else self._body(to, "weld")
        if holder is not None and holder.is_fixed:
            holder = None
        own = vector(velocity, f"weld of {flexible.name}: velocity", 3)
        for node in flexible.nodes(nodes):
            if int(node) in flexible.held:
                other = flexible.held[int(node)][0]
                by = "the world" if other is None else repr(other.name)
                raise ProblemError(
                    f"weld: node {node} of {flexible.name!r} is held by {by} already: give each node once"
                )
            flexible.held[int(node)] = (holder, own)

    def load(self, flexible: FlexibleBody | str, nodes: Nodes, force: ArrayLike) -> None:
        """A constant force (3,) [N] on nodes together, each bearing the same part of it."""
        flexible = self._flexible(flexible, "load")
        chosen = flexible.nodes(nodes)
        flexible.load[chosen] += vector(force, f"load on {flexible.name}: force", 3) / len(chosen)

    def traction(self, flexible: FlexibleBody | str, nodes: Nodes, traction: ArrayLike) -> None:
        """A constant force per area of the mesh at rest, (3,) [Pa], or a pressure against it, one number [Pa], on the
        faces of the surface whose nodes are all among these."""
        flexible = self._flexible(flexible, "traction")
        flexible.load += flexible.mesh.traction(flexible.nodes(nodes), traction)

    # -- of the builder ------------------------------------------------------------------------------------------------

    def _flexible(self, given: FlexibleBody | str, what: str) -> FlexibleBody:
        """One of this builder, by itself or by its name."""
        known = {body.name: body for body in self.flexibles}
        found = known.get(given) if isinstance(given, str) else given
        if isinstance(found, FlexibleBody) and known.get(found.name) is found:
            return found
        raise ProblemError(f"{what}: {given!r} is no flexible body; {nearest(str(given), list(known))}")

    def _exclude_flexible(self, first: Any, second: Any) -> bool:
        """Is one of the two flexible? Then the pair is excluded."""
        known = {body.name: body for body in self.flexibles}
        soft, other = [
            b if isinstance(b, FlexibleBody) else known.get(b) if isinstance(b, str) else None for b in (first, second)
        ]
        if soft is not None and other is not None:
            raise ProblemError("exclude: both bodies are flexible: keep them apart by group and mask")
        if soft is None and other is None:
            return False
        flexible = self._flexible(first if soft is not None else second, "exclude")
        rigid = self._body(second if soft is not None else first, "exclude")
        pairs = self.excluded_flexible_fixed if rigid.is_fixed else self.excluded_flexible
        pairs.append((flexible.index, rigid.fixture if rigid.is_fixed else rigid.index))
        return True

    def _flexible_arrays(self, mass: str) -> Flexible:
        bodies = self.flexibles
        elements = Elements([body.mesh for body in bodies], [body.elastic for body in bodies], mass)
        start = elements.node_start
        sets = {
            f"{body.name}.{name}": start[body.index] + np.asarray(nodes)
            for body in bodies
            for name, nodes in body.mesh.sets.items()
        }
        return Flexible(
            tuple(body.name for body in bodies),
            elements,
            self._surface(elements),
            self._welds(start),
            sets,
            np.concatenate([body.load for body in bodies]),
        )

    def _surface(self, elements: Elements) -> Any:
        from delassus.collision.surface import Skin, surface_arrays

        start = elements.node_start
        skins = [
            Skin(
                start[body.index] + body.mesh.surface,
                body.material.mu,
                body.material.restitution,
                body.group,
                body.mask,
                body.margin,
                body.self_contact,
                body.name,
            )
            for body in self.flexibles
        ]
        return surface_arrays(
            elements.rest, skins, exclude=self.excluded_flexible, exclude_fixed=self.excluded_flexible_fixed
        )

    def _welds(self, start: np.ndarray) -> Welds:
        node, body, point, velocity, names = [], [], [], [], []
        for flexible in self.flexibles:
            for k, (holder, own) in flexible.held.items():
                x = flexible.mesh.nodes[k]
                if holder is not None:
                    centre = holder.position + rotate(holder.quaternion, holder.centre)
                    x = quaternion_to_matrix(holder.quaternion).T @ (x - centre)
                node.append(int(start[flexible.index]) + k)
                body.append(-1 if holder is None else holder.index)
                point.append(x)
                velocity.append(own)
                names.append("world" if holder is None else holder.name)
        return Welds(
            np.array(node, np.int64),
            np.array(body, np.int64),
            np.array(point, float).reshape(-1, 3),
            np.array(velocity, float).reshape(-1, 3),
            tuple(names),
        )
