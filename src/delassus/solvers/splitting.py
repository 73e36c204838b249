"""Projective splitting (paper 003 Alg. 5): Gauß–Seidel over joints, limits and contacts with a local solve for each.

Rigid problems are swept in body space: the bodies' velocities u are kept up to date and D is never formed. Everything
else is swept over block rows of D. One compiled call does a whole batch of sweeps.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from delassus.errors import nearest
from delassus.law import Law
from delassus.linalg.rigid_delassus import RigidDelassus, add_response
from delassus.linalg.sparse_delassus import SparseDelassus
from delassus.problem import Problem
from delassus.solvers.block_rows import NO_ROWS, BlockRows, block_rows
from delassus.solvers.local.conic import solve_conic
from delassus.solvers.local.projection import step_ccp, step_ncp
from delassus.solvers.local.quartic import solve_quartic
from delassus.solvers.local.slip import solve_slip
from delassus.solvers.settings import Settings, require

LOCAL = {"slip": 0, "quartic": 1, "conic": 2, "bisection": 3, "ccp": 4, "ncp": 5}
"""One-contact solvers by name: exact Coulomb by slip rate or quartic; the conic program of 003 eq. 152 by quartic or
bisection; the one-step projectors of 003 Alg. 2 and 3."""
_SLIP, _QUARTIC, _CONIC, _BISECTION, _CCP, _NCP = range(6)


@dataclass(frozen=True)
class Splitting(Settings):
    """Settings of the projective splitting family."""

    local: str = "slip"  # one-contact solver, a name of LOCAL
    desaxce: bool = False  # give the local solver De Saxcé's term of the last iterate (003 Alg. 5 line 16)
    omega: float = 1.0  # relaxation of every block update, 0 < omega < 2
    omega_after: int = (
        0  # sweeps with omega = 1 before that: easy problems are done by then, and over-relaxing delays them
    )
    omega_decay: float = 1.0  # omega is multiplied by this after each sweep …
    omega_min: float = 1.0  # … until it reaches this
    omega_backoff: float = 1.0  # factor on omega − omega_min whenever the judged residual rose; 1: never
    early_stop: float = 0.0  # stop when |Δ objective| / total inertia falls below this [J/kg] (003 eq. 160); 0: never

    def __post_init__(self):
        require(self.local in LOCAL, f"unknown local solver {self.local!r}; {nearest(self.local, list(LOCAL))}")
        require(0.0 < self.omega < 2.0, f"omega is {self.omega}: relaxation needs 0 < omega < 2")
        require(self.omega_after >= 0, f"omega_after is {self.omega_after}: give a number of sweeps")
        require(0.0 < self.omega_decay <= 1.0, f"omega_decay is {self.omega_decay}: give a factor in (0, 1]")
        require(0.0 < self.omega_min < 2.0, f"omega_min is {self.omega_min}: relaxation needs 0 < omega_min < 2")
        require(0.0 < self.omega_backoff <= 1.0, f"omega_backoff is {self.omega_backoff}: give a factor in (0, 1]")
        require(self.early_stop >= 0.0, f"early_stop is {self.early_stop}: give zero (never) or a positive number")


class Blocks(NamedTuple):
    """The blocks of a sweep, joints first, then limits, then contacts."""

    start: np.ndarray  # (block_count + 1,) first row of each block
    joint_count: int
    limit_count: int
    mu: np.ndarray  # (n_c,)
    diagonal: np.ndarray  # D_kk one after the other, row by row [1/kg]
    joint_inverse: np.ndarray  # D_kk⁺ of the joints, same layout [kg]
    offset: np.ndarray  # (m,) b in body space, v_f over block rows [m/s]
    matrix_free: bool  # sweep in body space


class Bodies(NamedTuple):
    """What a sweep in body space reads and writes; empty arrays when sweeping block rows."""

    pair: np.ndarray  # (block_count, 2), −1 for the world
    rows: np.ndarray  # (m, 12) J by rows
    response: np.ndarray  # (m, 12) H⁻¹ Jᵀ by rows
    compliance: np.ndarray  # (m,) diagonal of E
    u: np.ndarray  # (6 n_b,) current velocities, written


_NO_BODIES = Bodies(np.zeros((0, 2), np.int64), np.zeros((0, 12)), np.zeros((0, 12)), np.zeros(0), np.zeros(0))


class SplittingMethod:
    """Projective splitting at work on one problem."""

    def __init__(self, problem: Problem, settings: Splitting, reactions: np.ndarray):
        self.problem = problem
        self.settings = settings
        self.reactions = reactions
        self.finished = False
        self.term = settings.desaxce or (settings.local == "ccp" and problem.law is Law.NCP)
        self.omega = settings.omega
        self.plain_left = settings.omega_after
        self.slip = np.zeros(problem.contact_count)
        self.work = np.empty((7, max(10, problem.cone.bilateral.max(initial=0))))
        self.objective = np.inf
        self.last_excess = np.inf
        self.total_inertia = _total_inertia(problem) if settings.early_stop else 0.0
        self.bodies, self.rows = _storage(problem)
        matrix_free = self.rows is NO_ROWS
        cone = problem.cone
        self.blocks = Blocks(
            cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, problem.diagonal_blocks,
            _joint_inverse(problem), problem.bias if matrix_free else problem.free_velocity, matrix_free,
        )  # fmt: skip
        # plain tuples pass into compiled code some ten times faster than named ones
        self.plain = tuple(self.blocks), tuple(self.rows), tuple(self.bodies)

    def advance(self, count: int) -> None:
        """`count` sweeps; with early stopping, fewer once the objective no longer falls."""
        first = min(count, self.plain_left)
        if first:
            self.plain_left -= first
            count -= first
            self._sweep(first, 1.0, 1.0, 1.0)
        settings = self.settings
        if count and not settings.early_stop:
            self.omega = self._sweep(count, self.omega, settings.omega_decay, settings.omega_min)
            return
        for _ in range(count):
            self.omega = self._sweep(1, self.omega, settings.omega_decay, settings.omega_min)
            v = self.problem.constraint_velocity(self.reactions)
            objective = 0.5 * float(self.reactions @ (v + self.problem.free_velocity))
            if abs(objective - self.objective) < settings.early_stop * self.total_inertia:
                self.finished = True
                return
            self.objective = objective

    def judged(self, excess: float) -> None:
        """Relax less after a rise of the residual: a large omega makes Gauß–Seidel fast, and makes it cycle."""
        if excess > self.last_excess and not self.plain_left:
            low = self.settings.omega_min
            self.omega = low + self.settings.omega_backoff * (self.omega - low)
        self.last_excess = excess

    def _sweep(self, count: int, omega: float, decay: float, omega_min: float) -> float:
        """`count` sweeps in one compiled call; returns the relaxation reached."""
        bodies = self.bodies
        if self.blocks.matrix_free:
            # start each batch from the velocities that belong to λ, so that rounding cannot pile up
            bodies.u[:] = self.problem.u_f
            add_response(bodies.pair, self.blocks.start, bodies.response, self.reactions, bodies.u)
        return _sweeps(
            count, LOCAL[self.settings.local], self.term, omega, decay, omega_min,
            *self.plain, self.reactions, self.slip, self.work,
        )  # fmt: skip


def start_splitting(problem: Problem, settings: Settings, reactions: np.ndarray) -> SplittingMethod:
    """A method of this family, at the given starting point."""
    assert isinstance(settings, Splitting)
    return SplittingMethod(problem, settings, reactions)


def _storage(problem: Problem) -> tuple[Bodies, BlockRows]:
    """What the sweeps read of D: bodies for rigid problems, block rows for all others."""
    delassus = problem.delassus
    if not isinstance(delassus, RigidDelassus):
        return _NO_BODIES, block_rows(delassus.matrix(), problem.cone.block_start, problem.cone.contact_start)
    compliance = np.zeros(problem.row_count) if delassus.compliance is None else delassus.compliance
    u = np.empty(6 * len(delassus.mass))
    return Bodies(delassus.bodies, delassus.rows, delassus.response, compliance, u), NO_ROWS


def _joint_inverse(problem: Problem) -> np.ndarray:
    """Pseudo-inverses of the joints' diagonal blocks, flat, row by row: exact solves that forgive redundant rows."""
    sizes = problem.cone.bilateral
    out = np.empty(int((sizes * sizes).sum()))
    if not len(sizes):
        return out
    ends = np.cumsum(sizes * sizes)
    for size in np.unique(sizes):
        at = (ends - sizes * sizes)[sizes == size][:, None] + np.arange(size * size)
        blocks = problem.diagonal_blocks[at].reshape(-1, size, size)
        out[at] = np.linalg.pinv(blocks, rcond=1e-12).reshape(-1, size * size)
    return out


