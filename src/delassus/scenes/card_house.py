"""A house of cards: pairs of leaning cards, a flat one on each gap, storey on storey. Friction alone holds it."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, shallow
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.spatial import rotation_exp

_G = 9.81


def build(
    *,
    storeys: Annotated[int, "of the house [-]"] = 2,
    angle: Annotated[float, "of a card against the vertical [deg]"] = 15.0,
    mu: Annotated[float, "friction [-]"] = 0.5,
    length: Annotated[float, "of a card [m]"] = 0.1,
    thickness: Annotated[float, "of a card [m]"] = 0.002,
    density: Annotated[float, "of the cards [kg/m³]"] = 800.0,
) -> Setup:
    need(storeys >= 1, f"storeys is {storeys}: give at least one")
    need_bodies((3 * storeys**2 + storeys) // 2, f"storeys = {storeys}")
    need(0 < angle < 60, f"angle is {angle}: give 0 to 60 degrees")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("table", shapes=[Plane()], material=material)
    theta = np.radians(angle)
    s, c = np.sin(theta), np.cos(theta)
    width = 2 * length * s + 2 * thickness * c  # between the outer feet of a pair
    rise = length * c + thickness * s
    shape = Box((thickness, 0.7 * length, length))
    for storey in range(storeys):
        pairs, floor = storeys - storey, storey * (rise + thickness)
        first = -0.5 * (pairs - 1) * width
        for k in range(pairs):
            for side in (-1.0, 1.0):
                # the top inner edges of the two cards meet over the middle of the pair
                x = first + k * width + side * 0.5 * (length * s + thickness * c)
                builder.body(
                    position=(x, 0, floor + 0.5 * rise),
                    orientation=rotation_exp((0.0, -side * theta, 0.0)),
                    density=density,
                    shapes=[shape],
                    material=material,
                )
        for k in range(pairs - 1):
            flat = Box((width, 0.7 * length, thickness))
            builder.body(
                position=(first + (k + 0.5) * width, 0, floor + rise + 0.5 * thickness),
                density=density,
                shapes=[flat],
                material=material,
            )
    model, state = builder.build()
    return Setup(model, state, 2.0, settings=StepSettings(h=2e-3))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    moved = float(np.linalg.norm(run.q[-1, :, :3] - run.q[0, :, :3], axis=1).max())
    out = [all_converged(run), shallow(run, 1e-2 * p["thickness"])]
    if 2 * p["mu"] > np.tan(np.radians(p["angle"])):
        out.append(Check("cards moved", moved, 0.05 * p["thickness"], "m"))
    return out


SCENE = Scene(
    "card-house",
    "leaning and flat cards, storey on storey, held by friction",
    "it stands: cards move by less than a twentieth of their thickness",
    build,
    check,
)
