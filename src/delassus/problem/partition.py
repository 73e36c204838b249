"""Islands as problems of their own: no reaction couples them, so that each can be solved alone."""

import numpy as np

from delassus.cones import ProductCone
from delassus.problem.problem import Problem


def islands(problem: Problem) -> np.ndarray:
    """Island number of each block (joint, limit, contact), (block_count,), numbered in order of first appearance."""
    return problem.delassus.islands(problem.cone.block_start)


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
    delassus, kept = problem.delassus.part(blocks, rows, small.block_start)
    v_f, u_f, bias = problem.free_velocity[rows], None, None
    if delassus.is_primal and problem.u_f is not None and problem.bias is not None:
        u_f, bias = problem.u_f[kept], problem.bias[rows]
    return rows, Problem(delassus, v_f, small, problem.law, u_f=u_f, bias=bias, rest_speed=problem.rest_speed)
