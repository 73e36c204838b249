"""Our `ipm` and `auto` against Clarabel on convex contact problems: one thread, runs in turn, our judge.

    python benchmarks/ipm_against_clarabel.py --bodies 1000 4000 --repeats 3 --json out.json

Problems: spheres falling into a box and settled in it, with the closest 3.7 pairs per body as contacts, and steps of
mechanism scenes. Piles are simulated once and kept in the system's temporary folder; --seed chooses which: 1 and 2
served for tuning, 3 and above for measuring. Clarabel gets the program in velocities, its fastest form (min ½ u·Hu −
p·u over J u + b in K*, a column more per compliant row), its `faer` factorisation; its constructor and solve are timed,
ours is the whole `solve` call. Seconds are those of the processor, which a busy machine disturbs less than the clock;
memory is what a solve adds, in a process of its own.

- clarabel: at its tolerances of 1e-8; what our judge makes of its point stands beside it;
- accurate: at the loosest of 1e-8, 1e-9 … 1e-13 at which our judge confirms 1e-8, or the one that comes closest to it;
- ipm: to 1e-8 of our measure; same contacts: without its presolve; auto: what `solve` chooses;
- as clarabel: ours to no more than the accuracy that Clarabel reached at its 1e-8;
- cvxopt (--cvxopt): `coneqp` on the same program with a sparse solver of its Newton system, tolerances of 1e-8;
  cvxopt's own: with its own solver, which is dense where there are cones, up to some hundred bodies.

--growth prints the exponent of our time over the number of bodies, --pack takes random packings instead of simulated
piles: spheres pushed apart until they hardly overlap, drifting at random. --ours leaves the peers out.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from delassus import residuals
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.simulation import Memory, StepSettings, step
from delassus.solvers import SOLVERS, solve

TOL = 1e-8
PUSHES = 300  # rounds of pushing overlapping spheres of a random packing apart
BURST = 0.01  # seconds that repeated short calls take together
SHORTEST = 1.0  # seconds of rounds for a problem, at least
DENSE = 2000  # velocities up to which CVXOPT's own, dense solver is tried
LARGE = 200  # bodies from which memory is worth looking at
STEP, FALLING, SETTLED = 4e-3, 90, 300  # time step [s], and the steps at which piles are looked at
ACCURACIES = [10.0**-k for k in range(8, 14)]  # tolerances Clarabel is tried with
MECHANISMS = {  # scene: step taken from it
    "wall": 40,
    "card-house": 20,
    "boxes-fixed": 150,
    "nunchuk": 300,
    "four-bar": 100,
    "four-bar-free": 300,
    "pendulum-chain": 100,
    "arm7d": 100,
    "quadruped": 150,
    "bdx": 60,
    "lima": 20,
    "walker": 20,
}


def main() -> None:
    args = parse_arguments()
    if args.worker:
        print(json.dumps(measure_memory(args.worker, Path(args.problem))))
        return
    rows = []
    for name, path in problems(args):
        rows.append(compare(name, path, args))
        print(line(rows[-1]), flush=True)
    for text in [] if args.ours else means(rows):
        print(text)
    for text in growth(rows) if args.growth else ():
        print(text)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, nargs="*", default=[1000, 4000], help="spheres per pile")
    parser.add_argument("--seed", type=int, default=3, help="of the piles: 1 and 2 are for tuning")
    parser.add_argument("--kinds", nargs="*", default=["fall", "rest"], help="of piles: fall, rest")
    parser.add_argument("--per-body", type=float, default=3.7, help="contacts per sphere, the closest pairs")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of the three in turn")
    parser.add_argument("--scenes", action="store_true", help="steps of mechanism scenes too")
    parser.add_argument("--cvxopt", action="store_true", help="CVXOPT too: slow")
    parser.add_argument("--growth", action="store_true", help="how our time grows with the number of bodies")
    parser.add_argument("--pack", action="store_true", help="random packings instead of simulated piles")
    parser.add_argument("--plain", action="store_true", help="Clarabel at 1e-8 only: more takes long on large piles")
    parser.add_argument("--ours", action="store_true", help="no peers")
    parser.add_argument("--no-memory", action="store_true", help="leave the memory out")
    parser.add_argument("--json", help="write the figures there")
    parser.add_argument("--worker", choices=["ipm", "clarabel", "cvxopt"], help=argparse.SUPPRESS)
    parser.add_argument("--problem", help=argparse.SUPPRESS)
    return parser.parse_args()


# -- problems --------------------------------------------------------------------------------------------------------


def problems(args):
    """(name, file) of each problem, made where it does not exist yet."""
    folder = Path(tempfile.gettempdir()) / "delassus-ipm-benchmark"
    folder.mkdir(exist_ok=True)
    for count in args.bodies if args.pack else ():
        path = folder / f"pack-{count}-{args.seed}-{args.per_body:g}.npz"
        if not path.exists():
            save(pile_problem(packing(count, args.seed), args.per_body, apart=0.0), path)
        yield f"pack {count}", path
    for count in () if args.pack else args.bodies:
        for kind in args.kinds:
            state = folder / f"{kind}-{count}-{args.seed}.npz"
            if not state.exists():
                simulate_pile(folder, count, args.seed)
            path = folder / f"{state.stem}-{args.per_body:g}.npz"
            if not path.exists():
                save(pile_problem(np.load(state), args.per_body), path)
            yield f"{kind} {count}", path
    for name, when in MECHANISMS.items() if args.scenes else ():
        path = folder / f"{name}-{when}.npz"
        if not path.exists():
            save(scene_problem(name, when), path)
        yield name, path


def simulate_pile(folder: Path, count: int, seed: int) -> None:
    """Positions, velocities and radii of the spheres while they fall and when they have settled."""
    setup = SCENES["sphere-pile"].build(n=count, seed=seed)
    settings = StepSettings(h=STEP, law=Law.CCP, solver="pgs-ccp", tol=1e-3, tol_velocity=None, max_iter=60)
    radius = (3.0 * setup.model.mass / (4.0 * np.pi * setup.parameters["density"])) ** (1 / 3)
    side = max(2, round((0.5 * count) ** (1 / 3)) + 1)
    half = 0.5 * side * 2.4 * setup.parameters["radius"]
    state, memory = setup.state, Memory()
    for k in range(SETTLED):
        state, _ = step(setup.model, state, None, settings, memory)
        if k + 1 in (FALLING, SETTLED):
            np.savez(
                folder / f"{'fall' if k + 1 == FALLING else 'rest'}-{count}-{seed}.npz",
                position=state.position,
                u=state.u,
                radius=radius,
                mass=setup.model.mass,
                half=half,
                mu=setup.parameters["mu"],
            )


def packing(count: int, seed: int) -> dict:
    """Spheres in a box, placed at random and pushed apart until they hardly overlap, drifting at random and falling."""
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0.04, 0.06, count)
    half = 0.5 * (np.sum((2.0 * radius) ** 3) / (0.62 * 6.0 / np.pi)) ** (1.0 / 3.0)
    x = rng.uniform(-half + 0.05, half - 0.05, (count, 3))
    x[:, 2] += half
    for _ in range(PUSHES):
        pairs = cKDTree(x).query_pairs(2.0 * radius.max(), output_type="ndarray")
        apart = x[pairs[:, 1]] - x[pairs[:, 0]]
        distance = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        push = (0.5 * np.maximum(0.0, radius[pairs].sum(axis=1) - distance) / distance)[:, None] * apart
        np.add.at(x, pairs[:, 1], push)
        np.add.at(x, pairs[:, 0], -push)
        x[:, :2] = np.clip(x[:, :2], radius[:, None] - half, half - radius[:, None])
        x[:, 2] = np.maximum(x[:, 2], radius)
    u = np.zeros((count, 6))
    u[:, :3] = 0.1 * rng.normal(size=(count, 3))
    mass = 2500.0 * 4.0 / 3.0 * np.pi * radius**3
    return {"position": x, "u": u, "radius": radius, "mass": mass, "half": half, "mu": 0.5}


def pile_problem(data, per_body: float, apart: float = 0.2) -> Problem:
    """One step of spheres with their closest neighbours and walls as contacts.  apart: part of an overlap that the step
    shall remove; in a packing between walls only zero is sure to be possible."""
    x, r, half = data["position"], data["radius"], float(data["half"])
    count = len(x)
    pairs = cKDTree(x).query_pairs(3.0 * r.max(), output_type="ndarray")
    between = x[pairs[:, 1]] - x[pairs[:, 0]]
    distance = np.linalg.norm(between, axis=1)
    normals = [between / distance[:, None]]
    gaps = [distance - r[pairs].sum(axis=1)]
    bodies = [pairs]
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0)):  # normals into the box; z: the floor
        normal = np.zeros(3)
        normal[axis] = sign
        normals.append(np.tile(normal, (count, 1)))
        gaps.append(sign * x[:, axis] + (half if axis < 2 else 0.0) - r)
        bodies.append(np.stack([np.full(count, -1), np.arange(count)], axis=1))
    n, gap, pair = np.concatenate(normals), np.concatenate(gaps), np.concatenate(bodies)
    closest = np.argsort(gap, kind="stable")[: int(per_body * count)]
    n, gap, pair = n[closest], gap[closest], pair[closest]
    frame = np.stack(frames(n), axis=1)  # (contacts, 3, 3)
    rows = np.zeros((len(n), 3, 12))
    for side, sign in ((0, -1.0), (1, 1.0)):
        arm = -sign * r[pair[:, side]][:, None] * n  # from the centre to the point of contact
        there = pair[:, side] >= 0
        rows[there, :, 6 * side : 6 * side + 3] = sign * frame[there]
        rows[there, :, 6 * side + 3 : 6 * side + 6] = sign * np.cross(arm[:, None, :], frame)[there]
    mass = np.zeros((count, 6, 6))
    mass[:, range(3), range(3)] = data["mass"][:, None]
    mass[:, range(3, 6), range(3, 6)] = (0.4 * data["mass"] * r**2)[:, None]
    u = data["u"].reshape(count, 6).copy()
    u[:, 2] -= 9.81 * STEP
    bias = np.zeros((len(n), 3))
    bias[:, 0] = np.where(gap > 0.0, gap / STEP, apart * gap / STEP)
    cone = ProductCone(mu=np.full(len(n), float(data["mu"])))
    return Problem.rigid(mass, pair, rows.reshape(-1, 12), cone=cone, u_f=u.ravel(), b=bias.ravel(), law=Law.CCP)


def frames(n):
    """n and two unit vectors across it, each (contacts, 3)."""
    helper = np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    t = np.cross(n, helper)
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    return [n, t, np.cross(n, t)]


def scene_problem(name: str, when: int) -> Problem:
    """The problem of one step of a scene, under the convex law."""
    setup = SCENES[name].build()
    state, memory, report = setup.state, Memory(), None
    for _ in range(when):
        inputs = setup.inputs(state.t, state) if setup.inputs else None
        state, report = step(setup.model, state, inputs, setup.settings, memory)
    assert report is not None
    return report.problem.with_law(Law.CCP)


def save(problem: Problem, path: Path) -> None:
    d, cone = problem.delassus, problem.cone
    np.savez(
        path,
        mass=d.mass,
        bodies=d.bodies,
        rows=d.rows,
        u_f=problem.u_f,
        b=problem.bias,
        mu=cone.mu,
        bilateral=cone.bilateral,
        unilateral=cone.unilateral,
        compliance=np.zeros(problem.row_count) if d.compliance is None else d.compliance,
    )


def load(path: Path) -> Problem:
    d = np.load(path)
    cone = ProductCone(d["bilateral"], int(d["unilateral"]), d["mu"])
    soft = d["compliance"] if d["compliance"].any() else None
    return Problem.rigid(
        d["mass"], d["bodies"], d["rows"], cone=cone, u_f=d["u_f"], b=d["b"], compliance=soft, law=Law.CCP
    )


# -- the two solvers -------------------------------------------------------------------------------------------------


def ours(problem: Problem, tol: float = TOL, solver: str = "ipm", **settings):
    """(processor seconds, wall seconds, iterations, reactions); every call sees the problem for the first time."""
    chosen = solver if solver == "auto" else SOLVERS[solver].settings.changed(**settings)
    spent, solution = burst(lambda: solve(problem.with_law(problem.law), chosen, tol=tol))
    return *spent, solution.iterations, solution.reactions


def burst(call):
    """((processor seconds, wall seconds) of one call, what it returned); short ones are made several times in a row, so
    that both find warm caches, and the median counts."""
    cpu, wall, answer = [], [], None
    while not wall or (sum(wall) < BURST and len(wall) < 20):
        start, begin = time.process_time(), time.perf_counter()
        answer = call()
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - begin)
    return (statistics.median(cpu), statistics.median(wall)), answer


def program(problem: Problem):
    """(P, q, A, b, factor, rows): min ½ x·Px + q·x with A x + s = b, s in zeros × R₊ × second-order cones; the rows of
    the problem behind those of A, and λ = factor z."""
    cone, d = problem.cone, problem.delassus
    rough = problem.mu > 0.0
    normals = cone.contact_start + 3 * np.flatnonzero(~rough)
    triples = (cone.contact_start + 3 * np.flatnonzero(rough)[:, None] + np.arange(3)).ravel()
    rows = np.concatenate([np.arange(cone.contact_start), normals, triples])
    factor = np.ones(len(rows))
    factor[cone.contact_start + len(normals) :: 3] = 1.0 / problem.mu[rough]
    H, J = d.mass_matrix(), d.jacobian()
    soft = np.zeros(problem.row_count) if d.compliance is None else d.compliance
    springs = np.flatnonzero(soft)
    root = sp.csr_array((np.sqrt(soft[springs]), (springs, np.arange(len(springs)))), (len(soft), len(springs)))
    P = sp.csc_matrix(sp.block_diag([H, sp.eye_array(len(springs))]))
    A = sp.csc_matrix(-sp.diags_array(factor) @ sp.hstack([J, root]).tocsr()[rows])
    q = np.concatenate([-(H @ problem.u_f), np.zeros(len(springs))])
    return P, q, A, factor * problem.bias[rows], factor, rows, cone.unilateral + len(normals)


def reactions_of(problem: Problem, z, factor, rows) -> np.ndarray:
    out = np.zeros(problem.row_count)
    out[rows] = factor * np.asarray(z)
    return out


def theirs(problem: Problem, tol: float = TOL):
    """The same for Clarabel; the conversion to its form is not timed."""
    import clarabel

    P, q, A, b, factor, rows, limits = program(problem)
    P, cone = sp.csc_matrix(sp.triu(P)), problem.cone
    cones = [clarabel.ZeroConeT(cone.bilateral_rows)] if cone.bilateral_rows else []
    cones += [clarabel.NonnegativeConeT(limits)] if limits else []
    cones += [clarabel.SecondOrderConeT(3)] * ((len(rows) - limits - cone.bilateral_rows) // 3)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads, settings.direct_solve_method = False, 1, "faer"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    spent, solution = burst(lambda: clarabel.DefaultSolver(P, q, A, b, cones, settings).solve())
    return *spent, solution.iterations, reactions_of(problem, solution.z, factor, rows)


def cvxopt_run(problem: Problem, own: bool = False):
    """The same for CVXOPT (an optional package under the GPL: for this comparison only).

    Its own solvers of the Newton system are dense where there are second-order cones; it gets a sparse one, Cholesky by
    CHOLMOD of P + GᵀW⁻²G analysed once, except with joints, where its `ldl` serves.  own: its default, `chol`."""
    from cvxopt import matrix, solvers, spmatrix

    P, q, A, b, factor, rows, limits = program(problem)
    free = problem.cone.bilateral_rows

    def sparse(M):
        M = sp.coo_matrix(M)
        return spmatrix(M.data, M.row.tolist(), M.col.tolist(), M.shape)

    A = sp.csr_matrix(A)
    G, cones = A[free:], (len(rows) - limits - free) // 3
    dims = {"l": limits, "q": [3] * cones, "s": []}
    joints = (sparse(A[:free]), matrix(b[:free])) if free else ()
    solvers.options.update(show_progress=False, abstol=TOL, reltol=TOL, feastol=TOL)
    data = sparse(P), matrix(q), sparse(G), matrix(b[free:])
    start, wall = time.process_time(), time.perf_counter()
    kkt: object = "chol" if own else "ldl" if free else SparseKkt(sp.csc_matrix(P), sp.csr_matrix(G), limits, cones)
    try:
        found = solvers.coneqp(*data, dims, *joints, kktsolver=kkt)
    except (
        ValueError,
        ArithmeticError,
    ):  # redundant joints, which it refuses, or a division by zero in its linear solver
        return np.nan, np.nan, 0, np.zeros(problem.row_count)
    spent = time.process_time() - start, time.perf_counter() - wall
    z = np.concatenate([np.ravel(found["y"]) if free else [], np.ravel(found["z"])])
    return *spent, found["iterations"], reactions_of(problem, z, factor, rows)


class SparseKkt:
    """CVXOPT's `kktsolver`: (P + GᵀW⁻²G) x = r by sparse Cholesky."""

    def __init__(self, P, G, limits: int, cones: int):
        from cvxopt import cholmod

        self.P, self.G, self.limits, self.cones = P, G, limits, cones
        self.symbolic, self.entries, self.cholmod = None, 0, cholmod

    def __call__(self, W):
        from cvxopt import matrix, spmatrix

        inverse = self._inverse(W)
        scaled = inverse @ self.G
        S = sp.coo_matrix(sp.tril(self.P + scaled.T @ scaled))
        lower = spmatrix(S.data, S.row, S.col, S.shape)
        if S.nnz != self.entries:  # products that happen to be zero are dropped, at the first point above all
            self.symbolic, self.entries = self.cholmod.symbolic(lower), S.nnz
        self.cholmod.numeric(lower, self.symbolic)

        def solve_system(x, y, z):
            del y
            pushed = inverse @ np.ravel(z)
            right = matrix(np.ravel(x) + scaled.T @ pushed)
            self.cholmod.solve(self.symbolic, right)
            x[:] = right
            z[:] = matrix(scaled @ np.ravel(right) - pushed)

        return solve_system

    def _inverse(self, W):
        """W⁻¹ as a sparse matrix; W = β (2 v vᵀ − J) on a cone, so W⁻¹ is the same with J v and 1/β."""
        size = self.limits + 3 * self.cones
        v = np.array([np.ravel(one) for one in W["v"]]).reshape(-1, 3) * [1.0, -1.0, -1.0]
        blocks = 2.0 * v[:, :, None] * v[:, None, :] - np.diag([1.0, -1.0, -1.0])
        blocks /= np.ravel(W["beta"])[: self.cones, None, None] if self.cones else 1.0
        at = self.limits + np.arange(3 * self.cones).reshape(-1, 3)
        row, column = np.repeat(at, 3, axis=1).ravel(), np.tile(at, (1, 3)).ravel()
        orthant = np.arange(self.limits)
        values = np.concatenate([np.ravel(W["di"]), blocks.ravel()])
        places = np.concatenate([orthant, row]), np.concatenate([orthant, column])
        return sp.csr_matrix((values, places), (size, size))


