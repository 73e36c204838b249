"""The claims of Tsounis et al. 2025 are held against what methods do: wrong methods and swapped labels do not agree."""

from dataclasses import replace

import numpy as np
import pytest

from delassus.bench.extract import Take, extract
from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.softening import Softening
from delassus.solvers import ALL_ROWS, SOLVERS, Method, Settings, Solver
from delassus.solvers.table import find
from delassus_papers.criterion import AGREES
from delassus_papers.experiments import comparison, constraint_softening, local_solvers
from delassus_papers.measure.dual_solvers import (
    OURS,
    PUBLISHED,
    SPLITTING,
    draw_accuracy,
    draw_categories,
    draw_profiles,
    draw_starts,
    race,
    solved,
    stopping,
)

COMPARISON = {claim.key: claim.criterion for claim in comparison.CLAIMS}
LOCAL = {claim.key: claim.criterion for claim in local_solvers.CLAIMS}
SOFT = {claim.key: claim.criterion for claim in constraint_softening.CLAIMS}


class _Nothing(Method):
    """Returns zero, or where it was put."""

    def advance(self, count):
        pass


@pytest.fixture(scope="module")
def nothing():
    SOLVERS.register(Solver(Settings(solver="nothing"), tuple(Law), ALL_ROWS, "nobody", "for this test", _Nothing))
    yield "nothing"
    SOLVERS.remove("nothing")


@pytest.fixture(scope="module")
def samples():
    """A box that slides and rests, an arm and a machine with loops: two steps each."""
    return [sample for scene in ("box-on-plane", "arm7d", "misha") for sample in extract(Take(scene, 2, 1, 2))]


@pytest.fixture(scope="module")
def rows(samples):
    methods = {label: PUBLISHED[label] for label in ("NBGS", "ADMM-NCP-FP", "ADMM-NCP-LA")}
    return race(samples, methods, ("cold", "warm"))


def test_ten_solvers_as_published_and_ours():
    assert len(PUBLISHED) == 10
    for label, name in PUBLISHED.items():
        settings = find(name)[1]
        if label.startswith("ADMM"):
            assert (settings.scaled, settings.joints, settings.anderson) == (False, "split", 0)
            assert (settings.rho, settings.every, settings.ratio, settings.factor) == (1.0, 1, 10.0, 1.5)
            assert (settings.power, settings.power_step) == (0.2, 0.05)
            assert settings.eta == (0.0 if label == "ADMM-CCP" else 1e-6)
        else:
            assert (settings.omega, settings.omega_backoff, settings.omega_decay) == (1.0, 1.0, 1.0)
    assert {label: find(PUBLISHED[label])[1].local for label in SPLITTING} == {
        "PGS-CCP": "ccp",
        "PGS-NCP": "ncp",
        "NBGS": "conic",
        "RAISIM": "bisection",
        "RAISIM-DS": "bisection",
        "RAISIM-DS-ES": "bisection",
    }
    assert all(name not in PUBLISHED.values() for name in OURS.values())
    stops = {label: settings.own_stop for label, settings in stopping(PUBLISHED).items()}
    assert [label for label, stop in stops.items() if stop is None] == ["RAISIM-DS-ES"]


def test_a_solver_that_returns_zero_agrees_with_no_claim_about_the_suite(samples, rows, nothing):
    idle = race(samples, {"ADMM-NCP-FP": nothing, "NBGS": nothing}, ("cold", "warm"))
    assert solved(idle, "ADMM-NCP-FP") == 0.0
    assert COMPARISON["fixed-penalty"].judge(solved(idle, "ADMM-NCP-FP")) != AGREES
    assert COMPARISON["difficulty"].judge(comparison.failing(idle)) != AGREES  # all fail alike
    assert COMPARISON["warm-start"].judge(comparison.faster_when_warm(idle)) != AGREES
    assert COMPARISON["relaxation"].judge(comparison.price_of_one_factor({1.0: idle, 1.8: idle})) != AGREES
    assert COMPARISON["divergence"].judge(comparison.diverging({1.0: idle, 1.8: idle}, 1.8)) != AGREES
    assert COMPARISON["mass-ratio"].judge(comparison.by_mass_ratio({"NBGS": nothing})) != AGREES


def test_right_methods_do_and_swapped_labels_do_not(samples, rows):
    assert COMPARISON["fixed-penalty"].judge(solved(rows, "ADMM-NCP-FP")) == AGREES
    assert COMPARISON["warm-start"].judge(comparison.faster_when_warm(rows)) == AGREES
    swapped = [replace(row, start={"cold": "warm", "warm": "cold"}[row.start]) for row in rows]
    assert COMPARISON["warm-start"].judge(comparison.faster_when_warm(swapped)) != AGREES
    found = comparison.conditions(samples)
    assert COMPARISON["conditioning"].judge(found) == AGREES
    assert COMPARISON["conditioning"].judge(dict(zip(found, reversed(found.values())))) != AGREES


