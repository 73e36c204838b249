"""Siconos' NSGS, and its other solvers, in a process of its own, and how to talk to it.

Siconos comes from Debian and lives under the system Python, so this one file has two sides. Imported, it gives
`Siconos`, which writes a problem, asks for a solve and gives up after a time limit. Started by `Siconos` under the
system Python, it answers one line of JSON per line of JSON and needs nothing but NumPy and Siconos.

Choices made for the peer's benefit; storage was measured on seven of the shared FCLIB files, 5 to 1284 contacts:

- storage: sparse blocks of 3×3 (SBM). Per sweep, compressed sparse costs 1.2 to 2.1 times as much and dense 1.2 (23
  contacts) to 43 times (570 contacts; not tried above); nothing beat SBM on any of them.
- options: `SolverOptions` as Siconos builds them (local solver NSN_GP_HYBRID at 1e-14, light error ‖r⁺ − r‖ / ‖r‖ while
  iterating, full error at the end) but for tolerance and iteration limit; the light error is the cheapest per sweep.
- verbosity off, problem in memory, reactions and options new (and zero) before each run, only `fc3d_driver` timed.
- other solvers (SOLVERS): options as Siconos builds them; in SBM too, which was fastest or within 10 % of it for PROX,
  ADMM and the fixed-point methods; Newton's also in compressed columns ("-sparse"), which are faster on some files.
"""

# mypy: ignore-errors
# (one half of this file runs under the system Python, whose Siconos has no types)

from __future__ import annotations  # SciPy, which the system Python may lack, is named in annotations only

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

PYTHON = os.environ.get("DELASSUS_SICONOS_PYTHON", "/usr/bin/python3")  # where Debian installs python3-siconos
HINT = "Siconos is not there for {}: apt-get install python3-siconos (or set DELASSUS_SICONOS_PYTHON)"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NEVER = 1e-15  # a tolerance that leaves stopping to max_iter; zero does not: NSGS then gives up after one sweep
RUNGS = [10.0 ** (-k / 2) for k in range(25)]  # its tolerances, 1 to 1e-12 in half decades
FEWEST_WITHIN = 0.02  # the fewest sweeps are searched to 2 %
SOLVERS = {
    "NSGS": ("NSGS", {}),
    "NSGS-PLI": ("NSGS", {"local": "ONECONTACT_ProjectionOnConeWithLocalIteration"}),
    "NSN_AC": ("NSN_AC", {}),
    "NSN_AC-sparse": ("NSN_AC", {"sparse": True}),
    "NSN_AC-vieg": ("NSN_AC", {"hybrid": "VI_EG_NSN"}),
    "NSN_FB": ("NSN_FB", {}),
    "NSN_FB-sparse": ("NSN_FB", {"sparse": True}),
    "PROX": ("PROX", {}),
    "ADMM": ("ADMM", {}),
    "ACLMFP": ("ACLMFP", {}),
    "VI_EG": ("VI_EG", {}),
}
"""Solvers by the names of the baseline: Siconos' name, and what differs from its defaults."""
_START_LIMIT = 60.0  # seconds to import Siconos or to read a problem; both take well under one on a quiet machine


class SiconosTimeoutError(Exception):
    """The worker did not answer in time and was killed; the next request starts a new one with the same problem."""


