"""The operator behind gradient methods against dense matrices, for every storage, kind of row and number of threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.cones.coulomb import project_coulomb
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers.gradient.jacobi import Jacobi, JacobiMethod
from delassus.solvers.gradient.step import project_without_branches
from delassus.solvers.parts.parallel.operator import Operator
from delassus.solvers.parts.parallel.spectrum import largest_eigenvalue, working_scale

ROUNDING = 1e-13  # relative: sums of some hundred terms in another order
THREADS = (1, 2, 3, 7)


def mixed(law=Law.NCP, seed=5):
    """Joints, limits, contacts with and without friction, redundant rows and compliance."""
    rng = np.random.default_rng(seed)
    return random_rigid(
        rng,
        bodies=9,
        contacts=25,
        joints=3,
        limits=4,
        redundant_joints=True,
        compliance=0.03,
        frictionless_part=0.3,
        mass_ratio=100.0,
        law=law,
    )


def gyroscopic():
    """Rotating bodies treated implicitly: inertias of 0.1 kg m² with a skew part of some per cent."""
    plain = random_rigid(np.random.default_rng(6), bodies=7, contacts=15, joints=2)
    turn = np.cross(np.eye(3), [1.0, 2.0, -1.0])
    d = plain.delassus
    mass = d.mass.copy()
    mass[:, 3:, 3:] += 0.003 * turn
    return Problem.rigid(mass, d.bodies, d.rows, cone=plain.cone, u_f=plain.u_f, b=plain.bias)


def flexible():
    """A general sparse H, chain-like, with contacts on single nodes."""
    n, contacts = 30, 6
    H = sp.diags_array([np.full(n - 3, -0.4), np.full(n, 2.0), np.full(n - 3, -0.4)], offsets=[-3, 0, 3])
    J = sp.csr_array(np.eye(n)[: 3 * contacts])
    rng = np.random.default_rng(8)
    cone = ProductCone(mu=rng.uniform(0.1, 1.0, contacts))
    return Problem.primal(H, J, cone=cone, u_f=rng.normal(size=n), compliance=np.full(3 * contacts, 0.01))


KINDS = {
    "mixed": mixed(),
    "frictionless": mixed(Law.FRICTIONLESS),
    "gyroscopic": gyroscopic(),
    "flexible": flexible(),
    "dense": random_dual(np.random.default_rng(9), contacts=8, rank=15),
    "joints": random_rigid(np.random.default_rng(10), bodies=4, contacts=0, joints=3),
    "one": random_rigid(np.random.default_rng(11), bodies=1, contacts=1),
    "empty": random_dual(np.random.default_rng(12), contacts=0, rank=1),
}


def test_kinds_are_what_they_claim():
    assert KINDS["flexible"].delassus.kind == "sparse"
    skew = KINDS["gyroscopic"].delassus.dense()
    assert np.abs(skew - skew.T).max() > 1e-3 * np.abs(skew).max()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("kind", KINDS)
class TestAgainstDenseMatrices:
    def test_products_and_gradients(self, kind, threads):
        problem = KINDS[kind]
        operator = Operator(problem, threads)
        D, m = problem.delassus.dense(), problem.row_count
        for seed in range(3):  # more than once: nothing may be left over from the call before
            x = np.random.default_rng(seed).normal(size=m)
            out = np.full(m, np.nan)
            size = ROUNDING * (np.abs(D) @ np.abs(x) + np.abs(problem.free_velocity))
            operator.product(x, out)
            assert np.all(np.abs(out - D @ x) <= 10 * size)
            operator.gradient(x, out)
            assert np.all(np.abs(out - D @ x - problem.free_velocity) <= 10 * size)
            objective = 0.5 * x @ D @ x + x @ problem.free_velocity
            assert operator.objective(x, out) == pytest.approx(objective, rel=1e-10, abs=1e-10)

    def test_projection_and_sums(self, kind, threads):
        problem = KINDS[kind]
        operator = Operator(problem, threads)
        x, y = np.random.default_rng(3).normal(size=(2, problem.row_count))
        out = np.full(problem.row_count, np.nan)
        operator.project(x, out)
        assert np.array_equal(out, problem.cone.with_friction(problem.mu).project(x))
        assert operator.dot(x, y) == pytest.approx(x @ y, rel=1e-12, abs=1e-12)
        assert operator.norm(x) == pytest.approx(np.linalg.norm(x))

    def test_largest_eigenvalue_is_near_and_never_above(self, kind, threads):
        problem = KINDS[kind]
        operator = Operator(problem, threads)
        root = np.sqrt(working_scale(operator))
        D = problem.delassus.dense()
        exact = np.linalg.eigvalsh(0.5 * (D + D.T) * root[:, None] * root).max(initial=0.0) or 1.0
        assert 0.97 * exact <= largest_eigenvalue(operator) <= exact * 1.001

    def test_one_jacobi_step_is_the_printed_formula(self, kind, threads):
        """The fused pass: velocity, De Saxcé's term, step, projection and image, twice in a row (Heyn et al. 2013, eq.
        12)."""
        problem = KINDS[kind]
        omega, damping = 0.3, 0.8
        x = problem.cone.project(np.random.default_rng(4).normal(size=problem.row_count))
        settings = Jacobi(solver="jacobi", omega=omega, damping=damping, threads=threads)
        method = JacobiMethod(problem, settings, x.copy())
        method.advance(2)
        cone = problem.cone.with_friction(problem.mu)
        x = cone.project(x)
        for _ in range(2):
            w = problem.delassus.dense() @ x + problem.free_velocity
            if problem.law is Law.NCP:
                slip = np.linalg.norm(w[cone.contact_start :].reshape(-1, 3)[:, 1:], axis=1)
                w[cone.contact_start :: 3] += problem.mu * slip
            x = x + damping * (cone.project(x - omega * method.operator.row_scale * w) - x)
        assert np.allclose(method.reactions, x, rtol=1e-10, atol=1e-12)


def test_projection_without_branches_is_the_projection():
    """The same numbers as the cones' own, on the boundaries between its cases too."""
    rng = np.random.default_rng(13)
    points = [rng.normal(size=3) * 10 ** rng.uniform(-3, 3) for _ in range(500)]
    points += [
        np.array(p) for p in ((0.0, 0, 0), (1.0, 0, 0), (-1.0, 0, 0), (1.0, 0.5, 0), (-0.5, 1.0, 0), (0, 2.0, 1))
    ]
    for mu in (0.0, 0.5, 3.0):
        for point in points:
            assert project_without_branches(*point, mu) == project_coulomb(*point, mu)


