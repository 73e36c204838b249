"""Problems with a general sparse H, as finite elements give: one factorisation, D formed once or never."""

import gc
import weakref
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from delassus import residuals
from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.linalg.factor import complement, mkl
from delassus.linalg.factor.cholesky import Cholesky
from delassus.linalg.factor.definite import Definite, definite_of
from delassus.linalg.operators import sparse
from delassus.linalg.operators.sparse import SparseDelassus, mass_factor
from delassus.problem import Problem
from delassus.solvers import solve
from delassus.solvers.interior.full_system import FullSystem
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.status import Status

SAME = 1e-10  # condition of H about 1e4


@cache
def lattice(count, stiffness=30.0):
    """H = M + K, (n, n) with n = 3 count³, of a cubic lattice of unit masses with springs between neighbours that are
    three times as stiff along the spring: blocks of 3×3, all of them full."""
    number = np.arange(count**3).reshape(count, count, count)
    pairs = [
        np.stack([number[:-1].ravel(), number[1:].ravel()]),
        np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
        np.stack([number[:, :, :-1].ravel(), number[:, :, 1:].ravel()]),
    ]
    H = sp.lil_array((3 * count**3, 3 * count**3))
    H.setdiag(1.0)
    for along, (a, b) in zip(np.eye(3) + 0.1, pairs):
        k = stiffness * (np.eye(3) + 2.0 * np.outer(along, along))
        for i, j in zip(3 * a, 3 * b):
            H[i : i + 3, i : i + 3] += k
            H[j : j + 3, j : j + 3] += k
            H[i : i + 3, j : j + 3] = H[j : j + 3, i : i + 3] = -k
    return sp.csr_array(H)


def standing(count=6, law="ncp", limits=2, welds=2, compliance=None, seed=0, push=1.0):
    """A lattice that falls on a plane with its lowest layer: two of its nodes welded to the world, limits on others,
    which is all that a solver has to do with."""
    rng = np.random.default_rng(seed)
    H, bottom = lattice(count), np.arange(count**3).reshape(count, count, count)[:, :, 0].ravel()
    contacts = bottom[welds:]
    rows = [3 * node + axis for node in bottom[:welds] for axis in range(3)]
    top = count**3 - 1 - np.arange(limits)
    columns = np.array([*rows, *(3 * top + 2), *(3 * contacts[:, None] + [2, 0, 1]).ravel()])
    J = sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), H.shape[0]))
    cone = ProductCone([3] * welds, limits, np.full(len(contacts), 0.4))
    u_f = 0.3 * rng.normal(size=H.shape[0]) - push * np.tile([-0.3, 0.2, 1.0], count**3)
    b = 0.02 * rng.random(len(columns))
    soft = None if compliance is None else np.full(len(columns), compliance)
    return Problem.primal(H, J, cone=cone, u_f=u_f, b=b, compliance=soft, law=law)


@pytest.fixture(params=["pardiso", "superlu"])
def library(request, monkeypatch):
    if request.param == "superlu":
        monkeypatch.setattr(mkl, "mkl", lambda: None)
        monkeypatch.setattr("delassus.linalg.factor.pardiso.mkl", lambda: None)
        monkeypatch.setattr("delassus.linalg.factor.structural.mkl", lambda: None)
        monkeypatch.setattr("delassus.linalg.factor.cholesky.mkl", lambda: None)
    elif mkl.mkl() is None:
        pytest.skip("MKL is not installed")
    return request.param


def test_one_pattern_serves_many_values(library):
    H = lattice(5).tobsr((3, 3))
    H.sort_indices()
    factor = Definite(H.indptr, H.indices, 3)
    rng = np.random.default_rng(1)
    for scale in (1.0, 3.0):
        assert factor.factor(scale * H.data)
        one, many = rng.normal(size=H.shape[0]), rng.normal(size=(H.shape[0], 70))
        np.testing.assert_allclose(scale * H @ factor.solve(one), one, atol=SAME)
        np.testing.assert_allclose(scale * H @ factor.solve(many), many, atol=SAME)
    assert factor.number == 2


