"""Heaps of spheres in a box, as large as memory allows, settled step by step.

Not a scene: a builder with a name per body takes longer than the physics at a quarter of a million bodies. Spheres of
5 mm ± 15 % start on a close lattice that has room for the largest, jittered, fall and settle under exact friction, by
implicit Euler with the whole gap in the rows of open contacts and a fifth of the depth in those of closed ones. Larger
ones are put together from copies, mirrored by turns, in two storeys, and settle again: many layers that fall freely
land deep in themselves. States are kept in the system's temporary folder.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from delassus.collision import Contacts, Instance, detect, shape_arrays
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.shapes import Plane, Sphere
from delassus.solvers import solve

RADIUS, SPREAD = 5e-3, 0.15  # [m], and how far radii differ as a fraction
MU = 0.5
STEP = 4e-3  # [s]
_GRAVITY = 9.81  # [m/s²]
_DENSITY = 2500.0  # [kg/m³]
_ROOM = 1.01  # distance of lattice points over the largest diameter
_COPIES = {
    16_000: (8000, (2, 1, 1), 20),
    32_000: (8000, (2, 2, 1), 20),
    64_000: (8000, (2, 2, 2), 60),
    256_000: (64_000, (2, 2, 1), 10),
}
"""Spheres: (of the heap that is copied, how often in each direction, steps to settle)."""
_STEPS, _FALLING = 60, 0.6  # steps to settle from the lattice, and after which part of them little moves
_WIDE, _NARROW = 3e-4, 1e-4  # margin of each sphere [m]: what it may approach in a step as it falls, and at rest
_MEND, _MEND_SPEED = 0.2, 0.02  # part of the depth that a step takes back, and how fast at most [m/s]


class Heap:
    """Spheres in a box at one moment.  radius: (n,) and position: (n, 3) [m]; box: (2,) its edges [m]."""

    def __init__(self, radius: np.ndarray, position: np.ndarray, box: np.ndarray):
        self.radius, self.position, self.box = radius, position, box
        self.velocity = np.zeros((len(radius), 6))
        self.known = np.zeros(0, np.uint64), np.zeros((0, 3))  # names of contacts, and their impulses in the world
        weight = _DENSITY * 4 / 3 * np.pi * radius**3
        self.mass = np.zeros((len(radius), 6, 6))
        self.mass[:, [0, 1, 2], [0, 1, 2]] = weight[:, None]
        self.mass[:, [3, 4, 5], [3, 4, 5]] = (0.4 * weight * radius**2)[:, None]
        sides = [Plane((1.0, 0, 0)), Plane((-1.0, 0, 0), -box[0]), Plane((0, 1.0, 0)), Plane((0, -1.0, 0), -box[1])]
        walls = [Instance(wall) for wall in (Plane(), *sides)]
        self.arrays = {
            margin: shape_arrays(walls + [Instance(Sphere(r), body=i, margin=margin) for i, r in enumerate(radius)])
            for margin in (_WIDE, _NARROW)
        }

    def pose(self, law: Law | str, margin: float = _NARROW) -> tuple[Problem, Contacts, np.ndarray]:
        """The problem of the next step, its contacts, and the reactions remembered from the last."""
        contacts = detect(self.arrays[margin], self.position, np.tile([1.0, 0, 0, 0], (len(self.radius), 1)))
        u_f = self.velocity.copy()
        u_f[:, 2] -= STEP * _GRAVITY
        bias = np.zeros((len(contacts), 3))
        mended = np.maximum(_MEND * contacts.gap, -_MEND_SPEED * STEP)
        bias[:, 0] = np.where(contacts.gap > 0.0, contacts.gap, mended) / STEP
        problem = Problem.rigid(
            self.mass,
            contacts.bodies,
            contact_rows(contacts, self.position),
            u_f=u_f.ravel(),
            b=bias.ravel(),
            cone=ProductCone(mu=np.full(len(contacts), MU)),
            law=law,
        )
        names, impulses = self.known
        guess = np.zeros((len(contacts), 3))
        if len(names):
            at = np.minimum(np.searchsorted(names, contacts.feature), len(names) - 1)
            old = names[at] == contacts.feature
            guess[old] = np.einsum("kij,kj->ki", contacts.frame[old], impulses[at[old]])
        return problem, contacts, guess.ravel()

    def move(self, problem: Problem, contacts: Contacts, reactions: np.ndarray) -> None:
        """Go on with the velocities that these reactions give, and remember them."""
        self.velocity = problem.body_velocity(reactions).reshape(-1, 6)
        self.position = self.position + STEP * self.velocity[:, :3]
        order = np.argsort(contacts.feature)
        impulses = np.einsum("kij,ki->kj", contacts.frame, reactions.reshape(-1, 3))
        self.known = contacts.feature[order], impulses[order]

    def settle(self, steps: int) -> None:
        """Let the spheres come to rest."""
        start = time.perf_counter()
        for k in range(steps):
            problem, contacts, guess = self.pose(Law.NCP, _WIDE if k < _FALLING * steps else _NARROW)
            solution = solve(problem, "ags", guess, tol=1e-3, tol_velocity=None, max_iter=80, trace=False)
            self.move(problem, contacts, solution.reactions)
            if k % 10 == 9:
                speed = np.sqrt((self.velocity[:, :3] ** 2).sum(axis=1).mean())
                print(
                    f"  settling {len(self.radius)}: step {k + 1}, {len(contacts)} contacts, rms {1e3 * speed:.1f} "
                    f"mm/s, deepest {-1e3 * contacts.gap.min():.2f} mm, {time.perf_counter() - start:.0f} s",
                    flush=True,
                )


def contact_rows(contacts: Contacts, centre: np.ndarray) -> np.ndarray:
    """J by rows, (3 n_c, 12): B's velocity at the contact minus A's, in the contact's frame.  centre: (n_b, 3) [m]."""
    rows = np.zeros((len(contacts), 3, 12))
    for side, sign in ((0, -1.0), (1, 1.0)):
        moving = contacts.bodies[:, side] >= 0
        arm = contacts.point[moving] - centre[contacts.bodies[moving, side]]
        rows[moving, :, 6 * side : 6 * side + 3] = sign * contacts.frame[moving]
        rows[moving, :, 6 * side + 3 : 6 * side + 6] = sign * np.cross(arm[:, None, :], contacts.frame[moving])
    return rows.reshape(-1, 12)


