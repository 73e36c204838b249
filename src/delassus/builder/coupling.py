"""Couplings as the builder holds them: which joint coordinates they tie."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder.joint import Joint
from delassus.errors import ProblemError, nearest
from delassus.given import numbers
from delassus.joints import JOINTS
from delassus.joints.arrays import JointArrays
from delassus.joints.couplings import Couplings, couplings_of


class CouplingMethods:
    """The part of `ModelBuilder` that ties joint coordinates."""

    joints: list[Joint]
    couplings: list[tuple[str, Any]]
    _names: dict[str, set[str]]
    _name: Any

    def coupling(self, terms: Mapping[str, ArrayLike], *, name: str | None = None) -> str:
        """Tie joint coordinates: the sum over all terms is kept at zero.

        terms: coordinate ("slide.position", or the joint's name where it has one) → c for c q, or (p₀, p₁, p₂, …) for
        p₀ + p₁ q + p₂ q² + …, [m, rad]; turns are counted. A gear that turns the other way at half the speed:
        coupling({"first": 0.5, "second": 1.0}). Joints of more than two moving bodies in all make H and J sparse,
        which is slower."""
        name = self._name(name, "coupling", "couplings")
        assert name is not None
        self.couplings.append((name, _terms(name, terms, self.joints)))
        self._names["couplings"].add(name)
        return name


def model_couplings(given: list[tuple[str, Any]], joints: JointArrays) -> Couplings:
    """All couplings of a mechanism."""
    number = {name: d for d, name in enumerate(joints.coordinate_names)}
    return couplings_of([name for name, _ in given], [[(number[c], p) for c, p in some] for _, some in given], joints)


def _terms(name: str, terms: Mapping[str, ArrayLike], joints: list[Joint]) -> list[tuple[str, list[float]]]:
    """(coordinate's full name, coefficients) each, checked."""
    if not isinstance(terms, Mapping) or not terms:
        raise ProblemError(
            f"coupling {name}: terms is {terms!r}: give a table, such as {{'first': 1.0, 'second': -2.0}}"
        )
    names = [f"{joint.name}.{c.name}" for joint in joints for c in JOINTS[joint.kind].coordinates]
    out = []
    for key, given in terms.items():
        found = [full for full in names if full == key or full.rpartition(".")[0] == key]
        if len(found) != 1:
            several = f"name one of {', '.join(found)}" if found else nearest(str(key), names)
            raise ProblemError(f"coupling {name}: there is no one coordinate {key!r}: {several}")
        powers = numbers(given)
        powers = np.array([0.0, float(powers)]) if powers.shape == () else powers
        if powers.ndim != 1 or len(powers) < 2 or not np.isfinite(powers).all() or not powers[1:].any():
            raise ProblemError(
                f"coupling {name}: {key!r} is {given!r}: give a factor, or (p₀, p₁, …) of a polynomial, not constant"
            )
        out.append((found[0], powers.tolist()))
    return out
