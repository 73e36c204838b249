"""Settings of the interior-point method."""

from dataclasses import dataclass
from typing import Annotated

from delassus.linalg.factor.symmetric import BACKENDS
from delassus.solvers.settings import Count, CountOrNone, OneOf, Positive, Settings

Variant = Annotated[str, OneOf("fast", "thesis")]
Linear = Annotated[str, OneOf("auto", "body", "dual", "augmented")]
Backend = Annotated[str, OneOf(*BACKENDS)]
Start = Annotated[str, OneOf("two-step", "nocedal", "dapuzzo")]
WARM = ("none", "partial", "full")
Warm = Annotated[str, OneOf(*WARM)]


@dataclass(frozen=True)
class Ipm(Settings):
    """Settings of the interior-point method."""

    variant: Variant = "fast"  # "thesis": the published predictor-corrector, nothing added
    linear: Linear = "auto"  # between bodies ("body"), contacts ("dual") or both ("augmented"); auto: compiled if small
    backend: Backend = "auto"  # sparse factorisation, a name of linalg.symmetric.BACKENDS
    threads: Count = 1  # of the factorisation (PARDISO)
    presolve: bool = True  # fast: leave out contacts that sweeps predict to stay open; they are checked again later
    mixed: bool = True  # fast: factor in single precision while that is accurate enough
    correctors: CountOrNone = 3  # fast: Gondzio's, at most, per iteration
    polish: bool = True  # fast: finish by semismooth Newton; without it, accuracy ends near 1e-8
    rescue: bool = True  # fast: go on as ipm-dd where it stalls and masses are far apart
    joint: Positive = 1e6  # penalty on bilateral rows, refined by their multipliers, in scaled units
    start: Start = "two-step"  # thesis: Mangoni §4.14.4, "nocedal" (eq. 4.23), "dapuzzo" (Mangoni and Tasora, eq. 22)
    warm: Warm = "none"  # thesis: use a guess for velocities ("partial") or for reactions too ("full"; Mangoni §4.6)
