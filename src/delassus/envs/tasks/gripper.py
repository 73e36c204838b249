"""A gripper of two fingers: lift a box of unknown weight by friction and hold it at a height, pressing no more than
that takes."""

import numpy as np

from delassus.builder import ModelBuilder, Motor
from delassus.envs.task import Task
from delassus.model.model import Model
from delassus.model.state import State
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.world import Worlds

_FORCE = 30.0  # N: of each finger
_LIFT = 0.4  # m: how high the palm can be sent
_FRICTION = 0.6
_LOAD = 6.0  # N: what the box may weigh beside its 0.5 kg
_STIFFNESS = 4000.0  # N/m: of the motor that lifts
_OWN_WEIGHT = 15.7  # N: of palm and fingers
_ON_GROUND = 0.1  # m: height of a box that nobody lifts, which earns nothing


class Gripper(Task):
    """The fingers feel, across and along the box, the contact forces that carry it: their sum is its weight."""

    name, camel = "gripper", "Gripper"
    summary = "lift a box of unknown weight by friction and hold it at a height"
    actions = ("force of both fingers / 30 N, none below 0", "height the palm is sent to / 0.4 m, none below 0")
    observations = (
        "height of the palm [m]",
        "left finger [m]",
        "right finger [m]",
        "speed of the palm [m/s]",
        "of the left finger [m/s]",
        "of the right finger [m/s]",
        "box along x [m]",
        "height of the box [m]",
        "speed of the box along x [m/s]",
        "and z [m/s]",
        "force on the left finger along x [N]",
        "and z [N]",
        "force on the right finger along x [N]",
        "and z [N]",
        "wanted height of the box [m]",
    )
    settings = StepSettings(h=2e-3)
    steps, limit, draws = 5, 300, 3
    solved = 170.0  # of 300: closing, lifting and pressing take their share

    def build(self) -> tuple[Model, State]:
        """A palm that slides up and down, fingers that slide towards each other, a box between them."""
        builder = ModelBuilder()
        builder.fixed("ground", shapes=Plane(), material=_FRICTION)
        builder.body("palm", position=(0, 0, 0.4), mass=1.0, shapes=Box((0.6, 0.1, 0.05)))
        builder.joint("prismatic", None, "palm", name="lift", motor=Motor(_STIFFNESS, 400.0, effort=100.0))
        for side, x in (("left", -0.18), ("right", 0.18)):
            builder.body(side, position=(x, 0, 0.2), mass=0.3, shapes=Box((0.04, 0.1, 0.3)), material=_FRICTION)
            builder.joint("prismatic", "palm", side, axis=(-x, 0, 0), name=side, motor=Motor(20.0, 20.0))
        builder.body("box", position=(0, 0, 0.1), mass=0.5, shapes=Box((0.2, 0.2, 0.2)), material=_FRICTION)
        return builder.build()

    def start(self, drawn: np.ndarray) -> dict[str, np.ndarray]:
        """The box may stand a little to one side."""
        q, u = self.standing(len(drawn))
        q[:, self.body("box"), 0] = 0.03 * drawn[:, 1]
        return {"q": q, "u": u}

    def goal(self, drawn: np.ndarray) -> np.ndarray:
        """(n,) height [m]."""
        return 0.3 + 0.1 * drawn[:, 2]

    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """Fingers push, the palm is sent to a height, and the box weighs what was drawn."""
        press, height = np.maximum(action, 0.0).T
        worlds.effort[:, 1:3] = _FORCE * press[:, None]
        worlds.target[:, 0] = _LIFT * height
        worlds.wrench[:, self.body("box"), 2] = -0.5 * _LOAD * (1.0 + drawn[:, 0])

    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Joints, box, what the fingers feel, and what is wanted."""
        box = self.body("box")
        felt = worlds.contact_wrench[:, [self.body("left"), self.body("right")]][:, :, [0, 2]].reshape(-1, 4)
        place, motion = worlds.q[:, box, [0, 2]], worlds.u[:, box, [0, 2]]
        return np.concatenate(
            [worlds.coordinates, worlds.rates, place, motion, felt, self.goal(drawn)[:, None]], axis=1
        )

    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """One at the wanted height, none on the ground, less a fifth for pressing with all that the fingers have."""
        goal = self.goal(drawn)
        off = np.abs(worlds.q[:, self.body("box"), 2] - goal)
        return 1.0 - np.minimum(off / (goal - _ON_GROUND), 1.0) - 0.2 * np.maximum(action[:, 0], 0.0)

    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """The box is out of reach."""
        return np.abs(worlds.q[:, self.body("box"), 0]) > 0.3

    def policy(self, observation: np.ndarray) -> np.ndarray:
        """Press by what is felt along the fingers: half as much again as friction needs; go up when both have hold."""
        palm, height, wanted = observation[:, 0], observation[:, 7], observation[:, 14]
        normal, along = np.abs(observation[:, [10, 12]]), np.abs(observation[:, [11, 13]])
        has_hold = normal.min(axis=1) > 1.0
        force = np.where(has_hold, 6.0 + 1.5 * along.max(axis=1) / _FRICTION, 6.0)
        sag = (_OWN_WEIGHT + along.sum(axis=1)) / _STIFFNESS
        # not further ahead than the palm can follow without a jerk
        target = palm + np.where(has_hold, sag + np.clip(wanted - height, -0.04, 0.04), 0.0)
        return np.stack([force / _FORCE, target / _LIFT], axis=1)
