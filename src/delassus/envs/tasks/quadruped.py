"""A quadruped of thirteen bodies: walk at a speed without falling."""

import numpy as np

from delassus.envs.task import Task
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import SCENES
from delassus.simulation import StepSettings
from delassus.spatial import quaternion_to_matrix
from delassus.world import Worlds

_SWING = 0.5  # rad: how far targets of the joints can be moved
_PERIOD = 0.3  # s: of the clock that is observed
_GOAL, _RANGE = 0.25, 0.05  # m/s: goals are within
_LOW, _TILTED = 0.28, 0.7  # m; cosine of the tilt: an episode ends below
_LEG = 0.4  # m
_WEIGHT = 224.0  # N: forces are observed in units of it
_LEGS = ("front-left", "front-right", "hind-left", "hind-right")
_JOINTS = tuple(f"{leg}-{part}" for leg in _LEGS for part in ("hip", "thigh", "shin"))


class Quadruped(Task):
    """The forces on the four feet are observed, and are zero where a foot is lifted."""

    name, camel = "quadruped", "Quadruped"
    summary = "walk forward on four legs at a given speed without falling"
    actions = tuple(f"target of {joint} / 0.5 rad" for joint in _JOINTS)
    observations = (
        "height of the trunk [m]",
        *(f"{axis} component of the trunk's upward axis" for axis in "xyz"),
        *(f"speed along the trunk's {axis} [m/s]" for axis in "xyz"),
        *(f"angular velocity about the trunk's {axis} [rad/s]" for axis in "xyz"),
        *(f"angle of {joint} [rad]" for joint in _JOINTS),
        *(f"rate of {joint} [rad/s]" for joint in _JOINTS),
        *(f"force on the {leg} foot along {axis} / 224 N" for leg in _LEGS for axis in "xyz"),
        "sine of the clock",
        "its cosine",
        "wanted speed [m/s]",
    )
    settings = StepSettings(h=2e-3)
    steps, limit, draws = 5, 200, 3
    solved = 130.0  # of 200

    def build(self) -> tuple[Model, State]:
        """That of the scene."""
        setup = SCENES["quadruped"].build()
        return setup.model, setup.state

    def start(self, drawn: np.ndarray) -> dict[str, np.ndarray]:
        """Standing, pushed a little."""
        q, u = self.standing(len(drawn))
        u[:, :, :2] = 0.1 * drawn[:, None, 1:]
        return {"q": q, "u": u}

    def goal(self, drawn: np.ndarray) -> np.ndarray:
        """(n,) [m/s]."""
        return _GOAL + _RANGE * drawn[:, 0]

    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """Where the motors bring the joints."""
        worlds.target[:] = _SWING * action

    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Trunk, joints, feet, clock and what is wanted."""
        R = quaternion_to_matrix(worlds.q[:, 0, 3:])
        motion = np.einsum("nji,ncj->nci", R, worlds.u[:, 0].reshape(-1, 2, 3)).reshape(-1, 6)
        feet = worlds.contact_wrench[:, 3::3, :3].reshape(-1, 12) / _WEIGHT
        clock = 2.0 * np.pi * worlds.time[:, None] / _PERIOD
        trunk = worlds.q[:, 0, 2:3], R[:, :, 2], motion
        joints = worlds.coordinates, worlds.rates
        wanted = np.sin(clock), np.cos(clock), self.goal(drawn)[:, None]
        return np.concatenate([*trunk, *joints, feet, *wanted], axis=1)

    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """One at the wanted speed, nothing for standing still."""
        goal = self.goal(drawn)
        return 1.0 - np.minimum(np.abs(worlds.u[:, 0, 0] - goal) / goal, 1.0)

    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Fallen."""
        upright = quaternion_to_matrix(worlds.q[:, 0, 3:])[:, 2, 2]
        return (worlds.q[:, 0, 2] < _LOW) | (upright < _TILTED)

    def policy(self, observation: np.ndarray) -> np.ndarray:
        """A trot: diagonal legs swing together, and lift their feet while they go forward."""
        sine, cosine, wanted = observation[:, -3], observation[:, -2], observation[:, -1]
        pace = 2.2 * wanted + 0.5 * (wanted - observation[:, 4])  # motors lag by a sixth of the period
        reach = 0.25 * pace * _PERIOD / _LEG  # [rad] half of the way in half a period
        swing = 2.0 / np.pi * np.arcsin(np.clip(sine, -1.0, 1.0))  # to and fro at constant speed
        out = np.zeros((len(observation), 4, 3))
        for leg, sign in enumerate((1.0, -1.0, -1.0, 1.0)):
            lift = 0.4 * np.maximum(sign * cosine, 0.0)
            out[:, leg, 1] = -sign * reach * swing + 0.5 * lift
            out[:, leg, 2] = -lift
        return out.reshape(-1, 12) / _SWING
