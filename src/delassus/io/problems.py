"""Problems from FCLIB files and into them; solutions into copies of the files they solve.

A problem of contacts and joints without compliance is written in the global form (M, H, G, f, w, b), which keeps the
bodies. FCLIB knows neither compliance nor limits. A problem of rigid bodies that has them is written in the local form,
with E folded into W and each limit as a contact without friction whose tangential rows are zero. One of flexible
bodies, whose W would be full, keeps its sparse matrices: a row that gives by E is a hard one with a velocity of its
own, of mass 1/E, beside those of the bodies.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.errors import FileError, ProblemError
from delassus.io.fclib import FclibFile, FclibInfo, FclibMatrix, FclibPoint, read_fclib, write_fclib
from delassus.law import Law
from delassus.problem import Problem


class Solved(Protocol):
    """What of a `Solution` is written: reactions and velocities of the m rows, velocities of the bodies."""

    @property
    def reactions(self) -> np.ndarray: ...
    @property
    def reactions_low(self) -> np.ndarray | None: ...
    @property
    def velocities(self) -> np.ndarray: ...
    @property
    def body_velocities(self) -> np.ndarray | None: ...


def load_problem(path: str | Path, *, law: Law | str = Law.NCP) -> Problem:
    """The problem in an FCLIB file, local or global form, judged by the given law."""
    return to_problem(read_fclib(path), law=law, name=str(path))


def to_problem(file: FclibFile, *, law: Law | str = Law.NCP, name: str = "file") -> Problem:
    """The problem behind the raw arrays. Bilateral rows come first, each a block of its own: the format does not say
    which of them belong to one joint."""
    try:
        return _from_local(file, law) if file.form == "local" else _from_global(file, law)
    except ProblemError as error:
        raise FileError(f"{name}: fclib_{file.form}: {error}") from None


def _from_local(file: FclibFile, law: Law | str) -> Problem:
    assert file.W is not None
    assert file.q is not None
    W = file.W.to_csr()
    if file.V is None or file.R is None or file.s is None:
        return Problem.dual(W, file.q, mu=file.mu, law=law)
    V = file.V.to_csr()
    D = sp.block_array([[file.R.to_csr(), V.T], [V, W]], format="csr")
    return Problem.dual(D, np.concatenate([file.s, file.q]), cone=ProductCone(len(file.s), 0, file.mu), law=law)


def _from_global(file: FclibFile, law: Law | str) -> Problem:
    assert file.M is not None
    assert file.H is not None
    M, J = file.M.to_csr(), sp.csr_array(file.H.to_csr().T)
    if file.G is None or file.b is None:
        return Problem.primal(M, J, p=file.f, b=file.w, mu=file.mu, law=law)
    J = sp.csr_array(sp.vstack([file.G.to_csr().T, J]))
    cone = ProductCone(len(file.b), 0, file.mu)
    return Problem.primal(M, J, p=file.f, b=np.concatenate([file.b, file.w]), cone=cone, law=law)


def save_solution(path: str | Path, file: FclibFile, solution: Solved, *, overwrite: bool = False) -> Path:
    """Write a copy of the file with its solution group filled (r, u at the contacts, v of the bodies, l of the joints).

    path: where to; an existing file is refused unless overwrite is set. The source is never touched."""
    first, low = len(solution.reactions) - 3 * file.contact_count, solution.reactions_low
    point = FclibPoint(
        v=solution.body_velocities if file.form == "global" else None,
        u=solution.velocities[first:],
        r=solution.reactions[first:],
        l=solution.reactions[:first] if first else None,
        r_low=None if low is None else low[first:],
        l_low=low[:first] if low is not None and first else None,
    )
    path = Path(path)
    write_fclib(path, replace(file, solution=point), overwrite=overwrite)
    return path


def stored_reactions(point: FclibPoint) -> np.ndarray | None:
    """Reactions of a guess or solution as `solve` takes them, (m,) or with second doubles (2, m); None without r."""
    if point.r is None:
        return None
    high = point.r if point.l is None else np.concatenate([point.l, point.r])
    if point.r_low is None:
        return high
    none = np.zeros(len(high) - len(point.r))
    return np.stack([high, np.concatenate([none if point.l_low is None else point.l_low, point.r_low])])


def save_problem(path: str | Path, problem: Problem, solution: Solved | None = None, *, title: str = "") -> Path:
    """Write the problem, and the point it ended at, to a new file that `delassus solve` opens."""
    write_fclib(path, problem_file(problem, solution, title=title))
    return Path(path)


def problem_file(problem: Problem, solution: Solved | None = None, *, title: str = "") -> FclibFile:
    """The problem as raw FCLIB arrays; solution: stored in the file's solution group."""
    delassus = problem.delassus
    hard = delassus.is_hard and not problem.cone.unilateral
    fits = delassus.is_primal and problem.u_f is not None and (hard or not delassus.has_bodies)
    file = _to_global(problem) if fits else _to_local(problem)
    info = FclibInfo(title=title or None, description=f"one step, law {problem.law.value}; impulses in N s, m/s")
    return replace(file, info=info, solution=_point(problem, solution, file) if solution is not None else None)


