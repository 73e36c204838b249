"""A pole on a cart: keep it upright and the cart in the middle of its rail."""

from collections.abc import Mapping

import numpy as np

from delassus.builder import ModelBuilder
from delassus.envs.task import Task, planar_turn
from delassus.model.model import Model
from delassus.model.state import State
from delassus.shapes import Box
from delassus.simulation import StepSettings
from delassus.world import Worlds

_FORCE = 20.0  # N
_HALF = 0.5  # m: from the hinge to the middle of the pole
_RAIL, _FALLEN = 2.0, 0.5  # m, rad: an episode ends beyond
_SPREAD = np.array([0.3, 0.2, 0.3, 0.3])  # m, rad, m/s, rad/s: where episodes begin


class CartPole(Task):
    """The classic, with a force instead of two."""

    name, camel = "cart-pole", "CartPole"
    summary = "balance a pole on a cart by pushing the cart"
    actions = ("force on the cart / 20 N",)
    observations = ("position of the cart [m]", "angle of the pole [rad]", "speed [m/s]", "rate of the angle [rad/s]")
    settings = StepSettings(h=5e-3)
    steps, limit, draws = 4, 500, 4
    solved = 480.0  # of 500

    def build(self) -> tuple[Model, State]:
        """A cart on a rail along x and a pole hinged to it."""
        builder = ModelBuilder()
        builder.body("cart", mass=1.0, shapes=Box((0.4, 0.2, 0.2)))
        builder.body("pole", position=(0, 0, _HALF), mass=0.2, shapes=Box((0.04, 0.04, 2 * _HALF)))
        builder.joint("prismatic", None, "cart", axis=(1, 0, 0), name="rail")
        builder.joint("revolute", "cart", "pole", position=(0, 0, 0), axis=(0, 1, 0), name="hinge")
        return builder.build()

    def start(self, drawn: np.ndarray) -> Mapping[str, np.ndarray]:
        """Somewhere near the middle, leaning and moving a little."""
        q, u = self.standing(len(drawn))
        x, angle, speed, rate = (_SPREAD * drawn).T
        q[:, 0, 0], u[:, 0, 0] = x, speed
        q[:, 1, 0], q[:, 1, 2], q[:, 1, 3:] = x + _HALF * np.sin(angle), _HALF * np.cos(angle), planar_turn(angle)
        u[:, 1, 0], u[:, 1, 2] = speed + _HALF * np.cos(angle) * rate, -_HALF * np.sin(angle) * rate
        u[:, 1, 4] = rate
        return {"q": q, "u": u}

    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """A force for as long as the action lasts."""
        worlds.effort[:, 0] = _FORCE * action[:, 0]

    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Both joints."""
        return np.concatenate([worlds.coordinates, worlds.rates], axis=1)

    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """One, less what is missing to upright and middle."""
        x, angle = worlds.coordinates.T
        return 1.0 - 0.5 * (x / _RAIL) ** 2 - 0.5 * (angle / _FALLEN) ** 2

    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Off the rail, or the pole has fallen."""
        x, angle = worlds.coordinates.T
        return (np.abs(x) > _RAIL) | (np.abs(angle) > _FALLEN)

    def policy(self, observation: np.ndarray) -> np.ndarray:
        """Feedback of all four."""
        return observation @ np.array([[2.0], [40.0], [4.0], [10.0]]) / _FORCE
