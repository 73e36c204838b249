"""Small problems of rigid bodies as the compiled method sees them: unit masses, joints eliminated, standard cones.

    y = Ĵ Ĵᵀ x + E x + q,    C ∋ x ⊥ y ∈ C

Columns of Ĵ are the motions that joints leave (see `joint_groups`); bodies without joints keep six. A contact touches
at most two groups, so a block of rows is two segments of columns: `segments` holds (first column, columns) twice, in
order, `at` where the block's rows start in the flat Ĵ. Rows are scaled as in `standard`.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem import Problem
from delassus.solvers.interior.joint_groups import (
    COLUMN,
    FIELDS,
    FIRST,
    HELD,
    MATRIX,
    RANK,
    SIZE,
    WIDTH,
    eliminate_joints,
    fill_groups,
    form_groups,
    joint_reactions,
)
from delassus.solvers.interior.standard import unit_mass_rows

_SYMMETRIC = 1e-12  # relative skew part below which a mass is taken as symmetric
_LEAST_MOBILITY = 1e-10  # of a contact, over what it would have without joints: less is rounding
_NONE = np.zeros(0)


class Reduced:
    """problem: of rigid bodies; `is_symmetric` is False where a mass is not, and then nothing else is there.

    limits, cones: numbers of orthant rows and of contacts; size: columns of Ĵ;
    rows: (limits, segments, at, Ĵ, end, paired), end: (size,) one behind the last column that a row of I + ĴᵀSĴ
    reaches, its factor included; paired: no joints, and every block has two segments of six, with the columns from
    `size` on for no body;
    q, soft, speed: (m',) free velocities, compliance, and the rms of free velocities in scaled units;
    contradiction: (m_e,) [m/s] what joints ask of each other in vain."""

    def __init__(self, problem: Problem):
        self.problem = problem
        delassus, cone = problem.delassus, problem.cone
        assert isinstance(delassus, RigidDelassus)
        self.is_symmetric, self.rows, self.numbers, self.joints, self.contradiction, self.unit = _reduce(
            delassus.mass, delassus.bodies, cone.block_start, delassus.rows, cone.bilateral.size, cone.unilateral,
            problem.mu, _NONE if delassus.compliance is None else delassus.compliance, problem.free_velocity,
        )  # fmt: skip
        self.limits, self.size = self.rows[0], len(self.rows[4])
        self.q, self.soft, self.speed, self.factor = self.numbers
        self.row_count = len(self.q)
        self.cones = (self.row_count - self.limits) // 3

    def write_reactions(self, x: np.ndarray, reactions: np.ndarray) -> None:
        """λ (m,) [N s] of x (m',), joints included."""
        delassus, cone = self.problem.delassus, self.problem.cone
        assert isinstance(delassus, RigidDelassus)
        _write(x, self.numbers[3], self.unit, delassus.bodies, cone.block_start, self.joints, reactions)

    def balanced(self, x: np.ndarray) -> np.ndarray:
        """(m,) x, and the joint reactions that keep it from moving any joint: linear in x."""
        out, rest = np.empty(self.problem.row_count), np.empty(self.problem.row_count)
        self.write_reactions(x, out)
        self.write_reactions(np.zeros_like(x), rest)
        return out - rest

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        out = np.empty(self.row_count)
        _read(reactions, self.factor, self.unit, self.problem.cone.block_start, self.joints[0], self.joints[1], out)
        return out


@njit(cache=True, error_model="numpy")
def _unit_masses(mass, root):
    """root = lower Cholesky factors of the masses; False where one is not symmetric."""
    for k in range(len(mass)):
        H, L = mass[k], root[k]
        largest = 0.0
        for i in range(6):
            largest = max(largest, H[i, i])
        for i in range(6):
            for j in range(i + 1):
                if abs(H[i, j] - H[j, i]) > _SYMMETRIC * largest:
                    return False
                value = H[i, j]
                for c in range(j):
                    value -= L[i, c] * L[j, c]
                if i == j:
                    if not value > 0.0:
                        return False
                    L[i, i] = math.sqrt(value)
                else:
                    L[i, j] = value / L[j, j]
                    L[j, i] = 0.0
    return True


@njit(cache=True, error_model="numpy")
def _order(start, joints, unilateral, mu):
    """(limits, block, size): limits, frictionless contacts, then the others."""
    count = len(start) - 1 - joints
    block, size = np.empty(count, np.int64), np.ones(count, np.int64)
    at = 0
    for k in range(unilateral):
        block[at] = joints + k
        at += 1
    for rough in range(2):
        for k in range(len(mu)):
            if (mu[k] > 0.0) == (rough == 1):
                block[at] = joints + unilateral + k
                size[at] = 3 if rough else 1
                at += 1
        if not rough:
            limits = at
    return limits, block, size


@njit(cache=True, error_model="numpy")
def _reduce(mass, bodies, start, rows, joints, unilateral, mu, compliance, free_velocity):
    """What `Reduced` holds, in one call: nothing here is worth a trip through Python."""
    count, m = len(mass), start[len(start) - 1]
    root = np.empty((count, 6, 6))
    is_symmetric = _unit_masses(mass, root)
    if len(compliance) == 0:
        compliance = np.zeros(m)
    units = np.zeros((m, 12))
    if is_symmetric:
        unit_mass_rows(root, bodies, start, rows, np.ones(m), units)
    limits, block, size = _order(start, joints, unilateral, mu)
    group, table, column = (
        np.empty(count, np.int64),
        np.empty((count, FIELDS), np.int64),
        np.empty((len(block), 2), np.int64),
    )
    area, joint_rows, coordinates = form_groups(bodies, start, joints, compliance, block, size, group, table, column)
    M, order, scale, held = np.zeros(area), np.empty(joint_rows, np.int64), np.empty(joint_rows), np.zeros(coordinates)
    gram, contradiction = np.empty(joint_rows * joint_rows), np.zeros(start[joints])
    if joint_rows and is_symmetric:
        fill_groups(bodies, start, units, joints, compliance, block, size, group, table, column, M, order)
        eliminate_joints(free_velocity, group, table, M, order, scale, held, gram, contradiction)
    for k in range(joints):  # between the world and itself nothing can move
        if max(bodies[k, 0], bodies[k, 1]) < 0:
            for i in range(start[k], start[k + 1]):
                contradiction[i] = free_velocity[i]
    columns = 0
    for b in range(count):
        if group[b] == b:
            table[b, COLUMN] = columns
            columns += table[b, SIZE] - table[b, RANK]
    row_count = limits + 3 * (len(block) - limits)
    numbers = np.zeros((4, row_count))
    segments, at = np.zeros((len(block), 4), np.int64), np.zeros(len(block), np.int64)
    paired = joint_rows == 0
    total = _segments(bodies, block, size, group, table, columns if paired else -1, segments, at)
    J = np.zeros(total)
    end = np.empty(columns, np.int64)
    _envelope(segments, end)
    unit = 1.0
    if is_symmetric:
        _fill_rows(bodies, start, units, free_velocity, block, size, group, table, column, M, held, segments, at, J,
                   numbers[0])  # fmt: skip
        unit = _scale_rows(start, units, mu, joints + unilateral, compliance, block, size, segments, at, J, numbers)
    return (
        is_symmetric, (limits, segments, at, J, end, paired), numbers,
        (block, size, group, table, column, M, order, scale, held, gram), contradiction, unit,
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _segments(bodies, block, size, group, table, nowhere, segments, at):
    """Columns of every block of rows; the numbers in Ĵ.  nowhere: column of what belongs to no body, where all blocks
    shall have two segments of six, or −1."""
    total = 0
    for k in range(len(block)):
        a, b = bodies[block[k], 0], bodies[block[k], 1]
        a = group[a] if a >= 0 else -1
        b = group[b] if b >= 0 else -1
        if a == b:
            b = -1
        if a < 0 or (b >= 0 and b < a):
            a, b = b, a
        if a >= 0:
            segments[k, 0], segments[k, 1] = table[a, COLUMN], table[a, SIZE] - table[a, RANK]
        if b >= 0:
            segments[k, 2], segments[k, 3] = table[b, COLUMN], table[b, SIZE] - table[b, RANK]
        if nowhere >= 0:
            if a < 0:
                segments[k, 0], segments[k, 1] = nowhere, 6
            if b < 0:
                segments[k, 2], segments[k, 3] = nowhere, 6
        at[k] = total
        total += size[k] * (segments[k, 1] + segments[k, 3])
    return total


@njit(cache=True, error_model="numpy")
def _envelope(segments, end):
    """end: one behind the last column of each row of the factor, never falling."""
    for c in range(len(end)):
        end[c] = c + 1
    for k in range(len(segments)):
        c0, n0, c1, n1 = segments[k]
        if n1 == 0 or c1 >= len(end):
            c1, n1 = c0, n0
        if n0 and c0 < len(end):
            end[c0] = max(end[c0], c1 + n1)
            end[c1] = max(end[c1], c1 + n1)
    for c in range(1, len(end)):
        end[c] = max(end[c], end[c - 1])


@njit(cache=True, error_model="numpy")
def _fill_rows(bodies, start, units, free_velocity, block, size, group, table, column, M, held, segments, at, J, q):
    """Ĵ and the free velocity of limits and contacts, not scaled yet."""
    i = 0
    for k in range(len(block)):
        width = segments[k, 1] + segments[k, 3]
        last = -1
        for r in range(size[k]):
            q[i + r] = free_velocity[start[block[k]] + r]
        for side in range(2):
            body = bodies[block[k], side]
            if body < 0:
                continue
            g = group[body]
            place = at[k] if segments[k, 0] == table[g, COLUMN] else at[k] + segments[k, 1]
            if column[k, side] < 0:
                for r in range(size[k]):
                    for a in range(6):
                        J[place + r * width + a] += units[start[block[k]] + r, 6 * side + a]
            elif g != last:
                before, rank = table[g, FIRST], table[g, RANK]
                wide = table[g, WIDTH]
                for r in range(size[k]):
                    first = table[g, MATRIX] + before + column[k, side] + r
                    for c in range(table[g, SIZE]):
                        value = M[first + c * wide]
                        q[i + r] += value * held[table[g, HELD] + c]
                        if c >= rank:
                            J[place + r * width + c - rank] = value
            last = g
        i += size[k]


@njit(cache=True, error_model="numpy")
def _scale_rows(start, units, mu, first_contact, compliance, block, size, segments, at, J, numbers):
    """Standard cones, unit mobility on average, and velocities of rms one; the unit of velocity."""
    q, soft, speed, factor = numbers
    i, square, plain = 0, 0.0, 0.0
    for k in range(len(block)):
        width = segments[k, 1] + segments[k, 3]
        mobility, alone = 0.0, 0.0
        for r in range(size[k]):
            row = start[block[k]] + r
            factor[i + r] = 1.0 / mu[block[k] - first_contact] if size[k] == 3 and r == 0 else 1.0
            own, free = compliance[row], compliance[row]
            for c in range(width):
                own += J[at[k] + r * width + c] ** 2
            for a in range(12):
                free += units[row, a] ** 2
            mobility += factor[i + r] ** 2 * own
            alone += factor[i + r] ** 2 * free
        mobility = max(mobility, _LEAST_MOBILITY * alone) / size[k]
        scale = 1.0 / math.sqrt(mobility) if mobility > 0.0 else 1.0
        for r in range(size[k]):
            plain += (factor[i + r] * q[i + r]) ** 2
            speed[i + r] = scale
            factor[i + r] *= scale
            for c in range(width):
                J[at[k] + r * width + c] *= factor[i + r]
            q[i + r] *= factor[i + r]
            soft[i + r] = factor[i + r] ** 2 * compliance[start[block[k]] + r]
            square += q[i + r] ** 2
        i += size[k]
    if not square > 0.0:
        return 1.0
    unit, rms = math.sqrt(square / i), math.sqrt(plain / i)
    for r in range(i):
        q[r] /= unit
        speed[r] *= rms / unit
    return unit


@njit(cache=True, error_model="numpy")
def _read(reactions, factor, unit, start, block, size, x):
    i = 0
    for k in range(len(block)):
        for r in range(size[k]):
            x[i + r] = reactions[start[block[k]] + r] / (unit * factor[i + r])
        i += size[k]


@njit(cache=True, error_model="numpy")
def _write(x, factor, unit, bodies, start, joints, reactions):
    block, size, group, table, column, M, order, scale, held, gram = joints
    reactions[:] = 0.0
    pushes, first = np.empty(len(x)), np.empty(len(block), np.int64)
    i = 0
    for k in range(len(block)):
        first[k] = i
        for r in range(size[k]):
            pushes[i + r] = unit * factor[i + r] * x[i + r]
            reactions[start[block[k]] + r] = pushes[i + r]
        i += size[k]
    if len(order):
        joint_reactions(
            pushes, first, size, bodies, block, group, table, column, M, order, scale, held, gram, reactions
        )
