"""What Gauß–Seidel sweeps read: D in 3×3 blocks, or rigid bodies, whose D is then never formed.

Both give the same iterates. A sweep over blocks reads 80 bytes for every two contacts that share a body, one in body
space 800 for every contact and the velocities of its bodies; and blocks have to be formed first, which takes as long as
a dozen sweeps over them.
"""

from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem import Problem
from delassus.solvers.parts.joint_inverses import joint_inverses
from delassus.solvers.parts.one_contact.slip import SLIP_CONSTANTS, slip_constants
from delassus.solvers.parts.threes import cut_matrix, cut_rigid, place_rows, triples_of


class Blocks(NamedTuple):
    """The blocks of a sweep, joints first, then limits, then contacts."""

    start: np.ndarray  # (block_count + 1,) first row of each block
    place: np.ndarray  # (block_count,) the same in the array swept over: triples are padded, see `threes`
    joint_count: int
    limit_count: int
    mu: np.ndarray  # (n_c,)
    diagonal: np.ndarray  # D_kk one after the other, row by row [1/kg]
    diagonal_start: np.ndarray  # (block_count,) where each D_kk starts
    joint_inverse: np.ndarray  # D_kk⁺ of the joints, same layout [kg]
    constants: np.ndarray  # (n_c, 12) of the contacts' solves by slip rate; empty for other solves
    offset: np.ndarray  # (m,) b in body space, v_f over blocks of D [m/s]
    matrix_free: bool  # sweep in body space


class Threes(NamedTuple):
    """Blocks of D off its diagonal, as `threes` cuts them; empty arrays when sweeping in body space."""

    pointer: np.ndarray  # (n + 1,)
    column: np.ndarray  # (blocks,)
    value: np.ndarray  # nine numbers per block, by columns [1/kg]
    padded: np.ndarray  # (3 n,) the reactions a sweep works on, written; empty where no triple is padded


class Bodies(NamedTuple):
    """What a sweep in body space reads and writes; empty arrays when sweeping over blocks. The world is the last body:
    its entries in rows, responses and velocities are zero."""

    pair: np.ndarray  # (block_count, 2)
    rows: np.ndarray  # (m, 12) J by rows
    response: np.ndarray  # (m, 12) H⁻¹ Jᵀ by rows
    compliance: np.ndarray  # (m,) diagonal of E
    u_f: np.ndarray  # (6 n_b,) free velocities
    u: np.ndarray  # (6 n_b + 6,) current velocities, written


# Chosen on one half of 21 rigid problems, files and random ones of 17 to 10 000 contacts: as fast as the better storage
# over 300 sweeps there, 1 % slower on the other half. Walls and arches have 13 to 40 pairs per contact.
_FEW_PAIRS = 8  # of blocks of rows on one body, per block of rows: with more, sweeps in body space are faster
_MOSTLY_CONTACTS = (
    0.75  # of all blocks: joints fill two or three triples, and are 1.1 to 1.3 times faster in body space
)
_FEW_BLOCKS = 30  # of rows, below which forming D takes longer than what faster sweeps save

_NONE = np.zeros(0, dtype=np.int64)
_NO_THREES = Threes(_NONE, _NONE, np.zeros(0), np.zeros(0))
_NO_BODIES = Bodies(np.zeros((0, 2), np.int64), np.zeros((0, 12)), np.zeros((0, 12)), *np.zeros((3, 0)))


