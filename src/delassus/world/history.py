"""Where a world has been: its states, kept as it moves, and what can be read out of them by name.

States are kept, since every angle, position, velocity and energy follows from them, whatever one wants to know later.
When they fill their memory, every second one goes, and from then on only every second step is kept, and so on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.dynamics.forces import total_energy
from delassus.errors import ProblemError, nearest
from delassus.model.model import Model
from delassus.model.state import State
from delassus.world import reading
from delassus.world.bending import FLEXIBLE_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BYTES = 64 * 1024**2
"""Of all states that are kept."""
_FIRST_ROOM = 256  # states
_FEWEST = 16  # states of worlds with so many nodes that they do not fit
_NO_NODES = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class Series:
    """One quantity over time.  t: (N,) [s]; values: (N,) or (N, k) in `unit`."""

    name: str
    unit: str
    t: np.ndarray
    values: np.ndarray

    def plot(self, axes: "Axes | None" = None, **style: Any) -> "Axes":
        """Draw it over time, into a new figure unless axes are given; style: of matplotlib's `plot`."""
        if axes is None:
            from delassus.view.extra import need_figures

            need_figures()
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
        axes.plot(self.t, self.values, **({"label": self.name} | style))
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"{self.name} [{self.unit}]")
        return axes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy or dtype is not None else self.values

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        when = f", t = {self.t[0]:.6g} … {self.t[-1]:.6g} s" if len(self.t) else ""
        return f"Series({self.name!r} [{self.unit}], {self.values.shape}{when})"


