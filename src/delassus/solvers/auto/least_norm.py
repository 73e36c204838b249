"""Which of many reactions that give the same motion `auto` returns: the least (`newton/least_norm`)."""

import numpy as np

from delassus import residuals
from delassus.problem import Problem
from delassus.solvers.driver import Limits, clock
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.solution import Solution

_MOST_ROWS = 1000  # up to which bodies that share several contacts get the least reactions, not those of sweeps

ALWAYS_LEAST = 150
"""Rows up to which the least reactions cost next to nothing."""
_CONTACTS_PER_PAIR = 2.0  # contacts per pair of bodies from which on they touch by faces and edges


def shares_loads(problem: Problem) -> bool:
    """Are the least of many reactions worth finding? Among rigid bodies: in small problems, and in larger ones where
    bodies touch by faces and edges, whose contacts can share a load in many ways. In piles of round ones it would cost
    more than the sweeps that solve them."""
    rigid, contacts = problem.delassus.rigid, problem.contact_count
    if problem.row_count <= ALWAYS_LEAST or problem.row_count > _MOST_ROWS or rigid is None:
        return rigid is not None and problem.row_count <= ALWAYS_LEAST
    pairs = rigid.bodies[len(rigid.bodies) - contacts :]
    return contacts >= _CONTACTS_PER_PAIR * len(np.unique(pairs[:, 0] * (len(rigid.mass) + 1) + pairs[:, 1])) > 0.0


def least_reactions(problem: Problem, reactions: np.ndarray, velocities: np.ndarray, error: float) -> np.ndarray | None:
    """λ' (m,) [N s], the least with the motion of λ; None where λ is the only one, or none was found.  reactions,
    velocities: a solution, (m,) each; error: of its velocities, relative to those of their island."""
    rigid = problem.delassus.rigid
    if rigid is None or problem.row_count > _MOST_ROWS:
        return None
    out = np.empty_like(reactions)
    return out if least_of(rigid.plain, problem.judged_by, reactions, velocities, error, out) else None


def take_least_reactions(problem: Problem, solution: Solution, limits: Limits) -> None:
    """The same motion by the least reactions, where others would do it too and the judge finds the tolerance kept. A
    guess that was taken as it is has been through this before, and so have attempts that end with it."""
    if solution.is_least or not (solution.converged and solution.iterations) or solution.reactions_low is not None:
        return
    if not shares_loads(problem):
        return
    start, error = clock(), solution.residuals.worst_velocity_relative
    reactions = least_reactions(problem, solution.reactions, solution.velocities, error)
    if reactions is not None:
        judged, velocities, body_velocities = residuals.evaluate_with_velocities(problem, reactions)
        if limits.reached(judged.measure):
            solution.reactions, solution.velocities, solution.residuals = reactions, velocities, judged
            solution.body_velocities = body_velocities
    spent = clock() - start
    solution.times["iterate"] += spent
    solution.times["total"] += spent
