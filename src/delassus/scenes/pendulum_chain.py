"""A chain of rods that swings from a hook: no friction, so its energy is all there is to keep."""

from typing import Annotated

import numpy as np

from delassus.builder import ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, energy_kept, need, need_bodies
from delassus.shapes import Capsule
from delassus.spatial import rotation_exp

_G = 9.81


def build(
    *,
    n: Annotated[int, "links [-]"] = 5,
    length: Annotated[float, "of each link [m]"] = 0.2,
    radius: Annotated[float, "of each link [m]"] = 0.02,
    density: Annotated[float, "of the links [kg/m³]"] = 1000.0,
    angle: Annotated[float, "of the straight chain against the vertical at the start [deg]"] = 60.0,
    spatial: Annotated[bool, "ball joints instead of hinges, and a push sideways [-]"] = False,
) -> Setup:
    need(n >= 1, f"n is {n}: a chain has at least one link")
    need(length > 0.0, f"length is {length}: a link needs some [m]")
    need_bodies(n, f"n = {n}")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    theta = np.radians(angle)
    along = np.array([np.sin(theta), 0.0, -np.cos(theta)])
    turn = rotation_exp((0.0, np.pi - theta, 0.0))  # z of a capsule along the chain
    before = None
    push = 0.5 if spatial else 0.0  # of the chain's end [m/s]; the rest swings with it
    spin = push / (n * length) * np.cross(along, (0.0, 1.0, 0.0))
    for k in range(n):
        link = builder.body(
            f"link-{k + 1}",
            position=(k + 0.5) * length * along,
            orientation=turn,
            density=density,
            shapes=[Capsule(radius, length)],
            velocity=(0, push * (k + 0.5) / n, 0),
            angular_velocity=spin,
            group=0,
        )
        builder.joint("spherical" if spatial else "revolute", before, link, position=k * length * along, axis=(0, 1, 0))
        before = link
    model, state = builder.build()
    return Setup(model, state, 5.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    scale = float(setup.model.mass.sum()) * _G * 0.5 * p["n"] * p["length"]
    out = [all_converged(run), closed_joints(run), energy_kept(run, scale, 1e-3)]
    if not p["spatial"]:
        out.append(Check("out of plane", float(np.abs(run.q[:, :, 1]).max()), 1e-9, "m"))
    return out


SCENE = Scene(
    "pendulum-chain",
    "n rods on hinges or ball joints, swinging from a hook",
    "the joints hold; energy is kept; a planar chain stays in its plane",
    build,
    check,
)
