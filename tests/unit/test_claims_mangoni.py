"""The claims of Mangoni's thesis and of Mangoni and Tasora: counted as there, and not met by wrong methods."""

from dataclasses import replace

import numpy as np
import pytest

from delassus.scenes import SCENES
from delassus_papers.claim import Found
from delassus_papers.criterion import AGREES
from delassus_papers.experiments import (
    box_size,
    odd_masses,
    redundant_contacts,
    stacks,
    starting_values,
    three_point_bending,
    warm_start,
)
from delassus_papers.measure.interior_runs import (
    AS_IN_MANGONI_TASORA,
    MANGONI_TASORA,
    PUBLISHED,
    THESIS,
    carried_on,
    figures,
    iterations,
    steps,
    thesis_ipm,
)
from delassus_papers.solvers.thesis import ThesisMethod


def sequence(name, count, **parameters):
    setup = SCENES[name].build(**parameters)
    return [(r.problem, g) for r, g in steps(setup, replace(setup.settings, tol=1e-10, tol_velocity=1e-9), count)]


def verdicts(claims, found):
    """By key, of claims something was found for."""
    return {claim.key: claim.criterion.judge(found[claim.key].published) for claim in claims if claim.key in found}


class Nothing:
    """A solver that returns zero: no iteration, no reaction."""

    finished, details = True, {}

    def __init__(self, problem, settings, reactions):
        self.reactions = np.zeros(problem.row_count)

    def advance(self, count):
        pass


@pytest.fixture
def nothing(monkeypatch):
    """Every interior point of the table returns zero."""
    from delassus_papers.measure import interior_runs

    def find(settings):
        return replace(interior_runs_find(settings)[0], start=Nothing), settings

    interior_runs_find = interior_runs.find
    monkeypatch.setattr(interior_runs, "find", lambda s: find(s) if not isinstance(s, str) else interior_runs_find(s))


def test_figures_of_a_solution_meet_the_rule_and_those_of_nothing_do_not():
    (problem, _), (_, guess) = sequence("single-brick", 2)
    assert THESIS.met(figures(problem, guess))
    zero = figures(problem, np.zeros(problem.row_count))
    assert zero.primal > 1e-3
    assert zero.mu == 0.0
    assert not THESIS.met(zero)


def test_the_published_method_is_counted_by_its_own_variables():
    """r_d of velocities of one is there at the start, and gone at the end."""
    (problem, _), *_ = sequence("balls-in-the-box", 1, n=10)
    found = iterations(problem, thesis_ipm(), THESIS)
    assert found.is_met
    assert found.figures[0].momentum > 1e-6
    assert THESIS.met(found.figures[-1])
    assert not THESIS.met(found.figures[-2])
    assert iterations(problem, thesis_ipm(), MANGONI_TASORA).iterations < found.iterations
    assert not iterations(problem, thesis_ipm(), THESIS, most=3).is_met


def test_totals_of_table_5_1_leave_calls_without_contacts():
    for printed in (warm_start.PRINTED["ball"], warm_start.PRINTED["brick"]):
        c, calls = warm_start.per_call(printed)
        assert calls < 100
        assert c * calls == pytest.approx(printed[0], rel=0.01)
        assert c + calls - 1 == pytest.approx(printed[2], rel=0.01)


def test_a_full_warm_start_of_a_resting_body_takes_one_iteration_a_call():
    setup = SCENES["single-ball"].build(size=1.0)
    full, none = (
        [one.iterations for one in carried_on(setup, thesis_ipm(warm=warm), THESIS, 6)] for warm in ("full", "none")
    )
    assert full[1:] == [1] * 5
    assert min(none) > 5


def test_warm_start_claims_fail_where_nothing_is_solved_and_where_labels_are_swapped(nothing):
    scene = warm_start.Scene(SCENES["single-ball"].build(size=1.0), 3)
    assert all(np.isnan(mean) for mean in warm_start.counts(scene, THESIS, thesis_ipm()).values())
    told = {"none": 9.0, "partial": 6.5, "full": 1.1, "centred": 4.0}
    swapped = told | {"none": told["full"], "full": told["none"]}
    for found, good in ((told, True), (swapped, False), (dict.fromkeys(told, np.nan), False)):
        keyed = {f"mangoni-ball-{key}": one for key, one in warm_start.findings(found, 2.0, "").items()}
        assert (set(verdicts(warm_start.CLAIMS, keyed).values()) == {AGREES}) == good


