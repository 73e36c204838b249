"""Settings of the interior-point method."""

from dataclasses import dataclass

from delassus.errors import nearest
from delassus.linalg.factor.symmetric import BACKENDS
from delassus.solvers.settings import Settings, require

VARIANTS = ("fast", "thesis")
LINEAR = ("auto", "body", "dual", "augmented")
STARTS = ("two-step", "nocedal", "dapuzzo")
WARM = ("none", "partial", "full")


@dataclass(frozen=True)
class Ipm(Settings):
    """Settings of the interior-point method."""

    variant: str = "fast"  # "thesis": the published predictor-corrector, nothing added
    linear: str = "auto"  # between bodies ("body"), contacts ("dual") or both ("augmented"); auto: compiled if small
    backend: str = "auto"  # sparse factorisation, a name of linalg.symmetric.BACKENDS
    threads: int = 1  # of the factorisation (PARDISO)
    presolve: bool = True  # fast: leave out contacts that sweeps predict to stay open; they are checked again later
    mixed: bool = True  # fast: factor in single precision while that is accurate enough
    correctors: int = 3  # fast: Gondzio's, at most, per iteration
    polish: bool = True  # fast: finish by semismooth Newton; without it, accuracy ends near 1e-8
    rescue: bool = True  # fast: go on as ipm-dd where it stalls and masses are far apart
    joint: float = 1e6  # penalty on bilateral rows, refined by their multipliers, in scaled units
    start: str = "two-step"  # thesis: starting point of 000 §4.14.4, "nocedal" (000 eq. 4.23) or "dapuzzo" (001 eq. 22)
    warm: str = "none"  # thesis: use a guess for the velocities ("partial") or for reactions too ("full", 000 §4.6)

    def __post_init__(self):
        for name, known in (
            ("variant", VARIANTS),
            ("linear", LINEAR),
            ("backend", BACKENDS),
            ("start", STARTS),
            ("warm", WARM),
        ):
            value = getattr(self, name)
            require(value in known, f"unknown {name} {value!r}; {nearest(str(value), list(known))}")
        require(self.threads >= 1, f"threads is {self.threads}: give at least one")
        require(self.correctors >= 0, f"correctors is {self.correctors}: give zero or more")
        require(self.joint > 0.0, f"joint is {self.joint}: give a positive penalty")
