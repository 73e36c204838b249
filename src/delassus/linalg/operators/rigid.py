"""D = J H⁻¹ Jᵀ + E of rigid bodies, never formed: 6×6 mass blocks and, per row, six entries for each of two bodies."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numba import njit

_NONE = np.zeros(0)


class RigidDelassus:
    """Matrix-free Delassus operator of rigid bodies.

    mass: (n_b, 6, 6) mass blocks [kg, kg m, kg m²], possibly non-symmetric (gyroscopic terms);
    bodies: (block_count, 2) the two bodies of each block of rows, −1 for the world;
    rows: (m, 12) the row's entries for the first and for the second body (zero for the world);
    block_start: (block_count + 1,) first row of each block;
    compliance: (m,) diagonal of E [1/kg], or None;
    mass_inverse: (n_b, 6, 6) and response: (m, 12), H⁻¹ Jᵀ by rows, where they are known already, or None.
    """

    kind = "rigid"

    def __init__(self, mass, bodies, rows, block_start, compliance=None, mass_inverse=None, response=None):
        self.mass = mass
        self.bodies = bodies
        self.rows = rows
        self.block_start = block_start
        self.compliance = compliance
        self.mass_inverse = np.linalg.inv(mass) if mass_inverse is None else mass_inverse
        if response is not None:
            self.response = response

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @cached_property
    def response(self) -> np.ndarray:
        """H⁻¹ Jᵀ by rows, (m, 12): how the two bodies of a row move under a unit reaction on it."""
        out = np.empty_like(self.rows)
        form_response(self.mass_inverse, self.bodies, self.block_start, self.rows, out)
        return out

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        """H⁻¹ Jᵀ λ, (6 n_b,)."""
        u = np.zeros(6 * len(self.mass))
        add_response(self.bodies, self.block_start, self.response, reactions, u)
        return u

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        """J u, (m,)."""
        v = np.empty(self.row_count)
        multiply_rows(self.bodies, self.block_start, self.rows, u, v)
        return v

    def product(self, reactions: np.ndarray) -> np.ndarray:
        """D λ = J (H⁻¹ Jᵀ λ) + E λ, (m,)."""
        return self.velocities(reactions, _NONE)[0]

    def velocities(self, reactions: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """D λ + free, (m,), and H⁻¹ Jᵀ λ, (6 n_b,), in one compiled call.  free: (m,), or empty for zero."""
        u, v = np.empty(6 * len(self.mass)), np.empty(len(self.rows))
        rigid_velocities(self.plain, reactions, free, u, v)
        return v, u

    @cached_property
    def plain(self) -> tuple[np.ndarray, ...]:
        """For compiled code: bodies, block_start, rows, response, compliance, empty where there is none."""
        compliance = _NONE if self.compliance is None else self.compliance
        return self.bodies, self.block_start, self.rows, self.response, compliance

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        """The diagonal blocks D_kk one after the other, each row by row: (Σ d_k²,), for the own partition."""
        del block_start
        out = np.empty(_block_area(self.block_start))
        _diagonal_blocks(self.block_start, self.rows, self.response, out)
        if self.compliance is not None:
            _add_to_diagonals(self.block_start, self.compliance, out)
        return out

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag D, (m,)."""
        diagonal = np.einsum("ij,ij->i", self.rows, self.response)
        return diagonal if self.compliance is None else diagonal + self.compliance

    def jacobian(self) -> sp.csr_array:
        """J as a sparse matrix, (m, 6 n_b)."""
        return _rows_as_sparse(self.rows, self.bodies, self.block_start, 6 * len(self.mass))

    def mass_matrix(self) -> sp.csr_array:
        """H as a sparse matrix, (6 n_b, 6 n_b)."""
        return _blocks_as_sparse(self.mass)

    def matrix(self) -> sp.csr_array:
        """D as a sparse matrix, (m, m)."""
        D = self.jacobian() @ _blocks_as_sparse(self.mass_inverse) @ self.jacobian().T
        if self.compliance is not None:
            D = D + sp.diags_array(self.compliance)
        D = sp.csr_array(D)
        D.sum_duplicates()
        return D

    def dense(self) -> np.ndarray:
        """D as a full matrix, (m, m): for small coupled mechanisms."""
        count = len(self.rows)
        out = np.empty((count, count))
        form_dense(self.plain, out)
        return out

    def __repr__(self) -> str:
        return f"RigidDelassus({len(self.mass)} bodies, {self.row_count} rows)"


def _blocks_as_sparse(blocks: np.ndarray) -> sp.csr_array:
    count = len(blocks)
    if count == 0:
        return sp.csr_array((0, 0))
    return sp.csr_array(sp.bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=(6 * count, 6 * count)))


