"""The clock of a solve stands still while kernels are compiled or loaded."""

import gc
import io
import logging
import os
import subprocess
import sys
from threading import Thread
from time import sleep

import numpy as np
import pytest
from numba import config, njit
from numba.core import event

from delassus import waiting
from delassus.kernel import compile_time
from delassus.problem import Problem
from delassus.solvers import solve
from delassus.solvers.table import SOLVERS
from delassus.status import Status
from delassus.waiting import clock

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
    monkeypatch.setattr(waiting, "perf_counter", lambda: now[0])
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


class _Screen(io.StringIO):
    """Of a terminal."""

    def isatty(self):
        return True


def wait(monkeypatch, seconds):
    """Numba compiles two kernels, the first of which has a part, for so long each."""
    event.unregister("numba:compile", waiting.waiting)
    if waiting.waiting._teller is not None:  # of what tests before compiled
        waiting.waiting._teller.join(timeout=30.0)
    told = waiting.Waiting()
    monkeypatch.setattr(logging.getLogger("delassus.compiling"), "disabled", False)
    monkeypatch.setattr(waiting, "PERIOD", 0.01)
    monkeypatch.setattr(waiting, "LONG", 0.0)
    monkeypatch.setattr(waiting, "_GAP", 0.05)
    with event.install_listener("numba:compile", told):
        for _ in range(2):
            with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
                sleep(seconds)
        teller = told._teller
        if teller is not None:
            teller.join(timeout=30.0)
    event.register("numba:compile", waiting.waiting)
    return told


def test_a_log_is_told_once(monkeypatch, caplog):
    with caplog.at_level(logging.WARNING, "delassus.compiling"):
        told = wait(monkeypatch, 0.05)
    assert (told.count, told._teller) == (2, None)
    assert [record.message for record in caplog.records] == [waiting.SENTENCE]


def test_a_terminal_is_shown_what_and_how_long(monkeypatch, caplog):
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    wait(monkeypatch, 0.1)
    assert not caplog.records
    shown = screen.getvalue().split("\r")
    assert len(shown) > 5
    assert "0 done in 0 s" in shown[1]
    assert shown[-1].strip() == "compiled 2 kernels in 0 s"
    assert screen.getvalue().count("\n") == 1


def test_a_command_that_shows_it_itself_is_left_alone(monkeypatch, capsys):
    monkeypatch.setattr(waiting, "_is_seen", lambda: True)
    monkeypatch.setattr(waiting._logger, "disabled", True)
    monkeypatch.setattr(waiting, "_write", lambda text: pytest.fail(text))
    told = waiting.Waiting()
    with event.install_listener("numba:compile", told), event.trigger_event("numba:compile"):
        monkeypatch.setattr(waiting, "LONG", 0.0)
        assert told.line().startswith("compiling kernels, once: 0 done")
    assert told.count == 1


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
