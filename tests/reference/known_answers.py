"""Scenarios whose answers stand in textbooks. `SCENARIOS` holds them; docs/write_known_answers.py prints the table.

Each is a function of the time step that returns what it saw and what the textbook says."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ellipk

from delassus import ModelBuilder, World
from delassus.builder import Material, Motor
from delassus.shapes import Box, Cylinder, Plane, Sphere
from delassus.spatial import rotation_exp

G = 9.81
Answer = tuple[float, float]


@dataclass(frozen=True)
class Scenario:
    """h: the step that is tested [s]; tol: largest error there, of the answer or absolute where that is zero."""

    name: str
    field: str
    answer: Callable[[float], Answer]
    h: float
    tol: float

    def error(self, h: float) -> tuple[float, float, float]:
        """Seen, expected and the error, relative where the answer is not zero."""
        seen, expected = self.answer(h)
        return seen, expected, abs(seen - expected) / (abs(expected) if expected else 1.0)


SCENARIOS: list[Scenario] = []


def scenario(field: str, name: str, h: float = 1e-3, tol: float = 1e-5) -> Callable[[Callable[[float], Answer]], None]:
    def add(answer: Callable[[float], Answer]) -> None:
        SCENARIOS.append(Scenario(name, field, answer, h, tol))

    return add


def ran(builder: ModelBuilder, seconds: float, h: float) -> World:
    """A world after so long; the step is changed a little where it does not fit."""
    steps = max(1, round(seconds / h))
    world = World(*builder.build(), h=seconds / steps)
    world.run(steps)
    assert world.ok, world.trouble.texts
    return world


def tilted(angle: float, mu: float, restitution: float = 0.0) -> ModelBuilder:
    """Ground under gravity that leans by an angle towards x."""
    builder = ModelBuilder(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.fixed("ground", shapes=[Plane()], material=Material(mu, restitution))
    return builder


def weightless() -> ModelBuilder:
    return ModelBuilder(gravity=(0, 0, 0))


def crossing(builder: ModelBuilder, body: str, axis: int, h: float, seconds: float) -> float:
    """When a body's coordinate first changes its sign, linearly between steps [s]."""
    world = World(*builder.build(), h=h)
    last = world.body(body).position[axis]
    while world.time < seconds:
        world.step()
        now = world.body(body).position[axis]
        if now * last < 0.0:
            return world.time - h * now / (now - last)
        last = now
    raise AssertionError("never crossed")


# -- statics with friction -----------------------------------------------------------------------------------------


def ladder_slip(mu: float, h: float) -> float:
    """How far the foot of a ladder at 30° from the wall has gone after 0.3 s. It stands for μ ≥ tan 30°/2."""
    builder, lean, length = ModelBuilder(), np.radians(30.0), 2.0
    builder.fixed("floor", shapes=[Plane()], material=Material(mu))
    builder.fixed("wall", shapes=[Plane((1, 0, 0), 0.0)], material=Material(0.0))
    r = 0.01
    top, foot = np.array([r, 0, r + length * np.cos(lean)]), np.array([r + length * np.sin(lean), 0, r])
    builder.body("ladder", position=0.5 * (top + foot), mass=10.0, inertia=np.full(3, 10.0 * length**2 / 12))
    for name, place, rough in (("top", top, 0.0), ("foot", foot, mu)):
        builder.body(name, position=place, mass=1e-4, shapes=[Sphere(r)], material=Material(rough))
        builder.joint("fixed", "ladder", name, position=place)
    return float(ran(builder, 0.3, h).body("foot").position[0] - foot[0])


@scenario("statics", "ladder, μ 5 % above tan θ/2, stands: way of its foot [m]", 2e-3, 1e-5)
def _(h: float) -> Answer:
    return ladder_slip(1.05 * np.tan(np.radians(30.0)) / 2.0, h), 0.0


@scenario("statics", "ladder, μ 5 % below tan θ/2, slips: does it? [1 = yes]", 2e-3, 0.0)
def _(h: float) -> Answer:
    return float(ladder_slip(0.95 * np.tan(np.radians(30.0)) / 2.0, h) > 1e-3), 1.0


def tall_box(factor: float, h: float) -> float:
    """How far a box 0.2 wide and 0.5 high has turned after 0.4 s on a slope of factor · w/H."""
    builder = tilted(np.arctan(factor * 0.4), 1.0)
    builder.body("box", position=(0, 0, 0.25), mass=1.0, shapes=[Box((0.2, 0.2, 0.5))], material=Material(1.0))
    return float(abs(ran(builder, 0.4, h).body("box").orientation[1:]).max())


@scenario("statics", "tall box 2 % below its tipping slope stays: turn [rad/2]", 2e-3, 1e-6)
def _(h: float) -> Answer:
    return tall_box(0.98, h), 0.0


@scenario("statics", "tall box 2 % above its tipping slope tips: does it? [1 = yes]", 2e-3, 0.0)
def _(h: float) -> Answer:
    return float(tall_box(1.02, h) > 1e-3), 1.0


