"""What a method does on a heap of Heyn et al. 2013, iteration by iteration, with the paper's settings and with ours.

Iterations are those the paper counts: MINRES iterations for GPMINRES, whose gradient steps and searches come on top, in
the time too; faces for GPMINRES-P, sweeps for Gauß–Seidel, products with N otherwise. Times are processor seconds of
start and iterations, without judging.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from delassus import residuals
from delassus.problem import Problem
from delassus.solvers import solve
from delassus.solvers.active_set import gpminres, gpminres_p, kucera
from delassus.solvers.gradient import jacobi, spg_fb
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings
from delassus.solvers.splitting.method import Splitting
from delassus.solvers.table import find
from delassus_papers.measure.heaps import settled

T = TypeVar("T")
Start = Callable[[Problem, np.ndarray], Method]
"""A method of one's own: from the problem and a starting point, which it keeps."""

AnySolver = str | Settings | Start
PUBLISHED: dict[str, AnySolver] = {
    "Jacobi": jacobi.PUBLISHED,
    "Gauß–Seidel": Splitting(solver="pgs-ccp", local="ccp"),
    "GPMINRES": gpminres.PUBLISHED,
    "SPG-FB": spg_fb.SPG_FB,
    "Kučera": kucera.PUBLISHED,
}
"""As the paper has them; Gauß–Seidel without relaxation."""
NEW = ("GPMINRES", "SPG-FB", "Kučera")
"""The three that the paper proposes."""
OURS: dict[str, AnySolver] = {
    "jacobi": "jacobi",
    "gpminres": "gpminres",
    "spg-fb": "spg-fb",
    "kucera": "kucera",
    "apgd": "apgd",
    "ags": "ags",
}
"""The same four with our scaling and step lengths, and two that the paper does not know."""
COLOURS = {
    "Jacobi": "C0",
    "GPMINRES": "C1",
    "SPG-FB": "C2",
    "Kučera": "C3",
    "Gauß–Seidel": "C7",
    "GPMINRES-P": "C5",
    "apgd": "C4",
    "ags": "C6",
}
PRECONDITIONED = gpminres_p.PUBLISHED

FLOOR = 1e-12
"""Smallest relative gap: rounding begins there."""
_COLUMNS = ("iterations", "seconds", "objective", "epsilon", "open_contacts", "largest", "least", "faces")
_MOST_PRODUCTS = 5  # per iteration that is counted, in the mean
_AUTO = (1e-1, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-8)  # tolerances that `auto` is given, one after the other


Curves = Mapping[str, "Curve"]


class Reached(NamedTuple):
    """When an objective was first reached; infinite where it never was. largest: reaction there [N s]."""

    iterations: float
    seconds: float
    largest: float = np.nan


@dataclass(frozen=True)
class Curve:
    """What a method did: entry i after `iterations[i]`.

    objective: f = ½ γᵀ N γ + rᵀ γ [J]; epsilon: ‖ε‖₂ of eq. 24 [m/s]; open_contacts: whose reaction is zero; largest,
    least: reaction [N s]; faces: changes of the active set, where they are counted; normal: last reactions [N s]; kept:
    those after the iterations that were asked for."""

    iterations: np.ndarray
    seconds: np.ndarray
    objective: np.ndarray
    epsilon: np.ndarray
    open_contacts: np.ndarray
    largest: np.ndarray
    least: np.ndarray
    faces: np.ndarray
    normal: np.ndarray
    kept: Mapping[int, np.ndarray]

    def at(self, count: float) -> int:
        """The entry recorded after so many iterations, or the last before."""
        return max(int(np.searchsorted(self.iterations, count, side="right")) - 1, 0)

    def reaching(self, objective: float) -> Reached:
        """When the objective was first that low."""
        reached = self.objective <= objective
        if not reached.any():
            return Reached(np.inf, np.inf)
        i = int(np.argmax(reached))
        return Reached(float(self.iterations[i]), float(self.seconds[i]), float(self.largest[i]))

    def by_iteration(self) -> "Curve":
        """One entry an iteration: of GPMINRES where a MINRES iteration is taken, not at the gradient steps between."""
        counts, first = np.unique(self.iterations, return_index=True)
        first = first[counts >= 1.0]
        return replace(self, **{name: getattr(self, name)[first] for name in _COLUMNS})

    def gap(self, best: float) -> np.ndarray:
        """(f − f*) / |f*|, no smaller than rounding."""
        return np.maximum((self.objective - best) / abs(best), FLOOR)


