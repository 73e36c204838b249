"""Small problems of rigid bodies as the compiled method sees them: unit masses, joints eliminated, standard cones.

    y = Ĵ Ĵᵀ x + E x + q,    C ∋ x ⊥ y ∈ C

Columns of Ĵ are the motions that joints leave (see `joint_groups`); bodies without joints keep six. A contact touches
at most two groups, so a block of rows is two segments of columns. The table `places` has a line per block: (first
column, columns) twice, in order, and then the columns AT, BLOCK and ROWS. Rows are scaled as in `standard`.

Whatever has one number per row is a line of one matrix, `vectors`: a small problem's arrays are sooner computed with
than handed over one by one. Its first lines are named here, the others by whoever uses them:
"""

import math
from typing import Any

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.rigid import unit_mass_rows
from delassus.problem import Problem
from delassus.solvers.interior.joint_groups import (
    AT,
    BLOCK,
    COLUMN,
    FIELDS,
    FIRST,
    HELD,
    JOINTS,
    MATRIX,
    PLACES,
    RANK,
    ROWS,
    SIZE,
    WIDTH,
    eliminate_joints,
    joint_reactions,
)

Q = 0  # free velocity, in scaled units
SOFT = 1  # compliance
SPEED = 2  # the rms of free velocities
FACTOR = 3  # λ = unit × factor × x
NUMBERS = 4  # so many lines belong to the problem

_SYMMETRIC = 1e-12  # relative skew part below which a mass is taken as symmetric
_LEAST_MOBILITY = 1e-10  # of a contact, over what it would have without joints: less is rounding
_TINY = 1e-300  # m/s: 0/0 counts as 0
_NONE = np.zeros(0)


class Reduced:
    """problem: of rigid bodies; lines: how many `vectors` has; `is_symmetric` is False where a mass is not, and then
    nothing else is of use.

    limits: number of orthant rows; row_count: m'; size: columns of Ĵ;
    rows: (limits, places, Ĵ, lines, end, paired), lines: Ĵ by twelve numbers; end: (size,) one behind the last
    column that a row of I + ĴᵀSĴ reaches, its factor included; paired: no joints, and every block has two segments of
    six, with the columns from `size` on for no body;
    vectors: (lines, m'), the first NUMBERS lines filled in; groups: of `joint_groups`, or None without joints;
    inconsistency: largest inconsistent part of the joints' free velocities, over the largest of them."""

    def __init__(self, problem: Problem, lines: int = NUMBERS):
        self.problem = problem
        delassus, cone = problem.delassus.rigid, problem.cone
        self.plain, self.start = delassus.plain, cone.block_start
        joints = cone.bilateral.size
        parts, sizes, groups = reduce_rows(
            delassus.mass, self.plain, problem.free_velocity, joints or None, cone.unilateral, problem.mu, lines
        )
        self.is_symmetric, self.limits, self.unit, self.inconsistency = sizes
        self.places, J, end, self.vectors = parts
        self.groups: tuple[Any, ...] | None = groups
        paired = groups is None or not len(groups[3])
        self.rows = self.limits, self.places, J.ravel(), J, end, paired
        self.size, self.row_count = len(end), self.vectors.shape[1]

    @property
    def contradiction(self) -> np.ndarray:
        """(m_e,) [m/s] the inconsistent part of the joints' free velocities."""
        return _NONE if self.groups is None else self.groups[-1]

    def write_reactions(self, x: np.ndarray, reactions: np.ndarray) -> None:
        """λ (m,) [N s] of x (m',), joints included."""
        write(x, self.vectors, self.unit, self.plain[0], self.start, self.places, self.groups, reactions)

    def balanced(self, x: np.ndarray) -> np.ndarray:
        """(m,) x, and the joint reactions that keep it from moving any joint: linear in x."""
        out, rest = np.empty(self.problem.row_count), np.empty(self.problem.row_count)
        self.write_reactions(x, out)
        self.write_reactions(np.zeros_like(x), rest)
        return out - rest

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        out = np.empty(self.row_count)
        read(reactions, self.vectors[FACTOR], self.unit, self.start, self.places, out)
        return out


