"""A planar four-bar linkage: four rods, four hinges, one loop (Tsounis et al. 2025, Table II).

Fixed: a fifth joint holds the base rod to the world and a motor drives the crank; in the plane the loop has one
degree of freedom, in space it is overconstrained three times. Free: the same loop dropped on the ground, limp or with a
motor that opens and closes it, as in the table."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from delassus.builder import IMPOSED_MOTION, Body, Material, ModelBuilder, Motor
from delassus.dynamics import Inputs
from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes.scene import (
    Check,
    Scene,
    Setup,
    all_converged,
    closed_joints,
    energy_kept,
    need,
    no_energy_gain,
    shallow,
)
from delassus.shapes import Box, Plane
from delassus.spatial import axis_frame

_THICK = 0.02  # m: rods are square
_STIFFNESS, _DAMPING = 5.0, 0.2  # N m/rad, N m s/rad: of the motor of the free one


def _linkage(
    builder: ModelBuilder,
    corners: np.ndarray,
    density: float,
    material: Material | float | None = None,
    drive: Any = None,
) -> list[Body]:
    """Rods of equal mass between successive corners (4, 3), hinged about y; first the base, then the crank.

    density: of a rod of mean length [kg/m³]."""
    rods = []
    mass = density * _THICK**2 * float(np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1).mean())
    for k in range(4):
        a, b = corners[k], corners[(k + 1) % 4]
        along = (b - a) / np.linalg.norm(b - a)
        turned = np.stack([along, [0.0, 1.0, 0.0], np.cross(along, [0.0, 1.0, 0.0])], axis=1)
        shape = Box((float(np.linalg.norm(b - a)), _THICK, _THICK))
        rods.append(
            builder.body(
                ("base", "crank", "coupler", "rocker")[k],
                position=(a + b) / 2,
                orientation=turned,
                mass=mass,
                shapes=[shape],
                material=material,
            )
        )
    hinge = axis_frame((0.0, 1.0, 0.0))
    for k in range(4):
        motor = drive if k == 0 else None
        builder.joint(
            "revolute",
            rods[k],
            rods[(k + 1) % 4],
            position=corners[(k + 1) % 4],
            frame=hinge,
            motor=motor,
            name=f"hinge-{k + 1}",
        )
    for first, second in ((0, 2), (1, 3)):
        builder.exclude(rods[first], rods[second])
    return rods


def _corners(base: float, crank: float, coupler: float, rocker: float, height: float, angle: float) -> np.ndarray:
    """Ends of the rods when the crank, at the base's second end, stands at `angle` [rad] to the base's direction."""
    need(min(base, crank, coupler, rocker) > 0, "the rods have no length: give positive lengths")
    a, b = np.array([0.0, 0.0, height]), np.array([base, 0.0, height])
    c = b + crank * np.array([np.cos(angle), 0.0, np.sin(angle)])
    far = float(np.linalg.norm(c - a))
    need(abs(coupler - rocker) < far < coupler + rocker, "the rods do not close: choose other lengths")
    # d lies where the circles about c (coupler) and a (rocker) meet, on the upper side
    x = (far**2 + rocker**2 - coupler**2) / (2 * far)
    along = (c - a) / far
    across = np.array([-along[2], 0.0, along[0]])
    return np.array([a, b, c, a + x * along + np.sqrt(rocker**2 - x**2) * across])


def build_fixed(
    *,
    base: Annotated[float, "length of the base rod [m]"] = 0.4,
    crank: Annotated[float, "length of the crank [m]"] = 0.1,
    coupler: Annotated[float, "length of the coupler [m]"] = 0.4,
    rocker: Annotated[float, "length of the rocker [m]"] = 0.3,
    density: Annotated[float, "of the rods [kg/m³]"] = 1000.0,
    speed: Annotated[float, "of the crank [rad/s]; 0: it swings freely"] = 6.283185307179586,
) -> Setup:
    builder = ModelBuilder()
    drive = IMPOSED_MOTION if speed else None
    rods = _linkage(builder, _corners(base, crank, coupler, rocker, 1.0, np.pi / 2), density, drive=drive)
    builder.joint("fixed", None, rods[0], name="mount")
    model, state = builder.build()
    where = model.joints.coordinate_names.index("hinge-1.angle")
    return Setup(model, state, 5.0, inputs=_crank_motion(model, where, speed) if speed else None)


def _crank_motion(model: Model, where: int, speed: float) -> Callable[[float, State], Inputs]:
    """The crank's angle as a function of time. It starts at rest: the first step brings it to speed."""

    def inputs(t: float, state: State) -> Inputs:
        target, rate = np.zeros(model.joints.coordinate_count), np.zeros(model.joints.coordinate_count)
        target[where], rate[where] = speed * t, speed
        return Inputs.of(model, target=target, target_rate=rate)

    return inputs


