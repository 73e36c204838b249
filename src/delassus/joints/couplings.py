"""Couplings of joint coordinates: Σ P_k(q_k) = 0 with a polynomial P_k each. Gears, q₂ = r q₁; linkages that are given
as q₂ = p(q₁); tendons over joints, Σ c_k q_k = L."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from delassus.joints.arrays import JointArrays
from delassus.kernel import njit

NOTHING = -1


@dataclass(frozen=True, eq=False)
class Couplings:
    """names: of n couplings; start: (n + 1,) first term of each; coordinate: (terms,) which joint coordinate, powers:
    (terms, p) coefficients of 1, q, q², … [m, rad]; bodies: (n, 2) the moving bodies it ties, −1 where there are fewer,
    or both −1 where there are more than two: H and J are sparse then, as rows of rigid bodies have two (`is_wide`)."""

    names: tuple[str, ...]
    start: np.ndarray
    coordinate: np.ndarray
    powers: np.ndarray
    bodies: np.ndarray
    wide: np.ndarray

    @property
    def count(self) -> int:
        return len(self.names)

    @cached_property
    def is_wide(self) -> bool:
        """Does any tie more than two moving bodies?"""
        return bool(self.wide.any())

    def evaluate(
        self, joints: JointArrays, values: np.ndarray, rates: np.ndarray, body_count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (n,) [m, rad] and rows (n, 6 n_b), given all coordinates (n_d,), turns counted, and their rate rows
        (n_d, 12)."""
        residual, rows = np.zeros(self.count), np.zeros((self.count, 6 * body_count))
        couple(self.start, self.coordinate, self.powers, joints.coordinate_bodies, values, rates, residual, rows)
        return residual, rows

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of all constants."""
        digest = hashlib.sha256(repr(self.names).encode())
        for part in (self.start, self.coordinate, self.powers):
            digest.update(part.tobytes())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Couplings({self.count})"


def couplings_of(names: list[str], terms: list[list[tuple[int, list[float]]]], joints: JointArrays) -> Couplings:
    """terms: of each, (coordinate, coefficients)."""
    longest = max(len(powers) for some in terms for _, powers in some)
    powers = [[*p, *([0.0] * (longest - len(p)))] for some in terms for _, p in some]
    bodies, wide = np.full((len(names), 2), NOTHING, np.int64), np.zeros(len(names), bool)
    for k, some in enumerate(terms):
        tied = sorted({int(b) for d, _ in some for b in joints.coordinate_bodies[d] if b >= 0})
        wide[k] = len(tied) > 2
        if not wide[k]:
            bodies[k, : len(tied)] = tied
    return Couplings(
        tuple(names), np.cumsum([0, *(len(some) for some in terms)]).astype(np.int64),
        np.array([d for some in terms for d, _ in some], np.int64), np.array(powers, dtype=float), bodies, wide,
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def couple(start, coordinate, powers, bodies, values, rates, residual, rows):
    """Residuals (n,) and rows (n, 6 n_b), both added to.  bodies: (n_d, 2)."""
    for c in range(len(residual)):
        for t in range(start[c], start[c + 1]):
            d = coordinate[t]
            value, slope = 0.0, 0.0
            for p in range(powers.shape[1] - 1, -1, -1):
                slope = slope * values[d] + value
                value = value * values[d] + powers[t, p]
            residual[c] += value
            for side in range(2):
                b = bodies[d, side]
                if b >= 0:
                    for k in range(6):
                        rows[c, 6 * b + k] += slope * rates[d, 6 * side + k]
