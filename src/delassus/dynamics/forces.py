"""Everything that acts without being a constraint: gravity, external wrenches, joint efforts; and what they change."""

import numpy as np
from numba import njit

from delassus.model.model import Model


@njit(cache=True, error_model="numpy")
def fill_free_velocity(inverse, gravity, u, wrench, h, out):
    """u_f = u + h H⁻¹ f, (n_b, 6), f being gravity and the wrenches.

    inverse: (n_b, 6, 6) of the masses where the step evaluates them; u: (n_b, 6), after half of the gyroscopic moment;
    wrench: (n_b, 6) [N, N m]."""
    for b in range(len(u)):
        for i in range(3):
            out[b, i] = u[b, i] + h * (gravity[i] + inverse[b, i, i] * wrench[b, i])
            out[b, 3 + i] = u[b, 3 + i]
            for k in range(3):
                out[b, 3 + i] += h * inverse[b, 3 + i, 3 + k] * wrench[b, 3 + k]


def momentum_of(model: Model, q_rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Total linear and angular momentum about the origin, (6,) [N s, N m s]."""
    linear = model.mass[:, None] * u[:, :3]
    spin = np.einsum("bij,bj->bi", model.world_inertia(q_rotation), u[:, 3:])
    return np.concatenate([linear.sum(axis=0), (np.cross(position, linear) + spin).sum(axis=0)])


def energy_of(model: Model, rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy [J]; potential with respect to the origin."""
    return _energy(model.mass, model.inertia, model.gravity, rotation, position, u)


@njit(cache=True, error_model="numpy")
def _energy(mass, inertia, gravity, rotation, position, u):
    kinetic, potential = 0.0, 0.0
    for b in range(len(mass)):
        for i in range(3):
            kinetic += 0.5 * mass[b] * u[b, i] ** 2
            potential -= mass[b] * gravity[i] * position[b, i]
            local = 0.0  # component i of ω in the body frame
            for k in range(3):
                local += rotation[b, k, i] * u[b, 3 + k]
            for j in range(3):
                other = 0.0
                for k in range(3):
                    other += rotation[b, k, j] * u[b, 3 + k]
                kinetic += 0.5 * local * inertia[b, i, j] * other
    return kinetic, potential
