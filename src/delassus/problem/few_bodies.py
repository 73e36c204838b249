"""Few rigid bodies in one array: all that a solve reads of them, copied when a problem is made, where every number is
at hand anyway, in processes that solve many. To pass some twenty arrays to compiled code takes Numba two microseconds,
as long as a solve of one contact; one array takes a tenth of it.

| entries | |
|---|---|
| BODIES | ρ, ‖v_f‖₂, heaviest over lightest mass, sizes: m, blocks, those of joints, rows of joints, limits, n_c, … |
| | … Σ d_k², entries of compliance and of u_f; is the law exact? |
| Σ d_k² | diagonal blocks of D |
| blocks | velocity scales |
| m, n_c, 0 or m, 0 or n | v_f, μ, compliance, u_f |
| 24 m | rows of J, then of H⁻¹ Jᵀ |
| 3 blocks + 1 | integers: the first row of each block, and its two bodies |

Larger problems end after the velocity scales.
"""

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.operators.rigid import translation_ratio
from delassus.problem.data import ProblemData
from delassus.problem.scales import measure_rigid

MOST_ROWS = 150
"""Of problems that are packed: so many `auto` solves in one call whatever they consist of."""

WORTH = 100
"""Solves of few rigid bodies in a process from which on problems are packed: two microseconds each are not worth the
two seconds that the kernels for it take to compile, once per machine, where somebody solves one."""

solved = 0
"""How many there were that were not packed."""

BODIES = 13
"""Entries before the diagonal blocks."""

MASS_RATIO = 2
"""The entry that holds heaviest over lightest mass."""


def packed_size(rows: int, blocks: int, contacts: int, is_soft: bool, velocities: int) -> int:
    """Entries behind the velocity scales."""
    return rows * (26 if is_soft else 25) + contacts + velocities + 3 * blocks + 1


@njit(cache=True)
def pack_bodies(rigid, mass, data, v_f, u_f, floor, out):
    """Fills `out`, as above.  rigid: `RigidDelassus.plain`; mass: (n_b, 6, 6); data: the fields of `ProblemData`, whose
    diagonal blocks and velocity scales, views of `out`, are written and whose ρ and ‖v_f‖₂ are not read; v_f: (m,);
    u_f: (n,); floor: rest speed [m/s]."""
    data = ProblemData(*data)
    measure_rigid(rigid, len(mass), data.joint_count, v_f, floor, data.diagonal_blocks, data.velocity_scale, out)
    if len(out) > BODIES + len(data.diagonal_blocks) + len(data.velocity_scale):
        _copy(rigid, data, v_f, u_f, out)
        out[12] = data.is_exact
        out[MASS_RATIO] = translation_ratio(mass) if len(mass) else 1.0


@njit(cache=True, **NO_REFCOUNT)
def _copy(rigid, data, v_f, u_f, out):
    """All but the measures, which are there."""
    bodies, start, rows, response, compliance = rigid
    blocks, m, area, mu = len(bodies), len(v_f), len(data.diagonal_blocks), data.mu
    out[3], out[4], out[5], out[6] = m, blocks, data.joint_count, data.bilateral_rows
    out[7], out[8] = data.limit_count, len(mu)
    out[9], out[10], out[11] = area, len(compliance), len(u_f)
    at = BODIES + area + blocks
    at = _put(u_f, out, _put(compliance, out, _put(mu, out, _put(v_f, out, at))))
    for i in range(m):
        for j in range(12):
            out[at + 12 * i + j] = rows[i, j]
    at += 12 * m
    for i in range(m):
        for j in range(12):
            out[at + 12 * i + j] = response[i, j]
    numbers = out[at + 12 * m :].view(np.int64)
    for k in range(blocks + 1):
        numbers[k] = start[k]
    for k in range(blocks):
        numbers[blocks + 1 + 2 * k], numbers[blocks + 2 + 2 * k] = bodies[k, 0], bodies[k, 1]


@njit(cache=True, **NO_REFCOUNT)
def _put(values, out, at):
    """Copy a vector to this place; the place behind it."""
    for i in range(len(values)):
        out[at + i] = values[i]
    return at + len(values)


@njit(cache=True, **NO_REFCOUNT)
def unpacked(packed):
    """(`RigidDelassus.plain`, u_f, v_f, fields of `ProblemData`), views."""
    m, blocks, joints, bilateral = int(packed[3]), int(packed[4]), int(packed[5]), int(packed[6])
    limits, contacts, area = int(packed[7]), int(packed[8]), int(packed[9])
    soft, velocities = int(packed[10]), int(packed[11])
    at = BODIES + area
    scale, v_at = packed[at : at + blocks], at + blocks
    mu_at = v_at + m
    v_f, mu, soft_at = packed[v_at:mu_at], packed[mu_at : mu_at + contacts], mu_at + contacts
    compliance, u_at = packed[soft_at : soft_at + soft], soft_at + soft
    u_f, at = packed[u_at : u_at + velocities], u_at + velocities
    rows, response = packed[at : at + 12 * m].reshape(m, 12), packed[at + 12 * m : at + 24 * m].reshape(m, 12)
    numbers = packed[at + 24 * m :].view(np.int64)
    start, bodies = numbers[: blocks + 1], numbers[blocks + 1 : 3 * blocks + 1].reshape(blocks, 2)
    rows_of_blocks = mu, start, joints, bilateral, limits
    data = *rows_of_blocks, packed[BODIES : BODIES + area], scale, packed[12] != 0.0, packed[0], packed[1]
    return (bodies, start, rows, response, compliance), u_f, v_f, data
