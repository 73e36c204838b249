"""Reactions of the joints of a forest, which joint coordinates do not solve for: what the momentum of each body lacks,
from the leaves to the root."""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.operators.rigid_data import RigidData

SOLVED, OF_TREE, ABSORBED = range(3)
"""What becomes of a row: it is solved for, it is of a joint of the forest, or what it does is part of the masses."""


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def recover(tree, masses, rigid, change, fate, reactions, room):
    """Reactions [N s] of the joints of the forest into `reactions` (m,), where the others are already.

    masses: (n_b,), inertias and rotations (n_b, 3, 3); change: (n_b, 6) what all reactions together do to the
    velocities; fate: (m,) see above. The impulse of a body's own joint is M·change less what other rows and the joints
    of those beyond it do; its rows give that impulse by least squares, exactly where the solve is."""
    rigid, lack = RigidData(*rigid), room.spatial
    _form_impulses(masses, change, lack)
    for k in range(len(rigid.bodies)):
        for i in range(rigid.block_start[k], rigid.block_start[k + 1]):
            if fate[i] != OF_TREE:
                for side in range(2):
                    _take_off(rigid, k, i, side, reactions[i], lack)
    for at in range(len(tree.order) - 1, -1, -1):
        b = tree.order[at]
        k = tree.joint[b]
        if k < 0:
            continue
        first, count = rigid.block_start[k], rigid.block_start[k + 1] - rigid.block_start[k]
        _least_squares(rigid.rows, first, count, lack[b], room.normal, room.side)
        for i in range(count):
            reactions[first + i] = room.side[i]
            _take_off(rigid, k, first + i, 0, room.side[i], lack)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _form_impulses(masses, change, out):
    """out (n_b, 6) = M·change."""
    mass, inertia, rotation = masses
    for b in range(len(mass)):
        R, T, x, own = rotation[b], inertia[b], change[b], out[b]
        w0 = R[0, 0] * x[3] + R[1, 0] * x[4] + R[2, 0] * x[5]
        w1 = R[0, 1] * x[3] + R[1, 1] * x[4] + R[2, 1] * x[5]
        w2 = R[0, 2] * x[3] + R[1, 2] * x[4] + R[2, 2] * x[5]
        l0 = T[0, 0] * w0 + T[0, 1] * w1 + T[0, 2] * w2
        l1 = T[1, 0] * w0 + T[1, 1] * w1 + T[1, 2] * w2
        l2 = T[2, 0] * w0 + T[2, 1] * w1 + T[2, 2] * w2
        for i in range(3):
            own[i] = mass[b] * x[i]
            own[3 + i] = R[i, 0] * l0 + R[i, 1] * l1 + R[i, 2] * l2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _take_off(rigid, k, i, side, reaction, lack):
    """Take off what row i of block k does to its body on this side."""
    b = rigid.bodies[k, side]
    if b >= 0:
        for a in range(6):
            lack[b, a] -= reaction * rigid.rows[i, 6 * side + a]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _least_squares(rows, first, count, impulse, normal, out):
    """out: the reactions of the rows first … first + count whose followers' halves sum up to the impulse (6,)."""
    for i in range(count):
        value = 0.0
        for a in range(6):
            value += rows[first + i, 6 + a] * impulse[a]
        for j in range(i + 1):
            g = 0.0
            for a in range(6):
                g += rows[first + i, 6 + a] * rows[first + j, 6 + a]
            for a in range(j):
                g -= normal[i, a] * normal[j, a]
            normal[i, j] = g / normal[j, j] if j < i else math.sqrt(g)
        for j in range(i):
            value -= normal[i, j] * out[j]
        out[i] = value / normal[i, i]
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            out[i] -= normal[j, i] * out[j]
        out[i] /= normal[i, i]
