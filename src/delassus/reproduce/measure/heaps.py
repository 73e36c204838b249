"""The heaps of Heyn et al. 2013, §5, without friction, rebuilt from our scenes, and what a method does on them.

Spheres of radius 0.1 m are dropped into a container and simulated until they have nearly settled; the problem of the
next step is what is solved, from zero, for a given number of iterations. Settled states are kept in the system's
temporary folder. One iteration is one product with D, for `gpminres-p` one factorisation.
"""

import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.model.state import State
from delassus.problem import Problem
from delassus.scenes import find as find_scene
from delassus.simulation import StepSettings, simulate, step
from delassus.solvers.gradient.apgd import PUBLISHED
from delassus.solvers.table import find

METHODS = ("jacobi", "gpminres", "spg-fb", "kucera", "apgd")
"""The paper's four, and one it does not know."""
_SETTINGS = {"apgd": PUBLISHED}
"""Where the package's own are not those that were published."""
NEW = ("gpminres", "spg-fb", "kucera")
"""The three that the paper proposes."""
COLOURS = {"jacobi": "C0", "gpminres": "C1", "spg-fb": "C2", "kucera": "C3", "apgd": "C4", "gpminres-p": "C5"}

_STEP = StepSettings(h=5e-3, solver="nbgs", law=Law.FRICTIONLESS, tol=1e-3, tol_velocity=None, max_iter=40)
_FLOOR = 1e-12  # smallest relative gap drawn: rounding begins there


@dataclass
class Curve:
    """What a method did: entry i after `iterations[i]`.

    seconds: wall time of start and iterations, without judging; objective: f = ½ λᵀ D λ + v_fᵀ λ [J]; epsilon: the
    projected gradient of Heyn et al. 2013, eq. 24 [m/s]; open_contacts: whose reaction is zero; normal: the last
    reactions [N s]."""

    iterations: np.ndarray
    seconds: np.ndarray
    objective: np.ndarray
    epsilon: np.ndarray
    open_contacts: np.ndarray
    normal: np.ndarray

    def at(self, count: int) -> int:
        """The entry recorded after so many iterations, or the last before."""
        return int(np.searchsorted(self.iterations, count, side="right")) - 1

    def reaching(self, objective: float) -> tuple[float, float]:
        """Iterations and seconds until the objective was first that low; infinite where it never was."""
        reached = self.objective <= objective
        if not reached.any():
            return np.inf, np.inf
        i = int(np.argmax(reached))
        return float(self.iterations[i]), float(self.seconds[i])

    def gap(self, best: float) -> np.ndarray:
        """(f − f*) / |f*|, no smaller than can be drawn."""
        return np.maximum((self.objective - best) / abs(best), _FLOOR)


def follow(problem: Problem, name: str, stops: Iterable[int], *, until: float = -np.inf) -> Curve:
    """The method from zero, looked at after each of the stops, until its objective falls to `until` [J]."""
    line, settings = find(_SETTINGS.get(name, name))
    first, rows, done = problem.cone.contact_start, [], 0
    start = time.perf_counter()
    method = line.start(problem, settings, np.zeros(problem.row_count))
    seconds = time.perf_counter() - start
    for stop in stops:
        start = time.perf_counter()
        method.advance(stop - done)
        seconds += time.perf_counter() - start
        done = stop
        point = method.reactions
        f = 0.5 * float(point @ (problem.constraint_velocity(point) + problem.free_velocity))
        closed = np.count_nonzero(point[first::3])
        epsilon = residuals.evaluate(problem, point).projected_gradient
        rows.append((done, seconds, f, epsilon, problem.contact_count - closed))
        if f <= until:
            break
    count, clock, objective, gradient, idle = np.array(rows).T
    return Curve(count, clock, objective, gradient, idle, point[first::3].copy())


def ladder(last: int, *, ratio: float = 1.1, also: Iterable[int] = ()) -> list[int]:
    """1, 2, … last, in steps that grow by `ratio`."""
    stops, x = {last, *(count for count in (10, 100, *also) if count <= last)}, 1.0
    while x < last:
        stops.add(int(x))
        x = max(x + 1.0, x * ratio)
    return sorted(stops)


def settled(scene: str, seconds: float, *, then: dict[str, Any] | None = None, **parameters: Any) -> Problem:
    """The next step's problem of a scene that was left to itself for so many seconds, without friction.  then:
    parameters changed for this step."""
    setup = find_scene(scene).build(**parameters)
    label = "-".join([scene, f"{seconds:g}", *(f"{key}{value:g}" for key, value in sorted(parameters.items()))])
    path = Path(tempfile.gettempdir()) / "delassus-heaps" / f"{label}.npz"
    state = _kept(path, setup.state)
    if state is None:
        state = simulate(setup.model, setup.state, None, _STEP, round(seconds / _STEP.h))
        path.parent.mkdir(exist_ok=True)
        np.savez(path, q=state.q, u=state.u, t=state.t)
    model = find_scene(scene).build(**parameters | then).model if then else setup.model
    _, report = step(model, state, None, _STEP)
    return report.problem


def _kept(path: Path, like: State) -> State | None:
    """The state in the file, if it is one of that model."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            q, u, t = kept["q"], kept["u"], float(kept["t"])
    except (OSError, KeyError, ValueError):
        return None
    return State(q, u, t) if q.shape == like.q.shape and u.shape == like.u.shape else None


def warm_up() -> None:
    """Compile everything before a clock starts."""
    problem = settled("sphere-pile", 0.01, n=8, radius=0.1)
    for name in (*METHODS, "gpminres-p"):
        follow(problem, name, [1, 30])
