"""What one process of a benchmark does: solve samples one after the other and send a row for each."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, cast

import numpy as np
from numba.core import event as compiler

from delassus import residuals
from delassus.bench.peers import PEERS, peer_solve
from delassus.bench.result import Result, is_in_time
from delassus.bench.sample import Sample
from delassus.bench.suite_file import is_suite, read_suite
from delassus.bench.suites import file_samples
from delassus.kernel.compile_time import spent as compiling
from delassus.law import Law
from delassus.problem import Problem
from delassus.simulation.memory import Memory, Named
from delassus.solvers import solve
from delassus.solvers.driver import Limits
from delassus.solvers.settings import Settings
from delassus.solvers.table import find
from delassus.status import Status


@dataclass(frozen=True)
class Task:
    """Samples (by number, in order) for one solver. start "warm": each begins at the reactions of the one before it.
    settings: other than the solver's own, None: those."""

    solver: str
    tol: float
    start: str
    samples: tuple[int, ...]
    time_limit: float
    max_iter: int = 10**9
    settings: Settings | None = None


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
        for row in in_turn(
            samples, task, seen, lambda sample, task, guess, number: _timed(sample, task, guess, number, pipe)
        ):
            pipe.send(("row", row))
        pipe.send(("done", None))


def in_turn(
    samples: Sequence[Sample],
    task: Task,
    seen: set[tuple[str, str]],
    once: Callable[[Sample, Task, np.ndarray | None, int], tuple[Result, np.ndarray]] | None = None,
) -> Iterator[Result]:
    """A row for each sample of a task, in this process.  seen: solvers and storages that were compiled before, which is
    not what is compared; once: how one of them is solved, None: without anybody who keeps its time limit."""
    memory = Memory()
    for number in task.samples:
        sample = samples[number]
        kind = task.solver, type(sample.problem.delassus).__name__
        if kind not in seen:
            seen.add(kind)
            _solve(sample, task, None, warm_up=True)
        named = cast(Named, sample) if task.start == "warm" and sample.names is not None else None
        guess = None if named is None else memory.recall(named)
        row, reactions = _solve(sample, task, guess) if once is None else once(sample, task, guess, number)
        if named is not None:
            memory.store(named, reactions)
        yield row


def _timed(sample: Sample, task: Task, guess: np.ndarray | None, number: int, pipe: Any) -> tuple[Result, np.ndarray]:
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
    start = process_time()
    if task.solver.partition(":")[0] in PEERS:
        reactions, iterations, status, seconds, note = peer_solve(task.solver, problem, task.tol, task.time_limit)
    else:
        limit = min(task.time_limit, 1.0) if warm_up else task.time_limit
        posed, note = _posed(problem, task.solver)
        solution = solve(
            posed,
            task.settings or task.solver,
            guess,
            tol=task.tol,
            time_limit=limit,
            max_iter=5 if warm_up else task.max_iter,
        )
        seconds = process_time() - start
        reactions, iterations, status = solution.reactions, solution.iterations, solution.status.value
    judged = residuals.evaluate(problem, reactions)
    is_within, in_time = Limits(task.tol, "auto", 0, None).reached(judged.measure), is_in_time(seconds, task.time_limit)
    if note and status == Status.CONVERGED.value and not is_within:
        status = Status.STALLED.value  # at a solution of the law that it treats
    if status == Status.CONVERGED.value and not in_time:  # late, which is not to say that its claim is false
        status, note = Status.TIME_LIMIT.value, "claims convergence, but after the time limit"
    row = Result(
        solver=task.solver,
        tol=task.tol,
        start=task.start,
        sample=sample.name,
        sequence=sample.sequence,
        step=sample.step,
        category=sample.category,
        contacts=problem.contact_count,
        rows=problem.row_count,
        status=status,
        solved=is_within and in_time,
        relative=judged.natural_map_relative,
        worst_velocity=judged.worst_velocity,
        worst_velocity_relative=judged.worst_velocity_relative,
        penetration=sample.penetration(reactions),
        dual=judged.dual,
        complementarity=judged.complementarity,
        natural_map=judged.natural_map,
        iterations=iterations,
        seconds=seconds,
        memory=max(0.0, _peak() - memory),
        note=note,
    )
    return row, reactions


def _posed(problem: Problem, solver: str) -> tuple[Problem, str]:
    """The problem as the solver takes it, and what to say about that: methods of the convex law alone get that law, and
    are judged by the one of the sample like everybody."""
    laws = (problem.law,) if solver == "auto" else find(solver)[0].laws
    if problem.law in laws or Law.CCP not in laws:
        return problem, ""
    return problem.with_law(Law.CCP), "treats the convex law"


def _peak() -> float:
    """Peak memory of this process [MiB]; 0 on Windows, which has no getrusage."""
    if sys.platform == "win32":
        return 0.0
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
