"""Problems of rigid bodies of which it is known, by construction, whether a motion exists that obeys all constraints.

`possible(seed)` and `impossible(seed)` give (name, problem). Possible ones hold an admissible motion of ordinary speed;
impossible ones hold a direction d in the cone with Jᵀ d = 0 up to the rounding of the rows, and d·v_f < 0.
"""

import numpy as np

from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid

WORLD = -1
GRAVITY = 9.81  # m/s²


class Parts:
    """A problem in the making: blocks of rows are added in any order.  base: a problem of rigid bodies to begin with,
    or mass: (n_b, 6, 6) and u_f: (6 n_b,)."""

    def __init__(self, base: Problem | None = None, mass=None, u_f=None):
        self.blocks: list[list[tuple]] = [[], [], []]  # joints, limits, contacts: (pair, rows, bias, μ, compliance)
        if base is None:
            self.mass, self.u_f = np.asarray(mass), np.asarray(u_f)
            return
        d, cone = base.delassus, base.cone
        self.mass, self.u_f = d.mass, base.u_f
        for k in range(cone.block_count):
            rows = slice(cone.block_start[k], cone.block_start[k + 1])
            first = k - cone.bilateral.size
            kind = 0 if first < 0 else 1 if first < cone.unilateral else 2
            mu = cone.mu[first - cone.unilateral] if kind == 2 else 0.0
            self.blocks[kind].append((d.bodies[k], d.rows[rows], base.bias[rows], mu, 0.0))

    def joint(self, pair, rows, bias, compliance=0.0):
        self._add(0, pair, rows, bias, 0.0, compliance)

    def limit(self, pair, row, bias):
        self._add(1, pair, row, [bias], 0.0, 0.0)

    def contact(self, pair, rows, bias=0.0, mu=0.0, compliance=0.0):
        self._add(2, pair, rows, [bias, 0.0, 0.0], mu, compliance)

    def _add(self, kind, pair, rows, bias, mu, compliance):
        self.blocks[kind].append((np.asarray(pair), np.atleast_2d(rows), np.asarray(bias, float), mu, compliance))

    def problem(self, law=Law.CCP) -> Problem:
        joints, limits, contacts = self.blocks
        cone = ProductCone([len(block[1]) for block in joints], len(limits), [block[3] for block in contacts])
        every = joints + limits + contacts
        soft = np.concatenate([np.full(len(block[1]), block[4]) for block in every])
        pairs, rows, bias = (list(column) for column in list(zip(*every))[:3])
        return Problem.rigid(
            self.mass,
            np.array(pairs),
            np.concatenate(rows),
            cone=cone,
            u_f=self.u_f,
            b=np.concatenate(bias),
            compliance=soft if soft.any() else None,
            law=law,
        )


