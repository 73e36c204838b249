"""What places and velocities of nodes say of flexible bodies.

x: (n_n, 3) places of all nodes [m], v: (n_n, 3) their velocities [m/s], as in `State`; b: number of the body."""

import numpy as np

from delassus.model.flexible import Flexible
from delassus.model.model import Model


def flexible_of(model: Model) -> Flexible:
    """The flexible bodies of a model that has some."""
    assert model.flexible is not None
    return model.flexible


def nodes_of(model: Model, b: int) -> slice:
    """Of that body among all nodes."""
    return flexible_of(model).nodes_of(flexible_of(model).names[b])


def elements_of(model: Model, b: int) -> slice:
    """Of that body among all elements."""
    start = flexible_of(model).elements.element_start
    return slice(int(start[b]), int(start[b + 1]))


def mass(model: Model, b: int) -> float:
    """[kg]."""
    return float(flexible_of(model).elements.nodal_mass[nodes_of(model, b)].sum())


def mean(model: Model, b: int, values: np.ndarray) -> np.ndarray:
    """(3,) of places or velocities (n_n, 3), weighted by mass: those of the centre of mass."""
    own = nodes_of(model, b)
    return flexible_of(model).elements.nodal_mass[own] @ values[own] / mass(model, b)


def kinetic_energy(model: Model, b: int, v: np.ndarray) -> float:
    """[J]."""
    own = nodes_of(model, b)
    return 0.5 * float((v[own] * flexible_of(model).elements.mass_times(v)[own]).sum())


def strain_energy(model: Model, b: int, x: np.ndarray) -> float:
    """Stored in its elements [J]."""
    return float(flexible_of(model).elements.strain_energy(x)[b])


def potential_energy(model: Model, b: int, x: np.ndarray) -> float:
    """Of weight, with respect to the origin, of loads that never change, and of strain [J]."""
    own, flexible = nodes_of(model, b), flexible_of(model)
    weight = float(flexible.elements.nodal_mass[own] @ x[own] @ model.gravity)
    return strain_energy(model, b, x) - weight - float((flexible.load[own] * x[own]).sum())


def stress(model: Model, b: int, x: np.ndarray) -> np.ndarray:
    """(e,) von Mises' equivalent of its elements [Pa]."""
    return flexible_of(model).elements.von_mises(x)[elements_of(model, b)]


FLEXIBLE_WORDS = {
    "position": ("m", lambda model, b, x, v: mean(model, b, x)),
    "centre_of_mass": ("m", lambda model, b, x, v: mean(model, b, x)),
    "velocity": ("m/s", lambda model, b, x, v: mean(model, b, v)),
    "momentum": ("N s", lambda model, b, x, v: mass(model, b) * mean(model, b, v)),
    "energy": ("J", lambda model, b, x, v: kinetic_energy(model, b, v) + potential_energy(model, b, x)),
    "kinetic_energy": ("J", lambda model, b, x, v: kinetic_energy(model, b, v)),
    "potential_energy": ("J", lambda model, b, x, v: potential_energy(model, b, x)),
    "strain_energy": ("J", lambda model, b, x, v: strain_energy(model, b, x)),
    "largest_stress": ("Pa", lambda model, b, x, v: float(stress(model, b, x).max())),
    "nodes": ("m", lambda model, b, x, v: x[nodes_of(model, b)].ravel()),
}
"""What histories know of a flexible body, from its states: unit, and how to read it."""
