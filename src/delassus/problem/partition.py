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
    return [part_of(problem, np.flatnonzero(label == k)) for k in range(label.max(initial=-1) + 1)]


def part_of(problem: Problem, blocks: np.ndarray) -> tuple[np.ndarray, Problem]:
    """The sub-problem of some blocks that nothing outside couples to."""
    cone, start = problem.cone, problem.cone.block_start
    sizes = start[blocks + 1] - start[blocks]
    rows = np.repeat(start[blocks] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    joints, contacts = cone.bilateral.size, cone.bilateral.size + cone.unilateral
    small = ProductCone(
        cone.bilateral[blocks[blocks < joints]],
        int(((blocks >= joints) & (blocks < contacts)).sum()),
        cone.mu[blocks[blocks >= contacts] - contacts],
    )
    delassus, kept = problem.delassus.part(blocks, rows, small.block_start)
    v_f, u_f, bias, before = problem.free_velocity[rows], None, None, None
    if delassus.is_primal and problem.u_f is not None and problem.bias is not None:
        u_f, bias = problem.u_f[kept], problem.bias[rows]
        before = None if problem.before is None else problem.before[kept]
    part = Problem(delassus, v_f, small, problem.law, u_f=u_f, bias=bias, rest_speed=problem.rest_speed, before=before)
    return rows, part
