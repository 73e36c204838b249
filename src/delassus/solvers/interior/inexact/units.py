"""The rows of a problem in blocks of one size, and D between these blocks.

A contact is a block of three rows. Limits and rows of joints stand beside contacts in blocks of three too, filled up
with rows of the identity (a joint's rows by threes); without contacts every row is a block of its own.
"""

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern
from delassus.solvers.interior.standard import RigidRows, Standard


class Units:
    """start: (n + 1,) first row of each unit; block: (n,) the block of `Standard` it belongs to; position: (m',) where
    each row lies in a vector of n·side numbers."""

    def __init__(self, standard: Standard):
        self.side = 3 if standard.cones else 1
        sizes = np.diff(standard.start)
        parts = -(-sizes // self.side)
        self.block = np.repeat(np.arange(len(sizes)), parts)
        number = np.arange(len(self.block)) - np.repeat(np.cumsum(parts) - parts, parts)  # within its block
        first = standard.start[self.block] + self.side * number
        self.start = np.append(first, standard.row_count).astype(np.int64)
        self.count = len(self.block)
        unit = np.repeat(np.arange(self.count), np.diff(self.start))
        self.position = self.side * unit + np.arange(standard.row_count) - self.start[unit]
        self.size = self.side * self.count
        self.is_full = self.size == standard.row_count  # nothing to fill up
        self.unit_of_row = unit

    def padded(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """x (m',) with zeros where units are filled up; `out`, (size,), or x itself where none is."""
        if self.is_full:
            return x
        out[:] = 0.0
        out[self.position] = x
        return out


def between_units(standard: Standard, units: Units) -> tuple[Pattern, np.ndarray]:
    """Pattern and values of D with compliance; units that are filled up have ones on the diagonal."""
    operator, side = standard.operator, units.side
    if isinstance(operator, RigidRows):
        bodies = operator.bodies[units.block]
        indptr, indices = _neighbours(bodies, operator.body_count)
        pattern = Pattern(indptr, indices, side)
        values = np.zeros((len(indices), side, side))
        _fill_rigid(indptr, indices, units.start, bodies, operator.rows, values)
    else:
        D = sp.coo_array(operator.matrix())
        row, column = D.coords
        a, b = units.unit_of_row[row], units.unit_of_row[column]
        upper = a <= b
        a, b, row, column, data = a[upper], b[upper], row[upper], column[upper], D.data[upper]
        n = max(1, units.count)
        keys, place = np.unique(np.concatenate([np.arange(units.count) * (n + 1), a * n + b]), return_inverse=True)
        block_row, indices = np.divmod(keys, n)
        indptr = np.zeros(units.count + 1, np.int32)
        np.cumsum(np.bincount(block_row, minlength=units.count), out=indptr[1:])
        pattern = Pattern(indptr, indices.astype(np.int32), side)
        values = np.zeros((len(indices), side, side))
        np.add.at(values, (place[units.count :], units.position[row] % side, units.position[column] % side), data)
    diagonal = values[pattern.indptr[:-1]]
    unit, within = np.divmod(units.position, side)
    filled = np.ones((units.count, side), bool)
    filled[unit, within] = False
    unit_filled, place_filled = np.nonzero(filled)
    diagonal[unit_filled, place_filled, place_filled] = 1.0
    if standard.compliance is not None:
        diagonal[unit, within, within] += standard.compliance
    values[pattern.indptr[:-1]] = diagonal
    return pattern, values if side > 1 else values.reshape(-1)


def _neighbours(bodies: np.ndarray, body_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Upper pattern of units that share a body, compressed rows."""
    n = len(bodies)
    unit, side = np.nonzero(bodies >= 0)
    owner = bodies[unit, side]
    order = np.argsort(owner, kind="stable")
    listed = unit[order]
    list_start = np.zeros(body_count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=body_count), out=list_start[1:])
    indptr = np.zeros(n + 1, np.int32)
    _list(bodies, list_start, listed, indptr, np.empty(0, np.int32))
    indices = np.empty(indptr[-1], np.int32)
    _list(bodies, list_start, listed, indptr, indices)
    return indptr, indices


@njit(cache=True)
def _list(bodies, list_start, listed, indptr, indices):
    """indptr and, unless it is empty, indices."""
    fills = len(indices) > 0
    seen = np.full(len(bodies), -1)
    at = 0
    for u in range(len(bodies)):
        first = at
        seen[u] = u
        if fills:
            indices[at] = u
        at += 1
        for side in range(2):
            body = bodies[u, side]
            if body < 0:
                continue
            for p in range(list_start[body], list_start[body + 1]):
                v = listed[p]
                if v > u and seen[v] != u:
                    seen[v] = u
                    if fills:
                        indices[at] = v
                    at += 1
        if fills:
            indices[first:at].sort()
        indptr[u + 1] = at


@njit(cache=True, error_model="numpy")
def _fill_rigid(indptr, indices, start, bodies, rows, values):
    """values += J_u J_vᵀ for all pairs of the pattern."""
    for u in range(len(bodies)):
        for p in range(indptr[u], indptr[u + 1]):
            v = indices[p]
            for side in range(2):
                body = bodies[u, side]
                if body < 0:
                    continue
                for other in range(2):
                    if bodies[v, other] != body:
                        continue
                    for i in range(start[u], start[u + 1]):
                        for j in range(start[v], start[v + 1]):
                            total = 0.0
                            for a in range(6):
                                total += rows[i, 6 * side + a] * rows[j, 6 * other + a]
                            values[p, i - start[u], j - start[v]] += total
