"""Random problems of every kind, and whether they have a solution: known by construction."""

import numpy as np
from plain_judge import rigid_rows

from delassus.cones import ProductCone
from delassus.problem import Problem
from delassus.problem.random import random_block, random_dual, random_rigid

RARE = ("large", "large-dual", "large-flexible")  # cost a hundred times as much
INFEASIBLE = ("closing-walls", "contradicting-joints", "approaching-zero-rows")


def make(kind: str, rng: np.random.Generator) -> Problem:
    """A problem of that kind under the exact law; `with_law` gives the others. Those named in INFEASIBLE have no
    solution under any law, all others have one under every law."""
    return KINDS[kind](rng)


def _sizes(rng, most_bodies=7, most_contacts=10):
    return {"bodies": int(rng.integers(1, most_bodies)), "contacts": int(rng.integers(1, most_contacts))}


def _well_posed(rng):
    return random_rigid(rng, **_sizes(rng), frictionless_part=rng.choice([0.0, 0.5]))


def _joints(rng):
    return random_rigid(rng, **_sizes(rng), joints=int(rng.integers(1, 4)), limits=int(rng.integers(0, 4)))


def _redundant(rng):
    return random_rigid(
        rng, **_sizes(rng), joints=int(rng.integers(1, 4)), limits=int(rng.integers(0, 3)), redundant_joints=True
    )


def _compliant(rng):
    soft = 10.0 ** rng.uniform(-6, 1)
    return random_rigid(rng, **_sizes(rng), joints=int(rng.integers(0, 3)), compliance=soft)


def _limits_only(rng):
    return random_rigid(rng, bodies=int(rng.integers(1, 6)), contacts=0, limits=int(rng.integers(1, 9)))


def _joints_only(rng):
    joints = int(rng.integers(1, 5))
    return random_rigid(
        rng, bodies=int(rng.integers(1, 7)), contacts=0, joints=joints, redundant_joints=bool(rng.integers(2))
    )


def _hyperstatic(rng):
    return random_rigid(rng, bodies=int(rng.integers(1, 4)), contacts=int(rng.integers(8, 16)))


def _odd_masses(rng):
    ratio = 10.0 ** rng.uniform(1, 12)
    return random_rigid(rng, **_sizes(rng), joints=int(rng.integers(0, 2)), mass_ratio=ratio)


def _stack(rng):
    """Spheres upon each other, each heavier or lighter than the one below by one ratio, falling for one time step."""
    count, ratio = int(rng.integers(2, 8)), 10.0 ** rng.uniform(-2, 4)
    ratio = min(ratio, 10.0 ** (12.0 / (count - 1)))
    frame = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    rows = np.zeros((3 * count, 12))
    for k in range(count):
        if k:
            rows[3 * k : 3 * k + 3, :6] = np.hstack([-frame, -np.cross([0, 0, 1.0], frame)])
        rows[3 * k : 3 * k + 3, 6:] = np.hstack([frame, np.cross([0, 0, -1.0], frame)])
    mass = np.array([10.0 * ratio**k * np.diag([1, 1, 1, 0.4, 0.4, 0.4]) for k in range(count)])
    u = np.zeros((count, 6))
    u[:, 2] = -0.0981
    u[:, :2] = rng.choice([0.0, 0.1]) * rng.normal(size=(count, 2))
    cone = ProductCone(mu=np.full(count, rng.choice([0.0, 0.3, 0.8])))
    return Problem.rigid(mass, [(k - 1, k) for k in range(count)], rows, cone=cone, u_f=u.ravel())


def _rough(rng):
    """Friction from 1 to 1e9, here and there less: bodies whose contacts hardly ever slip."""
    easy = random_rigid(rng, **_sizes(rng), joints=int(rng.integers(0, 3)), limits=int(rng.integers(0, 3)))
    count, storage = easy.contact_count, easy.delassus
    mu = np.where(rng.random(count) < 0.3, easy.mu, 10.0 ** rng.uniform(0.0, 9.0, count))
    cone, J = easy.cone.with_friction(mu), rigid_rows(storage)
    b = _velocities(rng, easy.row_count, cone, J, rng.normal(size=J.shape[1]))
    return Problem.rigid(storage.mass, storage.bodies, storage.rows, cone=cone, u_f=easy.u_f, b=b)


def _dual(rng):
    return random_dual(rng, contacts=int(rng.integers(1, 9)))


