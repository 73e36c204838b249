"""Newton's linear system by block elimination: (I − A (I − ρ (D + α I))) d = −F over the triples that may be closed.

Up-looking LU on 3×3 blocks, row by row in the order of `parts/elimination_order`, the right side eliminated along. Rows
of open triples are rows of the identity: nothing is eliminated in them, and as pivots they are one. There is no
pivoting between blocks: the proximal weight α keeps every pivot away from zero, and a step that is no descent is
refused by the line search.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import add_products
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers.parts.three_by_three import adjugate


class Factors(NamedTuple):
    """The factors of the system, and the order that its triples are eliminated in."""

    order: np.ndarray
    """(members,) triples."""
    starts: np.ndarray
    columns: np.ndarray
    """Pattern of U."""
    lower: np.ndarray
    left: np.ndarray
    """Pattern of L."""
    seat: np.ndarray
    """(blocks of D,) place of each block's column in the order, behind it for triples that are not in it."""
    U: np.ndarray
    """12 numbers per block."""
    inverse: np.ndarray
    """12 numbers per triple, of the pivots."""
    row: np.ndarray
    """Scratch: 12 numbers per triple, and 24 more, of which the last 12 hold a block of L."""
    b: np.ndarray
    """Scratch: 3 numbers per triple."""


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def block_lu_step(factors, triples, rho, A, weight, F, coupled, d):
    """d of the triples in the order, (3 n,), written; was it found?  factors: `Factors`; triples: `Triples`; A: (3 n,
    3) derivative of the projections; weight: (3 n,) α of each row; coupled: (3 n,) D times −F of the triples that are
    not in the order, negated."""
    order, starts, columns, lower, left = factors.order, factors.starts, factors.columns, factors.lower, factors.left
    place, U, inverse, row, b = factors.seat, factors.U, factors.inverse, factors.row, factors.b
    pointer, value, diagonal, L = triples.pointer, triples.value, triples.diagonal, row[len(row) - 12 :]
    n = len(order)
    for i in range(n):
        k = order[i]
        o = 3 * k
        if A[o, 0] == 0.0:
            b[3 * i], b[3 * i + 1], b[3 * i + 2] = -F[o], -F[o + 1], -F[o + 2]
            continue
        for p in range(lower[i], lower[i + 1]):
            for t in range(12 * left[p], 12 * left[p] + 12):
                row[t] = 0.0
        for p in range(starts[i], starts[i + 1]):
            for t in range(12 * columns[p], 12 * columns[p] + 12):
                row[t] = 0.0
        for c in range(3):
            for a in range(3):
                L[4 * c + a] = rho * A[o + a, c]
                x = (1.0 if a == c else 0.0) - A[o + a, c] + rho * weight[o + c] * A[o + a, c]
                for t in range(3):
                    x += rho * A[o + a, t] * diagonal[9 * k + 3 * t + c]
                row[12 * i + 4 * c + a] = x
            L[4 * c + 3] = 0.0
        add_products(pointer[k], pointer[k + 1], place, value, 9, row, L)  # the row of ρ A D
        b0 = -F[o] + L[0] * coupled[o] + L[4] * coupled[o + 1] + L[8] * coupled[o + 2]
        b1 = -F[o + 1] + L[1] * coupled[o] + L[5] * coupled[o + 1] + L[9] * coupled[o + 2]
        b2 = -F[o + 2] + L[2] * coupled[o] + L[6] * coupled[o + 1] + L[10] * coupled[o + 2]
        for p in range(lower[i], lower[i + 1]):
            q = left[p]
            w, at = 12 * q, 3 * q
            if A[3 * order[q], 0] == 0.0:
                b0 -= row[w] * b[at] + row[w + 4] * b[at + 1] + row[w + 8] * b[at + 2]
                b1 -= row[w + 1] * b[at] + row[w + 5] * b[at + 1] + row[w + 9] * b[at + 2]
                b2 -= row[w + 2] * b[at] + row[w + 6] * b[at + 1] + row[w + 10] * b[at + 2]
                continue
            for c in range(3):
                p0, p1, p2 = inverse[w + 4 * c], inverse[w + 4 * c + 1], inverse[w + 4 * c + 2]
                L[4 * c] = -(row[w] * p0 + row[w + 4] * p1 + row[w + 8] * p2)
                L[4 * c + 1] = -(row[w + 1] * p0 + row[w + 5] * p1 + row[w + 9] * p2)
                L[4 * c + 2] = -(row[w + 2] * p0 + row[w + 6] * p1 + row[w + 10] * p2)
            add_products(starts[q], starts[q + 1], columns, U, 12, row, L)
            b0 += L[0] * b[at] + L[4] * b[at + 1] + L[8] * b[at + 2]
            b1 += L[1] * b[at] + L[5] * b[at + 1] + L[9] * b[at + 2]
            b2 += L[2] * b[at] + L[6] * b[at + 1] + L[10] * b[at + 2]
        b[3 * i], b[3 * i + 1], b[3 * i + 2] = b0, b1, b2
        if not abs(_invert(row, inverse, 12 * i)) > 0.0:
            return False
        for p in range(starts[i], starts[i + 1]):
            w = 12 * columns[p]
            for t in range(12):
                U[12 * p + t] = row[w + t]
    return _back_substitute(order, starts, columns, A, U, inverse, b, d)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _back_substitute(order, starts, columns, A, U, inverse, b, d):
    """d from the eliminated right side; is it finite?"""
    for i in range(len(order) - 1, -1, -1):
        o, w = 3 * order[i], 12 * i
        x0, x1, x2 = b[3 * i], b[3 * i + 1], b[3 * i + 2]
        if A[o, 0] == 0.0:
            d[o], d[o + 1], d[o + 2] = x0, x1, x2
            continue
        for p in range(starts[i], starts[i + 1]):
            j, q = 3 * order[columns[p]], 12 * p
            y0, y1, y2 = d[j], d[j + 1], d[j + 2]
            x0 -= U[q] * y0 + U[q + 4] * y1 + U[q + 8] * y2
            x1 -= U[q + 1] * y0 + U[q + 5] * y1 + U[q + 9] * y2
            x2 -= U[q + 2] * y0 + U[q + 6] * y1 + U[q + 10] * y2
        d[o] = inverse[w] * x0 + inverse[w + 4] * x1 + inverse[w + 8] * x2
        d[o + 1] = inverse[w + 1] * x0 + inverse[w + 5] * x1 + inverse[w + 9] * x2
        d[o + 2] = inverse[w + 2] * x0 + inverse[w + 6] * x1 + inverse[w + 10] * x2
        if not math.isfinite(d[o] + d[o + 1] + d[o + 2]):
            return False
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _invert(B, out, o):
    """Inverse of the block B[o:o+12], three columns of four, at the same place of `out`; its determinant."""
    parts, det = adjugate((B[o], B[o + 4], B[o + 8], B[o + 1], B[o + 5], B[o + 9], B[o + 2], B[o + 6], B[o + 10]))
    s = 1.0 / det
    for c in range(3):
        for a in range(3):
            out[o + 4 * c + a] = parts[3 * a + c] * s
    return det
