"""Incomplete factorisations, against what they are defined by."""

import numpy as np
import pytest

from delassus.linalg.factor.symmetric import Pattern
from delassus.linalg.iterative.block_product import BlockProduct
from delassus.linalg.iterative.incomplete import BlockDiagonal, IncompleteFactor

ROUNDING = 1e-10  # matrices of condition below 1e4


def random_blocks(rng, count, side, *, density=0.3, tridiagonal=False):
    """(pattern, values, dense) of a random symmetric matrix, with a dominant diagonal."""
    rows, cols = np.triu_indices(count, 1)
    near = cols - rows == 1 if tridiagonal else rng.random(len(rows)) < density
    rows, cols = np.concatenate([np.arange(count), rows[near]]), np.concatenate([np.arange(count), cols[near]])
    order = np.lexsort((cols, rows))
    rows, cols = rows[order], cols[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int32)
    values = rng.normal(size=(len(rows), side, side))
    dense = np.zeros((count * side, count * side))
    for r, c, block in zip(rows, cols, values):
        if r == c:
            block[:] = 0.5 * (block + block.T)
        dense[r * side : (r + 1) * side, c * side : (c + 1) * side] = block
        dense[c * side : (c + 1) * side, r * side : (r + 1) * side] = block.T
    heavy = 1.1 * np.abs(dense).sum(axis=1)
    dense[np.diag_indices(len(dense))] += heavy
    for i in range(count):
        values[indptr[i]] = dense[i * side : (i + 1) * side, i * side : (i + 1) * side]
    pattern = Pattern(indptr, cols.astype(np.int32), side)
    return pattern, values if side > 1 else values.reshape(-1), dense


def no_fill(A, side):
    """L U of a dense matrix, where every block outside A's pattern is dropped as it appears (Saad 2003, Algorithm
    10.4)."""
    n = len(A) // side
    at = [slice(k * side, (k + 1) * side) for k in range(n)]
    there = [[np.any(A[at[i], at[j]] != 0.0) for j in range(n)] for i in range(n)]
    work = A.copy()
    for i in range(n):
        for k in range(i):
            if there[i][k]:
                work[at[i], at[k]] = work[at[i], at[k]] @ np.linalg.inv(work[at[k], at[k]])
                for j in range(k + 1, n):
                    if there[i][j] and there[k][j]:
                        work[at[i], at[j]] -= work[at[i], at[k]] @ work[at[k], at[j]]
    L, U = np.eye(len(A)), np.zeros_like(A)
    for i in range(n):
        for j in range(n):
            (L if j < i else U)[at[i], at[j]] = work[at[i], at[j]]
    return L @ U


def one_level(A):
    """L U of a dense matrix, where every entry is dropped that neither A has nor two entries of A make (Saad 2003,
    Definition 10.5, levels up to one)."""
    n = len(A)
    there = A != 0.0
    level = np.where(there, 0, 9)
    for k in range(n):
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                level[i, j] = min(level[i, j], level[i, k] + level[k, j] + 1)
    work = A.copy()
    for i in range(n):
        for k in range(i):
            if level[i, k] <= 1:
                work[i, k] /= work[k, k]
                for j in range(k + 1, n):
                    if level[i, j] <= 1 and level[k, j] <= 1:
                        work[i, j] -= work[i, k] * work[k, j]
    work[level > 1] = 0.0
    return (np.tril(work, -1) + np.eye(n)) @ np.triu(work)


def inverse_of(factor, n):
    """M⁻¹ as a matrix."""
    out = np.full((n, n), np.nan)
    for j in range(n):
        column = np.full(n, np.nan)
        factor.solve(np.eye(n)[j], column)
        out[:, j] = column
    return out


@pytest.mark.parametrize("side", [1, 3, 6])
def test_product_reads_upper_blocks_only(side):
    pattern, values, A = random_blocks(np.random.default_rng(1), 9, side)
    product = BlockProduct(pattern)
    product.values[:] = values
    x, out = np.random.default_rng(2).normal(size=len(A)), np.full(len(A), np.nan)
    product.times(x, out)
    assert np.allclose(out, A @ x, rtol=1e-13)


