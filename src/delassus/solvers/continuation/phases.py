"""What `homotopy` does one after the other, as a generator that yields before each linear system.

1. *shift*: near a solution Newton's homotopy, for few systems; there it takes a dozen.
2. For each smoothing in turn: *convex*, Newton's homotopy to the convex problem that has the slips of the
   given point as De Saxcé's term (those of a point far off are taken to be zero); *slip*, from there to the exact
   law; *smooth*, ε towards zero.

ε is small from the start: from the end of a slip path at 2e-4 or 1e-3 the path of ε folded back.
"""

import math
from collections.abc import Generator

import numpy as np

from delassus.problem import Problem
from delassus.residuals import measure
from delassus.solvers.continuation.families import Shift, Slip, Smooth
from delassus.solvers.continuation.settings import Homotopy
from delassus.solvers.continuation.smoothed import slips
from delassus.solvers.continuation.system import System
from delassus.solvers.continuation.tracking import Path, Steps

SHIFT_SMOOTHINGS = 1.0, 0.1  # of ε, tried one after the other
SLIP_SMOOTHINGS = 1.0, 3.0, 0.3  # the same of slip paths: with another ε a path has other folds
FALL = 1.2  # by which ln ε falls between two judgements
T_MOST_SHIFT, T_MOST_SLIP, T_MOST_SMOOTH = 3.0, 1.2, 1.0  # beyond which a path has been lost; of ln ε, above its first


class Found:
    """The best reactions so far, and what was done.  reactions: (m,) [N s], given; tols: of the judge, to compare."""

    def __init__(self, problem: Problem, system: System, reactions: np.ndarray, tols: tuple[float, float]):
        self.problem, self.system, self.tols = problem, system, tols
        self.reactions, self.x = reactions, system.from_reactions(reactions)
        self.relative, _ = measure(problem, reactions)
        self.excess = self._excess(reactions)
        self.past: list[str] = []
        self.name = ""
        self.path: Path | None = None  # under way

    @property
    def words(self) -> list[str]:
        """What was done so far, a sentence for each path."""
        if self.path is None or not self.path.systems:
            return self.past
        return [*self.past, f"{self.name}: {self.path.words}"]

    def offer(self, x: np.ndarray) -> None:
        """Keep this point if it is the best."""
        reactions = self.system.reactions(x)
        excess = self._excess(reactions)
        if excess < self.excess:
            self.reactions, self.excess = reactions, excess

    def follow(self, name: str, path: Path) -> Steps:
        """Follow a path, and tell of it."""
        self.name, self.path = name, path
        yield from path.follow()
        self.past, self.path = self.words, None
        if path.landed:
            self.offer(path.x)

    def _excess(self, reactions: np.ndarray) -> float:
        return max(a / b for a, b in zip(measure(self.problem, reactions), self.tols))


def phases(found: Found, settings: Homotopy) -> Steps:
    """All of them, after which nothing is left to try."""
    given, eps, slip = found.x, settings.eps, np.zeros(found.system.contacts)
    if found.relative <= settings.near and settings.systems_shift:
        for factor in SHIFT_SMOOTHINGS:
            yield from _shift(found, settings, given, factor * eps)
    if found.relative <= settings.far:
        slips(found.system.velocity(given), 0.0, slip)
    for factor in SLIP_SMOOTHINGS:
        has_begun = yield from _slip(found, settings, given, slip, factor * eps)
        if not has_begun:
            return


def _shift(found: Found, settings: Homotopy, x: np.ndarray, eps: float) -> Steps:
    """Newton's homotopy to the exact law."""
    family = Shift(found.system, eps, x)
    path = Path(family, family.start, 1.0, 0.0, most=settings.systems_shift, t_most=T_MOST_SHIFT)
    yield from found.follow(f"shift, smoothing {eps:.0e}", path)
    if path.landed:
        yield from _fall(found, settings, path.x, eps)


def _slip(found: Found, settings: Homotopy, x: np.ndarray, slip: np.ndarray, eps: float) -> Generator[None, None, bool]:
    """By way of the convex problem; was that reached? It has one solution whatever ε, or none that is worth the
    systems.  slip: (n,), De Saxcé's term there."""
    convex = Shift(found.system, eps, x, gamma=0.0, slip=slip)
    path = Path(convex, convex.start, 1.0, 0.0, most=settings.systems_convex)
    yield from found.follow(f"convex, smoothing {eps:.0e}", path)
    if not path.landed:
        return False
    path = Path(Slip(found.system, eps, slip), path.x, 1.0, 0.0, most=settings.systems_slip, t_most=T_MOST_SLIP)
    yield from found.follow(f"slip, smoothing {eps:.0e}", path)
    if path.landed:
        yield from _fall(found, settings, path.x, eps)
    return True


def _fall(found: Found, settings: Homotopy, x: np.ndarray, eps: float) -> Steps:
    """The smoothing towards zero; the driver stops where the point is good enough."""
    t, t_end, family = math.log(eps), math.log(settings.eps_min), Smooth(found.system)
    t_most = t + T_MOST_SMOOTH
    while t > t_end:
        path = Path(family, x, t, max(t - FALL, t_end), most=settings.systems_smooth, t_most=t_most)
        yield from found.follow(f"smooth, to {math.exp(path.t_end):.0e}", path)
        if not path.landed:
            return
        x, t = path.x, path.t
