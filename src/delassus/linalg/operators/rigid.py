"""D = J H⁻¹ Jᵀ + E of rigid bodies, never formed: 6×6 mass blocks and, per row, six entries for each of two bodies."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.operators.delassus import ODD_MASSES, Delassus
from delassus.linalg.operators.islands import islands_of_bodies
from delassus.linalg.operators.rigid_data import RigidData
from delassus.linalg.operators.structure import blocks_as_sparse, rows_as_sparse

_NONE = np.zeros(0)


class RigidDelassus(Delassus):
    """Matrix-free Delassus operator of rigid bodies.

    mass: (n_b, 6, 6) mass blocks [kg, kg m, kg m²], possibly non-symmetric (gyroscopic terms);
    bodies: (block_count, 2) the two bodies of each block of rows, −1 for the world;
    rows: (m, 12) the row's entries for the first and for the second body (zero for the world);
    block_start: (block_count + 1,) first row of each block;
    compliance: (m,) diagonal of E [1/kg], or None;
    mass_inverse: (n_b, 6, 6) and response: (m, 12), H⁻¹ Jᵀ by rows, where they are known already, or None.
    """

    kind = "rigid"
    has_bodies = True
    is_primal = True
    has_blocks_at_hand = True

    def __init__(
        self,
        mass: np.ndarray,
        bodies: np.ndarray,
        rows: np.ndarray,
        block_start: np.ndarray,
        compliance: np.ndarray | None = None,
        mass_inverse: np.ndarray | None = None,
        response: np.ndarray | None = None,
    ):
        self.mass = mass
        self.bodies = bodies
        self.rows = rows
        self.block_start = block_start
        self.compliance = compliance
        self.row_count, self.velocity_count = len(rows), 6 * len(mass)
        self.mass_inverse = np.linalg.inv(mass) if mass_inverse is None else mass_inverse
        if response is not None:
            self.response = response

    @property
    def rigid(self) -> "RigidDelassus":
        return self

    def pair_count(self, first: int) -> int:
        return int(_pair_count(self.bodies, first, len(self.mass)))

    @cached_property
    def response(self) -> np.ndarray:
        """H⁻¹ Jᵀ by rows, (m, 12): how the two bodies of a row move under a unit reaction on it."""
        out = np.empty_like(self.rows)
        form_response(self.mass_inverse, self.bodies, self.block_start, self.rows, out)
        return out

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        u = np.zeros(6 * len(self.mass))
        add_response(self.bodies, self.block_start, self.response, reactions, u)
        return u

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        v = np.empty(self.row_count)
        multiply_rows(self.bodies, self.block_start, self.rows, u, v)
        return v

    def product(self, reactions: np.ndarray) -> np.ndarray:
        """D λ = J (H⁻¹ Jᵀ λ) + E λ, (m,)."""
        return self.velocity(reactions, _NONE)

    def velocity(self, reactions: np.ndarray, free: np.ndarray) -> np.ndarray:
        """D λ + free, (m,), in one compiled call.  free: (m,), or empty for zero."""
        u, v = np.empty(self.velocity_count), np.empty(self.row_count)
        rigid_velocities(self.plain, reactions, free, u, v)
        return v

    def velocities(
        self, reactions: np.ndarray, free: np.ndarray, u_f: np.ndarray | None, bias: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        del bias  # which `free` includes
        u, v = np.empty(self.velocity_count), np.empty(self.row_count)
        rigid_velocities(self.plain, reactions, free, u, v)
        if u_f is None:
            return v, None
        u += u_f
        return v, u

    @cached_property
    def plain(self) -> tuple[np.ndarray, ...]:
        """The fields of `RigidData`, a plain tuple, for compiled code."""
        compliance = _NONE if self.compliance is None else self.compliance
        return self.bodies, self.block_start, self.rows, self.response, compliance

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        """The diagonal blocks D_kk one after the other, each row by row: (Σ d_k²,), for the own partition."""
        del block_start
        out = np.empty(_block_area(self.block_start))
        fill_diagonal_blocks(*self.plain[1:], out)  # type: ignore[call-arg]
        return out

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag D, (m,)."""
        diagonal = np.einsum("ij,ij->i", self.rows, self.response)
        return diagonal if self.compliance is None else diagonal + self.compliance

    def jacobian(self) -> sp.csr_array:
        return rows_as_sparse(self.rows, self.bodies, self.block_start, 6 * len(self.mass))

    def mass_matrix(self) -> sp.csr_array:
        return blocks_as_sparse(self.mass)

    def mass_solve(self, momentum: np.ndarray) -> np.ndarray:
        return np.einsum("kij,kj->ki", self.mass_inverse, momentum.reshape(-1, 6)).ravel()

    def matrix(self) -> sp.csr_array:
        D = self.jacobian() @ blocks_as_sparse(self.mass_inverse) @ self.jacobian().T
        if self.compliance is not None:
            D = D + sp.diags_array(self.compliance)
        D = sp.csr_array(D)
        D.sum_duplicates()
        return D

    def dense(self) -> np.ndarray:
        out = np.empty((self.row_count, self.row_count))
        form_dense(self.plain, False, out)
        return out

    def entry_bound(self, block_start: np.ndarray) -> int:
        """Upper bound on nnz(D): every two rows of a body give at most one entry."""
        sizes = np.diff(block_start)
        held = np.bincount((self.bodies + 1).ravel(), weights=np.repeat(sizes, 2), minlength=len(self.mass) + 1)
        return int((held[1:] ** 2).sum())

    def islands(self, block_start: np.ndarray) -> np.ndarray:
        del block_start
        return islands_of_bodies(self.bodies, len(self.mass))

    def part(self, blocks: np.ndarray, rows: np.ndarray, block_start: np.ndarray) -> tuple["RigidDelassus", np.ndarray]:
        """Bodies that no block acts on are left out."""
        used = np.unique(self.bodies[blocks])
        used = used[used >= 0]
        number = np.full(len(self.mass) + 1, -1, dtype=np.int64)  # the last entry is the world's, index −1
        number[used] = np.arange(len(used))
        compliance = None if self.compliance is None else self.compliance[rows]
        part = RigidDelassus(self.mass[used], number[self.bodies[blocks]], self.rows[rows], block_start, compliance)
        return part, (6 * used[:, None] + np.arange(6)).ravel()

    def scaled(self, row: np.ndarray, unit: float) -> "RigidDelassus":
        compliance = None if self.compliance is None else row * row * self.compliance / unit
        return RigidDelassus(self.mass * unit, self.bodies, row[:, None] * self.rows, self.block_start, compliance)

    def softened(self, by: float | np.ndarray) -> "RigidDelassus":
        compliance = (np.zeros(self.row_count) if self.compliance is None else self.compliance) + by
        return RigidDelassus(
            self.mass, self.bodies, self.rows, self.block_start, compliance, self.mass_inverse, self.response
        )

    def with_unit_masses(self) -> "RigidDelassus":
        soft = None if self.compliance is None else np.where(self.compliance > 0.0, 1.0, 0.0)
        mass = np.tile(np.eye(6), (len(self.mass), 1, 1))
        mass[:, 3:, 3:] *= radius_of_gyration(self.mass)[:, None, None] ** 2
        return RigidDelassus(mass, self.bodies, self.rows, self.block_start, soft)

    def inertia_trace(self) -> float:
        return float(np.trace(self.mass, axis1=1, axis2=2).sum())

    def mass_ratio(self) -> float | None:
        """By the heaviest and the lightest direction of translation: gyroscopic terms only touch rotations."""
        return translation_ratio(self.mass) if len(self.mass) else None

    def has_odd_masses(self) -> bool:
        return len(self.mass) > 0 and translation_ratio(self.mass) > ODD_MASSES

    def velocity_units(self) -> np.ndarray:
        unit = np.ones((len(self.mass), 6))
        unit[:, 3:] /= radius_of_gyration(self.mass)[:, None]
        return unit.ravel()

    def __repr__(self) -> str:
        return f"RigidDelassus({len(self.mass)} bodies, {self.row_count} rows)"


