"""Gauß–Seidel sweeps, compiled: one update per joint, limit or contact, in body space or over block rows."""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from delassus.linalg.operators.matrix import csr_row_times
from delassus.linalg.operators.rigid import push_row, row_times
from delassus.solvers.parts.block_rows import BlockRows
from delassus.solvers.parts.one_contact.conic import solve_conic
from delassus.solvers.parts.one_contact.convex import solve_convex
from delassus.solvers.parts.one_contact.projection import step_ccp, step_ncp
from delassus.solvers.parts.one_contact.quartic import solve_quartic
from delassus.solvers.parts.one_contact.slip import solve_slip

LOCAL = {"slip": 0, "quartic": 1, "conic": 2, "bisection": 3, "ccp": 4, "ncp": 5, "convex": 6}
"""One-contact solvers by name: exact Coulomb by slip rate or quartic; the conic program of Tsounis et al. 2025,
eq. 152, by quartic or bisection; their one-step projectors, Alg. 2 and 3; the convex law exactly."""
_SLIP, _QUARTIC, _CONIC, _BISECTION, _CCP, _NCP, _CONVEX = range(7)


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
def sweep_in_order(count, local, term, omega, decay, omega_min, blocks, rows, bodies, reactions, slip, work, order):
    """`count` sweeps, block after block: reactions, slip and bodies.u change in place; returns the relaxation reached.

    blocks, rows, bodies: the fields of `Blocks`, `BlockRows` and `Bodies` as plain tuples; work: (1, 7, n) scratch;
    order: (block_count,) the blocks as they come."""
    for _ in range(count):
        _update(0, len(order), order, local, term, omega, blocks, rows, bodies, reactions, slip, work[0])
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
    threads = len(work)
    for _ in range(count):
        for colour in range(len(colour_start) - 2):
            first, size = colour_start[colour], colour_start[colour + 1] - colour_start[colour]
            for t in prange(threads):
                low, high = first + size * t // threads, first + size * (t + 1) // threads
                _update(low, high, order, local, term, omega, blocks, rows, bodies, reactions, slip, work[t])
        first, last = colour_start[-2], colour_start[-1]
        _update(first, last, order, local, term, omega, blocks, rows, bodies, reactions, slip, work[0])
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    return omega


@njit(cache=True, error_model="numpy")
def _update(first, last, order, local, term, omega, blocks, rows, bodies, reactions, slip, work):
    """Blocks order[first:last]: solve each with everything else fixed, relax, and let the bodies feel the change.

    The contacts' loop is written out here with plain arrays. Handing named tuples to a function per contact counts
    references to every array in them, which made a sweep three to six times slower."""
    blocks, rows, bodies = Blocks(*blocks), BlockRows(*rows), Bodies(*bodies)
    joints, limits = blocks.joint_count, blocks.limit_count
    start, diagonal_start, D, friction = blocks.start, blocks.diagonal_start, blocks.diagonal, blocks.mu
    offset, matrix_free = blocks.offset, blocks.matrix_free
    pair, J, response, compliance, u = bodies.pair, bodies.rows, bodies.response, bodies.compliance, bodies.u
    pointer, column, value = rows.pointer, rows.column, rows.value
    rest_pointer, rest_column, rest_value = rows.rest_pointer, rows.rest_column, rows.rest_value
    for p in range(first, last):
        k = order[p]
        at = diagonal_start[k]
        if k < joints:
            _joint(k, at, omega, blocks, rows, bodies, reactions, work[0])
            continue
        if k < joints + limits:
            _limit(k, at, omega, blocks, rows, bodies, reactions)
            continue
        c = k - joints - limits
        i = start[k]
        r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
        if matrix_free:
            q0, q1, q2 = _rows_times(i, at, pair[k, 0], pair[k, 1], D, J, compliance, u, offset, r0, r1, r2)
        else:
            q0, q1, q2 = _blocks_times(c, i, pointer, column, value, offset, reactions)
            if len(rest_column):
                q0 += csr_row_times(rest_pointer, rest_column, rest_value, i, reactions)
                q1 += csr_row_times(rest_pointer, rest_column, rest_value, i + 1, reactions)
                q2 += csr_row_times(rest_pointer, rest_column, rest_value, i + 2, reactions)
        n0, n1, n2, slip[c] = _contact(local, term, D, at, q0, q1, q2, r0, r1, r2, friction[c], slip[c], work)
        if omega != 1.0:
            n0, n1, n2 = r0 + omega * (n0 - r0), r1 + omega * (n1 - r1), r2 + omega * (n2 - r2)
        reactions[i], reactions[i + 1], reactions[i + 2] = n0, n1, n2
        if matrix_free and (n0 != r0 or n1 != r1 or n2 != r2):
            _push_three(pair[k, 0], 0, response, i, n0 - r0, n1 - r1, n2 - r2, u)
            _push_three(pair[k, 1], 6, response, i, n0 - r0, n1 - r1, n2 - r2, u)


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
    if local == _CONVEX:
        return solve_convex(D, o, q0 + sigma, q1, q2, mu, r0, slip)
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
            push_row(bodies.pair[k, 0], bodies.pair[k, 1], bodies.response, first + i, change, bodies.u)


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
        push_row(bodies.pair[k, 0], bodies.pair[k, 1], bodies.response, i, change, bodies.u)


