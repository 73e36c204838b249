"""A benchmark: solvers × starts × samples over several processes, resumable, with time limits kept from outside."""

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext
from pathlib import Path
from time import perf_counter
from typing import Any

from delassus.bench.result import Result, Results
from delassus.bench.sample import Sample
from delassus.bench.work import Task, work

_GRACE = 5.0  # seconds beyond its limit after which a run is ended from outside
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_START = 180.0  # seconds a process may take to load its samples and compile

Progress = Callable[[Result], None]


def plan(
    samples: Sequence[Sample],
    solvers: Sequence[str],
    tol: float,
    starts: Sequence[str],
    time_limit: float,
    done: set[tuple[Any, ...]],
) -> list[Task]:
    """What is left to do: one task per solver, start and sequence of steps that follow each other."""
    pieces: list[list[int]] = []
    for number, sample in enumerate(samples):
        last = samples[pieces[-1][-1]] if pieces else None
        follows = last is not None and last.sequence == sample.sequence and last.step + 1 == sample.step
        if follows:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    tasks = []
    for piece in pieces:
        for solver in solvers:
            for start in starts:
                todo = [n for n in piece if (solver, tol, start, samples[n].name) not in done]
                if start == "warm" and todo:
                    todo = piece  # a warm start needs the ones before
                if todo:
                    tasks.append(Task(solver, tol, start, tuple(todo), time_limit))
    return tasks


def run(
    source: Path,
    samples: Sequence[Sample],
    tasks: Sequence[Task],
    rows: Results,
    *,
    processes: int = 1,
    progress: Progress | None = None,
) -> None:
    """Work the tasks off. Rows go to the file as they come; a process that does not answer in time is replaced."""
    context = multiprocessing.get_context("spawn")
    queue, workers = deque(tasks), []

    def take(row: Result) -> None:
        if row.key not in rows.keys:
            rows.add(row)
            if progress is not None:
                progress(row)

    try:
        for _ in range(min(processes, len(queue))):
            workers.append(_Worker(context, source, samples))
        while queue or any(worker.task for worker in workers):
            for worker in workers:
                if worker.task is None and queue:
                    worker.give(queue.popleft())
            busy = [worker for worker in workers if worker.task is not None]
            ready = wait([worker.pipe for worker in busy], timeout=0.2)
            for worker in busy:
                if worker.pipe in ready:
                    worker.listen(take)
                elif worker.is_late():
                    left = worker.abandon(take)
                    workers[workers.index(worker)] = _Worker(context, source, samples)
                    queue.extendleft([left] if left is not None else [])
    finally:
        for worker in workers:
            worker.stop()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile load their libraries with one thread each; this one keeps its own."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


class _Worker:
    """A process, its pipe, and what it is doing."""

    def __init__(self, context: SpawnContext, source: Path, samples: Sequence[Sample]):
        self.samples = samples
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(source, other), daemon=True)
        with _one_thread():
            self.process.start()
        other.close()
        self.task: Task | None = None
        self.current: int | None = None
        self.deadline = perf_counter() + _START

    def give(self, task: Task) -> None:
        self.task, self.current = task, None
        self.deadline = perf_counter() + _START
        self.pipe.send(task)

    def listen(self, take: Callable[[Result], None]) -> None:
        assert self.task is not None
        try:
            kind, value = self.pipe.recv()
        except (EOFError, ConnectionError):  # the process died
            self.deadline = 0.0
            return
        if kind == "begin":
            self.current, self.deadline = value, perf_counter() + self.task.time_limit + _GRACE
        elif kind == "compiling":  # which no time limit counts
            self.deadline = perf_counter() + _START
        elif kind == "row":
            take(value)
            self.current, self.deadline = None, perf_counter() + _START
        else:
            self.task = None

    def is_late(self) -> bool:
        return perf_counter() > self.deadline or (not self.process.is_alive() and not self.pipe.poll())

    def abandon(self, take: Callable[[Result], None]) -> Task | None:
        """End the process; a row says what happened; returns what is left of the task."""
        assert self.task is not None
        died = not self.process.is_alive()
        self.stop()
        at = self.task.samples.index(self.current) if self.current is not None else 0
        sample = self.samples[self.task.samples[at]]
        nan = float("nan")
        take(
            Result(
                solver=self.task.solver,
                tol=self.task.tol,
                start=self.task.start,
                sample=sample.name,
                sequence=sample.sequence,
                step=sample.step,
                category=sample.category,
                contacts=sample.problem.contact_count,
                rows=sample.problem.row_count,
                status="time_limit",
                solved=False,
                relative=float("inf"),
                worst_velocity=nan,
                worst_velocity_relative=nan,
                penetration=nan,
                dual=nan,
                complementarity=nan,
                natural_map=nan,
                iterations=0,
                seconds=self.task.time_limit,
                memory=nan,
                note="the process died" if died else "did not keep its time limit and was ended from outside",
            )
        )
        rest = self.task.samples[at + 1 :]
        return replace(self.task, samples=rest) if rest else None

    def stop(self) -> None:
        if self.process.is_alive() and self.task is None:
            try:
                self.pipe.send(None)
                self.process.join(1.0)
            except (OSError, ValueError):
                pass
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()