@pytest.mark.parametrize(("rows", "few"), [(70, 1000), (200, 1000), (200, 0), (400, 0)])
def test_what_lies_between_rows(library, rows, few, monkeypatch):
    """By solves and by Schur complements, on touched unknowns or on rows, all against a full inverse."""
    monkeypatch.setattr(complement, "_FEW_TOUCHED", few)
    H, rng = lattice(5), np.random.default_rng(2)
    J = sp.csr_array(sp.random_array((rows, H.shape[0]), density=0.02, rng=rng))
    J.sort_indices()
    factor = definite_of(H)
    want = J @ np.linalg.solve(H.toarray(), J.T.toarray())
    found = factor.between(J)
    np.testing.assert_allclose(found, want, atol=SAME * np.abs(want).max())
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.skipif(mkl.mkl() is None, reason="MKL is not installed")
def test_an_elimination_is_analysed_once_and_keeps_its_bits(monkeypatch):
    """As long as the same unknowns are touched, whatever the values: a step that is resumed sees no difference."""
    H, rng = lattice(5), np.random.default_rng(9)
    columns = rng.permutation(H.shape[0])[:240]
    J = sp.csr_array((rng.normal(size=240), (np.arange(240), columns)), shape=(240, H.shape[0]))
    phases, plain = [], mkl.PardisoHandle.call
    monkeypatch.setattr(mkl.PardisoHandle, "call", lambda self, phase: phases.append(phase) or plain(self, phase))
    factor = definite_of(H)
    blocks = H.tobsr((3, 3))
    blocks.sort_indices()
    factor.between(J)
    assert factor.factor(3.0 * blocks.data)
    again = factor.between(sp.csr_array(-2.0 * J))
    assert phases.count(mkl.ANALYSE) == 2  # of H, and of what is left of it
    np.testing.assert_array_equal(again, definite_of(sp.csr_array(3.0 * H)).between(sp.csr_array(-2.0 * J)))
    factor.between(sp.csr_array(J[:200]))  # touches others
    assert phases.count(mkl.ANALYSE) == 5
    want = J @ np.linalg.solve(H.toarray(), J.T.toarray())
    np.testing.assert_allclose(again, 4.0 / 3.0 * want, atol=SAME * np.abs(want).max())


def test_what_is_not_definite_is_refused_in_one_sentence(library):
    """A lattice with one spring of negative stiffness, which no diagonal entry tells."""
    H = lattice(5).tolil()
    H[0:3, 3:6], H[3:6, 0:3] = 40.0 * H[0:3, 3:6], 40.0 * H[3:6, 0:3]
    assert definite_of(sp.csr_array(H)) is None
    with pytest.raises(ProblemError, match="^H is not positive definite: check masses and stiffness signs$"):
        Problem.primal(H, np.zeros((3, H.shape[0])), mu=[0.1], u_f=np.zeros(H.shape[0]))
    factor = definite_of(lattice(5))
    blocks = sp.csr_array(H).tobsr((3, 3))
    blocks.sort_indices()
    assert not factor.factor(blocks.data)


def test_a_slightly_skew_mass_matrix_is_factored_as_it_is(library):
    """Gyroscopic terms, whose entries need not even have mirror images."""
    H = lattice(5).tolil()
    H[0, 40] = 1e-3
    H[7, 8] += 0.01
    p = np.random.default_rng(3).normal(size=H.shape[0])
    problem = Problem.primal(H, sp.eye_array(30, H.shape[0]), mu=np.full(10, 0.3), p=p)
    np.testing.assert_allclose(H @ problem.u_f, p, atol=SAME)
    many = np.random.default_rng(4).normal(size=(H.shape[0], 5))
    np.testing.assert_allclose(H @ mass_factor(sp.csr_array(H)).solve(many), many, atol=SAME)


def test_the_library_behind_it_does_not_matter(library):
    """Everything the judge needs, against D by a full inverse."""
    problem = standing(compliance=0.05)
    H, J = problem.delassus.mass_matrix().toarray(), problem.delassus.jacobian().toarray()
    D = J @ np.linalg.solve(H, J.T) + 0.05 * np.eye(problem.row_count)
    x = problem.cone.project(np.random.default_rng(5).normal(size=problem.row_count))
    reference = Problem.dual(D, problem.free_velocity, cone=problem.cone)
    mine, its = residuals.evaluate(problem, x), residuals.evaluate(reference, x)
    np.testing.assert_allclose(mine, its, rtol=SAME)
    assert problem.rho == pytest.approx(reference.rho, rel=SAME)


