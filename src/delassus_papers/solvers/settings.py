"""Settings of the interior point of Mangoni's thesis and of Mangoni and Tasora."""

from dataclasses import dataclass
from typing import Annotated

from delassus.problem import Problem
from delassus.solvers.interior.settings import InteriorSettings
from delassus.solvers.settings import NotNegative, OneOf, Positive, Share

Linear = Annotated[str, OneOf("auto", "body", "dual", "augmented", "saddle")]
Start = Annotated[str, OneOf("two-step", "nocedal", "dapuzzo")]
WARM = ("none", "partial", "full", "centred")
Warm = Annotated[str, OneOf(*WARM)]
Lengths = Annotated[str, OneOf("common", "separate")]


@dataclass(frozen=True)
class ThesisIpm(InteriorSettings):
    """Settings of the published predictor-corrector, to which nothing is added.

    linear: "saddle" keeps velocities as unknowns and joints as joints, as published.

    warm: what becomes of a guess of reactions. As published (Mangoni §4.6, §4.11): velocities of the step before, and y
    that follows from them ("partial"); reactions, too, used as they are ("full"). Where that is not inside the cones, a
    prediction is made from it and kept away from the boundary, as without a guess (§4.11). "centred" is ours: on the
    central path next to the guess, as near to its end as the guess is good.

    own_tol: ‖r_p‖ and ‖r_d‖ per row are below it and τ below ten times it, in SI units (thesis, chapter 5: 1e-10;
    Mangoni and Tasora, eq. 38: 1e-8)."""

    linear: Linear = "auto"  # unknowns: bodies ("body"), contacts ("dual"), both ("augmented"), see above ("saddle")
    start: Start = "two-step"  # Mangoni §4.14.4, "nocedal" (eq. 4.23), "dapuzzo" (Mangoni and Tasora, eq. 22)
    ones: Positive = 1.0  # what velocities, reactions and y of the last two starts have in place of one
    warm: Warm = "none"  # see above
    lengths: Lengths = "common"  # of steps of velocities and of reactions: Mangoni eq. 4.12, or eq. 4.11
    own_tol: NotNegative = 0.0  # rule of its own to end by, see above; zero: until the judge is content
    inside: Share = 0.99  # η of §4.12, part of the way to the boundary, is at most this; as published 1


def has_masses(problem: Problem) -> bool:
    """Are velocities known, which the published matrix has as unknowns?"""
    return problem.delassus.is_primal and problem.u_f is not None
