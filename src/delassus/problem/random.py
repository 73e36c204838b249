"""Random problems for tests and benchmarks: solvable by construction, as hard as asked for."""

import numpy as np
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.law import Law
from delassus.problem.problem import Problem


def random_rigid(
    rng: np.random.Generator,
    *,
    bodies: int = 10,
    contacts: int = 12,
    joints: int = 0,
    limits: int = 0,
    mass_ratio: float = 1.0,
    friction: tuple[float, float] = (0.1, 1.0),
    frictionless_part: float = 0.0,
    redundant_joints: bool = False,
    compliance: float = 0.0,
    law: Law | str = Law.NCP,
) -> Problem:
    """Random rigid bodies with random joints, limits and contacts between them and the world.

    A velocity that satisfies every constraint strictly is chosen first and the bias made to fit it, so reactions exist.
    More contacts than twice the bodies make it hyperstatic; mass_ratio ≥ 1 spreads masses log-uniformly from 1 kg;
    frictionless_part: share of contacts with μ = 0; redundant_joints: repeat every joint once; compliance [1/kg].
    """
    if mass_ratio < 1.0 or bodies < 1:
        raise ProblemError(
            f"bodies={bodies}, mass_ratio={mass_ratio}: give at least one body and a ratio of at least 1"
        )
    mass = _masses(rng, bodies, mass_ratio)
    sizes = rng.choice([3, 5, 6], size=joints)
    kinds = np.concatenate([sizes, np.ones(limits, np.int64), np.full(contacts, 3)]).astype(np.int64)
    pair = _pairs(rng, bodies, len(kinds))
    rows = np.concatenate([_block(rng, size, pair[k]) for k, size in enumerate(kinds)] or [np.zeros((0, 12))])
    if redundant_joints and joints:
        again = int(sizes.sum())
        rows = np.concatenate([rows[:again], rows])
        pair = np.concatenate([pair[:joints], pair])
        sizes = np.concatenate([sizes, sizes])
    mu = rng.uniform(*friction, size=contacts)
    mu[rng.random(contacts) < frictionless_part] = 0.0
    cone = ProductCone(sizes, limits, mu)
    bias = _feasible_bias(rng, cone, pair, rows, bodies)
    u_f = rng.normal(size=6 * bodies)
    soft = np.full(cone.row_count, compliance) if compliance else None
    return Problem.rigid(mass, pair, rows, cone=cone, u_f=u_f, b=bias, compliance=soft, law=law)