def radius_of_gyration(mass: np.ndarray) -> np.ndarray:
    """(n_b,) [m] of the mass blocks (n_b, 6, 6)."""
    diagonal = np.einsum("kii->ki", mass)
    return np.sqrt(diagonal[:, 3:].sum(axis=1) / diagonal[:, :3].sum(axis=1))


@njit(cache=True)
def _pair_count(bodies, first, body_count):
    """How many pairs of bodies touch.  bodies: (block_count, 2), of which those from `first` on count."""
    last, before, count = np.full(body_count + 1, -1), np.empty(len(bodies), np.int64), 0
    for k in range(first, len(bodies)):
        low, high = min(bodies[k, 0], bodies[k, 1]), max(bodies[k, 0], bodies[k, 1])
        at = last[high + 1]  # pairs with that body, one after the other: the world would have the longest list
        while at >= 0 and min(bodies[at, 0], bodies[at, 1]) != low:
            at = before[at]
        if at < 0:
            before[k], last[high + 1] = last[high + 1], k
            count += 1
    return count


@njit(cache=True, **NO_REFCOUNT)
def body_count(bodies):
    """Numbers of bodies are less than this.  bodies: (block_count, 2), −1 for the world."""
    out = 0
    for k in range(len(bodies)):
        out = max(out, bodies[k, 0] + 1, bodies[k, 1] + 1)
    return out


@njit(cache=True, **NO_REFCOUNT)
def translation_ratio(mass):
    """Heaviest over lightest direction of translation. Compiled: every step needs it, and NumPy takes 20 µs."""
    least = most = mass[0, 0, 0]
    for k in range(len(mass)):
        for i in range(3):
            least, most = min(least, mass[k, i, i]), max(most, mass[k, i, i])
    return most / least


