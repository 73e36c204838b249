"""Solvers made of others: names, settings, De Saxcé's fixed point."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from command_line import delassus as run

from delassus import residuals
from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.modifiers.desaxce import _shifted
from delassus.solvers.table import MODIFIERS, find
from delassus.status import Status

LOCAL = "OneObject-i1028-138.hdf5"


# -- names and settings ------------------------------------------------------------------------------------------------


def test_names_are_read_from_left_to_right():
    line, settings = find("pgs-ccp+anderson+desaxce")
    assert line.name == settings.solver == "pgs-ccp+anderson+desaxce"
    assert settings.base.solver == "pgs-ccp+anderson"
    assert settings.base.base == SOLVERS["pgs-ccp"].settings
    problem = random_rigid(np.random.default_rng(1), bodies=12, contacts=15)
    assert solve(problem, "pgs-ccp+anderson+desaxce", tol=1e-8).converged


def test_laws_follow_from_the_base():
    maps = [name for name, line in SOLVERS.items() if line.is_map]
    convex = [name for name, line in SOLVERS.items() if Law.CCP in line.laws]
    assert {"nbgs", "jacobi", "admm-ncp-sa"} <= set(maps)
    assert {"pgs-ccp", "apgd", "ipm"} <= set(convex)
    for name in maps:
        assert find(f"{name}+anderson")[0].laws == SOLVERS[name].laws
    for name in convex:
        assert find(f"{name}+desaxce")[0].laws == (Law.NCP,)


def test_every_line_says_whether_it_can_be_accelerated():
    """The flag is true only for methods that take up what is written into their reactions, or offer their point."""
    problem = random_rigid(np.random.default_rng(2), bodies=8, contacts=10, law=Law.FRICTIONLESS)
    maps = [line for line in SOLVERS.values() if line.is_map and Law.FRICTIONLESS in line.laws]
    assert len(maps) > 5
    for line in maps:
        method = line.start(problem, line.settings, np.zeros(problem.row_count))
        start = method.point.copy() if hasattr(method, "move_to") else None
        method.advance(3)
        first = method.reactions.copy()
        if start is not None:
            method.move_to(start)
        else:
            method.reactions[:] = 0.0
        method.advance(3)
        assert np.allclose(method.reactions, first, rtol=1e-9, atol=1e-12), line.name


def test_mistakes_are_named():
    with pytest.raises(SettingsError, match="unknown modifier 'andersen' in 'nbgs.andersen'; did you mean 'anderson'"):
        find("nbgs+andersen")
    with pytest.raises(SettingsError, match="unknown solver 'nbsg'; did you mean 'nbgs'"):
        find("nbsg+anderson")
    with pytest.raises(SettingsError, match="'raisim' cannot be combined with 'desaxce': it does not solve the convex"):
        find("raisim+desaxce")
    with pytest.raises(SettingsError, match="'prox-ssn' cannot be combined with 'anderson'"):
        find("prox-ssn+anderson")
    settings = find("nbgs+anderson")[1]
    with pytest.raises(SettingsError, match="no setting 'memory'; did you mean 'anderson.memory'"):
        settings.changed(memory=3)
    with pytest.raises(SettingsError, match="memory is 0"):
        settings.changed(**{"anderson.memory": 0})
    with pytest.raises(SettingsError, match="takes Composed settings"):
        find(replace(settings, base=find("prox-ssn")[1]))


def test_settings_reach_both_parts():
    settings = find("nbgs+anderson")[1]
    changed = settings.changed(local="quartic", threads=2, **{"anderson.memory": 3})
    assert (changed.base.local, changed.base.threads, changed.modifier.memory) == ("quartic", 2, 3)
    assert changed.threads == 2  # read as one's own
    assert not hasattr(find("pgs-ccp+desaxce")[1], "memory")
    parsed = settings.parsed({"omega": "1.2", "anderson.growth": "2"})
    assert (parsed.base.omega, parsed.modifier.growth) == (1.2, 2.0)
    assert find(parsed)[1] is parsed
    for again in (copy.deepcopy(parsed), pickle.loads(pickle.dumps(parsed))):
        assert again == parsed


def test_over_relaxation_is_left_to_who_asks_for_it():
    assert find("nbgs+anderson")[1].omega == 1.0
    assert find("nbgs+anderson")[1].changed(omega=1.3).base.omega == 1.3
    assert find("pgs-ccp+anderson")[1].base == SOLVERS["pgs-ccp"].settings


def test_command_line_knows_them(tmp_path, data_dir):
    listed = run("solvers")
    for modifier in MODIFIERS.values():
        assert f"+{modifier.name}" in listed.stdout
        assert modifier.advice in listed.stdout
    shown = run("solvers", "nbgs+anderson")
    assert any(line.split()[:2] == ["anderson.memory", "8"] for line in shown.stdout.splitlines())
    out = tmp_path / "runs.json"
    chosen = ["--solver", "nbgs+anderson", "--solver", "pgs-ccp+anderson", "--set", "anderson.memory=3"]
    assert run("solve", data_dir / LOCAL, *chosen, "--json", out).exit_code == 0
    runs = json.loads(out.read_text())
    assert [entry["solver"] for entry in runs] == ["nbgs+anderson", "pgs-ccp+anderson"]
    assert runs[0]["settings"]["modifier"]["memory"] == 3


# -- De Saxcé's fixed point --------------------------------------------------------------------------------------------


def shifted(problem, reactions):
    v = problem.constraint_velocity(reactions)
    normals = problem.cone.contact_start + 3 * np.arange(problem.contact_count)
    return _shifted(problem, normals, problem.mu * np.hypot(v[normals + 1], v[normals + 2]))


def test_the_shifted_problem_has_the_residual_of_the_exact_law():
    """What lets a round begin where the last one ended: the same natural map, up to the scale of v_f."""
    for problem in (random_rigid(np.random.default_rng(3), joints=3, limits=2), random_dual(np.random.default_rng(4))):
        reactions = np.random.default_rng(5).normal(size=problem.row_count)
        convex = shifted(problem, reactions)
        exact, lifted = (residuals.evaluate(p, reactions) for p in (problem, convex))
        assert convex.law is Law.CCP
        assert lifted.natural_map == pytest.approx(exact.natural_map, rel=1e-12)
        assert lifted.worst_velocity == pytest.approx(exact.worst_velocity, rel=1e-12)


@pytest.mark.parametrize("storage", ["rigid", "dual"])
def test_sweeps_go_on_with_a_shifted_problem_as_if_started_on_it(storage):
    problem = random_rigid(np.random.default_rng(6), bodies=8, contacts=12, joints=2, limits=2)
    if storage == "dual":
        problem = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone)
    line, settings = find("pgs-ccp")
    old = line.start(problem.with_law(Law.CCP), settings, np.zeros(problem.row_count))
    old.advance(5)
    convex = shifted(problem, old.reactions)
    new = line.start(convex, settings, old.reactions.copy())
    old.repose(convex)
    for method in (old, new):
        method.advance(5)
    assert np.array_equal(old.reactions, new.reactions)


@pytest.mark.parametrize("name", [name for name, line in SOLVERS.items() if Law.CCP in line.laws])
def test_lifted_methods_find_the_motion_of_exact_friction(name):
    """Well-posed: one motion, which nbgs finds too. The convex law's own motion is another one."""
    problem = random_rigid(np.random.default_rng(7), bodies=12, contacts=15)
    exact = solve(problem, "nbgs", tol=1e-10)
    lifted = solve(problem, f"{name}+desaxce", tol=1e-8, max_iter=20_000)
    assert lifted.converged, lifted
    assert np.allclose(lifted.velocities, exact.velocities, atol=1e-5)
    convex = solve(problem.with_law(Law.CCP), name, tol=1e-8, max_iter=20_000)
    assert not np.allclose(convex.velocities, exact.velocities, atol=1e-2)


def test_desaxce_of_joints_that_contradict_each_other_gives_up():
    """The convex method knows before its first iteration, and must not be asked to go on."""
    rows = np.random.default_rng(4).normal(size=(3, 6))
    J = np.vstack([rows, rows, np.eye(3, 6)])
    b = np.array([1.0, 0, 0, -1.0, 0, 0, 0.0, 0, 0])
    problem = Problem.primal(np.eye(6), J, cone=ProductCone((3, 3), 0, [0.5]), u_f=-np.ones(6), b=b)
    solution = solve(problem, "ipm+desaxce", max_iter=50)
    assert not solution.converged
    assert solution.status is not Status.DIVERGED
