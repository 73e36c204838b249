"""Beams, rods and cables: rigid bodies on a line, and between neighbours the stiffness of the piece of beam."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import direction, points_of
from delassus.builder.body import Body
from delassus.errors import ProblemError
from delassus.fem import Elastic, Section
from delassus.shapes import Box, Cylinder, Shape
from delassus.spatial import matrix_to_quaternion

_PARALLEL = 1e-6  # sine of the angle between a beam and `up` below which the section's axes are not defined
_MOST_NODES = 20_000  # of one beam


class BeamMethods:
    """The part of `ModelBuilder` that makes beams."""

    body: Callable[..., Body]
    bushing: Callable[..., str]
    exclude: Callable[..., None]

    def beam(
        self,
        name: str,
        points: ArrayLike,
        section: Section,
        elastic: Elastic,
        *,
        up: ArrayLike = (0, 0, 1),
        material: Any = None,
    ) -> list[Body]:
        """A beam through points (n, 3) [m], straight and without stress in between; a body "name.k" at each of them, to
        joint, load and look at like any other.

        section: `fem.Section.circle(radius)`, `.rectangle(width, height)`, …; up: direction of the height (z) of the
        section, never along the beam; elastic: Young's modulus, Poisson's ratio, density and β of its damping;
        material: of its surface, as of `body`. Two-node corotational elements with shear: rotations may be large, those
        between neighbours not (0.3 rad); deflections and frequencies converge with the square of the distance of the
        points.

            rod = builder.beam("rod", np.linspace((0, 0, 1), (1, 0, 1), 11), fem.Section.circle(0.01), fem.Elastic(2e9))
            builder.joint("fixed", None, rod[0])
        """
        places = points_of(f"beam {name!r}", "points", points)
        if not 2 <= len(places) <= _MOST_NODES:
            raise ProblemError(f"beam {name!r}: {len(places)} points, give 2 to {_MOST_NODES}")
        if not isinstance(section, Section) or not isinstance(elastic, Elastic):
            raise ProblemError(
                f"beam {name!r}: section is {section!r} and elastic {elastic!r}: give fem.Section.circle(radius) or "
                "its like, and fem.Elastic(young, …)"
            )
        if elastic.damping[0] > 0.0:
            raise ProblemError(
                f"beam {name!r}: damping of the mass is {elastic.damping[0]:g} 1/s, beams take that of the stiffness "
                "only: give damping=(0, β)"
            )
        lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
        if not (lengths > 0.0).all():
            raise ProblemError(f"beam {name!r}: points[{int(np.argmin(lengths > 0.0))}] and the next one are the same")
        frames = [self._frame(name, way, up) for way in np.diff(places, axis=0)]
        nodes = [self._node(name, k, places, lengths, frames, section, elastic, material) for k in range(len(places))]
        for k, (length, frame) in enumerate(zip(lengths, frames)):
            stiffness = section.stiffness(elastic, float(length))
            self.bushing(
                nodes[k],
                nodes[k + 1],
                at=places[k : k + 2].mean(axis=0),
                frame=frame,
                stiffness=stiffness,
                damping=elastic.damping[1] * stiffness,
                name=f"{name}.{k}-{k + 1}",
            )
            self.exclude(nodes[k], nodes[k + 1])
        return nodes

    @staticmethod
    def _frame(name: str, way: np.ndarray, up: ArrayLike) -> np.ndarray:
        """Axes of the section of a piece as columns: x along it, z towards `up`."""
        x = way / np.linalg.norm(way)
        y = np.cross(direction(up, f"beam {name!r}: up"), x)
        if np.linalg.norm(y) <= _PARALLEL * np.linalg.norm(np.asarray(up, dtype=float)):
            raise ProblemError(
                f"beam {name!r}: up {up!r} is along the beam: give the direction of its section's height"
            )
        y /= np.linalg.norm(y)
        return np.stack([x, y, np.cross(x, y)], axis=1)

    def _node(
        self,
        name: str,
        k: int,
        places: np.ndarray,
        lengths: np.ndarray,
        frames: list[np.ndarray],
        section: Section,
        elastic: Elastic,
        material: Any,
    ) -> Body:
        """The body at a point, with half of the piece before it and half of the one after it."""
        own = frames[min(k, len(frames) - 1)]
        mass, inertia, shapes = 0.0, np.zeros((3, 3)), []
        for piece, side in ((k - 1, -1.0), (k, 1.0)):
            if 0 <= piece < len(lengths):
                half, turn = 0.5 * float(lengths[piece]), own.T @ frames[piece]
                mass += elastic.density * section.area * half
                inertia += turn @ section.inertia(elastic.density, half) @ turn.T
                shapes += _outline(section, half, turn, side)
        return self.body(
            f"{name}.{k}",
            position=places[k],
            orientation=matrix_to_quaternion(own),
            mass=mass,
            inertia=inertia,
            shapes=shapes,
            material=material,
        )


def _outline(section: Section, length: float, turn: np.ndarray, side: float) -> list[tuple[Shape, Any, Any]]:
    """What may touch half a piece, in the node's frame."""
    place = side * 0.5 * length * turn[:, 0]
    if len(section.sizes) == 1:
        return [(Cylinder(section.sizes[0], length), place, turn @ np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]))]
    if len(section.sizes) == 2:
        return [(Box((length, *section.sizes)), place, turn)]
    return []
