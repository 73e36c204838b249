"""The experiments on piles and the blade: their figures are the right ones."""

import numpy as np
import pytest

from delassus.errors import SettingsError
from delassus.problem.random import random_rigid
from delassus.scenes import SCENES
from delassus.scenes.blade import draft_force
from delassus.solvers.interior.inexact.contact_space import ContactSpace
from delassus.solvers.interior.inexact.method import IpmInexactMethod
from delassus.solvers.interior.inexact.regularisation import softness
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.standard import Standard
from delassus_papers.measure.descent import descend
from delassus_papers.measure.drafts import draft_of, moving_mean
from delassus_papers.measure.piles import pile_of
from delassus_papers.measure.spectrum import spectrum

ROUGH = 0.03  # Lanczos' method is stopped at 2 %
SMALL_BLADE = {"n": 40, "length": 0.3, "width": 0.08, "blade": 0.05, "rest": 0.05}


def test_range_of_eigenvalues_is_that_of_the_dense_matrices():
    problem = random_rigid(np.random.default_rng(31), bodies=15, contacts=40, law="ccp")
    settings = IpmInexact(solver="ipm-inexact", regularisation=1e-3)
    softer = IpmInexact(solver="ipm-inexact", regularisation=1e-1)
    found = {r.name: r for r in spectrum(problem, settings, softer, iterations=5, every=4) if r.iteration == 4}
    exact = IpmInexact(solver="ipm-inexact", linear="direct", regularisation=1e-3)
    method = IpmInexactMethod(problem, exact, np.zeros(problem.row_count))
    method.advance(4)
    method.scaling.form(method.x, method.y, method.tau)
    standard, eye = Standard(problem), np.eye(problem.row_count)

    def columns(apply):
        out = np.empty_like(eye)
        for k, unit in enumerate(eye):
            apply(unit, out[k])
        return out.T

    for name, own in (("regularised", settings), ("softer", softer)):
        space = ContactSpace(standard, IpmInexact(solver="ipm-inexact", linear="direct"), softness(standard, own))
        assert space.factor(method.scaling)
        values = np.linalg.eigvalsh(columns(space.apply))
        assert found[name].low == pytest.approx(values[0], rel=ROUGH)
        assert found[name].high == pytest.approx(values[-1], rel=ROUGH)
    for name in ("ic0", "ilu0"):
        space = ContactSpace(
            standard, IpmInexact(solver="ipm-inexact", linear="cg", preconditioner=name), softness(standard, settings)
        )
        assert space.factor(method.scaling)
        sizes = np.abs(np.linalg.eigvals(columns(space.precondition) @ columns(space.apply)))
        assert found[name].low == pytest.approx(sizes.min(), rel=ROUGH)
        assert found[name].high == pytest.approx(sizes.max(), rel=ROUGH)
    assert found["plain"].low < found["regularised"].low < found["softer"].low


def test_descent_says_when_it_first_was_below():
    problem = random_rigid(np.random.default_rng(32), bodies=15, contacts=40, law="ccp")
    one = descend("exact", problem, IpmInexact(solver="ipm-inexact", linear="direct"), 1e-6)
    assert one.error[-1] <= 1e-6 < one.error[-2]
    assert one.to(1e-6, "iteration") == one.iteration[-1] == len(one.error)
    first = int(one.to(1e-2, "iteration"))
    assert one.error[first - 1] <= 1e-2 < one.error[first - 2]
    short = descend("short", problem, "jacobi", 0.0, iterations=20, batch=10)
    assert short.iteration == [10, 20]
    assert short.to(1e-12) == np.inf
    assert short.text(1e-12).startswith("error ")


def test_piles_are_kept_and_the_same_again(tmp_path):
    first, again = pile_of(12, tmp_path), pile_of(12, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert np.array_equal(first.problem.free_velocity, again.problem.free_velocity)
    assert first.problem.law.value == "ccp"
    assert len(first.radii) == first.problem.contact_count > 12
    assert ((first.radii >= 0.016) & (first.radii <= 0.032 + 0.003)).all()  # from centre to centre: gaps up to 3 mm


def test_draft_force_of_a_step_is_the_recorded_one():
    setup = SCENES["blade"].build(**SMALL_BLADE)
    seen = []
    run = setup.run(
        steps=25,
        watch=lambda k, state, report, memory: seen.append(
            draft_of(report, report.solution.reactions, setup.settings.h)
        ),
    )
    assert np.allclose(draft_force(run), seen, rtol=1e-12, atol=1e-12)
    assert max(np.abs(seen)) > 0.0


def test_moving_mean_keeps_constants_and_takes_noise_away():
    assert np.allclose(moving_mean(np.full(40, 3.0)), 3.0)
    noise = np.random.default_rng(33).normal(size=400)
    assert moving_mean(noise).std() < 0.4 * noise.std()


def test_grains_that_cannot_be_made_are_refused():
    with pytest.raises(SettingsError, match="radii from 0.02 to 0.016"):
        SCENES["polydisperse-pile"].build(smallest=0.02)
    with pytest.raises(SettingsError, match="blade is 0.3: give a positive width, less than the trench's"):
        SCENES["blade"].build(blade=0.3)
    with pytest.raises(SettingsError, match="no sphere fits on the floor"):
        SCENES["blade"].build(length=0.02)
