"""How an interior-point method followed the central path: from the details it wrote down per iteration."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.solvers.solution import Solution, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_MOST = 4  # runs drawn: more lie over each other


@dataclass(frozen=True)
class CentralPath:
    """One run; details: lists of one number per iteration, NaN where a phase has none; "tau" must be among them."""

    name: str
    details: dict[str, list[float]]
    trace: Trace


def central_path(name: str, solution: Solution, trace: Trace) -> CentralPath | None:
    """What there is to draw of a solve, or None where the method follows no central path."""
    return CentralPath(name, solution.details, trace) if "tau" in solution.details else None


def draw_paths(figure: "FigureBase", paths: list[CentralPath]) -> None:
    """Two panels: τ, what is missing of D x + q = y, and the judged residual; step length and centring.

    Dots are interior-point iterations; where a polish follows, its steps are crosses."""
    from matplotlib.ticker import MaxNLocator

    residuals, lengths = figure.subplots(1, 2)
    for k, path in enumerate(paths[:_MOST]):
        colour = f"C{k}"
        _series(residuals, path.details, "tau", colour, "solid", path.name)
        _series(residuals, path.details, "primal", colour, "dotted")
        residuals.plot(path.trace.iterations, path.trace.natural_map_relative, color=colour, linestyle="dashed", lw=1)
        _series(lengths, path.details, "step", colour, "solid")
        _series(lengths, path.details, "sigma", colour, "dashed")
    residuals.set_yscale("log")
    lengths.set_yscale("log")
    lengths.set_ylim(top=1.5)
    for panel in (residuals, lengths):
        panel.set_xlabel("iterations")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.grid(True, color="0.92")
    residuals.set_title("central path", fontsize=10)
    lengths.set_title("steps along it", fontsize=10)
    _name_dashes(residuals, {"τ, mean of x·y": "solid", "y − (D x + q)": "dotted", "natural map": "dashed"})
    _name_dashes(lengths, {"step length": "solid", "centring σ": "dashed"})
    if len(paths) > 1:
        shown = paths[:_MOST]
        left_out = f" (first {_MOST} of {len(paths)})" if len(paths) > _MOST else ""
        names = ", ".join(f"{path.name}" for path in shown) + left_out
        residuals.annotate(f"colours in order: {names}", (0.0, -0.22), xycoords="axes fraction", fontsize=7)


def _series(
    panel: "Axes", details: dict[str, list[float]], name: str, colour: Any, dash: Any, label: str | None = None
) -> None:
    """One quantity over iterations; zeros, which a logarithm cannot show, are left out."""
    values = np.array(details.get(name, []), dtype=float)
    if not len(values):
        return
    iteration = np.arange(1, len(values) + 1)
    interior = np.isfinite(np.array(details["tau"], dtype=float))
    shown = np.isfinite(values) & (values > 0.0)
    for phase, marker in ((interior, "o"), (~interior, "x")):
        part = shown & phase
        line = np.where(part, values, math.nan)
        panel.plot(iteration, line, color=colour, linestyle=dash, marker=marker, markersize=3.5, lw=1.2, label=label)


def _name_dashes(panel: "Axes", names: dict[str, Any]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color="0.3", linestyle=dash, label=name) for name, dash in names.items()]
    handles += [Line2D([], [], color="0.3", linestyle="none", marker="x", markersize=4, label="polish")]
    panel.legend(handles=handles, fontsize=8, frameon=False, loc="lower left")
