"""Islands as problems of their own: no reaction couples them, so that each can be solved alone."""

import numpy as np
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem.islands import island_of_blocks
from delassus.problem.problem import Problem


def islands(problem: Problem) -> np.ndarray:
    """Island number of each block (joint, limit, contact), (block_count,), numbered in order of first appearance."""
    return island_of_blocks(problem.delassus, problem.cone.block_start)


def partition(problem: Problem) -> list[tuple[np.ndarray, Problem]]:
    """The islands as problems of their own: (rows of the whole, problem on those rows), by first appearance."""
    label = islands(problem)
    return [_part(problem, np.flatnonzero(label == k)) for k in range(label.max(initial=-1) + 1)]


def _part(problem: Problem, blocks: np.ndarray) -> tuple[np.ndarray, Problem]:
    """The sub-problem of some blocks that nothing outside couples to."""
    cone, start = problem.cone, problem.cone.block_start
    rows = np.concatenate([np.arange(start[k], start[k + 1]) for k in blocks])
    joints, contacts = cone.bilateral.size, cone.bilateral.size + cone.unilateral
    small = ProductCone(
        cone.bilateral[blocks[blocks < joints]],
        int(((blocks >= joints) & (blocks < contacts)).sum()),
        cone.mu[blocks[blocks >= contacts] - contacts],
    )
    delassus = problem.delassus
    v_f = problem.free_velocity[rows]
    if isinstance(delassus, MatrixDelassus):
        D = sp.csr_array(delassus.D[rows][:, rows])
        D.sort_indices()
        return rows, Problem(MatrixDelassus(D), v_f, small, problem.law, rest_speed=problem.rest_speed)
    assert problem.bias is not None
    assert problem.u_f is not None
    compliance = None if delassus.compliance is None else delassus.compliance[rows]
    bias, u_f = problem.bias[rows], problem.u_f
    if isinstance(delassus, SparseDelassus):
        # the mass matrix stays whole: cutting it would need its factorisation anew and saves nothing here
        part = SparseDelassus(delassus.H, sp.csr_array(delassus.J[rows]), compliance)
        return rows, Problem(part, v_f, small, problem.law, u_f=u_f, bias=bias, rest_speed=problem.rest_speed)
    used = np.unique(delassus.bodies[blocks])
    used = used[used >= 0]
    number = np.full(len(delassus.mass) + 1, -1, dtype=np.int64)  # the last entry serves the world, index −1
    number[used] = np.arange(len(used))
    rigid = RigidDelassus(
        delassus.mass[used], number[delassus.bodies[blocks]], delassus.rows[rows], small.block_start, compliance
    )
    u_f = u_f.reshape(-1, 6)[used].ravel()
    return rows, Problem(rigid, v_f, small, problem.law, u_f=u_f, bias=bias, rest_speed=problem.rest_speed)
