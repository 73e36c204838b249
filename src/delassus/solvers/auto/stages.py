"""What `auto` does on a problem: which methods it tries, who goes on where double precision ends, and which of many
reactions it returns."""

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.auto.least_norm import least_reactions
from delassus.solvers.double_double.settings import takes_pairs
from delassus.solvers.driver import Limits, Solver, clock
from delassus.solvers.interior.dense import is_small
from delassus.solvers.settings import Settings
from delassus.solvers.solution import Solution
from delassus.solvers.table import SOLVERS

_NEWTON_ROWS = 150  # rows up to which second-order steps cost no more than the sweeps they save
_DENSE_ROWS = 600  # rows up to which a dense factorisation per step costs less than the sweeps it saves
_MOST_SWEEPS = 3000  # after which `auto` turns to the next method
_MOST_NEWTON_STEPS = 300  # outer ones of `prox-ssn`, after which only `ipm` helps
_FEW_SWEEPS = 30  # the same where the next one is compiled: no dearer than its first iteration
_LEAST_NORM_ROWS = 1000  # up to which bodies that share several contacts get the least reactions, not those of sweeps
_CONTACTS_PER_PAIR = 2.0  # contacts per pair of bodies from which on they touch by faces and edges


def auto_stages(problem: Problem) -> tuple[tuple[str, int], ...]:
    """What `solver="auto"` tries on this problem, one after the other, until one of them converges, and for how many
    iterations each; the last one has no bound. Where `ipm` takes the law it comes last: it holds a proof where there is
    no solution.

    Under the convex law small problems of rigid bodies go to the interior point at once or after few sweeps: on one box
    it takes as long as sweeps do, on ten boxes or on masses that differ a hundredth."""
    if problem.law is Law.CCP:
        if is_small(problem):
            return (("ipm", 0),) if problem.row_count <= _NEWTON_ROWS else (("pgs-ccp", _FEW_SWEEPS), ("ipm", 0))
        return ("pgs-ccp", _MOST_SWEEPS), ("ipm", 0)
    stages: tuple[tuple[str, int], ...] = ()
    if not shares_loads(problem):
        sweeps = "nbgs-direct" if problem.cone.bilateral.size and problem.row_count <= _DENSE_ROWS else "nbgs"
        stages = ((sweeps, _MOST_SWEEPS),)
    if SOLVERS["prox-ssn"].takes(problem):
        stages = (*stages, ("prox-ssn", _MOST_NEWTON_STEPS))
    return (*stages, ("ipm", 0)) if problem.law is Law.FRICTIONLESS else stages


def shares_loads(problem: Problem) -> bool:
    """Are the least of many reactions worth finding? In small problems, and in larger ones where bodies touch by faces
    and edges, whose contacts can share a load in many ways. In piles of round ones it would cost more than the sweeps
    that solve them."""
    rigid, contacts = problem.delassus.rigid, problem.contact_count
    if problem.row_count <= _NEWTON_ROWS or problem.row_count > _LEAST_NORM_ROWS or rigid is None:
        return problem.row_count <= _NEWTON_ROWS
    pairs = rigid.bodies[len(rigid.bodies) - contacts :]
    return contacts >= _CONTACTS_PER_PAIR * len(np.unique(pairs[:, 0] * (len(rigid.mass) + 1) + pairs[:, 1])) > 0.0


def auto_line(problem: Problem) -> tuple[Solver, Settings]:
    """The line that `auto` begins with on this problem, and its settings."""
    line = SOLVERS[auto_stages(problem)[0][0]]
    return line, line.settings


def default_solver(problem: Problem) -> str:
    """What `solver="auto"` begins with on this problem."""
    return auto_stages(problem)[0][0]


def rescuer(problem: Problem) -> str | None:
    """What goes on where masses are so far apart (`has_odd_masses`) that reactions need two doubles, or None."""
    if not takes_pairs(problem):
        return None
    return "ipm-dd+desaxce" if problem.law is Law.NCP else "ipm-dd"


def take_least_reactions(problem: Problem, solution: Solution, limits: Limits) -> None:
    """The same motion by the least reactions, where others would do it too and the judge finds the tolerance kept. A
    guess that was taken as it is has been through this before."""
    if not (solution.converged and solution.iterations) or solution.reactions_low is not None:
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
