"""Newton's system by direct solvers: sparse, and in full where D is nearly full."""

import numpy as np
import pytest

from delassus.linalg.factor.structural import FullLu
from delassus.solvers.newton.sparse import SparseSystem


def blocks_of(D, couples):
    """(pointer, column, value, diagonal) as `SparseSystem` takes them, columns of a row in any order."""
    n, rng = len(couples), np.random.default_rng(1)
    tensor = D.reshape(n, 3, n, 3).transpose(0, 2, 1, 3)
    rows = [rng.permutation([c for c in range(n) if c != k and couples[k, c]]) for k in range(n)]
    pointer = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = np.concatenate(rows).astype(np.int64)
    value = tensor[np.repeat(np.arange(n), np.diff(pointer)), flat].transpose(0, 2, 1).ravel().copy()
    return pointer, 3 * flat, value, tensor[np.arange(n), np.arange(n)].ravel().copy()


@pytest.mark.parametrize("reach", [3, 40])  # a band, and all with all
def test_the_step_solves_newtons_system(reach):
    n, rho = 40, 0.7
    rng = np.random.default_rng(reach)
    couples = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= reach
    D = rng.standard_normal((3 * n, 3 * n)) * np.kron(couples, np.ones((3, 3)))
    D = D @ D.T * np.kron(couples, np.ones((3, 3))) / n + np.eye(3 * n)
    D = 0.5 * (D + D.T) + 3.0 * n * np.eye(3 * n)
    A, weight, F = rng.standard_normal((3 * n, 3)), rng.uniform(0.1, 1.0, 3 * n), rng.standard_normal(3 * n)
    is_open = rng.random(n) < 0.2
    A.reshape(n, 9)[is_open] = 0.0
    system = SparseSystem(blocks_of(D, couples), rho)
    full = np.zeros((3 * n, 3 * n))
    for k in range(n):
        full[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = A[3 * k : 3 * k + 3]
    matrix = np.eye(3 * n) - full @ (np.eye(3 * n) - rho * (D + np.diag(weight)))
    for _ in range(2):  # analysed, and as analysed before
        step = system.step(A, weight, F)
        assert np.abs(matrix @ step + F).max() < 1e-11 * np.abs(matrix).max()
    assert isinstance(system.factor, FullLu) == (reach == 40)
