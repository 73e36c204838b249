"""Small problems of rigid bodies as the compiled method sees them: unit masses, joints eliminated, standard cones.

    y = Ĵ Ĵᵀ x + E x + q,    C ∋ x ⊥ y ∈ C

Columns of Ĵ are the motions that joints leave (see `joint_groups`); bodies without joints keep six. A contact touches
at most two groups, so a block of rows is two segments of columns: `segments` holds (first column, columns) twice, in
order, `at` where the block's rows start in the flat Ĵ. Rows are scaled as in `standard`.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.operators.rigid import unit_mass_rows
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
    Groups,
    eliminated,
    joint_reactions,
)

_SYMMETRIC = 1e-12  # relative skew part below which a mass is taken as symmetric
_LEAST_MOBILITY = 1e-10  # of a contact, over what it would have without joints: less is rounding
_NONE = np.zeros(0)


class Reduced:
    """problem: of rigid bodies; `is_symmetric` is False where a mass is not, and then nothing else is there.

    limits, cones: numbers of orthant rows and of contacts; size: columns of Ĵ;
    rows: (limits, segments, at, Ĵ, lines, end, paired), lines: Ĵ by twelve numbers; end: (size,) one behind the last
    column that a row of I + ĴᵀSĴ reaches, its factor included; paired: no joints, and every block has two segments of
    six, with the columns from `size` on for no body;
    q, soft, speed: (m',) free velocities, compliance, and the rms of free velocities in scaled units;
    contradiction: (m_e,) [m/s] the inconsistent part of the joints' free velocities."""

    def __init__(self, problem: Problem):
        self.problem = problem
        delassus, cone = problem.delassus.rigid, problem.cone
        assert delassus is not None
        self.bodies = delassus.bodies
        bodies, start, joints = delassus.bodies, cone.block_start, cone.bilateral.size
        compliance = _NONE if delassus.compliance is None else delassus.compliance
        self.is_symmetric, limits, self.block, self.sizes, units = _order_rows(
            delassus.mass, bodies, start, delassus.rows, joints, cone.unilateral, problem.mu
        )
        if not self.is_symmetric:
            return
        self.groups: Groups | None = None
        if joints:
            self.groups = groups = eliminated(len(delassus.mass), bodies, start, units, joints, compliance,
                                              problem.free_velocity, self.block, self.sizes)  # fmt: skip
            group, table, column, M, held = groups.group, groups.table, groups.column, groups.M, groups.held
            self.contradiction = groups.contradiction
        else:
            group, table = np.arange(len(delassus.mass)), np.zeros((len(delassus.mass), FIELDS), np.int64)
            table[:, SIZE] = 6
            column, M, held, self.contradiction = np.full((len(self.block), 2), -1), _NONE, _NONE, _NONE
        segments, at, J, end, self.numbers, self.unit = _reduce(
            bodies, start, units, problem.free_velocity, joints + cone.unilateral, problem.mu, compliance, limits,
            self.block, self.sizes, group, table, column, M, held,
        )  # fmt: skip
        paired = self.groups is None or not self.groups.has_rows
        self.rows = limits, segments, at, J, J[: 12 * (len(J) // 12)].reshape(-1, 12), end, paired
        self.limits, self.size = limits, len(end)
        self.q, self.soft, self.speed, self.factor = self.numbers
        self.row_count = len(self.q)
        self.cones = (self.row_count - limits) // 3

    def write_reactions(self, x: np.ndarray, reactions: np.ndarray) -> None:
        """λ (m,) [N s] of x (m',), joints included."""
        start = self.problem.cone.block_start
        _write(x, self.factor, self.unit, start, self.block, self.sizes, reactions)
        if self.groups is not None:
            groups = self.groups
            joint_reactions(
                self.bodies, start, self.block, self.sizes, groups.group, groups.table, groups.column, groups.M,
                groups.order, groups.scale, groups.held, groups.gram, reactions,
            )  # fmt: skip

    def balanced(self, x: np.ndarray) -> np.ndarray:
        """(m,) x, and the joint reactions that keep it from moving any joint: linear in x."""
        out, rest = np.empty(self.problem.row_count), np.empty(self.problem.row_count)
        self.write_reactions(x, out)
        self.write_reactions(np.zeros_like(x), rest)
        return out - rest

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        out = np.empty(self.row_count)
        _read(reactions, self.factor, self.unit, self.problem.cone.block_start, self.block, self.sizes, out)
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
def _order_rows(mass, bodies, start, rows, joints, unilateral, mu):
    """(masses are symmetric, limits, block, size, units): limits, frictionless contacts, then the others; (m, 12) rows
    over unit masses."""
    count = len(start) - 1 - joints
    block, size = np.empty(count, np.int64), np.ones(count, np.int64)
    units = np.empty(rows.shape)
    at = limits = 0
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
    root = np.empty(mass.shape)
    is_symmetric = _unit_masses(mass, root)
    if is_symmetric:
        unit_mass_rows(root, bodies, start, rows, np.ones(len(rows)), units)
    return is_symmetric, limits, block, size, units


@njit(cache=True, error_model="numpy")
def _reduce(bodies, start, units, free_velocity, first_contact, mu, compliance, limits, block, size, group, table,
            column, M, held):  # fmt: skip
    """(segments, at, Ĵ, end, numbers, unit) of `Reduced`.  group, table, column, M, held: see `joint_groups`."""
    columns = 0
    for b in range(len(group)):
        if group[b] == b:
            table[b, COLUMN] = columns
            columns += table[b, SIZE] - table[b, RANK]
    segments, at = np.zeros((len(block), 4), np.int64), np.empty(len(block), np.int64)
    total = _segments(bodies, block, size, group, table, columns if len(M) == 0 else -1, segments, at)
    J, end = np.zeros(total), np.empty(columns, np.int64)
    _envelope(segments, end)
    numbers = np.zeros((4, limits + 3 * (len(block) - limits)))
    _fill_rows(bodies, start, units, free_velocity, block, size, group, table, column, M, held, segments, at, J,
               numbers[0])  # fmt: skip
    unit = _scale_rows(start, units, mu, first_contact, compliance, block, size, segments, at, J, numbers)
    return segments, at, J, end, numbers, unit


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
            own = compliance[row] if len(compliance) else 0.0
            free = own
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
            if len(compliance):
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
def _write(x, factor, unit, start, block, size, reactions):
    for i in range(len(reactions)):
        reactions[i] = 0.0
    i = 0
    for k in range(len(block)):
        for r in range(size[k]):
            reactions[start[block[k]] + r] = unit * factor[i + r] * x[i + r]
        i += size[k]
