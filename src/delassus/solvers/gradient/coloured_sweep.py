"""Gauß–Seidel over the pieces of a coloured problem, compiled: what one member of a team does with one piece.

The sweep starts from y = x + β (x − x₋) and solves each block exactly with everything else fixed. Where bodies are
known, y is formed block by block, on the way: only the image, six numbers a body, must be that of y when the sweep
begins. Where D is stored, blocks read each other's reactions, so y is written down first (`extrapolate_rows`).
"""

from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.six_wide import prefetch_six, push_three, three_rows_times
from delassus.linalg.operators.matrix import csr_row_times
from delassus.solvers.gradient.coloured import Blocks
from delassus.solvers.parts.one_contact.convex import solve_convex
from delassus.solvers.parts.one_contact.slip import solve_slip
from delassus.solvers.parts.one_contact.uncoupled import solve_uncoupled
from delassus.solvers.parts.parallel.passes import Data, push_one, push_turned, row_times

_AHEAD = 10  # contacts: bodies of a colour lie all over memory, which takes as long to answer as so many take to solve


class Sweep(NamedTuple):
    """What a sweep reads and writes beside the problem."""

    convex: bool  # the convex law?
    beta: float  # of the momentum
    image: np.ndarray  # of y, and of what it becomes
    x: np.ndarray  # (m,) where the last sweep ended
    out: np.ndarray  # (m,) where the one before ended, or y where D is stored; z in the end
    slip: np.ndarray  # (n_c,) slip rates, kept as a start for the next sweep
    work: np.ndarray  # (2, 12 or more) scratch


@njit(cache=True, error_model="numpy")
def sweep_piece(p, data, blocks, sweep):
    """Blocks of piece p, one after the other; sums over its rows, with d the diagonal of D (of a contact's tangents the
    mean): (Σ d_i (y_i − z_i)(z_i − x_i), Σ d_i (z_i − y_i)², Σ d_i (z_i − x_i)(y_i − x_i)).  sweep: a `Sweep`."""
    block = Blocks(*blocks)
    first, last, contacts = block.piece[p], block.piece[p + 1], block.joints + block.limits
    if first >= contacts:
        first, last = first - contacts, last - contacts
        return _contacts(first, last, data, blocks, sweep)
    slope = square = along = 0.0
    for k in range(first, last):
        a, b, c = _single(k, data, blocks, sweep)
        slope, square, along = slope + a, square + b, along + c
    return slope, square, along


@njit(cache=True, error_model="numpy")
def push_piece(p, data, blocks, image, x, work):
    """image += that of the rows of piece p."""
    problem, block = Data(*data), Blocks(*blocks)
    rows, pair, skew, singles = problem.rows, problem.pair, problem.skew, problem.singles
    push = work[0]
    for i in range(block.start[block.piece[p]], block.start[block.piece[p + 1]]):
        unit = i if i < singles else singles + (i - singles) // 3
        a, b = 6 * pair[unit, 0], 6 * pair[unit, 1]
        if len(skew):
            for j in range(12):
                push[j] = rows[i, j] * x[i]
            push_turned(a, b, push, skew, image)
        else:
            push_one(rows, i, a, b, x[i], image)


@njit(cache=True)
def extrapolate_rows(first, last, beta, x, out):
    """y in place of the point before the last, on rows first … last − 1."""
    for i in range(first, last):
        out[i] = x[i] + beta * (x[i] - out[i])


