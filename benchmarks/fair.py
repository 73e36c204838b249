"""What every comparison here shares: one thread, this checkout, our judge, problems that were never solved before.

Import it before NumPy and Numba, which read the number of threads when they are imported.
"""
# ruff: noqa: E402 - thread counts come first

import os

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]  # a plain checkout is enough

import numpy as np

from delassus import __version__, residuals
from delassus.bench.benchmark import machine as machine
from delassus.bench.sample import Sample
from delassus.bench.suites import SUITES
from delassus.io import load_problem
from delassus.problem import Problem
from delassus.solvers.driver import Limits

DATA = Path(os.environ.get("DELASSUS_DATA", ROOT.parent / "shared" / "data" / "fclib"))
TINY = 20  # contacts below which the cost of the call, not of the sweeps, is what counts
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}
NOISE = 0.05  # of the free velocity, in perturbed copies
FRICTIONS, SEEDS = (0.5, 1.3), (1, 2)  # factors on μ and seeds of the noise of perturbed copies


def judge(problem: Problem, reactions: np.ndarray) -> float:
    """Within tol where both of what `solve` asks for by default are: natural map to tol, velocities to 100 tol."""
    return Limits(1.0, 100.0, 0, None).excess(residuals.measure(problem, reactions))


def files(folder: Path, pattern: str, least: int = 0, most: float = math.inf) -> dict[str, Problem]:
    """The FCLIB files of a folder that match, with so many contacts, by name, the smallest first."""
    paths = [path for path in folder.glob(pattern) if path.suffix in (".hdf5", ".h5")]
    found = {path.stem: load_problem(path) for path in paths}
    if not found:
        sys.exit(f"no files match {pattern!r} in {folder}: give --data DIR or set DELASSUS_DATA")
    order = sorted(found, key=lambda name: (found[name].contact_count, name))
    return {name: found[name] for name in order if least <= found[name].contact_count <= most}


def suite(name: str) -> list[Sample]:
    """The samples of a suite of `delassus bench`, cut out of runs once and kept in the system's temporary folder."""
    return SUITES[name].store(Path(tempfile.gettempdir()) / "delassus-suites" / f"{name}-{__version__}.hdf5")


def fresh(problem: Problem) -> Problem:
    """The same problem, built anew: nothing that a solve leaves behind in it makes the next one cheaper."""
    d, cone, law, rest = problem.delassus, problem.cone, problem.law, problem.rest_speed
    if not d.is_primal:
        return Problem.dual(d.matrix(), problem.free_velocity, cone=cone, law=law)
    given = {"cone": cone, "b": problem.bias, "compliance": d.compliance, "law": law}
    if d.has_bodies:
        out = Problem.rigid(d.rigid.mass, d.rigid.bodies, d.rigid.rows, u_f=problem.u_f, **given)
    else:
        out = Problem.primal(d.mass_matrix(), d.jacobian(), p=d.mass_matrix() @ problem.u_f, **given)
    if rest == 0.0:
        return out
    return Problem(out.delassus, out.free_velocity, cone, law, u_f=out.u_f, bias=out.bias, rest_speed=rest)


def perturbed(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """(what differs, problem) of four copies: other friction, noise on the free velocity."""

    def copy(cone, noise):
        free, bias = problem.free_velocity * noise, problem.bias
        if bias is not None:
            bias = bias + free - problem.free_velocity
        kept = {"u_f": problem.u_f, "rest_speed": problem.rest_speed}
        return Problem(problem.delassus, free, cone, problem.law, bias=bias, **kept)

    for factor in FRICTIONS:
        yield f"mu x {factor}", copy(problem.cone.with_friction(factor * problem.cone.mu), 1.0)
    for seed in SEEDS:
        noise = 1.0 + NOISE * np.random.default_rng(seed).standard_normal(problem.row_count)
        yield f"noise {seed}", copy(problem.cone, noise)


def with_copies(problems: dict[str, Problem], copies: bool) -> dict[str, Problem]:
    """The problems, or in their place their perturbed copies, by name."""
    if not copies:
        return problems
    return {f"{name}, {what}": copy for name, problem in problems.items() for what, copy in perturbed(problem)}


def geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else None


def halves(names: Iterable[str], count: int = 5) -> list[tuple[set[str], set[str]]]:
    """Random halves of the names and what is left, the same ones each time."""
    ordered, out = sorted(names), []
    for seed in range(count):
        shuffled = np.random.default_rng(seed).permutation(ordered).tolist()
        out.append((set(shuffled[: len(ordered) // 2]), set(shuffled[len(ordered) // 2 :])))
    return out


def label(tol: float) -> str:
    return np.format_float_scientific(tol, trim="-", exp_digits=1)


def settings(args) -> dict:
    """What was asked, as JSON can hold it."""
    return json.loads(json.dumps(vars(args), default=str))
