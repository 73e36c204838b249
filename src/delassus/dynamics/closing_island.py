"""The joints of one island: their errors and rows at some poses, the factor of their matrix, and what moves the bodies
so that errors vanish. What works on them, joints being closed after a step, is in closure.py and limit_closure.py."""

import math
from typing import NamedTuple

import numpy as np

from delassus.dynamics.closing_order import Closing
from delassus.joints.primitives import constraint_row, coordinate_row, ends_of, joint_frames
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.factor.block_cholesky import BlockPattern, factor_blocks, solve_blocks
from delassus.spatial import matrices_of

_REDUNDANT = 1e-10  # pivots below this fraction of their rows' diagonals belong to redundant rows


class ClosingRoom(NamedTuple):
    """What joints are closed in, for n bodies and c joints with m rows, all in the order of `Closing`."""

    q: np.ndarray
    """(n, 7) poses, and `there` (n, 7) those of the next step."""
    there: np.ndarray
    u: np.ndarray
    """(n, 6) velocities, and `change` (n, 6) of poses or velocities."""
    change: np.ndarray
    rotation: np.ndarray
    """(n, 3, 3), and `mobility` (n, 3, 3), inverse inertias in the world's axes."""
    mobility: np.ndarray
    origin: np.ndarray
    """(c, 2, 3), axes (c, 2, 3, 3), centre (c, 2, 3): of joints' frames."""
    axes: np.ndarray
    centre: np.ndarray
    residual: np.ndarray
    """(m,) errors; rows (m, 12), response (m, 12): H⁻¹ Jᵀ; scale (m,), push (m,); L: the factor."""
    rows: np.ndarray
    response: np.ndarray
    scale: np.ndarray
    push: np.ndarray
    L: np.ndarray


