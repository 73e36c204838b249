"""The two figures of `paper_002`: its figures 4 and 6-8, from our runs."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

_COLOURS = {"jacobi": "C0", "gpminres": "C1", "spg-fb": "C2", "kucera": "C3", "apgd": "C4", "gpminres-p": "C5"}
_FLOOR = 1e-12  # smallest relative gap shown: rounding begins there


def draw_problem_1(curves: dict, problem, path: Path) -> None:
    """Objective above its minimum over iterations and over seconds, all methods."""
    figure = Figure(figsize=(12, 5.2), dpi=120, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    best = min(curve.objective.min() for curve in curves.values())
    for name, curve in curves.items():
        gap = np.maximum((curve.objective - best) / abs(best), _FLOOR)
        label = f"{name} (iteration: one face)" if name == "gpminres-p" else name
        axes[0].plot(curve.iterations, gap, color=_COLOURS[name], linewidth=1.3, label=label)
        axes[1].plot(curve.seconds, gap, color=_COLOURS[name], linewidth=1.3)
    end = (curves["jacobi"].objective[-1] - best) / abs(best)
    for panel, label in zip(axes, ("iterations", "seconds")):
        panel.axhline(max(end, _FLOOR), color="0.4", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.grid(True, color="0.92")
    axes[1].annotate("Jacobi's\nend", (1.01, max(end, _FLOOR)), xycoords=("axes fraction", "data"), va="center",
                     fontsize=8)  # fmt: skip
    axes[0].set_ylabel("(f − f*) / |f*|")
    _note_floor(axes[0])
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.suptitle(f"paper 002, problem 1 rebuilt: {problem.contact_count} frictionless contacts", fontsize=11)
    _save(figure, path)


def draw_problem_2(results: dict, best: dict, problems: dict, path: Path) -> None:
    """Objective above its minimum (top) and residual (bottom) over iterations, one column per system."""
    figure = Figure(figsize=(12, 7.5), dpi=110, layout="constrained")
    axes = figure.subplots(2, len(results), sharex=True, sharey="row", squeeze=False)
    for column, (size, curves) in enumerate(results.items()):
        for name, curve in curves.items():
            gap = np.maximum((curve.objective - best[size]) / abs(best[size]), _FLOOR)
            style = {"color": _COLOURS[name], "linewidth": 1.3}
            axes[0, column].plot(curve.iterations, gap, **style, label=name if column == 0 else None)
            axes[1, column].plot(curve.iterations, np.maximum(curve.epsilon, _FLOOR), **style)
        axes[0, column].set_title(f"{size} bodies, {problems[size].contact_count} contacts", fontsize=10)
        axes[1, column].set_xlabel("iterations")
    for panel in axes.ravel():
        panel.set(xscale="log", yscale="log")
        panel.grid(True, color="0.92")
    axes[0, 0].set_ylabel("(f − f*) / |f*|")
    _note_floor(axes[0, 0])
    axes[1, 0].set_ylabel("‖ε‖₂ [m/s]")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.suptitle("paper 002, problem 2 rebuilt: spheres in a cylinder, no friction", fontsize=11)
    _save(figure, path)


def _note_floor(panel) -> None:
    panel.annotate(f"below {_FLOOR:g}: drawn at the edge", (0.01, 0.01), xycoords="axes fraction", fontsize=8)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"figure: {path}")
