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

import numpy as np
from numba import njit

PLACE = 0  # first coordinate of this body in its group
SIZE = 1  # coordinates of the group
JOINTS = 2  # joint rows; zero: the body is alone and free
CONES = 3  # columns of limits and contacts
RANK = 4  # of the joint rows
MATRIX = 5  # where M starts
ORDER = 6  # where the joint rows start in `order` and `scale`
HELD = 7  # where the coordinates start in `held`
COLUMN = 8  # first column in the reduced problem
GRAM = 9  # where the factor of what redundant rows have in common starts in `gram`
FIRST = 10  # columns before those of limits and contacts: joint rows, filled up to whole chunks
FIELDS = 11

_CHUNK = 8  # columns that are looked at together for whether a row has entries there

_CUT = 1e-12  # square of what may be left of a joint row beside the others for it to be redundant
_SOUND = 1e-2  # square of what is left of a row that is taken in its turn: keeping the order keeps zeros


@njit(cache=True, error_model="numpy")
def _standing(group, body):
    while group[body] != body:
        group[body] = group[group[body]]
        body = group[body]
    return body


@njit(cache=True, error_model="numpy")
def _chunk(joint_rows):
    """Columns in a chunk: so many that there are at most 63 of them."""
    return _CHUNK * (1 + joint_rows // (63 * _CHUNK))


@njit(cache=True, error_model="numpy")
def form_groups(bodies, start, joints, compliance, block, size, group, table, column):
    """Who belongs together, and how large everything is; (numbers in all M, joint rows in groups, coordinates).

    block, size: (n',) the blocks of limits and contacts and their rows; column: (n', 2) out, first column of a block in
    the M of its first and second body, −1 where that body is free or the world."""
    count = len(group)
    table[:] = 0
    for b in range(count):
        group[b] = b
    for k in range(joints):
        if bodies[k, 0] >= 0 and bodies[k, 1] >= 0:
            a, b = _standing(group, bodies[k, 0]), _standing(group, bodies[k, 1])
            group[max(a, b)] = min(a, b)
    for b in range(count):
        g = _standing(group, b)
        group[b] = g
        table[b, PLACE] = table[g, SIZE]
        table[g, SIZE] += 6
    for k in range(joints):
        body = max(bodies[k, 0], bodies[k, 1])
        if body >= 0:
            g = group[body]
            table[g, JOINTS] += start[k + 1] - start[k]
            for i in range(start[k], start[k + 1]):
                if compliance[i] > 0.0:
                    table[g, SIZE] += 1
    for k in range(len(block)):
        last = -1
        for side in range(2):
            body = bodies[block[k], side]
            column[k, side] = -1
            if body >= 0 and table[group[body], JOINTS] > 0:
                g = group[body]
                if g == last:
                    column[k, 1] = column[k, 0]
                else:
                    column[k, side] = table[g, CONES]
                    table[g, CONES] += size[k]
                last = g
    area, rows, coordinates = 0, 0, 0
    for b in range(count):
        if group[b] == b and table[b, JOINTS] > 0:
            table[b, MATRIX], table[b, ORDER], table[b, HELD] = area, rows, coordinates
            table[b, FIRST] = _chunk(table[b, JOINTS]) * -(-table[b, JOINTS] // _chunk(table[b, JOINTS]))
            area += table[b, SIZE] * (table[b, FIRST] + table[b, CONES])
            rows += table[b, JOINTS]
            coordinates += table[b, SIZE]
    return area, rows, coordinates


@njit(cache=True, error_model="numpy")
def fill_groups(bodies, start, units, joints, compliance, block, size, group, table, column, M, order):
    """Write every M, and the joint row behind each of its columns.  units: (m, 12) the rows over unit masses."""
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
    for entry in range(joints + len(block)):
        is_joint = entry < joints
        k = sequence[entry] if is_joint else block[entry - joints]
        rows = start[k + 1] - start[k] if is_joint else size[entry - joints]
        g = -1
        for side in range(2):
            body = bodies[k, side]
            if body >= 0 and table[group[body], JOINTS] > 0:
                g = group[body]
                width = table[g, FIRST] + table[g, CONES]
                first = taken[g] if is_joint else table[g, FIRST] + column[entry - joints, side]
                for i in range(rows):
                    at = table[g, MATRIX] + table[body, PLACE] * width + first + i
                    for a in range(6):
                        M[at + a * width] += units[start[k] + i, 6 * side + a]
        if is_joint and g >= 0:
            width = table[g, FIRST] + table[g, CONES]
            for i in range(start[k], start[k + 1]):
                order[table[g, ORDER] + taken[g]] = i
                if compliance[i] > 0.0:
                    M[table[g, MATRIX] + springs[g] * width + taken[g]] = math.sqrt(compliance[i])
                    springs[g] += 1
                taken[g] += 1


@njit(cache=True, error_model="numpy")
def eliminate_joints(free_velocity, group, table, M, order, scale, held, gram, contradiction):
    """Triangular form of every group; `held`: the change of its coordinates that the joints ask for.

    contradiction: (m_e,) [m/s] what redundant rows ask beyond that; gram: scratch for the square of all joint rows."""
    used = 0
    for g in range(len(group)):
        if group[g] == g and table[g, JOINTS] > 0:
            n, f = table[g, SIZE], table[g, JOINTS]
            width = table[g, FIRST] + table[g, CONES]
            A = M[table[g, MATRIX] : table[g, MATRIX] + n * width].reshape(n, width)
            own, sizes = order[table[g, ORDER] :][:f], scale[table[g, ORDER] :][:f]
            rank = _triangular(A, f, table[g, FIRST], own, sizes)
            table[g, RANK], table[g, GRAM] = rank, used
            U = gram[used : used + (f - rank) ** 2].reshape(f - rank, f - rank)
            used += (f - rank) ** 2
            _dependence(A, f, rank, U)
            asked = np.empty(f)
            for j in range(f):
                asked[j] = sizes[j] * free_velocity[own[j]]
            if rank < f:  # what lies in the null space cannot be had
                vain = asked.copy()
                _into_null_space(A, f, rank, U, vain)
                for j in range(f):
                    asked[j] -= vain[j]
                    contradiction[own[j]] = vain[j] / sizes[j] if sizes[j] > 0.0 else free_velocity[own[j]]
            for i in range(rank):
                h = -asked[i] / A[i, i]
                held[table[g, HELD] + i] = h
                for j in range(i + 1, rank):
                    asked[j] += A[i, j] * h


@njit(cache=True, error_model="numpy")
def _triangular(A, f, first, order, scale):
    """Reflect the rows of A so that its first f columns, normalised and put in another order, are triangular; their
    rank. Rows remember in which chunks of columns they have entries: most of a mechanism's are zeros."""
    n, width = A.shape
    left, w = np.zeros(f), np.zeros(width)
    for i in range(n):
        for j in range(f):
            left[j] += A[i, j] * A[i, j]
    for j in range(f):
        scale[j] = 1.0 / math.sqrt(left[j]) if left[j] > 0.0 else 0.0
        left[j] = 1.0 if left[j] > 0.0 else 0.0
    side = _chunk(f)
    filled, chunks = np.zeros((n, first // side), np.bool_), np.empty(first // side, np.int64)
    rows = np.empty(n, np.int64)
    for i in range(n):
        for j in range(f):
            if A[i, j] != 0.0:
                A[i, j] *= scale[j]
                filled[i, j // side] = True
    for k in range(min(n, f)):
        best = k
        for j in range(k, f):
            if left[j] > left[best]:
                best = j
            if left[j] > _SOUND:
                best = j
                break
        if left[best] <= _CUT:
            return k
        if best != k:
            for i in range(n):
                if A[i, k] != 0.0 or A[i, best] != 0.0:
                    A[i, k], A[i, best] = A[i, best], A[i, k]
                    filled[i, k // side] = filled[i, best // side] = True
            order[k], order[best] = order[best], order[k]
            scale[k], scale[best] = scale[best], scale[k]
            left[best] = left[k]
        square, touched = 0.0, 0
        for i in range(k, n):
            if A[i, k] != 0.0:
                square += A[i, k] * A[i, k]
                rows[touched] = i
                touched += 1
        if A[k, k] == 0.0:
            rows[touched] = k
            touched += 1
        length = math.sqrt(square)
        diagonal = -length if A[k, k] > 0.0 else length
        factor = 1.0 / (length * (length + abs(A[k, k])))
        A[k, k] -= diagonal
        count = 0
        for c in range((k + 1) // side, first // side):
            for t in range(touched):
                if filled[rows[t], c]:
                    chunks[count] = c
                    count += 1
                    break
        for t in range(touched):
            i = rows[t]
            v = A[i, k]
            for c in range(count):
                begin = max(k + 1, side * chunks[c])
                for j in range(begin, side * chunks[c] + side):
                    w[j] += v * A[i, j]
            for j in range(first, width):
                w[j] += v * A[i, j]
        for t in range(touched):
            i = rows[t]
            v = factor * A[i, k]
            for c in range(count):
                begin = max(k + 1, side * chunks[c])
                for j in range(begin, side * chunks[c] + side):
                    A[i, j] -= v * w[j]
                filled[i, chunks[c]] = True
            for j in range(first, width):
                A[i, j] -= v * w[j]
            A[i, k] = 0.0
        A[k, k] = diagonal
        for c in range(count):
            for j in range(side * chunks[c], side * chunks[c] + side):
                w[j] = 0.0
        for j in range(first, width):
            w[j] = 0.0
        for j in range(k + 1, f):
            left[j] -= A[k, j] * A[k, j]
    return min(n, f)


@njit(cache=True, error_model="numpy")
def _dependence(A, f, rank, U):
    """With joint rows R = (R₁ R₂), overwrite R₂ by X = R₁⁻¹ R₂: (−X, 1) spans the null space of R. U: factor of
    1 + XᵀX, upper."""
    for i in range(rank - 1, -1, -1):
        for k in range(i + 1, rank):
            value = A[i, k]
            if value != 0.0:
                for j in range(rank, f):
                    A[i, j] -= value * A[k, j]
        for j in range(rank, f):
            A[i, j] /= A[i, i]
    count = f - rank
    U[:] = 0.0
    for a in range(count):
        U[a, a] = 1.0
    for i in range(rank):
        for a in range(count):
            value = A[i, rank + a]
            if value != 0.0:
                for b in range(a, count):
                    U[a, b] += value * A[i, rank + b]
    for k in range(count):
        root = math.sqrt(U[k, k])
        for j in range(k, count):
            U[k, j] /= root
        for i in range(k + 1, count):
            for j in range(i, count):
                U[i, j] -= U[k, i] * U[k, j]


@njit(cache=True, error_model="numpy")
def _into_null_space(A, f, rank, U, b):
    """b ← its part in the null space of the joint rows."""
    count = f - rank
    t = np.empty(count)
    for a in range(count):
        t[a] = b[rank + a]
    for i in range(rank):
        for a in range(count):
            t[a] -= A[i, rank + a] * b[i]
    for k in range(count):
        t[k] /= U[k, k]
        for j in range(k + 1, count):
            t[j] -= U[k, j] * t[k]
    for k in range(count - 1, -1, -1):
        for j in range(k + 1, count):
            t[k] -= U[k, j] * t[j]
        t[k] /= U[k, k]
    for i in range(rank):
        b[i] = 0.0
        for a in range(count):
            b[i] -= A[i, rank + a] * t[a]
    for a in range(count):
        b[rank + a] = t[a]


@njit(cache=True, error_model="numpy")
def joint_reactions(
    cone_reactions, first, size, bodies, block, group, table, column, M, order, scale, held, gram, reactions
):
    """Write the joint rows of `reactions`: the smallest ones that give each group the coordinates its joints ask.

    cone_reactions: λ of limits and contacts, in the order of `block`; first: (n',) where each block starts in it."""
    for g in range(len(group)):
        if group[g] != g or table[g, JOINTS] == 0:
            continue
        n, f, rank = table[g, SIZE], table[g, JOINTS], table[g, RANK]
        width = table[g, FIRST] + table[g, CONES]
        A = M[table[g, MATRIX] : table[g, MATRIX] + n * width].reshape(n, width)
        own, sizes = order[table[g, ORDER] :][:f], scale[table[g, ORDER] :][:f]
        need = np.empty(rank)
        for i in range(rank):
            need[i] = held[table[g, HELD] + i]
        for k in range(len(block)):
            for side in range(2):
                body = bodies[block[k], side]
                if body < 0 or group[body] != g or (side == 1 and column[k, 1] == column[k, 0] and bodies[
                    block[k], 0] >= 0 and group[bodies[block[k], 0]] == g):  # fmt: skip
                    continue
                for a in range(size[k]):
                    x = cone_reactions[first[k] + a]
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
            _into_null_space(A, f, rank, U, vain)
            out -= vain
        for j in range(f):
            reactions[own[j]] = sizes[j] * out[j]
