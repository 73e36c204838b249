"""Figure 8 of Kleinert et al. 2014: the range of eigenvalues of the Newton matrix over the iterations, plain and
preconditioned.

Extremes by Lanczos' method (ARPACK). The smallest ones are the inverse of the largest of the inverse, which a direct
factorisation applies. An incomplete factor M = (P + Uᵀ) P⁻¹ (P + U) gives the pairs (A, M) and (M, A); where ILU(0) is
indefinite, some eigenvalues of M⁻¹ A are negative, and the range is that of their sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigs, eigsh

from delassus.linalg.iterative.incomplete import IncompleteFactor
from delassus.problem import Problem
from delassus.solvers.interior.inexact.contact_space import ContactSpace
from delassus.solvers.interior.inexact.method import IpmInexactMethod
from delassus.solvers.interior.inexact.regularisation import softness
from delassus.solvers.interior.inexact.settings import IpmInexact

NAMES = {
    "plain": "D + W²",
    "regularised": "D + W² + R",
    "softer": "D + W² + R of sand",
    "ic0": "with R and IC(0)",
    "ilu0": "with R and ILU(0)",
}
"""Matrices whose ranges are taken."""
_ROUGH = 0.02  # relative accuracy of an eigenvalue: the axes are logarithmic


@dataclass(frozen=True)
class Range:
    """Smallest and largest size of an eigenvalue at one iteration.  name: one of NAMES; tau: τ there, in scaled
    units."""

    iteration: int
    tau: float
    name: str
    low: float
    high: float
    is_indefinite: bool = False

    @property
    def condition(self) -> float:
        return self.high / self.low


def spectrum(problem: Problem, settings: IpmInexact, softer: IpmInexact, iterations: int, every: int) -> list[Range]:
    """Ranges along the iterations of the method with exact directions.  softer: the same with another R, which is
    looked at but not used."""
    method = IpmInexactMethod(problem, replace(settings, space="body", linear="direct"), np.zeros(problem.row_count))
    standard = method.standard
    soft = softness(standard, settings)
    exactly = replace(settings, linear="direct")
    direct = {
        "plain": ContactSpace(standard, exactly, np.full_like(soft, 1e-15)),
        "regularised": ContactSpace(standard, exactly, soft),
        "softer": ContactSpace(standard, exactly, softness(standard, softer)),
    }
    incomplete = {
        name: ContactSpace(standard, replace(settings, linear="bicgstab", preconditioner=name), soft)
        for name in ("ic0", "ilu0")
    }
    rows = []
    for k in range(iterations):
        if k % every == 0:
            free = standard.free
            method.scaling.form(method.x[free:], method.y[free:], method.tau)
            for name, space in direct.items():
                space.factor(method.scaling)
                rows.append(Range(k, method.tau, name, *_plain_range(space)))
            exact = direct["regularised"]
            for name, space in incomplete.items():
                works = space.factor(method.scaling)
                found = _pair_range(exact, space) if works else (np.nan, np.nan, True)
                rows.append(Range(k, method.tau, name, *found))
        method.advance(1)
        if method.finished:
            break
    return rows


def _operator(apply: Callable[[np.ndarray, np.ndarray], None], n: int) -> LinearOperator:
    def product(x: np.ndarray) -> np.ndarray:
        out = np.empty(n)
        apply(np.ascontiguousarray(x, dtype=float).reshape(-1), out)
        return out

    return LinearOperator((n, n), matvec=product, dtype=float)


def _largest(A: LinearOperator, start: np.ndarray, **pair: Any) -> float:
    return float(eigsh(A, k=1, which="LA", tol=_ROUGH, v0=start, return_eigenvectors=False, **pair)[0])


def _plain_range(space: ContactSpace) -> tuple[float, float]:
    n = space.standard.row_count
    start = np.random.default_rng(0).normal(size=n)
    A, inverse = _operator(space.apply, n), _operator(space.precondition, n)
    return 1.0 / _largest(inverse, start), _largest(A, start)


def _pair_range(exact: ContactSpace, space: ContactSpace) -> tuple[float, float, bool]:
    """(smallest, largest, indefinite) of |eigenvalues of M⁻¹ A|."""
    assert isinstance(space.preconditioner, IncompleteFactor)
    n = space.standard.row_count
    start = np.random.default_rng(0).normal(size=n)
    A, A_inverse = _operator(exact.apply, n), _operator(exact.precondition, n)
    M, M_inverse = _operator(_product_of(space.preconditioner), n), _operator(space.precondition, n)
    of_M = {"M": A, "Minv": A_inverse, "tol": _ROUGH, "v0": start, "return_eigenvectors": False}
    inverse_high = float(eigsh(M, k=1, which="LA", **of_M)[0])
    if space.preconditioner.definite:
        return 1.0 / inverse_high, _largest(A, start, M=M, Minv=M_inverse), False
    inverse_low = float(eigsh(M, k=1, which="SA", **of_M)[0])
    ratio = LinearOperator((n, n), matvec=lambda x: M_inverse.matvec(A.matvec(x)), dtype=float)
    largest = abs(eigs(ratio, k=1, which="LM", tol=_ROUGH, v0=start, return_eigenvectors=False)[0])
    return 1.0 / max(abs(inverse_high), abs(inverse_low)), float(largest), inverse_low < 0.0


def _product_of(factor: IncompleteFactor) -> Callable[[np.ndarray, np.ndarray], None]:
    """x ↦ M x of an incomplete factor."""
    pattern, s = factor.pattern, factor.pattern.block
    n = len(factor.order)
    strict = factor.upper.copy()
    strict[pattern.indptr[:-1]] = 0.0
    U = sp.csr_array(sp.bsr_array((strict, pattern.indices, pattern.indptr), shape=(s * n, s * n)))
    P = sp.csr_array(sp.bsr_array((np.linalg.inv(factor.pivots), np.arange(n), np.arange(n + 1)), shape=(s * n, s * n)))
    P_inverse = sp.csr_array(sp.bsr_array((factor.pivots, np.arange(n), np.arange(n + 1)), shape=(s * n, s * n)))
    U_transposed = sp.csr_array(U.T)
    place = (s * factor.order[:, None] + np.arange(s)).ravel()

    def apply(x: np.ndarray, out: np.ndarray) -> None:
        t = P @ x[place] + U @ x[place]
        t = P_inverse @ t
        out[place] = P @ t + U_transposed @ t

    return apply
