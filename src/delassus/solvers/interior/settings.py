"""Settings of the interior-point method."""

from dataclasses import dataclass
from typing import Annotated

from delassus.linalg.factor.symmetric import BACKENDS
from delassus.problem import Problem
from delassus.solvers.settings import Count, CountOrNone, NotNegative, OneOf, Positive, Settings, Share, require

Variant = Annotated[str, OneOf("fast", "thesis")]
Linear = Annotated[str, OneOf("auto", "body", "dual", "augmented", "saddle")]
Backend = Annotated[str, OneOf(*BACKENDS)]
Start = Annotated[str, OneOf("two-step", "nocedal", "dapuzzo")]
WARM = ("none", "partial", "full", "centred")
Warm = Annotated[str, OneOf(*WARM)]
Lengths = Annotated[str, OneOf("common", "separate")]


@dataclass(frozen=True)
class Ipm(Settings):
    """Settings of the interior-point method.

    warm: what the thesis's variant does with a guess of reactions. As published (Mangoni §4.6, §4.11): velocities of
    the step before, and y that follows from them ("partial"); reactions, too, used as they are ("full"). Where that is
    not inside the cones, a prediction is made from it and kept away from the boundary, as without a guess (§4.11).
    "centred" is ours: on the central path next to the guess, as near to its end as the guess is good.

    linear: "saddle", of the thesis's variant alone, keeps velocities as unknowns and joints as joints, as published.

    own_tol: ‖r_p‖ and ‖r_d‖ per row are below it and τ below ten times it, in SI units (thesis, chapter 5: 1e-10;
    Mangoni and Tasora, eq. 38: 1e-8)."""

    variant: Variant = "fast"  # "thesis": the published predictor-corrector, nothing added
    linear: Linear = "auto"  # between bodies ("body"), contacts ("dual"), both ("augmented"); auto: compiled if small
    backend: Backend = "auto"  # sparse factorisation, a name of linalg.symmetric.BACKENDS
    threads: Count = 1  # of the factorisation (PARDISO)
    presolve: bool = True  # fast: leave out contacts that sweeps predict to stay open; they are checked again later
    mixed: bool = True  # fast: factor in single precision while that is accurate enough
    correctors: CountOrNone = 3  # fast: Gondzio's, at most, per iteration
    polish: bool = True  # fast: finish by semismooth Newton; without it, accuracy ends near 1e-8
    rescue: bool = True  # fast: go on as ipm-dd where it stalls and masses are far apart
    joint: Positive = 1e6  # penalty on bilateral rows, refined by their multipliers, in scaled units
    start: Start = "two-step"  # thesis: Mangoni §4.14.4, "nocedal" (eq. 4.23), "dapuzzo" (Mangoni and Tasora, eq. 22)
    ones: Positive = 1.0  # thesis: what velocities, reactions and y of the last two starts have in place of one
    warm: Warm = "none"  # thesis: see above
    lengths: Lengths = "common"  # thesis: of steps of velocities and of reactions: Mangoni eq. 4.12, or eq. 4.11
    own_tol: NotNegative = 0.0  # thesis: rule of its own to end by, see above; zero: until the judge is content
    inside: Share = 0.99  # thesis: η of §4.12, part of the way to the boundary, is at most this; as published 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.variant == "thesis" or self.linear != "saddle", "linear='saddle' is for variant='thesis' alone")


def has_masses(problem: Problem) -> bool:
    """Are velocities known, which the published method has as unknowns?"""
    return problem.delassus.is_primal and problem.u_f is not None
