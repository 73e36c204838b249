"""A sample: the problem of one step of some run, with its place in the run, its category and what it leads to."""

from dataclasses import dataclass

import numpy as np

from delassus.cones import ProductCone
from delassus.dynamics.rows import are_joints
from delassus.problem import Problem
from delassus.problem.describe import category_of

UNKNOWN = "not known"
"""Category of a problem that does not tell: FCLIB's local form knows no bodies."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Where the rows of a sample are and where velocities take them. at: (m,) errors of joints, gaps of limits and
    contacts [m, rad] if all of the problem's velocities v were zero, NaN for rows that keep nothing in its place
    (drives, friction); left: time for which v acts [s]. Errors after the step are `at + left v`, to first order."""

    at: np.ndarray
    left: float


@dataclass(frozen=True, eq=False)
class Sample:
    """sequence: the run it comes from; step: its number in that run, so that warm starts can be judged; names:
    (block_count,) uint64 of the blocks, the same from step to step, or None where nothing is known; errors: of the
    configuration, None where nothing is known."""

    sequence: str
    step: int
    problem: Problem
    names: np.ndarray | None = None
    errors: Errors | None = None

    @property
    def name(self) -> str:
        return f"{self.sequence}/{self.step}"

    @property
    def cone(self) -> ProductCone:
        return self.problem.cone

    @property
    def category(self) -> str:
        """One of problem.describe.CATEGORIES, or UNKNOWN."""
        return category_of(self.problem, self.joint_rows) or UNKNOWN

    @property
    def joint_rows(self) -> np.ndarray | None:
        """Which bilateral rows belong to joints, (bilateral rows,); None where names do not tell."""
        if self.names is None:
            return None
        return np.repeat(are_joints(self.names[: self.cone.bilateral.size]), self.cone.bilateral)

    def penetration(self, reactions: np.ndarray) -> float:
        """‖f(s)‖∞ after the step that reactions lead to (Tsounis et al. 2025, eq. 84, 173): the worst error of a joint,
        or depth beyond a limit or into a contact [m, rad]; to first order in the step, NaN where nothing is known."""
        if self.errors is None:
            return float("nan")
        problem, delassus = self.problem, self.problem.delassus
        v = problem.constraint_velocity(reactions)
        if delassus.has_bodies and delassus.compliance is not None:
            v = v - delassus.compliance * reactions  # what gives moves with J u alone
        after = self.errors.at + self.errors.left * v
        joints = self.cone.bilateral_rows
        worst = np.append(np.abs(after[:joints]), -after[joints:])
        return float(np.nanmax(worst, initial=0.0))

    def __repr__(self) -> str:
        return f"Sample({self.name}, {self.category}, {self.problem!r})"