def frame_of(normal) -> np.ndarray:
    """Rows (n, t₁, t₂), orthonormal."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


def point_rows(frame, pair, arms) -> np.ndarray:
    """(3, 12) velocity of the second body's point relative to the first's, in the frame; arms: from each centre."""
    rows = np.zeros((3, 12))
    for side, sign in ((0, -1.0), (1, 1.0)):
        if pair[side] != WORLD:
            rows[:, 6 * side : 6 * side + 3] = sign * frame
            rows[:, 6 * side + 3 : 6 * side + 6] = sign * np.cross(arms[side], frame)
    return rows


def body(mass, radius) -> np.ndarray:
    """Mass block of a sphere."""
    return np.diag([mass] * 3 + [0.4 * mass * radius**2] * 3)


def stack(masses, mu, shape="sphere", law=Law.CCP, h=0.01, tilt=0.0, density=1000.0) -> Problem:
    """Bodies on top of each other on a plane, at rest before gravity acts for a step h [s]: they may all rise."""
    radius = (0.75 * np.asarray(masses, float) / (np.pi * density)) ** (1.0 / 3.0)
    free = GRAVITY * h * np.array([np.sin(tilt), 0.0, -np.cos(tilt), 0.0, 0.0, 0.0])
    parts = Parts(mass=[body(m, r) for m, r in zip(masses, radius)], u_f=np.tile(free, len(radius)))
    frame = frame_of([0.0, 0.0, 1.0])
    for k, r in enumerate(radius):
        below = radius[k - 1] if k else 0.0
        side = min(r, below) if k else r
        corners = [(0.0, 0.0)] if shape == "sphere" else [(a * side, b * side) for a in (-1, 1) for b in (-1, 1)]
        for x, y in corners:
            pair = (k - 1, k)
            parts.contact(pair, point_rows(frame, pair, ([x, y, below], [x, y, -r])), mu=mu)
    return parts.problem(law)


# -- possible --------------------------------------------------------------------------------------------------------


def possible(seed: int) -> tuple[str, Problem]:
    rng = np.random.default_rng(seed)
    kind = list(POSSIBLE)[seed % len(POSSIBLE)]
    law = Law.CCP if rng.random() < 0.7 else Law.FRICTIONLESS
    return f"{kind} {seed}", POSSIBLE[kind](rng, law)


def _stack(shape):
    def build(rng, law):
        n = int(rng.integers(2, 16))
        ratio = 10.0 ** rng.uniform(0.0, min(4.0, 18.0 / n))
        if rng.random() < 0.3:
            n, ratio = 2, 10.0 ** rng.uniform(4.0, 12.0)
        masses = 10.0 * ratio ** np.arange(n)
        mu, tilt = rng.choice([0.0, 0.1, 0.3, 0.8]), rng.choice([0.0, 0.0, 0.2])
        return stack(masses, mu, shape, law, rng.choice([0.01, 0.05]), tilt, 10.0 ** rng.uniform(-3.0, 6.0))

    return build


def _ratio(rng) -> float:
    return 10.0 ** rng.uniform(0.0, 12.0)


def _mechanism(rng, law):
    return random_rigid(
        rng,
        bodies=int(rng.integers(2, 12)),
        contacts=int(rng.integers(5, 20)),
        joints=int(rng.integers(0, 4)),
        limits=int(rng.integers(0, 4)),
        mass_ratio=_ratio(rng),
        law=law,
    )


def _hyperstatic(rng, law):
    return random_rigid(
        rng, bodies=int(rng.integers(1, 6)), contacts=int(rng.integers(20, 60)), mass_ratio=_ratio(rng), law=law
    )


def _redundant(rng, law):
    return random_rigid(
        rng,
        bodies=int(rng.integers(3, 12)),
        contacts=int(rng.integers(5, 40)),
        joints=int(rng.integers(1, 5)),
        redundant_joints=True,
        limits=2,
        mass_ratio=_ratio(rng),
        law=law,
    )


def _wedge(rng, law):
    """A sphere between two walls that close in and are nearly parallel: it escapes at up to 10⁴ times their speed."""
    angle = 10.0 ** rng.uniform(-4.0, 0.0)
    base = random_rigid(rng, bodies=int(rng.integers(1, 6)), contacts=8, mass_ratio=_ratio(rng), law=law)
    first = len(base.delassus.mass)
    mass = np.concatenate([base.delassus.mass, body(10.0 ** rng.uniform(-6.0, 6.0), 0.1)[None]])
    parts = Parts(base)
    parts.mass, parts.u_f = mass, np.concatenate([base.u_f, 0.1 * rng.normal(size=6)])
    for sign in (-1.0, 1.0):
        normal = [sign * np.cos(angle), np.sin(angle), 0.0]
        pair = (WORLD, first)
        parts.contact(pair, point_rows(frame_of(normal), pair, (None, [-sign * 0.1, 0.0, 0.0])), -1.0, mu=0.0)
    return parts.problem(law)


def _soft_contradiction(rng, law):
    """Joints that contradict each other, but may yield."""
    base = random_rigid(rng, bodies=int(rng.integers(2, 8)), contacts=8, mass_ratio=_ratio(rng), law=law)
    parts = Parts(base)
    pair, rows = _weld(rng, len(base.delassus.mass))
    soft = 10.0 ** rng.uniform(-9.0, 0.0) / base.delassus.mass[pair[1], 0, 0]
    for want in rng.normal(size=(2, 6)):
        parts.joint(pair, rows, want, soft)
    return parts.problem(law)


POSSIBLE = {
    "spheres": _stack("sphere"),
    "boxes": _stack("box"),
    "mechanism": _mechanism,
    "hyperstatic": _hyperstatic,
    "redundant joints": _redundant,
    "wedge": _wedge,
    "soft contradiction": _soft_contradiction,
}


# -- impossible ------------------------------------------------------------------------------------------------------


def impossible(seed: int) -> tuple[str, Problem]:
    """A random possible problem, and a few rows more that no motion obeys: by 1e-3 to 1 of ordinary velocities."""
    rng = np.random.default_rng([seed, 1])
    kind = list(IMPOSSIBLE)[seed % len(IMPOSSIBLE)]
    law = Law.CCP if rng.random() < 0.7 else Law.FRICTIONLESS
    ratio = _ratio(rng) if rng.random() < 0.7 else 1.0
    base = random_rigid(
        rng, bodies=int(rng.integers(3, 10)), contacts=int(rng.integers(5, 25)), limits=2, mass_ratio=ratio, law=law
    )
    parts = Parts(base)
    IMPOSSIBLE[kind](rng, parts, 10.0 ** rng.uniform(-3.0, 0.0))
    return f"{kind} {seed}", parts.problem(law)


def _weld(rng, bodies: int, size: int = 6):
    """(pair, rows) of a joint between a random body and another or the world."""
    second = int(rng.integers(bodies))
    first = int(rng.integers(-1, bodies))
    pair = (WORLD if first == second else first, second)
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rows = np.zeros((6, 12))
    rows[:3] = point_rows(frame, pair, 0.5 * rng.normal(size=(2, 3)))
    for side, sign in ((0, -1.0), (1, 1.0)):
        if pair[side] != WORLD:
            rows[3:, 6 * side + 3 : 6 * side + 6] = sign * frame
    return pair, rows[:size]


def _joints_twice(rng, parts, gap):
    """The same joint twice, asked for different velocities."""
    pair, rows = _weld(rng, len(parts.mass), int(rng.choice([3, 5, 6])))
    want = rng.normal(size=len(rows))
    parts.joint(pair, rows, want)
    parts.joint(pair, rows, want + gap * rng.normal(size=len(rows)))


def _loop_of_welds(rng, parts, gap):
    """Three bodies welded in a ring at one point, whose relative velocities do not add up to zero."""
    ring = rng.permutation(len(parts.mass))[:3]
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    arms = rng.normal(size=(3, 3))
    for k in range(3):
        pair = (ring[k], ring[(k + 1) % 3])
        parts.joint(pair, point_rows(frame, pair, (arms[k], arms[(k + 1) % 3])), gap * np.array([1.0, 0.0, 0.0]))


def _chain(rng, parts, gap, bodies):
    """Bodies in a row between two walls that close in at `gap`."""
    chain = [WORLD, *rng.permutation(len(parts.mass))[:bodies], WORLD]
    frame = frame_of(rng.normal(size=3))
    for k in range(len(chain) - 1):
        arms = 0.3 * rng.normal(size=(2, 1)) * frame[0]
        closing = -0.5 * gap if k in (0, len(chain) - 2) else 0.0
        pair = (chain[k], chain[k + 1])
        parts.contact(pair, point_rows(frame, pair, arms), closing, rng.choice([0.0, 0.3, 0.8]))


def _squeezed(rng, parts, gap):
    _chain(rng, parts, gap, 1)


def _squeezed_chain(rng, parts, gap):
    _chain(rng, parts, gap, int(rng.integers(2, 1 + min(5, len(parts.mass)))))


def _limits(rng, parts, gap):
    """Two limits that leave no velocity between them."""
    pair, row = (WORLD, int(rng.integers(len(parts.mass)))), np.zeros(12)
    row[6:] = rng.normal(size=6)
    middle, factor = rng.normal(), rng.uniform(0.5, 2.0)
    parts.limit(pair, row, middle)
    parts.limit(pair, -factor * row, -factor * middle - gap)


def _motors(rng, parts, gap):
    """Motors drive two bodies along one line, each at its own velocity, into each other."""
    a, b = rng.permutation(len(parts.mass))[:2]
    frame = frame_of(rng.normal(size=3))
    speed = rng.normal()
    for which, asked in ((a, speed), (b, speed - gap)):
        pair = (WORLD, which)
        parts.joint(pair, point_rows(frame, pair, (None, np.zeros(3)))[:1], [-asked])
    arms = rng.normal(size=(2, 1)) * frame[0]
    parts.contact((a, b), point_rows(frame, (a, b), arms), 0.0, rng.choice([0.0, 0.5]))


def _into_the_wall(rng, parts, gap):
    """A body welded to a moving base that drives it into a wall."""
    which = int(rng.integers(len(parts.mass)))
    pair = (WORLD, which)
    frame = frame_of(rng.normal(size=3))
    arm = rng.normal(size=3)
    rows = np.zeros((6, 12))
    rows[:, 6:] = np.eye(6)
    motion = rng.normal(size=6)
    contact = point_rows(frame, pair, (None, arm))
    motion[:3] -= (contact[0, 6:] @ motion + gap) * frame[0]  # the point moves into the wall at `gap`
    parts.joint(pair, rows, -motion)
    parts.contact(pair, contact, 0.0, 0.3)


def _balanced(rng, parts, gap):
    """Reactions of some contacts of the problem, balanced by one limit per body that they push."""
    force = np.zeros((len(parts.mass), 6))
    asked = total = 0.0
    for k in rng.permutation(len(parts.blocks[2]))[: int(rng.integers(1, 6))]:
        pair, rows, bias, _, _ = parts.blocks[2][k]
        push = rng.uniform(0.3, 1.0)
        asked += push * bias[0]
        for side in range(2):
            if pair[side] != WORLD:
                force[pair[side]] += push * rows[0, 6 * side : 6 * side + 6]
    touched = np.flatnonzero(np.abs(force).sum(axis=1))
    sizes = np.linalg.norm(force[touched], axis=1)
    total = sizes.sum()
    bias = rng.normal(size=len(touched))
    bias -= (asked + sizes @ bias) / total + gap  # Σ d·v = −gap Σ sizes, whatever the motion
    for which, size, b in zip(touched, sizes, bias):
        row = np.zeros(12)
        row[6:] = -force[which] / size
        parts.limit((WORLD, which), row, b)


IMPOSSIBLE = {
    "joints twice": _joints_twice,
    "ring of joints": _loop_of_welds,
    "squeezed": _squeezed,
    "squeezed chain": _squeezed_chain,
    "limits": _limits,
    "motors": _motors,
    "into the wall": _into_the_wall,
    "balanced": _balanced,
}
