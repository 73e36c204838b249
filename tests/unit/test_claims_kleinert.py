"""Claims of Kleinert et al. 2014: right answers agree, wrong methods and swapped labels do not."""

import math
from dataclasses import replace

import numpy as np
import pytest

from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.method import Method
from delassus.solvers.table import find
from delassus_papers.criterion import AGREES
from delassus_papers.experiments import (
    blade_draft,
    hyperstatic,
    pile_convergence,
    pile_krylov,
    pile_spectrum,
    pile_strategies,
)
from delassus_papers.measure.descent import Descent, descend, follow
from delassus_papers.measure.disks import ten_disks
from delassus_papers.measure.drafts import Draft
from delassus_papers.measure.piles import TOUCHING, pile_of
from delassus_papers.measure.spectrum import NAMES, Range


class Zero(Method):
    """A solver that returns zero."""

    def advance(self, count):
        self.reactions[:] = 0.0


def verdicts(module, found):
    """By key, of what was found."""
    criteria = {claim.key: claim.criterion for claim in module.CLAIMS}
    return {key: criteria[key].judge(value) for key, value in found.items() if key in criteria}


def zero(problem, iterations=8):
    return follow(
        "zero",
        problem,
        Zero(problem, SOLVERS["jacobi"].settings, np.zeros(problem.row_count)),
        1e-4,
        iterations=iterations,
    )


@pytest.fixture(scope="module")
def pile(tmp_path_factory):
    return pile_of(24, tmp_path_factory.mktemp("piles"))


def falling(rate, count=60, inner=10.0, first=10.0, name=""):
    """A descent whose error falls by `rate` per iteration."""
    k = np.arange(1, count + 1)
    error = first * rate ** -k.astype(float)
    return Descent(
        name,
        list(k),
        list(0.01 * k),
        list(inner * k),
        list(2 * inner * k),
        list(error),
        list(error),
        list(0.9 * error),
        [1.0] * count,
        19,
    )


# -- the pile itself -------------------------------------------------------------------------------------------------


def test_pile_is_at_rest_and_hyperstatic(pile):
    """Nothing moves, every touching contact carries load and sticks; as settled, gaps of micrometres undo both."""
    reactions = solve(pile.problem, "ipm", tol=1e-8).reactions
    assert np.abs(pile.problem.body_velocity(reactions)).max() < 1e-4 * 9.81 * pile.h
    loaded, stuck = pile.loaded()
    assert loaded == stuck
    assert 3.0 * stuck > 1.5 * 3.0
    assert pile.loaded(pile.settled)[1] < 0.5 * stuck
    assert pile.speed < 2e-3
    assert pile_of(24, how="rest", reach=TOUCHING).problem.contact_count == pile.touching


# -- figures 9, 10, 11 -----------------------------------------------------------------------------------------------


def test_a_solver_that_returns_zero_agrees_with_nothing(pile):
    none = zero(pile.problem)
    runs = dict.fromkeys(pile_krylov._KRYLOV, none)
    found = {
        "fewest": pile_krylov.fewest(runs),
        "bare": pile_krylov.ratio(none, none, 1e-2),
        "together": pile_krylov.together(none),
        "feasible": pile_krylov.last_feasible([none]),
        "ilu0": none.stuck,
        "limit": pile_krylov.at_limit(pile_krylov.per_direction(none)),
    }
    assert AGREES not in verdicts(pile_krylov, found).values()
    both = {pile_strategies.PATH: none, pile_strategies.POTENTIAL: none}
    found = {
        key: pile_strategies.compared(both, what)
        for key, what in (
            ("outer-direct", "iteration"),
            ("outer-krylov", "iteration"),
            ("inner", "inner"),
            ("faster", "seconds"),
        )
    }
    found |= {"stops": pile_strategies.stops_at(none), "machine": min(none.error)}
    found |= {"further": dict.fromkeys(both, min(none.error)), "constant": pile_strategies.constancy(none)}
    assert AGREES not in verdicts(pile_strategies, found).values()
    race = pile_convergence.WholeRace(pile, none, none, none, none, none)
    own = pile_convergence.numbers(race, race)
    found = {key: own[key] for key in own if key != "ours"}
    assert len(found) == len(pile_convergence.CLAIMS)
    assert AGREES not in verdicts(pile_convergence, found).values()


