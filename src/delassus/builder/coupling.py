"""Couplings and tendons as the builder holds them: which joint coordinates they go over, and what their lengths do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, numbers
from delassus.builder.joint import Joint, limit_pair
from delassus.errors import ProblemError, nearest
from delassus.joints import JOINTS
from delassus.joints.arrays import JointArrays
from delassus.joints.couplings import NEUTRAL, Couplings, couplings_of
from delassus.joints.primitives import ROTVEC
from delassus.softening import Softening, Spring, plain_softness


@dataclass(frozen=True)
class GivenCoupling:
    """terms: (coordinate's full name, coefficients of 1, q, q², …) each; said: of its length, by the names of `NEUTRAL`
    in joints/couplings.py, nothing for a coupling."""

    name: str
    terms: list[tuple[str, list[float]]]
    said: dict[str, Any]


class CouplingMethods:
    """The part of `ModelBuilder` that ties joint coordinates."""

    joints: list[Joint]
    couplings: list[GivenCoupling]
    _names: dict[str, set[str]]
    _name: Any

    def coupling(self, terms: Mapping[str, ArrayLike], *, name: str | None = None) -> str:
        """Tie joint coordinates: the sum over all terms is kept at zero.

        terms: coordinate ("slide.position", or the joint's name where it has one) → c for c q, or (p₀, p₁, p₂, …) for
        p₀ + p₁ q + p₂ q² + …, [m, rad]; turns are counted. A gear that turns the other way at half the speed:
        coupling({"first": 0.5, "second": 1.0}). Joints of more than two moving bodies in all make H and J sparse,
        which is slower."""
        return self._length("coupling", terms, name, {})

    def tendon(
        self,
        terms: Mapping[str, ArrayLike],
        *,
        limits: Any = None,
        limit_restitution: float = 0.0,
        limit_softening: Softening | Spring | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        stiffness: float = 0.0,
        rest: float = 0.0,
        armature: float = 0.0,
        name: str | None = None,
    ) -> str:
        """A length over joint coordinates, the sum over all terms (see `coupling`), that acts as a joint's coordinate
        does: a string that stops at its limits, an elastic band, a damper, a rotor between several joints.

        limits: (lower, upper) of the sum, inf for none; equal ones hold it there. The other words are those of `joint`:
        restitution and softening of its limits, viscous damping and dry friction, stiffness of a spring that pulls to
        rest, armature; units of force and work are those of the sum. A force f along it is c f on each coordinate.
        tendon({"first": 1.0, "second": 1.0}, limits=(-inf, 0.3)) lets two sliders come 0.3 m far in all."""
        what = f"tendon {name}" if name else "tendon"
        wanted = "give (lower, upper), such as (-1.0, 1.0), inf for no limit"
        lower, upper = limit_pair(f"{what}: limits", limits, "", wanted)
        unit = "in units of the sum"
        said: dict[str, Any] = {"lower": lower, "upper": upper}
        for key, word, value in (
            ("damping", "damping", damping),
            ("friction", "friction", friction),
            ("spring", "stiffness", stiffness),
            ("armature", "armature", armature),
            ("limit_restitution", "limit_restitution", limit_restitution),
        ):
            said[key] = number(value, f"{what}: {word}", unit)
        place = numbers(rest)
        if place.shape != () or not np.isfinite(place):
            raise ProblemError(f"{what}: rest is {rest!r}: give one finite number, where its spring pulls to")
        if not said["limit_restitution"] <= 1.0:
            raise ProblemError(f"{what}: limit_restitution is {limit_restitution!r}, give a number from 0 to 1")
        if not np.isfinite([lower, upper]).any() and not (damping or friction or stiffness or armature):
            raise ProblemError(
                f"{what}: nothing acts along it: give limits=(lower, upper), damping, friction, stiffness or armature"
            )
        said["rest"] = float(place) if stiffness else 0.0
        said["limit_softening"] = plain_softness(limit_softening, f"{what}: limit_softening")
        return self._length("tendon", terms, name, said)

    def _length(self, what: str, terms: Mapping[str, ArrayLike], name: str | None, said: dict[str, Any]) -> str:
        name = self._name(name, what, "couplings")
        assert name is not None
        self.couplings.append(GivenCoupling(name, _terms(what, name, terms, self.joints), said))
        self._names["couplings"].add(name)
        return name


def model_couplings(given: list[GivenCoupling], joints: JointArrays) -> Couplings:
    """All couplings and tendons of a mechanism."""
    number = {name: d for d, name in enumerate(joints.coordinate_names)}
    neutral = {**NEUTRAL, "limit_softening": plain_softness(None, "")}
    said = {key: np.array([one.said.get(key, neutral[key]) for one in given]) for key in NEUTRAL}
    terms = [[(number[c], p) for c, p in one.terms] for one in given]
    return couplings_of([one.name for one in given], terms, joints, **said)


def _terms(what: str, name: str, terms: Mapping[str, ArrayLike], joints: list[Joint]) -> list[tuple[str, list[float]]]:
    """(coordinate's full name, coefficients) each, checked."""
    if not isinstance(terms, Mapping) or not terms:
        raise ProblemError(f"{what} {name}: terms is {terms!r}: give a table, such as {{'first': 1.0, 'second': -2.0}}")
    primitives = {f"{joint.name}.{c.name}": c.primitive for joint in joints for c in JOINTS[joint.kind].coordinates}
    names = list(primitives)
    out = []
    for key, given in terms.items():
        found = [full for full in names if full == key or full.rpartition(".")[0] == key]
        if what == "tendon" and any(primitives[full] == ROTVEC for full in found):
            raise ProblemError(
                f"tendon {name}: {key!r} turns like a ball, and its rotation vector jumps at half a turn: tendons go "
                "over revolute, universal, prismatic and other joints whose coordinates count on"
            )
        if len(found) != 1:
            several = f"name one of {', '.join(found)}" if found else nearest(str(key), names)
            raise ProblemError(f"{what} {name}: there is no one coordinate {key!r}: {several}")
        powers = numbers(given)
        powers = np.array([0.0, float(powers)]) if powers.shape == () else powers
        if powers.ndim != 1 or len(powers) < 2 or not np.isfinite(powers).all() or not powers[1:].any():
            raise ProblemError(
                f"{what} {name}: {key!r} is {given!r}: give a factor, or (p₀, p₁, …) of a polynomial, not constant"
            )
        out.append((found[0], powers.tolist()))
    return out
