"""Gauß–Seidel sweeps, compiled: one update per joint, limit or contact, in body space or over blocks of D."""

import numpy as np
from numba import prange

from delassus.kernel import njit
from delassus.kernel.four_wide import row_times
from delassus.kernel.six_wide import push_three, three_rows_times
from delassus.solvers.parts.one_contact.conic import solve_conic
from delassus.solvers.parts.one_contact.convex import solve_convex
from delassus.solvers.parts.one_contact.projection import step_ccp, step_ncp
from delassus.solvers.parts.one_contact.quartic import solve_quartic
from delassus.solvers.parts.one_contact.slip import LAST, constants_in, slip_at
from delassus.solvers.splitting.storage import Blocks, Bodies, Threes

LOCAL = {"slip": 0, "quartic": 1, "conic": 2, "bisection": 3, "ccp": 4, "ncp": 5, "convex": 6}
"""One-contact solvers by name: exact Coulomb by slip rate or quartic; the conic program of Tsounis et al. 2025,
eq. 152, by quartic or bisection; their one-step projectors, Alg. 2 and 3; the convex law exactly."""
_SLIP, _QUARTIC, _CONIC, _BISECTION, _CCP, _NCP, _CONVEX = range(7)


@njit(cache=True, error_model="numpy")
def sweep_in_order(count, solver, relaxation, parts, iterate, order):
    """`count` sweeps, block after block: reactions, slip and bodies.u change in place; returns the relaxation reached.

    solver: (number of the local solver, with De Saxcé's term?); relaxation: (ω, what it is multiplied by after each
    sweep, least); parts: the fields of `Blocks`, `Threes` and `Bodies`, three plain tuples; iterate: (reactions, slip,
    (1, 7, n) scratch); order: (block_count,) the blocks as they come."""
    omega, decay, omega_min = relaxation
    reactions, slip, work = iterate
    x = _begin(parts, reactions)
    for _ in range(count):
        _update(0, len(order), order, solver, omega, parts, (x, slip, work[0]))
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    _end(parts, reactions)
    return omega


@njit(cache=True, error_model="numpy", parallel=True)
def sweep_by_colour(count, solver, relaxation, parts, iterate, order, colour_start):
    """`sweep_in_order`, colour by colour: blocks of one colour share no body, so threads may update them at the same
    time and the result does not depend on how they are dealt out.

    order: blocks sorted by colour; colour_start: first position of each colour and, twice last, of the blocks that are
    updated one after the other and the end; scratch: (threads, 7, n)."""
    omega, decay, omega_min = relaxation
    reactions, slip, work = iterate
    blocks, threes, bodies = parts
    threads = len(work)
    x = _begin(parts, reactions)
    for _ in range(count):
        for colour in range(len(colour_start) - 2):
            first, size = colour_start[colour], colour_start[colour + 1] - colour_start[colour]
            for t in prange(threads):
                low, high = first + size * t // threads, first + size * (t + 1) // threads
                _update(low, high, order, solver, omega, (blocks, threes, bodies), (x, slip, work[t]))
        first, last = colour_start[-2], colour_start[-1]
        _update(first, last, order, solver, omega, parts, (x, slip, work[0]))
        if omega > omega_min:
            omega = max(omega_min, omega * decay)
    _end(parts, reactions)
    return omega


