"""Couplings and tendons: lengths over joint coordinates, x = Σ P_k(q_k) with a polynomial P_k each.

A coupling holds its length at zero: gears, q₂ = r q₁; linkages that are given as q₂ = p(q₁). A tendon's length, such as
Σ c_k q_k, is a coordinate like those of joints and has what they have: limits, a spring, damping, dry friction,
armature. Limits that are equal hold it there, and it is a coupling.
"""

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from delassus.joints.arrays import PASSIVE, JointArrays
from delassus.kernel import njit
from delassus.softening import NOT_SAID, WIDTH

NOTHING = -1
NO_PRIMITIVE = -1
"""Of lengths beside joint coordinates: nothing between two frames evaluates them."""
NEUTRAL = {
    "lower": 0.0,
    "upper": 0.0,
    "damping": 0.0,
    "friction": 0.0,
    "limit_restitution": 0.0,
    "spring": 0.0,
    "rest": 0.0,
    "armature": 0.0,
    "limit_softening": NOT_SAID,
}
"""What a tendon says of its length, with what a coupling says."""


@dataclass(frozen=True, eq=False)
class Couplings:
    """names: of n couplings and tendons; start: (n + 1,) first term of each; coordinate: (terms,) which joint
    coordinate, powers: (terms, p) coefficients of 1, q, q², … [m, rad]; bodies: (n, 2) the moving bodies it ties, −1
    where there are fewer, or both −1 where there are more than two: H and J are sparse then, as rows of rigid bodies
    have two (`is_wide`); lower … limit_softening: (n,) and (n, 8) of the lengths, as `JointArrays` has them of
    coordinates."""

    names: tuple[str, ...]
    start: np.ndarray
    coordinate: np.ndarray
    powers: np.ndarray
    bodies: np.ndarray
    wide: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    limit_restitution: np.ndarray
    spring: np.ndarray
    rest: np.ndarray
    armature: np.ndarray
    limit_softening: np.ndarray

    @property
    def count(self) -> int:
        return len(self.names)

    @cached_property
    def held(self) -> np.ndarray:
        """By number: those whose length is held, a bilateral row each."""
        return np.flatnonzero(self.lower == self.upper)

    @cached_property
    def free(self) -> np.ndarray:
        """By number: the others, whose lengths are coordinates beside those of the joints (`with_lengths`)."""
        return np.flatnonzero(self.lower != self.upper)

    @cached_property
    def geared(self) -> np.ndarray:
        """By number: those of `free` that have armature."""
        return self.free[self.armature[self.free] > 0.0]

    @cached_property
    def is_wide(self) -> bool:
        """Does any tie more than two moving bodies?"""
        return bool(self.wide.any())

    def evaluate(
        self, joints: JointArrays, values: np.ndarray, rates: np.ndarray, body_count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (n,) [m, rad] and their rate rows (n, 6 n_b), given all coordinates (n_d,), turns counted, and their
        rate rows (n_d, 12)."""
        length, rows = np.zeros(self.count), np.zeros((self.count, 6 * body_count))
        couple(self.start, self.coordinate, self.powers, joints.coordinate_bodies, values, rates, length, rows)
        return length, rows

    def of_two_bodies(self, rows: np.ndarray) -> np.ndarray:
        """(n, 12) of rows (n, 6 n_b): zeros where more than two bodies are tied."""
        out, by_body = np.zeros((self.count, 12)), rows.reshape(self.count, -1, 6)
        for side in range(2):
            on = np.flatnonzero(self.bodies[:, side] >= 0)
            out[on, 6 * side : 6 * side + 6] = by_body[on, self.bodies[on, side]]
        return out

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of all constants; what couplings do not say counts where it is said."""
        digest = hashlib.sha256(repr(self.names).encode())
        for part in (self.start, self.coordinate, self.powers):
            digest.update(part.tobytes())
        for name, nothing in NEUTRAL.items():
            value = getattr(self, name)
            if not np.all(value == nothing):
                digest.update(name.encode())
                digest.update(value.tobytes())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Couplings({len(self.held)} held, {len(self.free)} tendons)"


def couplings_of(
    names: list[str], terms: list[list[tuple[int, list[float]]]], joints: JointArrays, **said: np.ndarray
) -> Couplings:
    """terms: of each, (coordinate, coefficients); said: of their lengths, by the names of `NEUTRAL`."""
    longest = max(len(powers) for some in terms for _, powers in some)
    powers = [[*p, *([0.0] * (longest - len(p)))] for some in terms for _, p in some]
    bodies, wide = np.full((len(names), 2), NOTHING, np.int64), np.zeros(len(names), bool)
    for k, some in enumerate(terms):
        tied = sorted({int(b) for d, _ in some for b in joints.coordinate_bodies[d] if b >= 0})
        wide[k] = len(tied) > 2
        if not wide[k]:
            bodies[k, : len(tied)] = tied
    shape = {name: (len(names), WIDTH) if name == "limit_softening" else (len(names),) for name in NEUTRAL}
    return Couplings(
        tuple(names),
        np.cumsum([0, *(len(some) for some in terms)]).astype(np.int64),
        np.array([d for some in terms for d, _ in some], np.int64),
        np.array(powers, dtype=float),
        bodies,
        wide,
        **{name: said.get(name, np.full(shape[name], nothing)) for name, nothing in NEUTRAL.items()},
    )


def with_lengths(joints: JointArrays, couplings: Couplings) -> JointArrays:
    """The joints, and after them one more without rows for each length that is not held, whose coordinate it is: what
    acts along coordinates acts along lengths. These are constants only; `Couplings.evaluate` says where lengths are."""
    if not len(couplings.free):
        return joints
    free = couplings.free
    n, names = len(free), tuple(couplings.names[c] for c in free)
    nothing = np.zeros(n)
    more = {name: getattr(couplings, name)[free] for name in NEUTRAL} | {
        "names": names,
        "kinds": ("tendon",) * n,
        "bodies": couplings.bodies[free],
        "origin": np.zeros((n, 2, 3)),
        "axes": np.tile(np.eye(3), (n, 2, 1, 1)),
        "length": nothing,
        "row_start": np.full(n, joints.row_start[-1]),
        "coordinate_names": names,
        "coordinate_start": joints.coordinate_start[-1] + 1 + np.arange(n),
        "coordinate_joint": joints.count + np.arange(n),
        "coordinate_primitive": np.full(n, NO_PRIMITIVE),
        "coordinate_axis": np.zeros(n, np.int64),
        "angular": np.zeros(n, bool),
        "drive": np.full(n, PASSIVE),
        "stiffness": nothing,
        "rate_gain": nothing,
        "effort": np.full(n, np.inf),
        "softening": np.full((n, WIDTH), NOT_SAID),
    }
    extended: dict[str, Any] = {}
    for name in (field.name for field in fields(joints)):
        own = getattr(joints, name)
        if name in more:
            extended[name] = own + more[name] if isinstance(own, tuple) else np.concatenate([own, more[name]])
    return replace(joints, **extended)


@njit(cache=True, error_model="numpy")
def couple(start, coordinate, powers, bodies, values, rates, length, rows):
    """Lengths (n,) and rows (n, 6 n_b), both added to.  bodies: (n_d, 2)."""
    for c in range(len(length)):
        for t in range(start[c], start[c + 1]):
            d = coordinate[t]
            value, slope = 0.0, 0.0
            for p in range(powers.shape[1] - 1, -1, -1):
                slope = slope * values[d] + value
                value = value * values[d] + powers[t, p]
            length[c] += value
            for side in range(2):
                b = bodies[d, side]
                if b >= 0:
                    for k in range(6):
                        rows[c, 6 * b + k] += slope * rates[d, 6 * side + k]