def _to_global(problem: Problem) -> FclibFile:
    assert problem.u_f is not None
    H, first, u_f = problem.delassus.mass_matrix(), problem.cone.bilateral_rows, problem.u_f
    J = sp.csc_array(problem.delassus.jacobian().T)
    giving, compliance = _giving(problem)
    if len(giving):
        own = sp.csc_array((np.ones(len(giving)), (np.arange(len(giving)), giving)), shape=(len(giving), J.shape[1]))
        H = sp.csr_array(sp.block_diag([H, sp.diags_array(1.0 / compliance)]))
        J, u_f = sp.csc_array(sp.vstack([J, own])), np.concatenate([u_f, np.zeros(len(giving))])
    contacts, bias, mu = J[:, first:], problem.bias[first:], problem.mu
    if problem.cone.unilateral:
        spread = _spread(problem)
        contacts, bias = sp.csc_array(contacts @ spread.T), spread @ bias
        mu = np.concatenate([np.zeros(problem.cone.unilateral), mu])
    bilateral: dict[str, Any] = {"G": FclibMatrix.from_sparse(J[:, :first]), "b": problem.bias[:first]} if first else {}
    return FclibFile(
        "global",
        mu=mu,
        M=FclibMatrix.from_sparse(H),
        H=FclibMatrix.from_sparse(contacts),
        f=H @ u_f,
        w=bias,
        **bilateral,
    )


def _giving(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Rows that give, and by how much [1/kg]."""
    compliance = problem.delassus.compliance
    if compliance is None:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.flatnonzero(compliance), compliance[compliance != 0.0]


def _to_local(problem: Problem) -> FclibFile:
    D, first = sp.csr_array(problem.delassus.matrix()), problem.cone.bilateral_rows
    spread = _spread(problem)
    W, q = spread @ D[first:, first:] @ spread.T, spread @ problem.free_velocity[first:]
    mu = np.concatenate([np.zeros(problem.cone.unilateral), problem.mu])
    if not first:
        return FclibFile("local", mu=mu, W=FclibMatrix.from_sparse(W), q=q)
    return FclibFile(
        "local",
        mu=mu,
        W=FclibMatrix.from_sparse(W),
        q=q,
        V=FclibMatrix.from_sparse(spread @ D[first:, :first]),
        R=FclibMatrix.from_sparse(D[:first, :first]),
        s=problem.free_velocity[:first],
    )


def _spread(problem: Problem) -> sp.csr_array:
    """The matrix that gives every limit two rows of zeros: (3 n_u + 3 n_c, n_u + 3 n_c)."""
    limits, contacts = problem.cone.unilateral, 3 * problem.cone.contact_count
    rows = np.concatenate([3 * np.arange(limits), 3 * limits + np.arange(contacts)])
    count = limits + contacts
    return sp.csr_array((np.ones(count), (rows, np.arange(count))), shape=(3 * limits + contacts, count))


def _point(problem: Problem, solution: Solved, file: FclibFile) -> FclibPoint:
    first, spread, low = problem.cone.bilateral_rows, _spread(problem), solution.reactions_low
    v = solution.body_velocities if file.form == "global" else None
    if v is not None:
        giving, compliance = _giving(problem)
        v = np.concatenate([v, compliance * solution.reactions[giving]])
    return FclibPoint(
        v=v,
        u=spread @ solution.velocities[first:],
        r=spread @ solution.reactions[first:],
        l=solution.reactions[:first] if first else None,
        r_low=None if low is None else spread @ low[first:],
        l_low=low[:first] if low is not None and first else None,
    )
