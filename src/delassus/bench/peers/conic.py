"""Conic programs for Clarabel and SCS. In body space, which suits them best,

    min ½ uᵀ H u − pᵀ u    subject to    J u + b ∈ K*

whose multipliers are the reactions; with compliance, or where only D is known, the dual: min ½ λᵀ D λ + v_fᵀ λ, λ ∈ K.
Both solve the convex relaxation: under exact Coulomb friction their points are judged like any other, and fail."""

from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter

import numpy as np
import scipy.sparse as sp

from delassus.bench.peers.answer import Answer
from delassus.problem import Problem

_OK, _GAVE_UP = "converged", "stalled"


def has_clarabel() -> bool:
    """Is Clarabel installed?"""
    return find_spec("clarabel") is not None


def has_scs() -> bool:
    """Is SCS installed?"""
    return find_spec("scs") is not None


@dataclass(frozen=True, eq=False)
class ConicForm:
    """min ½ xᵀ P x + qᵀ x, A x + s = b, s in: `free` zeros, `limits` non-negative, `cones` second-order triples.
    reactions = scale ⊙ (multipliers, or x where `is_dual`) spread over `rows`."""

    P: sp.csc_matrix
    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    free: int
    limits: int
    cones: int
    rows: np.ndarray
    scale: np.ndarray
    is_dual: bool

    def reactions(self, count: int, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        out = np.zeros(count)
        if self.is_dual:
            return x.copy()
        out[self.rows] = self.scale * z
        return out


def conic_form(problem: Problem) -> ConicForm:
    """The better of the two forms for this problem."""
    D = problem.delassus
    cone, mu = problem.cone, problem.mu
    first = cone.contact_start
    rubbing = np.flatnonzero(mu > 0.0)
    slick = np.flatnonzero(mu == 0.0)
    triples = (first + 3 * rubbing[:, None] + np.arange(3)).ravel()
    singles = np.concatenate([np.arange(cone.bilateral_rows, first), first + 3 * slick])
    if D.is_primal and D.is_hard:
        assert problem.u_f is not None
        assert problem.bias is not None
        rows = np.concatenate([np.arange(cone.bilateral_rows), singles, triples]).astype(int)
        scale = np.ones(len(rows))
        scale[len(rows) - len(triples) :] = np.column_stack([np.ones(len(rubbing)), mu[rubbing], mu[rubbing]]).ravel()
        J, H = D.jacobian(), D.mass_matrix()
        H = 0.5 * (H + H.T)
        A = -sp.diags_array(scale) @ sp.csr_array(J)[rows]
        return ConicForm(
            sp.csc_matrix(sp.triu(H)),
            -(H @ problem.u_f),
            sp.csc_matrix(A),
            scale * problem.bias[rows],
            cone.bilateral_rows,
            len(singles),
            len(rubbing),
            rows,
            scale,
            False,
        )
    m = problem.row_count
    W = D.matrix()
    W = 0.5 * (W + W.T)
    tangents = (first + 3 * slick[:, None] + np.array([1, 2])).ravel()  # of frictionless contacts: no reaction
    rows = np.concatenate([tangents, singles, triples]).astype(int)
    scale = np.ones(len(rows))
    scale[len(rows) - len(triples) :] = np.column_stack([mu[rubbing], np.ones((len(rubbing), 2))]).ravel()
    A = sp.csr_array((-scale, (np.arange(len(rows)), rows)), shape=(len(rows), m))
    return ConicForm(
        sp.csc_matrix(sp.triu(W)),
        problem.free_velocity,
        sp.csc_matrix(A),
        np.zeros(len(rows)),
        len(tangents),
        len(singles),
        len(rubbing),
        rows,
        scale,
        True,
    )


def solve_clarabel(variant: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """variant: a direct_solve_method of Clarabel ("" for its default)."""
    import clarabel

    form = conic_form(problem)
    cones = [clarabel.ZeroConeT(form.free)] if form.free else []
    cones += [clarabel.NonnegativeConeT(form.limits)] if form.limits else []
    cones += [clarabel.SecondOrderConeT(3)] * form.cones
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = time_limit
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = min(tol, 1e-8)
    settings.max_threads = 1
    if variant:
        settings.direct_solve_method = variant
    start = perf_counter()
    solution = clarabel.DefaultSolver(form.P, form.q, form.A, form.b, cones, settings).solve()
    seconds = perf_counter() - start
    reactions = _finite(form.reactions(problem.row_count, np.array(solution.x), np.array(solution.z)))
    status = _OK if "Solved" in str(solution.status) else _GAVE_UP
    return reactions, int(solution.iterations), status, seconds, str(solution.status)


def solve_scs(variant: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """variant: not used."""
    import scs

    del variant
    form = conic_form(problem)
    data = {"P": form.P, "A": form.A, "b": form.b, "c": form.q}
    cone = {"z": form.free, "l": form.limits, "q": [3] * form.cones}
    start = perf_counter()
    solver = scs.SCS(
        data,
        cone,
        eps_abs=min(tol, 1e-8),
        eps_rel=min(tol, 1e-8),
        verbose=False,
        time_limit_secs=time_limit,
        max_iters=10**7,
    )
    found = solver.solve()
    seconds = perf_counter() - start
    reactions = _finite(form.reactions(problem.row_count, found["x"], found["y"]))
    status = _OK if found["info"]["status"] == "solved" else _GAVE_UP
    return reactions, int(found["info"]["iter"]), status, seconds, found["info"]["status"]


def _finite(reactions: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(reactions), reactions, 0.0)
