"""Table 1 of Heyn et al. 2013 as printed, as measured on a heap, and drawn (figures 4 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus_papers.measure.heap_curves import (
    COLOURS,
    FLOOR,
    PRECONDITIONED,
    PUBLISHED,
    Curve,
    Curves,
    Reached,
    follow,
    reached,
)
from delassus_papers.measure.heap_pictures import log_axes
from delassus_papers.measure.heaps import Heap
from delassus_papers.outcome import Picture


@dataclass(frozen=True)
class Row:
    """Of Table 1: method, iterations (N; MINRES for GPMINRES), changes of the active set (M), f, γ_max, seconds."""

    method: str
    iterations: int
    faces: int
    objective: float
    largest: float
    seconds: float

    @property
    def key(self) -> str:
        return f"{self.method} {self.iterations}"

    @property
    def gap(self) -> float:
        return (self.objective - _BEST) / -_BEST


_BEST = -2.9045  # lowest objective of the table
TABLE = (
    Row("GPMINRES", 1000, 100, -2.9035, 7.7487, 6.70),
    Row("GPMINRES", 10_000, 1000, _BEST, 8.2002, 61.07),
    Row("GPMINRES-P", 100, 100, -2.8854, 6.8551, 1675.0),
    Row("Jacobi", 1000, 0, -2.5077, 4.4961, 3.66),
    Row("Jacobi", 10_000, 0, -2.8983, 7.4953, 24.66),
    Row("Jacobi", 43_000, 0, -2.9035, 7.9254, 95.41),
    Row("Jacobi", 100_000, 0, -2.9043, 8.0619, 231.7),
)
ROWS = {row.key: row for row in TABLE}
JACOBI_ROWS = [row for row in TABLE if row.method == "Jacobi"]
COMMON = ROWS["Jacobi 43000"].gap
"""(f − f*)/|f*| that Jacobi has after 43 000 iterations and GPMINRES after 1 000."""
ROUGH = ROWS["GPMINRES-P 100"].gap
"""That of GPMINRES-P."""
_DONE = 2.0 * FLOOR  # gaps no larger are rounding


@dataclass(frozen=True)
class Run:
    """What was measured. curves: of the paper's methods; own: of ours; auto: `auto` to the common gap; others: curves
    and minimum on heaps that differ in what the paper leaves open."""

    heap: Heap
    best: float
    curves: Curves
    own: Curves
    auto: Reached
    others: Mapping[str, tuple[Curves, float]]

    @property
    def own_common(self) -> dict[str, Reached]:
        return reached(self.own, self.best, COMMON) | {"auto": self.auto}


def end_gaps(curves: Curves, best: float) -> dict[str, float]:
    """(f − f*)/|f*| of those rows of the table that were reached; what is at the minimum stays there."""
    out = {}
    for row in TABLE:
        curve = curves[row.method]
        gap = float(curve.gap(best)[curve.at(row.iterations)])
        if curve.iterations[-1] >= row.iterations or gap <= _DONE:
            out[row.key] = gap
    return out


def ratios(curves: Curves, best: float) -> dict[str, float]:
    """To the common gap: Jacobi over GPMINRES in iterations and seconds, GPMINRES over Jacobi in seconds per iteration,
    Jacobi over Gauß–Seidel in iterations; nan where nobody got there."""
    common = reached(curves, best, COMMON)
    jacobi, fast, seidel = common["Jacobi"], common["GPMINRES"], common["Gauß–Seidel"]
    with np.errstate(invalid="ignore", divide="ignore"):
        iterations, seconds = np.divide(jacobi[:2], fast[:2])
        return {
            "iterations": float(iterations),
            "speed": float(seconds),
            "price": float(iterations / seconds),
            "gauss-seidel": float(np.divide(jacobi.iterations, seidel.iterations)),
        }


def sharpness(jacobi: Curve, best: float, largest: float) -> dict[str, float]:
    """γ_max over that of the solution at the gaps of Jacobi's rows."""
    return {f"at {row.gap:.2g}:": jacobi.reaching(best + row.gap * abs(best)).largest / largest for row in JACOBI_ROWS}


