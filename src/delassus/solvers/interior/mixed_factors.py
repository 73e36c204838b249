"""One matrix after the other on one pattern, factored in single precision while that is worth it."""

import math
from collections.abc import Callable

import numpy as np

from delassus.linalg.factor.symmetric import Factorisation, Pattern, factorisation
from delassus.linalg.iterative.conjugate_gradients import conjugate_gradients

_MOST = 40  # conjugate gradient iterations with a factor of single precision


class MixedFactors:
    """backend, threads: see `linalg.factor.symmetric`."""

    active: Factorisation  # the last one that was tried

    def __init__(self, pattern: Pattern, backend: str, threads: int):
        self.pattern, self.backend, self.threads = pattern, backend, threads
        self.factors: dict[bool, Factorisation] = {}  # by "of single precision?"
        self.is_single = False

    def factor(self, values: np.ndarray, single: bool) -> bool:
        """Factor these values; False where neither precision can. Afterwards `is_single` says which one did."""
        for is_single in [True, False] if single else [False]:
            if is_single not in self.factors:
                like = self.factors.get(not is_single)
                self.factors[is_single] = factorisation(
                    self.pattern, backend=self.backend, single=is_single, threads=self.threads, like=like
                )
            if not is_single and True in self.factors:
                self.factors[True].release()  # it is rarely needed again
            self.active, self.is_single = self.factors[is_single], is_single
            if self.active.factor(values):
                return True
        return False


class MixedSystem:
    """A linear system solved with such factors, which are refined by conjugate gradients on the matrix itself.

    backend, threads: see `linalg.factor.symmetric`."""

    rounding: float  # relative residual of a solve beyond which there is nothing to gain
    most_double: int  # conjugate gradient iterations with a factor of double precision
    poor: int  # iterations per solve that cost more than the factor in double precision would: use that from now on

    def __init__(self, backend: str, threads: int):
        self.backend, self.threads = backend, threads
        self.gives_up_single = False
        self.krylov = 0  # iterations of the last solve

    def use_pattern(self, pattern: Pattern) -> None:
        """Matrices have this pattern from now on."""
        self.pattern = pattern
        self.factors = MixedFactors(pattern, self.backend, self.threads)

    @property
    def is_single(self) -> bool:
        """Is the present factor of single precision?"""
        return self.factors.is_single

    def factor_values(self, values: np.ndarray, single: bool) -> bool:
        """Factor these values; in single precision, if that is allowed and did not prove poor."""
        works = self.factors.factor(values, single and not self.gives_up_single)
        if single and not self.is_single:
            self.gives_up_single = True
        return works

    def solve_to(
        self,
        goal: float,
        apply: Callable[..., None],
        precondition: Callable[..., None],
        right: np.ndarray,
        out: np.ndarray,
    ) -> bool:
        """out = A⁻¹ right to a residual of `goal`; False where that broke down.  apply: A; precondition: its factor."""
        most = _MOST if self.is_single else self.most_double
        self.krylov, residual = conjugate_gradients(apply, precondition, right, out, self.rounding, goal, most)
        if self.is_single and self.krylov > self.poor:
            self.gives_up_single = True
        return math.isfinite(residual)
