"""A problem in the order of its colours, for sweeps whose bits do not depend on the number of threads.

Blocks are sorted by kind (joints, limits, contacts), then by colour: blocks of one colour do not couple, so that it
does not matter who updates which of them. Everything a sweep reads is copied into that order once. It then lies in
memory as it is needed; in the order of the problem every block of a colour would wait for memory. Colours are cut into
pieces of equal size, which members of a team share out. Sums are kept by piece and added in the order of the pieces.
"""

from typing import NamedTuple

import numpy as np

from delassus.problem import Problem
from delassus.solvers.parts.colouring import colours
from delassus.solvers.parts.joint_inverses import joint_inverses
from delassus.solvers.parts.one_contact.uncoupled import uncoupled
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.operator import Operator

_PIECE = 256  # blocks: some 30 µs of work, and a thousandth of a large heap


class Blocks(NamedTuple):
    """The blocks of a sweep in the order of their colours."""

    joints: int
    limits: int
    start: np.ndarray  # (block_count + 1,) first row of each block
    diagonal: np.ndarray  # D_kk one after the other, row by row [1/kg]
    diagonal_start: np.ndarray  # (block_count,) where each D_kk starts
    own: np.ndarray  # (n_c, 2) D_nn and the mean of D_tt, the latter negative where they couple [1/kg]
    joint_inverse: np.ndarray  # D_kk⁺ of the joints, same layout [kg]
    piece: np.ndarray  # (pieces + 1,) first block of each piece; a piece has blocks of one kind
    group: np.ndarray  # (groups + 1,) first piece of each colour of each kind
    serial: np.ndarray  # (groups,) has the group no colour, so that its blocks must be updated one after the other?


class Coloured:
    """One problem in the order of its colours.

    rows: (m,) the problem's row at each place of that order; data: the fields of `passes.Data` and blocks: those of
    `Blocks`, plain tuples, in that order; piece_count: how many sums there are."""

    def __init__(self, problem: Problem, threads: int):
        operator = Operator(problem, threads)
        cone = problem.cone
        joints, limits = cone.bilateral.size, cone.unilateral
        colour, kind = colours(problem), np.repeat([0, 1, 2], [joints, limits, problem.contact_count])
        order = np.lexsort((colour, kind))
        self.rows = _gathered(cone.block_start, order)
        self.offset = problem.free_velocity[self.rows]
        contacts = order[joints + limits :] - joints - limits
        data = _reordered(operator, self.rows, contacts)._replace(mu=problem.mu[contacts], offset=self.offset)
        self.image_size = operator.image_size if data.rigid else 0
        self.data, self.run = tuple(data), operator.run
        ends = np.flatnonzero((np.diff(kind[order]) != 0) | (np.diff(colour[order]) != 0)) + 1
        piece, group = _pieces(np.concatenate([[0], ends, [len(order)]]) if len(order) else np.zeros(1, np.int64))
        self.piece_count = len(piece) - 1
        sizes = np.diff(cone.block_start)
        start = np.concatenate([[0], np.cumsum(sizes * sizes)])
        diagonal = problem.diagonal_blocks[_gathered(start, order)]
        squares = sizes[order] ** 2
        self.blocks = tuple(
            Blocks(
                joints,
                limits,
                np.concatenate([[0], np.cumsum(sizes[order])]),
                diagonal,
                np.cumsum(squares) - squares,
                _own(diagonal[len(diagonal) - 9 * len(contacts) :].reshape(-1, 9)),
                joint_inverses(problem)[_gathered(start, order[:joints])],
                piece,
                group,
                colour[order][piece[group[:-1]]] < 0,
            )
        )


def _reordered(operator: Operator, rows: np.ndarray, contacts: np.ndarray) -> passes.Data:
    """What passes read of an operator, rows and contacts in that order."""
    data = passes.Data._make(operator.data)
    units = np.concatenate([rows[: data.singles], data.singles + contacts])
    data = data._replace(scale=data.scale[units])
    if len(data.compliance):
        data = data._replace(compliance=data.compliance[rows])
    if data.rigid:
        # the world's half of a row is zero: it may act on the other body, and threads need not write to one place
        world, pair = operator.image_size // 6 - 1, data.pair[units]
        return data._replace(pair=np.where(pair == world, pair[:, ::-1], pair), rows=data.rows[rows])
    D = operator.problem.delassus.matrix()[rows][:, rows]
    return data._replace(pointer=D.indptr.astype(np.int64), column=D.indices.astype(np.int64), value=D.data)


def _own(blocks: np.ndarray) -> np.ndarray:
    """`Blocks.own` of the contacts' diagonal blocks, (n_c, 9)."""
    tangent = 0.5 * (blocks[:, 4] + blocks[:, 8])
    return np.stack([blocks[:, 0], np.where(uncoupled(blocks), tangent, -tangent)], axis=1)


def _gathered(start: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Indices start[k] … start[k + 1] − 1 for each k of `order`, one after the other."""
    sizes = np.diff(start)[order]
    ends = np.cumsum(sizes)
    return np.repeat(start[order] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)


def _pieces(start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first block of each piece, first piece of each group), each with its end last.  start: first block of each
    group and, last, the number of blocks."""
    counts = -(-np.diff(start) // _PIECE)
    group = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(group[-1]) - np.repeat(group[:-1], counts)
    return np.concatenate([np.repeat(start[:-1], counts) + _PIECE * within, start[-1:]]), group