class History:
    """The states of a world so far.  Rows 0 … count − 1 of t (c,), q (c, n_b, 7), u (c, n_b, 6), turns (c, n_d), nodes
    and node_velocity (c, n_n, 3) hold them; every: a state is kept once in so many steps."""

    def __init__(self, model: Model):
        self._bodies, self._free, self._nodes = model.body_count, model.joints.coordinate_count, model.node_count
        fitting = MOST_BYTES // (8 * (1 + 13 * self._bodies + self._free + 6 * self._nodes))
        self._most = max(_FEWEST if self._nodes else _FIRST_ROOM, fitting)
        self.count, self.every, self._since = 0, 1, 0
        self.t, self.q, self.u, self.turns, self.nodes, self.node_velocity = self._room(min(_FIRST_ROOM, self._most))

    def _room(self, count: int) -> tuple[np.ndarray, ...]:
        b, free, n = self._bodies, self._free, self._nodes
        return (
            np.empty(count),
            np.empty((count, b, 7)),
            np.empty((count, b, 6)),
            np.empty((count, free), np.int64),
            np.empty((count, n, 3)),
            np.empty((count, n, 3)),
        )

    @property
    def _all(self) -> tuple[np.ndarray, ...]:
        return self.t, self.q, self.u, self.turns, self.nodes, self.node_velocity

    def _grow(self) -> None:
        old, fresh = self._all, self._room(2 * len(self.t))
        for new, kept in zip(fresh, old):
            new[: self.count] = kept[: self.count]
        self.t, self.q, self.u, self.turns, self.nodes, self.node_velocity = fresh

    def add(
        self,
        t: float,
        q: np.ndarray,
        u: np.ndarray,
        turns: np.ndarray,
        nodes: np.ndarray = _NO_NODES,
        node_velocity: np.ndarray = _NO_NODES,
    ) -> None:
        """Keep a state, if it is its turn."""
        self._since += 1
        if self._since < self.every and self.count:
            return
        if self.count == len(self.t):
            if 2 * len(self.t) <= self._most:
                self._grow()
            else:
                self._thin()
        k = self.count
        self.t[k], self.q[k], self.u[k], self.turns[k] = t, q, u, turns
        if self._nodes:
            self.nodes[k], self.node_velocity[k] = nodes, node_velocity
        self.count, self._since = k + 1, 0

    def extend(self, q: np.ndarray, u: np.ndarray, turns: np.ndarray, t: np.ndarray) -> None:
        """Keep the states after many steps of rigid bodies, those whose turn it is.  q: (k, n_b, 7), u: (k, n_b, 6),
        turns: (k, n_d), t: (k,)."""
        done = 0
        while done < len(t):
            first = done + (self.every - 1 - self._since if self.count else 0)
            room = len(self.t) - self.count
            if room == 0 or first >= len(t):
                for k in range(done, min(first + 1, len(t))):
                    self.add(t[k], q[k], u[k], turns[k])
                done = first + 1
                continue
            chosen = slice(first, min(first + room * self.every, len(t)), self.every)
            count = len(t[chosen])
            new = slice(self.count, self.count + count)
            self.t[new], self.q[new], self.u[new], self.turns[new] = t[chosen], q[chosen], u[chosen], turns[chosen]
            self.count, done, self._since = self.count + count, first + (count - 1) * self.every + 1, 0

    def _thin(self) -> None:
        for array in self._all:
            kept = array[: self.count : 2].copy()
            array[: len(kept)] = kept
        self.count, self.every = (self.count + 1) // 2, 2 * self.every

    def put_at(
        self, t: float, q: np.ndarray, u: np.ndarray, turns: np.ndarray, nodes: np.ndarray, node_velocity: np.ndarray
    ) -> None:
        """The world was put somewhere at time t [s]: what is later is dropped, and where it was just then."""
        self.count = k = int(np.searchsorted(self.t[: self.count], t, side="right"))
        if k and self.t[k - 1] == t:
            self.q[k - 1], self.u[k - 1], self.turns[k - 1] = q, u, turns
            self.nodes[k - 1], self.node_velocity[k - 1] = nodes, node_velocity

    def states(self) -> Iterator[State]:
        """All of them."""
        for k in range(self.count):
            yield State(self.q[k], self.u[k], float(self.t[k]), self.turns[k], self.nodes[k], self.node_velocity[k])

    def series(self, model: Model, name: str) -> Series:
        """A quantity by its name, "joint:hinge.angle", "body:arm.position", "world.energy"."""
        t, q, u = self.t[: self.count], self.q[: self.count], self.u[: self.count]
        values, unit = self._of_flexible(model, str(name)) or _read(model, name, q, u, self.turns[: self.count])
        return Series(name, unit, t.copy(), np.asarray(values))

    def _of_flexible(self, model: Model, name: str) -> tuple[np.ndarray, str] | None:
        """(values, unit) of a flexible body, or of the energy that springs and elements share in; None: of others."""
        owner, _, word = name.rpartition(".")
        if owner == "world" and word in _WORLD and model.is_implicit:
            energies = np.array([total_energy(model, state) for state in self.states()])
            return {"kinetic_energy": energies[:, 0], "potential_energy": energies[:, 1]}.get(
                word, energies.sum(axis=1)
            ), "J"
        body = owner.removeprefix("body:")
        if model.flexible is None or body == owner or body not in model.flexible.names:
            return None
        _need(word in FLEXIBLE_WORDS, name, word, list(FLEXIBLE_WORDS), f"body:{body}." + "{}")
        unit, read = FLEXIBLE_WORDS[word]
        b, places = model.flexible.names.index(body), self.nodes[: self.count]
        values = [read(model, b, x, v) for x, v in zip(places, self.node_velocity)]  # type: ignore[no-untyped-call]
        return np.array(values), unit


_BODY = {
    "position": ("m", lambda model, b, q, u: reading.position(model, b, q)),
    "centre_of_mass": ("m", lambda model, b, q, u: q[:, b, :3].copy()),
    "orientation": ("-", lambda model, b, q, u: q[:, b, 3:].copy()),
    "velocity": ("m/s", reading.velocity),
    "angular_velocity": ("rad/s", lambda model, b, q, u: u[:, b, 3:].copy()),
    "momentum": ("N s", lambda model, b, q, u: model.mass[b] * u[:, b, :3]),
    "energy": (
        "J",
        lambda model, b, q, u: reading.kinetic_energy(model, b, q, u) + reading.potential_energy(model, b, q),
    ),
    "kinetic_energy": ("J", reading.kinetic_energy),
    "potential_energy": ("J", lambda model, b, q, u: reading.potential_energy(model, b, q)),
}
_WORLD = ("energy", "kinetic_energy", "potential_energy")
_JOINT = ("angle", "position", "rate", "speed")
_TENDON = {"length": "m, rad", "rate": "m/s, rad/s"}


