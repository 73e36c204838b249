"""Random mechanisms: trees and loops of all kinds of joints, closed as they are placed.

A mechanism is plain data (`Mechanism` of `Link`s and `Tie`s), so that a failing one can be printed, and taken apart
piece by piece until the smallest that still fails is left (`minimise`). `assemble` turns it into a model.

The numbers are drawn so that 200 steps of 1 ms resolve what happens: bodies of 5 to 30 cm, speeds of about 1 m/s,
springs of at most 100 rad/s but for a few that no step resolves. Masses differ by up to 10⁴.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from delassus.builder import Material, ModelBuilder, Motor
from delassus.collision import detect
from delassus.dynamics import Inputs
from delassus.joints import JOINTS
from delassus.shapes import Box, Capsule, Convex, Cylinder, Plane, Sphere
from delassus.spatial import quaternion_to_matrix

WORLD = -1
_TURNING = {"revolute": "z", "cylindrical": "z", "planar": "z", "spherical": "xyz", "universal": "xy"}
_SLIDING = {"prismatic": (2,), "cylindrical": (2,), "planar": (0, 1), "cartesian": (0, 1, 2)}
_FASTEST = 100.0  # of springs that a step resolves, in rad/s for the body they drive: 0.1 rad in a step of 1 ms


@dataclass(frozen=True)
class Link:
    """A body. shape: of the solid that gives its inertia, at an offset from the body's frame; touches: has contacts;
    velocity: twist before it is made consistent with the joints."""

    position: np.ndarray
    rotation: np.ndarray
    mass: float
    shape: object
    offset: np.ndarray
    velocity: np.ndarray
    touches: bool = True


@dataclass(frozen=True)
class Tie:
    """A joint between two links, −1 for the world. per coordinate: limits, motors, damping, friction, drive (centre,
    amplitude, angular frequency of the target) and effort."""

    kind: str
    base: int
    follower: int
    position: np.ndarray
    frame: np.ndarray
    follower_position: np.ndarray
    follower_frame: np.ndarray
    limits: tuple = ()
    motors: tuple = ()
    damping: tuple = ()
    friction: tuple = ()
    drive: tuple = ()
    effort: tuple = ()


@dataclass(frozen=True)
class Mechanism:
    """links and ties, the ground's height (None: no ground), friction and restitution of every contact, gravity."""

    links: tuple[Link, ...]
    ties: tuple[Tie, ...]
    ground: float | None = None
    mu: float = 0.0
    restitution: float = 0.0
    gravity: float = 9.81
    seed: int = field(default=-1, compare=False)


def random_mechanism(seed: int) -> Mechanism:
    """The mechanism of this seed."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    spread = rng.choice([0.0, 1.0, 2.0])  # masses from 10^-spread to 10^spread
    speed = 10 ** rng.uniform(-1.0, 0.7)
    links: list[Link] = []
    ties: list[Tie] = []
    for k in range(count):
        base = WORLD if k == 0 or rng.random() < 0.15 else int(rng.integers(0, k))
        floating = base == WORLD and rng.random() < 0.6
        links.append(_link(rng, links, base, spread, speed))
        if not floating:
            ties.append(_tie(rng, links, base, k))
    bridges = len(ties)
    for _ in range(int(rng.choice([0, 0, 1, 2])) if count > 1 else 0):  # loops: any joint closes one as placed
        a, b = (int(x) for x in rng.choice(np.arange(-1, count), 2, replace=False))
        a, b = min(a, b), max(a, b)
        ties.append(_tie(rng, links, a, b))
    touches = rng.random() < 0.6
    links = [replace(link, touches=touches) for link in links]
    imposed = not touches and len(ties) == bridges and rng.random() < 0.5  # a tree that touches nothing never jams
    ties = [_options(rng, links, tie, imposed) for tie in ties]
    restitution = float(rng.uniform(0, 1)) if rng.random() < 0.2 else 0.0
    # Newton's law of impact with friction may gain energy (Kane's paradox), which is the law's and not the step's
    if restitution:
        ties = [replace(tie, friction=(0.0,) * len(tie.friction)) for tie in ties]
    mu = 0.0 if restitution or rng.random() < 0.2 else float(rng.uniform(0, 1))
    ground = None
    if touches:
        ground = min(_lowest(link, rng) for link in links) - rng.uniform(0.0, 0.01)
    gravity = 0.0 if rng.random() < 0.1 else 9.81
    return Mechanism(tuple(links), tuple(ties), ground, mu, restitution, gravity, seed)


def _rotation(rng) -> np.ndarray:
    q = rng.standard_normal(4)
    return quaternion_to_matrix(q / np.linalg.norm(q))


def _direction(rng) -> np.ndarray:
    d = rng.standard_normal(3)
    return d / np.linalg.norm(d)


def _shape(rng):
    a, b, c = rng.uniform(0.05, 0.3, 3)
    kind = rng.integers(0, 5)
    if kind == 0:
        return Sphere(a / 2)
    if kind == 1:
        return Box((a, b, c))
    if kind == 2:
        return Capsule(a / 3, b)
    if kind == 3:
        return Cylinder(a / 2, b)
    return Convex(rng.uniform(-1, 1, (int(rng.integers(5, 12)), 3)) * (a / 2, b / 2, c / 2))


def _lowest(link: Link, rng) -> float:
    """Height of a body's lowest point, a little below it [m]."""
    points = link.shape.surface_points(500, rng) + link.offset
    return float((points @ link.rotation[2]).min() + link.position[2] - 0.03 * link.shape.bounding_radius)


