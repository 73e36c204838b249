"""Products with symmetric matrices of which only the upper blocks are kept: every block is read once and used twice."""

import numpy as np

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern


class BlockProduct:
    """A x for a fixed pattern.  values: see `Pattern`; replaced or overwritten between products as one likes."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern
        self.values = pattern.values()
        self.side = side_of(pattern)

    def times(self, x: np.ndarray, out: np.ndarray) -> None:
        """out = A x, both (n,) and different arrays."""
        pattern = self.pattern
        blocks = self.values.reshape(-1, pattern.block, pattern.block)
        upper_times(self.side, pattern.indptr, pattern.indices, blocks, x, out)


def side_of(pattern: Pattern) -> tuple[int, ...]:
    """A tuple as long as the blocks are wide: compiled code knows its length, so that loops over a block are
    unrolled."""
    return (0,) * pattern.block


@njit(cache=True, error_model="numpy")
def upper_times(side, indptr, indices, blocks, x, out):
    """out = A x from the upper blocks of A."""
    s = len(side)
    for i in range(len(out)):
        out[i] = 0.0
    for i in range(len(indptr) - 1):
        row = s * i
        for p in range(indptr[i], indptr[i + 1]):
            column = s * indices[p]
            for a in range(s):
                total = 0.0
                for b in range(s):
                    total += blocks[p, a, b] * x[column + b]
                out[row + a] += total
            if column != row:
                for b in range(s):
                    total = 0.0
                    for a in range(s):
                        total += blocks[p, a, b] * x[row + a]
                    out[column + b] += total