@njit(cache=True, error_model="numpy")
def _contacts(first, last, data, blocks, sweep):
    """`sweep_piece` for contacts first … last − 1, counted from the first contact."""
    convex, beta, slip = sweep.convex, sweep.beta, sweep.slip
    image, x, out = sweep.image, sweep.x, sweep.out
    problem, block = Data(*data), Blocks(*blocks)
    rigid, singles, friction, offset = problem.rigid, problem.singles, problem.mu, problem.offset
    pair, rows, skew, compliance = problem.pair, problem.rows, problem.skew, problem.compliance
    pointer, column, value = problem.pointer, problem.column, problem.value
    D, own = block.diagonal, block.own
    soft, turned = len(compliance) > 0, len(skew) > 0
    push = sweep.work[0]
    slope = square = along = 0.0
    a = b = 0
    for c in range(first, last):
        i = singles + 3 * c
        x0, x1, x2 = x[i], x[i + 1], x[i + 2]
        y0, y1, y2 = out[i], out[i + 1], out[i + 2]
        if rigid:
            y0, y1, y2 = x0 + beta * (x0 - y0), x1 + beta * (x1 - y1), x2 + beta * (x2 - y2)
            a, b = 6 * pair[singles + c, 0], 6 * pair[singles + c, 1]
            if c + _AHEAD < last:
                prefetch_six(image, 6 * pair[singles + c + _AHEAD, 0])
                prefetch_six(image, 6 * pair[singles + c + _AHEAD, 1])
            v0, v1, v2 = three_rows_times(rows, i, a, b, image)
            if soft:
                v0, v1, v2 = v0 + compliance[i] * y0, v1 + compliance[i + 1] * y1, v2 + compliance[i + 2] * y2
        else:
            v0 = csr_row_times(pointer, column, value, i, out)
            v1 = csr_row_times(pointer, column, value, i + 1, out)
            v2 = csr_row_times(pointer, column, value, i + 2, out)
        v0, v1, v2 = v0 + offset[i], v1 + offset[i + 1], v2 + offset[i + 2]
        n, t = own[c, 0], abs(own[c, 1])
        if own[c, 1] > 0.0:
            z0, z1, z2 = solve_uncoupled(n, t, v0 - n * y0, v1 - t * y1, v2 - t * y2, friction[c], convex)
        else:
            o = len(D) - 9 * (len(friction) - c)
            q0 = v0 - (D[o] * y0 + D[o + 1] * y1 + D[o + 2] * y2)
            q1 = v1 - (D[o + 3] * y0 + D[o + 4] * y1 + D[o + 5] * y2)
            q2 = v2 - (D[o + 6] * y0 + D[o + 7] * y1 + D[o + 8] * y2)
            if convex:
                z0, z1, z2, slip[c] = solve_convex(D, o, q0, q1, q2, friction[c], y0, slip[c])
            else:
                z0, z1, z2, slip[c] = solve_slip(D, o, q0, q1, q2, friction[c], slip[c])
        d0, d1, d2 = z0 - y0, z1 - y1, z2 - y2
        out[i], out[i + 1], out[i + 2] = z0, z1, z2
        e0, e1, e2 = n * d0, t * d1, t * d2
        slope -= e0 * (z0 - x0) + e1 * (z1 - x1) + e2 * (z2 - x2)
        square += e0 * d0 + e1 * d1 + e2 * d2
        along += n * (z0 - x0) * (y0 - x0) + t * ((z1 - x1) * (y1 - x1) + (z2 - x2) * (y2 - x2))
        if rigid and (d0 != 0.0 or d1 != 0.0 or d2 != 0.0):
            if turned:
                for j in range(12):
                    push[j] = rows[i, j] * d0 + rows[i + 1, j] * d1 + rows[i + 2, j] * d2
                push_turned(a, b, push, skew, image)
            else:
                push_three(rows, i, a, b, d0, d1, d2, image)
    return slope, square, along


@njit(cache=True, error_model="numpy")
def _single(k, data, blocks, sweep):
    """`sweep_piece` for one joint, λ ← y − D_kk⁺ v, or one limit, λ ← max(0, y − v / D_kk)."""
    beta, image, x, out = sweep.beta, sweep.image, sweep.x, sweep.out
    problem, block = Data(*data), Blocks(*blocks)
    rigid, pair, rows, skew = problem.rigid, problem.pair, problem.rows, problem.skew
    push, v = sweep.work[0], sweep.work[1]
    first, size, at = block.start[k], block.start[k + 1] - block.start[k], block.diagonal_start[k]
    for i in range(first, first + size):
        if rigid:
            v[i - first] = row_times(rows, i, 6 * pair[i, 0], 6 * pair[i, 1], image) + problem.offset[i]
            if len(problem.compliance):
                v[i - first] += problem.compliance[i] * (x[i] + beta * (x[i] - out[i]))
        else:
            v[i - first] = csr_row_times(problem.pointer, problem.column, problem.value, i, out) + problem.offset[i]
    slope = square = along = 0.0
    for i in range(first, first + size):
        y = x[i] + beta * (x[i] - out[i]) if rigid else out[i]
        own = block.diagonal[at + (i - first) * (size + 1)]
        d = 0.0
        if k >= block.joints:
            d = max(-y, -v[0] / own) if own > 0.0 else 0.0
        else:
            for j in range(size):
                d -= block.joint_inverse[at + (i - first) * size + j] * v[j]
        out[i] = y + d
        slope -= own * d * (out[i] - x[i])
        square += own * d * d
        along += own * (out[i] - x[i]) * (y - x[i])
        if rigid and d != 0.0:
            for j in range(12):
                push[j] = rows[i, j] * d
            push_turned(6 * pair[i, 0], 6 * pair[i, 1], push, skew, image)
    return slope, square, along
