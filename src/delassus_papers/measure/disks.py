"""Ten disks that lie in a trough, each row in the gaps of the one below: a hyperstatic example as in Kleinert et al.
2014, figure 6. Spheres in a plane, without friction: 26 contacts hold 20 motions. (Between upright walls a row could be
squeezed as much as one likes.)"""

import math
from dataclasses import dataclass

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.law import Law
from delassus.problem import Problem
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings, step

_RADIUS, _MASS, _H = 0.01, 0.01, 0.01  # [m], [kg], [s]
_ROWS = (1, 2, 3, 4)  # disks, from below
_SLOPE = math.radians(60.0)  # of the walls, along which hexagonal rows lie


@dataclass(frozen=True, eq=False)
class Disks:
    """centres: (10, 2) [m]; point: (n_c, 2) of each contact [m]; bodies: (n_c, 2), −1 for the trough; problem: of a
    step at rest."""

    centres: np.ndarray
    point: np.ndarray
    bodies: np.ndarray
    problem: Problem
    radius: float = _RADIUS

    @property
    def self_stresses(self) -> int:
        """Dimension of the space of normal impulses that move nothing."""
        D = self.problem.delassus.matrix().toarray()[::3, ::3]
        return len(D) - int(np.linalg.matrix_rank(D, tol=1e-9 * np.linalg.norm(D)))

    def speed(self, normal: np.ndarray) -> float:
        """Largest velocity of a disk after these impulses, (n_c,) [N s], over that of free fall."""
        reactions = np.zeros(self.problem.row_count)
        reactions[::3] = normal
        u = self.problem.body_velocity(reactions)
        assert u is not None
        return float(np.abs(u).max()) / (9.81 * _H)


def ten_disks() -> Disks:
    """The example."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    walls = [Plane((side * math.sin(_SLOPE), 0.0, math.cos(_SLOPE))) for side in (1.0, -1.0)]
    builder.fixed("trough", shapes=walls, material=Material(0.0))
    centres = []
    for row, count in enumerate(_ROWS):
        for k in range(count):
            x, z = _RADIUS * (2 * k - row), _RADIUS * (2.0 + math.sqrt(3.0) * row)
            centres.append((x, z))
            builder.body(
                f"disk {len(centres)}",
                position=(x, 0.0, z),
                mass=_MASS,
                material=Material(0.0),
                shapes=[Sphere(_RADIUS)],
            )
    model, state = builder.build()
    settings = StepSettings(
        h=_H,
        solver="nbgs",
        law=Law.FRICTIONLESS,
        integrator="euler",
        tol=1e-3,
        tol_velocity=None,
        stabilisation=Stabilisation.full(),
    )
    _, report = step(model, state, None, settings)
    problem = report.problem
    assert problem.bias is not None
    at_rest = problem.shifted(problem.free_velocity - problem.bias, np.zeros_like(problem.bias), Law.FRICTIONLESS)
    contacts = report.contacts
    return Disks(np.array(centres), contacts.point[:, ::2], contacts.bodies, at_rest)
