"""The clock of a solve stands still while kernels are compiled or loaded."""

import gc
import logging
import os
import subprocess
import sys
from threading import Thread

import numpy as np
import pytest
from numba import config, njit
from numba.core import event

from delassus.kernel import compile_time
from delassus.problem import Problem
from delassus.solvers import driver, solve
from delassus.solvers.driver import clock
from delassus.solvers.table import SOLVERS
from delassus.status import Status

FIRST = """
import sys
import numpy as np
from time import perf_counter
from delassus.problem import Problem
from delassus.solvers import solve

begin = perf_counter()
problem = Problem.dual(np.eye(6) + 0.1, [-1.0, 0.2, 0.0, -1.0, 0.0, 0.1], mu=[0.5, 0.5])
solution = solve(problem, "nbgs", time_limit=0.5)
print(solution.status.value, perf_counter() - begin, solution.seconds)
"""


@pytest.fixture
def hand(monkeypatch):
    """The seconds of the wall, moved by hand."""
    now = [1000.0]
    monkeypatch.setattr(compile_time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(driver, "perf_counter", lambda: now[0])
    return now


def test_clock_does_not_count_the_compiler_at_work(hand):
    before = clock()
    hand[0] += 1.0
    with event.trigger_event("numba:compiler_lock"):
        hand[0] += 2.0
        with event.trigger_event("numba:compiler_lock"):  # a callee
            hand[0] += 4.0
    hand[0] += 8.0
    assert clock() - before == pytest.approx(9.0)


def test_threads_compile_on_their_own_account(hand):
    """Another thread's compiler does not stop the clock of this one."""
    before = clock()

    def elsewhere():
        with event.trigger_event("numba:compiler_lock"):
            hand[0] += 2.0

    thread = Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert clock() - before == pytest.approx(2.0)


def test_compiling_stops_the_clock():
    """Numba does say so, of a kernel that nobody has compiled before."""

    @njit
    def fresh(x):
        return x.sum() + 1.0

    before = compile_time.spent.seconds
    fresh(np.ones(3))
    assert compile_time.spent.seconds > before


def test_time_limit_does_not_count_compilation(hand, monkeypatch):
    """A method whose second batch makes Numba work for a minute still gets its second."""
    problem = Problem.dual(np.eye(6) + 0.1, [-1.0, 0.2, 0.0, -1.0, 0.0, 0.1], mu=[0.5, 0.5])
    line = SOLVERS["pgs-ncp"]
    kind = type(line.start(problem, line.settings, np.zeros(6)))
    advance, calls = kind.advance, []

    def slowly(self, count):
        calls.append(count)
        if len(calls) == 2:
            with event.trigger_event("numba:compiler_lock"):
                hand[0] += 60.0
        hand[0] += 1e-3
        return advance(self, count)

    monkeypatch.setattr(kind, "advance", slowly)
    solution = solve(problem, "pgs-ncp", tol=1e-12, time_limit=1.0)
    assert len(calls) > 2
    assert solution.status is Status.CONVERGED
    assert solution.seconds == pytest.approx(1e-3 * len(calls))


def test_long_compilation_is_said_once(monkeypatch, caplog):
    listener = compile_time._Compiler(compile_time._Spent())
    monkeypatch.setattr(compile_time, "_LONG", 0.0)
    monkeypatch.setattr(logging.getLogger("delassus.compiling"), "disabled", False)
    loads, compiles = "numba:compiler_lock", "numba:compile"
    with event.install_listener(loads, listener), event.install_listener(compiles, listener):
        with caplog.at_level(logging.WARNING), event.trigger_event(loads):
            pass
        assert not caplog.records, "it was loaded only"
        for _ in range(3):
            with caplog.at_level(logging.WARNING), event.trigger_event(loads), event.trigger_event(compiles):
                pass
    assert sum("compiles its kernels" in record.message for record in caplog.records) == 1


@pytest.mark.slow
def test_first_solve_of_a_process_gets_its_whole_time(tmp_path):
    """With an empty cache compiling takes far longer than the limit; the solve converges nevertheless."""
    env = os.environ | {"DELASSUS_CACHE": str(tmp_path)}
    out = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=env)
    status, wall, seconds = out.stdout.split()
    assert float(wall) > 1.0, "nothing was compiled, so nothing is shown"
    assert status == "converged"
    assert float(seconds) < 0.5
    assert out.stderr.count("compiles its kernels") == 1


class _Watcher(event.Listener):
    """Notes whether Python looks for garbage while something is compiled."""

    def __init__(self):
        self.seen = []

    def on_start(self, event):
        self.seen.append(gc.isenabled())

    def on_end(self, event):
        self.seen.append(gc.isenabled())


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_looked_for_while_kernels_are_compiled(collects):
    watcher, was = _Watcher(), gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with event.install_listener("numba:compile", watcher):
            njit(lambda x: x + 1.0)(1.0)
        assert watcher.seen
        assert not any(watcher.seen)
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was else gc.disable)()