def check_fixed(setup: Setup, run: Trajectory) -> list[Check]:
    out = [all_converged(run), closed_joints(run)]
    where = setup.model.joints.coordinate_names.index("hinge-1.angle")
    angle = run.array("joints/coordinate")[:, where]
    if setup.parameters["speed"]:
        # coordinates are recorded where the rows are evaluated, which Moreau's scheme does in the middle of the step
        lead = setup.settings.scheme.lead
        wanted = setup.parameters["speed"] * ((1.0 - lead) * run.t[:-1] + lead * run.t[1:])
        error = np.abs(angle - wanted)
        # it starts at rest: two steps bring it to speed and to where it should be
        out.append(Check("crank angle against command", float(error[2:].max(initial=0.0)), 1e-4, "rad"))
    else:
        scale = float(setup.model.mass.sum()) * 9.81 * setup.parameters["crank"]
        out.append(energy_kept(run, scale, 1e-3))
    flat = np.abs(run.q[:, :, 1]).max()
    return [*out, Check("out of plane", float(flat), 1e-6, "m")]


def build_free(
    *,
    side: Annotated[float, "length of every rod [m]"] = 0.3,
    angle: Annotated[float, "between base and crank [rad]"] = 1.2,
    height: Annotated[float, "of the lower rod above the ground [m]"] = 0.3,
    density: Annotated[float, "of the rods [kg/m³]"] = 1000.0,
    mu: Annotated[float, "friction [-]"] = 0.5,
    swing: Annotated[float, "by which a motor opens and closes it [rad]; 0: no motor"] = 0.0,
) -> Setup:
    need(height > 0, f"height is {height}: it falls from above the ground, give a positive number")
    builder = ModelBuilder()
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    corners = _corners(side, side, side, side, height, angle)
    _linkage(builder, corners, density, material, drive=Motor(_STIFFNESS, _DAMPING) if swing else None)
    model, state = builder.build()
    return Setup(model, state, 3.0, inputs=_swinging(model, swing) if swing else None)


def _swinging(model: Model, swing: float) -> Callable[[float, State], Inputs]:
    """The crank to and fro about the angle it starts from, once in a second."""
    where = model.joints.coordinate_names.index("hinge-1.angle")

    def inputs(t: float, state: State) -> Inputs:
        target, rate = np.zeros(model.joints.coordinate_count), np.zeros(model.joints.coordinate_count)
        turning = 2.0 * np.pi
        target[where], rate[where] = swing * np.sin(turning * t), turning * swing * np.cos(turning * t)
        return Inputs.of(model, target=target, target_rate=rate)

    return inputs


def check_free(setup: Setup, run: Trajectory) -> list[Check]:
    out = [all_converged(run), closed_joints(run), shallow(run, 1e-3)]
    if setup.parameters["swing"]:
        return out
    scale = float(setup.model.mass.sum()) * 9.81 * setup.parameters["height"]
    return [*out, no_energy_gain(run, scale, 1e-3)]


FIXED = Scene(
    "four-bar",
    "a four-bar linkage on a mount, its crank driven at constant speed",
    "the loop stays closed and in its plane; the crank follows its command, or energy is kept when it swings",
    build_fixed,
    check_fixed,
)
FREE = Scene(
    "four-bar-free",
    "a rhombus of four hinged rods dropped on the ground",
    "the loop stays closed; shallow penetration; no energy gained without a motor",
    build_free,
    check_free,
)