def test_a_guess_must_gain_significantly_and_not_fail(rows):
    """One iteration fewer is no significant gain, and a guess from which a method fails is none at all."""
    cold = [replace(row, iterations=90) for row in rows if row.start == "cold" and row.solved]
    assert len(cold) > 1

    def judged(**changes):
        warm = [replace(row, start="warm", **changes) for row in cold]
        return COMPARISON["warm-start"].judge(comparison.faster_when_warm([*cold, *warm]))

    assert judged(iterations=60) == AGREES
    assert judged(iterations=89) != AGREES  # of a method that hardly profits
    assert judged() != AGREES  # of one that forgets its guess
    assert judged(iterations=1, solved=False) != AGREES  # of one that gets lost from it
    free = [replace(row, start=start, iterations=0) for row in cold for start in ("cold", "warm")]
    assert np.isnan(comparison.faster_when_warm(free))  # bodies in flight: there is nothing to gain
    other = [replace(row, start="warm", iterations=1, rows=row.rows + 3 * row.step) for row in cold]
    assert np.isnan(comparison.faster_when_warm([*other]))  # contacts have changed: such a guess is not meant


def test_slow_is_not_divergent(rows):
    """Relaxed too much, methods must diverge: running out of iterations is something else, and so is failing anyway."""
    done = [row for row in rows if row.start == "cold" and row.solved]
    slow = [replace(row, solved=False, status="max_iterations") for row in done]
    gone = [replace(row, solved=False, status="diverged") for row in done]
    for one, other, verdict in ((done, gone, True), (done, slow, False), (done, done, False), (gone, gone, False)):
        found = comparison.diverging({1.0: one, 1.8: other}, 1.8)
        assert (COMPARISON["divergence"].judge(found) == AGREES) == verdict
    settings = find("pgs-ccp-plain")[1]
    problem = extract(Take("nunchuk", 1000, 2, 1))[-1:]  # at rest: PGS-CCP does diverge
    found = {omega: race(problem, {"PGS-CCP": settings.changed(omega=omega, omega_min=omega)}) for omega in (1.0, 1.8)}
    assert comparison.diverging(found, 1.8) == 1


def test_an_early_stop_must_lose_nothing_of_weight(rows):
    """Any stop that comes earlier saves iterations: it must leave about the same error, too."""
    late = [replace(row, solver="RAISIM-DS") for row in rows if row.start == "cold" and row.solver == "NBGS"]
    early = [replace(row, solver="RAISIM-DS-ES", iterations=row.iterations - 1) for row in late]
    worse = [replace(row, natural_map=1.0) for row in early]  # of a method that stops at once, at zero
    never = [replace(row, iterations=row.iterations + 2) for row in early]
    told = [COMPARISON["early-stop"].judge(comparison.lost_by_stopping([*late, *one])) for one in (early, worse, never)]
    assert [verdict == AGREES for verdict in told] == [True, False, False]


def test_one_relaxation_factor_for_all_has_its_price(rows):
    """None where one factor is the fastest everywhere, or next to it; some where each fails what the other solves."""
    cold = [row for row in rows if row.start == "cold" and row.solver == "NBGS" and row.solved]
    assert len(cold) > 1
    slower = [replace(row, iterations=row.iterations + 1000) for row in cold]
    assert comparison.price_of_one_factor({1.0: cold, 1.8: slower}) == 1.0
    assert COMPARISON["relaxation"].judge(comparison.price_of_one_factor({1.0: cold, 1.8: slower})) != AGREES
    first, last = (
        [replace(row, solved=(k == 0) == is_first) for k, row in enumerate(cold)] for is_first in (True, False)
    )
    assert COMPARISON["relaxation"].judge(comparison.price_of_one_factor({1.0: first, 1.8: last})) == AGREES
    ten = [replace(row, iterations=10) for row in cold]
    thirty = [replace(row, iterations=30 if k else 3) for k, row in enumerate(cold)]
    assert comparison.price_of_one_factor({1.0: ten, 1.8: thirty}) == 3.0


