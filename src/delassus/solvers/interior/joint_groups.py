"""Joints eliminated from small problems: bodies that joints connect form a group with few motions left.

With unit masses, the joint rows G of a group are brought to triangular form by Householder reflections. Motions that
obey the joints are the coordinates behind the rank of G. A compliant row (a drive) gets one more coordinate, √E λ, and
is then a joint like any other.

A group's matrix M has a row per coordinate, and as columns its joint rows and its rows of limits and contacts. All
velocities are changes from the free ones, which joints and contacts know only as their own free velocity: what rounding
is left between the two would otherwise limit the accuracy.

Tables of groups have one line per body, in use at the body that stands for the group:
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.solvers.interior.householder import dependence, into_null_space, triangular

PLACE = 0  # first coordinate of this body in its group
SIZE = 1  # coordinates of the group
JOINTS = 2  # joint rows; zero: the body is alone and free
CONES = 3  # columns of limits and contacts
RANK = 4  # of the joint rows
MATRIX = 5  # where M starts
ORDER = 6  # where the joint rows start in `order` and `scale`
SHIFT = 7  # where the coordinates start in `shift`
COLUMN = 8  # first column in the reduced problem
GRAM = 9  # where the factor of what redundant rows have in common starts in `gram`
FIRST = 10  # columns before those of limits and contacts: joint rows, filled up to a multiple of eight
WIDTH = 11  # of M, a multiple of eight too
FIELDS = 12

# columns of `places`, the table of the blocks of limits and contacts, behind two segments (see `reduced`)
AT = 4  # where the block's rows start in the flat Ĵ
BLOCK = 5  # number of the block in the problem
ROWS = 6  # one or three
PLACES = 7


class Groups(NamedTuple):
    """group: (n_b,) the body that stands for each body's group; table: (n_b, FIELDS); column: see `_form_groups`; M:
    all matrices, flat; order, scale: (joint rows,) the problem's row behind each column of an M, and its factor; shift:
    (coordinates,) the change that joints demand; gram: factors of what redundant rows have in common; contradiction:
    (m_e,) [m/s] the inconsistent part of the joints' free velocities."""

    group: np.ndarray
    table: np.ndarray
    column: np.ndarray
    M: np.ndarray
    order: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    gram: np.ndarray
    contradiction: np.ndarray


@njit(cache=True, error_model="numpy")
def eliminate_joints(count, joints, raw):
    """`Groups` of `count` bodies.  joints: blocks, the first of all; raw: `RawRows`."""
    bodies, start = raw.bodies, raw.start
    group, table = np.empty(count, np.int64), np.empty((count, FIELDS), np.int64)
    column = np.empty((len(raw.places), 2), np.int64)
    area, joint_rows, coordinates = _form_groups(raw, joints, group, table, column)
    M, order, scale = np.zeros(area), np.empty(joint_rows, np.int64), np.empty(joint_rows)
    shift, gram, contradiction = np.zeros(coordinates), np.empty(joint_rows * joint_rows), np.zeros(start[joints])
    groups = Groups(group, table, column, M, order, scale, shift, gram, contradiction)
    for k in range(joints):
        if max(bodies[k, 0], bodies[k, 1]) < 0:  # between the world and itself nothing can move
            for i in range(start[k], start[k + 1]):
                contradiction[i] = raw.free_velocity[i]
    if joint_rows:
        _fill_groups(raw, joints, groups)
        _eliminate(raw.free_velocity, groups)
    return groups


@njit(cache=True, error_model="numpy")
def _gives(compliance, i):
    """Is this row compliant?"""
    return len(compliance) > 0 and compliance[i] > 0.0


@njit(cache=True, error_model="numpy")
def _leader(group, body):
    """The body that stands for the group of this one."""
    while group[body] != body:
        group[body] = group[group[body]]
        body = group[body]
    return body


