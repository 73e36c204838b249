"""Test problem 2 of Heyn et al. 2013: what is measured on one heap, and figures 6 to 10."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus_papers.measure.heap_curves import COLOURS, OURS, PUBLISHED, Curve, Curves, follow, minimum
from delassus_papers.measure.heap_pictures import NO_CURVE, log_axes
from delassus_papers.measure.heaps import Heap
from delassus_papers.outcome import Picture

ITERATIONS = 1000
"""The paper's number is not printed."""
LONGER = 4 * ITERATIONS
"""For comparison."""
BEGINNING = 10
"""Iterations that are called the beginning of the process."""
NEAR = 1e-3
"""(f − f*)/|f*| at which the objective is called near its minimum."""
STEADY = 0.01
"""Of the contacts: an active set whose size stays within this of its last one has settled."""
ACTIVE_SET_METHODS = ("GPMINRES", "Kučera")
_STATISTICS: dict[str, Callable[[np.ndarray], float]] = {"mean": np.mean, "deviation": np.std, "largest": np.max}


@dataclass(frozen=True)
class System:
    """One heap of test problem 2: curves of the paper's methods, every iteration, and of ours; the minimum. longer: of
    methods that are not near it by then, run on."""

    heap: Heap
    best: float
    curves: Curves
    own: Curves
    longer: Curves

    @property
    def near(self) -> float:
        return self.best + NEAR * abs(self.best)

    def to_near(self, name: str) -> float:
        """Iterations of a method until the objective is near its minimum."""
        return {**self.own, **self.curves, **self.longer}[name].reaching(self.near).iterations


def system(heap: Heap) -> System:
    """Every iteration of the paper's methods is looked at, with its settings."""
    problem = heap.problem
    best = minimum(problem)
    near = best + NEAR * abs(best)
    own = {name: follow(problem, OURS[name], ITERATIONS) for name in ("apgd", "ags", "spg-fb", "gpminres", "kucera")}
    curves = {name: follow(problem, solver, ITERATIONS, ratio=1.0) for name, solver in PUBLISHED.items()}
    stop = {name: near if name in ("Jacobi", "Gauß–Seidel") else best + 0.1 * NEAR * abs(best) for name in curves}
    longer = {
        name: follow(problem, PUBLISHED[name], 10 * LONGER, ratio=1.03, also=[LONGER], until=stop[name])
        for name in curves
        if curves[name].objective[-1] > near
    }
    return System(heap, best, curves, own, longer)


def ends(s: System) -> dict[str, tuple[float, float]]:
    """(f − f*)/|f*| and ‖ε‖₂ [m/s] after the last iteration that all were given."""
    return {
        name: (float(c.gap(s.best)[i]), float(c.epsilon[i])) for name, c in s.curves.items() for i in [c.at(ITERATIONS)]
    }


def changes(curve: Curve, contacts: int) -> float:
    """Sum of |changes| of the size of the active set from iteration to iteration, over the contacts."""
    return float(np.abs(np.diff(curve.by_iteration().open_contacts)).sum()) / contacts


def settles(curve: Curve, contacts: int) -> float:
    """The iteration from which on the active set's size is what it is in the end, up to a small part."""
    curve = curve.by_iteration()
    away = np.flatnonzero(np.abs(curve.open_contacts - curve.open_contacts[-1]) > STEADY * contacts)
    return float(curve.iterations[min(away[-1] + 1, len(curve.iterations) - 1)]) if len(away) else 1.0


def rise(values: np.ndarray) -> float:
    """Largest rise from one entry to the next, over the size of the entry; what is a billionth of the first is
    rounding. nan where nothing falls."""
    if not np.abs(values - values[0]).max() > 0.0:
        return float("nan")
    worth = np.abs(values[:-1]) > 1e-9 * np.abs(values[0])
    return max(float((np.diff(values)[worth] / np.abs(values[:-1])[worth]).max(initial=0.0)), 0.0)


def unsettled(s: System) -> float:
    """Contacts by which the active set's size changes after the objective is near its minimum, of both methods the
    more; nan where none got there."""
    out = []
    for name in ACTIVE_SET_METHODS:
        curve = s.longer.get(name, s.curves[name])
        after = curve.open_contacts[curve.objective <= s.near]
        out.append(float(np.ptp(after)) if len(after) else np.nan)
    return float(np.max(out))


def feasibility(problem: Problem, curve: Curve) -> np.ndarray:
    """γ_i (N γ + r)_i of the last iterate [J], (n_c,): zero at the solution (figure 9)."""
    reactions = np.zeros(problem.row_count)
    reactions[problem.cone.contact_start :: 3] = curve.normal
    return np.asarray(curve.normal * problem.constraint_velocity(reactions)[problem.cone.contact_start :: 3])


def draw_curves(path: Path, of: str, size: int, s: System) -> Picture:
    """Figures 6 to 8: objective above its minimum, and residual."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), dpi=100, layout="constrained")
    axes = figure.subplots(1, 2)
    for name, curve in [*s.curves.items(), *((n, s.own[n]) for n in ("apgd", "ags"))]:
        style = {"color": COLOURS[name], "linewidth": 1.3, "linestyle": "--" if name in s.own else "-"}
        axes[0].plot(curve.iterations, curve.gap(s.best), **style, label=f"{name} (ours)" if name in s.own else name)
        single = curve.by_iteration()
        axes[1].plot(single.iterations, np.maximum(single.epsilon, 1e-12), **style)
    log_axes(axes[0], "iterations", "(f − f*) / |f*|")
    log_axes(axes[1], "iterations", "‖ε‖₂ [m/s]")
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(path)
    return Picture(
        path.name,
        of,
        f"{size:,} spheres, {s.heap.problem.contact_count:,} contacts: objective "
        "above its minimum, and residual, settings of the paper.",
        NO_CURVE,
    )


def draw_feasibility(path: Path, s: System) -> Picture:
    """Figure 9."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.4), dpi=100, layout="constrained")
    axes = figure.subplots()
    sizes = {name: np.abs(feasibility(s.heap.problem, curve)) for name, curve in s.curves.items()}
    x = np.arange(len(sizes))
    for k, (what, value) in enumerate(_STATISTICS.items()):
        axes.bar(x + 0.25 * (k - 1), [max(float(value(one)), 1e-18) for one in sizes.values()], 0.22, label=what)
    axes.set(yscale="log", ylabel="|γ (N γ + r)| [J]", xticks=x, xticklabels=list(sizes))
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path)
    return Picture(path.name, "Figure 9", f"Feasibility after {ITERATIONS} iterations, 1,000 spheres.", NO_CURVE)


def draw_active(path: Path, systems: Mapping[int, System]) -> Picture:
    """Figure 10."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0 * len(systems), 4.2), dpi=100, layout="constrained")
    for axes, (size, s) in zip(figure.subplots(1, len(systems), squeeze=False)[0], systems.items()):
        for name in ACTIVE_SET_METHODS:
            curve = s.curves[name].by_iteration()
            axes.plot(curve.iterations, curve.open_contacts, color=COLOURS[name], label=name)
        axes.set(xscale="log", xlabel="iterations", title=f"{size:,} spheres")
        axes.grid(True, color="0.92")
    figure.axes[0].set_ylabel("size of the active set: contacts without reaction")
    figure.axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(path)
    return Picture(path.name, "Figure 10", "Size of the active set.", NO_CURVE)
