"""Few rigid bodies and mechanisms are attempted in one compiled call, which ends with the least reactions."""

import numpy as np
import pytest

from delassus import Law, Problem, Status, residuals, solve
from delassus.problem.random import random_rigid
from delassus.scenes import SCENES
from delassus.simulation import simulate, step
from delassus.solvers import plan, run
from delassus.solvers.auto.islands import has_islands
from delassus.solvers.auto.least import least_reactions
from delassus.solvers.auto.stages import MOST_CONVEX
from delassus.solvers.newton.small import MOST_JOINT_ROWS
from delassus.solvers.plan import ALWAYS_LEAST, MANY_ROWS, plan_of


@pytest.fixture
def driven(monkeypatch):
    """`solve` by the loop over batches alone."""

    def call(*given, **named):
        with monkeypatch.context() as patch:
            patch.setattr(run, "_attempt", lambda *_: None)
            return solve(*given, **named)

    return call


def problem_of(seed: int, law: Law = Law.NCP, compliance: float = 0.0):
    """Joints, limits and contacts of a few bodies."""
    rng = np.random.default_rng(seed)
    counts = {
        "joints": int(rng.integers(0, 3)),
        "limits": int(rng.integers(0, 3)),
        "contacts": int(rng.integers(1, 12)),
    }
    return random_rigid(rng, bodies=int(rng.integers(2, 6)), law=law, compliance=compliance, **counts)


@pytest.mark.parametrize("max_iter", [0, 1, 3, 1000])
def test_attempts_keep_to_their_limits_and_are_judged(max_iter):
    """From zero and from a guess, converged or cut off."""
    statuses = set()
    for seed in range(12):
        problem = problem_of(seed)
        guesses = [None, solve(problem).reactions * (1.0 + 1e-5 * np.random.default_rng(seed).standard_normal())]
        for guess in guesses:
            found = solve(problem, guess=guess, tol=1e-9, max_iter=max_iter)
            statuses.add(found.status)
            assert found.trace.words[0].startswith("an attempt in one compiled call")
            assert found.solver == "prox-ssn"
            assert found.iterations <= max_iter
            assert found.residuals == residuals.evaluate(problem, found.reactions)
            assert found.trace.iterations[0] == 0
            assert found.trace.iterations[-1] == found.iterations
    assert (Status.MAX_ITERATIONS in statuses) == (max_iter < 1000)


def test_a_guess_is_not_written_to():
    problem = problem_of(5)
    guess = np.full(problem.row_count, 0.1)
    solve(problem, guess=guess)
    assert np.array_equal(guess, np.full(problem.row_count, 0.1))


def test_a_guess_for_one_island_of_many_rows_is_tried_as_a_whole():
    rng = np.random.default_rng(1)
    problem = random_rigid(rng, bodies=8, joints=7, contacts=30)
    assert MANY_ROWS < problem.row_count <= ALWAYS_LEAST
    assert not has_islands(problem)
    guess = solve(problem).reactions
    assert not plan_of(problem, guess=guess).by_islands
    several = random_rigid(rng, bodies=40, contacts=40)
    assert has_islands(several)
    guess = solve(several).reactions
    assert plan_of(several, guess=guess).by_islands
    for nothing in (None, 0.0 * guess, np.stack([guess, guess])):  # two doubles per reaction are for other methods
        assert not plan_of(several, guess=nothing).by_islands


def test_joints_hold_far_below_a_loose_tolerance():
    """From zero and from a guess, whatever contacts are left at."""
    seen = 0
    for seed in range(20):
        problem = problem_of(seed)
        joints = problem.cone.bilateral_rows
        for guess in (None, 1.01 * solve(problem).reactions):
            found = solve(problem, guess=guess, tol=1e-3)
            assert found.converged
            if joints and found.iterations:  # a guess well within the tolerances is returned as it is
                seen += 1
                assert np.abs(found.velocities[:joints]).max() <= 1e-8 * np.abs(problem.free_velocity).max()
    assert seen > 10


def test_a_mechanism_of_many_joints_is_attempted_in_one_call(driven):
    """And finds what the method finds that is driven from outside."""
    setup = SCENES["walker"].build()
    problem = step(setup.model, setup.state, None, setup.settings)[1].problem
    assert problem.row_count > 180
    quick = solve(problem, tol=1e-9)
    assert quick.converged
    assert quick.trace.words[0].startswith("an attempt in one compiled call")
    usual = driven(problem, tol=1e-9)
    assert usual.trace.words[0].startswith("prox-ssn")
    assert np.allclose(quick.reactions, usual.reactions, rtol=0.0, atol=1e-6 * np.abs(usual.reactions).max())


def test_a_guess_within_the_tolerances_is_not_laboured_at():
    """As a nunchuk comes to rest it rocks from end to end, and Newton's method finds nothing better than some guesses
    that will do: it took up to 25 systems to say so."""
    setup, counts = SCENES["nunchuk"].build(), []

    def watch(number, state, report, memory):
        solution = report.solution
        begin = solution.trace.natural_map_relative[:1], solution.trace.worst_velocity_relative[:1]
        if solution.iterations and begin[0] <= [solution.tol] and begin[1] <= [solution.tol_velocity]:
            counts.append(solution.iterations)

    simulate(setup.model, setup.state, setup.inputs, setup.settings, range(340), watch=watch)
    assert len(counts) > 20
    assert max(counts) <= 6


