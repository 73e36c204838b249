"""Symmetric positive definite matrices of one pattern, as finite elements give them: factored again and again.

The analysis of the pattern is done once. The pattern is given in full, both triangles, since whoever assembles it and
multiplies with it has it so; one triangle is factored.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from delassus.linalg.factor.complement import Complement
from delassus.linalg.factor.pardiso import Pardiso
from delassus.linalg.factor.symmetric import Pattern, factorisation

_BLOCK = 3  # side of the blocks of finite elements, and of halves of rigid bodies
_FILLED = 0.6  # share of entries that blocks must have to be factored as such: their order is found far sooner
_SOLVED_AT_ONCE = 64  # right sides, which bounds memory to as many times n doubles
# Rows from which on a Schur complement takes less time than solving for one after the other: 60 where the order of the
# last one serves again, 180 where it does not.
_COMPLEMENT_ROWS = 120


class Definite:
    """A matrix A in square blocks.  indptr: (rows of blocks + 1,), indices: (blocks,), columns sorted, both triangles
    and every diagonal block; block: side of the blocks; backend, threads: see `factorisation`.

    number: how often it has been factored, by which whoever holds it sees that the values are no longer his own."""

    def __init__(
        self, indptr: np.ndarray, indices: np.ndarray, block: int = _BLOCK, *, backend: str = "auto", threads: int = 1
    ):
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        self.upper = np.flatnonzero(indices >= row)
        start = np.zeros(len(indptr), np.int32)
        np.cumsum(np.bincount(row[self.upper], minlength=len(indptr) - 1), out=start[1:])
        self.pattern = Pattern(start, np.ascontiguousarray(indices[self.upper], np.int32), block)
        self.size, self.threads = self.pattern.size, threads
        self.factors = factorisation(self.pattern, backend=backend, threads=threads)
        self.values = self.pattern.values()
        self.number = 0

    def factor(self, values: np.ndarray) -> bool:
        """Factor A with these values, (blocks, block, block), or (blocks,) for block = 1, of which the upper triangle
        is read; False where A is not positive definite."""
        self.number += 1
        np.take(values, self.upper, axis=0, out=self.values)
        return self.factors.factor(self.values)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, for one right side (n,) or many (n, k); NaN where the library fails."""
        if right.ndim == 2:
            return self.factors.solve_many(right.T).T
        out = np.empty(self.size)
        self.factors.solve(right, out)
        return out

    def between(self, J: sp.csr_array) -> np.ndarray:
        """J A⁻¹ Jᵀ in full, (m, m), symmetric.  J: (m, n), sorted."""
        if J.shape[0] >= _COMPLEMENT_ROWS and isinstance(self.factors, Pardiso):
            eliminate, source = self._complement
            found = eliminate.between(self.values.reshape(-1)[source], J)
            if found is not None:
                return found
        out = np.empty((J.shape[0],) * 2)
        for first in range(0, len(out), _SOLVED_AT_ONCE):
            part = slice(first, first + _SOLVED_AT_ONCE)
            out[part] = (J @ self.factors.solve_many(J[part].toarray()).T).T
        return 0.5 * (out + out.T)

    @cached_property
    def _complement(self) -> tuple[Complement, np.ndarray]:
        """Eliminations on the upper triangle without blocks, and where its values lie among those of the blocks."""
        pattern = self.pattern
        counted = np.arange(1.0, self.values.size + 1.0).reshape(-1, pattern.block, pattern.block)
        blocks = sp.bsr_array((counted, pattern.indices, pattern.indptr), shape=(self.size, self.size))
        upper = sp.csr_array(sp.triu(blocks.tocsr()))
        upper.sort_indices()
        return Complement(upper.indptr, upper.indices, self.threads), upper.data.astype(np.int64) - 1


def definite_of(A: sp.csr_array, *, backend: str = "auto", threads: int = 1) -> Definite | None:
    """A factored, in blocks of three where it consists of such; None where it is not positive definite.  A: (n, n),
    symmetric, sorted."""
    if not (A.diagonal() > 0.0).all():
        return None
    indptr, indices, values, block = A.indptr, A.indices, A.data, 1
    if A.shape[0] % _BLOCK == 0:
        blocks = A.tobsr(blocksize=(_BLOCK, _BLOCK))
        if A.nnz >= _FILLED * blocks.data.size:
            blocks.sort_indices()
            indptr, indices, values, block = blocks.indptr, blocks.indices, blocks.data, _BLOCK
    out = Definite(indptr, indices, block, backend=backend, threads=threads)
    return out if out.factor(values) else None
