"""Mass, centre and inertia of a body, from what was given."""

import numpy as np

from delassus.errors import ProblemError
from delassus.spatial import quaternion_to_matrix, rotate

_ROUNDING = 1e-4  # relative: principal moments of flat bodies, a + b = c, are often written with five digits


def mass_properties(name: str, parts, mass, inertia, density):
    """(mass, centre of mass in the body's frame, inertia about it), from what was given."""
    given: tuple[float, np.ndarray, np.ndarray] | None = None
    if density is not None or (mass is not None and inertia is None and parts):
        if density is not None and not (np.isfinite(density) and density > 0):
            raise ProblemError(f"{name}: density is {density}, it must be positive [kg/m³]")
        solid = [part for part in parts if part[0].volume is not None]
        if not solid or len(solid) < len(parts):
            raise ProblemError(f"{name}: a moving body needs solid shapes; planes and meshes belong to fixed bodies")
        volume = sum(shape.volume for shape, _, _ in solid)
        rho = density if density is not None else mass / volume
        centre = sum(s.volume * (p + rotate(q, s.centre_of_mass)) for s, p, q in solid) / volume
        theta = np.zeros((3, 3))
        for s, p, q in solid:
            R, d = quaternion_to_matrix(q), p + rotate(q, s.centre_of_mass) - centre
            theta += rho * (R @ s.inertia_per_density @ R.T + s.volume * (d @ d * np.eye(3) - np.outer(d, d)))
        given = rho * volume, centre, theta
    elif mass is not None and inertia is not None:
        theta = np.array(inertia, dtype=float)
        given = float(mass), np.zeros(3), np.diag(theta) if theta.ndim == 1 else theta
    if given is None:
        raise ProblemError(f"{name}: give density and shapes, mass and shapes, or mass and inertia")
    m, centre, theta = given
    if not (np.isfinite(m) and m > 0):
        raise ProblemError(f"{name}: mass is {m}, it must be positive [kg]; use fixed() for bodies that never move")
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