@pytest.mark.parametrize("law", list(Law))
def test_where_nothing_closes_no_reactions_are_returned(law):
    """Not the rounding that sweeps would leave, and without an iteration."""
    problem = problem_of(4, law)
    cone, free = problem.cone, np.zeros(problem.row_count)
    free[cone.bilateral_rows : cone.contact_start] = 1.0
    free[cone.contact_start :: 3] = 1.0
    apart = problem.shifted(free, problem.bias, law)
    solution = solve(apart, tol=1e-9)
    assert solution.converged
    assert solution.iterations == 0
    assert not solution.reactions.any()


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_under_convex_laws_it_finds_the_least_reactions_too(law):
    """What the interior point finds."""
    for seed in range(12):
        problem = problem_of(seed, law)
        quick = solve(problem, tol=1e-9)
        assert quick.converged
        assert quick.solver == "prox-ssn"
        assert quick.iterations <= MOST_CONVEX
        assert np.allclose(quick.reactions, least_by_interior_point(problem), rtol=0.0, atol=1e-6)


def test_the_interior_point_goes_on_from_where_newton_was_stopped(monkeypatch):
    """With the count and the trace of both, the least reactions, and no more iterations than allowed."""
    problem = problem_of(6, Law.CCP)
    first, last = plan.auto_stages(problem)
    assert first.is_one_call
    monkeypatch.setattr(plan, "auto_stages", lambda *_: (first._replace(most=3), last))
    whole, cut = solve(problem, tol=1e-9), solve(problem, tol=1e-9, max_iter=4)
    assert whole.converged
    assert whole.solver == "prox-ssn, ipm"
    assert whole.trace.iterations == sorted(whole.trace.iterations)
    assert np.allclose(whole.reactions, least_by_interior_point(problem), rtol=0.0, atol=1e-7)
    assert cut.status is Status.MAX_ITERATIONS
    assert cut.iterations == 4
    assert cut.residuals.natural_map_relative <= cut.trace.natural_map_relative[0]


def least_by_interior_point(problem):
    """Reactions of another method, the least of those that give its motion."""
    found = solve(problem, "ipm", tol=1e-10)
    least = least_reactions(problem, found.reactions, found.velocities, found.residuals.worst_velocity_relative)
    return found.reactions if least is None else least


@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
def test_the_path_to_the_least_reactions_is_for_few_rows_and_mechanisms(law):
    def follows(problem):
        first = plan_of(problem).stages[0]
        return first.line.ends_least and first.settings.least

    few, of = problem_of(1, law), problem_of(1)
    assert follows(few)
    many = random_rigid(np.random.default_rng(0), bodies=12, contacts=60)
    mechanism = random_rigid(np.random.default_rng(0), bodies=40, joints=22, contacts=6, redundant_joints=True, law=law)
    contacts = random_rigid(np.random.default_rng(0), bodies=40, joints=20, contacts=60, law=law)
    assert not follows(many)
    assert ALWAYS_LEAST < mechanism.row_count <= MOST_JOINT_ROWS
    assert follows(mechanism)
    assert follows(contacts) is (law is Law.CCP)  # contacts are most of its rows
    heavy = few.delassus
    heavy.mass[0] *= 1e14
    odd = Problem(heavy, of.free_velocity, of.cone, law, u_f=of.u_f, bias=of.bias)
    assert "ipm-dd" in [stage.line.name.partition("+")[0] for stage in plan_of(odd).stages]


@pytest.mark.parametrize("contacts", [0, 6])
def test_a_mechanism_of_some_hundred_rows_is_attempted_at_once_too(contacts, driven):
    """With the motion that the loop finds; beside contacts joints that are there twice share their load."""
    for seed in range(3):
        problem = random_rigid(
            np.random.default_rng(seed), bodies=40, joints=22, contacts=contacts, redundant_joints=True
        )
        assert ALWAYS_LEAST < problem.row_count <= MOST_JOINT_ROWS
        found, usual = solve(problem, tol=1e-9), driven(problem, tol=1e-9)
        assert found.converged
        assert found.trace.words[0].startswith("an attempt in one compiled call")
        assert np.allclose(found.body_velocities, usual.body_velocities, rtol=0.0, atol=1e-6)
        one, other = found.reactions[: problem.cone.bilateral_rows].reshape(2, -1)
        assert contacts == 0 or np.allclose(one, other, rtol=0.0, atol=1e-9 * np.abs(one).max())


MIXED = {"bodies": (2, 8), "contacts": (2, 14), "joints": (0, 4), "limits": (0, 3)}


@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
def test_bits_do_not_depend_on_what_the_process_has_solved(law):
    """Masses far apart and compliant contacts included, for which no solver in double-double arithmetic takes over."""
    seeds = 118, 227, 283, 305, 306
    first = [solve(mixed(seed, law), tol=1e-8) for seed in seeds]
    for _ in range(120):
        solve(problem_of(3))
    for seed, before in zip(seeds, first):
        again = solve(mixed(seed, law), tol=1e-8)
        assert np.array_equal(before.reactions, again.reactions)
        assert before.iterations == again.iterations


def mixed(seed: int, law: Law) -> Problem:
    """Bodies whose masses are far apart, with compliant contacts, joints and limits."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(*most)) for name, most in MIXED.items()}
    return random_rigid(rng, mass_ratio=10.0 ** rng.choice([5, 9]), compliance=1e-3, law=law, **sizes)