def _total_inertia(problem: Problem) -> float:
    """Sum of the diagonal of H (003 eq. 160); for dual problems, which have none, rows over mean diagonal of D [kg]."""
    if isinstance(problem.delassus, RigidDelassus):
        return float(np.trace(problem.delassus.mass, axis1=1, axis2=2).sum())
    if isinstance(problem.delassus, SparseDelassus):
        return float(problem.delassus.mass_matrix().diagonal().sum())
    return problem.step * problem.row_count


# -- kernels -----------------------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def _sweeps(count, local, term, omega, decay, omega_min, blocks, rows, bodies, reactions, slip, work):
    """`count` sweeps over all blocks: reactions, slip and bodies.u change in place; returns the relaxation reached.

    blocks, rows, bodies: the fields of `Blocks`, `BlockRows` and `Bodies` as plain tuples."""
    blocks, rows, bodies = Blocks(*blocks), BlockRows(*rows), Bodies(*bodies)
    D = blocks.diagonal
    first_contact = blocks.joint_count + blocks.limit_count
    for _ in range(count):
        at = 0  # where the diagonal block of the current one starts
        for k in range(blocks.joint_count):
            at = _joint(k, at, omega, blocks, rows, bodies, reactions, work[0])
        for k in range(blocks.joint_count, first_contact):
            _limit(k, at, omega, blocks, rows, bodies, reactions)
            at += 1
        for c in range(len(blocks.mu)):
            k = first_contact + c
            i = blocks.start[k]
            r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
            if blocks.matrix_free:
                q0, q1, q2 = _rows_times(k, i, at, blocks, bodies, r0, r1, r2)
            else:
                q0, q1, q2 = _blocks_times(c, i, blocks, rows, reactions)
            n0, n1, n2, slip[c] = _contact(local, term, D, at, q0, q1, q2, r0, r1, r2, blocks.mu[c], slip[c], work)
            if omega != 1.0:
                n0, n1, n2 = r0 + omega * (n0 - r0), r1 + omega * (n1 - r1), r2 + omega * (n2 - r2)
            reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
            if blocks.matrix_free and (n0 != r0 or n1 != r1 or n2 != r2):
                _push(bodies, k, i, n0 - r0)
                _push(bodies, k, i + 1, n1 - r1)
                _push(bodies, k, i + 2, n2 - r2)
            at += 9
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    return omega


