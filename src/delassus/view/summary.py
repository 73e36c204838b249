"""One run at a glance: penetration, residual, joint drift, energy, iterations and contacts over time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.io.recording import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOOR = 1e-16  # smallest value on logarithmic axes: exact zeros are drawn there
_WIDTH, _HEIGHT = 12.0, 7.5  # inches, without pictures
_POINTS = 4000  # more than a figure can show; long runs are drawn by the extremes of stretches of steps


def draw(run: Trajectory, *, title: str, tol: float, strip: np.ndarray | None = None) -> "Figure":
    """Six panels over simulated time; steps that did not converge are marked in red.  strip: (height, width, 3) bytes,
    pictures of the run that stand above them."""
    from matplotlib.figure import Figure

    tall = 0.0 if strip is None else _WIDTH * strip.shape[0] / strip.shape[1]
    figure = Figure(figsize=(_WIDTH, _HEIGHT + tall), dpi=110, layout="constrained")
    plots: Any = figure
    if strip is not None:
        both: Any = figure.subfigures(2, 1, height_ratios=[tall, _HEIGHT])
        above, plots = both
        shown = above.add_axes((0.0, 0.0, 1.0, 1.0))
        shown.imshow(strip, aspect="auto")
        shown.set_axis_off()
    panels = plots.subplots(3, 2, sharex=True).ravel()
    t = run.t[1:]
    _logarithmic(panels[0], t, run.penetration, "penetration [m]", "no penetration")
    _logarithmic(panels[1], t, run.residual, "relative natural map [-]", "nothing to solve")
    panels[1].axhline(tol, color="0.4", linewidth=1, linestyle=(0, (4, 3)))
    panels[1].annotate(f"tol {tol:g}", (1.0, tol), xycoords=("axes fraction", "data"), ha="right", va="top", fontsize=8)
    _logarithmic(panels[2], t, run.drift, "joint drift [m, rad]", "no joints, or exact")
    _energy(panels[3], run)
    _line(panels[4], t, run.iterations, "C0")
    panels[4].set_ylabel("iterations")
    if run.iterations.max(initial=0) > 200:
        panels[4].set_yscale("symlog", linthresh=100)
    panels[4].set_ylim(bottom=0)
    _line(panels[5], t, run.contact_counts, "C0")
    panels[5].set_ylabel("contacts")
    panels[5].set_ylim(bottom=0)
    failed = t[~run.converged] if run.step_count else t
    for panel in (panels[1], panels[4]) if len(failed) else ():
        panel.plot(
            failed, np.full(len(failed), 0.97), "x", color="C3", markersize=5, transform=panel.get_xaxis_transform()
        )
    for panel in panels:
        panel.grid(True, color="0.92")
        panel.set_xlim(float(run.t[0]), float(run.t[-1]) if run.step_count else None)
    for panel in panels[4:]:
        panel.set_xlabel("simulated time [s]")
    marks = f"; {len(failed)} did not converge (red crosses)" if len(failed) else ""
    plots.suptitle(f"{title}: {run.step_count} steps{marks}", fontsize=11)
    return figure


def _logarithmic(panel: "Axes", t: np.ndarray, values: np.ndarray, label: str, nothing: str) -> None:
    panel.set_ylabel(label)
    if not np.any(values > 0):
        panel.set_yticks([])
        panel.annotate(nothing, (0.5, 0.5), xycoords="axes fraction", ha="center", color="0.5")
        return
    panel.set_yscale("log")
    _line(panel, t, np.maximum(values, _FLOOR), "C0")


def _energy(panel: "Axes", run: Trajectory) -> None:
    """Potential energy from its lowest value on: only differences mean something."""
    kinetic, potential = run.energy.T
    potential = potential - potential.min()
    for values, colour, label in (
        (kinetic, "C1", "kinetic"),
        (potential, "C2", "potential, from its lowest"),
        (kinetic + potential, "0.2", "total"),
    ):
        _line(panel, run.t, values, colour, label)
    panel.set_ylabel("energy [J]")
    panel.legend(fontsize=8, frameon=False)


def _line(panel: "Axes", t: np.ndarray, values: np.ndarray, colour: str, label: str | None = None) -> None:
    """A curve, thinned to the lowest and highest value of each stretch so that no peak is lost."""
    if len(t) > _POINTS:
        width = -(-len(t) // (_POINTS // 2))
        start = np.arange(0, len(t), width)
        lowest, highest = np.minimum.reduceat(values, start), np.maximum.reduceat(values, start)
        t, values = np.repeat(t[start], 2), np.stack([lowest, highest], axis=1).ravel()
    panel.plot(t, values, linewidth=1.1, color=colour, label=label)
