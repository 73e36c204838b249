"""What a task is: a mechanism, what is seen of it, what acts on it, what is wanted, and how an episode ends.

Every method takes all episodes at once: arrays have a first axis over n worlds, of which a single environment has one.
So a task is written once, and steps as fast as `Worlds` does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from delassus.errors import SettingsError
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import StepSettings
from delassus.world import Worlds


class Task(ABC):
    """A task, told to `Episodes`.

    name: "cart-pole"; camel: "CartPole", of its Gymnasium id; summary: in one line. actions: what each entry of an
    action, from −1 to 1, does; observations: what each entry of an observation is, with its unit. settings: of the time
    steps, of which `steps` are taken per action; limit: actions until an episode is cut off. draws: how many random
    numbers, uniform in [−1, 1], an episode begins with: its start and its goal are functions of them. solved: the
    return that `policy` exceeds in every episode."""

    name: ClassVar[str]
    camel: ClassVar[str]
    summary: ClassVar[str]
    actions: ClassVar[tuple[str, ...]]
    observations: ClassVar[tuple[str, ...]]
    settings: ClassVar[StepSettings] = StepSettings()
    steps: ClassVar[int]
    limit: ClassVar[int]
    draws: ClassVar[int]
    solved: ClassVar[float]

    @property
    def gymnasium_id(self) -> str:
        """Of `gymnasium.make`."""
        return f"delassus/{self.camel}-v0"

    @cached_property
    def machine(self) -> tuple[Model, State]:
        """The mechanism and where it begins, built once."""
        return self.build()

    @abstractmethod
    def build(self) -> tuple[Model, State]:
        """The mechanism."""

    def start(self, drawn: np.ndarray) -> Mapping[str, np.ndarray]:
        """Where k episodes begin: {"q": (k, n_b, 7), "u": (k, n_b, 6)}, or nothing for where the mechanism was built.
        drawn: (k, draws)."""
        del drawn
        return {}

    @abstractmethod
    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """Set efforts, targets and wrenches.  drawn: (n, draws); action: (n, actions), from −1 to 1."""

    @abstractmethod
    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """(n, observations)."""

    @abstractmethod
    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """(n,) for where the action has led."""

    @abstractmethod
    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """(n,) where the episode is over: what should not happen has happened."""

    @abstractmethod
    def policy(self, observation: np.ndarray) -> np.ndarray:
        """(n, actions) that solve the task, from observations (n, observations) alone."""

    # -- words for those who write tasks -------------------------------------------------------------------------------

    def body(self, name: str) -> int:
        """The number of a body, its place in `Worlds.q`."""
        return self.machine[0].body_names.index(name)

    def coordinate(self, name: str) -> int:
        """The number of a joint coordinate ("hinge.angle"), its place in `Worlds.coordinates` and `Worlds.effort`."""
        return self.machine[0].joints.coordinate_names.index(name)

    def standing(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """q, u of k worlds as they were built, to be changed."""
        state = self.machine[1]
        return np.repeat(state.q[None], count, axis=0), np.repeat(state.u[None], count, axis=0)


def check_line(task: Task) -> None:
    """Refuse a task that lacks something."""
    for word in ("name", "camel", "summary", "actions", "observations", "steps", "limit", "draws", "solved"):
        if not hasattr(task, word):
            raise SettingsError(f"task {type(task).__name__} has no {word!r}: see delassus.envs.Task for what it means")
    for word in ("steps", "limit"):
        if getattr(task, word) < 1:
            raise SettingsError(f"task {task.name!r}: {word} is {getattr(task, word)}: give a whole number from 1 on")


def planar_turn(angle: np.ndarray) -> np.ndarray:
    """Unit quaternions (…, 4) of turns about the y axis [rad]."""
    zero = np.zeros_like(angle)
    return np.stack([np.cos(0.5 * angle), zero, np.sin(0.5 * angle), zero], axis=-1)


def pitch_of(quaternion: np.ndarray) -> np.ndarray:
    """(…,) angle about y [rad] of what moves in the x-z plane.  quaternion: (…, 4)."""
    return 2.0 * np.arctan2(quaternion[..., 2], quaternion[..., 0])
