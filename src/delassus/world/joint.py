"""Joints of a world by name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from delassus.arguments import numbers
from delassus.errors import ProblemError, nearest
from delassus.world.coordinate import Coordinate
from delassus.world.handle import Handle, finite
from delassus.world.loads import joint_reaction
from delassus.world.placing import place_joint

Number = float | np.ndarray
"""One, or an array of those of several coordinates."""


class Reaction(NamedTuple):
    """force: (3,) [N] and moment: (3,) [N m] about the joint's origin, world axes, with which a joint holds its
    follower; on its base they are the opposite."""

    force: np.ndarray
    moment: np.ndarray


class Joint(Handle):
    """A joint of a world. What belongs to its coordinates is one number where it has one of that kind, and an array
    where it has several; `joint["x"]` is one of several by name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As it was built."""
        return self._world.model.joints.names[self._index]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"joint {self.name!r}"

    @property
    def kind(self) -> str:
        """As it was built: "revolute", "prismatic", …"""
        return self._world.model.joints.kinds[self._index]

    @property
    def base(self) -> str:
        """Name of the body it holds on to; "world" for what is fixed."""
        return self._end(0)

    @property
    def follower(self) -> str:
        """Name of the body it guides."""
        return self._end(1)

    @property
    def position(self) -> Number:
        """Displacements along its axes [m]: of prismatic, cylindrical, planar and cartesian joints."""
        return self._read("position", angular=False)

    @property
    def angle(self) -> Number:
        """Its angle, or angles [rad], turns counted; of a spherical joint the three components of its rotation vector,
        which is no longer than π."""
        return self._read("angle", angular=True)

    @property
    def speed(self) -> Number:
        """Rates of its displacements [m/s]."""
        return self._read("speed", angular=False)

    @property
    def rate(self) -> Number:
        """Rates of its angles [rad/s]; of a joint without angles those of its displacements [m/s]."""
        return self._read("rate", angular=self._has(angular=True))

    @property
    def torque(self) -> Number:
        """What motor and `effort` exerted on its angles over the last step, a mean [N m]; see `Coordinate.load`."""
        return self._read("torque", angular=True)

    @property
    def force(self) -> Number:
        """The same on its displacements [N]."""
        return self._read("force", angular=False)

    @property
    def values(self) -> np.ndarray:
        """All its coordinates [rad, m], in the order of `coordinate_names`."""
        return self._world._coordinates[0][self._slice].copy()

    @property
    def rates(self) -> np.ndarray:
        """Rates of all its coordinates [rad/s, m/s]."""
        return self._world._rates[self._slice].copy()

    @property
    def target(self) -> Number:
        """Where its motor should bring it [rad, m]: one number, one for each coordinate, or, to set some, a table by
        name, {"x": 0.1}. Moves on at `target_rate`."""
        return self._all("target")

    @target.setter
    def target(self, value: Any) -> None:
        self._set_all("target", value)

    @property
    def target_rate(self) -> Number:
        """How fast its target moves [rad/s, m/s]."""
        return self._all("target_rate")

    @target_rate.setter
    def target_rate(self, value: Any) -> None:
        self._set_all("target_rate", value)

    @property
    def effort(self) -> Number:
        """Torque or force that acts from now on, beside that of its motor, until another is set [N m, N]."""
        return self._all("effort")

    @effort.setter
    def effort(self, value: Any) -> None:
        self._set_all("effort", value)

    @property
    def limits(self) -> Any:
        """(lower, upper) [rad, m], infinite where there are none; (n, 2) for several coordinates."""
        both = np.array([c.limits for c in self.coordinates]).reshape(-1, 2)
        return (float(both[0, 0]), float(both[0, 1])) if len(both) == 1 else both

    @property
    def reaction(self) -> Reaction:
        """Force [N] and moment [N m] with which its rows held the follower over the last step, a mean; see
        `Reaction`. Motor, damping, friction and limits are not in it."""
        return Reaction(*joint_reaction(self._world, self._index))

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Its own words for them: ("angle",), ("x", "y", "angle"), …"""
        names = self._world.model.joints.coordinate_names[self._slice]
        return tuple(name.rpartition(".")[2] for name in names)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Handles of all of them."""
        return tuple(Coordinate(self._world, d) for d in range(self._slice.start, self._slice.stop))

    def __getitem__(self, name: str) -> Coordinate:
        """One coordinate by name."""
        if name not in self.coordinate_names:
            raise ProblemError(f"{self._phrase} has no coordinate {name!r}; {self._known(name)}")
        return Coordinate(self._world, self._slice.start + self.coordinate_names.index(name))

    def set(self, **given: Any) -> None:
        """Put it somewhere: `set(angle=0.3, rate=0.0)`, `set(position=…, speed=…)`, or coordinates by name,
        `set(x=0.1)`; values [rad, m] and, as `rate` or `speed`, their rates [rad/s, m/s].

        What hangs on the joint moves along as one piece; a loop closes again with the least motion of its bodies.
        Rates that are not given stay what they were. Out of reach is an error, and then nothing has moved."""
        values, rates = dict[int, float](), dict[int, float]()
        for word, value in given.items():
            is_rate = word in ("rate", "speed")
            for c, number in self._assigned(word, value):
                (rates if is_rate else values)[c._index] = number
        place_joint(self._world, self._index, values, rates)

    # -- words and numbers ---------------------------------------------------------------------------------------------

    @property
    def _slice(self) -> slice:
        start = self._world.model.joints.coordinate_start
        return slice(int(start[self._index]), int(start[self._index + 1]))

    @property
    def _phrase(self) -> str:
        return f"{self.label} ({self.kind})"

    def _end(self, side: int) -> str:
        b = int(self._world.model.joints.bodies[self._index, side])
        return "world" if b < 0 else self._world.model.body_names[b]

    def _has(self, angular: bool) -> bool:
        return bool((self._world.model.joints.angular[self._slice] == angular).any())

    def _of_kind(self, word: str, angular: bool) -> list[Coordinate]:
        found = [c for c in self.coordinates if (c.unit == "rad") == angular]
        if not found:
            other = {"angle": "position", "torque": "force", "position": "angle", "speed": "rate", "force": "torque"}
            hint = f": say {other[word]}" if word in other and self.coordinates else ": it has no coordinates"
            raise ProblemError(f"{self._phrase} has no {word}{hint}")
        return found

    def _read(self, word: str, angular: bool) -> Number:
        what = {
            "angle": "value",
            "position": "value",
            "rate": "rate",
            "speed": "rate",
            "torque": "load",
            "force": "load",
        }
        numbers = [getattr(c, what[word]) for c in self._of_kind(word, angular)]
        return numbers[0] if len(numbers) == 1 else np.array(numbers)

    def _all(self, what: str) -> Number:
        numbers = [getattr(c, what) for c in self.coordinates]
        return numbers[0] if len(numbers) == 1 else np.array(numbers)

    def _set_all(self, what: str, value: Any) -> None:
        if isinstance(value, Mapping):
            pairs = [(self[name], number) for name, number in value.items()]
        else:
            pairs = self._matched(list(self.coordinates), what, value)
        for coordinate, number in pairs:
            setattr(coordinate, what, number)

    def _assigned(self, word: str, value: Any) -> list[tuple[Coordinate, float]]:
        """Coordinates that a word of `set` speaks of, with their numbers."""
        unit = "/s" if word in ("rate", "speed") else ""
        if word in self.coordinate_names:
            return [(self[word], finite(value, f"{self.label}: {word}", self[word].unit))]
        if word in ("angle", "position", "speed"):
            chosen = self._of_kind(word, angular=word == "angle")
        elif word == "rate":
            chosen = self._of_kind(word, angular=self._has(angular=True))
        else:
            raise ProblemError(f"{self._phrase} has no {word!r} to set; {self._known(word)}")
        return [(c, finite(x, f"{self.label}: {word}", c.unit + unit)) for c, x in self._matched(chosen, word, value)]

    def _matched(self, chosen: list[Coordinate], word: str, value: Any) -> list[tuple[Coordinate, Any]]:
        if not chosen:
            raise ProblemError(f"{self._phrase} has no coordinates, so no {word}")
        if len(chosen) == 1 and type(value) is float:  # nearly always
            return [(chosen[0], value)]
        given = numbers(value)
        if len(chosen) == 1 and given.shape == ():
            return [(chosen[0], value)]
        if given.shape != (len(chosen),):
            names = ", ".join(c.name.rpartition(".")[2] for c in chosen)
            many = "one number" if len(chosen) == 1 else f"{len(chosen)} numbers"
            raise ProblemError(f"{self._phrase}: {word} is {value!r}: give {many} ({names}), or a table by name")
        return list(zip(chosen, given))

    def _known(self, word: str) -> str:
        words = list(dict.fromkeys([*self.coordinate_names, "angle", "position", "rate", "speed"]))
        return nearest(str(word), words) if self.coordinate_names else "it has no coordinates"

    def _instead_of(self, name: str) -> str:
        if name in ("angle", "position", "rate", "speed"):
            return f": joint.set({name}=…) puts it there, .target asks its motor to"
        return ": .effort sets what acts on it" if name in ("torque", "force") else ""

    def __repr__(self) -> str:
        shown = ", ".join(f"{c.name.rpartition('.')[2]} {c.value:.6g} {c.unit}" for c in self.coordinates)
        return f"Joint({self.name!r}, {self.kind}, {self.base} → {self.follower}{', ' if shown else ''}{shown})"
