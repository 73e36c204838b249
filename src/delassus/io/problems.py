"""Problems from FCLIB files, and solutions back into copies of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.errors import FileError, ProblemError
from delassus.io.fclib import FclibFile, FclibPoint, read_fclib, write_fclib
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.solution import Solution


def load_problem(path, *, law=Law.NCP) -> Problem:
    """The problem in an FCLIB file, local or global form, judged by the given law."""
    return to_problem(read_fclib(path), law=law, name=str(path))


def to_problem(file: FclibFile, *, law=Law.NCP, name: str = "file") -> Problem:
    """The problem behind the raw arrays. Bilateral rows come first, each a block of its own: the format does not say
    which of them belong to one joint."""
    try:
        return _local(file, law) if file.form == "local" else _global(file, law)
    except ProblemError as error:
        raise FileError(f"{name}: fclib_{file.form}: {error}") from None


def _local(file: FclibFile, law) -> Problem:
    assert file.W is not None
    assert file.q is not None
    W = file.W.to_csr()
    if file.V is None or file.R is None or file.s is None:
        return Problem.dual(W, file.q, mu=file.mu, law=law)
    V = file.V.to_csr()
    D = sp.block_array([[file.R.to_csr(), V.T], [V, W]], format="csr")
    return Problem.dual(D, np.concatenate([file.s, file.q]), cone=ProductCone(len(file.s), 0, file.mu), law=law)


def _global(file: FclibFile, law) -> Problem:
    assert file.M is not None
    assert file.H is not None
    M, J = file.M.to_csr(), sp.csr_array(file.H.to_csr().T)
    if file.G is None or file.b is None:
        return Problem.primal(M, J, p=file.f, b=file.w, mu=file.mu, law=law)
    J = sp.csr_array(sp.vstack([file.G.to_csr().T, J]))
    cone = ProductCone(len(file.b), 0, file.mu)
    return Problem.primal(M, J, p=file.f, b=np.concatenate([file.b, file.w]), cone=cone, law=law)


def save_solution(path, file: FclibFile, solution: Solution, *, overwrite: bool = False) -> Path:
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
