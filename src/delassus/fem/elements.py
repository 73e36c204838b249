"""All elements of a world at once: mass, forces, stiffness, damping, energy, stress."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from delassus.errors import ProblemError, SettingsError, nearest
from delassus.fem.elastic import Elastic
from delassus.fem.group import TANGENTS, Group, Points
from delassus.fem.kinds import KINDS, gradients, mass_matrices
from delassus.fem.mesh import Mesh
from delassus.fem.pattern import block_slots, node_pattern

MASSES = ("lumped", "consistent")


class Evaluation(NamedTuple):
    """Of a shape: energy [J] stored; least_determinant of the deformation gradients, negative where an element is
    turned inside out, and the number of that worst_element."""

    energy: float
    least_determinant: float
    worst_element: int


class Elements:
    """The elements of some meshes, with their nodes one after the other.

    meshes, materials: one each per body; mass: "lumped" (a diagonal matrix) or "consistent".

    node_start, element_start: (bodies + 1,) first node and element of each body; rest: (n, 3) [m] places without
    stress; pattern: (indptr (n + 1,), indices (blocks,)) int32 of 3×3 blocks over nodes, both triangles, rows sorted;
    mass_blocks: (blocks,) [kg], the mass matrix is mass_blocks[k] I₃ in that pattern; nodal_mass: (n,) [kg], its sums
    over rows."""

    def __init__(self, meshes: Sequence[Mesh], materials: Sequence[Elastic], mass: str = "lumped"):
        self.meshes, self.materials = _checked(meshes, materials)
        if mass not in MASSES:
            raise SettingsError(f"unknown mass {mass!r}; {nearest(str(mass), list(MASSES))}")
        self.mass = mass
        self.node_start = np.cumsum([0, *(len(mesh.nodes) for mesh in self.meshes)])
        self.element_start = np.cumsum([0, *(len(mesh.elements) for mesh in self.meshes)])
        self.rest = np.concatenate([np.empty((0, 3)), *(mesh.nodes for mesh in self.meshes)])
        connectivity = [mesh.elements + start for mesh, start in zip(self.meshes, self.node_start)]
        self.pattern = node_pattern(connectivity, self.node_count)
        self._rows = np.repeat(np.arange(self.node_count), np.diff(self.pattern[0]))
        self._groups = [self._group(nodes, law, connectivity) for nodes, law in self._kinds()]
        self.mass_blocks = np.zeros(len(self.pattern[1]))
        for group in self._groups:
            self._add_mass(group)
        self.nodal_mass = np.bincount(self._rows, weights=self.mass_blocks, minlength=self.node_count)
        body = np.repeat(np.arange(len(self.meshes)), np.diff(self.node_start))[self._rows]
        self._alpha = np.array([m.damping[0] for m in self.materials])[body]

    def __repr__(self) -> str:
        bodies = len(self.meshes)
        return f"Elements({bodies} bodies, {self.node_count} nodes, {self.element_count} elements, {self.mass} mass)"

    @property
    def node_count(self) -> int:
        """Of all bodies."""
        return int(self.node_start[-1])

    @property
    def element_count(self) -> int:
        """Of all bodies."""
        return int(self.element_start[-1])

    def evaluate(
        self,
        x: np.ndarray,
        force: np.ndarray | None = None,
        stiffness: np.ndarray | None = None,
        damping: np.ndarray | None = None,
        tangent: str = "exact",
    ) -> Evaluation:
        """At places x (n, 3) [m], overwrite what is given: force (n, 3) [N] of the elements on their nodes; stiffness
        K = −∂force/∂x (blocks, 3, 3) [N/m]; damping C (blocks, 3, 3) [N s/m], α M + β K at rest (`laws.viscosity` tells
        how it goes on), so that velocities v are damped by the force −C v.  tangent: a name of TANGENTS, which K."""
        x = self._places(x)
        if tangent not in TANGENTS:
            raise SettingsError(f"unknown tangent {tangent!r}; {nearest(str(tangent), list(TANGENTS))}")
        blocks = (len(self.pattern[1]), 3, 3)
        for name, array, shape in (
            ("force", force, x.shape),
            ("stiffness", stiffness, blocks),
            ("damping", damping, blocks),
        ):
            _check_output(name, array, shape)
        for array in (force, stiffness, damping):
            if array is not None:
                array[:] = 0.0
        energy, least, worst = 0.0, np.inf, -1
        for group in self._groups:
            for points in group.points(x):
                volume = group.volume[points.first : points.first + points.elements]
                energy += float(points.response.energy @ volume.ravel())
                low = int(np.argmin(points.determinant))
                if points.determinant[low] < least:
                    least = float(points.determinant[low])
                    worst = int(group.number[points.first + low // group.volume.shape[1]])
                group.add(points, force, stiffness, damping, tangent)
        if damping is not None:
            damping.reshape(-1, 9)[:, ::4] += (self._alpha * self.mass_blocks)[:, None]
        return Evaluation(energy, least, worst)

    @property
    def is_damped(self) -> bool:
        """Does any body lose energy by itself?"""
        return any(m.damping[0] > 0.0 or m.damping[1] > 0.0 for m in self.materials)

    def mass_times(self, v: np.ndarray) -> np.ndarray:
        """M v, (n, 3) [kg m/s].  v: (n, 3) [m/s]."""
        indptr, indices = self.pattern
        shape = (self.node_count, self.node_count)
        return sp.csr_array((self.mass_blocks, indices, indptr), shape=shape) @ v

    def strain_energy(self, x: np.ndarray) -> np.ndarray:
        """Energy stored in each body (bodies,) [J]."""
        of_element = np.zeros(self.element_count)
        self._each(x, lambda group, points: group.energies(points, of_element))
        return np.array([of_element[a:b].sum() for a, b in zip(self.element_start, self.element_start[1:])])

    def stress(self, x: np.ndarray) -> np.ndarray:
        """Cauchy's stress (e, 3, 3) [Pa] in world axes, the mean of each element."""
        stress = np.empty((self.element_count, 3, 3))
        self._each(x, lambda group, points: group.stresses(points, stress))
        return stress

    def von_mises(self, x: np.ndarray) -> np.ndarray:
        """Von Mises' equivalent of the stress (e,) [Pa]."""
        stress = self.stress(x)
        deviator = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
        return np.sqrt(1.5 * np.einsum("eij,eij->e", deviator, deviator))

    def _each(self, x: np.ndarray, do: Callable[[Group, Points], Any]) -> None:
        x = self._places(x)
        for group in self._groups:
            for points in group.points(x):
                do(group, points)

    def _places(self, x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, dtype=float)
        if x.shape != self.rest.shape:
            raise ProblemError(f"places of nodes have shape {x.shape}, expected {self.rest.shape}")
        return x

    def _kinds(self) -> list[tuple[int, str]]:
        """Number of nodes and law of each group, in order of appearance."""
        return list(
            dict.fromkeys((mesh.kind.nodes, material.law) for mesh, material in zip(self.meshes, self.materials))
        )

    def _group(self, nodes: int, law: str, connectivity: list[np.ndarray]) -> Group:
        bodies = [b for b, m in enumerate(self.materials) if m.law == law and self.meshes[b].kind.nodes == nodes]
        number = np.concatenate([np.arange(*self.element_start[b : b + 2]) for b in bodies])
        elements = np.concatenate([connectivity[b] for b in bodies]).astype(np.int32)
        gradient, volume = gradients(KINDS[nodes], self.rest[elements])
        each = np.diff(self.element_start)[bodies] * volume.shape[1]
        made_of = [self.materials[b] for b in bodies]
        mu, lam, beta = np.repeat([(m.shear_modulus, m.lame, m.damping[1]) for m in made_of], each, axis=0).T.copy()
        return Group(law, number, elements, gradient, volume, mu, lam, beta, block_slots(elements, *self.pattern))

    def _add_mass(self, group: Group) -> None:
        """Lumped: the diagonal of the consistent matrix, scaled to the mass of the element (Hinton, Rock and
        Zienkiewicz 1976), which is positive for quadratic elements, too."""
        body = np.searchsorted(self.element_start, group.number, side="right") - 1
        density = np.array([m.density for m in self.materials])[body]
        kind = KINDS[group.connectivity.shape[1]]
        matrices = density[:, None, None] * mass_matrices(kind, self.rest[group.connectivity])
        if self.mass == "lumped":
            diagonal = np.einsum("eaa->ea", matrices)
            scaled = diagonal * (matrices.sum(axis=(1, 2)) / diagonal.sum(axis=1))[:, None]
            np.add.at(self.mass_blocks, np.einsum("eaa->ea", group.slots), scaled)
        else:
            np.add.at(self.mass_blocks, group.slots, matrices)


def _check_output(name: str, array: np.ndarray | None, shape: tuple[int, ...]) -> None:
    if array is not None and (array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous):
        raise ProblemError(
            f"{name} has shape {array.shape} of {array.dtype}, expected a contiguous float64 array {shape} to write to"
        )


def _checked(meshes: Sequence[Mesh], materials: Sequence[Elastic]) -> tuple[list[Mesh], list[Elastic]]:
    if not (isinstance(meshes, Sequence) and isinstance(materials, Sequence)):
        raise ProblemError("Elements: give a list of meshes and one of materials, one for each body")
    meshes, materials = list(meshes), list(materials)
    if len(meshes) != len(materials):
        raise ProblemError(f"Elements: {len(meshes)} meshes and {len(materials)} materials, give one for each body")
    for body, (mesh, material) in enumerate(zip(meshes, materials)):
        if not isinstance(mesh, Mesh) or not isinstance(material, Elastic):
            raise ProblemError(
                f"Elements: body {body} is {type(mesh).__name__} of {type(material).__name__}, expected a fem.Mesh of "
                "a fem.Elastic"
            )
    return meshes, materials
