"""A four-bar linkage under gravity: bring its crank to a speed, and keep it there."""

import numpy as np

from delassus.envs.task import Task
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import SCENES
from delassus.simulation import StepSettings
from delassus.world import Worlds

_TORQUE = 2.0  # N m
_MEAN, _RANGE = 9.0, 3.0  # rad/s: goals are within
_FAR = 3.0  # rad/s: an error of this much earns nothing


class FourBarCrank(Task):
    """A loop, overconstrained three times in space, whose inertia about the crank varies as it turns."""

    name, camel = "four-bar-crank", "FourBarCrank"
    summary = "bring the crank of a four-bar linkage to a speed by its torque"
    actions = ("torque on the crank / 2 N m",)
    observations = ("sine of the crank's angle", "its cosine", "rate [rad/s]", "wanted rate [rad/s]")
    settings = StepSettings(h=1e-3)
    steps, limit, draws = 5, 300, 1
    solved = 250.0  # of 300: it starts at rest

    def build(self) -> tuple[Model, State]:
        """That of the scene, with nothing driven."""
        setup = SCENES["four-bar"].build(speed=0.0)
        return setup.model, setup.state

    def goal(self, drawn: np.ndarray) -> np.ndarray:
        """(n,) [rad/s]."""
        return _MEAN + _RANGE * drawn[:, 0]

    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """The first hinge is the crank's."""
        worlds.effort[:, 0] = _TORQUE * action[:, 0]

    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Where the crank is, how fast it turns and how fast it should."""
        angle, rate = worlds.coordinates[:, 0], worlds.rates[:, 0]
        return np.stack([np.sin(angle), np.cos(angle), rate, self.goal(drawn)], axis=1)

    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """One at the wanted speed, nothing 3 rad/s away from it."""
        return 1.0 - np.minimum(np.abs(worlds.rates[:, 0] - self.goal(drawn)) / _FAR, 1.0)

    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Nothing can go wrong."""
        return np.zeros(worlds.count, bool)

    def policy(self, observation: np.ndarray) -> np.ndarray:
        """In proportion to what is missing, as steep as actions of 5 ms bear, beside what carries crank and coupler."""
        sine, _, rate, wanted = observation.T
        return ((0.25 * (wanted - rate) - 0.17 * sine) / _TORQUE)[:, None]