def test_the_judge_never_forms_what_is_large(monkeypatch):
    """Diagonal blocks come piece by piece, the same as from D as a whole, and a factorisation is all that is made."""
    whole = standing()
    want, diagonal = residuals.evaluate(whole, np.ones(whole.row_count)), whole.delassus.diagonal
    monkeypatch.setattr(sparse, "MOST_FULL", 20)
    monkeypatch.setattr(sparse, "_ROWS_AT_ONCE", 40)
    made, plain = [], sparse.definite_of
    monkeypatch.setattr(sparse, "definite_of", lambda H: made.append(1) or plain(H))

    def never(self):
        raise AssertionError("D was formed")

    monkeypatch.setattr(SparseDelassus, "_matrix", property(never))
    pieces, between = [], SparseDelassus._between
    monkeypatch.setattr(SparseDelassus, "_between", lambda self, J: pieces.append(J.shape[0]) or between(self, J))
    problem = standing()
    found = residuals.evaluate(problem, np.ones(problem.row_count))
    np.testing.assert_allclose(found, want, rtol=SAME)
    np.testing.assert_allclose(problem.delassus.diagonal, diagonal, rtol=SAME)
    assert max(pieces) <= 40
    assert sum(pieces) == problem.row_count
    assert len(made) == 1


@pytest.mark.parametrize("law", ["ncp", "ccp"])
def test_what_is_too_large_to_be_formed(monkeypatch, law):
    """An interior point goes through the nodes, and `auto` knows; whoever needs D says so at once, in one sentence."""
    want = solve(standing(law=law), "auto", tol=1e-9)
    monkeypatch.setattr(sparse, "MOST_FULL", 20)
    monkeypatch.setattr(SparseDelassus, "_matrix", property(lambda self: pytest.fail("D was formed")))
    problem = standing(law=law)
    found = solve(problem, "auto", tol=1e-9)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.velocities, want.velocities, atol=1e-6)
    for name in ("nbgs", "prox-ssn", "ags", "jacobi", "gpminres"):
        refused = solve(problem, name)
        assert refused.status is Status.UNSUPPORTED
        assert "so many rows" in refused.message


def test_a_factor_that_went_on_is_noticed():
    """Two problems share a `Definite`: the first must not be solved with the masses of the second."""
    given = standing()
    H = given.delassus.mass_matrix().tobsr((3, 3))
    H.sort_indices()
    factor = Definite(H.indptr, H.indices, 3)
    assert factor.factor(H.data)
    J = given.delassus.jacobian()
    first = SparseDelassus(H, J, None, factor)
    x = np.random.default_rng(6).normal(size=given.row_count)
    want = given.delassus.body_velocity(x)
    np.testing.assert_allclose(first.body_velocity(x), want, atol=SAME * np.abs(want).max())
    assert factor.factor(2.0 * H.data)
    np.testing.assert_allclose(first.body_velocity(x), want, atol=SAME * np.abs(want).max())
    second = SparseDelassus(2.0 * H, J, None, factor)
    np.testing.assert_allclose(second.body_velocity(x), 0.5 * want, atol=SAME * np.abs(want).max())


def test_related_operators_need_no_other_factorisation(monkeypatch):
    problem = standing()
    full = problem.delassus.dense()
    monkeypatch.setattr(sparse, "mass_factor", lambda H: pytest.fail("H was factored again"))
    rng = np.random.default_rng(7)
    row, x = 0.5 + rng.random(problem.row_count), rng.normal(size=problem.row_count)
    fresh = SparseDelassus(problem.delassus.given, problem.delassus.J, None, problem.delassus.factor)
    for operator in (problem.delassus, fresh):  # D at hand, and not
        pairs = [
            (operator.scaled(row, 3.0), row[:, None] * full * row / 3.0),
            (operator.softened(0.2), full + 0.2 * np.eye(len(full))),
        ]
        for mine, want in pairs:
            np.testing.assert_allclose(mine.product(x), want @ x, atol=SAME * np.abs(want).max())
            np.testing.assert_allclose(mine.dense(), want, atol=SAME * np.abs(want).max())
        part, _ = operator.part(None, np.arange(9), None)
        np.testing.assert_allclose(part.dense(), full[:9, :9], atol=SAME * np.abs(full).max())


def test_a_full_matrix_is_factored(library):
    rng = np.random.default_rng(8)
    root = rng.normal(size=(200, 200))
    A, right = root @ root.T + 10.0 * np.eye(200), rng.normal(size=200)
    factor = Cholesky(200, 1)
    assert factor.factor(np.tril(A))  # the upper triangle is never read
    np.testing.assert_allclose(A @ factor.solve(right), right, atol=SAME)
    A[150, 150] -= 1e4
    assert not factor.factor(np.tril(A))


