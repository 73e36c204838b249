"""Residual against iterations and against seconds, many runs in one figure."""

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

_NAMED = 16  # more files than this are not named one by one: nobody matches 40 colours
_DEPTH = 1e-4  # smallest residual shown, as a fraction of tol: a run that ends at 1e-16 should not squeeze the rest
_TOP = 1e3  # largest residual shown: a run that diverges leaves there
_DASHES = ["solid", "dashed", "dotted", "dashdot", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3))]


@dataclass(frozen=True)
class Curve:
    """One run."""

    file: str
    solver: str
    trace: Trace
    converged: bool


def draw(curves: list[Curve], *, tol: float, paths: "list[CentralPath] | None" = None) -> "Figure":
    """Two panels, one curve per run; a dot ends a run that converged, a cross one that did not. Below, the central
    paths of interior-point methods, where there are any.

    One entry per curve would drown the legend, so colours and dashes are named instead: colour is the file and dash
    the solver, or, with one file or with very many, colour is the solver.
    """
    from matplotlib.figure import Figure

    files = list(dict.fromkeys(curve.file for curve in curves))
    solvers = list(dict.fromkeys(curve.solver for curve in curves))
    by_file = 1 < len(files) <= _NAMED
    colour = dict(zip(files if by_file else solvers, _colours(len(files if by_file else solvers))))
    dash = {name: _DASHES[k % len(_DASHES)] if by_file else "solid" for k, name in enumerate(solvers)}
    figure = Figure(figsize=(12, 9.2 if paths else 5.2), dpi=120, layout="constrained")
    upper: Any = figure
    if paths:
        from delassus.view.central_path import draw_paths

        parts: Any = figure.subfigures(2, 1, height_ratios=[5.2, 4.0])
        upper = parts[0]
        draw_paths(parts[1], paths)
    axes = upper.subplots(1, 2, sharey=True)
    floor = _DEPTH * tol
    for curve in curves:
        style = {"color": colour[curve.file if by_file else curve.solver], "linestyle": dash[curve.solver]}
        residual = np.clip(np.nan_to_num(curve.trace.natural_map_relative, nan=_TOP, posinf=_TOP), floor, _TOP)
        _line(axes[0], curve.trace.iterations, residual, curve.converged, style)
        _line(axes[1], curve.trace.seconds, residual, curve.converged, style)
    for panel in axes:
        panel.axhline(tol, color="0.4", linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        panel.set_yscale("log")
        panel.grid(True, color="0.92")
    axes[1].annotate(f"tol\n{tol:g}", (1.01, tol), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    if any(np.nanmin(curve.trace.natural_map_relative) < floor for curve in curves):
        axes[0].set_ylim(bottom=floor)
        axes[0].annotate(f"below {floor:g}: drawn at the edge", (0.01, 0.01), xycoords="axes fraction", fontsize=8)
    axes[0].set_xscale("symlog", linthresh=1.0)  # iteration 0 is worth showing
    axes[0].set_xlim(left=0.0)
    axes[1].set_xscale("log")
    axes[0].set_xlabel("iterations")
    axes[1].set_xlabel("seconds")
    axes[0].set_ylabel("relative natural map")
    _legend(upper, files, solvers, by_file, colour, dash)
    return figure


def image(figure: "Figure", kind: str) -> bytes:
    """The figure as the bytes of a png, pdf or svg file."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind)
    return stream.getvalue()


def _line(panel: "Axes", x: Sequence[float], residual: np.ndarray, converged: bool, style: dict[str, Any]) -> None:
    panel.plot(x, residual, linewidth=1.3, alpha=0.85, **style)
    panel.plot(
        x[-1:],
        residual[-1:],
        marker="o" if converged else "X",
        markersize=5,
        clip_on=False,
        zorder=3,
        color=style["color"],
    )


def _colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    if count <= 10:
        return [colormaps["tab10"](k) for k in range(count)]
    return list(colormaps["turbo"](np.linspace(0.03, 0.95, count)))


def _legend(
    figure: "Figure", files: list[str], solvers: list[str], by_file: bool, colour: dict[str, Any], dash: dict[str, Any]
) -> None:
    """Beside the panels, so that it covers no curve."""
    from matplotlib.lines import Line2D

    handles = []
    if by_file:
        handles += [Line2D([], [], color=colour[name], label=_short(name)) for name in files]
        if len(solvers) > 1:
            handles += [Line2D([], [], color="0.3", linestyle=dash[name], label=name) for name in solvers]
    else:
        handles += [Line2D([], [], color=colour[name], label=name) for name in solvers]
    title = _short(files[0]) if len(files) == 1 else f"{len(files)} files"
    if by_file and len(solvers) == 1:
        title = solvers[0]
    handles += [
        Line2D([], [], color="0.3", linestyle="none", marker="o", markersize=5, label="converged"),
        Line2D([], [], color="0.3", linestyle="none", marker="X", markersize=5, label="not converged"),
    ]
    figure.legend(handles=handles, title=title, loc="outside right upper", fontsize=8, title_fontsize=9, frameon=False)


def _short(name: str, width: int = 34) -> str:
    name = name.removesuffix(".hdf5")
    return name if len(name) <= width else f"{name[: width // 2]}…{name[-(width // 2 - 1) :]}"
