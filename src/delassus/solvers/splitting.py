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
from delassus.solvers.block_rows import NO_ROWS, block_rows
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
    omega_decay: float = 1.0  # omega is multiplied by this after each sweep …
    omega_min: float = 1.0  # … until it reaches this
    early_stop: float = 0.0  # stop when |Δ objective| / total inertia falls below this [J/kg] (003 eq. 160); 0: never

    def __post_init__(self):
        require(self.local in LOCAL, f"unknown local solver {self.local!r}; {nearest(self.local, list(LOCAL))}")
        require(0.0 < self.omega < 2.0, f"omega is {self.omega}: relaxation needs 0 < omega < 2")
        require(0.0 < self.omega_decay <= 1.0, f"omega_decay is {self.omega_decay}: give a factor in (0, 1]")
        require(0.0 < self.omega_min < 2.0, f"omega_min is {self.omega_min}: relaxation needs 0 < omega_min < 2")
        require(self.early_stop >= 0.0, f"early_stop is {self.early_stop}: give zero (never) or a positive number")


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
        self.omega = settings.omega
        self.slip = np.zeros(problem.contact_count)
        self.work = np.empty((7, max(10, problem.cone.bilateral.max(initial=0))))
        self.objective = np.inf
        self.total_inertia = _total_inertia(problem) if settings.early_stop else 0.0
        self.joint_inverse = _joint_inverse(problem)
        self._prepare_storage()

    def _prepare_storage(self) -> None:
        problem, delassus = self.problem, self.problem.delassus
        if isinstance(delassus, RigidDelassus):
            compliance = np.zeros(problem.row_count) if delassus.compliance is None else delassus.compliance
            u = np.empty(6 * len(delassus.mass))
            self.bodies = Bodies(delassus.bodies, delassus.rows, delassus.response, compliance, u)
            self.rows = NO_ROWS
            self.offset = problem.bias
        else:
            self.bodies = _NO_BODIES
            self.rows = block_rows(delassus.matrix(), problem.cone.block_start, problem.cone.contact_start)
            self.offset = problem.free_velocity

    def advance(self, count: int) -> None:
        """`count` sweeps; with early stopping, fewer once the objective no longer falls."""
        if not self.settings.early_stop:
            self._sweep(count)
            return
        for _ in range(count):
            self._sweep(1)
            v = self.problem.constraint_velocity(self.reactions)
            objective = 0.5 * float(self.reactions @ (v + self.problem.free_velocity))
            if abs(objective - self.objective) < self.settings.early_stop * self.total_inertia:
                self.finished = True
                return
            self.objective = objective

    def _sweep(self, count: int) -> None:
        problem, settings = self.problem, self.settings
        matrix_free = self.rows is NO_ROWS
        if matrix_free:
            # start each batch from the velocities that belong to λ, so that rounding cannot pile up
            assert isinstance(problem.delassus, RigidDelassus)
            self.bodies.u[:] = problem.u_f
            add_response(
                self.bodies.pair, problem.cone.block_start, self.bodies.response, self.reactions, self.bodies.u
            )
        term = settings.desaxce or (settings.local == "ccp" and problem.law is Law.NCP)
        self.omega = _sweeps(
            count, LOCAL[settings.local], term, self.omega, settings.omega_decay, settings.omega_min, matrix_free,
            problem.cone.block_start, problem.cone.bilateral.size, problem.cone.unilateral, problem.mu,
            problem.diagonal_blocks, self.joint_inverse, self.rows, self.bodies, self.offset,
            self.reactions, self.slip, self.work,
        )  # fmt: skip


def start_splitting(problem: Problem, settings: Settings, reactions: np.ndarray) -> SplittingMethod:
    """A method of this family, at the given starting point."""
    assert isinstance(settings, Splitting)
    return SplittingMethod(problem, settings, reactions)


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