@njit(cache=True, error_model="numpy")
def _velocity(k, i, at, first, size, blocks, rows, bodies, reactions):
    """v_i of a bilateral or unilateral row, own block included; `at` is where row i of the diagonal block starts."""
    v = blocks.offset[i]
    if blocks.matrix_free:
        v += row_times(bodies.pair[k, 0], bodies.pair[k, 1], bodies.rows, i, bodies.u)
        return v + bodies.compliance[i] * reactions[i]
    v += csr_row_times(rows.rest_pointer, rows.rest_column, rows.rest_value, i, reactions)
    for j in range(size):
        v += blocks.diagonal[at + j] * reactions[first + j]
    return v


@njit(cache=True, error_model="numpy")
def _blocks_times(c, i, pointer, column, value, offset, reactions):
    """The three velocities of contact c (first row i) without its own reaction, from the 3×3 blocks of its row."""
    a0, a1, a2 = offset[i], offset[i + 1], offset[i + 2]
    # nine partial sums instead of three: the additions need not wait for each other
    b0 = b1 = b2 = c0 = c1 = c2 = 0.0
    for p in range(pointer[c], pointer[c + 1]):
        j = column[p]
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
    return a0 + b0 + c0, a1 + b1 + c1, a2 + b2 + c2


@njit(cache=True, error_model="numpy")
def _rows_times(i, at, a, b, D, J, E, u, offset, r0, r1, r2):
    """The three velocities of the contact with first row i on bodies a and b without its own reaction."""
    q0 = offset[i] + row_times(a, b, J, i, u)
    q1 = offset[i + 1] + row_times(a, b, J, i + 1, u)
    q2 = offset[i + 2] + row_times(a, b, J, i + 2, u)
    # D_kk holds the compliance, J u does not
    q0 += E[i] * r0 - (D[at] * r0 + D[at + 1] * r1 + D[at + 2] * r2)
    q1 += E[i + 1] * r1 - (D[at + 3] * r0 + D[at + 4] * r1 + D[at + 5] * r2)
    q2 += E[i + 2] * r2 - (D[at + 6] * r0 + D[at + 7] * r1 + D[at + 8] * r2)
    return q0, q1, q2


@njit(cache=True, error_model="numpy")
def _push_three(body, side, response, i, d0, d1, d2, u):
    """u of one body += H⁻¹ Jᵀ times the change of a contact's three reactions; side: 0 or 6, its half of the rows."""
    if body >= 0:
        for j in range(6):
            change = response[i, side + j] * d0 + response[i + 1, side + j] * d1 + response[i + 2, side + j] * d2
            u[6 * body + j] += change