def test_a_method_without_the_fallback_does_not_end(monkeypatch):
    """Mangoni, thesis, §4.11."""
    assert warm_start.falls_back(thesis_ipm())
    monkeypatch.setattr(
        ThesisMethod,
        "_begin",
        lambda self, settings, begin=ThesisMethod._begin: (
            begin(self, settings) if settings.warm != "none" else setattr(self, "finished", True)
        ),
    )
    assert not warm_start.falls_back(thesis_ipm())


def test_iterations_do_not_grow_with_the_number_of_balls():
    """Mangoni, PhD thesis, Table 5.3, small: 17.2 to 17.9 there."""
    given = {n: [p for p, _ in sequence("balls-in-the-box", 3, n=n)] for n in (30, 120)}
    sizes = [box_size.size_of(problems, thesis_ipm(linear="body"), THESIS) for problems in given.values()]
    assert max(size.fast for size in sizes) <= 15.0
    assert box_size._spread([size.published for size in sizes]) <= 1.35


def test_box_claims_fail_where_nothing_is_solved(nothing):
    (problem, _), *_ = sequence("balls-in-the-box", 1, n=10)
    size = box_size.size_of([problem], thesis_ipm(linear="body"), THESIS)
    assert np.isnan(size.published)
    keyed = {f"mangoni-{n}": box_size._found(size, mean) for n, (_, mean) in box_size.TABLE_5_3.items()}
    keyed["mangoni-spread"] = Found(box_size._spread([size.published, size.published]))
    assert AGREES not in verdicts(box_size.CLAIMS, keyed).values()


def small_stacks(settings):
    equal = {name: stacks.curve((5, 10), mass, 1.0, settings) for name, mass in stacks.EQUAL.items()}
    return stacks.findings(equal, stacks.curve((5, 10, 15, 16, 17), 10.0, 10.0, settings))


def test_stacks_of_growing_masses_end_near_fifteen_in_one_double():
    """Mangoni, thesis, §5.3.3, with its own matrix and velocities; one step length, and none, change what is found."""
    found = small_stacks(thesis_ipm(backend="dense"))
    told = verdicts(stacks.CLAIMS, found)
    assert {told[key] for key in ("weight", "linear", "grows", "fifteen", "huge")} == {AGREES}
    assert found["fifteen"].published == 16  # 15 with steps of 0.99 of the way to the boundary
    swapped = {"weight": Found(dict(zip(stacks.EQUAL, reversed(found["weight"].published.values()))))}
    assert AGREES not in verdicts(stacks.CLAIMS, swapped).values()


def test_velocities_that_follow_from_reactions_end_sooner():
    """Eliminated, velocities have no digits left beside reactions 1e12 times apart."""
    runs = stacks.curve((10, 15), 10.0, 10.0, thesis_ipm(linear="body"))
    assert stacks.highest(runs) < 15


def test_a_setting_explains_only_what_it_changes():
    """Height is no cause where the iterations grow with it whatever is switched off."""

    def runs(few, many):
        return {5: stacks.Run(few, True), 50: stacks.Run(many, True)}

    assert stacks.explained(runs(10, 16), 1.0, {"another start": runs(9, 9)}).evidence == (
        "with another start 9 and 9 iterations"
    )
    assert not stacks.explained(runs(10, 16), 1.0, {"another start": runs(9, 15)}).evidence
    agreed = stacks.explained(runs(10, 11), 1.0, {"another start": runs(9, 9)})
    assert (agreed.why, agreed.evidence) == ("", "")


def test_stack_claims_fail_where_nothing_is_solved(nothing):
    told = verdicts(stacks.CLAIMS, small_stacks(thesis_ipm(backend="dense")))
    assert AGREES not in told.values()


