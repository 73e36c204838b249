"""Islands solved apart: what is good is kept bit by bit, the whole is judged, and threads change nothing."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from delassus import Memory, ModelBuilder, residuals, solve, step
from delassus.builder import Material
from delassus.cones import ProductCone
from delassus.dynamics import Inputs, Stabilisation
from delassus.dynamics.stabilisation import contact_bias
from delassus.errors import SettingsError
from delassus.problem import Problem, islands, partition
from delassus.problem.random import random_rigid
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.solvers.auto import islands as by_islands
from delassus.solvers.auto.island_loop import MOST, RULE

TOL = 1e-9


def joined(parts: list[Problem]) -> Problem:
    """Problems of rigid bodies side by side in one, its blocks in order of their kinds."""
    number = np.cumsum([0] + [len(part.delassus.rigid.mass) for part in parts])
    order, pieces = [], []
    for p, part in enumerate(parts):
        cone, rigid = part.cone, part.delassus.rigid
        bodies = np.where(rigid.bodies >= 0, rigid.bodies + number[p], -1)
        for k in range(cone.block_count):
            kind = 0 if k < cone.bilateral.size else 1 if k < cone.bilateral.size + cone.unilateral else 2
            own = slice(cone.block_start[k], cone.block_start[k + 1])
            order.append(kind)
            pieces.append((bodies[k], rigid.rows[own], part.bias[own]))
    pieces = [pieces[k] for k in np.argsort(order, kind="stable")]
    cone = ProductCone(
        np.concatenate([part.cone.bilateral for part in parts]),
        sum(part.cone.unilateral for part in parts),
        np.concatenate([part.cone.mu for part in parts]),
    )
    return Problem.rigid(
        np.concatenate([part.delassus.rigid.mass for part in parts]),
        np.array([piece[0] for piece in pieces]),
        np.concatenate([piece[1] for piece in pieces]),
        cone=cone,
        law=parts[0].law,
        u_f=np.concatenate([part.u_f for part in parts]),
        b=np.concatenate([piece[2] for piece in pieces]),
    )


def crowd(seed: int, law: str = "ncp", count: int = 12) -> Problem:
    rng = np.random.default_rng(seed)
    parts = [
        random_rigid(rng, bodies=2 + k % 3, contacts=3 + k % 5, joints=k % 2, limits=int(k % 3 == 0), law=law)
        for k in range(count)
    ]
    return joined(parts)


def as_matrix(problem: Problem) -> Problem:
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def rows_of(problem: Problem, label: int) -> np.ndarray:
    return np.repeat(islands(problem) == label, np.diff(problem.cone.block_start))


@pytest.mark.parametrize("law", ["ncp", "ccp"])
@pytest.mark.parametrize("stored", [lambda problem: problem, as_matrix], ids=["bodies", "matrix"])
def test_only_the_island_that_is_off_is_solved_and_all_others_keep_their_bits(law, stored):
    problem = stored(crowd(1, law))
    solution = solve(problem, tol=TOL)
    assert solution.converged
    off, guess = rows_of(problem, 3), solution.reactions.copy()
    guess[off] *= 1.3
    again = solve(problem, guess=guess, tol=TOL)
    assert again.converged
    assert residuals.measure(problem, again.reactions).relative <= TOL
    assert np.array_equal(again.reactions[~off], solution.reactions[~off])
    assert not np.array_equal(again.reactions[off], guess[off])
    count = islands(problem).max() + 1
    assert any(f"{count} islands: {count - 1} kept as they were" in each for each in again.trace.words)
    assert again.trace.iterations == [0, again.iterations]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads, monkeypatch):
    """Small islands in chunks, and islands as problems of their own."""
    monkeypatch.setattr(by_islands, "_CHUNK", 2)
    problem = crowd(2, count=16)
    guess = solve(problem, tol=TOL).reactions
    for label in range(0, 12, 2):
        guess[rows_of(problem, label)] *= 0.9
    for most in (90.0, 12.0):
        monkeypatch.setattr(by_islands, "RULE", (most, *RULE[1:]))
        one, several = (solve(problem, guess=guess, tol=TOL, threads=count) for count in (1, threads))
        assert one.converged
        assert any("solved in one compiled loop" in each for each in one.trace.words)
        assert any("an island of" in each for each in one.trace.words) == (most == 12)
        assert np.array_equal(one.reactions, several.reactions)
        assert np.array_equal(one.body_velocities, several.body_velocities)


def digest() -> str:
    """Of a crowd solved from a guess that is off in some islands, with two threads."""
    problem = crowd(3)
    guess = solve(problem, tol=TOL).reactions
    guess[rows_of(problem, 1) | rows_of(problem, 4)] *= 1.2
    return hashlib.sha256(solve(problem, guess=guess, tol=TOL, threads=2).reactions.tobytes()).hexdigest()


def test_another_process_finds_the_same_bits():
    run = [sys.executable, "-c", "import test_islands as t; print(t.digest())"]
    out = subprocess.run(run, capture_output=True, text=True, check=True, cwd=__file__.rpartition("/")[0])
    assert out.stdout.split()[-1] == digest()


def test_what_an_attempt_leaves_is_solved_by_the_stages(monkeypatch):
    problem = crowd(4)
    solution = solve(problem, tol=TOL)
    guess, off = solution.reactions.copy(), rows_of(problem, 0) | rows_of(problem, 5)
    guess[off] = 0.0
    monkeypatch.setattr(by_islands, "RULE", (*RULE[:MOST], 1.0, *RULE[MOST + 1 :]))
    again = solve(problem, guess=guess, tol=TOL)
    assert again.converged
    assert any("an island of" in each for each in again.trace.words)


def test_islands_within_their_tolerances_make_a_whole_within_its():
    """Every island as far off as it may be: the sum of squares is what the docstring of `islands` says."""
    problem = crowd(5)
    solution, rng = solve(problem, tol=1e-12, tol_velocity=None), np.random.default_rng(0)
    guess = solution.reactions.copy()
    step, speed = problem.rho, problem.free_speed
    for label in range(islands(problem).max() + 1):
        rows = rows_of(problem, label)
        alone, push = solution.reactions.copy(), rng.normal(size=rows.sum())
        for size in np.geomspace(1e-2, 1e-9, 60):
            alone[rows] = solution.reactions[rows] + size * push
            gap = residuals.measure(problem, alone).relative * max(step * speed, np.linalg.norm(alone))
            most = max(step * speed * np.sqrt(rows.mean()), np.linalg.norm(alone[rows])) * 1e-6 / np.sqrt(2.0)
            if gap <= most:
                break
        guess[rows] = alone[rows]
    assert 1e-8 < residuals.measure(problem, guess).relative <= 1e-6


def test_parts_hold_what_the_whole_does():
    problem = crowd(6)
    for rows, part in partition(problem):
        assert np.array_equal(part.free_velocity, problem.free_velocity[rows])
        assert np.allclose(part.delassus.dense(), problem.delassus.dense()[np.ix_(rows, rows)], atol=1e-12)


@pytest.mark.parametrize("threads", [0, 1.5, True, "2"])
def test_threads_are_counted_in_whole_numbers(threads):
    with pytest.raises(SettingsError, match="threads is"):
        solve(crowd(0, count=2), threads=threads)


# -- rest ----------------------------------------------------------------------------------------------------------


def stacks(side: int, high: int) -> tuple:
    """side² stacks of boxes, each turned and shifted a little, on a plane."""
    rng, builder, material = np.random.default_rng(0), ModelBuilder(), Material(0.5)
    builder.fixed("ground", shapes=[Plane()], material=material)
    for k in range(side * side):
        for level in range(high):
            x, y = 0.6 * (k % side) + rng.uniform(-0.02, 0.02), 0.6 * (k // side) + rng.uniform(-0.02, 0.02)
            turn = rng.uniform(-0.15, 0.15)
            builder.body(
                f"box-{k}-{level}",
                position=(x, y, 0.1 + 0.2 * level),
                orientation=(np.cos(turn), 0, 0, np.sin(turn)),
                density=1000.0,
                shapes=[Box((0.2, 0.2, 0.2))],
                material=material,
            )
    return builder.build()


def asleep(model, state, steps: int) -> tuple[float, float]:
    """(how far anything crept [m, rad], share of steps in which nothing had to be solved) after settling."""
    memory, settings = Memory(), StepSettings()
    for _ in range(200):
        state, report = step(model, state, None, settings, memory)
    before, kept = state.q.copy(), 0
    for _ in range(steps):
        state, report = step(model, state, None, settings, memory)
        assert report.solution.converged
        kept += report.solution.iterations == 0
    return np.abs(state.q - before).max(), kept / steps


def test_what_rests_sleeps_and_does_not_creep():
    creep, kept = asleep(*stacks(3, 2), 1500)
    assert creep <= 1e-9
    assert kept > 0.8


@pytest.mark.slow
def test_a_minute_asleep():
    """Sixty seconds in steps of a millisecond."""
    creep, kept = asleep(*stacks(3, 2), 60_000)
    assert creep <= 1e-9
    assert kept > 0.9


def test_a_push_wakes_one_island_and_the_others_sleep_on():
    model, state = stacks(3, 2)
    memory, settings = Memory(), StepSettings()
    for _ in range(300):
        state, _ = step(model, state, None, settings, memory)
    wrench = np.zeros((model.body_count, 6))
    wrench[1, 0] = 60.0  # more than friction holds: 0.5 · 8 kg · 9.81 m/s²
    before = state.q.copy()
    for _ in range(100):
        state, report = step(model, state, Inputs.of(model, wrench=wrench), settings, memory)
        assert report.solution.converged
    moved = np.abs(state.q - before).max(axis=1)
    assert moved[1] > 1e-3
    assert np.delete(moved, [0, 1]).max() < 1e-9
    assert any("9 islands: 8 kept as they were" in each for each in report.solution.trace.words)


def test_steps_in_threads_have_the_same_bits(monkeypatch):
    """Every box of nine stacks is pushed its own way: nothing rests, and islands are solved side by side."""
    monkeypatch.setattr(by_islands, "_CHUNK", 2)
    model, start = stacks(3, 2)
    pushes = np.zeros((model.body_count, 6))
    pushes[:, :2] = np.random.default_rng(0).uniform(-60.0, 60.0, (model.body_count, 2))
    ends = []
    for threads in (1, 2, 3):
        state, memory, settings = start, Memory(), StepSettings(threads=threads)
        for _ in range(40):
            state, report = step(model, state, Inputs.of(model, wrench=pushes), settings, memory)
            assert report.solution.converged
        assert any("solved in one compiled loop" in each for each in report.solution.trace.words)
        ends.append((state.q, state.u))
    assert all(np.array_equal(q, ends[0][0]) and np.array_equal(u, ends[0][1]) for q, u in ends[1:])


def test_a_guess_that_would_speed_things_up_is_not_kept_in_a_step():
    """Reactions off by a little within the tolerance: a solve may return them, a step would add the error each time."""
    model, state = stacks(2, 2)
    memory = Memory()
    for _ in range(200):
        state, report = step(model, state, None, StepSettings(), memory)
    problem, guess = report.problem, report.solution.reactions * (1.0 + 2e-7)
    assert residuals.measure(problem, guess).relative < 1e-6
    assert solve(problem, guess=guess, tol=1e-6, tol_velocity=1e-6).iterations > 0
    apart = Problem(
        problem.delassus,
        problem.free_velocity,
        problem.cone,
        problem.law,
        u_f=problem.u_f,
        bias=problem.bias,
        rest_speed=problem.rest_speed,
    )
    assert solve(apart, guess=guess, tol=1e-6, tol_velocity=1e-6).iterations == 0


def test_gaps_of_rounding_size_ask_for_nothing_and_larger_ones_without_a_jump():
    """Bias of a contact over its gap: zero near touching, and continuous, or what rests would be kicked."""
    gravity, h = np.array([0.0, 0.0, -9.81]), 1e-3
    pushing, touching = Stabilisation().pushing(gravity, h, 0.5 * h), 1e-6 * h * h * 9.81
    gaps = np.linspace(-10.0, 10.0, 2001) * touching
    bias = np.array([contact_bias(pushing, gap, 0.0, 0.0, h, h, 0.0, 0.0) for gap in gaps])
    assert (bias[np.abs(gaps) <= touching] == 0.0).all()
    assert (bias[gaps > 1.01 * touching] > 0.0).all()
    assert (bias[gaps < -1.01 * touching] < 0.0).all()
    assert np.abs(np.diff(bias)).max() <= 1.01 * np.diff(gaps).max() / h


def test_what_creeps_is_solved_to_the_tolerances_and_no_further():
    """A pile that slides on faster than errors of the tolerance does not come to rest by being solved to all digits,
    which is several times the work; what moves by no more than such errors does."""
    model, state = stacks(1, 6)
    memory, settings = Memory(), StepSettings()
    for _ in range(50):
        state, report = step(model, state, None, settings, memory)
    problem, guess = report.problem, report.solution.reactions
    limit = 1e-6 * float(problem.velocity_scale.min())
    for speed, is_finished in ((0.5 * limit, True), (5.0 * limit, False)):
        sliding = np.zeros((model.body_count, 6))
        sliding[:, 0] = speed
        rows = problem.delassus.rows_times(sliding.ravel())
        moving = Problem(
            problem.delassus,
            problem.free_velocity + rows,
            problem.cone,
            problem.law,
            u_f=problem.u_f + sliding.ravel(),
            bias=problem.bias,
            rest_speed=problem.rest_speed,
            before=problem.before + sliding.ravel(),
        )
        solution = solve(moving, guess=guess, tol=1e-6, tol_velocity=1e-6)
        assert solution.converged
        assert solution.iterations > 0
        assert any("about to rest" in each for each in solution.trace.words) == is_finished