@njit(cache=True, error_model="numpy")
def reduce_rows(mass, rigid, free_velocity, joints, unilateral, mu, lines):
    """((places, Ĵ by twelve numbers, end, vectors), (masses are symmetric, limits, unit of velocity, inconsistency),
    groups) of `Reduced`.

    rigid: `RigidDelassus.plain`; joints: their number, None where there are none: nothing of them is compiled then."""
    bodies, start, rows, _, compliance = rigid
    first_contact = unilateral if joints is None else joints + unilateral
    is_symmetric, limits, places, units = _order_rows(mass, bodies, start, rows, first_contact - unilateral,
                                                           unilateral, mu)  # fmt: skip
    if joints is None:
        group, table = np.empty(len(mass), np.int64), np.empty((len(mass), FIELDS), np.int64)
        for b in range(len(mass)):
            group[b], table[b, SIZE], table[b, RANK], table[b, JOINTS] = b, 6, 0, 0
        groups, inconsistency, paired = None, 0.0, True
    else:
        linked = eliminate_joints(len(mass), bodies, start, units, joints, compliance, free_velocity, places)
        group, table, paired, groups = linked[0], linked[1], len(linked[3]) == 0, linked
        inconsistency = _largest(linked[8]) / max(_largest(free_velocity[: len(linked[8])]), _TINY)
    columns = 0
    for b in range(len(group)):
        if group[b] == b:
            table[b, COLUMN] = columns
            columns += table[b, SIZE] - table[b, RANK]
    total = _segments(bodies, places, group, table, columns if paired else -1)
    J, end = np.empty(((total + 11) // 12, 12)), np.empty(columns, np.int64)
    _envelope(places, end)
    vectors = np.empty((lines, limits + 3 * (len(places) - limits)))
    q, soft, speed, factor = vectors[Q], vectors[SOFT], vectors[SPEED], vectors[FACTOR]
    flat = J.ravel()
    _fill_rows(bodies, start, units, free_velocity, places, group, table, flat, q)
    if joints is not None:
        _fill_joined_rows(bodies, places, linked, flat, q)
    unit = _scale_rows(start, units, mu, first_contact, compliance, places, flat, q, soft, speed,
                       factor)  # fmt: skip
    parts = places, J, end, vectors
    return parts, (is_symmetric, limits, unit, inconsistency), groups


@njit(cache=True, error_model="numpy")
def _largest(x):
    out = 0.0
    for i in range(len(x)):
        out = max(out, abs(x[i]))
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
    """(masses are symmetric, limits, places, units): limits, frictionless contacts, then the others, of which block and
    rows are filled in; (m, 12) rows over unit masses."""
    count = len(start) - 1 - joints
    places = np.empty((count, PLACES), np.int64)
    units = np.empty(rows.shape)
    at = limits = 0
    for k in range(unilateral):
        places[at, BLOCK], places[at, ROWS] = joints + k, 1
        at += 1
    for rough in range(2):
        for k in range(len(mu)):
            if (mu[k] > 0.0) == (rough == 1):
                places[at, BLOCK], places[at, ROWS] = joints + unilateral + k, 3 if rough else 1
                at += 1
        if not rough:
            limits = at
    root, ones = np.empty(mass.shape), np.empty(len(rows))
    is_symmetric = _unit_masses(mass, root)
    for i in range(len(rows)):
        ones[i] = 1.0 if is_symmetric else 0.0
    unit_mass_rows(root, bodies, start, rows, ones, units)
    return is_symmetric, limits, places, units


@njit(cache=True, error_model="numpy")
def _segments(bodies, places, group, table, nowhere):
    """Columns of every block of rows; the numbers in Ĵ.  nowhere: column of what belongs to no body, where all blocks
    shall have two segments of six, or −1."""
    total = 0
    for k in range(len(places)):
        for side in range(4):
            places[k, side] = 0
        a, b = bodies[places[k, BLOCK], 0], bodies[places[k, BLOCK], 1]
        a = group[a] if a >= 0 else -1
        b = group[b] if b >= 0 else -1
        if a == b:
            b = -1
        if a < 0 or (b >= 0 and b < a):
            a, b = b, a
        if a >= 0:
            places[k, 0], places[k, 1] = table[a, COLUMN], table[a, SIZE] - table[a, RANK]
        if b >= 0:
            places[k, 2], places[k, 3] = table[b, COLUMN], table[b, SIZE] - table[b, RANK]
        if nowhere >= 0:
            if a < 0:
                places[k, 0], places[k, 1] = nowhere, 6
            if b < 0:
                places[k, 2], places[k, 3] = nowhere, 6
        places[k, AT] = total
        total += places[k, ROWS] * (places[k, 1] + places[k, 3])
    return total


@njit(cache=True, error_model="numpy")
def _envelope(places, end):
    """end: one behind the last column of each row of the factor, never falling."""
    for c in range(len(end)):
        end[c] = c + 1
    for k in range(len(places)):
        c0, n0, c1, n1 = places[k, 0], places[k, 1], places[k, 2], places[k, 3]
        if n1 == 0 or c1 >= len(end):
            c1, n1 = c0, n0
        if n0 and c0 < len(end):
            end[c0] = max(end[c0], c1 + n1)
            end[c1] = max(end[c1], c1 + n1)
    for c in range(1, len(end)):
        end[c] = max(end[c], end[c - 1])


@njit(cache=True, error_model="numpy")
def _fill_rows(bodies, start, units, free_velocity, places, group, table, J, q):
    """Ĵ of bodies without joints, and the free velocity of limits and contacts, not scaled yet."""
    for p in range(len(J)):
        J[p] = 0.0
    i = 0
    for k in range(len(places)):
        block, rows, width = places[k, BLOCK], places[k, ROWS], places[k, 1] + places[k, 3]
        for r in range(rows):
            q[i + r] = free_velocity[start[block] + r]
        for side in range(2):
            body = bodies[block, side]
            if body >= 0 and table[group[body], JOINTS] == 0:
                place = places[k, AT] + (0 if places[k, 0] == table[body, COLUMN] else places[k, 1])
                for r in range(rows):
                    for a in range(6):
                        J[place + r * width + a] += units[start[block] + r, 6 * side + a]
        i += rows


@njit(cache=True, error_model="numpy")
def _fill_joined_rows(bodies, places, groups, J, q):
    """The same of bodies with joints, whose free velocity changes by what these ask for."""
    group, table, column, M, held = groups[0], groups[1], groups[2], groups[3], groups[6]
    i = 0
    for k in range(len(places)):
        last, rows, width = -1, places[k, ROWS], places[k, 1] + places[k, 3]
        for side in range(2):
            body = bodies[places[k, BLOCK], side]
            g = group[body] if body >= 0 else last
            if g != last and column[k, side] >= 0:
                place = places[k, AT] + (0 if places[k, 0] == table[g, COLUMN] else places[k, 1])
                rank, wide = table[g, RANK], table[g, WIDTH]
                for r in range(rows):
                    first = table[g, MATRIX] + table[g, FIRST] + column[k, side] + r
                    for c in range(table[g, SIZE]):
                        value = M[first + c * wide]
                        q[i + r] += value * held[table[g, HELD] + c]
                        if c >= rank:
                            J[place + r * width + c - rank] = value
            last = g
        i += rows


@njit(cache=True, error_model="numpy")
def _scale_rows(start, units, mu, first_contact, compliance, places, J, q, soft, speed, factor):
    """Standard cones, unit mobility on average, and velocities of rms one; the unit of velocity."""
    i, square, plain = 0, 0.0, 0.0
    for k in range(len(places)):
        width = places[k, 1] + places[k, 3]
        mobility, alone = 0.0, 0.0
        for r in range(places[k, ROWS]):
            row = start[places[k, BLOCK]] + r
            factor[i + r] = 1.0 / mu[places[k, BLOCK] - first_contact] if places[k, ROWS] == 3 and r == 0 else 1.0
            own = compliance[row] if len(compliance) else 0.0
            free = own
            for c in range(width):
                own += J[places[k, AT] + r * width + c] ** 2
            for a in range(12):
                free += units[row, a] ** 2
            mobility += factor[i + r] ** 2 * own
            alone += factor[i + r] ** 2 * free
        mobility = max(mobility, _LEAST_MOBILITY * alone) / places[k, ROWS]
        scale = 1.0 / math.sqrt(mobility) if mobility > 0.0 else 1.0
        for r in range(places[k, ROWS]):
            plain += (factor[i + r] * q[i + r]) ** 2
            speed[i + r] = scale
            factor[i + r] *= scale
            for c in range(width):
                J[places[k, AT] + r * width + c] *= factor[i + r]
            q[i + r] *= factor[i + r]
            soft[i + r] = factor[i + r] ** 2 * compliance[start[places[k, BLOCK]] + r] if len(compliance) else 0.0
            square += q[i + r] ** 2
        i += places[k, ROWS]
    if not square > 0.0:
        return 1.0
    unit, rms = math.sqrt(square / i), math.sqrt(plain / i)
    for r in range(i):
        q[r] /= unit
        speed[r] *= rms / unit
    return unit


@njit(cache=True, error_model="numpy", inline="always")
def read(reactions, factor, unit, start, places, x):
    """x (m',) of λ (m,)."""
    i = 0
    for k in range(len(places)):
        for r in range(places[k, ROWS]):
            x[i + r] = reactions[start[places[k, BLOCK]] + r] / (unit * factor[i + r])
        i += places[k, ROWS]


@njit(cache=True, error_model="numpy", inline="always")
def write(x, vectors, unit, bodies, start, places, groups, reactions):
    """λ (m,) [N s] of x (m',), joints included.  groups: of `joint_groups`, or None."""
    for i in range(len(reactions)):
        reactions[i] = 0.0
    i = 0
    for k in range(len(places)):
        for r in range(places[k, ROWS]):
            reactions[start[places[k, BLOCK]] + r] = unit * vectors[FACTOR, i + r] * x[i + r]
        i += places[k, ROWS]
    if groups is not None:
        joint_reactions(bodies, start, places, groups, reactions)
