"""A sample: the problem of one step of some run, with its place in the run and its category."""

from dataclasses import dataclass

import numpy as np

from delassus.cones import ProductCone
from delassus.problem import Problem
from delassus.problem.describe import category_of

UNKNOWN = "not known"
"""Category of a problem that does not tell: FCLIB's local form knows no bodies."""


@dataclass(frozen=True, eq=False)
class Sample:
    """sequence: the run it comes from; step: its number in that run, so that warm starts can be judged; names:
    (block_count,) uint64 of the blocks, the same from step to step, or None where nothing is known."""

    sequence: str
    step: int
    problem: Problem
    names: np.ndarray | None = None

    @property
    def name(self) -> str:
        return f"{self.sequence}/{self.step}"

    @property
    def cone(self) -> ProductCone:
        return self.problem.cone

    @property
    def category(self) -> str:
        """One of problem.describe.CATEGORIES, or UNKNOWN."""
        return category_of(self.problem) or UNKNOWN

    def __repr__(self) -> str:
        return f"Sample({self.name}, {self.category}, {self.problem!r})"