def accurate(path: Path) -> tuple[float, float]:
    """The loosest tolerance of Clarabel at which our judge confirms 1e-8, or the one that comes closest, and what the
    judge says of its 1e-8."""
    found: list[float] = []
    for tol in ACCURACIES:
        problem = load(path)
        found.append(fair.judge(problem, theirs(problem, tol)[3]))
        if found[-1] <= TOL:
            break
    return ACCURACIES[int(np.argmin(found))], found[0]


def compare(name: str, path: Path, args) -> dict:
    """Medians of rounds in which all take turns; the first, which compiles, does not count."""
    problem = load(path)
    kinds: dict = {"ipm": lambda p: ours(p), "same contacts": lambda p: ours(p, presolve=False)}
    kinds["auto"] = lambda p: ours(p, solver="auto")
    tol = None
    if not args.ours:
        kinds["clarabel"] = theirs
        if not args.plain:
            tol, reached = accurate(path)
            kinds["as clarabel"] = lambda p: ours(p, tol=max(TOL, reached))
            kinds["accurate"] = lambda p: theirs(p, tol)
    if args.cvxopt:
        kinds["cvxopt"] = cvxopt_run
        if 6 * len(problem.delassus.mass) <= DENSE:
            kinds["cvxopt's own"] = lambda p: cvxopt_run(p, own=True)
    for kind in ("ipm", "same contacts", "auto"):
        kinds[kind](load(path))
    runs: dict[str, list] = {kind: [] for kind in kinds}
    begin = time.perf_counter()
    while len(runs["ipm"]) < args.repeats or (time.perf_counter() - begin < SHORTEST and len(runs["ipm"]) < 99):
        first = len(runs["ipm"]) % len(kinds)  # who comes first finds a cold cache
        for kind in (*list(kinds)[first:], *list(kinds)[:first]):
            runs[kind].append(kinds[kind](load(path)))
    row: dict = {
        "problem": name,
        "bodies": len(problem.delassus.mass),
        "contacts": problem.contact_count,
        "joint rows": problem.cone.bilateral_rows,
        "tolerance of accurate": tol,
    }
    for kind, all_runs in runs.items():
        row[kind] = {
            "cpu": statistics.median(run[0] for run in all_runs),
            "wall": statistics.median(run[1] for run in all_runs),
            "iterations": all_runs[0][2],
            "residual": fair.judge(problem, all_runs[0][3]),
        }
        if kind in ("ipm", "clarabel", "cvxopt") and not args.no_memory and row["bodies"] >= LARGE:
            command = [sys.executable, __file__, "--worker", kind, "--problem", str(path)]
            row[kind]["memory"] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return row