def random_flexible(
    rng: np.random.Generator,
    *,
    nodes: int = 110,
    bodies: int = 2,
    contacts: int = 24,
    joints: int = 2,
    limits: int = 2,
    stiffness: float = 30.0,
    friction: tuple[float, float] = (0.1, 1.0),
    compliance: float = 0.0,
    law: Law | str = Law.NCP,
) -> Problem:
    """Point masses of about a kilogram on springs, in one piece, and rigid bodies that hang on them; contacts and
    limits of nodes with the world, a body or three other nodes, and welds to a body or the world. H is sparse.

    stiffness: of springs, times the square of a step [kg]; solvable as `random_rigid` is; compliance [1/kg]."""
    velocities = 6 * bodies + 3 * nodes
    H = sp.lil_array((velocities, velocities))
    for k, block in enumerate(_masses(rng, max(bodies, 1), 3.0)[:bodies]):
        H[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
    for i in range(6 * bodies, velocities, 3):
        H[i : i + 3, i : i + 3] = rng.uniform(0.5, 2.0) * np.eye(3)
    at = 6 * bodies + 3 * np.arange(nodes)
    ends = [(at[i], at[max(0, i - back)]) for i in range(1, nodes) for back in (1, 3, 9)]
    ends += [(6 * k, node) for k in range(bodies) for node in rng.choice(at, 2)]
    for a, b in ends:
        along = rng.normal(size=3)
        spring = stiffness * (0.3 * np.eye(3) + np.outer(along, along) / 3.0)
        for i, j, sign in ((a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)):
            H[i : i + 3, j : j + 3] += sign * spring
    cone = ProductCone(np.full(joints, 3), limits, rng.uniform(*friction, size=contacts))
    J = sp.lil_array((cone.row_count, velocities))
    for k, (first, last) in enumerate(zip(cone.block_start[:-1], cone.block_start[1:])):
        frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        own, *others = rng.choice(at, 4, replace=False)
        J[first:last, own : own + 3] = frame[: last - first]
        against = rng.integers(3)  # the world, a rigid body, or a face, which nodes are not welded to
        if against == 1 and bodies:
            body = 6 * rng.integers(bodies)
            J[first:last, body : body + 3] = -frame[: last - first]
            J[first:last, body + 3 : body + 6] = -np.cross(0.5 * rng.normal(size=3), frame[: last - first])
        elif against == 2 and k >= joints:
            for weight, node in zip(rng.dirichlet(np.ones(3)), others):
                J[first:last, node : node + 3] = -weight * frame[: last - first]
    J = J.tocsr()
    bias = _inside(rng, cone) - J @ rng.normal(size=velocities)
    soft = np.full(cone.row_count, compliance) if compliance else None
    u_f = rng.normal(size=velocities)
    return Problem.primal(H.tocsr(), J, cone=cone, u_f=u_f, b=bias, compliance=soft, law=law)


def random_dual(
    rng: np.random.Generator,
    *,
    contacts: int = 10,
    rank: int | None = None,
    friction: tuple[float, float] = (0.1, 1.0),
    law: Law | str = Law.NCP,
) -> Problem:
    """A dense positive semi-definite D of the given rank (default: full) with a solvable v_f."""
    m = 3 * contacts
    rank = m if rank is None else rank
    J = rng.normal(size=(m, rank)) / np.sqrt(rank)
    mu = rng.uniform(*friction, size=contacts)
    inside = ProductCone(mu=mu).project_dual(rng.normal(size=m))
    inside[::3] += 0.1
    v_f = J @ rng.normal(size=rank) + inside
    return Problem.dual(J @ J.T, v_f, mu=mu, law=law)


def random_block(rng: np.random.Generator, *, condition: float = 10.0) -> np.ndarray:
    """A symmetric positive definite 3×3 block with that ratio of largest to smallest eigenvalue, randomly oriented."""
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    values = np.exp(np.log(condition) * np.array([0.0, rng.random(), 1.0]))
    block = basis @ np.diag(values / values.mean()) @ basis.T
    return 0.5 * (block + block.T)


def _masses(rng: np.random.Generator, bodies: int, ratio: float) -> np.ndarray:
    """Blocks diag(m I, Θ) with masses spread over the ratio (both ends present) and inertias of bodies about 1 m."""
    spread = rng.random(bodies)
    spread[0] = 0.0
    spread[-1] = 1.0 if bodies > 1 else 0.0
    mass = np.exp(np.log(ratio) * spread)
    blocks = np.zeros((bodies, 6, 6))
    for k in range(bodies):
        blocks[k, :3, :3] = mass[k] * np.eye(3)
        blocks[k, 3:, 3:] = 0.1 * mass[k] * random_block(rng, condition=3.0)
    return blocks


def _pairs(rng: np.random.Generator, bodies: int, count: int) -> np.ndarray:
    """Two different bodies each, or the world and a body."""
    first = rng.integers(-1, bodies, size=count)
    second = rng.integers(0, bodies, size=count)
    first[first == second] = -1
    return np.stack([first, second], axis=1).astype(np.int64)


def _block(rng: np.random.Generator, size: int, pair: np.ndarray) -> np.ndarray:
    """Rows of a contact (3), limit (1) or joint (3, 5, 6) at a random point with a random frame."""
    frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rows = np.zeros((size, 12))
    for side, sign in ((0, -1.0), (1, 1.0)):
        if pair[side] < 0:
            continue
        arm = 0.5 * rng.normal(size=3)
        point = min(size, 3)
        rows[:point, 6 * side : 6 * side + 3] = sign * frame[:point]
        rows[:point, 6 * side + 3 : 6 * side + 6] = sign * np.cross(arm, frame[:point])
        rows[point:, 6 * side + 3 : 6 * side + 6] = sign * frame[: size - point]
    return rows


def _feasible_bias(
    rng: np.random.Generator, cone: ProductCone, pair: np.ndarray, rows: np.ndarray, bodies: int
) -> np.ndarray:
    """b such that some velocity u gives v = J u + b strictly inside K* (and zero on bilateral rows)."""
    u = rng.normal(size=(bodies + 1, 6))
    u[-1] = 0.0  # the world, index −1
    row_pair = np.repeat(pair, np.diff(cone.block_start), axis=0)
    moving = np.einsum("ij,ij->i", rows[:, :6], u[row_pair[:, 0]]) + np.einsum(
        "ij,ij->i", rows[:, 6:], u[row_pair[:, 1]]
    )
    return _inside(rng, cone) - moving


def _inside(rng: np.random.Generator, cone: ProductCone) -> np.ndarray:
    """Velocities strictly inside K*, (m,), zero on bilateral rows."""
    wanted = cone.project_dual(rng.normal(size=cone.row_count))
    wanted[cone.bilateral_rows : cone.contact_start] += 0.1
    wanted[cone.contact_start :: 3] += 0.1
    return wanted
