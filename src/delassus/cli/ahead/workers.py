"""Compiles kernels of the list that are not there yet, in as many processes as there are processors, with a bar."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from time import perf_counter
from typing import Any

from delassus.cli.ahead.signatures import Entered, from_json, read_list
from delassus.cli.console import Display
from delassus.errors import SettingsError

MOST = 8  # processes: each takes 300 MB, and the largest kernel takes as long as all others in eight
_SECONDS = 22e-6  # per byte of machine code, with which estimates begin: two cores of an AMD EPYC
_WORTH = 4.0  # seconds of compiling below which starting processes takes longer
_PERIOD = 0.25  # s between two looks


def compile_ahead(use: str) -> None:
    """Whatever a program of this name needs and is not there: where compiling it takes long enough to be worth it."""
    from delassus.kernel import cache
    from delassus.kernel.shipped import say_why_not, shipped

    store = shipped()
    say_why_not()
    if store is not None or cache.folder() is None or processors() < 2:
        return
    missing = [one for one in read_list() if use in one.uses and is_missing(one)]
    if _SECONDS * sum(one.size for one in missing) > _WORTH:
        compile_kernels(missing, min(processors(), MOST))


def processors() -> int:
    """That this process may run on, or as many as DELASSUS_PROCESSES says."""
    asked = os.environ.get("DELASSUS_PROCESSES")
    if asked is not None:
        if not asked.isdecimal() or not int(asked):
            raise SettingsError(f"DELASSUS_PROCESSES={asked}: give a number of processes to compile with, at least 1")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_missing(one: Entered) -> bool:
    """Is it a kernel of today, and its machine code not in the cache?"""
    from delassus.kernel import cache

    try:
        entry = one.kernel()._cache.entry_of(tuple(map(from_json, one.arguments)))
    except (ImportError, AttributeError):  # it has another name by now, or nothing is compiled
        return False
    return entry is not None and not cache.has(entry)


def compile_kernels(kernels: list[Entered], processes: int) -> int:
    """Largest first; how many there are now. Interrupted, it keeps what is done."""
    left, begun = deque(sorted(kernels, key=lambda one: -one.size)), perf_counter()
    done: list[tuple[Entered, bool]] = []
    answers: queue.Queue[tuple[Entered, bool]] = queue.Queue()
    crew = [_Worker(left, answers) for _ in range(min(processes, len(kernels)))]
    display = Display(len(kernels))
    total = sum(one.size for one in kernels)
    display.note(f"compiling {len(kernels)} kernels in {len(crew)} processes, once: {_left(total, len(crew), 0, 0.0)}")
    with display:
        try:
            while len(done) < len(kernels) and any(worker.thread.is_alive() for worker in crew):
                with suppress(queue.Empty):
                    done.append(answers.get(timeout=_PERIOD))
                spent, at_work = perf_counter() - begun, [worker.now for worker in crew if worker.now]
                size = sum(one.size for one, _ in done) + sum(one.size for one in at_work) // 2
                now = ", ".join(one.name for one in at_work)
                display.now(f"{spent:.0f} s, {_left(total, len(crew), size, spent)}: {now}", len(done))
        finally:
            for worker in crew:
                worker.end()
    there = sum(is_there for _, is_there in done)
    display.note(f"compiled {there} kernels in {perf_counter() - begun:.0f} s")
    return there


def _left(total: int, processes: int, done: int, spent: float) -> str:
    """An estimate from the bytes of machine code that are done, at first from those of other machines."""
    prior = total / 4  # weighs as much as these bytes
    rate = (_SECONDS / processes * prior + spent) / (prior + done)
    return f"about {max(1.0, rate * (total - done)):.0f} s left"


class _Worker:
    """A process, and the thread that hands it kernels."""

    def __init__(self, left: deque[Entered], answers: "queue.Queue[tuple[Entered, bool]]"):
        command = [sys.executable, "-m", "delassus.cli.ahead.worker"]
        pipe: Any = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.now: Entered | None = None
        self._left, self._answers = left, answers
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Whatever it is at."""
        self._left.clear()
        self.process.kill()
        self.process.wait()
        self.thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what it was sent last is lost with it
                pipe.close()  # type: ignore[union-attr]

    def _work(self) -> None:
        given, taken = self.process.stdin, self.process.stdout
        assert given is not None
        assert taken is not None
        try:
            while self._left:
                one = self._left.popleft()
                self.now = one
                given.write(json.dumps(one) + "\n")
                given.flush()
                answer = taken.readline()
                if not answer:
                    return  # it was killed: what it had is compiled when it is needed
                self._answers.put((one, json.loads(answer)[0]))
        except (OSError, IndexError):
            pass
        finally:
            self.now = None
