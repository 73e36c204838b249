"""A storage of D that the package has never seen is one file: every solver takes it, and nobody asks for its class."""

import ast
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import delassus
from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.io import load_problem, save_problem
from delassus.linalg.operators import Delassus
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem, islands, normalise, partition
from delassus.problem.describe import describe
from delassus.problem.random import random_rigid
from delassus.residuals import evaluate
from delassus.status import Status

SOURCE = Path(delassus.__file__).parent
MODULE = '''
from delassus.linalg.operators import Delassus


class LowRankDelassus(Delassus):
    """D = diag d + U Uᵀ, known by its products alone.  d: (m,), U: (m, r)."""

    kind = "low rank"

    def __init__(self, d, U):
        self.d, self.U, self.row_count = d, U, len(d)
        self.products = 0

    def product(self, reactions):
        self.products += 1
        return self.d * reactions + self.U @ (self.U.T @ reactions)
'''
SOLVERS = {
    "ncp": ("auto", "nbgs", "nbgs-direct", "prox-ssn", "admm-ncp-sa", "prox", "nbgs+anderson", "ipm+desaxce"),
    "ccp": (
        "auto",
        "pgs-ccp",
        "ipm",
        "ipm-inexact",
        "admm-ccp",
        "apgd",
        "ags",
        "jacobi",
        "spg-fb",
        "kucera",
        "gpminres",
    ),
}
TOL = 1e-7  # which every family reaches, the inexact interior point included
SAME = 1e-5  # of velocities, over the largest free one: D is definite, so that there is one solution


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    """The class, from a module written a moment ago."""
    path = tmp_path_factory.mktemp("elsewhere") / "low_rank_storage.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("low_rank_storage", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module.LowRankDelassus
    del sys.modules[spec.name]


def problems(storage, law: str, islands: int = 1) -> tuple[Problem, Problem]:
    """The same problem twice: stored as above, and as a matrix. Every island has a limit, contacts, and ranks of its
    own."""
    rng = np.random.default_rng(4)
    cone = ProductCone(0, islands, np.full(3 * islands, 0.4))
    owner = np.concatenate([np.arange(islands), np.repeat(np.arange(islands), 9)])
    U = np.zeros((cone.row_count, 5 * islands))
    for k in range(islands):
        U[owner == k, 5 * k : 5 * k + 5] = rng.normal(size=(10, 5))
    d, v_f = rng.uniform(0.5, 1.0, cone.row_count), rng.normal(size=cone.row_count)
    own = storage(d, U)
    matrix = MatrixDelassus(Problem.dual(np.diag(d) + U @ U.T, v_f, cone=cone).delassus.matrix())
    return Problem(own, v_f, cone, law), Problem(matrix, v_f, cone, law)


def test_the_storage_answers_as_the_matrix_does(storage):
    own, matrix = (problem.delassus for problem in problems(storage, "ncp", 3))
    x, start = np.random.default_rng(1).normal(size=own.row_count), problems(storage, "ncp", 3)[0].cone.block_start
    close = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(own.product(x), matrix.product(x), **close)
    np.testing.assert_allclose(own.dense(), matrix.dense(), **close)
    np.testing.assert_allclose(own.diagonal, np.diag(matrix.dense()), **close)  # both ask the same default
    np.testing.assert_allclose(own.diagonal_blocks(start), matrix.diagonal_blocks(start), **close)
    np.testing.assert_allclose(own.velocity(x, 2.0 * x), matrix.product(x) + 2.0 * x, **close)
    np.testing.assert_allclose(own.softened(0.3).dense(), matrix.dense() + 0.3 * np.eye(len(x)), **close)
    np.testing.assert_array_equal(own.islands(start), matrix.islands(start))
    assert not own.has_bodies
    assert own.pair_count(0) == 0
    with pytest.raises(ProblemError, match="has no rigid bodies: build the problem with Problem.rigid"):
        _ = own.rigid
    assert own.with_unit_masses() is own.mass_ratio() is own.inertia_trace() is None
    assert not own.is_primal
    with pytest.raises(ProblemError, match="mass matrix"):
        own.mass_matrix()


@pytest.mark.parametrize(("ratio", "odd"), [(None, False), (1.0, False), (9.9e3, False), (1.01e4, True)])
def test_masses_far_apart_follow_from_the_ratio_alone(storage, ratio, odd):
    """A storage that says how far its masses are apart need not say when that is too far for one double."""

    class Weighed(storage):
        def mass_ratio(self):
            return ratio

    assert Weighed(np.ones(3), np.zeros((3, 1))).has_odd_masses() is odd


@pytest.mark.parametrize(("law", "solver"), [(law, solver) for law, names in SOLVERS.items() for solver in names])
def test_every_family_solves_with_it(storage, law, solver):
    own, matrix = problems(storage, law)
    found = delassus.solve(own, solver, tol=TOL, max_iter=20000)
    expected = delassus.solve(matrix, solver, tol=TOL, max_iter=20000)
    assert found.status is expected.status is Status.CONVERGED
    assert evaluate(own, found.reactions).natural_map_relative <= TOL
    np.testing.assert_allclose(found.velocities, expected.velocities, atol=SAME * np.abs(own.free_velocity).max())
    assert own.delassus.products > 0


