"""Everything that acts without being a constraint: gravity, gyroscopic moments, external wrenches, joint efforts."""

import numpy as np
from numba import njit

from delassus.model import Model

_GYRO_STEPS = 4  # each gains a factor h‖ω‖: enough for rounding at h‖ω‖ = 1e-3


@njit(cache=True)
def fill_free_velocity(mass, inverse, gravity, u, wrench, h, out):
    """u_f = u + h H⁻¹ f, (n_b, 6), with the gyroscopic moment −ω × Θω at the mean of old and new ω.

    mass, inverse: (n_b, 6, 6) where the step evaluates them; u: (n_b, 6) before it; wrench: (n_b, 6) [N, N m].
    Θ (ω⁺ − ω) = h (τ − ω̄ × Θ ω̄), ω̄ = (ω + ω⁺)/2, by fixed-point steps: the moment is workless for the mean, so that
    kinetic energy is kept to second order where the explicit form gains some at every step."""
    for b in range(len(u)):
        for i in range(3):
            out[b, i] = u[b, i] + h * (gravity[i] + inverse[b, i, i] * wrench[b, i])
        w0, w1, w2 = u[b, 3], u[b, 4], u[b, 5]
        n0, n1, n2 = w0, w1, w2
        for _ in range(_GYRO_STEPS):
            m0, m1, m2 = 0.5 * (w0 + n0), 0.5 * (w1 + n1), 0.5 * (w2 + n2)
            l0 = mass[b, 3, 3] * m0 + mass[b, 3, 4] * m1 + mass[b, 3, 5] * m2
            l1 = mass[b, 4, 3] * m0 + mass[b, 4, 4] * m1 + mass[b, 4, 5] * m2
            l2 = mass[b, 5, 3] * m0 + mass[b, 5, 4] * m1 + mass[b, 5, 5] * m2
            t0 = h * (wrench[b, 3] - (m1 * l2 - m2 * l1))
            t1 = h * (wrench[b, 4] - (m2 * l0 - m0 * l2))
            t2 = h * (wrench[b, 5] - (m0 * l1 - m1 * l0))
            n0 = w0 + inverse[b, 3, 3] * t0 + inverse[b, 3, 4] * t1 + inverse[b, 3, 5] * t2
            n1 = w1 + inverse[b, 4, 3] * t0 + inverse[b, 4, 4] * t1 + inverse[b, 4, 5] * t2
            n2 = w2 + inverse[b, 5, 3] * t0 + inverse[b, 5, 4] * t1 + inverse[b, 5, 5] * t2
        out[b, 3], out[b, 4], out[b, 5] = n0, n1, n2


def momentum_of(model: Model, q_rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Total linear and angular momentum about the origin, (6,) [N s, N m s]."""
    linear = model.mass[:, None] * u[:, :3]
    spin = np.einsum("bij,bj->bi", model.world_inertia(q_rotation), u[:, 3:])
    return np.concatenate([linear.sum(axis=0), (np.cross(position, linear) + spin).sum(axis=0)])


def energy_of(model: Model, rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy [J]; potential with respect to the origin."""
    return _energy(model.mass, model.inertia, model.gravity, rotation, position, u)


@njit(cache=True)
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
