"""Time integrators: where gaps, rows and masses are evaluated, and how velocities move the bodies.

An integrator never calls a solver. Both schemes take impulses over the whole step; rotations move along the exponential
map, so quaternions stay of unit length."""

from delassus.errors import SettingsError, nearest
from delassus.integrators.euler import SemiImplicitEuler
from delassus.integrators.moreau import Moreau

INTEGRATORS: dict[str, type[SemiImplicitEuler] | type[Moreau]] = {"euler": SemiImplicitEuler, "moreau": Moreau}
"""Every integrator by name."""


def integrator(name: str) -> SemiImplicitEuler | Moreau:
    """The integrator of that name."""
    if name not in INTEGRATORS:
        raise SettingsError(f"unknown integrator {name!r}; {nearest(str(name), list(INTEGRATORS))}")
    return INTEGRATORS[name]()