def test_pictures_are_drawn(rows, tmp_path):
    cold = [row for row in rows if row.start == "cold"]
    draw_profiles(tmp_path / "a.png", cold, cold, "a title")
    draw_accuracy(tmp_path / "b.png", cold, cold)
    draw_categories(tmp_path / "c.png", cold, cold)
    constraint_softening.draw(tmp_path / "d.png")
    draw_starts(tmp_path / "e.png", rows, rows)
    assert all((tmp_path / f"{name}.png").stat().st_size > 5000 for name in "abcde")


def test_local_solvers_right_and_wrong(nothing):
    problems = local_solvers.coupled(3)
    assert LOCAL["identical"].judge(local_solvers.difference(problems, "nbgs-preclik", "raisim")) == AGREES
    assert LOCAL["identical"].judge(local_solvers.difference(problems, "nbgs-preclik", "raisim-ds")) != AGREES
    assert LOCAL["identical"].judge(local_solvers.difference(problems, "nbgs-preclik", nothing)) != AGREES
    joints = random_rigid(np.random.default_rng(1), bodies=6, contacts=0, joints=5)
    assert LOCAL["linear"].judge(local_solvers.from_linear_algebra(joints, "pgs-ncp-plain")) == AGREES
    assert LOCAL["linear"].judge(local_solvers.from_linear_algebra(joints, "admm-ncp-fp-plain")) != AGREES
    assert LOCAL["linear"].judge(local_solvers.from_linear_algebra(joints, nothing)) != AGREES
    power = {label: local_solvers.power_by_coupling(PUBLISHED[label], [0.7])[0] for label in ("RAISIM-DS", "RAISIM")}
    assert LOCAL["mdp"].judge(power) == AGREES
    assert LOCAL["mdp"].judge({"RAISIM-DS": power["RAISIM"], "RAISIM": power["RAISIM-DS"]}) != AGREES
    idle = local_solvers.power_by_coupling(nothing, [0.7])[0]
    assert LOCAL["mdp"].judge({"RAISIM-DS": idle, "RAISIM": idle}) != AGREES
    assert LOCAL["ncp-mdp"].judge(idle) != AGREES


def test_lifting_right_and_wrong(nothing):
    flat = local_solvers.single(0.0)
    convex = flat.with_law(Law.CCP)
    held = local_solvers.lifting(flat, local_solvers.iterated(flat, "pgs-ccp-plain", 500))
    lifted = local_solvers.lifting(convex, local_solvers.iterated(convex, "pgs-ccp-plain", 500))
    assert lifted == pytest.approx(local_solvers.MU)  # K* has the slope μ
    assert LOCAL["ccp-lifts"].judge({"with the term": held, "without": lifted}) == AGREES
    assert LOCAL["ccp-lifts"].judge({"with the term": lifted, "without": held}) != AGREES
    idle = local_solvers.lifting(flat, local_solvers.iterated(flat, nothing, 500))
    assert LOCAL["ncp-normal"].judge(idle) != AGREES
    assert LOCAL["ncp-normal"].judge(lifted) != AGREES


def test_proximal_term_right_and_wrong():
    problem = random_rigid(np.random.default_rng(3), bodies=5, contacts=3, joints=3, redundant_joints=True)
    found = local_solvers.bias(problem, find("admm-ncp-fp-plain")[1])
    assert LOCAL["proximal"].judge(found) == AGREES
    assert LOCAL["proximal"].judge(dict(zip(found, reversed(found.values())))) != AGREES


def test_softening_right_and_wrong():
    ends, middle = constraint_softening.shape_errors(Softening.impedance_of)
    assert (SOFT["ends"].judge(ends), SOFT["midpoint"].judge(middle)) == (AGREES, AGREES)
    wrong = {
        "one-sided": lambda soft, r: soft.impedance_of(np.maximum(r, 0.0)),
        "constant": lambda soft, r: np.full(len(r), soft.impedance),
        "steps": lambda soft, r: np.where(np.abs(r) < soft.width, soft.impedance, soft.impedance_width),
    }
    found = {name: constraint_softening.shape_errors(curve) for name, curve in wrong.items()}
    assert SOFT["ends"].judge(found["one-sided"][0]) != AGREES
    assert SOFT["ends"].judge(found["constant"][0]) != AGREES
    assert SOFT["midpoint"].judge(found["steps"][1]) != AGREES
    hard = extract(Take("box-on-plane", 2, 1, 1))[0].problem  # four contacts under one box: hyperstatic
    soft = constraint_softening.softened(hard, 0.95)
    spread = {"softened": constraint_softening.spread(soft), "hard": constraint_softening.spread(hard)}
    assert SOFT["unique"].judge(spread) == AGREES
    assert SOFT["unique"].judge({"softened": spread["hard"], "hard": spread["softened"]}) != AGREES
