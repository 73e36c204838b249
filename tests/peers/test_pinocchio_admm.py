"""Pinocchio's ADMM and ours on the same matrix: the same velocities, and one judge for both."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from delassus import residuals
from delassus.io import load_problem
from delassus.law import Law
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve

pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peer

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("pinocchio_admm", ROOT / "benchmarks" / "pinocchio_admm.py")
peer = sys.modules["pinocchio_admm"] = importlib.util.module_from_spec(_spec)  # dataclasses look themselves up there
_spec.loader.exec_module(peer)

TIGHT = peer.Choice(tol=1e-11, max_iterations=20_000)
ACCEPTED = 1e-8  # our measure of Pinocchio's answer
VELOCITY_TOL = 1e-6  # both answers are within 1e-8 of the solution; D and its condition magnify that


def problems():
    """Well-posed problems with every kind of row, whose velocities are unique; bilateral rows need 0 to 2 rows of
    padding."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        yield f"mechanism-{seed}", random_rigid(rng, bodies=8, contacts=7, joints=3, limits=2)
    yield "contacts", random_rigid(np.random.default_rng(7), bodies=9, contacts=12)
    yield "dense", random_dual(np.random.default_rng(8), contacts=10)
    yield "limits", random_rigid(np.random.default_rng(9), bodies=6, contacts=0, limits=7)


def test_padding_is_tried():
    assert {-problem.cone.bilateral_rows % 3 for _, problem in problems()} == {0, 1, 2}


@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
@pytest.mark.parametrize(("name", "problem"), list(problems()), ids=[name for name, _ in problems()])
def test_velocities_agree(name, problem, law):
    problem = problem.with_law(law)
    theirs = peer.PinocchioAdmm(problem).solve(TIGHT)
    assert residuals.measure(problem, theirs.reactions).relative <= ACCEPTED
    for solver in ("admm-ccp",) if law is Law.CCP else ("admm-ncp-fp", "admm-ncp-la", "admm-ncp-sa"):
        ours = solve(problem, solver, tol=1e-10)
        assert ours.converged, (name, solver)
        v = problem.constraint_velocity(theirs.reactions)
        assert np.abs(ours.velocities - v).max() <= VELOCITY_TOL * max(1.0, np.abs(v).max()), (name, solver)


def test_dense_and_sparse_operators_of_the_peer_agree():
    problem = random_rigid(np.random.default_rng(3), bodies=10, contacts=12, joints=2)
    run = peer.PinocchioAdmm(problem)
    dense = run.solve(TIGHT)
    sparse = run.solve(peer.Choice("sparse", TIGHT.tol, TIGHT.max_iterations))
    assert np.allclose(dense.reactions, sparse.reactions, atol=1e-9)


@pytest.mark.parametrize("path", ["Example-FC3D-1", "NESpheres-10", "Confeti-ex13-4contact", "OneContact-1c"])
def test_velocities_agree_on_real_files(fclib_dir, path):
    """Symmetric ones: Pinocchio's answer on a file with gyroscopic terms is as wrong as these are large."""
    problem = load_problem(fclib_dir / f"{path}.hdf5")
    theirs = peer.PinocchioAdmm(problem).solve(TIGHT)
    assert residuals.measure(problem, theirs.reactions).relative <= 1e-6
    ours = solve(problem, "admm-ncp-sa", tol=1e-9)
    v = problem.constraint_velocity(theirs.reactions)
    assert np.abs(ours.velocities - v).max() <= 1e-4 * np.abs(v).max()
