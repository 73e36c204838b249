"""Settings of the interior-point method."""

from dataclasses import dataclass
from typing import Annotated

from delassus.linalg.factor.symmetric import BACKENDS
from delassus.solvers.settings import Count, CountOrNone, OneOf, Positive, Settings

Linear = Annotated[str, OneOf("auto", "body", "dual", "augmented")]
Backend = Annotated[str, OneOf(*BACKENDS)]


@dataclass(frozen=True)
class InteriorSettings(Settings):
    """What every interior point that factors sparse matrices has to know."""

    linear: Linear = "auto"  # between bodies ("body"), contacts ("dual"), both ("augmented"); auto: compiled if small
    backend: Backend = "auto"  # sparse factorisation, a name of linalg.symmetric.BACKENDS
    threads: Count = 1  # of the factorisation (PARDISO)
    correctors: CountOrNone = 3  # Gondzio's, at most, per iteration, and of the search for a proof of infeasibility
    joint: Positive = 1e6  # penalty on bilateral rows, refined by their multipliers, in scaled units


@dataclass(frozen=True)
class Ipm(InteriorSettings):
    """Settings of the interior-point method."""

    presolve: bool = True  # leave out contacts that sweeps predict to stay open; they are checked again later
    mixed: bool = True  # factor in single precision while that is accurate enough
    polish: bool = True  # finish by semismooth Newton; without it, accuracy ends near 1e-8
    rescue: bool = True  # go on as ipm-dd where it stalls and masses are far apart