def pushed_up(factor: float, h: float) -> float:
    """Way up a slope of 20°, μ = 0.3, of a block pushed horizontally by factor · W tan(α + φ)."""
    angle, mu, mass = np.radians(20.0), 0.3, 2.0
    push = factor * mass * G * np.tan(angle + np.arctan(mu))
    builder = ModelBuilder(gravity=(-G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.fixed("ground", shapes=[Plane()], material=Material(mu))
    builder.body("block", position=(0, 0, 0.02), mass=mass, shapes=[Box((0.4, 0.4, 0.04))], material=Material(mu))
    world = World(*builder.build(), h=h)
    world.body("block").push((push * np.cos(angle), 0, -push * np.sin(angle)), seconds=0.3)
    world.run(seconds=0.3)
    return float(world.body("block").position[0])


@scenario("statics", "block pushed up a slope with 99 % of W tan(α + φ): way [m]", 2e-3, 1e-7)
def _(h: float) -> Answer:
    return pushed_up(0.99, h), 0.0


@scenario("statics", "block pushed up a slope with 101 %: does it move? [1 = yes]", 2e-3, 0.0)
def _(h: float) -> Answer:
    return float(pushed_up(1.01, h) > 1e-4), 1.0


@scenario("statics", "ball in a groove of 90°: force of each side / weight", 2e-3, 1e-6)
def _(h: float) -> Answer:
    builder = ModelBuilder()
    for sign in (1, -1):
        builder.fixed(f"side{sign}", shapes=[Plane((sign, 0, 1), 0.0)], material=Material(0.0))
    builder.body("ball", position=(0, 0, 0.1 * np.sqrt(2.0)), mass=3.0, shapes=[Sphere(0.1)], material=Material(0.0))
    forces = [np.linalg.norm(contact.force) for contact in ran(builder, 0.1, h).contacts]
    return float(max(forces)) / (3.0 * G), np.sqrt(0.5)


@scenario("statics", "two balls in a narrow box: force of the walls / (W tan θ)", 1e-3, 1e-5)
def _(h: float) -> Answer:
    r, width = 0.1, 0.35
    across = width - 2 * r
    up, smooth = np.sqrt(4 * r * r - across * across), Material(0.0)
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()], material=smooth)
    builder.fixed("left", shapes=[Plane((1, 0, 0), 0.0)], material=smooth)
    builder.fixed("right", shapes=[Plane((-1, 0, 0), -width)], material=smooth)
    builder.body("low", position=(r, 0, r), mass=1.0, shapes=[Sphere(r)], material=smooth)
    builder.body("high", position=(width - r, 0, r + up), mass=1.0, shapes=[Sphere(r)], material=smooth)
    walls = [c for c in ran(builder, 0.05, h).contacts if abs(c.normal[0]) > 0.999]
    return float(max(np.linalg.norm(c.force) for c in walls)) / (G * across / up), 1.0


def brick(overhang: float, h: float) -> float:
    """How far a brick of length 0.4 that hangs over an edge has turned after 0.5 s."""
    builder = ModelBuilder()
    builder.fixed("table", position=(-0.5, 0, -0.5), shapes=[Box((1, 1, 1))], material=Material(0.8))
    shapes, rough = [Box((0.4, 0.1, 0.05))], Material(0.8)
    builder.body("brick", position=(overhang - 0.2, 0, 0.025), mass=1.0, shapes=shapes, material=rough)
    return float(abs(ran(builder, 0.5, h).body("brick").orientation[1:]).max())


@scenario("statics", "brick over an edge by 49 % of its length stays: turn [rad/2]", 2e-3, 1e-6)
def _(h: float) -> Answer:
    return brick(0.196, h), 0.0


@scenario("statics", "brick over an edge by 51 % falls: does it? [1 = yes]", 2e-3, 0.0)
def _(h: float) -> Answer:
    return float(brick(0.204, h) > 1e-3), 1.0


@scenario("friction", "cylinder rolling down a slope: a / (g sin α)", 2e-3, 1e-4)
def _(h: float) -> Answer:
    angle = np.radians(20.0)
    builder, across = tilted(angle, 0.6), rotation_exp([np.pi / 2, 0, 0])
    shapes, rough = [Cylinder(0.1, 0.3)], Material(0.6)
    builder.body("roller", position=(0, 0, 0.1), orientation=across, density=900.0, shapes=shapes, material=rough)
    return float(ran(builder, 0.4, h).body("roller").velocity[0]) / (0.4 * G * np.sin(angle)), 2.0 / 3.0


@scenario("friction", "ball sliding down a slope: spin / (5 μ g cos α t / 2 r)", 1e-3, 1e-5)
def _(h: float) -> Answer:
    angle, mu, r = np.radians(40.0), 0.1, 0.1
    builder = tilted(angle, mu)
    builder.body("ball", position=(0, 0, r), density=900.0, shapes=[Sphere(r)], material=Material(mu))
    spin = ran(builder, 0.4, h).body("ball").angular_velocity[1]
    return float(spin) / (2.5 * mu * G * np.cos(angle) * 0.4 / r), 1.0


@scenario("friction", "block thrown along a floor: way until it stops [m]", 5e-4, 1e-3)
def _(h: float) -> Answer:
    builder = tilted(0.0, 0.25)
    shapes, rough = [Box((0.4, 0.4, 0.04))], Material(0.25)
    builder.body("block", position=(0, 0, 0.02), velocity=(1.3, 0, 0), mass=1.0, shapes=shapes, material=rough)
    return float(ran(builder, 0.7, h).body("block").position[0]), 1.3**2 / (2 * 0.25 * G)


