"""All forces of a model that H takes in: springs, bushings and their like, by kind, and the user's own."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import NamedTuple

import numpy as np

from delassus.errors import SettingsError
from delassus.forces.configuration import Configuration
from delassus.forces.pairs import Masses, Pairs
from delassus.forces.user import UserForce

TANGENTS = ("exact", "clamped")


class Group(NamedTuple):
    """Forces on k velocities each.  velocities: (c, k) their numbers in aligned triples (3 t, 3 t + 1, 3 t + 2),
    −1 three times for none; force: (c, k) [N, N m]; dq, dv: (c, k, k), its derivatives by displacements along the
    velocities and by the velocities."""

    velocities: np.ndarray
    force: np.ndarray
    dq: np.ndarray
    dv: np.ndarray


class Forces:
    """What pushes between bodies and nodes, beside gravity and given wrenches.

    Gyroscopic moments are not among them: `dynamics.forces.swung` takes them in two halves that keep kinetic energy
    exactly at any spin, which no entry of H would."""

    def __init__(self, pairs: Sequence[Pairs], pair_names: Sequence[Sequence[str]], own: Sequence[UserForce] = ()):
        """pairs: by kind; pair_names: those of each; own: the user's."""
        self.pairs, self.own = tuple(pairs), tuple(own)
        self.pair_names = tuple(tuple(names) for names in pair_names)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all forces, by kind, the user's own last."""
        return tuple(name for names in self.pair_names for name in names) + tuple(one.name for one in self.own)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    def couplings(self) -> list[np.ndarray]:
        """The numbers of velocities of `groups`, which never change: which velocities depend on each other."""
        return [pairs.index for pairs in self.pairs] + [one.index for one in self.own]

    def groups(self, at: Configuration, tangent: str = "exact", masses: Masses | None = None) -> list[Group]:
        """All forces here and now.  tangent: "exact": dq is the derivative, which is not symmetric where bodies turn;
        "clamped": −dq of springs and bushings is positive semi-definite, for where the exact one makes H indefinite
        (springs under pressure); masses: with the weights that stiff ones have in a midpoint step (`pull_pairs`)."""
        if tangent not in TANGENTS:
            raise SettingsError(f"tangent is {tangent!r}: give one of {', '.join(TANGENTS)}")
        at = Configuration.of(at)
        out = [Group(pairs.index, *pairs.evaluate(at, tangent == "exact", masses)) for pairs in self.pairs]
        return out + [Group(one.index, *one.evaluate(at)) for one in self.own]

    def energy(self, at: Configuration) -> float:
        """What is stored in all of them [J]; of the user's own only what they say."""
        at = Configuration.of(at)
        return sum(float(pairs.energy(at).sum()) for pairs in self.pairs) + sum(one.energy(at) for one in self.own)

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of all constants; of the user's own forces their classes, and the fields of
        dataclasses."""
        digest = hashlib.sha256()
        for pairs in self.pairs:
            digest.update(repr(pairs.kind).encode())
            for part in (pairs.bodies, pairs.nodes, pairs.origin, pairs.axes, pairs.rest, pairs.stiffness):
                digest.update(part.tobytes())
            digest.update(pairs.damping.tobytes())
        for one in self.own:
            digest.update(f"{type(one.own).__qualname__} {one.velocities.tolist()}".encode())
            if is_dataclass(one.own):
                digest.update(repr([(f.name, getattr(one.own, f.name)) for f in fields(one.own)]).encode())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        kinds = [f"{len(pairs.bodies)} {pairs.kind.name}" for pairs in self.pairs]
        return f"Forces({', '.join(kinds + ([f'{len(self.own)} own'] if self.own else []))})"
