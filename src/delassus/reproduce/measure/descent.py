"""How the error of Kleinert et al. 2014, §5.2.4, falls while a method works.

Times are seconds of processor, so that a busy machine does not matter much; iterates are judged outside the clock.
"""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from delassus import residuals
from delassus.problem import Problem
from delassus.solvers.settings import Settings
from delassus.solvers.table import find

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOK = 0.05  # methods that are judged in batches: after so much of the iterations done


@dataclass
class Descent:
    """What one method did, one entry per look.  products: with a matrix of a linear system, so far; feasible: the
    iteration from which on `ipm-inexact` had no artificial variable, where it is known; gave_up: the method itself saw
    no way on."""

    name: str
    iteration: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    products: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    feasible: int | None = None
    gave_up: bool = False

    def first_below(self, goal: float) -> int | None:
        """Index of the first look at which the error was at most the goal."""
        return next((i for i, error in enumerate(self.error) if error <= goal), None)

    def iterations_to(self, goal: float) -> int | None:
        i = self.first_below(goal)
        return None if i is None else self.iteration[i]

    def seconds_to(self, goal: float) -> float | None:
        i = self.first_below(goal)
        return None if i is None else self.seconds[i]

    def products_to(self, goal: float) -> float | None:
        i = self.first_below(goal)
        return None if i is None else self.products[i]

    def text(self, goal: float) -> str:
        """What it took to reach the goal, or how far it came."""
        i = self.first_below(goal)
        reached, i = (True, i) if i is not None else (False, len(self.error) - 1)
        parts = [f"{self.iteration[i]} iterations", f"{self.seconds[i]:.3g} s"]
        if self.products[i]:
            parts.insert(1, f"{self.products[i]:.0f} products")
        return ", ".join(parts) if reached else f"error {min(self.error):.1e} after " + ", ".join(parts)


def descend(
    name: str, problem: Problem, solver: str | Settings, goal: float, *, iterations: int = 100, seconds: float = 120.0,
    batch: int = 1,
) -> Descent:  # fmt: skip
    """Let a method work until its error is at most the goal.  batch: iterations between the first looks."""
    line, settings = find(solver)
    out = Descent(name)
    begin = time.process_time()
    method = line.start(problem, settings, np.zeros(problem.row_count))
    spent, done = time.process_time() - begin, 0
    while done < iterations and spent < seconds and not method.finished:
        begin = time.process_time()
        method.advance(batch)
        spent += time.process_time() - begin
        done += batch
        details = method.details or {}
        judged = residuals.evaluate(problem, method.reactions)
        out.iteration.append(done)
        out.seconds.append(spent)
        out.products.append(float(np.nansum(details.get("products", [0.0]))))
        out.error.append(judged.error)
        out.cost.append(judged.cost)
        if judged.error <= goal:
            break
        batch = batch if batch == 1 else max(batch, int(_LOOK * done))
    out.gave_up = method.finished and out.error[-1] > goal
    artificial = (method.details or {}).get("artificial", [])
    out.feasible = next((i + 1 for i, s in enumerate(artificial) if s == 0.0), None)
    return out


def draw_descents(ax: "Axes", descents: list[Descent], over: str, value: str = "error") -> None:
    """Curves of `value` over "iteration", "seconds" or "products"."""
    for one in descents:
        ax.plot(getattr(one, over), np.maximum(getattr(one, value), 1e-16), label=one.name)
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=6.5)