@pytest.mark.parametrize("compliance", [None, 0.02])
def test_the_interior_point_takes_every_system(library, compliance):
    """Welds, limits and contacts, hard and soft, between contacts in full, which is what `auto` takes, in compressed
    blocks, between nodes, and both."""
    problem = standing(law="ccp", compliance=compliance)
    want = solve(problem, Ipm(solver="ipm", linear="body"), tol=1e-9)
    assert isinstance(system_of(Standard(problem), Ipm(solver="ipm")), FullSystem)
    for linear in ("auto", "dual", "augmented"):
        found = solve(problem, Ipm(solver="ipm", linear=linear), tol=1e-9)
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.velocities, want.velocities, atol=1e-7)
        assert found.iterations <= want.iterations + 3


@pytest.mark.parametrize("law", ["ncp", "ccp"])
def test_what_touches_nothing_needs_no_delassus_operator(monkeypatch, law):
    """Contacts within reach that stay open: zero is the solution, and the judge says so as if it knew D."""
    given = standing(welds=0, law=law)
    v = given.free_velocity.copy()
    v[given.cone.contact_start :: 3] = 0.5 + np.abs(v).max()
    v[: given.cone.contact_start] = 0.1
    zero = np.zeros(given.row_count)
    want = residuals.evaluate(Problem.dual(given.delassus.dense(), v, cone=given.cone, law=law), zero)
    fresh = SparseDelassus(given.delassus.given, given.delassus.J, None, given.delassus.factor)
    monkeypatch.setattr(SparseDelassus, "_between", lambda self, J: pytest.fail("D was formed"))
    problem = Problem(fresh, v, given.cone, law, u_f=given.u_f, bias=given.bias)
    found = solve(problem, "auto", np.ones(problem.row_count), tol=1e-10)
    assert found.status is Status.CONVERGED
    assert not found.reactions.any()
    assert found.residuals == want
    np.testing.assert_array_equal(found.body_velocities, given.u_f)
    v[given.cone.contact_start] = -1e-3  # one contact closes
    assert not Problem(fresh, v, given.cone, law, u_f=given.u_f, bias=given.bias).is_free


@pytest.mark.parametrize(("solver", "law"), [("ipm", "ccp"), ("auto", "ncp"), ("ipm+desaxce", "ncp"), ("nbgs", "ncp")])
def test_a_solve_leaves_nothing_behind(solver, law):
    """Arrays as large as D must not wait for the garbage collector, which does not see how large they are: steps of a
    large body left 100 MB behind, each."""
    gc.disable()
    try:
        problem = standing(law=law)
        kept = weakref.ref(problem.delassus)
        solve(problem, solver, tol=1e-6)
        del problem
        assert kept() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("size", [0, 1, 7, 60, 200, 201])
@pytest.mark.parametrize("skew", [0.0, 0.02])
def test_few_velocities_are_factored_in_full_to_the_same_motion(size, skew):
    """Up to 200 without SciPy's sparse factors; a small part that is not symmetric, as of gyroscopic terms, is kept."""
    rng = np.random.default_rng(size)
    A = rng.standard_normal((size, size))
    gyro = np.triu(rng.standard_normal((size, size)), 1)
    H = A @ A.T + size * np.eye(size) + skew * (gyro - gyro.T)
    J, p = rng.standard_normal((3, size)), rng.standard_normal(size)
    problem = Problem.primal(H, J, p=p, mu=[0.5])
    expected = J @ np.linalg.solve(H, J.T)
    assert np.allclose(problem.delassus.dense(), expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert np.allclose(problem.u_f, np.linalg.solve(H, p), rtol=1e-10, atol=1e-13)
    pushed = problem.u_f + np.linalg.solve(H, J.T @ [1.0, 2.0, 3.0])
    assert np.allclose(problem.body_velocity(np.array([1.0, 2.0, 3.0])), pushed, rtol=1e-10, atol=1e-13)


def test_a_problem_keeps_what_it_was_given():
    """Its own copy of H and J, of their entries as they are when it is built, not as SciPy remembers them."""
    H, J = sp.csr_array(2.0 * np.eye(4)), sp.csr_array(np.eye(3, 4))
    assert J.has_canonical_format  # remembered, and then no longer so
    J.indices[:] = [0, 1, 1]
    J.indptr[:] = [0, 1, 3, 3]
    problem = Problem.primal(H, J, p=np.ones(4), mu=[0.5])
    expected = problem.delassus.dense()
    assert np.allclose(expected, np.diag([0.5, 2.0, 0.0]), rtol=1e-14, atol=0.0)
    H.data[:], J.data[:] = 1.0, 7.0
    assert np.array_equal(problem.delassus.dense(), expected)
    assert np.array_equal(problem.delassus.mass_matrix().toarray(), 2.0 * np.eye(4))
    assert np.array_equal(problem.delassus.jacobian().toarray(), [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
