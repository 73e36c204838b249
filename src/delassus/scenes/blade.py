"""A blade drawn through a trench of spheres (Kleinert et al. 2014, §1, figure 1): what it takes is the draft force.

The blade slides on a rail and reaches down to the floor. It stands still while the spheres come to rest, then gathers
speed and keeps it. The draft force is minus the contacts' push on the blade along the rail (`draft_force`); at constant
speed the rail's drive, which recordings keep as joints/drive, gives just that.

The walls slope by 40°: a sphere that does not turn locks itself between two planes whose angle is less than twice the
angle of friction, 43.6° here, and no force would draw the blade on. At 60° one step in twenty was infeasible. For the
same reason the blade's lower edge is not above the floor, to which it would be parallel.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from delassus.builder import IMPOSED_MOTION, Material, ModelBuilder
from delassus.dynamics import Inputs, Stabilisation
from delassus.io.recording import Trajectory
from delassus.law import Law
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes.grains import add_grains, need_grains
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings

_G = 9.81
_SIN, _COS = math.sin(math.radians(40.0)), math.cos(math.radians(40.0))  # of the walls' slope
_CELL = 2.05  # edge of a cell that a sphere starts in, in largest radii
_THICK = 1.0  # of the blade, in largest radii
_START, _END = 0.2, 0.5  # of the trench's length: where the blade stands at first and at last
_RAMP = 0.1  # [s] until it has its speed
_MASS = 10.0  # of the blade [kg]: its rail and the machine behind it are rigid, so this matters to solvers only


def build(
    *,
    n: Annotated[int, "spheres [-]"] = 500,
    length: Annotated[float, "of the trench's floor [m]"] = 0.5,
    width: Annotated[float, "of the trench's floor [m]"] = 0.16,
    blade: Annotated[float, "width of the blade [m]"] = 0.08,
    speed: Annotated[float, "of the blade [m/s]"] = 0.1,
    rest: Annotated[float, "time before it moves [s]"] = 0.3,
    smallest: Annotated[float, "radius [m]"] = 0.008,
    largest: Annotated[float, "radius [m]"] = 0.016,
    density: Annotated[float, "of the spheres [kg/m³]"] = 2600.0,
    mu: Annotated[float, "friction [-]"] = 0.4,
    reach: Annotated[float, "gap at which two spheres of mean radius become a potential contact [m]"] = 0.016,
    rolls: Annotated[bool, "the spheres may turn; those of Kleinert et al. 2014 may not [-]"] = False,
    seed: Annotated[int, "of the random radii and places [-]"] = 1,
) -> Setup:
    need_grains(n, smallest, largest, seed)
    need_bodies(n, f"n = {n}")
    need(0.0 <= reach <= 10.0 * largest, f"reach is {reach}: give zero or more, at most ten radii of {largest} m")
    need(0.0 < speed <= 10.0, f"speed is {speed}: give more than zero and at most 10 m/s")
    need(0.0 <= rest <= 1e3, f"rest is {rest}: give zero or more seconds, at most 1000")
    need(0.0 < blade < width, f"blade is {blade}: give a positive width, less than the trench's {width}")
    edge = _CELL * largest
    need(length * width <= 1e6 * edge**2, f"length {length} and width {width}: give less, or larger spheres")
    cells = _cells(n, length, width, edge)
    height = float(cells[-1, 2]) + edge  # above the highest sphere

    builder = ModelBuilder(gravity=(0.0, 0.0, -_G), reach=reach / (smallest + largest))
    material = Material(mu)
    sides = ((1.0, 0.0, 0.0), (-1.0, 0.0, -length), (0.0, 1.0, -0.5 * width), (0.0, -1.0, -0.5 * width))
    walls = [Plane((_SIN * x, _SIN * y, _COS), _SIN * offset) for x, y, offset in sides]
    trench = builder.fixed("trench", shapes=[Plane(), *walls], material=material)
    tool = builder.body(
        "blade",
        position=(_START * length, 0.0, 0.5 * height),
        mass=_MASS,
        material=material,
        shapes=[Box((_THICK * largest, blade, height))],
    )
    builder.joint("prismatic", trench, tool, axis=(1.0, 0.0, 0.0), motor=IMPOSED_MOTION, name="rail")
    add_grains(builder, np.random.default_rng(seed), cells, edge, (smallest, largest), density, material, rolls)
    model, state = builder.build()
    # the scheme of Kleinert et al. 2014: implicit Euler, the whole gap in the normal row (eq. 10), the convex law
    full = Stabilisation(contact=1.0, depenetration_speed=np.inf, through_velocities=True)
    settings = StepSettings(h=0.01, solver="ipm", law=Law.CCP, integrator="euler", stabilisation=full)
    way = (_END - _START) * length
    duration = settings.h * round((rest + 0.5 * _RAMP + way / speed) / settings.h)
    return Setup(model, state, duration, settings=settings, inputs=_motion(model, speed, rest))


def _cells(n: int, length: float, width: float, edge: float) -> np.ndarray:
    """Centres of n cells that fill the trench layer by layer, (n, 3) [m], none where the blade stands."""
    out: list[np.ndarray] = []
    layer = left = 0
    while left < n:
        z = edge * (layer + 0.5)
        spread = (z * _COS - 0.5 * edge * (_SIN + _COS)) / _SIN  # of a cell's centre beyond the floor's edge
        along, across = int((length + 2.0 * spread) / edge) + 1, int((width + 2.0 * spread) / edge) + 1
        x = edge * (np.arange(max(0, along)) - 0.5 * (along - 1)) + 0.5 * length
        y = edge * (np.arange(max(0, across)) - 0.5 * (across - 1))
        x = x[np.abs(x - _START * length) > edge]
        plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)[: n - left]
        out.append(np.column_stack([plane, np.full(len(plane), z)]))
        layer, left = layer + 1, left + len(plane)
        need(left > 0, f"length {length} and width {width}: no sphere fits on the floor beside the blade, give more")
    return np.concatenate(out)


def _motion(model: Model, speed: float, rest: float) -> Callable[[float, State], Inputs]:
    """The blade's way as a function of time; its weight rests on the machine."""
    wrench = np.zeros((model.body_count, 6))
    wrench[0, 2] = _MASS * _G

    def inputs(t: float, state: State) -> Inputs:
        del state
        since = max(0.0, t - rest)
        ramp = min(since, _RAMP)
        way = speed * (0.5 * ramp**2 / _RAMP + since - ramp)
        return Inputs.of(model, wrench=wrench, target=[way], target_rate=[speed * ramp / _RAMP])

    return inputs