def storage(problem: Problem, by_slip: bool, matrix_free: bool | None = None) -> tuple[Blocks, Threes, Bodies]:
    """For sweeps over one problem.  by_slip: are contacts solved by slip rate? matrix_free: None for what is faster."""
    cone, delassus = problem.cone, problem.delassus
    threes, bodies, place = _NO_THREES, _NO_BODIES, cone.block_start[:-1]
    if matrix_free is None:
        matrix_free = delassus.has_bodies and is_faster_free(delassus.rigid, problem.contact_count)
    if matrix_free and delassus.has_bodies:
        bodies = _bodies(problem, delassus.rigid)
    else:
        matrix_free, (threes, place) = False, _threes(problem)
    constants = np.empty((problem.contact_count if by_slip else 0, SLIP_CONSTANTS))
    _contact_constants(problem.diagonal_blocks, constants)
    sizes = np.diff(cone.block_start)
    blocks = Blocks(
        cone.block_start,
        place,
        cone.bilateral.size,
        cone.unilateral,
        problem.mu,
        problem.diagonal_blocks,
        np.cumsum(sizes * sizes) - sizes * sizes,
        joint_inverses(problem) if cone.bilateral.size else np.zeros(0),
        constants,
        problem.bias if matrix_free else problem.free_velocity,
        matrix_free,
    )
    return blocks, threes, bodies


def reposed(problem: Problem, parts: tuple[Blocks, Threes, Bodies]) -> tuple[Blocks, Threes, Bodies]:
    """What `storage` gives, for a problem that differs in its free velocity only."""
    blocks, threes, bodies = parts
    if blocks.matrix_free:
        return blocks._replace(offset=problem.bias), threes, bodies._replace(u_f=problem.u_f)
    return blocks._replace(offset=problem.free_velocity), threes, bodies


def is_faster_free(rigid: RigidDelassus, contacts: int) -> bool:
    """Are some hundred sweeps in body space faster than over the blocks of D?  contacts: how many there are."""
    count = len(rigid.bodies)
    if count < _FEW_BLOCKS or contacts < _MOSTLY_CONTACTS * count:
        return True
    return bool(_pairs(rigid.bodies, np.zeros(len(rigid.mass), np.int64)) > _FEW_PAIRS * count)


@njit(cache=True)
def _pairs(bodies, held):
    """Upper bound on the blocks of D off its diagonal: ordered pairs of blocks of rows that share a body.

    held: (n_b,) zeros, becomes the number of blocks of rows on each body."""
    count = 0
    for k in range(len(bodies)):
        for side in range(2):
            if bodies[k, side] >= 0:
                count += 2 * held[bodies[k, side]]
                held[bodies[k, side]] += 1
    return count


def _threes(problem: Problem) -> tuple[Threes, np.ndarray]:
    """D in 3×3 blocks, and where each block of rows begins in their numbering, (block_count,)."""
    cone, delassus = problem.cone, problem.delassus
    n = triples_of(cone.block_start)
    place, friction = np.empty(problem.row_count, np.int64), np.empty(n)
    place_rows(cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, place, friction)
    if delassus.has_bodies:
        pointer, column, value, _ = cut_rigid(delassus.rigid.plain, len(delassus.rigid.mass), place, n)
    else:
        D = delassus.matrix()
        pointer, column, value, _ = cut_matrix(D.indptr, D.indices, D.data, place, n)
    padded = np.zeros(3 * n if 3 * n > problem.row_count else 0)
    return Threes(pointer, column, value, padded), place[cone.block_start[:-1]]


def _bodies(problem: Problem, rigid: RigidDelassus) -> Bodies:
    count = len(rigid.mass)
    pair = np.where(rigid.bodies < 0, count, rigid.bodies)
    compliance = np.zeros(problem.row_count) if rigid.compliance is None else rigid.compliance
    return Bodies(pair, rigid.rows, rigid.response, compliance, problem.u_f, np.empty(6 * count + 6))


@njit(cache=True)
def _contact_constants(diagonal_blocks, out):
    """Of `slip_constants`, (n_c, 12): the contacts' blocks come last."""
    first = len(diagonal_blocks) - 9 * len(out)
    for k in range(len(out)):
        constants = slip_constants(diagonal_blocks, first + 9 * k)
        for t in range(SLIP_CONSTANTS):
            out[k, t] = constants[t]
