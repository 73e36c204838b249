"""Legs and how they walk: feet go back on the ground at a steady speed and forward through the air, and hip and knee
are where two links of known length must be for that."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from delassus.builder import Body
from delassus.scenes.machines.kit import Machine, X, Y, Z, frustum
from delassus.scenes.machines.motion import eased


@dataclass(frozen=True)
class Leg:
    """joints: thigh, shin and ankle about y, rolls of hip and ankle about x; None where there is none. upper, lower:
    from hip to knee and from knee to ankle, (x, z) [m]; phase: of its step, in periods."""

    thigh: str
    shin: str
    upper: tuple[float, float]
    lower: tuple[float, float]
    phase: float
    ankle: str | None = None
    roll: str | None = None
    ankle_roll: str | None = None


@dataclass
class Walk:
    """speed [m/s]; period of a step of both feet [s]; lift of a foot [m]; duty: part of the period that a foot is on
    the ground; sway [rad]: of the legs from side to side, so that the trunk goes away from the first leg, a left one,
    while that is in the air."""

    legs: Sequence[Leg]
    speed: float
    period: float
    lift: float
    duty: float = 0.5
    sway: float = 0.0
    joints: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = [[leg.thigh, leg.shin, leg.ankle, leg.roll, leg.ankle_roll] for leg in self.legs]
        self._is_there = np.array([[name is not None for name in row] for row in names])
        self.joints = tuple(name for row in names for name in row if name)
        upper, lower = (np.array([getattr(leg, part) for leg in self.legs]) for part in ("upper", "lower"))
        self._lengths = np.linalg.norm(upper, axis=1), np.linalg.norm(lower, axis=1)
        self._start = _direction(upper), _direction(lower)
        self._bend = np.sign(self._start[1] - self._start[0])
        self._foot = upper + lower
        self._phase = np.array([leg.phase for leg in self.legs])

    def targets(self, t: np.ndarray) -> np.ndarray:
        """Of the joints there are, leg after leg [rad], at times t (k, 1) [s]; (k, joints)."""
        grown = eased(t / self.period - 0.5)  # the first half of a period stands still
        along, up = self._step(t)
        x = self._foot[:, 0] + grown * self.speed * self.duty * self.period * along
        z = self._foot[:, 1] + grown * self.lift * up
        a, b = self._lengths
        far = np.minimum(np.hypot(x, z), 0.9999 * (a + b))
        inside = np.arccos((a**2 + far**2 - b**2) / (2.0 * a * far))  # between thigh and the line to the ankle
        fold = np.arccos((far**2 - a**2 - b**2) / (2.0 * a * b))  # between thigh and shin, 0: stretched
        thigh = _direction(np.stack([x, z], axis=-1)) - self._bend * inside - self._start[0]
        shin = self._bend * fold - (self._start[1] - self._start[0])
        away = 2.0 * np.pi * (t / self.period + self._phase[0] - 0.5 * (1.0 + self.duty))  # 0 amid its way in the air
        side = eased(t / self.period) * self.sway * np.cos(away) * np.ones_like(x)
        return np.stack([thigh, shin, -(thigh + shin), side, -side], axis=-1)[:, self._is_there]

    def _step(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the feet are between the ends of their way, −½ … ½, and how high, 0 … 1; (k, n) each."""
        phase = (t / self.period + self._phase) % 1.0
        swing = np.maximum(phase - self.duty, 0.0) / (1.0 - self.duty)  # 0 … 1 through the air
        slope = (self.duty - 1.0) / self.duty  # feet leave the ground, and come back to it, at its own speed
        forward = swing**2 * (3.0 - 2.0 * swing) - 0.5 + slope * swing * (1.0 - swing) * (1.0 - 2.0 * swing)
        along = np.where(phase < self.duty, 0.5 - phase / self.duty, forward)
        return along, np.sin(np.pi * swing) ** 2


def _direction(way: np.ndarray) -> np.ndarray:
    """Angle about y that turns −z into the direction of (x, z) ways (…, 2)."""
    return np.arctan2(-way[..., 0], -way[..., 1])


def biped_leg(
    machine: Machine,
    name: str,
    trunk: Body,
    hip: np.ndarray,
    mass: float,
    foot: tuple[float, float, float],
    *,
    phase: float,
    thick: float,
    knee: float = 0.35,
    ankle_rolls: bool,
) -> tuple[Leg, list[Body], tuple[np.ndarray, ...]]:
    """A leg of five or six hinges, yaw, roll, thigh, shin and ankle, the sixth a roll of the ankle; its links; and
    where hip, knee and ankle bend [m].

    hip [m]; foot: length, width and height [m] of a hull, its sole at z = 0; knee: how far it is bent [rad]; thick [m]:
    radius of the thigh."""
    short = 0.04
    roll_at, thigh_at = hip - short * Z, hip - 2 * short * Z
    ankle = np.array([hip[0], hip[1], foot[2] + (short if ankle_rolls else 0.5 * short)])
    long = (thigh_at - ankle)[2] / (2.0 * np.cos(knee))
    knee_at = thigh_at + long * np.array([np.sin(knee), 0.0, -np.cos(knee)])
    yaw = machine.link(
        f"{name}-yaw", trunk, hip, roll_at, Z, 0.4 * mass, limits=(-0.6, 0.6), hull=(0.6 * thick,) * 2, compact=True
    )
    roll = machine.link(
        f"{name}-roll", yaw, roll_at, thigh_at, X, 0.4 * mass, limits=(-0.5, 0.5), thick=0.5 * thick, compact=True
    )
    thigh = machine.link(
        f"{name}-thigh", roll, thigh_at, knee_at, Y, mass, limits=(-1.5, 1.0), hull=(thick, 0.7 * thick)
    )
    shin = machine.link(
        f"{name}-shin", thigh, knee_at, ankle, Y, mass, limits=(-2.0 * knee, 1.5), hull=(0.7 * thick, 0.5 * thick)
    )
    links, last = [yaw, roll, thigh, shin], shin
    if ankle_rolls:
        last = machine.link(
            f"{name}-ankle",
            shin,
            ankle,
            ankle - 0.5 * short * Z,
            Y,
            0.4 * mass,
            limits=(-1.0, 1.0),
            thick=0.01,
            compact=True,
        )
        links.append(last)
    sole = frustum(foot[:2], (0.55 * foot[0], 0.7 * foot[1]), foot[2], shift=-0.15 * foot[0])
    body = machine.solid(f"{name}-foot", (hip[0] + 0.12 * foot[0], hip[1], 0.5 * foot[2]), sole, 0.5 * mass)
    if ankle_rolls:
        machine.hinge(f"{name}-foot", last, body, ankle - 0.5 * short * Z, X, limits=(-0.5, 0.5))
    else:
        machine.hinge(f"{name}-foot", last, body, ankle, Y, limits=(-1.0, 1.0))
    links.append(body)
    upper, lower = knee_at - thigh_at, ankle - knee_at
    leg = Leg(
        f"{name}-thigh",
        f"{name}-shin",
        (upper[0], upper[2]),
        (lower[0], lower[2]),
        phase,
        ankle=f"{name}-ankle" if ankle_rolls else f"{name}-foot",
        roll=f"{name}-roll" if ankle_rolls else None,
        ankle_roll=f"{name}-foot" if ankle_rolls else None,
    )
    return leg, links, (thigh_at, knee_at, ankle)
