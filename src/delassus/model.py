"""What a mechanism is: constant arrays, batched by kind. Built by `ModelBuilder` (builder.py), never changed."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from delassus.collision import ShapeArrays
from delassus.joints.arrays import JointArrays


@dataclass(frozen=True, eq=False)
class Model:
    """body_names: of the n_b moving bodies; mass: (n_b,) [kg]; inertia: (n_b, 3, 3) about the centre of mass, body
    frame [kg m²]; gravity: (3,) [m/s²]; joints, shapes: see their classes; fixed_names: what belongs to the world."""

    body_names: tuple[str, ...]
    fixed_names: tuple[str, ...]
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    joints: JointArrays
    shapes: ShapeArrays

    @property
    def body_count(self) -> int:
        return len(self.mass)

    @cached_property
    def inverse_mass(self) -> np.ndarray:
        """(n_b,) [1/kg]."""
        return 1.0 / self.mass

    @cached_property
    def inverse_inertia(self) -> np.ndarray:
        """(n_b, 3, 3), body frame."""
        return np.linalg.inv(self.inertia) if len(self.mass) else np.zeros((0, 3, 3))

    def world_inertia(self, rotation: np.ndarray) -> np.ndarray:
        """(n_b, 3, 3) in the world frame."""
        return rotation @ self.inertia @ rotation.transpose(0, 2, 1)

    def world_inverse_inertia(self, rotation: np.ndarray) -> np.ndarray:
        """(n_b, 3, 3) in the world frame."""
        return rotation @ self.inverse_inertia @ rotation.transpose(0, 2, 1)

    def mass_blocks(self, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """H and H⁻¹ by blocks, each (n_b, 6, 6), at these rotations (n_b, 3, 3)."""
        mass, inverse = np.zeros((self.body_count, 6, 6)), np.zeros((self.body_count, 6, 6))
        form_mass_blocks(self.mass, self.inertia, self.inverse_inertia, rotation, mass, inverse)
        return mass, inverse

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of masses, inertias, gravity and joints: a recording resumes only its own."""
        digest = hashlib.sha256(
            repr((self.body_names, self.fixed_names, self.joints.names, self.joints.kinds)).encode()
        )
        joints = self.joints
        parts = (
            self.mass, self.inertia, self.gravity, joints.bodies, joints.origin, joints.axes, joints.length,
            joints.lower, joints.upper, joints.drive, joints.stiffness, joints.rate_gain, joints.damping,
            joints.friction,
        )  # fmt: skip
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{self.joints.kinds.count(k)} {k}" for k in dict.fromkeys(self.joints.kinds)) or "no joints"
        mass = f"{self.mass.sum():.4g} kg" if len(self.mass) else "nothing"
        return f"Model({self.body_count} bodies of {mass}, {len(self.fixed_names)} fixed, {kinds})"


@njit(cache=True)
def form_mass_blocks(mass, inertia, inverse_inertia, rotation, out, inverse):
    """Blocks diag(m I, R Θ Rᵀ) and their inverses."""
    for b in range(len(mass)):
        R = rotation[b]
        for i in range(3):
            out[b, i, i] = mass[b]
            inverse[b, i, i] = 1.0 / mass[b]
            for j in range(3):
                value, other = 0.0, 0.0
                for k in range(3):
                    for m in range(3):
                        value += R[i, k] * inertia[b, k, m] * R[j, m]
                        other += R[i, k] * inverse_inertia[b, k, m] * R[j, m]
                out[b, 3 + i, 3 + j] = value
                inverse[b, 3 + i, 3 + j] = other