@njit(cache=True, error_model="numpy")
def _begin(parts, reactions):
    """The array to sweep over: reactions, or a padded copy. In body space the velocities that belong to it, anew at
    each batch, so that rounding cannot pile up."""
    blocks, bodies, padded = Blocks(*parts[0]), Bodies(*parts[2]), Threes(*parts[1]).padded
    start, place = blocks.start, blocks.place
    if blocks.matrix_free:
        pair, response, u_f, u = bodies.pair, bodies.response, bodies.u_f, bodies.u
        for i in range(len(u)):
            u[i] = u_f[i] if i < len(u_f) else 0.0
        for k in range(len(place)):
            a, b, last = 6 * pair[k, 0], 6 * pair[k, 1], start[k + 1]
            j = start[k]
            while j + 3 <= last:
                push_three(response, j, a, b, reactions[j], reactions[j + 1], reactions[j + 2], u)
                j += 3
            for i in range(j, last):
                for e in range(6):
                    u[a + e] += response[i, e] * reactions[i]
                    u[b + e] += response[i, 6 + e] * reactions[i]
    elif len(padded):
        for k in range(len(place)):
            for j in range(start[k], start[k + 1]):
                padded[place[k] + j - start[k]] = reactions[j]
        return padded
    return reactions


@njit(cache=True, error_model="numpy")
def _end(parts, reactions):
    """Copy padded reactions back."""
    start, place, padded = Blocks(*parts[0]).start, Blocks(*parts[0]).place, Threes(*parts[1]).padded
    if len(padded):
        for k in range(len(place)):
            for j in range(start[k], start[k + 1]):
                reactions[j] = padded[place[k] + j - start[k]]