@njit(cache=True, error_model="numpy")
def _contact(local, term, D, o, q0, q1, q2, r0, r1, r2, mu, slip, work):
    """New reaction of one contact and its slip rate, by the local solver asked for."""
    if local == _SLIP:
        return solve_slip(D, o, q0, q1, q2, mu, slip)
    if local == _QUARTIC:
        n0, n1, n2 = solve_quartic(D, o, q0, q1, q2, mu, work)
        return n0, n1, n2, slip
    z1 = q1 + D[o + 3] * r0 + D[o + 4] * r1 + D[o + 5] * r2
    z2 = q2 + D[o + 6] * r0 + D[o + 7] * r1 + D[o + 8] * r2
    sigma = mu * np.sqrt(z1 * z1 + z2 * z2) if term else 0.0
    if local in (_CONIC, _BISECTION):
        n0, n1, n2 = solve_conic(D, o, q0, q1, q2, mu, sigma, local == _BISECTION, work)
        return n0, n1, n2, slip
    z0 = q0 + D[o] * r0 + D[o + 1] * r1 + D[o + 2] * r2 + sigma
    if local == _CCP:
        n0, n1, n2 = step_ccp(D, o, z0, z1, z2, r0, r1, r2, mu)
    else:
        n0, n1, n2 = step_ncp(D, o, z0, z1, z2, r0, r1, r2, mu)
    return n0, n1, n2, slip


@njit(cache=True, error_model="numpy")
def _joint(k, at, omega, blocks, rows, bodies, reactions, v):
    """Exact solve of one joint's rows: λ_k ← λ_k − ω D_kk⁺ v_k; returns where the next block starts."""
    first = blocks.start[k]
    size = blocks.start[k + 1] - first
    for i in range(size):
        v[i] = _velocity(k, first + i, at + i * size, first, size, blocks, rows, bodies, reactions)
    for i in range(size):
        change = 0.0
        for j in range(size):
            change -= blocks.joint_inverse[at + i * size + j] * v[j]
        change *= omega
        reactions[first + i] += change
        if blocks.matrix_free and change != 0.0:
            _push(bodies, k, first + i, change)
    return at + size * size