def follow(
    problem: Problem,
    solver: AnySolver,
    last: int,
    *,
    ratio: float = 1.1,
    also: Iterable[int] = (),
    until: float = -np.inf,
) -> Curve:
    """The method from zero, looked at after 1, 2, … iterations, in steps that grow by `ratio`, and after those in
    `also`, up to the last, or until its objective falls to `until` [J]."""
    rows: list[tuple[float, ...]] = []
    kept: dict[int, np.ndarray] = {}
    count = done = 0
    clock, method = _timed(lambda: _started(problem, solver))
    first, wanted = problem.cone.contact_start, sorted({last, *(stop for stop in also if stop < last)})
    while count < last and done < _MOST_PRODUCTS * last:
        stop = next(stop for stop in wanted if stop > count)
        ahead = min(max(1, int(count * (ratio - 1.0))), stop - count)
        clock += _timed(lambda: method.advance(ahead))[0]  # noqa: B023
        done += ahead
        count, faces = getattr(method, "minres_count", done), getattr(method, "face_count", 0)
        point = method.reactions
        f = 0.5 * float(point @ (problem.constraint_velocity(point) + problem.free_velocity))
        normal = point[first::3]
        epsilon = residuals.evaluate(problem, point).projected_gradient
        shut = problem.contact_count - np.count_nonzero(normal)
        rows.append((count, clock, f, epsilon, float(shut), float(normal.max()), float(normal.min()), faces))
        if count in wanted:
            kept[count] = normal.copy()
        if f <= until:
            break
    columns = dict(zip(_COLUMNS, np.array(rows, dtype=float).T))
    return Curve(normal=method.reactions[first::3].copy(), kept=kept, **columns)


def minimum(problem: Problem) -> float:
    """f* [J], by our `gpminres` until 2 000 products change nothing but rounding."""
    line, settings = find("gpminres")
    method = line.start(problem, settings, np.zeros(problem.row_count))
    lowest = 0.0
    while True:
        method.advance(2000)
        point = method.reactions
        f = 0.5 * float(point @ (problem.constraint_velocity(point) + problem.free_velocity))
        if lowest - f <= 0.1 * FLOOR * abs(f):
            return min(f, lowest)
        lowest = f


def reached(curves: Curves, best: float, gap: float) -> dict[str, Reached]:
    """When each method was first within the gap of the minimum."""
    return {name: curve.reaching(best + gap * abs(best)) for name, curve in curves.items()}


def by_auto(problem: Problem, objective: float) -> Reached:
    """`auto` to the first of some tolerances at which the objective is that low, once more for the clock."""
    for tol in _AUTO:
        point = solve(problem, "auto", tol=tol).reactions
        if 0.5 * float(point @ (problem.constraint_velocity(point) + problem.free_velocity)) <= objective:
            seconds, solution = _timed(lambda: solve(problem, "auto", tol=tol))  # noqa: B023
            return Reached(float(solution.iterations), seconds)
    return Reached(np.inf, np.inf)


def warm_up() -> None:
    """Compile everything before a clock starts."""
    problem = settled("sphere-pile", 0.3, n=8).problem
    for solver in (*PUBLISHED.values(), *OURS.values(), PRECONDITIONED):
        follow(problem, solver, 30)
    by_auto(problem, -np.inf)


def _started(problem: Problem, solver: AnySolver) -> Method:
    start = np.zeros(problem.row_count)
    if isinstance(solver, (str, Settings)):
        line, settings = find(solver)
        return line.start(problem, settings, start)
    return solver(problem, start)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds, and what came out."""
    start = time.process_time()
    out = work()
    return time.process_time() - start, out
