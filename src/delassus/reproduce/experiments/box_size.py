"""Mangoni, PhD thesis, Table 5.3 and Figure 5.2, Mangoni and Tasora, Table 1: the number of iterations does not depend
on the number of balls.

In full: eight sizes, 50 steps each, two methods on every step; about ten minutes on one core. Quick: the two smallest
sizes of either table, the first eight steps.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from delassus.reproduce.measure.interior_runs import MANGONI_TASORA, THESIS, Rule, iterations, method, steps
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes import find

TABLE_5_3: dict[int, tuple[float, float]] = {64: (884, 17.2), 280: (3878, 17.9), 595: (8301, 17.7), 1190: (16798, 17.8)}
"""Balls: n_c, mean iterations over 50 steps."""
TABLE_1: dict[int, tuple[float, float]] = {60: (1200, 16.7), 160: (3200, 18.6), 225: (4500, 19.4), 690: (13800, 18.9)}
"""Balls: matrix size, mean iterations. The paper gives sizes only; the thesis has 20 rows and columns per ball."""
_STEPS, _STEPS_QUICK, _SIZES_QUICK = 50, 8, 2
_REACH = 0.07  # m: distance of balls that become a row; gives about as many contacts as the thesis has
_TARGET = 15.0  # iterations of variant fast, on average
_MANGONI, _MANGONI_TASORA = "Mangoni", "Mangoni and Tasora"
_FLAT = 1.25  # largest mean over the smallest, while balls grow 19-fold (Mangoni) and 11-fold


def run(folder: Path, quick: bool) -> Outcome:
    lines, curves, means = [], {}, {}
    for paper, table, rule, start in (
        (_MANGONI, TABLE_5_3, THESIS, "nocedal"), (_MANGONI_TASORA, TABLE_1, MANGONI_TASORA, "dapuzzo"),
    ):  # fmt: skip
        sizes = list(table)[: _SIZES_QUICK if quick else None]
        for balls in sizes:
            contacts, published, fast, curve = _one(balls, rule, start, _STEPS_QUICK if quick else _STEPS)
            means[paper, balls] = published, fast
            if paper == _MANGONI:
                curves[balls] = curve
            lines += _lines(paper, balls, table[balls], contacts, published, fast)
        for k, name in enumerate(("published method", "variant fast")):
            found = [means[paper, balls][k] for balls in sizes]
            spread = max(found) / min(found)
            lines.append(
                Line(f"{paper}: {name}, largest mean over smallest", f"{_spread(table, sizes):.2f}", f"{spread:.2f}",
                     spread <= _FLAT, f"at most {_FLAT}")
            )  # fmt: skip
    return Outcome(lines, [_picture(folder / "box-size.png", curves, means)])


def _one(balls: int, rule: Rule, start: str, count: int) -> tuple[float, float, float, dict[str, list[float]]]:
    """Mean number of contacts, mean iterations of the published method and of variant fast, and how the published one
    converged in the last step."""
    setup = find("balls-in-the-box").build(n=balls, container=_container(balls), reach=_REACH)
    settings = replace(setup.settings, solver=method(), tol=1e-9, tol_velocity=1e-8)
    contacts, published, fast = [], [], []
    curve: dict[str, list[float]] = {}
    for report, _ in steps(setup, settings, count):
        problem = report.problem
        contacts.append(problem.contact_count)
        done = iterations(problem, method(variant="thesis", start=start), rule)
        published.append(done.iterations)
        fast.append(iterations(problem, method(), rule).iterations)
        curve = done.details
    return float(np.mean(contacts)), float(np.mean(published)), float(np.mean(fast)), curve


def _container(balls: int) -> float:
    """Diameter [m]: the thesis's for its largest number, smaller in proportion. All its sizes have 14 contacts a ball;
    in a container of 1 m 64 balls lie in one layer and have five."""
    return (balls / max(TABLE_5_3)) ** (1.0 / 3.0)


def _lines(
    paper: str, balls: int, printed: tuple[float, float], contacts: float, published: float, fast: float
) -> list[Line]:
    size, theirs = printed
    what = f"n_v = {6 * balls}" if paper == _MANGONI else f"matrix of {size:.0f}"
    return [
        Line(f"{paper}, {what}: iterations per step, published method", f"{theirs}", f"{published:.1f}",
             published <= theirs, "no more than the paper's"),
        Line(f"{paper}, {what}: iterations per step, variant fast", f"{theirs}", f"{fast:.1f}", fast <= _TARGET,
             f"at most {_TARGET:.0f}"),
        Line(f"{paper}, {what}: contacts" if paper == _MANGONI else f"{paper}, {what}: rows and columns",
             f"{size:.0f}", f"{contacts + (0 if paper == _MANGONI else 6 * balls):.0f}", None,
             why="the papers' first places and contact envelope are not given"),
    ]  # fmt: skip


def _spread(table: dict[int, tuple[float, float]], sizes: list[int]) -> float:
    values = [table[balls][1] for balls in sizes]
    return max(values) / min(values)


def _picture(
    path: Path, curves: dict[int, dict[str, list[float]]], means: dict[tuple[str, int], tuple[float, float]]
) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.2))
    left, right = figure.subplots(1, 2)
    colours = ("#0b66a8", "#d1495b", "#3a7d44", "#e09f3e")
    for colour, (balls, curve) in zip(colours, curves.items()):
        count = np.arange(1, len(curve["tau"]) + 1)
        left.semilogy(count, curve["tau"], color=colour, label=f"n_v = {6 * balls}: μ [J]")
        primal = np.maximum(curve["primal"], 1e-17)  # of the point each iteration started from
        left.semilogy(count - 1, primal, color=colour, ls="--", lw=0.9, label="largest |r_p| [m/s]")
    left.axhline(THESIS.mu, color="0.5", lw=0.8, ls=":")
    left.set(xlabel="iteration", ylabel="residuals", title="Figure 5.2: convergence of the last step")
    left.legend(fontsize=7)
    for paper, table, colour in ((_MANGONI, TABLE_5_3, "#0b66a8"), (_MANGONI_TASORA, TABLE_1, "#d1495b")):
        sizes = [balls for (name, balls) in means if name == paper]
        x = [6 * balls for balls in sizes]
        right.plot([6 * balls for balls in table], [row[1] for row in table.values()], "o:", color=colour, mfc="white",
                   label=f"{paper}, printed")  # fmt: skip
        right.plot(x, [means[paper, balls][0] for balls in sizes], "s-", color=colour,
                   label=f"{paper}, published method, ours")  # fmt: skip
        right.plot(x, [means[paper, balls][1] for balls in sizes], "^--", color=colour, label=f"{paper}, variant fast")
    right.set(xscale="log", xlabel="velocities n_v", ylabel="mean iterations per step", ylim=(0, 22),
              title="Mangoni, PhD thesis, Table 5.3 and Mangoni and Tasora, Table 1")  # fmt: skip
    ticks = [6 * balls for balls in TABLE_5_3]
    right.set_xticks(ticks, [str(n) for n in ticks])
    right.minorticks_off()
    right.legend(fontsize=7, ncol=2, loc="lower right")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    return path


EXPERIMENT = Experiment(
    "box-size",
    "Mangoni, PhD thesis, Table 5.3, Fig. 5.2; Mangoni and Tasora, Table 1",
    "Interior point: iterations over the number of balls",
    run,
)