def _rank_deficient(rng):
    contacts = int(rng.integers(2, 9))
    return random_dual(rng, contacts=contacts, rank=int(rng.integers(2, 3 * contacts)))


def _anisotropic(rng):
    """Independent contacts, or ones coupled by a little, with blocks of condition up to 1e10."""
    contacts = int(rng.integers(1, 9))
    D = np.zeros((3 * contacts, 3 * contacts))
    for k in range(contacts):
        block = random_block(rng, condition=10.0 ** rng.uniform(0, 10))
        D[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = np.diag([1.0, 1e5, 1e-5]) if rng.random() < 0.2 else block
    if rng.integers(2):
        J = rng.normal(size=(3 * contacts, 3))
        D += 0.1 * J @ J.T
    mu = rng.uniform(0.1, 1.0, contacts)
    return Problem.dual(D, rng.normal(size=3 * contacts), mu=mu)


def _velocities(rng, rows, cone, J, u):
    """b that makes v = J u + b strictly admissible."""
    wanted = cone.project_dual(rng.normal(size=rows))
    wanted[cone.bilateral_rows : cone.contact_start] += 0.1
    wanted[cone.contact_start :: 3] += 0.1
    return wanted - J @ u


def _flexible(rng, skew=0.0):
    n, contacts = int(rng.integers(4, 20)), int(rng.integers(1, 7))
    cone = ProductCone(
        rng.integers(1, 3, size=rng.integers(0, 3)), int(rng.integers(0, 3)), rng.uniform(0.0, 1.0, contacts)
    )
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.4)
    B = rng.uniform(-1.0, 1.0, size=(n, n))  # bounded: more than 10 % of skew part is refused
    H = A @ A.T + np.eye(n) + skew * (B - B.T)
    J = rng.normal(size=(cone.row_count, n)) * (rng.random((cone.row_count, n)) < 0.6)
    J[: cone.bilateral_rows] = rng.normal(size=(cone.bilateral_rows, n))
    b = _velocities(rng, cone.row_count, cone, J, rng.normal(size=n))
    return Problem.primal(H, J, cone=cone, p=rng.normal(size=n), b=b)


def _gyroscopic(rng):
    return _flexible(rng, skew=0.02)


def _zero_rows(rng, approach=False):
    """A contact that nothing can move: it separates, or it approaches and nothing can be done."""
    contacts = int(rng.integers(2, 7))
    problem = random_dual(rng, contacts=contacts)
    D, v_f = problem.delassus.D.toarray(), problem.free_velocity.copy()
    dead = slice(3 * (contacts - 1), 3 * contacts)
    D[dead] = D[:, dead] = 0.0
    v_f[dead] = [-0.5 if approach else 0.5, 0.0, 0.0]
    if rng.integers(2):
        return Problem.dual(D, v_f, cone=problem.cone)
    n = 3 * contacts - 3
    root = np.linalg.cholesky(D[:n, :n] + 1e-12 * np.eye(n))
    J = np.vstack([root, np.zeros((3, n))])
    return Problem.primal(np.eye(n), J, cone=problem.cone, u_f=np.zeros(n), b=v_f)


def _still(rng):
    """Nothing moves, or only in some islands."""
    contacts = int(rng.integers(1, 7))
    D = np.kron(np.eye(contacts), random_block(rng))
    v_f = np.where(rng.random(contacts) < 0.5, 0.0, 1.0).repeat(3) * rng.normal(size=3 * contacts)
    return Problem.dual(D, v_f * rng.integers(2), mu=rng.uniform(0.1, 1.0, contacts))


def _separating(rng):
    """Everything moves apart, or slides along without pressing."""
    contacts = int(rng.integers(1, 6))
    problem = random_dual(rng, contacts=contacts)
    v_f = np.abs(problem.free_velocity)
    return Problem.dual(problem.delassus.D, v_f, cone=problem.cone)


def _units(rng):
    """Other units: masses by up to 1e9 either way, velocities too."""
    mass, speed = 10.0 ** rng.uniform(-9, 9), 10.0 ** rng.uniform(-9, 9)
    p = random_rigid(rng, **_sizes(rng), joints=int(rng.integers(0, 3)), limits=int(rng.integers(0, 2)))
    d = p.delassus
    return Problem.rigid(d.mass * mass, d.bodies, d.rows, cone=p.cone, u_f=p.u_f * speed, b=p.bias * speed)