def room_of(fields: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """`ClosingRoom` for the fields of a `Closing`."""
    closing = Closing(*fields)
    n, c, m = len(closing.body), len(closing.pair), int(closing.start[-1])
    shapes = (n, 7), (n, 7), (n, 6), (n, 6), (n, 3, 3), (n, 3, 3), (c, 2, 3), (c, 2, 3, 3), (c, 2, 3)
    rooms = *shapes, (m,), (m, 12), (m, 12), (m,), (m,), (int(closing.at[-1]),)
    return tuple(np.empty(shape) for shape in rooms)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def rates(closing, g, room):
    """Rates of the rows of island g, in the place of their errors; the largest. Those of armature are not held."""
    largest = 0.0
    for k in range(closing.islands[g, 0], closing.islands[g + 1, 0]):
        start = closing.start[k]
        for i in range(start, closing.start[k + 1]):
            value = 0.0
            if i < start + closing.hard[k]:
                for side in range(2):
                    b = closing.pair[k, side]
                    if b >= 0:
                        for a in range(6):
                            value += room.rows[i, 6 * side + a] * room.u[b, a]
            room.residual[i] = value
            if abs(value) > largest or value != value:
                largest = abs(value)
    return largest


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def evaluate(closing, g, q, room):
    """Joint errors and rows of island g at these poses; the worst error."""
    a, z = closing.islands[g, 0], closing.islands[g + 1, 0]
    first, last = closing.islands[g, 1], closing.islands[g + 1, 1]
    matrices_of(q[first:last], 3, room.rotation[first:last])
    frames = (room.origin[a:z], room.axes[a:z], room.centre[a:z])
    joint_frames(closing.pair[a:z], closing.origin[a:z], closing.axes[a:z], q, room.rotation, frames)
    worst = 0.0
    for k in range(a, z):
        ends = ends_of(room, k)
        start = closing.start[k]
        for r in range(start, closing.start[k + 1]):
            kind, i, j = closing.row[r, 0], closing.row[r, 1], closing.row[r, 2]
            error = 0.0
            if r < start + closing.hard[k]:
                error = constraint_row(kind, i, j, closing.length[k], ends, room.rows[r])
            else:
                coordinate_row(kind, i, ends, room.rows[r])
            room.residual[r] = error
            if abs(error) > worst or error != error:
                worst = abs(error)
    return worst


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_response(closing, masses, g, room):
    """H⁻¹ Jᵀ by rows where these were evaluated last, without full blocks of masses."""
    (inverse_mass, inverse_inertia), R, world = masses, room.rotation, room.mobility
    for b in range(closing.islands[g, 1], closing.islands[g + 1, 1]):
        own = inverse_inertia[closing.body[b]]
        for a in range(3):
            x = R[b, a, 0] * own[0, 0] + R[b, a, 1] * own[1, 0] + R[b, a, 2] * own[2, 0]
            y = R[b, a, 0] * own[0, 1] + R[b, a, 1] * own[1, 1] + R[b, a, 2] * own[2, 1]
            z = R[b, a, 0] * own[0, 2] + R[b, a, 1] * own[1, 2] + R[b, a, 2] * own[2, 2]
            for c in range(3):
                world[b, a, c] = x * R[b, c, 0] + y * R[b, c, 1] + z * R[b, c, 2]
    for k in range(closing.islands[g, 0], closing.islands[g + 1, 0]):
        for side in range(2):
            b, at = closing.pair[k, side], 6 * side
            for i in range(closing.start[k], closing.start[k + 1]):
                x, y, z = room.rows[i, at + 3], room.rows[i, at + 4], room.rows[i, at + 5]
                for a in range(3):
                    if b >= 0:
                        room.response[i, at + a] = inverse_mass[closing.body[b]] * room.rows[i, at + a]
                        turning = world[b, a, 0] * x + world[b, a, 1] * y + world[b, a, 2] * z
                        room.response[i, at + 3 + a] = turning


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor(closing, masses, g, room):
    """Factor of J H⁻¹ Jᵀ of island g where rows were evaluated last, scaled to unit diagonals, or those of heavy bodies
    look redundant beside those of light ones."""
    _fill_response(closing, masses, g, room)
    first, last, n = closing.islands[g, 0], closing.islands[g + 1, 0], len(closing.pair)
    for k in range(first, last):
        _fill_block(closing, k, k, closing.at[k], room)
        size = closing.start[k + 1] - closing.start[k]
        for i in range(size):
            r, own = closing.start[k] + i, closing.at[k] + i * size + i
            diagonal = room.L[own] + closing.compliance[r]
            room.L[own] = diagonal
            room.scale[r] = 1.0 / math.sqrt(diagonal) if diagonal > 0.0 else 1.0
    for k in range(first, last):
        _scale_block(closing, k, k, closing.at[k], room)
        for p in range(closing.below_start[k], closing.below_start[k + 1]):
            _fill_block(closing, closing.below[p], k, closing.at[n + p], room)
            _scale_block(closing, closing.below[p], k, closing.at[n + p], room)
    pattern = BlockPattern(closing.start, closing.below_start, closing.below, closing.at)
    factor_blocks(pattern, first, last, room.L, _REDUNDANT)


@njit(cache=True, error_model="numpy", fastmath={"contract"}, **NO_REFCOUNT)
def _fill_block(closing, k, m, at, room):
    """What the joints k and m have in common by their bodies, into the block at `at`, or its lower triangle for k = m;
    zero where there are none."""
    first, columns = closing.start[m], closing.start[m + 1] - closing.start[m]
    for i in range((closing.start[k + 1] - closing.start[k]) * columns):
        room.L[at + i] = 0.0
    for side in range(2):
        for other in range(2):
            if closing.pair[k, side] < 0 or closing.pair[k, side] != closing.pair[m, other]:
                continue
            a, b, row = 6 * side, 6 * other, at
            for i in range(closing.start[k], closing.start[k + 1]):
                x0, x1, x2 = room.rows[i, a], room.rows[i, a + 1], room.rows[i, a + 2]
                x3, x4, x5 = room.rows[i, a + 3], room.rows[i, a + 4], room.rows[i, a + 5]
                for j in range(columns if k != m else i - first + 1):
                    y = room.response[first + j]
                    linear = x0 * y[b] + x1 * y[b + 1] + x2 * y[b + 2]
                    room.L[row + j] += linear + (x3 * y[b + 3] + x4 * y[b + 4] + x5 * y[b + 5])
                row += columns


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _scale_block(closing, k, m, at, room):
    columns = closing.start[m + 1] - closing.start[m]
    for i in range(closing.start[k + 1] - closing.start[k]):
        for j in range(columns):
            room.L[at + i * columns + j] *= room.scale[closing.start[k] + i] * room.scale[closing.start[m] + j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def respond(closing, g, room):
    """Changes −H⁻¹ Jᵀ (J H⁻¹ Jᵀ)⁻¹ f of velocities of island g that residuals f ask for."""
    a, z = closing.islands[g, 0], closing.islands[g + 1, 0]
    for i in range(closing.start[a], closing.start[z]):
        room.push[i] = -room.scale[i] * room.residual[i]
    pattern = BlockPattern(closing.start, closing.below_start, closing.below, closing.at)
    solve_blocks(pattern, a, z, room.L, room.push)
    for b in range(closing.islands[g, 1], closing.islands[g + 1, 1]):
        for i in range(6):
            room.change[b, i] = 0.0
    for k in range(a, z):
        for side in range(2):
            b = closing.pair[k, side]
            if b >= 0:
                for i in range(closing.start[k], closing.start[k + 1]):
                    force = room.scale[i] * room.push[i]
                    for c in range(6):
                        room.change[b, c] += room.response[i, 6 * side + c] * force
