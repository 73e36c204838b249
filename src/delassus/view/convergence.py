"""Residual against iterations and against seconds: many runs in one figure, a small panel per file."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.solvers.solution import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from delassus.view.central_path import CentralPath

_DEPTH = 1e-4  # smallest residual shown, as a fraction of tol: a run that ends at 1e-16 should not squeeze the rest
_TOP = 1e3  # largest residual shown: a run that diverges leaves there
_BOTH = 4  # files up to which there are two panels each, over iterations and over seconds; more have one, over seconds
_EACH = 30  # files up to which there is a panel each; more lie over each other in one
_COLUMNS, _WIDTH, _HEIGHT = 5, 2.7, 2.3  # panels in a row; inches of a small one
_ITERATIONS, _SECONDS = "iterations", "seconds"


@dataclass(frozen=True)
class Curve:
    """One run."""

    file: str
    solver: str
    trace: Trace
    converged: bool


def draw(curves: list[Curve], *, tol: float, paths: "list[CentralPath] | None" = None) -> "Figure":
    """One curve per run, coloured by solver, in a panel per file; a dot ends a run that converged, a cross one that did
    not. Of a few files over iterations and over seconds, of many over seconds only. Below, the central paths of
    interior-point methods, where there are any."""
    from matplotlib.figure import Figure

    solvers = list(dict.fromkeys(curve.solver for curve in curves))
    colour = dict(zip(solvers, _colours(len(solvers))))
    panels = _panels(curves)
    columns = len(panels) if len(panels) <= _BOTH else min(_COLUMNS, len(panels))
    over = (_ITERATIONS, _SECONDS) if len(panels) <= _BOTH else (_SECONDS,)
    if len(panels) == 1:
        rows, columns, size = 1, 2, (12.0, 5.2)
    else:
        rows = len(over) * -(-len(panels) // columns)
        size = (max(6.0, _WIDTH * columns) + 2.2, _HEIGHT * rows + 0.6)
    figure = Figure(figsize=(size[0], size[1] + (4.0 if paths else 0.0)), dpi=120, layout="constrained")
    upper: Any = figure
    if paths:
        from delassus.view.central_path import draw_paths

        parts: Any = figure.subfigures(2, 1, height_ratios=[size[1], 4.0])
        upper = parts[0]
        draw_paths(parts[1], paths)
    axes = upper.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    places = [(x, title, mine) for x in over for title, mine in panels.items()]
    for panel, (x, title, mine) in zip(axes, places):
        _draw_panel(panel, mine, x, colour, tol)
        panel.set_title(_short(title) if len(panels) > 1 else "", fontsize=8)
    for panel in axes[len(places) :]:
        panel.remove()
    for panel in axes[: len(places) : columns]:
        panel.set_ylabel("relative natural map", fontsize=10 if rows == 1 else 8)
    _mark_tolerance(axes[: len(places)], columns, tol)
    _legend(upper, next(iter(panels)) if len(panels) == 1 else f"{len(panels)} files", colour)
    return figure


def _panels(curves: list[Curve]) -> dict[str, list[Curve]]:
    """The curves of each panel, by its title."""
    files = list(dict.fromkeys(curve.file for curve in curves))
    if len(files) > _EACH:
        return {f"{len(files)} files": curves}
    return {file: [curve for curve in curves if curve.file == file] for file in files}


def _draw_panel(panel: "Axes", curves: list[Curve], x: str, colour: dict[str, Any], tol: float) -> None:
    from matplotlib.ticker import NullFormatter

    for curve in curves:
        found = np.nan_to_num(curve.trace.natural_map_relative, nan=_TOP, posinf=_TOP)
        residual = np.clip(found, _DEPTH * tol, _TOP)
        _line(panel, getattr(curve.trace, x), residual, curve.converged, colour[curve.solver])
    panel.axhline(tol, color="0.4", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    panel.set_yscale("log")
    panel.grid(True, color="0.92")
    panel.set_xlabel(x, fontsize=8)
    panel.tick_params(labelsize=8)
    if x == _ITERATIONS:
        panel.set_xscale("symlog", linthresh=1.0)  # iteration 0 is worth showing
        panel.set_xlim(left=0.0)
    else:
        panel.set_xscale("log")
        panel.xaxis.set_minor_formatter(NullFormatter())  # 3 × 10⁻⁴ beside 4 × 10⁻⁴ cannot be read
    if any(np.nanmin(curve.trace.natural_map_relative) < _DEPTH * tol for curve in curves):
        panel.set_ylim(bottom=_DEPTH * tol)
        panel.annotate(f"below {_DEPTH * tol:g}: at the edge", (0.01, 0.01), xycoords="axes fraction", fontsize=7)


def _mark_tolerance(axes: "Sequence[Axes]", columns: int, tol: float) -> None:
    """Beside the last panel of every row."""
    for k, panel in enumerate(axes):
        if k % columns == columns - 1 or k == len(axes) - 1:
            panel.annotate(f"tol\n{tol:g}", (1.01, tol), xycoords=("axes fraction", "data"), va="center", fontsize=8)


def image(figure: "Figure", kind: str) -> bytes:
    """The figure as the bytes of a png, pdf or svg file."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind)
    return stream.getvalue()


def _line(panel: "Axes", x: Sequence[float], residual: np.ndarray, converged: bool, colour: Any) -> None:
    panel.plot(x, residual, linewidth=1.3, alpha=0.85, color=colour)
    mark = "o" if converged else "X"
    panel.plot(x[-1:], residual[-1:], marker=mark, markersize=5, clip_on=False, zorder=3, color=colour)


def _colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    if count <= 10:
        return [colormaps["tab10"](k) for k in range(count)]
    return list(colormaps["turbo"](np.linspace(0.03, 0.95, count)))


def _legend(figure: "Figure", title: str, colour: dict[str, Any]) -> None:
    """Beside the panels, so that it covers no curve."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=value, label=name) for name, value in colour.items()]
    handles += [
        Line2D([], [], color="0.3", linestyle="none", marker="o", markersize=5, label="converged"),
        Line2D([], [], color="0.3", linestyle="none", marker="X", markersize=5, label="not converged"),
    ]
    figure.legend(
        handles=handles, title=_short(title), loc="outside right upper", fontsize=8, title_fontsize=9, frameon=False
    )


def _short(name: str, width: int = 34) -> str:
    name = name.removesuffix(".hdf5")
    return name if len(name) <= width else f"{name[: width // 2]}…{name[-(width // 2 - 1) :]}"