def _rows_as_sparse(rows, bodies, block_start, width) -> sp.csr_array:
    row_bodies = np.repeat(bodies, np.diff(block_start), axis=0)
    row, side = np.nonzero(row_bodies >= 0)
    columns = 6 * row_bodies[row, side][:, None] + np.arange(6)
    values = rows.reshape(-1, 2, 6)[row, side]
    matrix = sp.coo_array((values.ravel(), (np.repeat(row, 6), columns.ravel())), shape=(len(rows), width))
    out = sp.csr_array(matrix)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


@njit(cache=True)
def form_response(mass_inverse, bodies, block_start, rows, out):
    for k in range(len(bodies)):
        for side in range(2):
            body = bodies[k, side]
            for i in range(block_start[k], block_start[k + 1]):
                for a in range(6):
                    value = 0.0
                    if body >= 0:
                        for b in range(6):
                            value += mass_inverse[body, a, b] * rows[i, 6 * side + b]
                    out[i, 6 * side + a] = value


@njit(cache=True)
def add_response(bodies, block_start, response, reactions, u):
    """u += H⁻¹ Jᵀ λ, in place."""
    for k in range(len(bodies)):
        for side in range(2):
            body = bodies[k, side]
            if body < 0:
                continue
            for i in range(block_start[k], block_start[k + 1]):
                for a in range(6):
                    u[6 * body + a] += response[i, 6 * side + a] * reactions[i]


@njit(cache=True)
def multiply_rows(bodies, block_start, rows, u, v):
    for k in range(len(bodies)):
        for i in range(block_start[k], block_start[k + 1]):
            value = 0.0
            for side in range(2):
                body = bodies[k, side]
                if body >= 0:
                    for a in range(6):
                        value += rows[i, 6 * side + a] * u[6 * body + a]
            v[i] = value


@njit(cache=True)
def rigid_velocities(plain, reactions, free, u, v):
    """u = H⁻¹ Jᵀ λ and v = J u + E λ + free.  plain: of `RigidDelassus`; free: (m,), or empty for zero."""
    bodies, block_start, rows, response, compliance = plain
    for i in range(len(u)):
        u[i] = 0.0
    add_response(bodies, block_start, response, reactions, u)
    multiply_rows(bodies, block_start, rows, u, v)
    for i in range(len(compliance)):
        v[i] += compliance[i] * reactions[i]
    for i in range(len(free)):
        v[i] += free[i]


@njit(cache=True, error_model="numpy")
def form_dense(plain, out):
    """out = D in full.  plain: of `RigidDelassus`."""
    bodies, block_start, rows, response, compliance = plain
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = 0.0
    for i in range(len(compliance)):
        out[i, i] = compliance[i]
    for k in range(len(bodies)):
        for m in range(len(bodies)):
            for side in range(2):
                body = bodies[k, side]
                if body < 0:
                    continue
                for other in range(2):
                    if bodies[m, other] != body:
                        continue
                    for i in range(block_start[k], block_start[k + 1]):
                        for j in range(block_start[m], block_start[m + 1]):
                            value = 0.0
                            for a in range(6):
                                value += rows[i, 6 * side + a] * response[j, 6 * other + a]
                            out[i, j] += value


@njit(cache=True)
def _block_area(block_start):
    """Σ d_k²."""
    total = 0
    for k in range(len(block_start) - 1):
        total += (block_start[k + 1] - block_start[k]) ** 2
    return total


@njit(cache=True)
def _add_to_diagonals(block_start, values, blocks):
    offset = 0
    for k in range(len(block_start) - 1):
        size = block_start[k + 1] - block_start[k]
        for i in range(size):
            blocks[offset + i * (size + 1)] += values[block_start[k] + i]
        offset += size * size


@njit(cache=True)
def _diagonal_blocks(block_start, rows, response, out):
    offset = 0
    for k in range(len(block_start) - 1):
        first = block_start[k]
        size = block_start[k + 1] - first
        for i in range(size):
            for j in range(size):
                value = 0.0
                for a in range(12):
                    value += rows[first + i, a] * response[first + j, a]
                out[offset + i * size + j] = value
        offset += size * size


@njit(cache=True, error_model="numpy")
def row_times(a, b, rows, i, u):
    """Row i of J times u, for its bodies a and b (−1: the world)."""
    value = 0.0
    if a >= 0:
        for j in range(6):
            value += rows[i, j] * u[6 * a + j]
    if b >= 0:
        for j in range(6):
            value += rows[i, 6 + j] * u[6 * b + j]
    return value


@njit(cache=True, error_model="numpy")
def push_row(a, b, rows, i, f, u):
    """u += f times row i, of J or of H⁻¹ Jᵀ, for its bodies a and b."""
    if a >= 0:
        for j in range(6):
            u[6 * a + j] += rows[i, j] * f
    if b >= 0:
        for j in range(6):
            u[6 * b + j] += rows[i, 6 + j] * f