def test_redundant_contacts_are_solved_and_their_matrix_is_kept_from_being_singular():
    settings = thesis_ipm(backend="dense", **AS_IN_MANGONI_TASORA)
    hard, soft = (redundant_contacts.conditions(redundant_contacts.brick(4, e), settings) for e in (0.0, 1e-5))
    found = redundant_contacts.findings({4: (True, 8, 1.0)}, hard, soft)
    assert set(verdicts(redundant_contacts.CLAIMS, found).values()) == {AGREES}
    swapped = redundant_contacts.findings({4: (False, 100, 5.0)}, soft, hard)
    told = verdicts(redundant_contacts.CLAIMS, swapped)
    assert AGREES not in (told["converges"], told["accuracy"], told["compliance"])


def test_redundancy_claims_fail_where_nothing_is_solved(nothing, monkeypatch):
    monkeypatch.setattr(redundant_contacts, "COPIES", (1, 4))
    found = redundant_contacts.ends(thesis_ipm())
    assert not any(met for met, _, _ in found.values())
    assert np.isnan(max(left for _, _, left in found.values()))


def test_starting_values_tell_failures():
    """All but the claim that things fail need runs that end."""
    fine = {name: dict.fromkeys(starting_values.ONES, 9.0) | {1.0: 6.0} for name in ("ball", "brick")}
    lost = {name: dict.fromkeys(starting_values.ONES, np.inf) for name in fine}
    keys = ("sensitive", "unstable", "trivial", "robust")
    for tables, wanted in (
        ((fine, fine, fine), (True, False, False, True)),
        ((lost, lost, lost), (False, True, True, False)),
        ((fine, lost, fine), (True, False, True, True)),
    ):
        told = verdicts(starting_values.CLAIMS, starting_values.findings(*tables))
        assert tuple(told[key] == AGREES for key in keys) == wanted
    problem = {"ball": sequence("single-ball", 1)[0][0]}
    row = starting_values.table(problem, thesis_ipm())["ball"]
    assert row[1e4] > row[1.0]


def test_odd_masses_degrade_sweeps_and_not_the_interior_point():
    names = {"interior point": PUBLISHED, "projected fixed point": "nbgs"}
    odd, equal = (odd_masses.runs((4,), 10.0, ratio, names) for ratio in (10.0, 1.0))
    others = ("spectral", "Nesterov's")
    found = odd_masses.findings(
        *(runs | {name: runs["projected fixed point"] for name in others} for runs in (odd, equal))
    )
    assert set(verdicts(odd_masses.CLAIMS, found).values()) == {AGREES}
    swapped = {"interior point": "projected fixed point"} | dict.fromkeys(odd_masses.OTHERS, "interior point")
    turned = odd_masses.findings(*({name: runs[swapped[name]] for name in swapped} for runs in (odd, equal)))
    told = verdicts(odd_masses.CLAIMS, turned)
    assert AGREES not in {told[key] for key in told if key != "converges"}


def bent(h, force, *, converged=True):
    """A run whose steps all cost the same."""
    t = np.arange(h, 0.3 + 0.5 * h, h)
    return three_point_bending.Bent(h, t, force(t), t, t, t, 0.01 * len(t), converged)


def test_bending_claims_need_smooth_forces():
    smooth, noisy = (lambda t: 1e3 * t), (lambda t: 1e3 * (np.arange(len(t)) % 2))
    (problem, _), *_ = sequence("single-ball", 1)
    published = iterations(problem, thesis_ipm(), THESIS)
    rigid = {h: bent(h, smooth) for h in (0.06, 0.05, 0.01)}
    springs = {0.005: bent(0.005, noisy), 0.001: bent(0.001, smooth)}
    found = three_point_bending.findings(rigid, springs, rigid[0.05], published)
    assert set(verdicts(three_point_bending.CLAIMS, found).values()) == {AGREES}
    wrong = {h: bent(h, noisy) for h in rigid}
    nowhere = iterations(problem, thesis_ipm(), THESIS, most=1)
    found = three_point_bending.findings(wrong, {h: bent(h, smooth) for h in springs}, wrong[0.05], nowhere)
    told = verdicts(three_point_bending.CLAIMS, found)
    assert AGREES not in told.values()
    unsolved = {h: bent(h, smooth, converged=False) for h in rigid}
    assert three_point_bending.longest(unsolved) == 0.0
    dear = {h: replace(one, seconds=1e3 * one.seconds) for h, one in rigid.items()}
    found = three_point_bending.findings(dear, springs, rigid[0.05], published)
    assert verdicts(three_point_bending.CLAIMS, found)["cheaper"] != AGREES
