"""A hopper on one springy leg, in a plane: hop along at a speed (after Raibert 1986, ch. 2)."""

import numpy as np

from delassus.builder import ModelBuilder, Motor
from delassus.envs.task import Task, pitch_of
from delassus.model.model import Model
from delassus.model.state import State
from delassus.shapes import Box, Capsule, Plane, Sphere
from delassus.simulation import StepSettings
from delassus.world import Worlds

_TORQUE = 40.0  # N m
_STRETCH = 0.06  # m: how much longer the leg's spring can be made
_LEG, _FOOT = 0.6, 0.03  # m: from the hip to the middle of the foot, radius of the foot
_DROP = 0.15  # m: it begins this far above the ground
_LOW, _TILTED = 0.3, 0.8  # m, rad: an episode ends beyond
_GOAL = 0.4  # m/s: goals are from minus to plus this
_STANCE = 0.15  # s: how long the foot stays on the ground
_APEX = 0.8  # m: height of the hip at the top of a hop
_GRAVITY, _MASS, _STIFFNESS = 9.81, 5.6, 3000.0  # m/s², kg, N/m
_WEIGHT = 60.0  # N, about: forces are observed in units of it


class Hopper(Task):
    """Flight and stance are told apart by the force on the foot, which is zero in the air, exactly."""

    name, camel = "hopper", "Hopper"
    summary = "hop on one leg at a given speed without falling"
    actions = ("torque at the hip / 40 N m", "lengthening of the leg's spring / 0.06 m")
    observations = (
        "height of the hip [m]",
        "pitch of the trunk [rad]",
        "speed along x [m/s]",
        "and z [m/s]",
        "rate of the pitch [rad/s]",
        "angle of the hip [rad]",
        "stretch of the leg [m]",
        "rate of the hip [rad/s]",
        "speed of the stretch [m/s]",
        "force on the foot along x / 60 N",
        "and z / 60 N",
        "wanted speed along x [m/s]",
    )
    settings = StepSettings(h=2e-3)
    steps, limit, draws = 2, 600, 3
    solved = 540.0  # of 600

    def build(self) -> tuple[Model, State]:
        """A trunk that stays in the plane y = 0, hip at its middle, thigh, and shin on a spring."""
        builder = ModelBuilder()
        builder.fixed("ground", shapes=Plane(), material=1.0, group=1)
        hip = _LEG + _FOOT + _DROP
        builder.body("trunk", position=(0, 0, hip), mass=5.0, shapes=Box((0.5, 0.2, 0.15)), group=2, mask=0)
        builder.body("thigh", position=(0, 0, hip - 0.15), mass=0.4, shapes=Capsule(0.03, 0.2), group=2, mask=0)
        shapes = [Sphere(_FOOT), (Capsule(0.015, 0.3), (0, 0, 0.18))]
        builder.body("shin", position=(0, 0, hip - _LEG), mass=0.2, material=1.0, group=2, mask=1, shapes=shapes)
        builder.joint("planar", None, "trunk", axis=(0, 1, 0), name="plane")
        builder.joint("revolute", "trunk", "thigh", position=(0, 0, hip), axis=(0, 1, 0), name="hip")
        spring = Motor(stiffness=_STIFFNESS, damping=8.0)
        builder.joint("prismatic", "thigh", "shin", axis=(0, 0, -1), name="leg", limits=(-0.25, 0.1), motor=spring)
        return builder.build()

    def start(self, drawn: np.ndarray) -> dict[str, np.ndarray]:
        """In the air, with some speed and height of the fall."""
        q, u = self.standing(len(drawn))
        q[:, :, 2] += 0.05 * (1.0 + drawn[:, 1, None])
        u[:, :, 0] = 0.2 * drawn[:, 2, None]
        return {"q": q, "u": u}

    def goal(self, drawn: np.ndarray) -> np.ndarray:
        """(n,) [m/s]."""
        return _GOAL * drawn[:, 0]

    def act(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> None:
        """A torque, and where the leg's spring pulls to."""
        worlds.effort[:, self.coordinate("hip.angle")] = _TORQUE * action[:, 0]
        worlds.target[:, self.coordinate("leg.position")] = _STRETCH * action[:, 1]

    def observe(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Trunk, leg, what the ground does to the foot, and what is wanted."""
        q, u = worlds.q[:, 0], worlds.u[:, 0]
        own = [q[:, 2], pitch_of(q[:, 3:]), u[:, 0], u[:, 2], u[:, 4]]
        force = worlds.contact_wrench[:, self.body("shin")] / _WEIGHT
        leg = [*worlds.coordinates[:, 3:].T, *worlds.rates[:, 3:].T]
        return np.stack([*own, *leg, force[:, 0], force[:, 2], self.goal(drawn)], axis=1)

    def reward(self, worlds: Worlds, drawn: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Half for being up, half for the wanted speed."""
        off = worlds.u[:, 0, 0] - self.goal(drawn)
        return 0.5 + 0.5 * np.exp(-((off / 0.3) ** 2))

    def has_ended(self, worlds: Worlds, drawn: np.ndarray) -> np.ndarray:
        """Fallen."""
        q = worlds.q[:, 0]
        return (q[:, 2] < _LOW) | (np.abs(pitch_of(q[:, 3:])) > _TILTED)

    def policy(self, observation: np.ndarray) -> np.ndarray:
        """Raibert's three parts: thrust while the leg stretches on the ground, foot placed in flight for the wanted
        speed, trunk levelled in stance."""
        height, pitch, speed, rise, spin = observation.T[:5]
        hip, leg_stretch, hip_rate, stretching = observation.T[5:9]
        pressed, wanted = observation.T[10:]
        stance = pressed > 0.0
        ahead = 0.5 * _STANCE * speed + 0.1 * (speed - wanted)  # [m] foot before the hip
        leg = -np.arcsin(np.clip(ahead / _LEG, -0.5, 0.5))  # a positive turn about y swings the foot back
        swing = 60.0 * (leg - pitch - hip) - 4.0 * (hip_rate + spin)
        level = 80.0 * pitch + 8.0 * spin  # the leg is turned against the ground, the trunk the other way
        energy = _GRAVITY * height + 0.5 * rise**2 + 0.5 * _STIFFNESS * leg_stretch**2 / _MASS  # [J/kg]
        missing = (_GRAVITY * _APEX - energy) / _GRAVITY  # [m] of height
        thrust = np.where(stance & (stretching > 0.0), 10.0 * missing, 0.0)
        return np.stack([np.where(stance, level, swing) / _TORQUE, thrust], axis=1)
