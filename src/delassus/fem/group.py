"""Elements of one kind and one law: from places of nodes to forces, stiffness, damping, energy and stress."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from delassus.fem.assembly import add_forces, add_stiffness, cauchy_stress
from delassus.fem.laws import LAWS, Response, clamp, viscosity, warp
from delassus.fem.stretch import stretches

TANGENTS = ("exact", "clamped", "warped")
"""Of stiffness: the derivative of the forces; the same with negative eigenvalues of each point set to zero; that of
small strains in axes that turn with the element. The last two are positive semi-definite."""
_CHUNK = 512  # points at a time: what is known of them stays in a core's own cache, some 170 kB


class Points(NamedTuple):
    """What is known of some elements' points of quadrature: F = U diag(sigma) Vᵀ, and what the law says."""

    first: int
    elements: int
    U: np.ndarray
    sigma: np.ndarray
    V: np.ndarray
    determinant: np.ndarray
    response: Response


@dataclass(frozen=True, eq=False)
class Group:
    """Elements of one kind and one law, of any bodies.  number: (e,) their numbers among all elements; connectivity:
    (e, N) int32; gradient: (e, Q, N, 3) [1/m]; volume: (e, Q) [m³]; mu, lam: (e Q,) [Pa]; beta: (e Q,) [s]; slots: (e,
    N, N)."""

    law: str
    number: np.ndarray
    connectivity: np.ndarray
    gradient: np.ndarray
    volume: np.ndarray
    mu: np.ndarray
    lam: np.ndarray
    beta: np.ndarray
    slots: np.ndarray

    def points(self, x: np.ndarray) -> Iterator[Points]:
        """At places x (n, 3), a few hundred points at a time, always in the same arrays."""
        width = self.gradient.shape[1]
        law = LAWS.find(self.law).evaluate
        step = max(_CHUNK // width, 1)
        room = min(step, len(self.number)) * width
        U, sigma, V, determinant = np.empty((room, 3, 3)), np.empty((room, 3)), np.empty((room, 3, 3)), np.empty(room)
        response = Response.of(room)
        for first in range(0, len(self.number), step):
            count = min(step, len(self.number) - first)
            p = count * width
            if p < room:
                U, sigma, V, determinant = U[:p], sigma[:p], V[:p], determinant[:p]
                response = Response(*(array[:p] for array in response))
            stretches(x, self.connectivity, self.gradient, (first, count), U, sigma, V, determinant)
            law(sigma, self.mu[first * width :][:p], self.lam[first * width :][:p], response)
            yield Points(first, count, U, sigma, V, determinant, response)

    def add(
        self, points: Points, force: np.ndarray | None, K: np.ndarray | None, C: np.ndarray | None, tangent: str
    ) -> None:
        """To forces, stiffness and damping, in this order: `points` are overwritten on the way."""
        some, response = (points.first, points.elements), points.response
        U, sigma, V, width = points.U, points.sigma, points.V, self.volume.shape[1]
        at = slice(points.first * width, (points.first + points.elements) * width)
        if force is not None:
            add_forces(self.connectivity, self.gradient, self.volume, some, U, response.slope, V, force)
        if K is not None:
            if tangent == "clamped":
                clamp(response)
            elif tangent == "warped":
                warp(self.mu[at], self.lam[at], response)
            add_stiffness(self.slots, self.gradient, self.volume, some, U, V, response, K)
        if C is not None and self.beta[at].any():
            viscosity(sigma, self.mu[at], self.lam[at], self.beta[at], V, response)
            add_stiffness(self.slots, self.gradient, self.volume, some, U, V, response, C)

    def energies(self, points: Points, of_element: np.ndarray) -> None:
        """Fill those of all elements [J]."""
        at = slice(points.first, points.first + points.elements)
        volume = self.volume[at]
        of_element[self.number[at]] = (points.response.energy.reshape(volume.shape) * volume).sum(axis=1)

    def stresses(self, points: Points, stress: np.ndarray) -> None:
        """Fill those of all elements, Cauchy's [Pa]."""
        at = slice(points.first, points.first + points.elements)
        part = np.empty((points.elements, 3, 3))
        cauchy_stress(self.volume[at], points.U, points.sigma, points.response.slope, points.determinant, part)
        stress[self.number[at]] = part
