"""What one process of a benchmark does: solve samples one after the other and send a row for each."""

import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numba.core import event as compiler

from delassus import residuals
from delassus.bench.peers import PEERS, peer_solve
from delassus.bench.result import Result, is_in_time
from delassus.bench.sample import Sample
from delassus.bench.suite_file import is_suite, read_suite
from delassus.bench.suites import file_samples
from delassus.problem import Problem
from delassus.simulation.memory import Memory
from delassus.solvers import solve
from delassus.solvers.compile_time import spent as compiling
from delassus.solvers.driver import Limits
from delassus.status import Status


@dataclass(frozen=True)
class Task:
    """Samples (by number, in order) for one solver. start "warm": each begins at the reactions of the one before it."""

    solver: str
    tol: float
    start: str
    samples: tuple[int, ...]
    time_limit: float


def load_samples(source: Path) -> list[Sample]:
    """Of a suite file, or one per FCLIB file of a folder."""
    if source.is_dir() or not is_suite(source):
        return list(file_samples(source))
    return read_suite(source)


def work(source: Path, pipe: Any) -> None:
    """Serve tasks from the pipe until None comes; every row is sent as soon as it is there."""
    samples = load_samples(source)
    seen: set[tuple[str, str]] = set()
    while (task := pipe.recv()) is not None:
        memory = Memory()
        for number in task.samples:
            sample = samples[number]
            kind = task.solver, type(sample.problem.delassus).__name__
            if kind not in seen:  # compilation is not what is compared
                seen.add(kind)
                _solve(sample, task, None, warm_up=True)
            is_named = task.start == "warm" and sample.names is not None
            guess = memory.recall(sample) if is_named else None
            row, reactions = _timed(sample, task, guess, pipe, number)
            if is_named:
                memory.store(sample, reactions)
            pipe.send(("row", row))
        pipe.send(("done", None))


def _timed(sample: Sample, task: Task, guess: np.ndarray | None, pipe: Any, number: int) -> tuple[Result, np.ndarray]:
    """A solve within the time limit that the other process keeps. Kernels that only this sample needs are compiled in
    it: the other process is told, and the solve is done again."""
    with compiler.install_listener("numba:compile", _Tells(pipe)):
        before = compiling.seconds
        pipe.send(("begin", number))
        done = _solve(sample, task, guess)
        if compiling.seconds > before:
            pipe.send(("begin", number))
            done = _solve(sample, task, guess)
    return done


class _Tells(compiler.Listener):
    """Says through the pipe that the compiler is at work, once."""

    def __init__(self, pipe: Any):
        self.pipe, self.said = pipe, False

    def on_start(self, event: Any) -> None:
        """Numba begins to compile."""
        if not self.said:
            self.said = True
            self.pipe.send(("compiling", None))

    def on_end(self, event: Any) -> None:
        """Numba is done with it."""


def _solve(sample: Sample, task: Task, guess: np.ndarray | None, *, warm_up: bool = False) -> tuple[Result, np.ndarray]:
    problem = sample.problem
    memory = _peak()
    start = perf_counter()
    if task.solver.partition(":")[0] in PEERS:
        reactions, iterations, status, seconds, note = peer_solve(task.solver, problem, task.tol, task.time_limit)
    else:
        limit = min(task.time_limit, 1.0) if warm_up else task.time_limit
        solution = solve(problem, task.solver, guess, tol=task.tol, time_limit=limit, max_iter=5 if warm_up else 10**9)
        seconds = perf_counter() - start
        reactions, iterations, status, note = solution.reactions, solution.iterations, solution.status.value, ""
    judged = residuals.evaluate(problem, reactions)
    is_within, in_time = Limits(task.tol, "auto", 0, None).reached(judged.measure), is_in_time(seconds, task.time_limit)
    if status == Status.CONVERGED.value and not in_time:  # late, which is not to say that its claim is false
        status, note = Status.TIME_LIMIT.value, "claims convergence, but after the time limit"
    row = Result(
        solver=task.solver, tol=task.tol, start=task.start, sample=sample.name, sequence=sample.sequence,
        step=sample.step, category=sample.category, contacts=problem.contact_count, rows=problem.row_count,
        status=status, solved=is_within and in_time,
        relative=judged.natural_map_relative, worst_velocity=judged.worst_velocity,
        worst_velocity_relative=judged.worst_velocity_relative, penetration=_penetration(problem, reactions),
        dual=judged.dual, complementarity=judged.complementarity, natural_map=judged.natural_map,
        iterations=iterations, seconds=seconds, memory=max(0.0, _peak() - memory), note=note,
    )  # fmt: skip
    return row, reactions


def _penetration(problem: Problem, reactions: np.ndarray) -> float:
    """Worst approach speed left at contacts and limits [m/s]: what penetration grows by per second (Tsounis et al.
    2025, eq. 173)."""
    v = problem.constraint_velocity(reactions)
    first, contacts = problem.cone.bilateral_rows, problem.cone.contact_start
    normal = np.concatenate([v[first:contacts], v[contacts::3]])
    return float(max(0.0, -normal.min(initial=0.0)))


def _peak() -> float:
    """Peak memory of this process [MiB]; 0 on Windows, which has no getrusage."""
    if sys.platform == "win32":
        return 0.0
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