@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("side", [1, 3, 6])
def test_factors_are_those_without_fill(side, definite):
    pattern, values, A = random_blocks(np.random.default_rng(3), 12, side)
    factor = IncompleteFactor(pattern, definite=definite)
    assert factor.factor(values)
    assert factor.shift == 0.0
    M = no_fill(A, side)
    assert not np.allclose(M, A)  # something was dropped
    assert np.allclose(inverse_of(factor, len(A)), np.linalg.inv(M), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("side", [1, 3, 6])
def test_tridiagonal_matrices_are_factored_exactly(side):
    pattern, values, A = random_blocks(np.random.default_rng(4), 15, side, tridiagonal=True)
    factor = IncompleteFactor(pattern)
    assert factor.factor(values)
    assert np.allclose(inverse_of(factor, len(A)), np.linalg.inv(A), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("fill", [0, 1])
def test_factors_of_single_entries_are_those_of_full_blocks(definite, fill):
    """What is dropped is dropped block by block: where blocks are full, scalar elimination, as published, and
    elimination by blocks differ in rounding, and in what is done about bad pivots."""
    pattern, values, A = random_blocks(np.random.default_rng(7), 10, 3)
    order = np.random.default_rng(8).permutation(10)
    scalar, blocks = (
        IncompleteFactor(pattern, definite=definite, order=order, fill=fill, scalar=one) for one in (True, False)
    )
    assert scalar.factor(values)
    assert blocks.factor(values)
    assert (scalar.pattern.block, blocks.pattern.block) == (1, 3)
    found = inverse_of(scalar, len(A))
    assert np.allclose(found, inverse_of(blocks, len(A)), rtol=ROUNDING, atol=ROUNDING)
    assert not np.allclose(found, np.linalg.inv(A), rtol=1e-6, atol=1e-6)
    if fill == 0:
        p = (3 * order[:, None] + np.arange(3)).ravel()
        M = np.empty_like(A)
        M[np.ix_(p, p)] = no_fill(A[np.ix_(p, p)], 1)
        assert np.allclose(found, np.linalg.inv(M), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("ordered", [True, False])
def test_one_level_of_fill(ordered):
    pattern, values, A = random_blocks(np.random.default_rng(8), 40, 1, density=0.06)
    order = np.random.default_rng(9).permutation(40) if ordered else None
    factor = IncompleteFactor(pattern, definite=False, order=order, fill=1)
    assert factor.factor(values)
    p = np.arange(40) if order is None else order
    M = np.empty_like(A)
    M[np.ix_(p, p)] = one_level(A[np.ix_(p, p)])
    assert not np.allclose(M, A)
    assert np.allclose(inverse_of(factor, 40), np.linalg.inv(M), rtol=ROUNDING, atol=ROUNDING)


def test_scaling_by_blocks_changes_nothing():
    """IC(0) of T A Tᵀ is T M Tᵀ: where contacts are about to open or stick does not matter to the factorisation."""
    rng = np.random.default_rng(5)
    pattern, values, A = random_blocks(rng, 10, 3)
    T = rng.normal(size=(10, 3, 3)) + 3.0 * np.eye(3)
    T *= 10.0 ** rng.uniform(-3, 3, (10, 1, 1))
    row = np.repeat(np.arange(10), np.diff(pattern.indptr))
    scaled = np.einsum("pij,pjk,plk->pil", T[row], values, T[pattern.indices])
    plain, other = IncompleteFactor(pattern), IncompleteFactor(pattern)
    assert plain.factor(values)
    assert other.factor(scaled)
    x = rng.normal(size=30)
    wanted, found = np.empty(30), np.empty(30)
    plain.solve(x, wanted)
    other.solve(np.einsum("kij,kj->ki", T, x.reshape(-1, 3)).ravel(), found)
    assert np.allclose(np.einsum("kji,kj->ki", T, found.reshape(-1, 3)).ravel(), wanted, rtol=1e-8)


def test_broken_pivots_are_shifted_by_cholesky_and_taken_by_lu():
    """Kershaw's matrix is positive definite and its incomplete factor is not (J. Comput. Phys. 26, 1978)."""
    A = np.array([[3.0, -2, 0, 2], [-2, 3, -2, 0], [0, -2, 3, -2], [2, 0, -2, 3]])
    assert np.linalg.eigvalsh(A).min() > 0.0
    upper = np.triu(A)
    rows, cols = np.nonzero(upper)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=4))]).astype(np.int32)
    pattern = Pattern(indptr, cols.astype(np.int32), 1)
    cholesky, lu = IncompleteFactor(pattern), IncompleteFactor(pattern, definite=False)
    assert cholesky.factor(upper[rows, cols])
    assert lu.factor(upper[rows, cols])
    assert cholesky.shift > 0.0
    assert np.linalg.eigvalsh(inverse_of(cholesky, 4)).min() > 0.0
    assert np.linalg.eigvalsh(inverse_of(lu, 4)).min() < 0.0


def test_singular_pivots_are_reported():
    pattern = Pattern(np.array([0, 1], np.int32), np.array([0], np.int32), 3)
    assert not IncompleteFactor(pattern, definite=False).factor(np.diag([1.0, 0.0, 2.0])[None])
    assert not BlockDiagonal(pattern).factor(np.diag([1.0, -1.0, 2.0])[None])


def test_block_diagonal_inverts_its_blocks():
    pattern, values, A = random_blocks(np.random.default_rng(6), 5, 3)
    factor = BlockDiagonal(pattern)
    assert factor.factor(values)
    M = inverse_of(factor, 15)
    for k in range(5):
        own = slice(3 * k, 3 * k + 3)
        assert np.allclose(M[own, own], np.linalg.inv(A[own, own]), rtol=ROUNDING)
        M[own, own] = 0.0
    assert not M.any()