class Siconos:
    """A worker process. `load` a problem, then `solve` it as often as wanted; `close`, or use it in a `with`."""

    def __init__(self) -> None:
        self._process = None
        self._folder = tempfile.TemporaryDirectory(prefix="siconos-")
        self._path = Path(self._folder.name) / "problem.dat"
        self.version = None

    @staticmethod
    def available() -> bool:
        """Whether that Python exists and imports siconos.numerics."""
        if shutil.which(PYTHON) is None:
            return False
        asked = subprocess.run([PYTHON, "-c", "import siconos.numerics"], capture_output=True, check=False)
        return asked.returncode == 0

    def load(self, D: sp.csr_matrix, q: np.ndarray, mu: np.ndarray) -> None:
        """Hand over v = D r + q.  D: (3 n, 3 n) sparse [1/kg]; q: (3 n,) [m/s]; mu: (n,)."""
        write_problem(self._path, D, q, mu)
        self._start()
        self._ask(_START_LIMIT, load=str(self._path))

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        repeats: int = 1,
        time_limit: float = 60.0,
        solver: str = "NSGS",
        together: bool = False,
        anew: bool = False,
    ) -> dict:
        """One of SOLVERS from zero, `repeats` times: seconds and processor time "cpu" (lists), iterations, info, error
        (its own, relative) and reactions.  together: the clock is read around all of them, and the mean is told, once;
        anew: on as many copies of the problem, made before, of which the processor's caches know nothing.

        Siconos has no time limit: after time_limit seconds in all the process is killed, which raises.
        """
        if self._process is None:
            self._start()
            self._ask(_START_LIMIT, load=str(self._path))
        reply = self._ask(
            time_limit,
            solve=tol,
            max_iter=int(max_iter),
            repeats=repeats,
            solver=solver,
            together=together,
            anew=str(self._path) if anew and together else "",
        )
        return reply | {"reactions": _decode(reply["reactions"])}

    def condense(self, M: np.ndarray, H: np.ndarray, q: np.ndarray, repeats: int = 5) -> dict:
        """How long Siconos takes to turn M u = q + H r into local form: the lesser of dense and sparse storage, least
        seconds and processor time "cpu" of the repeats, and its free velocity "q" = Hᵀ M⁻¹ q, (3 n_c,) [m/s].
        M: (n, n) [kg]; H: (n, 3 n_c); q: (n,) [N s]."""
        self._start()
        given = [_encode(x) for x in (M, H, q)]
        reply = self._ask(_START_LIMIT, condense=given, size=list(H.shape), repeats=repeats)
        return reply | {"q": _decode(reply["q"])}

    def error(self, reactions: np.ndarray) -> float:
        """What Siconos' own fc3d_compute_error says of r: natural map over max(‖q‖, ‖r‖, ‖v‖)."""
        return self._ask(_START_LIMIT, error=_encode(np.asarray(reactions, float)))["error"]

    def close(self) -> None:
        """End the worker, politely or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> Siconos:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._folder.cleanup()

    def _start(self) -> None:
        if self._process is not None:
            return
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        environment.pop("PYTHONPATH", None)  # ours would offer the wrong NumPy to the system Python
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([PYTHON, __file__], env=environment, **pipes)
        self.version = self._ask(_START_LIMIT, version=True)["version"]

    def _ask(self, limit: float | None, **request: Any) -> dict:
        with contextlib.suppress(BrokenPipeError):  # a dead worker shows as an empty answer below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        line = b""
        end = time.monotonic() + limit
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                self.close()
                raise SiconosTimeoutError(f"no answer within {limit:g} s")
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                code = self._process.wait()
                self.close()
                raise RuntimeError(f"the Siconos worker ended with code {code}; try {PYTHON} {__file__} by hand")
            line += chunk
        return json.loads(line)


def cheapest_runs(
    peer: Siconos, judge: Callable[[np.ndarray], float], tolerances: Sequence[float], time_limit: float
) -> dict:
    """The least work with which NSGS meets each tolerance of *our* measure, `judge(reactions)`.

    NSGS stops on its own error, so it climbs a ladder of its own tolerances, and the cheapest rung whose reactions pass
    is "ladder". A rung may overshoot (by a factor of six on Capsules-i101), so bisection on the iteration limit between
    the last failing rung and that one gives "fewest": what NSGS would need if its stopping test were perfect and free.
    Returns {tolerance: {"ladder": arguments of `solve`, or None, "fewest": the same, "best": least residual seen}}.
    """
    run = peer.solve(tol=NEVER, max_iter=20, repeats=5)
    ladder = []  # (sweeps, residual, its tolerance)
    for rung in RUNGS:
        # As many sweeps as fit into the limit at the last run's rate: a run that ends can be judged, a killed one not.
        sweep_limit = min(int(time_limit * max(1, run["iterations"]) / min(run["seconds"])) + 1, 2**31 - 1)
        try:
            run = peer.solve(tol=rung, max_iter=sweep_limit, time_limit=2 * time_limit + 5)
        except SiconosTimeoutError:
            break
        ladder.append((run["iterations"], judge(run["reactions"]), rung))
        if ladder[-1][1] <= min(tolerances) or run["iterations"] >= sweep_limit:
            break
    plans = {}
    for tol in tolerances:
        passing = min((rung for rung in ladder if rung[1] <= tol), default=None)
        plans[tol] = {"ladder": None, "fewest": None, "best": min((rung[1] for rung in ladder), default=float("inf"))}
        if passing is not None:
            low = max((sweeps for sweeps, residual, _ in ladder if residual > tol and sweeps < passing[0]), default=0)
            high = passing[0]
            while high - low > max(1, FEWEST_WITHIN * high):
                middle = (low + high) // 2
                run = peer.solve(tol=NEVER, max_iter=middle, time_limit=2 * time_limit + 5)
                low, high = (low, middle) if judge(run["reactions"]) <= tol else (middle, high)
            plans[tol]["ladder"] = {"tol": passing[2], "max_iter": passing[0]}
            plans[tol]["fewest"] = {"tol": NEVER, "max_iter": high}
    return plans


def write_problem(path: str | Path, D: sp.csr_matrix, q: np.ndarray, mu: np.ndarray) -> None:
    """A problem in Siconos' own text format, sparse-block storage; decimal digits that read back bit for bit.

    Its Python bindings take sparse matrices only through SciPy, which the system Python may lack.
    """
    start, column, blocks = _three_by_three(D)
    contacts, size = len(mu), 3 * len(mu)
    ends = " ".join(map(str, range(3, size + 1, 3)))
    lines = [3, contacts, 1, size, size]  # dimension, contacts, storage (1: SBM), rows, columns
    lines += [len(column), contacts, contacts, ends, ends, contacts + 1, len(column)]
    lines += [" ".join(map(str, start)), " ".join(map(str, column))]
    for k, block in enumerate(blocks):
        lines.append(k)
        lines.extend(map(repr, block.T.ravel().tolist()))  # column by column
    for vector in (q, mu):
        lines.append(" ".join(map(repr, np.asarray(vector, float).tolist())))
    Path(path).write_text("\n".join(map(str, lines)) + "\n")


def _three_by_three(D: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block rows of D: row starts, block columns, blocks (k, 3, 3); NSGS needs every diagonal block, even of zeros."""
    blocks = D.tobsr((3, 3))
    contacts = D.shape[0] // 3
    row = np.repeat(np.arange(contacts), np.diff(blocks.indptr))
    missing = np.setdiff1d(np.arange(contacts), row[row == blocks.indices])
    row, column = np.r_[row, missing], np.r_[blocks.indices, missing]
    data = np.concatenate([blocks.data, np.zeros((len(missing), 3, 3))])
    order = np.lexsort((column, row))
    start = np.r_[0, np.cumsum(np.bincount(row, minlength=contacts))]
    return start, column[order], data[order]


