"""Krylov methods with a measure of the caller's own."""

import numpy as np
import pytest

from delassus.linalg.iterative.krylov import bicgstab, cg, gmres


def dressed(A):
    """A matrix as the methods take it."""

    def apply(x, out):
        out[:] = A @ x

    return apply


def nothing(x, out):
    out[:] = x


def problem(rng, n=80, skew=0.0):
    """A well-conditioned positive definite matrix with some non-symmetric part, and a right side."""
    G = rng.normal(size=(n, n)) / np.sqrt(n)
    A = G @ G.T + np.eye(n)
    N = rng.normal(size=(n, n)) / np.sqrt(n)
    return A + skew * (N - N.T), rng.normal(size=n)


@pytest.mark.parametrize(("method", "skew"), [(cg, 0.0), (bicgstab, 0.3), (gmres, 0.3)])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_methods_stop_when_the_measure_is_content(method, skew, preconditioned):
    A, b = problem(np.random.default_rng(7), skew=skew)
    weight = np.random.default_rng(8).uniform(0.1, 10.0, len(b))
    measure = lambda r: float(np.abs(weight * r).max())  # noqa: E731 - nothing like the Euclidean norm
    M = dressed(np.diag(1.0 / np.diag(A))) if preconditioned else nothing
    x = np.full(len(b), np.nan)
    count, size = method(dressed(A), M, b, x, measure, 1e-6, 500)
    assert size <= 1e-6
    assert measure(b - A @ x) == pytest.approx(size, rel=1e-3)
    assert 0 < count < 120


@pytest.mark.parametrize("method", [cg, bicgstab, gmres])
def test_limits_are_kept_and_the_measure_is_true(method):
    A, b = problem(np.random.default_rng(9), n=200)
    x = np.full(len(b), np.nan)
    count, size = method(dressed(A), nothing, b, x, np.linalg.norm, 1e-12, 7)
    assert count <= 8
    assert size == pytest.approx(np.linalg.norm(b - A @ x), rel=1e-8)
    assert 1e-12 < size < np.linalg.norm(b)


@pytest.mark.parametrize("method", [cg, bicgstab, gmres])
def test_nothing_to_do_takes_no_product(method):
    A, b = problem(np.random.default_rng(10))
    x = np.full(len(b), np.nan)
    assert method(dressed(A), nothing, 0.0 * b, x, np.linalg.norm, 1e-6, 100) == (0, 0.0)
    assert not x.any()


@pytest.mark.parametrize("method", [cg, gmres])
def test_few_eigenvalues_take_few_iterations(method):
    """A matrix with five different eigenvalues has an exact solution in the fifth Krylov space."""
    rng = np.random.default_rng(11)
    Q, _ = np.linalg.qr(rng.normal(size=(60, 60)))
    A = Q @ np.diag(np.tile([1.0, 2.0, 5.0, 7.0, 11.0], 12)) @ Q.T
    b, x = rng.normal(size=60), np.empty(60)
    count, _ = method(dressed(A), nothing, b, x, np.linalg.norm, 1e-9, 100)
    assert count <= 6
    assert np.allclose(A @ x, b, atol=1e-8)


def test_indefinite_preconditioner_stops_conjugate_gradients_without_harm():
    A, b = problem(np.random.default_rng(12))
    x = np.full(len(b), np.nan)
    _, size = cg(dressed(A), dressed(-np.eye(len(b))), b, x, np.linalg.norm, 1e-9, 50)
    assert np.isfinite(x).all()
    assert size == np.linalg.norm(b)