def _read(model: Model, name: str, q: np.ndarray, u: np.ndarray, turns: np.ndarray) -> tuple[np.ndarray, str]:
    """(values, unit) of a name in all these states."""
    kind, _, rest = str(name).partition(":")
    if not rest and str(name).startswith("world."):
        kind, rest = "world", str(name).removeprefix("world.")
    owner, _, word = rest.rpartition(".")
    if kind == "world":
        _need(rest in _WORLD, name, rest, list(_WORLD), "world.{}")
        parts = [_BODY[rest][1](model, b, q, u) for b in range(model.body_count)]  # type: ignore[no-untyped-call]
        return np.sum(parts, axis=0) if parts else np.zeros(len(q)), "J"
    if kind == "body":
        _need(owner in model.body_names, name, owner, list(model.body_names), "body:{}." + word)
        _need(word in _BODY, name, word, list(_BODY), f"body:{owner}." + "{}")
        unit, read = _BODY[word]
        return read(model, model.body_names.index(owner), q, u), unit  # type: ignore[no-untyped-call]
    if kind == "tendon":
        return _read_tendon(model, name, owner, word, q, u, turns)
    if kind != "joint":
        forms = "'joint:hinge.angle', 'body:arm.position', 'tendon:string.length' or 'world.energy'"
        raise ProblemError(f"history({name!r}): give a name such as {forms}, or one that world.watch notes")
    _need(owner in model.joints.names, name, owner, list(model.joints.names), "joint:{}." + word)
    return _read_joint(model, name, owner, word, q, u, turns)


def _read_tendon(
    model: Model, name: str, owner: str, word: str, q: np.ndarray, u: np.ndarray, turns: np.ndarray
) -> tuple[np.ndarray, str]:
    couplings = model.couplings
    names = () if couplings is None else couplings.names
    _need(owner in names, name, owner, list(names), "tendon:{}." + word)
    _need(word in _TENDON, name, word, list(_TENDON), f"tendon:{owner}." + "{}")
    assert couplings is not None
    out, c = np.empty(len(q)), names.index(owner)
    for k in range(len(q)):
        values, rates = reading.coordinates(model, q[k], turns[k])
        lengths, rows = couplings.evaluate(model.joints, values, rates, model.body_count)
        out[k] = lengths[c] if word == "length" else rows[c] @ u[k].ravel()
    return out, _TENDON[word]


def _read_joint(
    model: Model, name: str, owner: str, word: str, q: np.ndarray, u: np.ndarray, turns: np.ndarray
) -> tuple[np.ndarray, str]:
    joints, j = model.joints, model.joints.names.index(owner)
    own = np.arange(joints.coordinate_start[j], joints.coordinate_start[j + 1])
    words = [joints.coordinate_names[d].rpartition(".")[2] for d in own]
    angular = joints.angular[own]
    is_rate = word in ("rate", "speed")
    if word in words:
        chosen = own[words.index(word) : words.index(word) + 1]
    else:
        _need(word in _JOINT, name, word, list(dict.fromkeys([*words, *_JOINT])), f"joint:{owner}." + "{}")
        chosen = own[angular == (word == "angle" or (word == "rate" and bool(angular.any())))]
        _need(len(chosen) > 0, name, word, [*words, "rate"], f"joint:{owner}." + "{}")
    unit = ("rad" if joints.angular[chosen[0]] else "m") + ("/s" if is_rate else "")
    out = np.empty((len(q), len(chosen)))
    for k in range(len(q)):
        values, rows = reading.coordinates(model, q[k], turns[k])
        out[k] = reading.rates(model, rows, u[k])[chosen] if is_rate else values[chosen]
    return (out[:, 0] if len(chosen) == 1 else out), unit


def _need(condition: bool, name: str, found: str, known: list[str], form: str) -> None:
    if not condition:
        hint = f": if it is one that states do not tell, call world.watch({name!r}) before the run; "
        raise ProblemError(f"history({name!r}): there is no {form.format(found)!r}{hint}{nearest(found, known)}")