def draft_force(run: Trajectory) -> np.ndarray:
    """(N,) [N]: what the spheres resist the blade's way with, in each step."""
    return np.array([-run.contacts(k).force_on(0)[0] for k in range(run.step_count)])


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p, h = setup.parameters, setup.settings.h
    out = [all_converged(run)]
    weight = _G * float(setup.model.mass[1:].sum())
    draft, drive = draft_force(run), run.array("joints/drive")[:, 0]
    change = _MASS * np.diff(run.u[:, 0, 0]) / h
    out.append(Check("drive against draft force", float(np.abs(drive - draft - change).max()), 1e-4 * weight, "N"))
    out.append(Check("blade off its rail", float(np.abs(run.q[:, 0, 1:3] - run.q[0, 0, 1:3]).max()), 1e-6, "m"))
    moving = run.t[1:] > p["rest"]  # before, and at times later, a sphere falls further than its reach in a step
    if moving.any():
        depth = float(run.penetration[moving].max())
        out.append(Check("penetration while the blade moves", depth, 0.1 * p["smallest"], "m"))
    steady = run.t[1:] > p["rest"] + _RAMP + 2.5 * h  # feedback on the rail's position ends with the ramp
    if steady.any():
        wrong = np.abs(run.u[1:, 0, 0][steady] - p["speed"]).max()
        out.append(Check("speed against command", float(wrong), 1e-3 * p["speed"], "m/s"))
    if steady.sum() >= 50:
        pushed = -float(draft[steady].mean()) / weight
        out.append(Check("mean push forwards", pushed, 0.0, "of the weight"))
    return out


SCENE = Scene(
    "blade",
    "a blade drawn through a trench of n spheres, its draft force recorded: figure 1 of Kleinert et al. 2014",
    "the blade keeps to its rail and its speed; the drive gives what the spheres take; shallow penetration",
    build,
    check,
)