@njit(cache=True, error_model="numpy")
def _limit(k, at, omega, blocks, rows, bodies, reactions):
    """λ_k ← max(0, λ_k − v_k / D_kk), relaxed."""
    i = blocks.start[k]
    own = blocks.diagonal[at]
    if own <= 0.0:
        return
    v = _velocity(k, i, at, i, 1, blocks, rows, bodies, reactions)
    change = omega * (max(0.0, reactions[i] - v / own) - reactions[i])
    reactions[i] += change
    if blocks.matrix_free and change != 0.0:
        _push(bodies, k, i, change)


@njit(cache=True, error_model="numpy")
def _velocity(k, i, at, first, size, blocks, rows, bodies, reactions):
    """v_i of a bilateral or unilateral row, own block included; `at` is where row i of the diagonal block starts."""
    v = blocks.offset[i]
    if blocks.matrix_free:
        v += _row_times(bodies.rows, i, bodies.pair[k, 0], bodies.pair[k, 1], bodies.u)
        return v + bodies.compliance[i] * reactions[i]
    for p in range(rows.rest_pointer[i], rows.rest_pointer[i + 1]):
        v += rows.rest_value[p] * reactions[rows.rest_column[p]]
    for j in range(size):
        v += blocks.diagonal[at + j] * reactions[first + j]
    return v


@njit(cache=True, error_model="numpy")
def _blocks_times(c, i, blocks, rows, reactions):
    """The three velocities of contact c (first row i) without its own reaction, from block rows."""
    a0, a1, a2 = blocks.offset[i], blocks.offset[i + 1], blocks.offset[i + 2]
    # nine partial sums instead of three: the additions need not wait for each other
    b0 = b1 = b2 = c0 = c1 = c2 = 0.0
    value = rows.value
    for p in range(rows.pointer[c], rows.pointer[c + 1]):
        j = rows.column[p]
        x, y, z = reactions[j], reactions[j + 1], reactions[j + 2]
        a0 += value[p, 0] * x
        b0 += value[p, 1] * y
        c0 += value[p, 2] * z
        a1 += value[p, 3] * x
        b1 += value[p, 4] * y
        c1 += value[p, 5] * z
        a2 += value[p, 6] * x
        b2 += value[p, 7] * y
        c2 += value[p, 8] * z
    a0 += b0 + c0
    a1 += b1 + c1
    a2 += b2 + c2
    if len(rows.rest_column):
        for p in range(rows.rest_pointer[i], rows.rest_pointer[i + 1]):
            a0 += rows.rest_value[p] * reactions[rows.rest_column[p]]
        for p in range(rows.rest_pointer[i + 1], rows.rest_pointer[i + 2]):
            a1 += rows.rest_value[p] * reactions[rows.rest_column[p]]
        for p in range(rows.rest_pointer[i + 2], rows.rest_pointer[i + 3]):
            a2 += rows.rest_value[p] * reactions[rows.rest_column[p]]
    return a0, a1, a2


@njit(cache=True, error_model="numpy")
def _rows_times(k, i, at, blocks, bodies, r0, r1, r2):
    """The three velocities of contact block k (first row i) without its own reaction, from the bodies' velocities."""
    D, E, a, b = blocks.diagonal, bodies.compliance, bodies.pair[k, 0], bodies.pair[k, 1]
    q0 = blocks.offset[i] + _row_times(bodies.rows, i, a, b, bodies.u)
    q1 = blocks.offset[i + 1] + _row_times(bodies.rows, i + 1, a, b, bodies.u)
    q2 = blocks.offset[i + 2] + _row_times(bodies.rows, i + 2, a, b, bodies.u)
    # D_kk holds the compliance, J u does not
    q0 += E[i] * r0 - (D[at] * r0 + D[at + 1] * r1 + D[at + 2] * r2)
    q1 += E[i + 1] * r1 - (D[at + 3] * r0 + D[at + 4] * r1 + D[at + 5] * r2)
    q2 += E[i + 2] * r2 - (D[at + 6] * r0 + D[at + 7] * r1 + D[at + 8] * r2)
    return q0, q1, q2


@njit(cache=True, error_model="numpy")
def _row_times(rows, i, a, b, u):
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
def _push(bodies, k, i, change):
    """u += H⁻¹ Jᵀ times a change of the reaction of row i."""
    a, b = bodies.pair[k, 0], bodies.pair[k, 1]
    if a >= 0:
        for j in range(6):
            bodies.u[6 * a + j] += bodies.response[i, j] * change
    if b >= 0:
        for j in range(6):
            bodies.u[6 * b + j] += bodies.response[i, 6 + j] * change