def _encode(x: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f8").tobytes()).decode()


def _decode(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").copy()


# ---- the side that runs under the system Python ----------------------------------------------------------------------


def serve() -> None:
    """Answer requests until standard input ends."""
    import siconos
    import siconos.numerics as sn

    # The C library prints to standard output when it is unhappy: keep that out of the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sn.numerics_set_verbose(0)
    problem = None
    for line in sys.stdin:
        request = json.loads(line)
        if "version" in request:
            reply = {"version": _version(siconos)}
        elif "load" in request:
            problem = sn.frictionContact_new_from_filename(request["load"])
            path, sparse = request["load"], None
            reply = {"contacts": problem.numberOfContacts}
        elif "solve" in request:
            if SOLVERS[request["solver"]][1].get("sparse"):
                sparse = sparse or _sparse(sn, path)
                reply = _solve(sn, sparse, request)
            else:
                reply = _solve(sn, problem, request)
        elif "condense" in request:
            reply = _condense(sn, request)
        else:
            reply = {"error": _error(sn, problem, _decode(request["error"]))}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _version(siconos: Any) -> str:
    """Siconos' own number, and Debian's, which differ (4.5.0 in the package 4.4.0)."""
    version = siconos.version
    if shutil.which("dpkg-query"):
        asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "python3-siconos"], capture_output=True, text=True)
        version += f" (Debian {asked.stdout})" if asked.stdout else ""
    return version


