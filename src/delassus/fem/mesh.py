"""Meshes of tetrahedra: nodes, elements, named sets of nodes, the surface."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import points_of, positive, rotation_matrix, shown, vector
from delassus.errors import ProblemError, nearest
from delassus.fem.check import check_volumes, checked_elements, checked_set, oriented
from delassus.fem.kinds import EDGES, KINDS, ElementKind
from delassus.fem.surface import face_integrals, surface_of


@dataclass(frozen=True, eq=False)
class Mesh:
    """nodes: (n, 3) [m]; elements: (e, 4) numbers of nodes of linear tetrahedra, or (e, 10) of quadratic ones
    (`kinds.py` tells their order); sets: numbers of nodes by name; orient: turn elements whose corners run the wrong
    way round, which are refused otherwise."""

    nodes: np.ndarray
    elements: np.ndarray
    sets: Mapping[str, np.ndarray] = field(default_factory=dict)
    orient: bool = False

    def __post_init__(self) -> None:
        nodes = points_of("Mesh", "nodes", self.nodes)
        elements = checked_elements(self.elements, len(nodes))
        if self.orient:
            elements = oriented(nodes, elements)
        check_volumes(nodes, elements)
        elements.flags.writeable = False
        if not isinstance(self.sets, Mapping):
            raise ProblemError(f"Mesh: sets is {shown(self.sets)}: give a table, name → numbers of nodes")
        sets = {name: checked_set(name, numbers, len(nodes)) for name, numbers in self.sets.items()}
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "elements", elements)
        object.__setattr__(self, "sets", sets)
        self.surface  # noqa: B018 - faces that three elements share are refused here and not later

    def __repr__(self) -> str:
        kind = "quadratic" if self.kind.nodes == 10 else "linear"
        sets = f", sets {', '.join(self.sets)}" if self.sets else ""
        return f"Mesh({len(self.nodes)} nodes, {len(self.elements)} {kind} tetrahedra, {self.volume:.4g} m³{sets})"

    @property
    def kind(self) -> ElementKind:
        """Linear or quadratic."""
        return KINDS[self.elements.shape[1]]

    @cached_property
    def surface(self) -> np.ndarray:
        """Triangles (F, 3) of the surface, numbers of nodes, anticlockwise seen from outside; four for each face of a
        quadratic element."""
        return surface_of(self.elements)

    @cached_property
    def volume(self) -> float:
        """[m³]"""
        places = self.nodes[self.elements]
        jacobian = np.einsum("eai,qaj->eqij", places, self.kind.mass_slopes)
        return float((np.linalg.det(jacobian) @ self.kind.mass_weights).sum())

    def nodes_where(self, chosen: Callable[[np.ndarray], ArrayLike]) -> np.ndarray:
        """Numbers of the nodes for which chosen(places (n, 3)) → (n,) is true."""
        if not callable(chosen):
            raise ProblemError(f"nodes_where: {shown(chosen)} is no function: give one of places (n, 3) → (n,) of bool")
        mask = np.asarray(chosen(self.nodes))
        if mask.shape != (len(self.nodes),) or mask.dtype != bool:
            raise ProblemError(
                f"nodes_where: the function gave shape {mask.shape} of {mask.dtype}, expected ({len(self.nodes)},) of "
                "bool"
            )
        return np.flatnonzero(mask)

    def chosen(self, which: Any) -> np.ndarray:
        """Numbers of nodes, of a set by its name or given as numbers."""
        if isinstance(which, str):
            if which not in self.sets:
                known = nearest(which, list(self.sets)) if self.sets else "the mesh has none: Mesh(…, sets={name: …})"
                raise ProblemError(f"unknown set of nodes {which!r}; {known}")
            return self.sets[which]
        return checked_set("given", which, len(self.nodes))

    def faces_of(self, which: Any) -> np.ndarray:
        """Triangles (F, 3) of the surface with all corners in a set of nodes, given by name or as numbers."""
        inside = np.zeros(len(self.nodes), bool)
        inside[self.chosen(which)] = True
        return self.surface[inside[self.surface].all(axis=1)]

    def traction(self, which: Any, pull: ArrayLike) -> np.ndarray:
        """Forces on the nodes (n, 3) [N] of a load that is spread evenly over the faces of the surface inside a set of
        nodes.  pull: (3,) [Pa] in world axes, or one number, a pressure [Pa] against the outward normal."""
        inside = np.zeros(len(self.nodes), bool)
        inside[self.chosen(which)] = True
        faces = self.surface.reshape(-1, self.kind.faces.shape[1], 3)
        faces = faces[inside[faces].all(axis=(1, 2))].reshape(-1, 3)
        if len(faces) == 0:
            raise ProblemError(f"traction: no face of the surface has all its nodes in {which!r}: choose others")
        area, directed = face_integrals(self.nodes, faces, self.kind.nodes == 10)
        if np.ndim(pull) == 0:
            return -vector([pull], "traction: pressure", 1)[0] * directed
        return area[:, None] * vector(pull, "traction: pull", 3)

    def moved(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        scale: float = 1.0,
    ) -> "Mesh":
        """A copy, scaled, then turned about the origin, then shifted: position + R (scale x).  orientation: a unit
        quaternion (w, x, y, z) or a rotation matrix."""
        positive("Mesh.moved", scale=scale)
        R = rotation_matrix(orientation, "Mesh.moved: orientation")
        nodes = vector(position, "Mesh.moved: position", 3) + float(scale) * self.nodes @ R.T
        return Mesh(nodes, self.elements, self.sets)

    def quadratic(self) -> "Mesh":
        """The same elements with ten nodes, the new ones in the middle of the edges; they belong to a set if both ends
        of their edge do."""
        if self.kind.nodes == 10:
            return self
        ends = np.sort(self.elements[:, EDGES].reshape(-1, 2), axis=1)
        edges, which = np.unique(ends, axis=0, return_inverse=True)
        n = len(self.nodes)
        nodes = np.concatenate([self.nodes, self.nodes[edges].mean(axis=1)])
        elements = np.concatenate([self.elements, n + which.reshape(-1, len(EDGES))], axis=1)
        sets = {}
        for name, numbers in self.sets.items():
            inside = np.zeros(n, bool)
            inside[numbers] = True
            sets[name] = np.concatenate([numbers, n + np.flatnonzero(inside[edges].all(axis=1))])
        return Mesh(nodes, elements, sets)