@njit(cache=True, **NO_REFCOUNT)
def form_response(mass_inverse, bodies, block_start, rows, out):
    """out (m, 12) = J H⁻¹, row by row and body by body: what a reaction of one does to the two bodies."""
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


@njit(cache=True, **NO_REFCOUNT)
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


@njit(cache=True, **NO_REFCOUNT)
def multiply_rows(bodies, block_start, rows, u, v):
    """v (m,) = J u of body velocities u (6 n_b,)."""
    for k in range(len(bodies)):
        for i in range(block_start[k], block_start[k + 1]):
            value = 0.0
            for side in range(2):
                body = bodies[k, side]
                if body >= 0:
                    for a in range(6):
                        value += rows[i, 6 * side + a] * u[6 * body + a]
            v[i] = value


@njit(cache=True, **NO_REFCOUNT)
def rigid_velocities(plain, reactions, free, u, v):
    """u = H⁻¹ Jᵀ λ and v = J u + E λ + free.  plain: of `RigidDelassus`; free: (m,), or empty for zero."""
    rigid = RigidData(*plain)
    for i in range(len(u)):
        u[i] = 0.0
    add_response(rigid.bodies, rigid.block_start, rigid.response, reactions, u)
    multiply_rows(rigid.bodies, rigid.block_start, rigid.rows, u, v)
    for i in range(len(rigid.compliance)):
        v[i] += rigid.compliance[i] * reactions[i]
    for i in range(len(free)):
        v[i] += free[i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def form_dense(plain, is_half, out):
    """out = D in full, or, where that is enough, the blocks in its lower triangle.  plain: of `RigidDelassus`."""
    rigid = RigidData(*plain)
    bodies, block_start, rows = rigid.bodies, rigid.block_start, rigid.rows
    response, compliance = rigid.response, rigid.compliance
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = 0.0
    for i in range(len(compliance)):
        out[i, i] = compliance[i]
    for k in range(len(bodies)):
        for m in range(k + 1 if is_half else len(bodies)):
            for side in range(2):
                body = bodies[k, side]
                if body < 0:
                    continue
                for other in range(2):
                    if bodies[m, other] == body:
                        _add_block(rows, response, block_start, k, 6 * side, m, 6 * other, out)


@njit(cache=True, error_model="numpy", fastmath={"contract"}, **NO_REFCOUNT)
def _add_block(rows, response, block_start, k, a, m, b, out):
    """What the blocks k and m have in common by one body, whose entries begin at column a of the one and b of the
    other."""
    for i in range(block_start[k], block_start[k + 1]):
        x0, x1, x2 = rows[i, a], rows[i, a + 1], rows[i, a + 2]
        x3, x4, x5 = rows[i, a + 3], rows[i, a + 4], rows[i, a + 5]
        for j in range(block_start[m], block_start[m + 1]):
            linear = x0 * response[j, b] + x1 * response[j, b + 1] + x2 * response[j, b + 2]
            out[i, j] += linear + (x3 * response[j, b + 3] + x4 * response[j, b + 4] + x5 * response[j, b + 5])


@njit(cache=True, **NO_REFCOUNT)
def _block_area(block_start):
    """Σ d_k²."""
    total = 0
    for k in range(len(block_start) - 1):
        total += (block_start[k + 1] - block_start[k]) ** 2
    return total


@njit(cache=True, **NO_REFCOUNT)
def fill_diagonal_blocks(block_start, rows, response, compliance, out):
    """The blocks D_kk one after the other, each row by row, into out (Σ d_k²,).  compliance: (m,), or empty."""
    offset = 0
    for k in range(len(block_start) - 1):
        first = block_start[k]
        size = block_start[k + 1] - first
        for i in range(size):
            for j in range(size):
                value = 0.0
                for a in range(12):
                    value += rows[first + i, a] * response[first + j, a]
                if i == j and len(compliance):
                    value += compliance[first + i]
                out[offset + i * size + j] = value
        offset += size * size


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
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


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def push_row(a, b, rows, i, f, u):
    """u += f times row i, of J or of H⁻¹ Jᵀ, for its bodies a and b."""
    if a >= 0:
        for j in range(6):
            u[6 * a + j] += rows[i, j] * f
    if b >= 0:
        for j in range(6):
            u[6 * b + j] += rows[i, 6 + j] * f


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def unit_mass_rows(root, bodies, start, rows, factor, out):
    """out = F J L⁻ᵀ by rows: forward substitution with each body's L."""
    for k in range(len(bodies)):
        for side in range(2):
            body = bodies[k, side]
            for i in range(start[k], start[k + 1]):
                for a in range(6):
                    value = 0.0
                    if body >= 0:
                        value = rows[i, 6 * side + a] * factor[i]
                        for b in range(a):
                            value -= root[body, a, b] * out[i, 6 * side + b]
                        value /= root[body, a, a]
                    out[i, 6 * side + a] = value
