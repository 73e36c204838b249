"""Small problems of rigid bodies as the compiled method sees them: unit masses, joints eliminated, standard cones.

    y = Ĵ Ĵᵀ x + E x + q,    C ∋ x ⊥ y ∈ C

Columns of Ĵ are the motions that joints leave (see `joint_groups`); bodies without joints keep six. A contact touches
at most two groups, so a block of rows is two segments of columns. The table `places` has a line per block: (first
column, columns) twice, in order, and then the columns AT, BLOCK and ROWS. Rows are scaled as in `standard`.

Whatever has one number per row is a line of one matrix, `vectors`: handing over a small problem's arrays one by one
takes longer than computing with them. Its first lines are named here, the others in `dense`:
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.rigid import unit_mass_rows
from delassus.linalg.operators.rigid_data import RigidData
from delassus.problem import Problem
from delassus.solvers.interior.joint_groups import (
    AT,
    BLOCK,
    COLUMN,
    FIELDS,
    FIRST,
    JOINTS,
    MATRIX,
    PLACES,
    RANK,
    ROWS,
    SHIFT,
    SIZE,
    WIDTH,
    Groups,
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


class Rows(NamedTuple):
    """Ĵ by blocks of rows."""

    limits: int
    """Orthant rows, the first of all."""
    places: np.ndarray
    """(blocks, PLACES), see above."""
    J: np.ndarray
    """Ĵ, flat: the entries of a block, row by row, from AT on."""
    lines: np.ndarray
    """(…, 12) the same memory by twelve numbers."""
    end: np.ndarray
    """(size,) one behind the last column that a row of I + ĴᵀSĴ reaches, its factor included."""
    paired: bool
    """Are there no joints, and has every block two segments of six, with the columns from `size` on for no body?"""


class Reduction(NamedTuple):
    """What leads from scaled unknowns back to reactions.  unit: of velocity [m/s]."""

    places: np.ndarray
    factor: np.ndarray
    unit: float


class RawRows(NamedTuple):
    """The blocks of rows as they are found, before elimination and scaling."""

    bodies: np.ndarray
    """(blocks, 2) of all blocks, joints first; −1 for the world."""
    start: np.ndarray
    """(blocks + 1,) first row of each block."""
    units: np.ndarray
    """(m, 12) rows over unit masses."""
    compliance: np.ndarray
    """(m,), or empty where it is zero [1/kg]."""
    free_velocity: np.ndarray
    """(m,) [m/s]."""
    places: np.ndarray
    """(n', PLACES) the blocks of limits and contacts."""


class Reduced:
    """problem: of rigid bodies; lines: how many `vectors` has; `is_symmetric` is False where a mass is not, and then
    nothing else is of use.

    limits: number of orthant rows; row_count: m'; size: columns of Ĵ; rows, reduction: `Rows` and `Reduction` as plain
    tuples; vectors: (lines, m'), the first NUMBERS lines filled in; groups: `Groups` as a plain tuple, or None without
    joints; inconsistency: largest inconsistent part of the joints' free velocities, over the largest of them."""

    def __init__(self, problem: Problem, lines: int = NUMBERS):
        self.problem = problem
        delassus, cone = problem.delassus.rigid, problem.cone
        self.rigid, self.start = delassus.plain, cone.block_start
        joints = cone.bilateral.size
        cones = cone.unilateral, problem.mu
        arrays, groups, sizes = reduce_rows(
            delassus.mass, self.rigid, problem.free_velocity, joints or None, cones, lines
        )
        self.is_symmetric, self.limits, unit, self.inconsistency = sizes
        places, J, end, self.vectors = arrays
        self.groups: tuple[Any, ...] | None = groups
        paired = groups is None or not len(Groups(*groups).M)
        self.rows = tuple(Rows(self.limits, places, J.ravel(), J, end, paired))
        self.reduction = tuple(Reduction(places, self.vectors[FACTOR], unit))
        self.size, self.row_count = len(end), self.vectors.shape[1]

    @property
    def contradiction(self) -> np.ndarray:
        """(m_e,) [m/s] the inconsistent part of the joints' free velocities."""
        return _NONE if self.groups is None else Groups(*self.groups).contradiction

    def write_reactions(self, x: np.ndarray, reactions: np.ndarray) -> None:
        """λ (m,) [N s] of x (m',), joints included."""
        write(x, self.reduction, self.groups, self.rigid, reactions)

    def balanced(self, x: np.ndarray) -> np.ndarray:
        """(m,) x, and the joint reactions that keep it from moving any joint: linear in x."""
        out, rest = np.empty(self.problem.row_count), np.empty(self.problem.row_count)
        self.write_reactions(x, out)
        self.write_reactions(np.zeros_like(x), rest)
        return out - rest

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        out = np.empty(self.row_count)
        read(reactions, self.reduction, self.start, out)
        return out


@njit(cache=True, error_model="numpy")
def reduce_rows(mass, rigid, free_velocity, joints, cones, lines):
    """((places, Ĵ by twelve numbers, end, vectors), groups, (masses are symmetric, limits, unit of velocity,
    inconsistency)) of `Reduced`.

    rigid: `RigidDelassus.plain`; joints: their number, None where there are none: nothing of them is compiled then;
    cones: number of limits, friction coefficients."""
    unilateral, mu = cones
    rigid = RigidData(*rigid)
    first_contact = unilateral if joints is None else joints + unilateral
    limits, places = _order_blocks(first_contact - unilateral, unilateral, mu)
    is_symmetric, units = _unit_rows(mass, rigid)
    raw = RawRows(rigid.bodies, rigid.block_start, units, rigid.compliance, free_velocity, places)
    if joints is None:
        group, table = np.empty(len(mass), np.int64), np.empty((len(mass), FIELDS), np.int64)
        for b in range(len(mass)):
            group[b], table[b, SIZE], table[b, RANK], table[b, JOINTS] = b, 6, 0, 0
        groups, inconsistency, paired = None, 0.0, True
    else:
        linked = eliminate_joints(len(mass), joints, raw)
        group, table, paired = linked.group, linked.table, len(linked.M) == 0
        inconsistent = linked.contradiction
        inconsistency = _largest(inconsistent) / max(_largest(free_velocity[: len(inconsistent)]), _TINY)
        groups = (
            linked.group,
            linked.table,
            linked.column,
            linked.M,
            linked.order,
            linked.scale,
            linked.shift,
            linked.gram,
            linked.contradiction,
        )
    columns = 0
    for b in range(len(group)):
        if group[b] == b:
            table[b, COLUMN] = columns
            columns += table[b, SIZE] - table[b, RANK]
    total = _segments(rigid.bodies, places, group, table, columns if paired else -1)
    J, end = np.empty(((total + 11) // 12, 12)), np.empty(columns, np.int64)
    _envelope(places, end)
    vectors = np.empty((lines, limits + 3 * (len(places) - limits)))
    flat = J.ravel()
    _fill_rows(raw, group, table, flat, vectors[Q])
    if joints is not None:
        _fill_joined_rows(raw, linked, flat, vectors[Q])
    unit = _scale_rows(raw, mu, first_contact, flat, vectors)
    return (places, J, end, vectors), groups, (is_symmetric, limits, unit, inconsistency)


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
def _order_blocks(joints, unilateral, mu):
    """(orthant rows, places): limits, frictionless contacts, then the others, of which block and rows are filled in."""
    places = np.empty((unilateral + len(mu), PLACES), np.int64)
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
    return limits, places


@njit(cache=True, error_model="numpy")
def _unit_rows(mass, rigid):
    """(masses are symmetric, (m, 12) rows over unit masses)."""
    rows = rigid.rows
    root, ones, units = np.empty(mass.shape), np.empty(len(rows)), np.empty(rows.shape)
    is_symmetric = _unit_masses(mass, root)
    for i in range(len(rows)):
        ones[i] = 1.0 if is_symmetric else 0.0
    unit_mass_rows(root, rigid.bodies, rigid.block_start, rows, ones, units)
    return is_symmetric, units


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
def _fill_rows(raw, group, table, J, q):
    """Ĵ of bodies without joints, and the free velocity of limits and contacts, not scaled yet."""
    bodies, start, units, places, free_velocity = raw.bodies, raw.start, raw.units, raw.places, raw.free_velocity
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
def _fill_joined_rows(raw, groups, J, q):
    """Ĵ and free velocities of bodies with joints, which change the free velocity."""
    bodies, places = raw.bodies, raw.places
    group, table, column, M, shift = groups.group, groups.table, groups.column, groups.M, groups.shift
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
                        q[i + r] += value * shift[table[g, SHIFT] + c]
                        if c >= rank:
                            J[place + r * width + c - rank] = value
            last = g
        i += rows


@njit(cache=True, error_model="numpy")
def _scale_rows(raw, mu, first_contact, J, vectors):
    """Standard cones, unit mobility on average, and velocities of rms one; the unit of velocity."""
    start, units, compliance, places = raw.start, raw.units, raw.compliance, raw.places
    q, soft, speed, factor = vectors[Q], vectors[SOFT], vectors[SPEED], vectors[FACTOR]
    i, square, unscaled = 0, 0.0, 0.0
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
            unscaled += (factor[i + r] * q[i + r]) ** 2
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
    unit, rms = math.sqrt(square / i), math.sqrt(unscaled / i)
    for r in range(i):
        q[r] /= unit
        speed[r] *= rms / unit
    return unit


@njit(cache=True, error_model="numpy", inline="always")
def read(reactions, reduction, start, x):
    """x (m',) of λ (m,)."""
    back = Reduction(*reduction)
    places, factor, unit = back.places, back.factor, back.unit
    i = 0
    for k in range(len(places)):
        for r in range(places[k, ROWS]):
            x[i + r] = reactions[start[places[k, BLOCK]] + r] / (unit * factor[i + r])
        i += places[k, ROWS]


@njit(cache=True, error_model="numpy", inline="always")
def write(x, reduction, groups, rigid, reactions):
    """λ (m,) [N s] of x (m',), joints included.  groups: a plain tuple of `Groups`, or None; rigid: `RigidData`."""
    back, rigid = Reduction(*reduction), RigidData(*rigid)
    places, start, factor, unit = back.places, rigid.block_start, back.factor, back.unit
    for i in range(len(reactions)):
        reactions[i] = 0.0
    i = 0
    for k in range(len(places)):
        for r in range(places[k, ROWS]):
            reactions[start[places[k, BLOCK]] + r] = unit * factor[i + r] * x[i + r]
        i += places[k, ROWS]
    if groups is not None:
        joint_reactions(rigid.bodies, start, places, groups, reactions)
