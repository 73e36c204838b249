"""The two piles of paper 004 §5.1, made by our own code: 2 048 and 5 040 spheres that do not rotate.

A loose block of spheres falls into a pit with sloping walls, stepped by 004's scheme: implicit Euler at h = 0.01 s,
every pair closer than `REACH` is a potential contact, gap / h in the normal row (004 eq. 10). (On a plane, spheres
that fall freely slide apart into a single layer, and those let down slowly stand in columns. Between upright walls no
motion keeps all sliding contacts open, v_n > μ |v_t|, so that the convex law has no interior.) What is kept is the
problem of one step of the pile at rest, under the convex law. Piles are stored in a folder, since making them takes a
minute.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

STEP = 0.01  # [s], 004 §5.1
FRICTION = 0.4  # 004 §5.1
RADII = (0.008, 0.016)  # [m], 004 §5.1
DENSITY = 2600.0  # [kg/m³], quartz; 004 does not say
GRAVITY = 9.81
REACH = 7.5e-3  # [m], largest gap of a potential contact; gives the 4.1 contacts a sphere that 004 has
NEAR = 2e-3  # [m], the same while the pile is being made, where fewer do
SETTLED = 100  # steps: the pile has come to rest
SWEEPS = 80  # of Gauß–Seidel per step, at most: cheap, and enough for a pile

CELL = 2.05 * RADII[1]  # [m]
SIDES = {512: 7, 2048: 11, 5040: 15}
"""Cells along an edge of the block that falls, by the number of spheres; the floor is as wide."""

WALL = np.deg2rad(60.0)  # from the horizontal


@dataclass(frozen=True)
class Pile:
    """Spheres at one instant.  radius: (n,) [m]; position, velocity: (n, 3); width: of the floor, which begins at zero
    [m]."""

    radius: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    width: float

    @property
    def mass(self) -> np.ndarray:
        return DENSITY * 4.0 / 3.0 * np.pi * self.radius**3


@dataclass(frozen=True)
class PotentialContacts:
    """Pairs that may touch within a step.  bodies: (n_c, 2), −1 the pit; normal: (n_c, 3) from the first to the
    second; gap: (n_c,) [m]; radii: (n_c,) sum of the radii, as 004 eq. 33 asks [m]."""

    bodies: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    radii: np.ndarray


def loose_block(count: int, seed: int) -> Pile:
    """Spheres of random radii, each in a cell of its own, above the floor."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(*RADII, count)
    side, k = SIDES[count], np.arange(count)
    grid = np.stack([k % side, k // side % side, k // side**2], axis=1)
    # as far off the centre of its cell as each sphere may be: columns of spheres would stand
    position = CELL * (grid + 0.5) + (0.5 * CELL - radius)[:, None] * rng.uniform(-1.0, 1.0, (count, 3))
    return Pile(radius, position, np.zeros((count, 3)), CELL * side)


def potential_contacts(pile: Pile, reach: float = REACH) -> PotentialContacts:
    """Sphere against sphere, then floor and walls against sphere."""
    pairs = cKDTree(pile.position).query_pairs(2.0 * RADII[1] + reach, output_type="ndarray")
    between = pile.position[pairs[:, 1]] - pile.position[pairs[:, 0]]
    distance = np.linalg.norm(between, axis=1)
    radii = pile.radius[pairs].sum(axis=1)
    near = distance - radii < reach
    pairs, between, distance, radii = pairs[near], between[near], distance[near], radii[near]
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))  # the tree's order is its own affair
    pairs, between, distance, radii = pairs[order], between[order], distance[order], radii[order]
    bodies, normals, gaps, sums = [pairs], [between / distance[:, None]], [distance - radii], [radii]
    for normal, offset in pit(pile.width):
        height = pile.position @ normal - offset - pile.radius
        low = np.flatnonzero(height < reach)
        bodies.append(np.column_stack([np.full(len(low), -1), low]))
        normals.append(np.tile(normal, (len(low), 1)))
        gaps.append(height[low])
        sums.append(2.0 * pile.radius[low])
    return PotentialContacts(
        np.concatenate(bodies).astype(np.int64), np.concatenate(normals), np.concatenate(gaps), np.concatenate(sums)
    )


def pit(width: float) -> list[tuple[np.ndarray, float]]:
    """Floor and four walls, as inward normals and the offsets of the planes along them."""
    x, y, z = np.eye(3)
    walls = [(z, 0.0)]
    for inward, edge in ((x, 0.0), (-x, -width), (y, 0.0), (-y, -width)):
        walls.append((np.sin(WALL) * inward + np.cos(WALL) * z, np.sin(WALL) * edge))
    return walls


def step_problem(pile: Pile, contacts: PotentialContacts):
    """The CCP of one step (004 eq. 12): rows act on linear velocities only."""
    from delassus.cones import ProductCone
    from delassus.problem import Problem

    count = len(contacts.gap)
    n = contacts.normal
    other = np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    t1 = np.cross(n, other)
    t1 /= np.linalg.norm(t1, axis=1)[:, None]
    frame = np.stack([n, t1, np.cross(n, t1)], axis=1)
    rows = np.zeros((count, 3, 12))
    rows[:, :, 6:9] = frame
    inside = contacts.bodies[:, 0] >= 0
    rows[inside, :, 0:3] = -frame[inside]
    mass = np.zeros((len(pile.mass), 6, 6))
    diagonal = np.concatenate([np.repeat(pile.mass[:, None], 3, axis=1),
                               np.repeat((0.4 * pile.mass * pile.radius**2)[:, None], 3, axis=1)], axis=1)  # fmt: skip
    mass[:, np.arange(6), np.arange(6)] = diagonal
    u_f = np.zeros((len(pile.mass), 6))
    u_f[:, :3] = pile.velocity - [0.0, 0.0, GRAVITY * STEP]
    bias = np.zeros((count, 3))
    bias[:, 0] = contacts.gap / STEP
    cone = ProductCone(mu=np.full(count, FRICTION))
    return Problem.rigid(mass, contacts.bodies, rows.reshape(-1, 12), cone=cone, u_f=u_f.ravel(), b=bias.ravel(),
                         law="ccp")  # fmt: skip


def settle(count: int, seed: int = 1) -> Pile:
    """The block after `SETTLED` steps."""
    from delassus import solve

    pile = loose_block(count, seed)
    for _ in range(SETTLED):
        contacts = potential_contacts(pile, NEAR)
        problem = step_problem(pile, contacts).with_law("ncp")
        solution = solve(problem, "nbgs", tol=1e-3, max_iter=SWEEPS, trace=False)
        velocity = solution.body_velocities.reshape(-1, 6)[:, :3]
        pile = Pile(pile.radius, pile.position + STEP * velocity, velocity, pile.width)
    return pile


def pile_of(count: int, folder: Path | None = None):
    """(problem, sum of radii per contact) of the settled pile, from the folder where it has been made before."""
    folder = folder or Path(tempfile.gettempdir()) / "delassus-paper-004"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"pile-{count}-{SETTLED}.npz"
    if not path.exists():
        pile = settle(count)
        np.savez(path, radius=pile.radius, position=pile.position, velocity=pile.velocity, width=pile.width)
    with np.load(path) as data:
        pile = Pile(data["radius"], data["position"], data["velocity"], float(data["width"]))
    contacts = potential_contacts(pile)
    return step_problem(pile, contacts), contacts.radii
