"""Newton's system in body space: systems of six rows per body however many contacts there are.

With A the derivative of the projections and e the compliance and proximal weight of every row, Newton's step d obeys

    B d + ρ A J δ = −F,    B = I − A + ρ A diag(e),    H δ = Jᵀ d,

and eliminating d, block by block, leaves (H + Jᵀ ρ B⁻¹ A J) δ = −Jᵀ B⁻¹ F on the graph of bodies, whose pattern is
that of all contacts and stays the same from the first step to the last. Small proximal weights make sticking contacts
stiff; what rounding leaves is removed by refining d on the contacts' own equations.
"""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.structural import structural_factor
from delassus.linalg.operators.rigid import RigidDelassus, add_response, multiply_rows
from delassus.solvers.parts.three_by_three import adjugate

_REFINEMENTS = 2  # at most, of the linear system's solution
_EXACT_ENOUGH = 1e-8  # relative residual of the linear system at which refinement ends


class BodySystem:
    """rigid: in the units of the iteration; single: rows of joints and limits; place: (m,) of each row in the triples;
    rho: of the function F."""

    words = "a sparse direct solver in body space"

    def __init__(self, rigid: RigidDelassus, single: int, place: np.ndarray, rho: float):
        self.D, self.single, self.place, self.rho = rigid, single, place, rho
        m, n = rigid.row_count, len(rigid.mass)
        self.compliance = np.zeros(m) if rigid.compliance is None else rigid.compliance
        self.blocks = np.zeros((m, 3))
        self.eliminated = np.empty((m, 3)), np.empty((m, 3))  # B⁻¹ and ρ B⁻¹ A by rows
        self.starts, columns, self.places = _graph(rigid.bodies, n)
        self.own = np.array([np.searchsorted(columns[s:e], b) for b, (s, e) in enumerate(pairwise(self.starts))])
        self.factor = structural_factor(*_expanded(self.starts, columns))

    def step(self, A: np.ndarray, weight: np.ndarray, F: np.ndarray) -> np.ndarray | None:
        """Newton's step (3 n,), or None where the system is singular.  A: (3 n, 3), F: (3 n,);
        weight: (3 n,) α of each row."""
        single, place = self.single, self.place
        self.blocks[:single, 0] = A[place[:single], place[:single] % 3]
        self.blocks[single:] = A[place[single:]]
        d = self._direction(weight[place], F[place])
        if d is None or not np.isfinite(d).all():
            return None
        step = -F
        step[place] = d
        return step

    def _direction(self, weight: np.ndarray, F: np.ndarray) -> np.ndarray | None:
        """Newton's step by rows of the problem, (m,)."""
        D, single = self.D, self.single
        inverse, stiffness = self.eliminated
        _eliminate(self.blocks, self.rho, self.compliance + weight, single, inverse, stiffness)
        _assemble(
            D.mass,
            D.bodies,
            D.block_start,
            D.rows,
            single,
            stiffness,
            self.places,
            self.starts,
            self.own,
            self.factor.values,
        )
        if not self.factor.factor():
            return None
        d, left = np.zeros_like(F), -F
        wanted = _EXACT_ENOUGH * float(np.linalg.norm(F))
        for _ in range(1 + _REFINEMENTS):
            d += self._solve(left)
            left = -F - self._derivative_times(d, weight)
            if float(np.linalg.norm(left)) <= wanted:
                break
        return d

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """d with F' d = right, as exactly as the factors allow."""
        D, single = self.D, self.single
        inverse, stiffness = self.eliminated
        own = _times_blocks(inverse, single, right)
        push = np.zeros(6 * len(D.mass))
        add_response(D.bodies, D.block_start, D.rows, own, push)  # Jᵀ own: rows of J in place of H⁻¹ Jᵀ
        move = self.factor.solve(push)
        rates = np.empty_like(right)
        multiply_rows(D.bodies, D.block_start, D.rows, move, rates)
        return own - _times_blocks(stiffness, single, rates)

    def _derivative_times(self, d: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """F' d = d − A (d − ρ W d)."""
        w = d - self.rho * (self.D.product(d) + weight * d)
        return d - _times_blocks(self.blocks, self.single, w)


def _graph(bodies: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(starts, columns) of the graph of bodies with diagonal, sorted, and for every block of rows the places (…, 4) of
    its pairs (a, a), (a, b), (b, a), (b, b) among its entries, −1 for the world."""
    first, second = bodies[:, [0, 0, 1, 1]].ravel(), bodies[:, [0, 1, 0, 1]].ravel()
    there = (first >= 0) & (second >= 0)
    own = np.arange(count)
    rows, columns = np.concatenate([first[there], own]), np.concatenate([second[there], own])
    graph = sp.csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(count, count))
    graph.sum_duplicates()
    graph.sort_indices()
    key = np.repeat(own, np.diff(graph.indptr)) * count + graph.indices
    places = np.full(len(first), -1, np.int64)
    places[there] = np.searchsorted(key, first[there] * count + second[there])
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64), places.reshape(-1, 4)


def _expanded(starts: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of 6×6 blocks row by row."""
    sizes = np.diff(starts)
    pointer = np.zeros(6 * len(sizes) + 1, np.int32)
    np.cumsum(np.repeat(6 * sizes, 6), out=pointer[1:])
    entries = (6 * columns[:, None] + np.arange(6)).astype(np.int32)
    pieces = [np.tile(entries[starts[b] : starts[b + 1]].ravel(), 6) for b in range(len(sizes))]
    return pointer, np.concatenate(pieces) if pieces else np.zeros(0, np.int32)


def _times_blocks(blocks: np.ndarray, single: int, x: np.ndarray) -> np.ndarray:
    """Block-diagonal matrix by rows (m, 3) times x."""
    out = np.empty_like(x)
    out[:single] = blocks[:single, 0] * x[:single]
    out[single:] = np.einsum("kij,kj->ki", blocks[single:].reshape(-1, 3, 3), x[single:].reshape(-1, 3)).ravel()
    return out


@njit(cache=True, error_model="numpy")
def _eliminate(A, rho, soft, single, inverse, stiffness):
    """B⁻¹ and ρ B⁻¹ A by rows, B = I − A + ρ A diag(e)."""
    for i in range(single):
        b = 1.0 - A[i, 0] + rho * A[i, 0] * soft[i]
        inverse[i, 0], stiffness[i, 0] = 1.0 / b, rho * A[i, 0] / b
    B = np.empty((3, 3))
    for i in range(single, len(A), 3):
        for a in range(3):
            for b in range(3):
                B[a, b] = A[i + a, b] * (rho * soft[i + b] - 1.0)
            B[a, a] += 1.0
        rows = B[0, 0], B[0, 1], B[0, 2], B[1, 0], B[1, 1], B[1, 2], B[2, 0], B[2, 1], B[2, 2]
        parts, det = adjugate(rows)
        det = 1.0 / det
        for a in range(3):
            for b in range(3):
                inverse[i + a, b] = det * parts[3 * a + b]
        for a in range(3):
            for b in range(3):
                value = 0.0
                for c in range(3):
                    value += inverse[i + a, c] * A[i + c, b]
                stiffness[i + a, b] = rho * value


@njit(cache=True, error_model="numpy")
def _assemble(mass, bodies, block_start, rows, single, S, places, starts, own, values):
    """H + Jᵀ S J into the expanded pattern of the graph of bodies; S block-diagonal by rows, zero where open; own: the
    place of each body's diagonal block among those of its row."""
    values[:] = 0.0
    SJ = np.empty((6, 12))
    for b in range(len(mass)):
        base = 36 * starts[b] + 6 * own[b]
        for r in range(6):
            for c in range(6):
                values[base + r * 6 * (starts[b + 1] - starts[b]) + c] = mass[b, r, c]
    for k in range(len(bodies)):
        first, size = block_start[k], block_start[k + 1] - block_start[k]
        if first >= single and S[first, 0] == 0.0:
            continue  # open
        for i in range(size):
            for c in range(12):
                if first < single:
                    SJ[i, c] = S[first + i, 0] * rows[first + i, c]
                else:
                    SJ[i, c] = (
                        S[first + i, 0] * rows[first, c]
                        + S[first + i, 1] * rows[first + 1, c]
                        + S[first + i, 2] * rows[first + 2, c]
                    )
        for pair in range(4):
            place = places[k, pair]
            if place < 0:
                continue
            left, right = pair // 2, pair % 2
            b = bodies[k, left]
            base = 36 * starts[b] + 6 * (place - starts[b])
            for r in range(6):
                at = base + r * 6 * (starts[b + 1] - starts[b])
                for c in range(6):
                    value = 0.0
                    for i in range(size):
                        value += rows[first + i, 6 * left + r] * SJ[i, 6 * right + c]
                    values[at + c] += value