def _solve(sn: Any, problem: Any, request: dict[str, Any]) -> dict:
    size = 3 * problem.numberOfContacts
    seconds, cpu, count, driver = [], [], request["repeats"], sn.fc3d_driver
    at_a_time = count if request["together"] else 1
    problems = [problem] * at_a_time
    if request["anew"]:
        problems = [sn.frictionContact_new_from_filename(request["anew"]) for _ in problems]
    for _ in range(0, count, at_a_time):
        given = []
        for _ in range(at_a_time):
            options = _options(sn, *SOLVERS[request["solver"]])
            options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = request["max_iter"]
            options.dparam[sn.SICONOS_DPARAM_TOL] = request["solve"]
            given.append((np.zeros(size), np.zeros(size), options))
        start, processor = time.perf_counter(), time.process_time()
        for each, (reactions, velocities, options) in zip(problems, given):
            info = driver(each, reactions, velocities, options)
        cpu.append((time.process_time() - processor) / at_a_time)
        seconds.append((time.perf_counter() - start) / at_a_time)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "iterations": int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]),
        "info": int(info),
        "error": float(options.dparam[sn.SICONOS_DPARAM_RESIDU]),
        "reactions": _encode(reactions),
    }


def _options(sn: Any, name: str, changes: Mapping[int, Any]) -> Any:
    """Siconos' defaults for a solver, but for what SOLVERS says."""
    options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_3D_{name}"))
    if "local" in changes:
        sn.solver_options_update_internal(options, 0, getattr(sn, f"SICONOS_FRICTION_3D_{changes['local']}"))
    if "hybrid" in changes:
        strategy = getattr(sn, f"SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY_{changes['hybrid']}")
        options.iparam[sn.SICONOS_FRICTION_3D_NSN_HYBRID_STRATEGY] = strategy
    return options


def _sparse(sn: Any, path: str | Path) -> Any:
    """The problem of a file with its matrix in compressed columns."""
    problem = sn.frictionContact_new_from_filename(path)
    matrix = sn.NM_create(sn.NM_SPARSE, problem.M.size0, problem.M.size1)
    sn.NM_copy_to_sparse(problem.M, matrix, 0.0)
    problem.M = matrix
    return problem


def _condense(sn: Any, request: dict[str, Any]) -> dict:
    n, m = request["size"]
    M, H, q = (_decode(text) for text in request["condense"])
    b, mu = np.zeros(m), np.ones(m // 3)
    seconds, cpu = [], []
    for storage in (sn.NM_DENSE, sn.NM_SPARSE):
        for _ in range(request["repeats"]):  # matrices are new each time: it keeps the factors of old ones
            problem = sn.globalFrictionContactProblem_new()
            problem.numberOfContacts, problem.dimension = m // 3, 3
            problem.M, problem.H = (_entries(sn, storage, A) for A in (M.reshape(n, n), H.reshape(n, m)))
            problem.q, problem.b, problem.mu = q, b, mu
            start, processor = time.perf_counter(), time.process_time()
            local = sn.globalFrictionContact_reformulation_FrictionContact(problem)
            cpu.append(time.process_time() - processor)
            seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "cpu": min(cpu), "q": _encode(local.q)}


def _entries(sn: Any, storage: int, A: np.ndarray) -> Any:
    out = sn.NM_create(storage, *A.shape)
    if storage == sn.NM_SPARSE:
        sn.NM_triplet_alloc(out, int(np.count_nonzero(A)))
    for i, j in zip(*np.nonzero(A)):
        sn.NM_entry(out, int(i), int(j), float(A[i, j]))
    return out


def _error(sn: Any, problem: Any, reactions: np.ndarray) -> float:
    options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
    scale = float(np.linalg.norm(problem.q))
    _, error = sn.fc3d_compute_error(problem, reactions, np.zeros_like(reactions), 1.0, options, scale)
    return float(error)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose siconos.py is not Siconos
    serve()