def test_islands_parts_scaling_and_description_work_on_it(storage):
    own, matrix = problems(storage, "ncp", 3)
    np.testing.assert_array_equal(islands(own), islands(matrix))
    assert len(partition(own)) == 3
    whole = np.zeros(own.row_count)
    for rows, part in partition(own):
        whole[rows] = delassus.solve(part, tol=1e-9).reactions
    assert evaluate(own, whole).natural_map_relative <= 1e-8  # of the whole, whose norm is another
    scaled, scaling = normalise(own, per_block=True)
    np.testing.assert_allclose(np.mean(scaled.delassus.diagonal), 1.0)
    back = scaling.reactions(delassus.solve(scaled, tol=1e-10).reactions)
    assert evaluate(own, back).natural_map_relative <= 1e-8
    said, expected = describe(own).as_dict(), describe(matrix).as_dict()
    assert said.pop("storage") == "low rank"
    assert expected.pop("storage") == "matrix"
    assert {k: v for k, v in said.items() if "condition" not in k} == {
        k: v for k, v in expected.items() if "condition" not in k
    }
    assert said["condition"] == pytest.approx(expected["condition"], rel=1e-8)


def test_a_storage_without_product_and_matrix_is_refused():
    with pytest.raises(TypeError, match="Empty defines neither product"):
        type("Empty", (Delassus,), {})


def test_a_primal_storage_needs_no_more_than_mass_and_rows():
    """H and J by the defaults of the base class, against the storage of its own."""

    class Plain(Delassus):
        is_primal = True

        def __init__(self, H, J, compliance):
            self.H, self.J, self.compliance = H, J, compliance
            self.row_count, self.velocity_count = J.shape

        def matrix(self):
            return SparseDelassus(self.H, self.J, self.compliance).matrix()

        def jacobian(self):
            return self.J

        def mass_matrix(self):
            return self.H

        def mass_solve(self, momentum):
            return np.linalg.solve(self.H.toarray(), momentum)

    given = random_rigid(np.random.default_rng(2), bodies=4, contacts=5, joints=2, limits=1, compliance=0.1)
    H, J, soft = given.delassus.mass_matrix(), given.delassus.jacobian(), given.delassus.compliance
    x = np.random.default_rng(3).normal(size=given.row_count)
    for law, solver in (("ncp", "auto"), ("ccp", "ipm"), ("ccp", "admm-ccp"), ("ccp", "pgs-ccp")):
        found = []
        for delassus_operator in (Plain(H, J, soft), SparseDelassus(H, J, soft)):
            problem = Problem(delassus_operator, given.free_velocity, given.cone, law, u_f=given.u_f, bias=given.bias)
            for mine, its in zip(problem.velocities(x), given.velocities(x)):
                np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-10)
            found.append(delassus.solve(problem, solver, tol=1e-8))
            assert found[-1].status is Status.CONVERGED
        np.testing.assert_allclose(
            found[0].velocities, found[1].velocities, atol=SAME * np.abs(given.free_velocity).max()
        )


def test_flexible_bodies_keep_their_masses_in_a_file(tmp_path):
    """Whoever knows H and J is written in the global form, and comes back as the same problem."""
    given = random_rigid(np.random.default_rng(5), bodies=3, contacts=4)
    H, J = given.delassus.mass_matrix().tolil(), given.delassus.jacobian()
    H[0, 7] = H[7, 0] = 0.05  # couples two bodies: no longer rigid ones
    problem = Problem.primal(H.tocsr(), J, cone=given.cone, u_f=given.u_f, b=given.bias)
    again = load_problem(save_problem(tmp_path / "flexible.hdf5", problem))
    assert again.delassus.kind == problem.delassus.kind == "sparse"
    np.testing.assert_allclose(again.delassus.dense(), problem.delassus.dense(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(again.u_f, problem.u_f, rtol=1e-10)


@pytest.mark.parametrize("kind", ["rigid", "sparse", "matrix"])
def test_another_law_or_bias_is_judged_as_if_posed_anew(kind):
    """`with_law` and `shifted` share what does not change; nothing of the old problem may leak into the measure."""
    given = random_rigid(np.random.default_rng(6), bodies=4, contacts=6, joints=1)
    D = given.delassus
    operator = {
        "rigid": D,
        "sparse": SparseDelassus(D.mass_matrix(), D.jacobian()),
        "matrix": MatrixDelassus(D.matrix()),
    }
    problem = Problem(operator[kind], given.free_velocity, given.cone, "ncp", u_f=given.u_f, bias=given.bias)
    x = problem.cone.project(np.random.default_rng(7).normal(size=problem.row_count))
    evaluate(problem, x)
    for law in ("ccp", "frictionless"):
        anew = Problem(operator[kind], given.free_velocity, given.cone, law, u_f=given.u_f, bias=given.bias)
        assert evaluate(problem.with_law(law), x) == evaluate(anew, x) != evaluate(problem, x)
    more = problem.bias + 0.5
    moved = problem.shifted(problem.free_velocity + 0.5, more, "ncp")
    anew = Problem(operator[kind], given.free_velocity + 0.5, given.cone, "ncp", u_f=given.u_f, bias=more)
    old, new = evaluate(moved, x), evaluate(anew, x)
    assert old.natural_map_relative == new.natural_map_relative  # whose unit is v_f
    assert old.worst_velocity == new.worst_velocity
    np.testing.assert_array_equal(moved.velocity_scale, problem.velocity_scale)


def test_nobody_outside_linalg_asks_a_storage_for_its_class():
    storages = {"Delassus", "RigidDelassus", "SparseDelassus", "MatrixDelassus"}
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] == "linalg":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
                    names = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                    names |= {name.attr for name in ast.walk(node.args[1]) if isinstance(name, ast.Attribute)}
                case ast.Call(func=ast.Name(id="type")) | ast.MatchClass():
                    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                case _:
                    continue
            if names & storages:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not found


def test_one_place_chooses_the_storage():
    """The engine has nothing but rigid bodies; solvers may make an operator for a purpose of their own."""
    makers = set()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE)
        if room.parts[0] in ("linalg", "dynamics", "solvers"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Delassus"):
                makers.add(room.as_posix())
    assert makers == {"problem/storage.py"}
