"""The problem of one step as an FCLIB file, so that a bad step can be taken apart on a desk.

Contacts and joints without compliance go into the global form (M, H, G, f, w, b), which keeps the bodies. FCLIB knows
neither compliance nor limits: then the local form is written, with E folded into W and each limit as a contact without
friction whose tangential rows are zero."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from delassus.io.fclib import FclibFile, FclibInfo, FclibMatrix, FclibPoint, write_fclib
from delassus.problem import Problem
from delassus.solvers import Solution


def save_problem(path, problem: Problem, solution: Solution | None = None, *, title: str = "") -> Path:
    """Write the problem, and the point it ended at, to a new file that `delassus solve` opens."""
    write_fclib(path, problem_file(problem, solution, title=title))
    return Path(path)


def problem_file(problem: Problem, solution: Solution | None = None, *, title: str = "") -> FclibFile:
    """The problem as raw FCLIB arrays; solution: stored in the file's solution group."""
    hard = problem.delassus.is_primal and problem.delassus.is_hard
    file = _global(problem) if hard and problem.u_f is not None and not problem.cone.unilateral else _local(problem)
    info = FclibInfo(title=title or None, description=f"one step, law {problem.law.value}; impulses in N s, m/s")
    return replace(file, info=info, solution=_point(problem, solution, file) if solution is not None else None)


def _global(problem: Problem) -> FclibFile:
    assert problem.u_f is not None
    H, first = problem.delassus.mass_matrix(), problem.cone.contact_start
    J = sp.csc_array(problem.delassus.jacobian().T)
    bilateral = {"G": FclibMatrix.from_sparse(J[:, :first]), "b": problem.bias[:first]} if first else {}
    return FclibFile(
        "global", mu=problem.mu, M=FclibMatrix.from_sparse(H),
        H=FclibMatrix.from_sparse(J[:, first:]), f=H @ problem.u_f, w=problem.bias[first:],
        **bilateral,
    )  # fmt: skip


def _local(problem: Problem) -> FclibFile:
    D, first = sp.csr_array(problem.delassus.matrix()), problem.cone.bilateral_rows
    spread = _spread(problem)
    W, q = spread @ D[first:, first:] @ spread.T, spread @ problem.free_velocity[first:]
    mu = np.concatenate([np.zeros(problem.cone.unilateral), problem.mu])
    if not first:
        return FclibFile("local", mu=mu, W=FclibMatrix.from_sparse(W), q=q)
    return FclibFile(
        "local", mu=mu, W=FclibMatrix.from_sparse(W), q=q, V=FclibMatrix.from_sparse(spread @ D[first:, :first]),
        R=FclibMatrix.from_sparse(D[:first, :first]), s=problem.free_velocity[:first],
    )  # fmt: skip


def _spread(problem: Problem) -> sp.csr_array:
    """The matrix that gives every limit two rows of zeros: (3 n_u + 3 n_c, n_u + 3 n_c)."""
    limits, contacts = problem.cone.unilateral, 3 * problem.cone.contact_count
    rows = np.concatenate([3 * np.arange(limits), 3 * limits + np.arange(contacts)])
    count = limits + contacts
    return sp.csr_array((np.ones(count), (rows, np.arange(count))), shape=(3 * limits + contacts, count))


def _point(problem: Problem, solution: Solution, file: FclibFile) -> FclibPoint:
    first, spread, low = problem.cone.bilateral_rows, _spread(problem), solution.reactions_low
    return FclibPoint(
        v=solution.body_velocities if file.form == "global" else None,
        u=spread @ solution.velocities[first:],
        r=spread @ solution.reactions[first:],
        l=solution.reactions[:first] if first else None,
        r_low=None if low is None else spread @ low[first:],
        l_low=low[:first] if low is not None and first else None,
    )