def test_labels_swapped_do_not_agree(pile):
    """Path-following called potential reduction, and the other way round, with real runs."""
    names = pile_strategies._NAMES
    right = {name: pile.published(strategy=own, linear="direct") for name, own in names.items()}
    runs = pile_strategies.both(pile.problem, right, 60, 30.0, 1e-6)
    swapped = dict(zip(runs, reversed(runs.values())))
    for one, verdict in ((runs, True), (swapped, False)):
        found = {"outer-direct": pile_strategies.compared(one, "iteration")}
        assert (verdicts(pile_strategies, found)["outer-direct"] == AGREES) == verdict
    best, bare = falling(2.0, inner=10.0), falling(2.0, inner=90.0)
    runs = {pile_krylov.BEST: best, "CG, IC(0)": falling(2.0, inner=30.0), pile_krylov.BARE: bare}
    assert pile_krylov.fewest(runs) == pile_krylov.BEST
    assert pile_krylov.fewest({pile_krylov.BEST: bare, "CG, IC(0)": best}) == "CG, IC(0)"


def test_what_a_descent_says_is_what_happened():
    one = falling(2.0)
    assert one.to(1e-3, "iteration") == next(k for k in range(1, 61) if 10.0 * 2.0**-k <= 1e-3)
    assert one.to(1e-30) == math.inf
    assert one.stuck == math.inf
    stopped = replace(one, error=one.error[:12] + [one.error[11]] * 48)
    assert stopped.stuck in (11.0, 12.0)
    assert pile_strategies.stops_at(replace(one, step=[1.0] * 30 + [1e-3] * 30)) == 31.0
    assert pile_strategies.stops_at(one) == math.inf
    assert pile_strategies.constancy(one) == pytest.approx(1.0, abs=0.1)
    assert pile_strategies.decades(one, 10, 20) == pytest.approx(10.0 * math.log10(2.0))
    assert pile_krylov.together(one) == pytest.approx(1.0)
    assert list(pile_krylov.per_direction(one)) == [10.0] * 60
    late = replace(one, error=one.error[:30] + [one.error[29]] * 30)
    assert pile_krylov.fails({"a": stopped}, math.inf).published == stopped.stuck
    assert pile_krylov.fails({"a": stopped, "b": late}, math.inf).published == late.stuck
    judged = verdicts(pile_krylov, {"ilu0": stopped.stuck, "ilu1": late.stuck})
    assert [verdict == AGREES for verdict in judged.values()] == [True, False]