def _radius(link: Link) -> float:
    return float(np.linalg.norm(link.offset) + link.shape.bounding_radius)


def _link(rng, links, base: int, spread: float, speed: float) -> Link:
    shape = _shape(rng)
    offset = rng.uniform(-0.05, 0.05, 3) if rng.random() < 0.5 else np.zeros(3)
    near = links[base].position if base >= 0 else rng.uniform(-0.3, 0.3, 3)
    reach = shape.bounding_radius + (_radius(links[base]) if base >= 0 else 0.0)
    position = near + _direction(rng) * reach * rng.uniform(0.5, 1.2)
    velocity = speed * np.concatenate([rng.normal(0, 0.5, 3), rng.normal(0, 3.0, 3)])
    return Link(position, _rotation(rng), float(10 ** rng.uniform(-spread, spread)), shape, offset, velocity)


def _tie(rng, links, base: int, follower: int) -> Tie:
    """A joint that is closed as placed, its coordinates anywhere."""
    kind = str(rng.choice(list(JOINTS)))
    there = links[follower].position
    here = links[base].position if base >= 0 else there + rng.uniform(-0.2, 0.2, 3)
    position = (here + there) / 2 + rng.normal(0, 0.03, 3)
    frame = _rotation(rng)
    other, other_frame = position.copy(), frame.copy()
    for axis in _SLIDING.get(kind, ()):
        other = other + frame[:, axis] * rng.uniform(-0.1, 0.1)
    if kind == "distance":
        other = position + _direction(rng) * rng.uniform(0.05, 0.3)
    if kind == "rolling":
        other = position + frame[:, 0] * rng.uniform(0.05, 0.3)
    for axis in _TURNING.get(kind, ""):
        angle = rng.uniform(-1.0, 1.0) if kind == "spherical" else rng.uniform(-3.0, 3.0)
        other_frame = other_frame @ quaternion_to_matrix(
            np.array([np.cos(angle / 2), *(np.sin(angle / 2) * np.eye(3)["xyz".index(axis)])])
        )
    return Tie(kind, base, follower, position, frame, other, other_frame)


def _options(rng, links, tie: Tie, imposed: bool) -> Tie:
    """Limits around where the coordinates are, drives, damping, dry friction and efforts, in the scale of the body."""
    coordinates = JOINTS[tie.kind].coordinates
    values = coordinates_of(tie)
    follower = links[tie.follower]
    limits, motors, damping, friction, drive, effort = [], [], [], [], [], []
    ball = tie.kind == "spherical"  # whose rotation vector is limited in all components or none
    all_limited = rng.random() < 0.2
    for k, coordinate in enumerate(coordinates):
        # the least inertia that the coordinate can feel, so that gains stay below _FASTEST
        own = follower.mass * (1.0 if coordinate.unit == "m" else _gyration(follower) ** 2)
        reach = 0.02 if coordinate.unit == "m" else 0.2
        motor, goal, bound = None, (values[k], 0.0, 0.0), None
        if (all_limited if ball else rng.random() < 0.3) and not imposed:
            bound = (values[k] - rng.uniform(0.02, 1) * reach, values[k] + rng.uniform(0.02, 1) * reach)
            bound = (bound[0], np.inf) if rng.random() < 0.2 and not ball else bound
        if rng.random() < 0.3:
            rate = rng.uniform(5.0, 30.0)
            goal = (values[k], reach * rng.uniform(0, 1), rate)
            if imposed and tie.kind != "spherical":
                motor = "imposed"
            else:
                omega = _FASTEST * (rng.uniform(0.05, 1.0) if rng.random() < 0.8 else 10 ** rng.uniform(0, 2))
                # those that no step resolves hold their place: following a target in a locked loop they would push
                # with a hundred thousand times the weight of the body
                goal = goal if omega <= _FASTEST else (values[k], 0.0, 0.0)
                motor = Motor(own * omega**2, own * omega * rng.choice([0.0, 0.2, 2.0]))
        limits.append(bound)
        motors.append(motor)
        drive.append(goal)
        damping.append(own * rng.uniform(0, 20) if rng.random() < 0.3 and motor != "imposed" else 0.0)
        friction.append(own * rng.uniform(0, 20) if rng.random() < 0.2 and motor != "imposed" else 0.0)
        effort.append(own * rng.normal(0, 10) if rng.random() < 0.1 else 0.0)
    return replace(
        tie,
        limits=tuple(limits),
        motors=tuple(motors),
        damping=tuple(damping),
        friction=tuple(friction),
        drive=tuple(drive),
        effort=tuple(effort),
    )