def _fast_and_slow(rng):
    """Islands whose velocities differ by up to 1e8."""
    parts = [random_dual(rng, contacts=int(rng.integers(1, 4))) for _ in range(3)]
    sizes = [part.row_count for part in parts]
    D, v_f, at = np.zeros((sum(sizes), sum(sizes))), np.empty(sum(sizes)), 0
    for part, size in zip(parts, sizes):
        D[at : at + size, at : at + size] = part.delassus.D.toarray()
        v_f[at : at + size] = part.free_velocity * 10.0 ** rng.uniform(-8, 0)
        at += size
    return Problem.dual(D, v_f, mu=np.concatenate([part.cone.mu for part in parts]))


def _large(rng):
    """More rows than the compiled methods for small problems take."""
    return random_rigid(
        rng,
        bodies=int(rng.integers(30, 80)),
        contacts=int(rng.integers(105, 150)),
        joints=int(rng.integers(0, 8)),
        limits=int(rng.integers(0, 5)),
    )


def _large_dual(rng):
    """The same, of which only D is known: sparse, or full."""
    if rng.integers(2):
        return random_dual(rng, contacts=int(rng.integers(102, 120)))
    rigid = _large(rng)
    return Problem.dual(rigid.delassus.matrix(), rigid.free_velocity, cone=rigid.cone)


def _large_flexible(rng):
    n, contacts = int(rng.integers(60, 120)), int(rng.integers(102, 120))
    cone = ProductCone((2,), 3, rng.uniform(0.0, 1.0, contacts))
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.05)
    J = rng.normal(size=(cone.row_count, n)) * (rng.random((cone.row_count, n)) < 0.05)
    b = _velocities(rng, cone.row_count, cone, J, rng.normal(size=n))
    return Problem.primal(A @ A.T + np.eye(n), J, cone=cone, p=rng.normal(size=n), b=b)


def _with_more(rng, H, J, b, joints, mu):
    """The same beside contacts of other bodies, which have a solution of their own."""
    other = random_rigid(rng, bodies=2, contacts=int(rng.integers(1, 5)))
    more = other.delassus.jacobian().toarray()
    H = np.block([[H, np.zeros((6, 12))], [np.zeros((12, 6)), other.delassus.mass_matrix().toarray()]])
    J = np.block([[J, np.zeros((len(J), 12))], [np.zeros((len(more), 6)), more]])
    cone = ProductCone(joints, 0, np.concatenate([mu, other.cone.mu]))
    u_f = np.concatenate([np.zeros(6), other.u_f])
    return Problem.primal(H, J, cone=cone, u_f=u_f, b=np.concatenate([b, other.bias]))


def _closing_walls(rng):
    """A body between two walls that close in from opposite sides."""
    frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    J = np.zeros((6, 6))
    J[:3, :3], J[3:, :3] = frame, -frame
    closing = 10.0 ** rng.uniform(-2, 1)
    b = np.concatenate([[-closing, *rng.normal(size=2)], [-closing * rng.uniform(0.1, 1.0), *rng.normal(size=2)]])
    H = np.diag([*[10.0 ** rng.uniform(-2, 4)] * 3, 0.1, 0.1, 0.1])
    return _with_more(rng, H, J, b, (), rng.uniform(0.0, 1.0, 2))


def _contradicting_joints(rng):
    """Two joints that ask the same body to move in two ways."""
    rows = rng.normal(size=(3, 6))
    J, b = np.vstack([rows, rows]), rng.normal(size=6)
    return _with_more(rng, np.eye(6), J, b, (3, 3), np.zeros(0))


KINDS = {
    "well-posed": _well_posed,
    "joints-and-limits": _joints,
    "redundant-joints": _redundant,
    "compliant": _compliant,
    "limits-only": _limits_only,
    "joints-only": _joints_only,
    "hyperstatic": _hyperstatic,
    "odd-masses": _odd_masses,
    "stack": _stack,
    "rough": _rough,
    "dual": _dual,
    "rank-deficient": _rank_deficient,
    "anisotropic": _anisotropic,
    "flexible": _flexible,
    "gyroscopic": _gyroscopic,
    "zero-rows": _zero_rows,
    "still": _still,
    "separating": _separating,
    "units": _units,
    "fast-and-slow": _fast_and_slow,
    "closing-walls": _closing_walls,
    "contradicting-joints": _contradicting_joints,
    "approaching-zero-rows": lambda rng: _zero_rows(rng, approach=True),
    "large": _large,
    "large-dual": _large_dual,
    "large-flexible": _large_flexible,
}