def test_scale_is_the_inverse_mean_diagonal():
    problem = KINDS["mixed"]
    operator = Operator(problem)
    diagonal = np.diag(problem.delassus.dense())
    assert np.allclose(operator.row_scale[: problem.cone.contact_start], 1 / diagonal[: problem.cone.contact_start])
    triples = diagonal[problem.cone.contact_start :].reshape(-1, 3)
    expected = np.where(problem.mu > 0, triples.mean(axis=1), triples[:, 0])
    assert np.allclose(operator.row_scale[problem.cone.contact_start :: 3], 1 / expected)


def test_scale_by_direction_is_that_of_normals_and_tangents():
    """Except where a joint holds one of the bodies, or nothing rubs."""
    problem = KINDS["mixed"]
    d, first = problem.delassus, problem.cone.contact_start
    by_direction = Operator(problem, by_direction=True).row_scale[first:].reshape(-1, 3)
    block = Operator(problem).row_scale[first:].reshape(-1, 3)
    held = np.unique(d.bodies[: problem.cone.bilateral.size])
    joined = np.isin(d.bodies[len(d.bodies) - problem.contact_count :], held[held >= 0]).any(axis=1)
    free = ~joined & (problem.mu > 0)
    assert 3 < free.sum() < len(free) - 3
    diagonal = np.diag(d.dense())[first:].reshape(-1, 3)
    tangent = diagonal[:, 1:].mean(axis=1)
    assert np.allclose(by_direction[free], 1 / np.stack([diagonal[:, 0], tangent, tangent], axis=1)[free])
    assert np.array_equal(by_direction[~free], block[~free])
    matrix = Problem.dual(d.matrix(), problem.free_velocity, cone=problem.cone)
    assert np.allclose(Operator(matrix, by_direction=True).row_scale[first:], by_direction.ravel())


def test_squared_image_is_the_quadratic_form():
    problem = KINDS["mixed"]
    operator = Operator(problem, 2)
    x = np.random.default_rng(1).normal(size=problem.row_count)
    image = np.full(operator.image_size, np.nan)
    operator.image(x, image)
    assert image @ image + x @ (problem.delassus.compliance * x) == pytest.approx(x @ problem.delassus.dense() @ x)


def test_rows_that_cannot_move_are_left_alone():
    """A vanishing block of D gives no step length; its reaction must stay finite."""
    D = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    problem = Problem.dual(D, [-1.0, 0.2, 0, -1, 0, 0], mu=[0.5, 0.5], law=Law.CCP)
    method = JacobiMethod(problem, Jacobi(solver="jacobi"), np.zeros(6))
    method.advance(50)
    assert np.array_equal(method.reactions[3:], np.zeros(3))
    assert method.reactions[0] > 0


@pytest.mark.parametrize("threads", THREADS)
def test_same_number_of_threads_gives_the_same_bits(threads):
    problem = mixed()
    outs = []
    for _ in range(2):
        method = JacobiMethod(problem, Jacobi(solver="jacobi", threads=threads), np.zeros(problem.row_count))
        for _ in range(20):
            method.advance(7)
        outs.append(method.reactions.tobytes())
    assert outs[0] == outs[1]


WITHOUT_COMPILER = """
import numpy as np
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve
from delassus.solvers.table import SOLVERS
for law, names in (("ccp", ("apgd", "ags", "spg-fb", "jacobi")), ("ncp", ("prox", "ags"))):
    for problem in (random_rigid(np.random.default_rng(1), bodies=3, contacts=4, joints=1, limits=1, law=law),
                    random_dual(np.random.default_rng(2), contacts=3, law=law)):
        for name in names:
            for threads in (1, 2):
                settings = SOLVERS[name].settings.changed(threads=threads)
                print(*solve(problem, settings, tol=1e-15, max_iter=6).reactions)
"""


def test_kernels_run_without_the_compiler():
    """NUMBA_DISABLE_JIT=1 serves debugging: the same numbers to rounding, vectors of six and barriers included."""
    outs = []
    for off in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", WITHOUT_COMPILER],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"NUMBA_DISABLE_JIT": off},
        )
        outs.append([np.array(line.split(), dtype=float) for line in run.stdout.splitlines()])
    assert len(outs[0]) == 24
    for compiled, plain in zip(*outs):
        assert np.allclose(compiled, plain, rtol=1e-9, atol=1e-12)