@scenario("friction", "bowling ball thrown without spin: speed when it rolls / v₀", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder = tilted(0.0, 0.2)
    rough = Material(0.2)
    builder.body("ball", position=(0, 0, 0.1), velocity=(2, 0, 0), density=900.0, shapes=[Sphere(0.1)], material=rough)
    return float(ran(builder, 0.6, h).body("ball").velocity[0]) / 2.0, 5.0 / 7.0


@scenario("friction", "ball with backspin, 5 v₀/2r: speed when it rolls / v₀", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder = tilted(0.0, 0.2)
    builder.body(
        "ball",
        position=(0, 0, 0.1),
        velocity=(1, 0, 0),
        angular_velocity=(0, -35.0, 0),
        density=900.0,
        shapes=[Sphere(0.1)],
        material=Material(0.2),
    )
    return float(ran(builder, 1.0, h).body("ball").velocity[0]), (5.0 - 2.0 * 3.5) / 7.0


# -- gyroscopes ----------------------------------------------------------------------------------------------------


def spun(inertia: tuple[float, float, float], spin: tuple[float, float, float]) -> ModelBuilder:
    builder = weightless()
    builder.body("top", mass=1.0, inertia=inertia, angular_velocity=spin)
    return builder


@scenario("gyroscopes", "free symmetric top: rate of its axis about L · I₁/|L|", 1e-3, 1e-4)
def _(h: float) -> Answer:
    inertia, spin = (0.02, 0.02, 0.035), (2.0, 0.0, 9.0)
    L, T = np.multiply(inertia, spin), 0.5
    axis = ran(spun(inertia, spin), T, h).body("top").rotation[:, 2]
    along = L / np.linalg.norm(L)
    flat = lambda a: a - (a @ along) * along  # noqa: E731
    a, b = flat(np.array([0.0, 0.0, 1.0])), flat(axis)
    turned = np.arctan2(np.cross(a, b) @ along, a @ b)
    rate = np.linalg.norm(L) / inertia[0]
    return float((turned - rate * T + np.pi) % (2 * np.pi) - np.pi) / (rate * T) + 1.0, 1.0


@scenario("gyroscopes", "Dzhanibekov's nut: energy after 5 s / before", 1e-3, 1e-9)
def _(h: float) -> Answer:
    inertia, spin = np.array([0.01, 0.02, 0.025]), np.array([0.01, 8.0, 0.0])
    world = ran(spun(tuple(inertia), tuple(spin)), 5.0, h)
    return world.energy.kinetic / (0.5 * inertia @ spin**2), 1.0


@scenario("gyroscopes", "Dzhanibekov's nut: angular momentum after 5 s / before", 1e-3, 1e-6)
def _(h: float) -> Answer:
    inertia, spin = np.array([0.01, 0.02, 0.025]), np.array([0.01, 8.0, 0.0])
    body = ran(spun(tuple(inertia), tuple(spin)), 5.0, h).body("top")
    L = body.rotation @ (inertia * (body.rotation.T @ body.angular_velocity))
    return float(L @ (inertia * spin)) / float((inertia * spin) @ (inertia * spin)), 1.0


def heavy_top(axis: np.ndarray, spin: float, turning: np.ndarray) -> ModelBuilder:
    """A disc of 1 kg, I = (0.02, 0.02, 0.02), whose centre is 0.2 m from a ball joint."""
    builder, centre = ModelBuilder(), 0.2 * axis
    orientation = rotation_exp(np.arccos(axis[2]) * np.array([0.0, 1.0, 0.0]))
    builder.body(
        "top",
        position=centre,
        orientation=orientation,
        mass=1.0,
        inertia=(0.02, 0.02, 0.02),
        angular_velocity=spin * axis + turning,
        velocity=np.cross(turning, centre),
    )
    builder.joint("spherical", None, "top", position=(0, 0, 0))
    return builder


@scenario("gyroscopes", "gyroscope with level axis: turn in 0.5 s / (m g l t / I ω)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    spin, T = 60.0, 0.5
    rate = 0.2 * G / (0.02 * spin)
    x, y, _ = ran(heavy_top(np.array([1.0, 0, 0]), spin, np.array([0, 0, rate])), T, h).body("top").position
    return float(np.arctan2(y, x)) / (rate * T), 1.0


def sleeping(factor: float, h: float) -> float:
    """The largest lean of an upright top at a multiple of the spin that keeps it upright, ω = 2 √(I₁ m g l)/I₃."""
    spin = factor * 2.0 * np.sqrt((0.02 + 0.04) * 0.2 * G) / 0.02
    lean = np.array([np.sin(1e-3), 0.0, np.cos(1e-3)])
    world = World(*heavy_top(lean, spin, np.zeros(3)).build(), h=h)
    most = 0.0
    for _ in range(40):
        world.run(seconds=0.05)
        most = max(most, float(np.hypot(*world.body("top").position[:2])) / 0.2)
    return most


@scenario("gyroscopes", "top at 110 % of the spin that keeps it asleep: does it fall? [1 = yes]", 1e-3, 0.0)
def _(h: float) -> Answer:
    return float(sleeping(1.1, h) > 0.05), 0.0


@scenario("gyroscopes", "top at 90 % of that spin: does it fall? [1 = yes]", 1e-3, 0.0)
def _(h: float) -> Answer:
    return float(sleeping(0.9, h) > 0.05), 1.0


# -- impacts -------------------------------------------------------------------------------------------------------


@scenario("impacts", "ball dropped 0.3 m, e = 0.7: height at 0.5 s [m]", 1e-3, 1e-7)
def _(h: float) -> Answer:
    builder = tilted(0.0, 0.0, 0.7)
    builder.body("ball", position=(0, 0, 0.4), mass=1, shapes=[Sphere(0.1)], material=Material(0.0, 0.7))
    met = np.sqrt(2 * 0.3 / G)
    after, speed = 0.5 - met, 0.7 * G * met
    assert 2 * speed / G > after
    return float(ran(builder, 0.5, h).body("ball").position[2]) - 0.1, speed * after - 0.5 * G * after**2


@scenario("impacts", "ball dropped 0.1 m, e = 0.6: does it move after √(2 z/g) (1 + e)/(1 − e)? [1 = yes]", 1e-3, 0.0)
def _(h: float) -> Answer:
    builder = tilted(0.0, 0.0, 0.6)
    builder.body("ball", position=(0, 0, 0.2), mass=1, shapes=[Sphere(0.1)], material=Material(0.0, 0.6))
    rest = np.sqrt(2 * 0.1 / G) * (1 + 0.6) / (1 - 0.6)
    return float(abs(ran(builder, 1.02 * rest, h).body("ball").velocity[2]) > 1e-3), 0.0


def struck_rod(e: float, h: float) -> tuple[World, float, float]:
    """A ball of 1 kg at 2 m/s against the end of a free rod of 3 kg and 1.2 m; ball's and rod's speeds after it."""
    builder, m, M, L = weightless(), 1.0, 3.0, 1.2
    smooth, size = Material(0.0, e), (L, 0.04, 0.04)
    builder.body("rod", mass=M, inertia=(M * L * L / 12,) * 3, shapes=[Box(size)], material=smooth)
    at = (0.5 * L - 0.05, -0.5, 0.0)
    builder.body("ball", position=at, velocity=(0, 2.0, 0), mass=m, shapes=[Sphere(0.05)], material=smooth)
    arm = at[0]
    impulse = (1 + e) * 2.0 / (1 / m + 1 / M + arm**2 / (M * L * L / 12))
    return ran(builder, 0.3, h), 2.0 - impulse / m, impulse / M


@scenario("impacts", "ball against the end of a free rod, e = 0.5: speed of the ball [m/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    world, ball, _ = struck_rod(0.5, h)
    return float(world.body("ball").velocity[1]), ball


@scenario("impacts", "ball against the end of a free rod, e = 0.5: speed of the rod's centre [m/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    world, _, rod = struck_rod(0.5, h)
    return float(world.body("rod").velocity[1]), rod


def rough_bounce(mu: float, h: float) -> np.ndarray:
    """(v_x, v_z, ω_y) of a ball of 0.1 m thrown at (1, −2) m/s without spin after it met ground, e = 0.8."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    rough = Material(mu, 0.8)
    builder.fixed("ground", shapes=[Plane()], material=rough)
    ball = [Sphere(0.1)]
    builder.body("ball", position=(0, 0, 0.35), velocity=(1, 0, -2), density=900.0, shapes=ball, material=rough)
    body = ran(builder, 0.2, h).body("ball")
    return np.array([body.velocity[0], body.velocity[2], body.angular_velocity[1]])


@scenario("impacts", "rough ball that slides through its bounce: v_x = v − μ (1 + e) v_n [m/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    return float(rough_bounce(0.05, h)[0]), 1.0 - 0.05 * 1.8 * 2.0


@scenario("impacts", "rough ball that slides through its bounce: spin 5 μ (1 + e) v_n / 2 r [rad/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    return float(rough_bounce(0.05, h)[2]), 2.5 * 0.05 * 1.8 * 2.0 / 0.1


@scenario("impacts", "rough ball that grips: v_x = 5 v/7 [m/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    return float(rough_bounce(0.9, h)[0]), 5.0 / 7.0


@scenario("impacts", "small ball on a large one, dropped, e = 1: rebound / speed, (3 M − m)/(M + m)", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, m, M = tilted(0.0, 0.0, 1.0), 0.1, 1.0
    springy = Material(0.0, 1.0)
    builder.body("large", position=(0, 0, 0.6), mass=M, shapes=[Sphere(0.1)], material=springy)
    builder.body("small", position=(0, 0, 0.75 + 1e-9), mass=m, shapes=[Sphere(0.05)], material=springy)
    v = np.sqrt(2 * G * 0.5)
    T = v / G + 0.01
    seen = ran(builder, T, h).body("small").velocity[2] + G * 0.01
    return float(seen) / v, (3 * M - m) / (M + m)


@scenario("impacts", "billiard balls, off centre, e = 1: angle between their ways [rad]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, springy = weightless(), Material(0.0, 1.0)
    builder.body("cue", position=(-0.5, 0.02, 0), velocity=(2, 0, 0), mass=1, shapes=[Sphere(0.03)], material=springy)
    builder.body("other", mass=1, shapes=[Sphere(0.03)], material=springy)
    world = ran(builder, 0.4, h)
    a, b = world.body("cue").velocity, world.body("other").velocity
    return float(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))), np.pi / 2


@scenario("impacts", "two balls that stay together, e = 0: energy left", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, dull = weightless(), Material(0.0)
    builder.body("first", position=(-0.5, 0, 0), velocity=(2, 0, 0), mass=2, shapes=[Sphere(0.1)], material=dull)
    builder.body("second", mass=3, shapes=[Sphere(0.1)], material=dull)
    return ran(builder, 0.4, h).energy.kinetic / 4.0, 2.0 / 5.0


@scenario("impacts", "ball to and fro between walls at 10 m/s, e = 0.9: speed after 9 bounces / v₀", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, springy = weightless(), Material(0.0, 0.9)
    builder.fixed("left", shapes=[Plane((1, 0, 0), -0.5)], material=springy)
    builder.fixed("right", shapes=[Plane((-1, 0, 0), -0.5)], material=springy)
    builder.body("ball", velocity=(10, 0, 0), mass=1, shapes=[Sphere(0.1)], material=springy)
    ways = np.append(0.4, np.full(8, 0.8)) / (10 * 0.9 ** np.arange(9))
    T = float(ways.sum()) + 0.5 * 0.8 / (10 * 0.9**9)
    return float(abs(ran(builder, T, h).body("ball").velocity[0])) / 10.0, 0.9**9


@scenario("impacts", "ball to and fro between walls at 10 m/s: where it is after 9 bounces [m]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, springy = weightless(), Material(0.0, 0.9)
    builder.fixed("left", shapes=[Plane((1, 0, 0), -0.5)], material=springy)
    builder.fixed("right", shapes=[Plane((-1, 0, 0), -0.5)], material=springy)
    builder.body("ball", velocity=(10, 0, 0), mass=1, shapes=[Sphere(0.1)], material=springy)
    ways = np.append(0.4, np.full(8, 0.8)) / (10 * 0.9 ** np.arange(9))
    T = float(ways.sum()) + 0.2 / (10 * 0.9**9)
    return float(ran(builder, T, h).body("ball").position[0]), 0.2


@scenario("impacts", "cradle of five, gaps of 0.1 mm: speed of the last", 1e-3, 1e-8)
def _(h: float) -> Answer:
    builder, springy = weightless(), Material(0.0, 1.0)
    for k in range(5):
        x = 0.2001 * k - 0.05 * (k == 0)
        v = (1.0 * (k == 0), 0, 0)
        builder.body(f"ball{k}", position=(x, 0, 0), velocity=v, mass=1, shapes=[Sphere(0.1)], material=springy)
    return float(ran(builder, 0.1, h).body("ball4").velocity[0]), 1.0


@scenario("impacts", "elastic 666 (216 balls, e = 1), first 0.7 s: energy / before", 4e-3, 1e-10)
def _(h: float) -> Answer:
    builder, rng = tilted(0.0, 0.0, 1.0), np.random.default_rng(42)
    for place in np.ndindex(6, 6, 6):
        position = 0.21 * np.array(place) + rng.uniform(0.0, 1e-3, 3) + (0, 0, 1.101)
        builder.body(position=position, mass=10.0, shapes=[Sphere(0.1)], material=Material(0.0, 1.0))
    world = World(*builder.build(), h=h)
    before = world.energy.total
    world.run(seconds=0.7)
    return world.energy.total / before, 1.0


# -- mechanisms ----------------------------------------------------------------------------------------------------


def bob(builder: ModelBuilder, angle: float, length: float, mass: float = 1.0) -> None:
    place = length * np.array([np.sin(angle), 0, -np.cos(angle)])
    builder.body("bob", position=place, mass=mass, inertia=np.full(3, 1e-9))
    builder.joint("revolute", None, "bob", position=(0, 0, 0), axis=(0, 1, 0), name="hinge")


@scenario("mechanisms", "pendulum from 120°: quarter of its period [s]", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, start = ModelBuilder(), np.radians(120.0)
    bob(builder, start, 1.0)
    return crossing(builder, "bob", 0, h, 2.0), float(ellipk(np.sin(start / 2) ** 2)) / np.sqrt(G)


@scenario("mechanisms", "rod that falls about its end: rate when level / √(3 g/L)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder, L = ModelBuilder(), 1.0
    lean = 0.3
    place = 0.5 * L * np.array([np.sin(lean), 0, np.cos(lean)])
    builder.body("rod", position=place, mass=2.0, inertia=np.full(3, 2.0 * L * L / 12))
    builder.joint("revolute", None, "rod", position=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    world = World(*builder.build(), h=h)
    while world.body("rod").position[2] > 0.0:
        before = world.body("rod").position[2], world.joint("hinge").rate
        world.step()
    after = world.body("rod").position[2], world.joint("hinge").rate
    rate = np.interp(0.0, [after[0], before[0]], [abs(after[1]), abs(before[1])])
    return float(rate) / np.sqrt(3 * G * np.cos(lean) / L), 1.0


@scenario("mechanisms", "conical pendulum at 40°: height kept, error [m]", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, angle, L = ModelBuilder(), np.radians(40.0), 1.0
    rate = np.sqrt(G / (L * np.cos(angle)))
    place = L * np.array([np.sin(angle), 0, -np.cos(angle)])
    builder.body("bob", position=place, velocity=(0, rate * place[0], 0), mass=1.0, inertia=np.full(3, 1e-9))
    builder.joint("distance", None, "bob", position=(0, 0, 0), follower_position=place, length=L)
    return float(ran(builder, 3.0, h).body("bob").position[2]), -L * np.cos(angle)


@scenario("mechanisms", "double pendulum, slow mode: quarter of its period [s]", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, small = ModelBuilder(), 1e-4
    first, second = small, small * np.sqrt(2.0)
    a = np.array([np.sin(first), 0, -np.cos(first)])
    b = a + np.array([np.sin(second), 0, -np.cos(second)])
    builder.body("one", position=a, mass=1.0, inertia=np.full(3, 1e-9))
    builder.body("two", position=b, mass=1.0, inertia=np.full(3, 1e-9))
    builder.joint("revolute", None, "one", position=(0, 0, 0), axis=(0, 1, 0))
    builder.joint("revolute", "one", "two", position=a, axis=(0, 1, 0))
    return crossing(builder, "one", 0, h, 2.0), np.pi / 2 / np.sqrt(G * (2 - np.sqrt(2.0)))


@scenario("mechanisms", "cart with pendulum: quarter of its period [s]", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, small, M, m = ModelBuilder(), 1e-4, 2.0, 1.0
    builder.body("cart", mass=M, inertia=np.ones(3))
    builder.joint("prismatic", None, "cart", axis=(1, 0, 0))
    place = np.array([np.sin(small), 0, -np.cos(small)])
    builder.body("bob", position=place, mass=m, inertia=np.full(3, 1e-9))
    builder.joint("revolute", "cart", "bob", position=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    world = World(*builder.build(), h=h)
    last = now = small
    while now > 0.0:
        last = now
        world.step()
        now = float(world.body("bob").position[0] - world.body("cart").position[0])
    return world.time - h * now / (now - last), np.pi / 2 / np.sqrt(G * (M + m) / M)


@scenario("mechanisms", "bead on a rod that turns at 3 rad/s: r(t)/r₀ = cosh ω t", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, T = weightless(), 0.6
    builder.body("rod", mass=1.0, inertia=np.ones(3), angular_velocity=(0, 0, 3.0))
    builder.joint("revolute", None, "rod", position=(0, 0, 0), motor="imposed", name="drive")
    motion = {"velocity": (0, 0.3, 0), "angular_velocity": (0, 0, 3.0)}
    builder.body("bead", position=(0.1, 0, 0), mass=1, inertia=(1, 1, 1), **motion)
    builder.joint("prismatic", "rod", "bead", position=(0, 0, 0), axis=(1, 0, 0), name="slide")
    world = World(*builder.build(), h=h)
    world.joint("drive").target_rate = 3.0
    world.run(seconds=T)
    return float(np.linalg.norm(world.body("bead").position)) / 0.1, float(np.cosh(3.0 * T))


@scenario("mechanisms", "parallelogram of light cranks: quarter of its period [s]", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder, angle = ModelBuilder(), 0.5
    crank = np.array([np.sin(angle), 0, -np.cos(angle)])
    builder.body("plate", position=crank + (0.25, 0, 0), mass=5.0, inertia=np.ones(3))
    for k, x in enumerate((0.0, 0.5)):
        at = np.array([x, 0, 0])
        builder.body(f"crank{k}", position=at + 0.5 * crank, mass=1e-6, inertia=np.full(3, 1e-7))
        builder.joint("revolute", None, f"crank{k}", position=at, axis=(0, 1, 0), name=f"hinge{k}")
        builder.joint("revolute", f"crank{k}", "plate", position=at + crank, axis=(0, 1, 0))
    return crossing(builder, "crank0", 0, h, 2.0), float(ellipk(np.sin(angle / 2) ** 2)) / np.sqrt(G)


def wheel(**options: object) -> ModelBuilder:
    builder = weightless()
    builder.body("wheel", mass=1.0, inertia=(0.3, 0.3, 0.5), angular_velocity=(0, 0, 4.0))
    builder.joint("revolute", None, "wheel", position=(0, 0, 0), name="hinge", **options)  # type: ignore[arg-type]
    return builder


@scenario("mechanisms", "wheel with a damper: spin after 1 s / e^{−c t/I}", 1e-3, 1e-6)
def _(h: float) -> Answer:
    return float(ran(wheel(damping=0.4), 1.0, h).joint("hinge").rate) / (4.0 * np.exp(-0.4 / 0.5)), 1.0


@scenario("mechanisms", "wheel with dry friction: angle until it stops [rad]", 1e-3, 1e-5)
def _(h: float) -> Answer:
    return float(ran(wheel(friction=2.0), 1.5, h).joint("hinge").angle), 0.5 * 4.0**2 * 0.5 / 2.0


@scenario("mechanisms", "wheel with armature on a spring: turn in a quarter period / amplitude", 1e-3, 1e-5)
def _(h: float) -> Answer:
    k, I = 30.0, 0.5 + 0.7  # noqa: E741
    T = np.pi / 2 * np.sqrt(I / k)
    return float(ran(wheel(stiffness=k, armature=0.7), T, h).joint("hinge").angle) / (4.0 * np.sqrt(I / k)), 1.0


@scenario("mechanisms", "limit hit at 4 rad/s, e = 0.5: spin after it [rad/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    return float(ran(wheel(limits=(-10.0, 1.0), limit_restitution=0.5), 0.4, h).joint("hinge").rate), -2.0


@scenario("mechanisms", "motor of limited torque: spin after 0.5 s [rad/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    world = World(*wheel(motor=Motor(damping=1e4, effort=3.0)).build(), h=h)
    world.joint("hinge").target_rate = 100.0
    world.run(seconds=0.5)
    return float(world.joint("hinge").rate), 4.0 + 3.0 * 0.5 / 0.5


# -- elastic -------------------------------------------------------------------------------------------------------


def slider(mass: float = 2.0, gravity: float = 0.0, **options: object) -> ModelBuilder:
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    builder.body("mass", position=(0, 0, 0), mass=mass, inertia=np.ones(3))
    builder.joint("prismatic", None, "mass", position=(0, 0, 0), name="slide", **options)  # type: ignore[arg-type]
    return builder


@scenario("elastic", "weight let go on a spring: place after 1 s / (m g/k)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    k, m = 50.0, 2.0
    z = ran(slider(m, G, stiffness=k), 1.0, h).joint("slide").position
    return float(z) / (m * G / k), -(1 - np.cos(np.sqrt(k / m)))


@scenario("elastic", "weight on a spring with a damper: place after 1 s / (m g/k)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    k, m, c = 50.0, 2.0, 4.0
    z = ran(slider(m, G, stiffness=k, damping=c), 1.0, h).joint("slide").position
    w, d = np.sqrt(k / m), c / (2 * m)
    f = np.sqrt(w * w - d * d)
    return float(z) / (m * G / k), -(1 - np.exp(-d) * (np.cos(f) + d / f * np.sin(f)))


@scenario("elastic", "weight on a spring with dry friction: where it turns after half a period / (m g/k)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    k, m, dry = 50.0, 2.0, 3.0
    z = ran(slider(m, G, stiffness=k, friction=dry), np.pi * np.sqrt(m / k), h).joint("slide").position
    return float(z) / (m * G / k), -2 * (1 - dry / (m * G))


@scenario("elastic", "two masses and a spring: stretch after 1 s / at the start", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder = weightless()
    builder.body("a", position=(0, 0, 0), mass=1.0, inertia=np.ones(3))
    builder.body("b", position=(1.2, 0, 0), mass=3.0, inertia=np.ones(3))
    builder.spring("a", "b", stiffness=40.0, rest_length=1.0)
    world = ran(builder, 1.0, h)
    stretch = world.body("b").position[0] - world.body("a").position[0] - 1.0
    return float(stretch) / 0.2, float(np.cos(np.sqrt(40.0 * (1 / 1.0 + 1 / 3.0))))


@scenario("elastic", "two masses and a spring: momentum [kg m/s]", 1e-3, 1e-9)
def _(h: float) -> Answer:
    builder = weightless()
    builder.body("a", position=(0, 0, 0), mass=1.0, inertia=np.ones(3))
    builder.body("b", position=(1.2, 0, 0), mass=3.0, inertia=np.ones(3))
    builder.spring("a", "b", stiffness=40.0, rest_length=1.0)
    world = ran(builder, 1.0, h)
    return float(world.body("a").velocity[0] + 3.0 * world.body("b").velocity[0]), 0.0


@scenario("elastic", "torsion pendulum: turn after 1 s / at the start", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder = weightless()
    builder.body("disc", mass=1.0, inertia=(0.3, 0.3, 0.5))
    builder.joint("revolute", None, "disc", position=(0, 0, 0), stiffness=8.0, rest=0.3, name="wire")
    return 1.0 - float(ran(builder, 1.0, h).joint("wire").angle) / 0.3, float(np.cos(np.sqrt(8.0 / 0.5)))


@scenario("elastic", "two coupled sliders: the second after 2 s / amplitude of the first", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder, k, c = weightless(), 20.0, 2.0
    for name, x in (("a", 0.0), ("b", 1.0)):
        builder.body(name, position=(x, 0, 0), velocity=(1.0 * (name == "a"), 0, 0), mass=1.0, inertia=np.ones(3))
        builder.joint("prismatic", None, name, position=(x, 0, 0), axis=(1, 0, 0), stiffness=k, name=f"slide {name}")
    builder.spring("a", "b", stiffness=c, rest_length=1.0)
    slow, fast = np.sqrt(k), np.sqrt(k + 2 * c)
    seen = ran(builder, 2.0, h).joint("slide b").position
    return float(seen) * slow, 0.5 * (np.sin(2 * slow) - slow / fast * np.sin(2 * fast))


@scenario("elastic", "body on a bushing under its weight: sag / (m g/k)", 5e-3, 1e-4)
def _(h: float) -> Answer:
    builder = ModelBuilder()
    builder.body("engine", mass=10.0, inertia=np.ones(3))
    builder.bushing(None, "engine", stiffness=[5e3] * 3 + [1e3] * 3, damping=[400.0] * 3 + [50.0] * 3)
    return float(ran(builder, 2.0, h).body("engine").position[2]) / (10 * G / 5e3), -1.0


@scenario("elastic", "spring pendulum hanging, released 0.1 m below rest: after a half period / 0.1 m", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder, k, m = ModelBuilder(), 80.0, 1.0
    rest = 1.0 + m * G / k
    builder.body("bob", position=(0, 0, -rest - 0.1), mass=m, inertia=np.ones(3))
    builder.spring(None, "bob", stiffness=k, rest_length=1.0)
    return float(ran(builder, np.pi * np.sqrt(m / k), h).body("bob").position[2] + rest) / 0.1, 1.0


# -- more impacts, friction and mechanisms -------------------------------------------------------------------------


@scenario("impacts", "ball squeezed between a wall and 3 000 kg: energy / before", 1e-3, 1e-9)
def _(h: float) -> Answer:
    builder, springy = weightless(), Material(0.0, 1.0)
    builder.fixed("wall", shapes=[Plane()], material=springy)
    builder.body("ball", position=(0, 0, 0.1), mass=1.0, shapes=[Sphere(0.1)], material=springy)
    builder.body("mass", position=(0, 0, 0.31), velocity=(0, 0, -1), mass=3e3, shapes=[Sphere(0.1)], material=springy)
    return ran(builder, 0.05, h).energy.kinetic / 1.5e3, 1.0


@scenario("impacts", "pendulum of 1 kg against a ball of 1 kg at rest, e = 1: speed of the ball / √(2 g l)", 1e-3, 1e-5)
def _(h: float) -> Answer:
    builder, springy = ModelBuilder(), Material(0.0, 1.0)
    builder.fixed("floor", shapes=[Plane((0, 0, 1), -1.05)], material=Material(0.0))
    ball, point = [Sphere(0.05)], np.full(3, 1e-9)
    builder.body("bob", position=(-1, 0, 0), mass=1.0, shapes=ball, inertia=point, material=springy)
    builder.joint("revolute", None, "bob", position=(0, 0, 0), axis=(0, 1, 0))
    builder.body("ball", position=(0.1, 0, -1.0), mass=1.0, shapes=[Sphere(0.05)], material=springy)
    speed = ran(builder, 0.8, h).body("ball").velocity[0]
    return float(speed) / np.sqrt(2 * G), 1.0


@scenario("impacts", "ball against a door at its centre of percussion, e = 1: speed of the ball [m/s]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, springy, m, M, L = weightless(), Material(0.0, 1.0), 0.5, 6.0, 0.9
    builder.body(
        "door",
        position=(L / 2, 0, 0),
        mass=M,
        inertia=(M * L * L / 12,) * 3,
        shapes=[Box((L, 0.04, 1.0))],
        material=springy,
    )
    builder.joint("revolute", None, "door", position=(0, 0, 0), axis=(0, 0, 1))
    at = 2 * L / 3
    builder.body("ball", position=(at, -0.4, 0), velocity=(0, 3.0, 0), mass=m, shapes=[Sphere(0.05)], material=springy)
    impulse = 2 * 3.0 / (1 / m + at * at / (M * L * L / 3))
    return float(ran(builder, 0.2, h).body("ball").velocity[1]), 3.0 - impulse / m


@scenario("friction", "block on a conveyor: way until it moves with it [m]", 1e-3, 1e-3)
def _(h: float) -> Answer:
    mu, belt = 0.3, 1.0
    builder = ModelBuilder()
    builder.body(
        "belt",
        position=(0, 0, -0.05),
        velocity=(belt, 0, 0),
        mass=1e3,
        shapes=[Box((4, 0.5, 0.1))],
        material=Material(mu),
    )
    builder.joint("prismatic", None, "belt", axis=(1, 0, 0), motor="imposed", name="drive")
    builder.body("block", position=(0, 0, 0.02), mass=1.0, shapes=[Box((0.4, 0.4, 0.04))], material=Material(mu))
    world = World(*builder.build(), h=h)
    world.joint("drive").target_rate = belt
    world.run(seconds=0.6)
    met = belt / (mu * G)
    return float(world.body("block").position[0]), 0.5 * belt * met + belt * (0.6 - met)


@scenario("friction", "ball rolling without slipping up a slope: height it reaches / (7 v²/10 g)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    angle, v, r = np.radians(15.0), 1.5, 0.1
    builder = ModelBuilder(gravity=(-G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.fixed("ground", shapes=[Plane()], material=Material(0.8))
    builder.body(
        "ball",
        position=(0, 0, r),
        velocity=(v, 0, 0),
        angular_velocity=(0, v / r, 0),
        density=900.0,
        shapes=[Sphere(r)],
        material=Material(0.8),
    )
    stop = v / (5 / 7 * G * np.sin(angle))
    x = ran(builder, stop, h).body("ball").position[0]
    return float(x) * np.sin(angle) / (0.7 * v * v / G), 1.0


@scenario("mechanisms", "slider-crank at 10 rad/s: place of the slider after 0.35 s [m]", 1e-3, 1e-6)
def _(h: float) -> Answer:
    builder, r, L, T = weightless(), 0.2, 0.6, 0.35
    builder.body(
        "crank",
        position=(r / 2, 0, 0),
        velocity=(0, 0, -10 * r / 2),
        mass=1,
        inertia=(0.1,) * 3,
        angular_velocity=(0, 10.0, 0),
    )
    builder.joint("revolute", None, "crank", position=(0, 0, 0), axis=(0, 1, 0), motor="imposed", name="drive")
    turn = 10.0 * r / L
    builder.body(
        "rod",
        position=(r + L / 2, 0, 0),
        velocity=(0, 0, -10 * r / 2),
        mass=1,
        inertia=(0.1,) * 3,
        angular_velocity=(0, -turn, 0),
    )
    builder.joint("revolute", "crank", "rod", position=(r, 0, 0), axis=(0, 1, 0))
    builder.body("slider", position=(r + L, 0, 0), mass=1, inertia=(0.1,) * 3)
    builder.joint("revolute", "rod", "slider", position=(r + L, 0, 0), axis=(0, 1, 0))
    builder.joint("prismatic", None, "slider", position=(r + L, 0, 0), axis=(1, 0, 0), name="slide")
    world = World(*builder.build(), h=h)
    world.joint("drive").target_rate = 10.0
    world.run(seconds=T)
    angle = 10.0 * T
    return float(world.body("slider").position[0]), r * np.cos(angle) + np.sqrt(L * L - (r * np.sin(angle)) ** 2)


@scenario("mechanisms", "arm on a damped drive: kinetic energy after 0.4 s [J]", 5e-4, 1e-3)
def _(h: float) -> Answer:
    builder = weightless()
    builder.body("arm", position=(0.5, 0, 0), mass=2.0, inertia=(0.2,) * 3)
    builder.joint("revolute", None, "arm", position=(0, 0, 0), motor=Motor(damping=3.0), name="drive")
    world = World(*builder.build(), h=h)
    world.joint("drive").target_rate = 5.0
    world.run(seconds=0.4)
    inertia = 0.2 + 2.0 * 0.25
    return world.energy.kinetic, 0.5 * inertia * (5.0 * (1 - np.exp(-3.0 * 0.4 / inertia))) ** 2


@scenario("gyroscopes", "wheel on a turning arm: moment on its bearing / (I ω Ω)", 1e-3, 1e-4)
def _(h: float) -> Answer:
    builder, spin, turn, inertia = weightless(), 50.0, 2.0, 0.02
    builder.body("fork", mass=1.0, inertia=(0.1,) * 3, angular_velocity=(0, 0, turn))
    builder.joint("revolute", None, "fork", position=(0, 0, 0), motor="imposed", name="drive")
    builder.body("wheel", mass=1.0, inertia=(inertia,) * 3, angular_velocity=(spin, 0, turn))
    builder.joint("revolute", "fork", "wheel", position=(0, 0, 0), axis=(1, 0, 0), name="bearing")
    world = World(*builder.build(), h=h)
    world.joint("drive").target_rate = turn
    world.run(seconds=0.2)
    reaction = world.joint("bearing").reaction
    return float(np.linalg.norm(reaction[1])) / (inertia * spin * turn), 1.0
