"""What an importer returns: a model with its first state, and what else the file says."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from delassus.dynamics import Inputs
from delassus.errors import SettingsError, nearest
from delassus.importers.actuator import Actuator
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import StepSettings


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state that the file names, with the controls it says."""

    state: State
    ctrl: dict[str, float]


@dataclass(frozen=True, eq=False)
class Site:
    """A place on a body.  body: its name; position (3,) [m] and quaternion (4,) in the body's own frame."""

    body: str
    position: np.ndarray
    quaternion: np.ndarray


@dataclass(eq=False)
class Imported:
    """A mechanism out of a file; `model, state = load_model(path)`, and `World(*load_model(path))`.

    settings: with the file's time step; keyframes, sites: by name; actuators: what controls act on; ctrl: their
    controls, by name, which `inputs` reads at every step; joints: the file's joint → (coordinate of the model, factor),
    file's value = factor × coordinate; not_carried: one sentence each for what the file says and the model does not;
    source: the file; state_of: (qpos, qvel) as the file's format counts them → State."""

    model: Model
    state: State
    settings: StepSettings = field(default_factory=StepSettings)
    keyframes: dict[str, Keyframe] = field(default_factory=dict)
    actuators: tuple[Actuator, ...] = ()
    ctrl: dict[str, float] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    joints: dict[str, tuple[str, float]] = field(default_factory=dict)
    not_carried: tuple[str, ...] = ()
    source: str = ""
    state_of: Callable[..., State] | None = None

    def __iter__(self) -> Iterator[Any]:
        """model, state."""
        yield self.model
        yield self.state

    def at(self, keyframe: str) -> "Imported":
        """This file started at one of its keyframes, with the controls of that."""
        if keyframe not in self.keyframes:
            known = nearest(keyframe, list(self.keyframes)) if self.keyframes else "the file has none"
            raise SettingsError(f"{self.source}: there is no keyframe {keyframe!r}; {known}")
        key = self.keyframes[keyframe]
        return replace(self, state=key.state, ctrl=self.ctrl | key.ctrl)

    def set_ctrl(self, values: Mapping[str, float]) -> None:
        """Controls by the names of their actuators, from the next step on."""
        for name, value in values.items():
            if name not in self.ctrl:
                known = nearest(name, list(self.ctrl)) if self.ctrl else "the file has none"
                raise SettingsError(f"{self.source}: there is no actuator {name!r}; {known}")
            if not np.isfinite(value):
                raise SettingsError(f"{self.source}: control of {name!r} is {value}: give a finite number")
            self.ctrl[name] = float(value)

    def hold(self) -> None:
        """Let every servo aim at where it is now."""
        values = self.state.coordinates(self.model)
        self.ctrl.update({a.name: a.holding(values) for a in self.actuators if a.bias[1]})

    @property
    def inputs_are_constant(self) -> bool:
        """Do `inputs` change with the controls alone, and not with time or state?"""
        return not any(actuator.needs_state for actuator in self.actuators if not actuator.is_drive)

    def inputs(self, t: float, state: State) -> Inputs:
        """What the actuators do with the present controls, as `World(…, inputs=…)` and `simulate` take it."""
        model = self.model
        n = model.joints.coordinate_count
        effort, target, rate = np.zeros(n), np.zeros(n), np.zeros(n)
        values = rates = None
        for actuator in self.actuators:
            if actuator.is_drive:
                actuator.aim(self.ctrl[actuator.name], target, rate)
                continue
            if values is None and actuator.needs_state:
                values, rates = coordinates_and_rates(model, state)
            actuator.push(self.ctrl[actuator.name], values, rates, effort)
        return Inputs(np.zeros((model.body_count, 6)), effort, target, rate)

    def __repr__(self) -> str:
        return (
            f"Imported({self.source}: {self.model!r}, {len(self.actuators)} actuators, "
            f"{len(self.keyframes)} keyframes, {len(self.not_carried)} things not carried over)"
        )


def coordinates_and_rates(model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Joint coordinates (n_d,) [m, rad], turns counted, and their rates."""
    joints = model.joints
    values, rows = joints.coordinates(joints.frames(state.q, state.rotation))
    rates = np.zeros(len(values))
    for side in range(2):
        body = joints.coordinate_bodies[:, side]
        on = body >= 0
        rates[on] += np.einsum("di,di->d", rows[on, 6 * side : 6 * side + 6], state.u[body[on]])
    return values + 2.0 * np.pi * joints.turns_of(state.turns), rates
