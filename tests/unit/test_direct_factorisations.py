"""Sparse symmetric systems: every back end solves the same system."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.errors import SettingsError
from delassus.linalg.factor import symmetric
from delassus.linalg.factor.mkl import SOLVE, PardisoHandle
from delassus.linalg.factor.pardiso import pardiso_is_there
from delassus.linalg.factor.symmetric import Pattern, factorisation, pattern_of
from delassus.linalg.iterative.conjugate_gradients import conjugate_gradients
from delassus.problem.random import random_rigid
from delassus.solvers import solve
from delassus.status import Status

EXACT = 1e-12  # condition about 1e2
SINGLE = 1e-4  # the same in single precision

backends = pytest.mark.parametrize(
    "backend",
    [
        pytest.param("pardiso", marks=pytest.mark.skipif(not pardiso_is_there(), reason="MKL is not installed")),
        "superlu",
        "dense",
    ],
)


def block_matrix(rng, count, side):
    """A block pattern of a random graph, its values, and the same as a full matrix."""
    pairs = {(i, i) for i in range(count)} | {tuple(sorted(rng.integers(0, count, 2))) for _ in range(2 * count)}
    rows, columns = np.array(sorted(pairs)).T
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int32)
    pattern = Pattern(indptr, columns.astype(np.int32), side)
    values = 0.3 * rng.normal(size=(len(rows), side, side))
    full = np.zeros((count * side, count * side))
    for (i, j), block in zip(sorted(pairs), values):
        if i == j:
            block[:] = block + block.T + 10.0 * np.eye(side)
        full[side * i : side * i + side, side * j : side * j + side] = block
        full[side * j : side * j + side, side * i : side * i + side] = block.T
    return pattern, values if side > 1 else values.reshape(-1), full


@backends
@pytest.mark.parametrize("side", [1, 3, 6])
def test_blocks_are_solved(backend, side):
    rng = np.random.default_rng(side)
    pattern, values, full = block_matrix(rng, 40, side)
    factor = factorisation(pattern, backend=backend)
    for scale in (1.0, 3.0):  # the second time the pattern is known
        assert factor.factor(scale * values)
        right, out = rng.normal(size=pattern.size), np.full(pattern.size, np.nan)
        factor.solve(right, out)
        assert np.allclose(scale * full @ out, right, rtol=EXACT, atol=EXACT)


@backends
def test_indefinite_matrices_are_solved(backend):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(30, 10))
    K = sp.csr_array(np.block([[np.eye(30), A], [A.T, -np.eye(10)]]))
    pattern, source = pattern_of(K)
    values = np.where(source >= 0, K.data[source], 0.0)
    factor = factorisation(pattern, backend=backend, definite=False)
    assert factor.factor(values)
    right, out = rng.normal(size=40), np.full(40, np.nan)
    factor.solve(right, out)
    assert np.allclose(K @ out, right, rtol=1e-10, atol=1e-10)


@backends
def test_what_is_not_positive_definite_is_refused(backend):
    pattern, values, _ = block_matrix(np.random.default_rng(2), 30, 3)
    factor = factorisation(pattern, backend=backend)
    assert not factor.factor(-values)
    assert factor.factor(values)
    for k in np.flatnonzero(pattern.indices == np.repeat(np.arange(30), np.diff(pattern.indptr))):
        one_off = values.copy()
        one_off[k] -= 40.0 * np.eye(3)  # one body of negative mass among thirty
        assert not factor.factor(one_off)


@pytest.mark.skipif(not pardiso_is_there(), reason="MKL is not installed")
@pytest.mark.parametrize("solver", ["prox-ssn", "ipm"])
def test_a_solve_that_pardiso_fails_is_not_taken_for_an_answer(monkeypatch, solver):
    """Out of memory, say, in the solve phase: what lies in the output then is the last answer, to another question."""
    pattern, values, _ = block_matrix(np.random.default_rng(3), 60, 6)
    factor = factorisation(pattern, backend="pardiso")
    assert factor.factor(values)
    right, out = np.ones(pattern.size), np.zeros(pattern.size)
    factor.solve(right, out)
    assert np.isfinite(out).all()
    plain = PardisoHandle.call
    monkeypatch.setattr(PardisoHandle, "call", lambda handle, phase: phase != SOLVE and plain(handle, phase))
    factor.solve(right, out)
    assert np.isnan(out).all()
    law = "ccp" if solver == "ipm" else "ncp"
    heap = random_rigid(np.random.default_rng(4), bodies=60, contacts=150, law=law)
    found = solve(heap, solver, tol=1e-10, max_iter=30)  # may still converge by other means, such as sweeps
    assert found.status in (Status.CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)


@pytest.mark.skipif(not pardiso_is_there(), reason="MKL is not installed")
def test_single_precision_is_a_preconditioner_for_double():
    """Six digits at once, all of them after one or two conjugate gradient iterations."""
    rng = np.random.default_rng(8)
    pattern, values, full = block_matrix(rng, 60, 6)
    rough = factorisation(pattern, backend="pardiso", single=True)
    assert rough.factor(values)
    right, out = rng.normal(size=pattern.size), np.full(pattern.size, np.nan)
    rough.solve(right, out)
    assert EXACT < np.abs(full @ out - right).max() < SINGLE
    again = factorisation(pattern, backend="pardiso", like=rough)
    assert again.factor(values)
    assert (again.order == rough.order).all()
    iterations, residual = conjugate_gradients(
        lambda x, y: np.matmul(full, x, out=y), rough.solve, right, out, 1e-13, 0.0, 10
    )
    assert iterations <= 4
    assert np.allclose(full @ out, right, rtol=EXACT, atol=EXACT)
    assert residual <= 1e-13 * np.linalg.norm(right)


def test_without_mkl_superlu_steps_in(monkeypatch):
    from delassus.linalg.factor.superlu import SuperLu

    monkeypatch.setattr("delassus.linalg.factor.pardiso.mkl", lambda: None)
    pattern, _, _ = block_matrix(np.random.default_rng(2), 60, 6)
    assert isinstance(factorisation(pattern), SuperLu)
    with pytest.raises(SettingsError, match=r"pip install 'delassus\[mkl\]'"):
        factorisation(pattern, backend="pardiso")


def test_unknown_back_end_is_named():
    with pytest.raises(SettingsError, match="did you mean 'pardiso'"):
        factorisation(block_matrix(np.random.default_rng(2), 3, 1)[0], backend="paradiso")
    assert set(symmetric.BACKENDS) == {"auto", "pardiso", "superlu", "dense"}
