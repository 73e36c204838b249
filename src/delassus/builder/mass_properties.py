"""Mass, centre and inertia of a body, from what was given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder.given import number
from delassus.errors import ProblemError
from delassus.given import numbers
from delassus.spatial import quaternion_to_matrix, rotate

_ROUNDING = 1e-4  # relative: principal moments of flat bodies, a + b = c, are often written with five digits


def mass_properties(
    name: str,
    parts: Sequence[tuple[Any, np.ndarray, np.ndarray]],
    mass: float | None,
    inertia: ArrayLike | None,
    density: float | None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """(mass, centre of mass in the body's frame, inertia about it), from what was given."""
    given: tuple[float, np.ndarray, np.ndarray] | None = None
    if density is not None and (mass is not None or inertia is not None):
        raise ProblemError(f"{name}: density and {'inertia' if mass is None else 'mass'} are both given: leave one out")
    if any(shape.static_only for shape, _, _ in parts):
        raise ProblemError(f"{name}: planes and meshes belong to fixed bodies; a moving body needs solid shapes")
    if mass is not None:
        mass = number(mass, f"{name}: mass", "kg", positive=True, hint="; use fixed() for bodies that never move")
    density = None if density is None else number(density, f"{name}: density", "kg/m³", positive=True)
    if (density is not None or (mass is not None and inertia is None)) and parts:
        volume = sum(shape.volume for shape, _, _ in parts)
        rho = density if density is not None else mass / volume
        centre = sum(s.volume * (p + rotate(q, s.centre_of_mass)) for s, p, q in parts) / volume
        theta = np.zeros((3, 3))
        for s, p, q in parts:
            R, d = quaternion_to_matrix(q), p + rotate(q, s.centre_of_mass) - centre
            theta += rho * (R @ s.inertia_per_density @ R.T + s.volume * (d @ d * np.eye(3) - np.outer(d, d)))
        given = rho * volume, centre, theta
    elif mass is not None and inertia is not None:
        theta = numbers(inertia)
        given = float(mass), np.zeros(3), np.diag(theta) if theta.ndim == 1 else theta
    if given is None:
        raise ProblemError(f"{name}: give density and shapes, mass and shapes, or mass and inertia")
    m, centre, theta = given
    if theta.shape != (3, 3) or not np.isfinite(theta).all() or not np.allclose(theta, theta.T, rtol=1e-8):
        raise ProblemError(f"{name}: inertia must be a symmetric 3×3 matrix or three principal moments [kg m²]")
    a, b, c = np.linalg.eigvalsh(theta)
    if a <= 0:
        raise ProblemError(f"{name}: inertia is not positive definite; check its principal moments [kg m²]")
    if a + b < c * (1.0 - _ROUNDING):
        raise ProblemError(
            f"{name}: no distribution of mass has the principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m²: the largest "
            "must not exceed the sum of the others"
        )
    return m, centre, theta
