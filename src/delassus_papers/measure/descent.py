"""How the error of Kleinert et al. 2014, §5.2.4, falls while a method works.

Times are seconds of processor, so that a busy machine does not matter much; iterates are judged outside the clock.
"""

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from delassus import residuals
from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings
from delassus.solvers.table import find

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOK = 0.05  # methods that are judged in batches: after so much of the iterations done
_NO_GAIN = 0.5  # an error that never again falls below this part of itself has stopped falling
_LATER = 5  # looks that must follow before that is said


@dataclass
class Descent:
    """What one method did, one entry per look.  inner: iterations of its Krylov method so far, products: with the
    matrix of a linear system; step: θ of the last direction; feasible: the iteration from which on the inexact
    interior point had no artificial variable, where it is known; gave_up: the method itself saw no way on."""

    name: str
    iteration: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    inner: list[float] = field(default_factory=list)
    products: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    feasibility: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    feasible: int | None = None
    gave_up: bool = False

    def to(self, goal: float, what: str = "seconds", value: str = "error") -> float:
        """Seconds, iterations, inner ones … until the error (or cost) was at most the goal; infinite where it never
        was."""
        for own, spent in zip(getattr(self, value), getattr(self, what)):
            if own <= goal:
                return float(spent)
        return math.inf

    @property
    def stuck(self) -> float:
        """The iteration from which on the error stopped falling (`_NO_GAIN`); infinite where it fell to the last."""
        best = np.minimum.accumulate(self.error)
        for k in range(len(best) - _LATER):
            if best[-1] > _NO_GAIN * best[k]:
                return float(self.iteration[k])
        return math.inf

    def text(self, goal: float) -> str:
        """What it took to reach the goal, or how far it came."""
        reached = [i for i, error in enumerate(self.error) if error <= goal]
        i = reached[0] if reached else len(self.error) - 1
        parts = [f"{self.iteration[i]} iterations", f"{self.seconds[i]:.3g} s"]
        if self.inner[i]:
            parts.insert(1, f"{self.inner[i]:.0f} inner ones")
        return ", ".join(parts) if reached else f"error {min(self.error):.1e} after " + ", ".join(parts)


def descend(
    name: str,
    problem: Problem,
    solver: str | Settings,
    goal: float,
    *,
    iterations: int = 100,
    seconds: float = 120.0,
    batch: int = 1,
) -> Descent:
    """Let a method work until its error is at most the goal.  batch: iterations between the first looks."""
    line, settings = find(solver)
    begin = time.process_time()
    method = line.start(problem, settings, np.zeros(problem.row_count))
    return follow(name, problem, method, goal, time.process_time() - begin, iterations, seconds, batch)


def follow(
    name: str,
    problem: Problem,
    method: Method,
    goal: float,
    spent: float = 0.0,
    iterations: int = 100,
    seconds: float = 120.0,
    batch: int = 1,
) -> Descent:
    """The same of a method that was started in the time spent [s]."""
    out, done = Descent(name), 0
    while done < iterations and spent < seconds and not method.finished:
        begin = time.process_time()
        method.advance(batch)
        spent += time.process_time() - begin
        done += batch
        details = method.details or {}
        judged = residuals.evaluate(problem, method.reactions)
        out.iteration.append(done)
        out.seconds.append(spent)
        out.inner.append(float(np.nansum(details.get("krylov", [0.0]))))
        out.products.append(float(np.nansum(details.get("products", [0.0]))))
        out.error.append(judged.error)
        out.cost.append(judged.cost)
        out.feasibility.append(judged.feasibility)
        out.step.append(details.get("step", [math.nan])[-1])
        if judged.error <= goal:
            break
        batch = batch if batch == 1 else max(batch, int(_LOOK * done))
    out.gave_up = method.finished and out.error[-1] > goal
    artificial = (method.details or {}).get("artificial", [])
    out.feasible = next((i + 1 for i, s in enumerate(artificial) if s == 0.0), None)
    return out


def draw_descents(ax: "Axes", descents: list[Descent], over: str, value: str = "error") -> None:
    """Error, or another list of `Descent`, over one of its lists, one line each; dashed: ours."""
    for one in descents:
        style = "--" if one.name.startswith("ours") else "-"
        ax.plot(getattr(one, over), np.maximum(getattr(one, value), 1e-16), style, label=one.name)
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=6.5)
