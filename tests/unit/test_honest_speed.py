"""No rate that is printed counts the time in which kernels are compiled: not of `World.run`, its line, steps' stages or
`delassus run`. Numba is made to say that it compiles for an hour in the middle of a run."""

import io
import sys
from contextlib import contextmanager
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import event

from delassus import Box, ModelBuilder, Plane, StepSettings, World, step
from delassus.cli.run import steps
from delassus.kernel import compile_time
from delassus.simulation import one_step
from delassus.world.progress import Progress

HOUR = 3600.0


@pytest.fixture
def compiles(monkeypatch):
    """compiles(): the compiler takes an hour, which passes at once."""
    late = [0.0]
    usual = perf_counter
    monkeypatch.setattr(compile_time.spent, "seconds", compile_time.spent.seconds)
    for name, module in list(sys.modules.items()):
        for clock in ("perf_counter", "monotonic"):
            if name.startswith("delassus") and hasattr(module, clock):
                monkeypatch.setattr(module, clock, lambda: usual() + late[0])

    def compile_now(*_) -> None:
        with event.trigger_event("numba:compiler_lock"):
            late[0] += HOUR

    return compile_now


def crate() -> World:
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.6)
    builder.body("crate", position=(0.0, 0.0, 0.2), mass=5.0, shapes=Box((0.4, 0.4, 0.4)))
    return World(*builder.build())


def test_of_a_run(compiles):
    ran = crate().run(5, control=compiles)
    assert 0.0 < ran.seconds < HOUR
    assert float(repr(ran).rpartition(", ")[2].split()[0]) > 5 / HOUR


def test_of_the_line_of_a_run(compiles, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = Progress(10, 1e-3)
    compiles()
    line.show(5, 5e-3, is_last=True)
    rate = float(sys.stderr.getvalue().partition("%")[2].split()[0])
    assert rate > 5 / HOUR * 100


def test_of_the_stages_of_a_step(compiles, monkeypatch):
    @contextmanager
    def slow_solve(usual=one_step.solve):
        def solve(*args, **kwargs):
            compiles()
            return usual(*args, **kwargs)

        monkeypatch.setattr(one_step, "solve", solve)
        yield

    world = crate()
    with slow_solve():
        _, report = step(world.model, world.state, None, StepSettings())
    assert set(report.times) >= {"collision", "assembly", "solve"}
    assert max(report.times.values()) < HOUR


def test_of_the_line_of_the_command(compiles, monkeypatch):
    line, said = steps._LiveLine(10, 0), []
    monkeypatch.setattr(line, "now", lambda text, done: said.append(text))
    monkeypatch.setattr(steps, "_PERIOD", 0.0)
    glance = SimpleNamespace(contacts=1, iterations=1, residual=np.float64(1e-9))
    line.show(SimpleNamespace(t=0.0, steps=1, glance=glance))
    compiles()
    line.show(SimpleNamespace(t=1.0, steps=2, glance=glance))
    assert float(said[-1].split()[-4]) > 10 / HOUR