@njit(cache=True, error_model="numpy")
def _form_groups(raw, joints, group, table, column):
    """Which bodies belong together, and how large everything is; (numbers in all M, joint rows in groups, coordinates).

    column: (n', 2) out, first column of a block in the M of its first and second body, −1 where that body is free or
    the world."""
    bodies, start, places, count = raw.bodies, raw.start, raw.places, len(group)
    table[:] = 0
    for b in range(count):
        group[b] = b
    for k in range(joints):
        if bodies[k, 0] >= 0 and bodies[k, 1] >= 0:
            a, b = _leader(group, bodies[k, 0]), _leader(group, bodies[k, 1])
            group[max(a, b)] = min(a, b)
    for b in range(count):
        g = _leader(group, b)
        group[b] = g
        table[b, PLACE] = table[g, SIZE]
        table[g, SIZE] += 6
    for k in range(joints):
        body = max(bodies[k, 0], bodies[k, 1])
        if body >= 0:
            g = group[body]
            table[g, JOINTS] += start[k + 1] - start[k]
            for i in range(start[k], start[k + 1]):
                if _gives(raw.compliance, i):
                    table[g, SIZE] += 1
    for k in range(len(places)):
        last = -1
        for side in range(2):
            body = bodies[places[k, BLOCK], side]
            column[k, side] = -1
            if body >= 0 and table[group[body], JOINTS] > 0:
                g = group[body]
                if g == last:
                    column[k, 1] = column[k, 0]
                else:
                    column[k, side] = table[g, CONES]
                    table[g, CONES] += places[k, ROWS]
                last = g
    area, rows, coordinates = 0, 0, 0
    for b in range(count):
        if group[b] == b and table[b, JOINTS] > 0:
            table[b, MATRIX], table[b, ORDER], table[b, SHIFT] = area, rows, coordinates
            table[b, FIRST] = 8 * ((table[b, JOINTS] + 7) // 8)
            table[b, WIDTH] = table[b, FIRST] + 8 * ((table[b, CONES] + 7) // 8)
            area += table[b, SIZE] * table[b, WIDTH]
            rows += table[b, JOINTS]
            coordinates += table[b, SIZE]
    return area, rows, coordinates


@njit(cache=True, error_model="numpy")
def _fill_groups(raw, joints, groups):
    """Write every M, and the joint row behind each of its columns."""
    bodies, start, units, places, compliance = raw.bodies, raw.start, raw.units, raw.places, raw.compliance
    group, table, column, M, order = groups.group, groups.table, groups.column, groups.M, groups.order
    count = len(group)
    taken, springs = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for b in range(count):
        springs[group[b]] += 6
    sequence = np.empty(joints, np.int64)  # by the later body: a drive beside its joint keeps zeros
    for k in range(joints):
        at, own = k, max(bodies[k, 0], bodies[k, 1])
        while at > 0 and max(bodies[sequence[at - 1], 0], bodies[sequence[at - 1], 1]) > own:
            sequence[at] = sequence[at - 1]
            at -= 1
        sequence[at] = k
    for entry in range(joints + len(places)):
        is_joint = entry < joints
        k = sequence[entry] if is_joint else places[entry - joints, BLOCK]
        rows = start[k + 1] - start[k] if is_joint else places[entry - joints, ROWS]
        g = -1
        for side in range(2):
            body = bodies[k, side]
            if body >= 0 and table[group[body], JOINTS] > 0:
                g = group[body]
                width = table[g, WIDTH]
                first = taken[g] if is_joint else table[g, FIRST] + column[entry - joints, side]
                for i in range(rows):
                    at = table[g, MATRIX] + table[body, PLACE] * width + first + i
                    for a in range(6):
                        M[at + a * width] += units[start[k] + i, 6 * side + a]
        if is_joint and g >= 0:
            width = table[g, WIDTH]
            for i in range(start[k], start[k + 1]):
                order[table[g, ORDER] + taken[g]] = i
                if _gives(compliance, i):
                    M[table[g, MATRIX] + springs[g] * width + taken[g]] = math.sqrt(compliance[i])
                    springs[g] += 1
                taken[g] += 1


@njit(cache=True, error_model="numpy")
def _eliminate(free_velocity, groups):
    """Triangular form of every group, the shift of its coordinates, and what redundant rows demand beyond that."""
    group, table, M, order, scale = groups.group, groups.table, groups.M, groups.order, groups.scale
    shift, gram, contradiction = groups.shift, groups.gram, groups.contradiction
    used = 0
    for g in range(len(group)):
        if group[g] == g and table[g, JOINTS] > 0:
            n, f = table[g, SIZE], table[g, JOINTS]
            width = table[g, WIDTH]
            A = M[table[g, MATRIX] : table[g, MATRIX] + n * width].reshape(n, width)
            own, sizes = order[table[g, ORDER] :][:f], scale[table[g, ORDER] :][:f]
            rank = triangular(A, f, own, sizes)
            table[g, RANK], table[g, GRAM] = rank, used
            U = gram[used : used + (f - rank) ** 2].reshape(f - rank, f - rank)
            used += (f - rank) ** 2
            dependence(A, f, rank, U)
            demand = np.empty(f)
            for j in range(f):
                demand[j] = sizes[j] * free_velocity[own[j]]
            if rank < f:  # what lies in the null space cannot be had
                vain = demand.copy()
                into_null_space(A, f, rank, U, vain)
                for j in range(f):
                    demand[j] -= vain[j]
                    contradiction[own[j]] = vain[j] / sizes[j] if sizes[j] > 0.0 else free_velocity[own[j]]
            for i in range(rank):
                h = -demand[i] / A[i, i]
                shift[table[g, SHIFT] + i] = h
                for j in range(i + 1, rank):
                    demand[j] += A[i, j] * h


@njit(cache=True, error_model="numpy")
def joint_reactions(bodies, start, places, groups, reactions):
    """Write the joint rows of `reactions`: the smallest ones that shift the coordinates of each group as its joints
    demand, beside those of limits and contacts in it.  groups: a plain tuple of `Groups`."""
    groups = Groups(*groups)
    group, table, column, M = groups.group, groups.table, groups.column, groups.M
    order, scale, shift, gram = groups.order, groups.scale, groups.shift, groups.gram
    for g in range(len(group)):
        if group[g] != g or table[g, JOINTS] == 0:
            continue
        n, f, rank = table[g, SIZE], table[g, JOINTS], table[g, RANK]
        width = table[g, WIDTH]
        A = M[table[g, MATRIX] : table[g, MATRIX] + n * width].reshape(n, width)
        own, sizes = order[table[g, ORDER] :][:f], scale[table[g, ORDER] :][:f]
        need = np.empty(rank)
        for i in range(rank):
            need[i] = shift[table[g, SHIFT] + i]
        for k in range(len(places)):
            for side in range(2):
                body, other = bodies[places[k, BLOCK], side], bodies[places[k, BLOCK], 0]
                if body < 0 or group[body] != g:
                    continue
                if side == 1 and column[k, 1] == column[k, 0] and other >= 0 and group[other] == g:
                    continue  # both bodies are of this group, and share the columns
                for a in range(places[k, ROWS]):
                    x = reactions[start[places[k, BLOCK]] + a]
                    if x != 0.0:
                        for i in range(rank):
                            need[i] -= A[i, table[g, FIRST] + column[k, side] + a] * x
        out = np.zeros(f)
        for i in range(rank - 1, -1, -1):
            out[i] = need[i]
            for j in range(i + 1, rank):
                out[i] -= A[i, j] * out[j]
            out[i] /= A[i, i]
        if rank < f:
            U = gram[table[g, GRAM] : table[g, GRAM] + (f - rank) ** 2].reshape(f - rank, f - rank)
            vain = out.copy()
            into_null_space(A, f, rank, U, vain)
            out -= vain
        for j in range(f):
            reactions[own[j]] = sizes[j] * out[j]
