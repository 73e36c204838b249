"""Gauß–Seidel sweeps, compiled: one update per joint, limit or contact, in body space or over block rows."""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from delassus.solvers.block_rows import BlockRows
from delassus.solvers.local.conic import solve_conic
from delassus.solvers.local.projection import step_ccp, step_ncp
from delassus.solvers.local.quartic import solve_quartic
from delassus.solvers.local.slip import solve_slip

LOCAL = {"slip": 0, "quartic": 1, "conic": 2, "bisection": 3, "ccp": 4, "ncp": 5}
"""One-contact solvers by name: exact Coulomb by slip rate or quartic; the conic program of 003 eq. 152 by quartic or
bisection; the one-step projectors of 003 Alg. 2 and 3."""
_SLIP, _QUARTIC, _CONIC, _BISECTION, _CCP, _NCP = range(6)


class Blocks(NamedTuple):
    """The blocks of a sweep, joints first, then limits, then contacts."""

    start: np.ndarray  # (block_count + 1,) first row of each block
    joint_count: int
    limit_count: int
    mu: np.ndarray  # (n_c,)
    diagonal: np.ndarray  # D_kk one after the other, row by row [1/kg]
    diagonal_start: np.ndarray  # (block_count,) where each D_kk starts
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


NO_BODIES = Bodies(np.zeros((0, 2), np.int64), np.zeros((0, 12)), np.zeros((0, 12)), np.zeros(0), np.zeros(0))


@njit(cache=True, error_model="numpy")
def sweep_in_order(count, local, term, omega, decay, omega_min, blocks, rows, bodies, reactions, slip, work):
    """`count` sweeps, block after block: reactions, slip and bodies.u change in place; returns the relaxation reached.

    blocks, rows, bodies: the fields of `Blocks`, `BlockRows` and `Bodies` as plain tuples; work: (1, 7, n) scratch."""
    blocks, rows, bodies = Blocks(*blocks), BlockRows(*rows), Bodies(*bodies)
    for _ in range(count):
        for k in range(len(blocks.diagonal_start)):
            _update(k, local, term, omega, blocks, rows, bodies, reactions, slip, work[0])
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    return omega


@njit(cache=True, error_model="numpy", parallel=True)
def sweep_by_colour(
    count, local, term, omega, decay, omega_min, blocks, rows, bodies, reactions, slip, work, order, colour_start
):
    """The same, colour by colour: blocks of one colour share no body, so threads may update them at the same time and
    the result does not depend on how they are dealt out.

    order: blocks sorted by colour; colour_start: first position of each colour and, twice last, of the blocks that are
    updated one after the other and the end; work: (threads, 7, n) scratch."""
    blocks, rows, bodies = Blocks(*blocks), BlockRows(*rows), Bodies(*bodies)
    threads = len(work)
    for _ in range(count):
        for colour in range(len(colour_start) - 2):
            first, size = colour_start[colour], colour_start[colour + 1] - colour_start[colour]
            for t in prange(threads):
                for p in range(first + size * t // threads, first + size * (t + 1) // threads):
                    _update(order[p], local, term, omega, blocks, rows, bodies, reactions, slip, work[t])
        for p in range(colour_start[-2], colour_start[-1]):
            _update(order[p], local, term, omega, blocks, rows, bodies, reactions, slip, work[0])
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    return omega


@njit(cache=True, error_model="numpy")
def _update(k, local, term, omega, blocks, rows, bodies, reactions, slip, work):
    """One block: solve it with everything else fixed, relax, and let the bodies feel the change."""
    at = blocks.diagonal_start[k]
    if k < blocks.joint_count:
        _joint(k, at, omega, blocks, rows, bodies, reactions, work[0])
        return
    if k < blocks.joint_count + blocks.limit_count:
        _limit(k, at, omega, blocks, rows, bodies, reactions)
        return
    c = k - blocks.joint_count - blocks.limit_count
    i = blocks.start[k]
    r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
    if blocks.matrix_free:
        q0, q1, q2 = _rows_times(k, i, at, blocks, bodies, r0, r1, r2)
    else:
        q0, q1, q2 = _blocks_times(c, i, blocks, rows, reactions)
    D, mu = blocks.diagonal, blocks.mu[c]
    n0, n1, n2, slip[c] = _contact(local, term, D, at, q0, q1, q2, r0, r1, r2, mu, slip[c], work)
    if omega != 1.0:
        n0, n1, n2 = r0 + omega * (n0 - r0), r1 + omega * (n1 - r1), r2 + omega * (n2 - r2)
    reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
    if blocks.matrix_free and (n0 != r0 or n1 != r1 or n2 != r2):
        _push(bodies, k, i, n0 - r0)
        _push(bodies, k, i + 1, n1 - r1)
        _push(bodies, k, i + 2, n2 - r2)


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
    """Exact solve of one joint's rows: λ_k ← λ_k − ω D_kk⁺ v_k."""
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