@njit(cache=True, error_model="numpy")
def _update(first, last, order, solver, omega, parts, iterate):
    """Blocks order[first:last], among which contacts come last: solve each with everything else fixed, relax, and let
    the bodies feel the change.

    Both loops are written out with plain arrays. Functions per block that take arrays count references to them, and
    named tuples more so: sweeps were three to six times slower."""
    local, term = solver
    x, slip, work = iterate
    first = _update_joints_and_limits(first, last, order, omega, parts, x, work)
    blocks, threes, bodies = Blocks(*parts[0]), Threes(*parts[1]), Bodies(*parts[2])
    before, place, constants = blocks.joint_count + blocks.limit_count, blocks.place, blocks.constants
    start, diagonal_start, D, friction = blocks.start, blocks.diagonal_start, blocks.diagonal, blocks.mu
    offset, matrix_free = blocks.offset, blocks.matrix_free
    pair, J, response, E, u = bodies.pair, bodies.rows, bodies.response, bodies.compliance, bodies.u
    pointer, column, value = threes.pointer, threes.column, threes.value
    a, b, world = 0, 0, len(u) - 6
    for p in range(first, last):
        k = order[p]
        c, at, i, j = k - before, diagonal_start[k], place[k], start[k]
        r0, r1, r2, mu = x[i], x[i + 1], x[i + 2], friction[c]
        if matrix_free:
            a, b = 6 * pair[k, 0], 6 * pair[k, 1]
            q0, q1, q2 = three_rows_times(J, j, a, b, u)
            # D_kk holds the compliance, J u does not
            q0 += E[j] * r0 - (D[at] * r0 + D[at + 1] * r1 + D[at + 2] * r2)
            q1 += E[j + 1] * r1 - (D[at + 3] * r0 + D[at + 4] * r1 + D[at + 5] * r2)
            q2 += E[j + 2] * r2 - (D[at + 6] * r0 + D[at + 7] * r1 + D[at + 8] * r2)
        else:
            q0, q1, q2 = row_times(pointer[i // 3], pointer[i // 3 + 1], column, value, x)
        q0, q1, q2 = q0 + offset[j], q1 + offset[j + 1], q2 + offset[j + 2]
        if local == _SLIP:
            n0, n1, n2, slip[c] = slip_at(constants_in(constants[c]), (q0, q1, q2), mu, slip[c], LAST)
        else:
            n0, n1, n2, slip[c] = _contact(local, term, (D, at, work), (q0, q1, q2), (r0, r1, r2), mu, slip[c])
        if omega != 1.0:
            n0, n1, n2 = r0 + omega * (n0 - r0), r1 + omega * (n1 - r1), r2 + omega * (n2 - r2)
        x[i], x[i + 1], x[i + 2] = n0, n1, n2
        if not matrix_free or (n0 == r0 and n1 == r1 and n2 == r2):
            continue
        r0, r1, r2 = n0 - r0, n1 - r1, n2 - r2
        if a < world and b < world:
            push_three(response, j, a, b, r0, r1, r2, u)
        else:  # nothing is written for the world: threads would wait for each other, a floor took seven times as long
            body, side = (a, 0) if b == world else (b, 6)
            for e in range(side, side + 6):
                u[body - side + e] += response[j, e] * r0 + response[j + 1, e] * r1 + response[j + 2, e] * r2


@njit(cache=True, error_model="numpy")
def _update_joints_and_limits(first, last, order, omega, parts, x, work):
    """Those of order[first:last]; the position of the first contact.

    A joint's rows are solved at once, λ_k ← λ_k − ω D_kk⁺ v_k; a limit is λ_k ← max(0, λ_k − v_k / D_kk), relaxed."""
    blocks, threes, bodies = Blocks(*parts[0]), Threes(*parts[1]), Bodies(*parts[2])
    joints, before, place = blocks.joint_count, blocks.joint_count + blocks.limit_count, blocks.place
    start, diagonal_start, D, inverse = blocks.start, blocks.diagonal_start, blocks.diagonal, blocks.joint_inverse
    offset, matrix_free = blocks.offset, blocks.matrix_free
    pair, J, response, E, u = bodies.pair, bodies.rows, bodies.response, bodies.compliance, bodies.u
    pointer, column, value = threes.pointer, threes.column, threes.value
    v, change = work[0], work[1]
    a = b = 0
    for p in range(first, last):
        k = order[p]
        if k >= before:
            return p
        at, i, j = diagonal_start[k], place[k], start[k]
        size = start[k + 1] - j
        if matrix_free:
            a, b = 6 * pair[k, 0], 6 * pair[k, 1]
            for t in range(size if size < 3 else 0):
                v[t] = 0.0
                for e in range(6):
                    v[t] += J[j + t, e] * u[a + e] + J[j + t, 6 + e] * u[b + e]
            for t in range(0, size if size > 2 else 0, 3):
                s = min(t, size - 3)  # never beyond the last row
                v[s], v[s + 1], v[s + 2] = three_rows_times(J, j + s, a, b, u)
            for t in range(size):
                v[t] += offset[j + t] + E[j + t] * x[i + t]
        else:
            for t in range(0, size, 3):  # other triples of the same joint are among its blocks
                v[t], v[t + 1], v[t + 2] = row_times(pointer[(i + t) // 3], pointer[(i + t) // 3 + 1], column, value, x)
            for t in range(size):
                v[t] += offset[j + t]
                for s in range(t - t % 3, min(size, t - t % 3 + 3)):
                    v[t] += D[at + t * size + s] * x[i + s]
        if k < joints:
            for t in range(size):
                total = 0.0
                for s in range(size):
                    total -= inverse[at + t * size + s] * v[s]
                change[t] = omega * total
        else:
            change[0] = omega * (max(0.0, x[i] - v[0] / D[at]) - x[i]) if D[at] > 0.0 else 0.0
        for t in range(size):
            x[i + t] += change[t]
        if matrix_free:
            for t in range(0, size - 2, 3):
                push_three(response, j + t, a, b, change[t], change[t + 1], change[t + 2], u)
            for t in range(size - size % 3, size):
                for e in range(6):
                    u[a + e] += response[j + t, e] * change[t]
                    u[b + e] += response[j + t, 6 + e] * change[t]
    return last


@njit(cache=True, error_model="numpy")
def _contact(local, term, block, q, r, mu, slip):
    """New reaction of one contact and its slip rate, by a local solver.  block: (D, where its own block begins,
    scratch); q, r: velocity without this contact and its reaction, three numbers each."""
    D, o, work = block
    q0, q1, q2 = q
    r0, r1, r2 = r
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