def paper_curves(problem: Problem, best: float, jacobi: int) -> dict[str, Curve]:
    """The paper's methods with its settings; Jacobi for so many iterations, Gauß–Seidel to the common gap."""
    rows = [row.iterations for row in TABLE]
    done, common = best + 0.5 * _DONE * abs(best), best + COMMON * abs(best)
    return {
        "Jacobi": follow(problem, PUBLISHED["Jacobi"], jacobi, ratio=1.03, also=rows),
        "GPMINRES": follow(problem, PUBLISHED["GPMINRES"], 10_000, ratio=1.03, also=rows),
        # iterates do not depend on the order of the factors: the published order is for the clock alone
        "GPMINRES-P": follow(problem, PRECONDITIONED.changed(ordering="degree"), 100, ratio=1.0, until=done),
        "Gauß–Seidel": follow(problem, PUBLISHED["Gauß–Seidel"], jacobi, ratio=1.03, until=common),
    }


def draw_objective(path: Path, run: Run) -> Picture:
    """Figure 4, over iterations and over seconds, with the rows of the table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), dpi=110, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for name, curve in run.curves.items():
        axes[0].plot(curve.iterations, curve.gap(run.best), color=COLOURS[name], linewidth=1.3, label=name)
        axes[1].plot(curve.seconds, curve.gap(run.best), color=COLOURS[name], linewidth=1.3, label=name)
    for name in ("apgd", "ags"):
        axes[1].plot(
            run.own[name].seconds,
            run.own[name].gap(run.best),
            "--",
            color=COLOURS[name],
            linewidth=1.0,
            label=f"{name} (ours)",
        )
    for row in TABLE:
        if row.gap > 0.0:
            for panel, x in zip(axes, (row.iterations, row.seconds)):
                panel.plot(x, row.gap, "o", color=COLOURS[row.method], markeredgecolor="k", markersize=6)
    for panel, what in zip(axes, ("iterations", "processor seconds")):
        panel.axhline(COMMON, color="0.4", linewidth=1, linestyle=(0, (4, 3)))
        log_axes(panel, what, "(f − f*) / |f*|; dashed: the common gap")
        panel.set_ylim(1e-7, 2.0)
    axes[1].set_ylabel("")
    axes[1].legend(fontsize=8, frameon=False, loc="lower left")
    figure.savefig(path)
    return Picture(
        path.name,
        "Figure 4",
        "Objective above its minimum, settings of the paper.",
        "circles: the rows of Table 1 but its minimum; their seconds are those of MATLAB",
    )


def draw_reactions(path: Path, run: Run) -> Picture:
    """Figure 5: the reactions sorted by size become sharper with the iterations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), dpi=110, layout="constrained")
    ax = figure.subplots()
    shades = {1000: ":", 10_000: "--", 43_000: "-"}
    largest = run.curves["GPMINRES"].normal.max()
    for name, count in (("Jacobi", 1000), ("Jacobi", 10_000), ("Jacobi", 43_000), ("GPMINRES", 1000)):
        curve = run.curves[name]
        values = np.sort(curve.kept[count])[::-1] / largest
        style = shades[count] if name == "Jacobi" else "-"
        gap = float(curve.gap(run.best)[curve.at(count)])
        ax.plot(
            np.arange(1, len(values) + 1),
            values,
            style,
            color=COLOURS[name],
            label=f"{name}, {count} iterations, gap {gap:.0e}",
        )
        row = ROWS[f"{name} {count}"]
        ax.plot(0.8, row.largest / 8.2002, "o", color=COLOURS[name], markeredgecolor="k", markersize=6)
    ax.set(xscale="log", xlabel="contacts by size of their reaction", ylabel="reaction / largest of the solution")
    ax.grid(True, color="0.92")
    ax.legend(fontsize=8, frameon=False)
    figure.savefig(path)
    return Picture(
        path.name, "Figure 5", "Reactions sorted by size.", "circles: γ_max of Table 1 over 8.2002, its largest"
    )