def _gyration(link: Link) -> float:
    """The least radius of gyration about the centre of mass [m]."""
    return float(np.sqrt(np.linalg.eigvalsh(link.shape.inertia_per_density)[0] / link.shape.volume))


def coordinates_of(tie: Tie) -> np.ndarray:
    """Values of a joint's coordinates as placed [m, rad], written here without the package's kernels."""
    R, d = tie.frame.T @ tie.follower_frame, tie.frame.T @ (tie.follower_position - tie.position)
    out = []
    for coordinate in JOINTS[tie.kind].coordinates:
        if coordinate.unit == "m":
            out.append(d["xyz".index(coordinate.name)] if coordinate.name in "xyz" else d[2])
        elif coordinate.name == "angle":
            out.append(np.arctan2(R[1, 0], R[0, 0]))
        elif coordinate.name == "first":
            out.append(np.arctan2(R[2, 1], R[1, 1]))
        elif coordinate.name == "second":
            out.append(np.arctan2(R[0, 2], R[0, 0]))
        else:
            skew = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
            sine = np.linalg.norm(skew)
            angle = np.arctan2(sine, (np.trace(R) - 1) / 2)
            out.append((angle / sine if sine > 1e-9 else 1.0) * skew["xyz".index(coordinate.name[-1])])
    return np.array(out)


def assemble(mechanism: Mechanism):
    """(model, state, inputs as a function of time) of a mechanism; velocities obey the joints, nothing overlaps."""
    builder = ModelBuilder(gravity=(0, 0, -mechanism.gravity))
    material = Material(mechanism.mu, mechanism.restitution)
    if mechanism.ground is not None:
        ground = builder.fixed("ground", shapes=[(Plane(), (0, 0, mechanism.ground))], material=material)
    bodies = []
    for k, link in enumerate(mechanism.links):
        bodies.append(
            builder.body(
                f"body-{k}",
                position=link.position,
                orientation=link.rotation,
                mass=link.mass,
                shapes=[(link.shape, link.offset)],
                material=material,
                group=int(link.touches),
                mask=int(link.touches),
            )
        )
    for k, tie in enumerate(mechanism.ties):
        builder.joint(
            tie.kind,
            None if tie.base < 0 else bodies[tie.base],
            bodies[tie.follower],
            position=tie.position,
            frame=tie.frame,
            follower_position=tie.follower_position,
            follower_frame=tie.follower_frame,
            name=f"joint-{k}",
            limits=tie.limits[0] if len(tie.limits) == 1 else tie.limits or None,
            motor=list(tie.motors) or None,
            damping=tie.damping or 0.0,
            friction=tie.friction or 0.0,
        )
    model, state = builder.build(check=False)
    for a, b in _overlapping(model, state):
        builder.exclude(ground if a < 0 else bodies[a], bodies[b])
    model, state = builder.build()
    u = consistent(model, state, np.array([link.velocity for link in mechanism.links]))
    return model, replace(state, u=u), _inputs(model, mechanism)


def _overlapping(model, state) -> set[tuple[int, int]]:
    contacts = detect(model.shapes, state.position, state.quaternion)
    return {tuple(sorted(pair)) for pair, gap in zip(contacts.bodies, contacts.gap) if gap < 0}


def consistent(model, state, u: np.ndarray) -> np.ndarray:
    """Velocities nearest to u (n, 6) in the mass metric that obey the joints, in plain NumPy."""
    joints, n = model.joints, model.body_count
    _, rows = joints.constraints(joints.frames(state.position, state.rotation))
    J = np.zeros((len(rows), 6 * n))
    for r, pair in enumerate(joints.row_bodies):
        for side, b in enumerate(pair):
            if b >= 0:
                J[r, 6 * b : 6 * b + 6] += rows[r, 6 * side : 6 * side + 6]
    mass, _ = model.mass_blocks(state.rotation)
    roots = [np.linalg.cholesky(block) for block in mass]
    G = np.hstack([np.linalg.solve(L, J[:, 6 * b : 6 * b + 6].T).T for b, L in enumerate(roots)]) if n else J
    scaled = np.concatenate([L.T @ u[b] for b, L in enumerate(roots)])
    norms = np.linalg.norm(G, axis=1, keepdims=True)
    G = G / np.where(norms > 0, norms, 1.0)
    scaled = scaled - np.linalg.pinv(G, rcond=1e-10) @ (G @ scaled)
    return np.array([np.linalg.solve(L.T, scaled[6 * b : 6 * b + 6]) for b, L in enumerate(roots)])


def _inputs(model, mechanism: Mechanism):
    drive = np.array([d for tie in mechanism.ties for d in tie.drive] or np.zeros((0, 3))).reshape(-1, 3)
    effort = np.array([e for tie in mechanism.ties for e in tie.effort])

    def inputs(t: float) -> Inputs:
        centre, amplitude, rate = drive.T
        return Inputs.of(
            model,
            effort=effort,
            target=centre + amplitude * np.sin(rate * t),
            target_rate=amplitude * rate * np.cos(rate * t),
            time=t,
        )

    return inputs
