"""One matrix after the other on one pattern, factored in single precision while that is worth it."""

import numpy as np

from delassus.linalg.factor.symmetric import Factorisation, Pattern, factorisation


class MixedFactors:
    """backend, threads: see `linalg.factor.symmetric`."""

    active: Factorisation  # the last one that was tried

    def __init__(self, pattern: Pattern, backend: str, threads: int):
        self.pattern, self.backend, self.threads = pattern, backend, threads
        self.held: dict[bool, Factorisation] = {}
        self.is_single = False

    def factor(self, values: np.ndarray, single: bool) -> bool:
        """Factor these values; False where neither precision can. Afterwards `is_single` says which one did."""
        for is_single in [True, False] if single else [False]:
            if is_single not in self.held:
                self.held[is_single] = factorisation(
                    self.pattern, backend=self.backend, single=is_single, threads=self.threads,
                    like=self.held.get(not is_single),
                )  # fmt: skip
            if not is_single and True in self.held:
                self.held[True].release()  # it is rarely needed again
            self.active, self.is_single = self.held[is_single], is_single
            if self.active.factor(values):
                return True
        return False
