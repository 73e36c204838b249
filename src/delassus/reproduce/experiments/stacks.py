"""Mangoni, PhD thesis, §5.3.3 and Figure 5.6: stacked spheres, equal ones and each ten times as heavy as the one below.

Quick: fewer numbers of spheres. Either takes less than a minute.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from delassus.model.state import State
from delassus.reproduce.measure.published_interior import iterations
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes import find
from delassus.scenes.stacked_spheres import sunk
from delassus.simulation import Memory, StepReport, step

EQUAL = (100.0, 1e6, 1e12)
"""Masses of equal spheres [kg]."""
_GROWING = "10ⁿ kg"
_COUNTS, _COUNTS_GROWING = (2, 5, 10, 20, 30, 40, 50), (2, 4, 6, 8, 10, 12, 15, 18, 20, 25)
_FEW, _FEW_GROWING = (2, 5, 10, 20), (2, 5, 10, 15, 20)
_STEPS, _SUNK = 50, 1e-3
_SOLVERS = ("auto", "ipm")
_WHY_GROWTH = (
    "the start of eq. 4.23 knows no sizes: reactions grow with the height of the stack, and each iteration multiplies "
    "them by a bounded factor; from reactions of the problem's size the dashed lines come out flat"
)
_WHY_TWO = (
    "8192 N s is one unit in the last place of what 20 spheres press with, 800 m/s of 10 kg: reactions are kept, and "
    "judged, in two doubles each"
)


def run(folder: Path, quick: bool) -> Outcome:
    counts = {
        **{f"{mass:g} kg": _curve(mass, 1.0, _FEW if quick else _COUNTS) for mass in EQUAL},
        _GROWING: _curve(10.0, 10.0, _FEW_GROWING if quick else _COUNTS_GROWING),
    }
    lines = _iteration_lines(counts)
    height = 10 if quick else 50
    for mass in EQUAL:
        for solver in _SOLVERS:
            lines.append(_standing(height, mass, 1.0, solver, f"{height} spheres of {mass:g} kg"))
    for count in (15, 20):
        for solver in _SOLVERS:
            lines.append(_standing(count, 10.0, 10.0, solver, f"{count} spheres of 10ⁿ kg"))
    return Outcome(lines, [_picture(folder / "stacked-spheres.png", counts)])


# -- iterations -------------------------------------------------------------------------------------------------------


def _curve(mass: float, ratio: float, counts: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """Number of spheres: iterations of the published method from its own start, and from one of the problem's size."""
    out = {}
    for n in counts:
        setup = find("stacked-spheres").build(n=n, mass=mass, ratio=ratio)
        _, report = step(setup.model, setup.state, None, setup.settings, Memory())
        heaviest = mass * ratio ** (n - 1)
        out[n] = (
            iterations(report.problem, published=True),
            iterations(report.problem, published=False, mass=heaviest),
        )
    return out


def _iteration_lines(counts: dict[str, dict[int, tuple[int, int]]]) -> list[Line]:
    light, middle, heavy = (counts[f"{mass:g} kg"] for mass in EQUAL)
    first, last = 5, max(light)
    same = 10
    found = [curve[same][0] for curve in (light, middle, heavy)]
    lines = [
        Line(f"equal spheres, {same} of 100, 1e6 and 1e12 kg: iterations", "change with the weight",
             ", ".join(map(str, found)), found[0] < found[1] < found[2], "more for heavier ones",
             "the rule is in joules: heavier spheres start further from it"),
        Line("the same with start and rule of the problem's size", "–",
             ", ".join(str(curve[same][1]) for curve in (light, middle, heavy)), None),
    ]  # fmt: skip
    for mass, curve in zip(EQUAL, (light, middle, heavy)):
        growth = curve[last][0] - curve[first][0]
        small = growth <= 0.2 * curve[first][0]
        lines.append(
            Line(f"{mass:g} kg, from {first} to {last} spheres: iterations", "do not change with the number",
                 f"{curve[first][0]} to {curve[last][0]}", small, "at most a fifth more", "" if small else _WHY_GROWTH)
        )  # fmt: skip
    n = np.array(list(counts[_GROWING]))
    its = np.array([value[0] for value in counts[_GROWING].values()])
    slope, offset = np.polyfit(n, its, 1)
    miss = float(np.abs(slope * n + offset - its).max() / its.max())
    lines.append(
        Line("10ⁿ kg: iterations over n", "grow linearly with the exponent", f"{slope:.1f} n {offset:+.1f}, "
             f"{100 * miss:.0f} % off at worst", bool(slope > 0.5 and miss <= 0.1), "a line fits to 10 %")
    )  # fmt: skip
    scaled = [value[1] for value in counts[_GROWING].values()]
    lines.append(Line("the same from a start of the problem's size", "–", f"{min(scaled)} to {max(scaled)}", None))
    return lines


# -- standing ---------------------------------------------------------------------------------------------------------


def _standing(n: int, mass: float, ratio: float, solver: str, what: str) -> Line:
    """50 steps with the library's own step: does anything sink?"""
    setup = find("stacked-spheres").build(n=n, mass=mass, ratio=ratio)
    norm, worst, converged, two = 0.0, 0.0, 0, 0

    def watch(k: int, state: State, report: StepReport, memory: Memory) -> None:
        nonlocal norm, worst, converged, two
        del k, state, memory
        residuals = report.solution.residuals
        norm, worst = max(norm, residuals.natural_map_relative), max(worst, residuals.worst_velocity)
        converged += report.solution.converged
        two += report.solution.reactions_low is not None

    settings = replace(setup.settings, solver=solver)
    run = setup.run(steps=_STEPS, settings=settings, watch=watch)
    depth = float(sunk(setup, run).max())
    ours = f"sinks {depth:.0e} d; {converged} of {_STEPS} steps converged, norm {norm:.0e}, worst {worst:.0e} m/s"
    if two:
        ours += f"; {two} in two doubles"
    paper = "stands" if ratio == 1.0 or n <= 15 else "not reached"
    stands = depth <= _SUNK and converged == _STEPS
    return Line(f"{what}, {_STEPS} steps, {solver}", paper, ours, stands,
                f"sinks at most {_SUNK:g} diameters, every step converged", _WHY_TWO if two else "")  # fmt: skip


def _picture(path: Path, counts: dict[str, dict[int, tuple[int, int]]]) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5))
    axes = figure.subplots()
    for colour, (label, curve) in zip(("#0b66a8", "#3a7d44", "#e09f3e", "#d1495b"), counts.items()):
        axes.plot(list(curve), [value[0] for value in curve.values()], "o-", color=colour, label=label)
        axes.plot(list(curve), [value[1] for value in curve.values()], "--", color=colour, lw=1)
    axes.plot([], [], "k--", lw=1, label="start and rule of the problem's size")
    axes.axvline(15, color="0.6", lw=0.8, ls=":")
    axes.text(
        14.7, 0.97 * axes.get_ylim()[1], "10ⁿ kg: the thesis\nends here", fontsize=8, color="0.35", ha="right", va="top"
    )
    axes.set(xlabel="spheres in the stack", ylabel="iterations", xlim=(0, None), ylim=(0, None),
             title="Figure 5.6: stacked spheres")  # fmt: skip
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    return path


EXPERIMENT = Experiment("stacked-spheres", "Mangoni, PhD thesis, Fig. 5.6", "Stacked spheres with odd mass ratios", run)