def measure_memory(kind: str, path: Path) -> float:
    """Megabytes that one solve adds to the peak of this process, compiled code and libraries loaded before (Linux)."""
    run = {"ipm": ours, "clarabel": theirs, "cvxopt": cvxopt_run}[kind]
    rng = np.random.default_rng(0)
    from delassus.problem.random import random_rigid

    run(random_rigid(rng, bodies=150, contacts=500, law=Law.CCP))  # loads or compiles all there is
    problem = load(path)
    residuals.measure(problem, np.zeros(problem.row_count))
    # the high-water mark of a child starts at that of its parent: set it back
    Path("/proc/self/clear_refs").write_text("5")
    before = megabytes("VmRSS")
    run(problem)
    return megabytes("VmHWM") - before


def megabytes(name: str) -> float:
    """A line of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(text.split()[1]) for text in lines if text.startswith(name)) / 1024.0


def line(row: dict) -> str:
    sizes = (f"{row[name]} {name}" for name in ("bodies", "contacts", "joint rows"))
    text = f"{row['problem']:14s} {', '.join(sizes)}"
    for kind in ("clarabel", "accurate", "same contacts", "ipm", "auto", "as clarabel", "cvxopt", "cvxopt's own"):
        if kind in row:
            one = row[kind]
            text += f" | {kind} {1e3 * one['cpu']:.2f} ms, {one['iterations']} it, {one['residual']:.0e}"
            if "memory" in one:
                text += f", {one['memory']:.0f} MB"
    if "clarabel" not in row:
        return text
    ours_, theirs_ = row["ipm"]["cpu"], row["clarabel"]["cpu"]
    text += f" | {theirs_ / ours_:.1f}x ({theirs_ / row['same contacts']['cpu']:.1f}x same contacts)"
    text += f", auto {theirs_ / row['auto']['cpu']:.1f}x"
    if "accurate" in row:
        text += f", accurate {row['accurate']['cpu'] / ours_:.1f}x"
        text += f", as clarabel {theirs_ / row['as clarabel']['cpu']:.1f}x"
    for kind in ("cvxopt", "cvxopt's own"):
        text += f", {kind} {row[kind]['cpu'] / ours_:.1f}x" if kind in row else ""
    return text


def means(rows: list[dict]) -> list[str]:
    """Geometric means of Clarabel's time over ours, on piles and on steps of mechanisms."""
    groups = {"piles": [row for row in rows if row["problem"].split()[0] in ("fall", "rest", "pack")]}
    groups["mechanisms"] = [row for row in rows if row not in groups["piles"]]
    out = []
    for group, some in groups.items():
        for peer in ("clarabel", "accurate") if some else ():
            told = [
                f"{kind} {fair.geometric_mean(row[peer]['cpu'] / row[kind]['cpu'] for row in some):.2f}"
                for kind in ("auto", "ipm", "same contacts")
                if all(peer in row for row in some)
            ]
            out += [f"{group} ({len(some)}), {peer} over ours: {', '.join(told)}"] if told else []
    return out


def growth(rows: list[dict]) -> list[str]:
    """Exponents of our time over bodies, per kind of pile, between the smallest and the largest."""
    out = []
    for kind in dict.fromkeys(row["problem"].split()[0] for row in rows if row["bodies"] >= LARGE):
        piles = sorted((row["bodies"], row["ipm"]["cpu"]) for row in rows if row["problem"].split()[0] == kind)
        if len(piles) > 1:
            (small, fast), (large, slow) = piles[0], piles[-1]
            exponent = np.log(slow / fast) / np.log(large / small)
            out.append(f"{kind}: from {small} to {large} bodies time grows with n^{exponent:.2f}")
    return out


if __name__ == "__main__":
    main()