def test_convergence_finds_the_published_numbers_where_they_are(pile):
    """Curves made of the paper's own numbers agree; interior point and PGJ swapped do not."""

    def race(inner, pgj, outer):
        ipm = falling(10.0 ** (4.0 / 25.0), 26, inner / 25.0)
        slow = Descent(
            "PGJ",
            [pgj // 4, pgj // 2, pgj, 2 * pgj],
            [0.25, 0.5, 1.0, 2.0],
            [0.0] * 4,
            [0.0] * 4,
            [2e-2, 5e-3, 1e-3, 9e-4],
            [1e-3, 3e-5, 1e-6, 1e-7],
            [2e-2, 5e-3, 1e-3, 9e-4],
            [math.nan] * 4,
        )
        ipm = replace(ipm, seconds=[0.22 * k / 25.0 for k in ipm.iteration])
        return pile_convergence.WholeRace(
            pile, ipm, slow, ipm, falling(10.0 ** (4.0 / outer)), falling(10.0, inner=1.0)
        )

    small, large = race(2000, 15_000, 25), race(2545, 43_000, 25)
    own = pile_convergence.numbers(small, large)
    found = {key: own[key] for key in own if key != "ours"}
    assert set(verdicts(pile_convergence, found).values()) == {AGREES}
    wrong = replace(large, published=large.pgj, pgj=large.published)
    own = pile_convergence.numbers(replace(small, published=small.pgj, pgj=small.published), wrong)
    got = verdicts(pile_convergence, {key: own[key] for key in own if key != "ours"})
    assert {key for key, verdict in got.items() if verdict == AGREES} <= {"outer"}


def test_what_the_interior_point_does_later_does_not_count(pile):
    """PGJ reaches a smaller error in the time in which the interior point reaches the goal: that it goes on for longer
    than PGJ is given is no smaller error."""
    ipm = falling(2.0, 60)
    at_goal = next(k for k, error in enumerate(ipm.error) if error <= 1e-3)
    pgj = replace(falling(2.0, 60), error=[0.5 * error for error in ipm.error[: at_goal + 1]] + [1.0] * (59 - at_goal))
    race = pile_convergence.WholeRace(pile, ipm, pgj, ipm, ipm, ipm)
    least = pile_convergence.numbers(race, race)["least"]
    assert least == {"interior point": ipm.error[at_goal], "PGJ": 0.5 * ipm.error[at_goal]}
    assert verdicts(pile_convergence, {"least": least})["least"] != AGREES


def test_rates_are_compared_not_levels():
    """A cost a thousand times smaller that falls at the same rate is no faster; one that falls at twice the rate is."""
    one = falling(2.0)
    low = replace(one, cost=[1e-3 * cost for cost in one.cost])
    fast = replace(one, cost=[cost**2.5 for cost in one.cost])
    stuck = replace(one, feasibility=[1.0] * 60)
    rates = [pile_convergence.cost_over_feasibility(each) for each in (one, low, fast, stuck)]
    assert rates[:3] == pytest.approx([1.0, 1.0, 2.5])
    judged = [verdicts(pile_convergence, {"pgj-cost": rate, "ipm-cost": rate}) for rate in rates]
    assert [each["pgj-cost"] == AGREES for each in judged] == [False, False, True, False]
    assert [each["ipm-cost"] == AGREES for each in judged] == [True, True, False, False]
    feasible = replace(fast, feasibility=[*one.feasibility[:8], *[0.0] * 52])
    assert pile_convergence.cost_over_feasibility(feasible) == pytest.approx(2.5)


def test_start_by_pgj_is_what_the_race_runs(pile):
    methods = pile_convergence.methods_of(pile)
    assert methods["published"].pgj == 0
    warm = pile_convergence.started_by_pgj(pile, methods, 60.0)
    cold = descend("", pile.problem, methods["published"], 1e-3)
    found = {"started by PGJ": warm.to(1e-3, "inner"), "from 0.25 N s": cold.to(1e-3, "inner")}
    assert verdicts(pile_convergence, {"started": found})["started"] == AGREES
    idle = pile_convergence.started_by_pgj(pile, methods | {"pgj": find("jacobi")[1].changed(omega=1e-12)}, 60.0)
    found = {"started by PGJ": idle.to(1e-3, "inner"), "from 0.25 N s": cold.to(1e-3, "inner")}
    assert verdicts(pile_convergence, {"started": found})["started"] != AGREES  # a PGJ that does nothing


# -- figures 6, 8, 1 -------------------------------------------------------------------------------------------------


def test_disks_have_many_solutions_and_all_leave_them_at_rest():
    disks = ten_disks()
    impulses = hyperstatic.solutions(disks)
    right = hyperstatic.numbers(disks, impulses)
    assert set(verdicts(hyperstatic, right).values()) == {AGREES}
    assert right["many"] == len(disks.bodies) - 20 == 6
    nothing = dict.fromkeys(impulses, np.zeros(len(disks.bodies)))
    assert verdicts(hyperstatic, hyperstatic.numbers(disks, nothing))["zero"] != AGREES
    twice = dict.fromkeys(("a", "b"), impulses["nbgs"])
    wrong = hyperstatic.numbers(disks, {"a": impulses["nbgs"], "b": 0.9 * impulses["nbgs"]})
    assert verdicts(hyperstatic, wrong)["zero"] != AGREES
    same = {key: value.copy() for key, value in zip("ab", twice.values())}
    assert verdicts(hyperstatic, hyperstatic.numbers(disks, same))["two"] != AGREES


def test_spectrum_agrees_with_what_the_paper_describes_and_not_with_swapped_names():
    looks = range(0, 53, 4)

    def ranges(name, low, high, indefinite=()):
        return [Range(k, 10.0 ** (-k / 6), name, low(k), high(k), k in indefinite) for k in looks]

    tau, least = (lambda k: 10.0 ** (-k / 6)), 1e-3
    of = {
        "plain": ranges("plain", tau, lambda k: 1.0 / tau(k)),
        "regularised": ranges("regularised", lambda k: tau(k) + least, lambda k: 1.0 / tau(k)),
        "softer": ranges("softer", lambda k: tau(k) + least, lambda k: 1.0 / tau(k)),
        "ic0": ranges("ic0", lambda k: max(tau(k), 1e-11), lambda k: 1.0 if k < 40 else 1.0 / tau(k) * 1e-8),
        "ilu0": ranges("ilu0", lambda k: 1e-12 if 10 <= k <= 40 else 0.5, lambda k: 2.0, set(range(8, 60))),
    }
    assert set(of) == set(NAMES)
    right = verdicts(pile_spectrum, pile_spectrum.numbers(of, least))
    assert {key for key, verdict in right.items() if verdict != AGREES} <= {"early", "late"}  # of this caricature
    swapped = of | {"plain": of["softer"], "softer": of["plain"], "ic0": of["ilu0"], "ilu0": of["ic0"]}
    wrong = verdicts(pile_spectrum, pile_spectrum.numbers(swapped, least))
    for key in ("quadratic", "bounded", "unbounded", "clustered", "indefinite", "always"):
        assert wrong[key] != AGREES, key


def draft(force, depth, name=""):
    n = len(force)
    return Draft(name, np.arange(n) * 0.01, np.asarray(force, float), np.full(n, depth), np.zeros(n), np.zeros(n), None)


def test_blade_tells_a_wrong_force_from_a_right_one():
    accurate, few = draft([10.0] * 20, 1e-6), draft([7.0] * 20, 1e-3)
    again = [blade_draft.Again(0.1, 10.0, 7.0, 9.8, 10.01, 9.0, 10.01, 8.0, 10.0, 1.0, 0.1)] * 5
    right = blade_draft.numbers([accurate, accurate, few], again)
    assert set(verdicts(blade_draft, right).values()) == {AGREES}
    swapped = blade_draft.numbers(
        [few, accurate, accurate],
        [replace(one, few=one.many, many=one.few, published=one.pgj, pgj=one.published) for one in again],
    )
    assert AGREES not in {verdicts(blade_draft, swapped)[key] for key in ("compliance", "many", "equal-time")}
    same = blade_draft.numbers([accurate] * 3, again)
    assert verdicts(blade_draft, same)["forces"] != AGREES
    nothing = [replace(one, published=0.0, pgj=0.0) for one in again]  # a method that returns zero
    assert verdicts(blade_draft, blade_draft.numbers([accurate, accurate, few], nothing))["equal-time"] != AGREES


def test_equal_time_is_that_of_the_other():
    """`to_error` stops at the error and says how long it took; `for_seconds` stops when that time is over."""
    from delassus import residuals
    from delassus_papers.measure.drafts import for_seconds, to_error

    problem = random_rigid(np.random.default_rng(5), bodies=15, contacts=40, law="ccp")
    reactions, seconds, error = to_error(problem, find("ipm-kleinert")[1], 1e-3, 60)
    assert seconds > 0.0
    assert residuals.evaluate(problem, reactions).error == error <= 1e-3
    assert not for_seconds(problem, find("jacobi")[1], 0.0).any()
    assert for_seconds(problem, find("jacobi")[1], 0.02).any()
