"""Islands: groups of blocks that no reaction couples, so that each can be solved alone."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from delassus.cones import ProductCone
from delassus.linalg.matrix_delassus import MatrixDelassus
from delassus.linalg.rigid_delassus import RigidDelassus
from delassus.linalg.sparse_delassus import SparseDelassus
from delassus.problem.problem import Problem


def islands(problem: Problem) -> np.ndarray:
    """Island number of each block (joint, limit, contact), (block_count,), numbered in order of first appearance."""
    count = problem.cone.block_count
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    if isinstance(problem.delassus, RigidDelassus):
        graph = _block_body_graph(problem.delassus.bodies, len(problem.delassus.mass))
    elif isinstance(problem.delassus, SparseDelassus):
        graph = _block_velocity_graph(problem)
    else:
        block_of = _block_of_row(problem)
        D = problem.delassus.matrix().tocoo()
        linked = D.data != 0.0
        row, column = block_of[D.coords[0][linked]], block_of[D.coords[1][linked]]
        graph = sp.coo_array((np.ones(len(row)), (row, column)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    _, first, number = np.unique(label[:count], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


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
        return rows, Problem(MatrixDelassus(D), v_f, small, problem.law)
    assert problem.bias is not None
    assert problem.u_f is not None
    compliance = None if delassus.compliance is None else delassus.compliance[rows]
    bias, u_f = problem.bias[rows], problem.u_f
    if isinstance(delassus, SparseDelassus):
        # the mass matrix stays whole: cutting it would need its factorisation anew and saves nothing here
        part = SparseDelassus(delassus.H, sp.csr_array(delassus.J[rows]), compliance)
        return rows, Problem(part, v_f, small, problem.law, u_f=u_f, bias=bias)
    used = np.unique(delassus.bodies[blocks])
    used = used[used >= 0]
    number = np.full(len(delassus.mass) + 1, -1, dtype=np.int64)  # the last entry serves the world, index −1
    number[used] = np.arange(len(used))
    rigid = RigidDelassus(
        delassus.mass[used], number[delassus.bodies[blocks]], delassus.rows[rows], small.block_start, compliance
    )
    return rows, Problem(rigid, v_f, small, problem.law, u_f=u_f.reshape(-1, 6)[used].ravel(), bias=bias)


def _block_of_row(problem: Problem) -> np.ndarray:
    return np.repeat(np.arange(problem.cone.block_count), np.diff(problem.cone.block_start))


def _block_body_graph(bodies: np.ndarray, body_count: int) -> sp.coo_array:
    """Blocks, then bodies, as nodes; an edge where a block acts on a body. The world links nothing."""
    block, side = np.nonzero(bodies >= 0)
    node = len(bodies) + bodies[block, side]
    size = len(bodies) + body_count
    return sp.coo_array((np.ones(len(block)), (block, node)), shape=(size, size))


def _block_velocity_graph(problem: Problem) -> sp.coo_array:
    """Blocks, then velocities, as nodes; edges where J or H has an entry."""
    delassus = problem.delassus
    assert isinstance(delassus, SparseDelassus)
    count, J, H = problem.cone.block_count, delassus.J.tocoo(), delassus.H.tocoo()
    size = count + H.shape[0]
    row = np.concatenate([_block_of_row(problem)[J.coords[0]], count + H.coords[0]])
    column = np.concatenate([count + J.coords[1], count + H.coords[1]])
    kept = np.concatenate([J.data, H.data]) != 0.0
    return sp.coo_array((np.ones(kept.sum()), (row[kept], column[kept])), shape=(size, size))
