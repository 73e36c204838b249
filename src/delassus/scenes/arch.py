"""A semicircular arch of dry stone on two springers: thick enough it stands, too thin it falls.

Where thrust would have to leave the ring, joints open as hinges and the arch becomes a mechanism. The least thickness
of an arch of many blocks is 0.1075 of the radius of its centre line (Couplet 1730, Milankovitch 1907; Heyman, "The
safety of masonry arches", Int. J. Mech. Sci. 11, 1969, has 0.106 from a simpler line of thrust). Hinges open at joints
only, so a few blocks stand with less: 0.095 of the radius for five, 0.1046 for eleven (tests/reference/test_arch.py).
"""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, shallow
from delassus.shapes import Box, Convex, Plane
from delassus.simulation import StepSettings

_G = 9.81
LEAST = 0.1075
"""Thickness over radius below which an arch of many blocks falls."""
_STANDS, _FALLS = 1.1, 0.85  # of the least thickness: beyond, the outcome is the same for four blocks and for many
_ENOUGH = 0.4  # friction from which blocks do not slide


def build(
    *,
    blocks: Annotated[int, "voussoirs between the springers [-]"] = 11,
    span: Annotated[float, "between the middles of the springers, twice the radius of the centre line [m]"] = 4.0,
    thickness: Annotated[float, "of the ring; below 0.1075 of the radius it falls [m]"] = 0.3,
    depth: Annotated[float, "of the arch [m]"] = 0.5,
    mu: Annotated[float, "friction [-]"] = 0.7,
    density: Annotated[float, "of the blocks [kg/m³]"] = 2400.0,
) -> Setup:
    need(blocks >= 4, f"blocks is {blocks}: an arch that can fall has at least four")
    need_bodies(blocks, f"blocks = {blocks}")
    need(0 < thickness < span, f"thickness is {thickness}: give more than zero and less than the span")
    radius = 0.5 * span
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane(offset=-thickness)], material=material)
    foot = Box((2.0 * thickness, 2.0 * depth, thickness))
    for name, x in (("right springer", radius), ("left springer", -radius)):
        builder.fixed(name, position=(x, 0, -0.5 * thickness), shapes=[foot], material=material)
    angles = np.linspace(0.0, np.pi, blocks + 1)
    for k in range(blocks):
        middle, corners = _voussoir(radius, thickness, depth, angles[k], angles[k + 1])
        builder.body(
            f"block-{k + 1}", position=middle, density=density, shapes=[Convex(corners - middle)], material=material
        )
    model, state = builder.build()
    return Setup(model, state, 2.0, settings=StepSettings(h=2e-3))


def _voussoir(
    radius: float, thickness: float, depth: float, first: float, last: float
) -> tuple[np.ndarray, np.ndarray]:
    """(point of the centre line, eight corners) of the block between two angles; joints are radial."""
    corners = [
        (r * np.cos(angle), y, r * np.sin(angle))
        for r in (radius - 0.5 * thickness, radius + 0.5 * thickness)
        for y in (-0.5 * depth, 0.5 * depth)
        for angle in (first, last)
    ]
    half = 0.5 * (first + last)
    return radius * np.array([np.cos(half), 0.0, np.sin(half)]), np.array(corners)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    ratio = p["thickness"] / (0.5 * p["span"] * LEAST)
    moved = np.linalg.norm(run.q[:, :, :3] - run.q[0, :, :3], axis=2).max(axis=1)
    out = [all_converged(run), shallow(run, 1e-3 * p["thickness"])]
    if ratio < _FALLS and run.t[-1] > 1.5:
        middle = p["blocks"] // 2
        out.append(Check("height the crown kept", run.q[-1, middle, 2] / run.q[0, middle, 2], 0.5))
    if ratio > _STANDS and p["mu"] >= _ENOUGH:
        out.append(Check("blocks moved", float(moved.max()), 1e-3 * p["thickness"], "m"))
        weight = float(setup.model.mass.sum()) * _G
        carried = -float(run.contacts(-1).force_on(-1)[2])
        out.append(Check("springers' force against weight", abs(carried / weight - 1.0), 1e-3))
    return out


SCENE = Scene(
    "arch",
    "a semicircular arch of dry stone blocks on two springers",
    "thick enough it stands, with the springers carrying its weight, too thin it falls; shallow penetration",
    build,
    check,
)