@njit(cache=True)
def _sweeps(
    count, local, term, omega, decay, omega_min, matrix_free,
    block_start, joints, limits, mu, diagonal, joint_inverse, rows, bodies, offset, reactions, slip, work,
):  # fmt: skip
    """`count` sweeps over all blocks: reactions, slip and bodies.u change in place; returns the relaxation reached."""
    for _ in range(count):
        at = 0
        for k in range(joints):
            at = _joint(
                k, at, omega, matrix_free, block_start, diagonal, joint_inverse, rows, bodies, offset, reactions
            )
        for k in range(joints, joints + limits):
            _limit(k, at, omega, matrix_free, block_start, diagonal, rows, bodies, offset, reactions)
            at += 1
        for c in range(len(mu)):
            k = joints + limits + c
            i = block_start[k]
            r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
            # q: velocity of the contact without its own reaction
            if matrix_free:
                a, b = bodies.pair[k, 0], bodies.pair[k, 1]
                q0 = offset[i] + _row_times(bodies.rows, i, a, b, bodies.u)
                q1 = offset[i + 1] + _row_times(bodies.rows, i + 1, a, b, bodies.u)
                q2 = offset[i + 2] + _row_times(bodies.rows, i + 2, a, b, bodies.u)
                q0 += bodies.compliance[i] * r0 - diagonal[at] * r0 - diagonal[at + 1] * r1 - diagonal[at + 2] * r2
                q1 += bodies.compliance[i + 1] * r1 - (
                    diagonal[at + 3] * r0 + diagonal[at + 4] * r1 + diagonal[at + 5] * r2
                )
                q2 += bodies.compliance[i + 2] * r2 - (
                    diagonal[at + 6] * r0 + diagonal[at + 7] * r1 + diagonal[at + 8] * r2
                )
            else:
                q0, q1, q2 = _blocks_times(rows, c, i, reactions, offset)
            n0, n1, n2, slip[c] = _contact(local, term, diagonal, at, q0, q1, q2, r0, r1, r2, mu[c], slip[c], work)
            if omega != 1.0:
                n0 = r0 + omega * (n0 - r0)
                n1 = r1 + omega * (n1 - r1)
                n2 = r2 + omega * (n2 - r2)
            reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
            if matrix_free and (n0 != r0 or n1 != r1 or n2 != r2):
                _push(bodies, k, i, n0 - r0)
                _push(bodies, k, i + 1, n1 - r1)
                _push(bodies, k, i + 2, n2 - r2)
            at += 9
        omega = max(omega_min, omega * decay) if omega > omega_min else omega
    return omega


@njit(cache=True)
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


@njit(cache=True)
def _joint(k, at, omega, matrix_free, block_start, diagonal, inverse, rows, bodies, offset, reactions, v):
    """Exact solve of one joint's rows: λ_k ← λ_k − ω D_kk⁺ v_k; returns where the next block starts."""
    first = block_start[k]
    size = block_start[k + 1] - first
    for i in range(size):
        v[i] = _velocity(
            k, first + i, at + i * size, first, size, matrix_free, diagonal, rows, bodies, offset, reactions
        )
    for i in range(size):
        change = 0.0
        for j in range(size):
            change -= inverse[at + i * size + j] * v[j]
        change *= omega
        reactions[first + i] += change
        if matrix_free and change != 0.0:
            _push(bodies, k, first + i, change)
    return at + size * size


@njit(cache=True)
def _limit(k, at, omega, matrix_free, block_start, diagonal, rows, bodies, offset, reactions):
    """λ_k ← max(0, λ_k − v_k / D_kk), relaxed."""
    i = block_start[k]
    if diagonal[at] <= 0.0:
        return
    v = _velocity(k, i, at, i, 1, matrix_free, diagonal, rows, bodies, offset, reactions)
    change = omega * (max(0.0, reactions[i] - v / diagonal[at]) - reactions[i])
    reactions[i] += change
    if matrix_free and change != 0.0:
        _push(bodies, k, i, change)


@njit(cache=True)
def _velocity(k, i, at, first, size, matrix_free, diagonal, rows, bodies, offset, reactions):
    """v_i of a bilateral or unilateral row, own block included; `at` is where row i of the diagonal block starts."""
    v = offset[i]
    if matrix_free:
        v += _row_times(bodies.rows, i, bodies.pair[k, 0], bodies.pair[k, 1], bodies.u)
        return v + bodies.compliance[i] * reactions[i]
    for p in range(rows.rest_pointer[i], rows.rest_pointer[i + 1]):
        v += rows.rest_value[p] * reactions[rows.rest_column[p]]
    for j in range(size):
        v += diagonal[at + j] * reactions[first + j]
    return v


@njit(cache=True)
def _blocks_times(rows, c, i, reactions, offset):
    """The three velocities of contact c (first row i) without its own reaction, from block rows."""
    a0, a1, a2 = offset[i], offset[i + 1], offset[i + 2]
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


@njit(cache=True)
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


@njit(cache=True)
def _push(bodies, k, i, change):
    """u += H⁻¹ Jᵀ times a change of the reaction of row i."""
    a, b = bodies.pair[k, 0], bodies.pair[k, 1]
    if a >= 0:
        for j in range(6):
            bodies.u[6 * a + j] += bodies.response[i, j] * change
    if b >= 0:
        for j in range(6):
            bodies.u[6 * b + j] += bodies.response[i, 6 + j] * change