def settled(count: int) -> Heap:
    """A heap at rest, of up to some ten thousand spheres or a number of `_COPIES`."""
    path = Path(tempfile.gettempdir()) / "delassus-heaps" / f"spheres-{count}.npz"
    if not path.exists():
        if count in _COPIES:
            one, copies, steps = _COPIES[count]
            heap = _copied(settled(one), copies)
        else:
            heap, steps = _lattice(count), _STEPS
        heap.settle(steps)
        names, impulses = heap.known
        path.parent.mkdir(exist_ok=True)
        np.savez(
            path,
            radius=heap.radius,
            position=heap.position,
            box=heap.box,
            velocity=heap.velocity,
            names=names,
            impulses=impulses,
        )
    with np.load(path, allow_pickle=False) as kept:
        heap = Heap(kept["radius"], kept["position"], kept["box"])
        heap.velocity, heap.known = kept["velocity"], (kept["names"], kept["impulses"])
    return heap


def _lattice(count: int) -> Heap:
    rng = np.random.default_rng(0)
    radius = RADIUS * (1 + SPREAD * rng.uniform(-1, 1, count))
    room = RADIUS * (1 + SPREAD) * _ROOM
    cube = 2 * np.sqrt(2) * room  # edge, with four lattice points
    side = round((count / 4) ** (1 / 3))
    layers = -(-count // (4 * side**2))
    corner = np.stack(np.meshgrid(*(np.arange(n) for n in (layers, side, side)), indexing="ij"), axis=-1)[..., ::-1]
    points = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    sites = (corner.reshape(-1, 1, 3) + points).reshape(-1, 3)
    sites = sites[np.argsort(sites[:, 2], kind="stable")][:count]
    jitter = 0.5 * (room - radius)[:, None] * rng.uniform(-1, 1, (count, 3))
    return Heap(radius, cube * sites + room + jitter, np.full(2, cube * (side - 0.5) + 2 * room))


def _copied(one: Heap, copies: tuple[int, int, int]) -> Heap:
    """Copies side by side and one above the other, those with odd numbers mirrored."""
    height = (one.position[:, 2] + one.radius).max()
    position = []
    for k, j, i in np.ndindex(copies[::-1]):
        place = one.position.copy()
        if (i + k) % 2:
            place[:, 0] = one.box[0] - place[:, 0]
        if (j + k) % 2:
            place[:, 1] = one.box[1] - place[:, 1]
        position.append(place + [i * one.box[0], j * one.box[1], k * height])
    return Heap(np.tile(one.radius, len(position)), np.concatenate(position), one.box * copies[:2])
