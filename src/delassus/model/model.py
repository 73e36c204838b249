"""What a mechanism is: constant arrays, batched by kind. Built by `ModelBuilder` (builder/), never changed."""

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from delassus.collision import ShapeArrays
from delassus.joints.arrays import JointArrays
from delassus.joints.couplings import Couplings, with_lengths
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.flexible import Flexible
from delassus.softening import NOT_SAID

# Constants that came after the first recordings, with the value that says nothing: models that say nothing keep their
# hash, and their recordings resume.
NEUTRAL = {
    "effort": np.inf,
    "limit_restitution": 0.0,
    "softening": NOT_SAID,
    "limit_softening": NOT_SAID,
    "support_only_kinds": (),
    "spring": 0.0,
    "rest": 0.0,
    "armature": 0.0,
}
# Names that constants had when the first recordings were made: hashes go by them.
_FIRST_NAMES = {"support_only_kinds": "given_kinds", "is_heap": "plain", "is_small": "few"}
# Where the user put frames, what things look like and where they come from: nothing moves otherwise for it, so
# recordings resume whatever they are.
_NOT_MECHANICS = ("centre", "fixed_pose", "colours", "source")

_CORNERS = 8  # arrays of `ShapeArrays.vertices` that say where corners and faces are; edges follow from them


class Bodies(NamedTuple):
    """What kernels read of rigid bodies. `Model.body_data` is a plain tuple of these fields."""

    mass: np.ndarray  # (n_b,) [kg]
    inertia: np.ndarray  # (n_b, 3, 3) about the centre of mass, body frame [kg m²]
    inverse_mass: np.ndarray
    inverse_inertia: np.ndarray
    gravity: np.ndarray  # (3,) [m/s²]


@dataclass(frozen=True, eq=False)
class Model:
    """body_names: of the n_b moving bodies; mass: (n_b,) [kg]; inertia: (n_b, 3, 3) about the centre of mass, body
    frame [kg m²]; gravity: (3,) [m/s²]; joints, shapes: see their classes; fixed_names: what belongs to the world;
    centre: (n_b, 3) centres of mass in the bodies' own frames, as the user placed them [m]; fixed_pose: (n_f, 7) of
    what is fixed, position [m] and quaternion; flexible: the bodies of finite elements, see model/flexible.py; forces:
    springs, bushings and forces of the user's own, see forces/; None where there are none; colours: (n_s, 4) red,
    green, blue and opacity, 0 … 1, of each row of `shapes`, NaN where none was chosen; source: the file it was read
    from, "name sha256:…", or nothing; couplings: of joint coordinates, and tendons over them, None where there are
    none."""

    body_names: tuple[str, ...]
    fixed_names: tuple[str, ...]
    mass: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    joints: JointArrays
    shapes: ShapeArrays
    centre: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    fixed_pose: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))
    flexible: Flexible | None = None
    forces: Any = None
    colours: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))
    source: str = ""
    couplings: Couplings | None = None

    def __post_init__(self) -> None:
        if len(self.colours) != self.shapes.count:
            object.__setattr__(self, "colours", np.full((self.shapes.count, 4), np.nan))
        if len(self.centre) != len(self.mass):
            object.__setattr__(self, "centre", np.zeros((len(self.mass), 3)))
        if len(self.fixed_pose) != len(self.fixed_names):
            object.__setattr__(self, "fixed_pose", np.tile(np.eye(7)[3], (len(self.fixed_names), 1)))

    @property
    def body_count(self) -> int:
        return len(self.mass)

    @cached_property
    def freedoms(self) -> JointArrays:
        """All coordinates along which something may act: those of the joints, then lengths of tendons."""
        return self.joints if self.couplings is None else with_lengths(self.joints, self.couplings)

    @property
    def closes_lengths(self) -> bool:
        """Are there lengths over joint coordinates that are held, or whose armature moves when joints are closed?"""
        return self.couplings is not None and len(self.couplings.held) + len(self.couplings.geared) > 0

    @property
    def node_count(self) -> int:
        """Nodes of the flexible bodies."""
        return 0 if self.flexible is None else self.flexible.node_count

    @property
    def is_implicit(self) -> bool:
        """Do forces act whose derivatives belong to the masses of a step, or rows that tie more than two bodies? Then H
        and J are sparse instead of 6×6 blocks and twelve numbers per row."""
        wide = self.couplings is not None and self.couplings.is_wide
        return wide or self.flexible is not None or self.forces is not None

    @cached_property
    def inverse_mass(self) -> np.ndarray:
        """(n_b,) [1/kg]."""
        return 1.0 / self.mass

    @cached_property
    def inverse_inertia(self) -> np.ndarray:
        """(n_b, 3, 3), body frame."""
        return np.linalg.inv(self.inertia) if len(self.mass) else np.zeros((0, 3, 3))

    @cached_property
    def body_data(self) -> tuple[Any, ...]:
        """Fields of `Bodies`."""
        return tuple(getattr(self, name) for name in Bodies._fields)

    def world_inertia(self, rotation: np.ndarray) -> np.ndarray:
        """(n_b, 3, 3) in the world frame."""
        return rotation @ self.inertia @ rotation.transpose(0, 2, 1)

    def mass_blocks(self, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """H and H⁻¹ by blocks, each (n_b, 6, 6), at these rotations (n_b, 3, 3)."""
        mass, inverse = np.zeros((self.body_count, 6, 6)), np.zeros((self.body_count, 6, 6))
        form_mass_blocks(self.mass, self.inertia, self.inverse_inertia, rotation, mass, inverse)
        return mass, inverse

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of everything constant, shapes, materials and filters included: a recording
        resumes only its own. What models could not say when the first recordings were made counts where it is said."""
        digest = hashlib.sha256()
        for part in (self, self.joints, self.shapes):
            for name, value in constants(part).items():
                if name in _NOT_MECHANICS or (name in NEUTRAL and np.all(value == NEUTRAL[name])):
                    continue
                digest.update(_FIRST_NAMES.get(name, name).encode())
                if name == "vertices":
                    value = value[:_CORNERS]
                for piece in value if isinstance(value, tuple) else (value,):
                    is_array = isinstance(piece, np.ndarray)
                    digest.update(f"{piece.dtype} {piece.shape}".encode() if is_array else repr(piece).encode())
                    digest.update(piece.tobytes() if is_array else b"")
        for more in (self.flexible, self.forces, self.couplings):
            if more is not None:
                digest.update(more.hash.encode())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{self.joints.kinds.count(k)} {k}" for k in dict.fromkeys(self.joints.kinds)) or "no joints"
        mass = f"{self.mass.sum():.4g} kg" if len(self.mass) else "nothing"
        more = "" if self.flexible is None else f", {self.flexible!r}"
        more += "" if self.forces is None else f", {self.forces!r}"
        return f"Model({self.body_count} bodies of {mass}, {len(self.fixed_names)} fixed, {kinds}{more})"


def constants(arrays: Any) -> dict[str, Any]:
    """Fields of a dataclass that hold data: arrays, numbers, texts and tuples of them. What is left out (caches, memory
    that is used again) never changes a result."""
    plain = (np.ndarray, int, float, str)
    found = {field.name: getattr(arrays, field.name) for field in fields(arrays)}

    def is_data(value: Any) -> bool:
        return isinstance(value, plain) or (isinstance(value, tuple) and all(isinstance(x, plain) for x in value))

    return {name: value for name, value in found.items() if is_data(value)}


@njit(cache=True, **NO_REFCOUNT)
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
