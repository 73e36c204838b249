"""Mangoni, PhD thesis, Table 5.3 and Figure 5.2, Mangoni and Tasora, Table 1 and Figure 1: the number of iterations
does not depend on the number of balls.

Balls are poured, and settle for 50 steps; iterations are means over the steps that follow. In full: eight sizes, 50
steps each, about ten minutes on one core. Quick: the two smallest sizes of either table, settled alike, four steps.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus.scenes import find
from delassus.solvers.interior.settings import InteriorSettings
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import LESS, Between, Near
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import (
    AS_IN_MANGONI_TASORA,
    MANGONI_TASORA,
    THESIS,
    Figures,
    Rule,
    iterations,
    method,
    steps,
    thesis_ipm,
)
from delassus_papers.outcome import Picture

TABLE_5_3: dict[int, tuple[float, float]] = {64: (884, 17.2), 280: (3878, 17.9), 595: (8301, 17.7), 1190: (16798, 17.8)}
"""Balls: n_c, mean iterations over 50 steps."""
TABLE_1: dict[int, tuple[float, float]] = {60: (1200, 16.7), 160: (3200, 18.6), 225: (4500, 19.4), 690: (13800, 18.9)}
"""Balls: matrix size, mean iterations. The paper gives sizes only; the thesis has 20 rows and columns per ball."""
_STEPS, _STEPS_QUICK, _SIZES_QUICK = 50, 4, 2
_SETTLE = 50  # steps: until numbers of contacts stay
_REACH = 0.07  # m: distance of balls that become a row; gives about as many contacts as the thesis has
_NEAR = 1.25  # factor between counts of iterations: first places, gap and container are not given
_OTHER_START = 3  # steps on which another start is tried
_SPREADS = {"mangoni": 17.9 / 17.2, "mangoni-tasora": 19.4 / 16.7}  # largest mean over the smallest, printed
_PLACE = {"mangoni": "Table 5.3", "mangoni-tasora": "Table 1"}
_RESULTS = {"mangoni": "chapter 5", "mangoni-tasora": "§4"}  # where either says by what its method stops


def _claims() -> tuple[Claim, ...]:
    out = []
    for paper, table in (("mangoni", TABLE_5_3), ("mangoni-tasora", TABLE_1)):
        for balls, (size, mean) in table.items():
            what = f"n_v = {6 * balls}, {size:.0f} contacts" if paper == "mangoni" else f"matrix of {size:.0f} rows"
            out.append(
                Claim(
                    f"{paper}-{balls}",
                    _PLACE[paper],
                    f"{what}: {mean} iterations",
                    "mean iterations a step",
                    Near(mean, _NEAR, LESS),
                    paper,
                )
            )
        out.append(
            Claim(
                f"{paper}-spread",
                _PLACE[paper],
                "the number of iterations does not change with the size",
                "largest mean over the smallest",
                Between(1.0, _NEAR, _SPREADS[paper]),
                paper,
            )
        )
    return tuple(out)


CLAIMS = _claims()


@dataclass(frozen=True, eq=False)
class Size:
    """Means over steps: contacts, iterations as published, from the start of §4.14.4, and of our variant; curve: how
    the published method converged in the last step."""

    contacts: float
    published: float
    other_start: float
    fast: float
    curve: list[Figures]


def problems(balls: int, count: int) -> list[Problem]:
    """Of the steps after the balls have settled."""
    setup = find("balls-in-the-box").build(n=balls, container=_container(balls), reach=_REACH)
    settings = replace(setup.settings, solver=method(), tol=1e-9, tol_velocity=1e-8)
    return [report.problem for report, _ in steps(setup, settings, count, _SETTLE)]


def size_of(given: list[Problem], settings: InteriorSettings, rule: Rule) -> Size:
    """A step that does not end by the rule counts as nan."""

    def mean(some: list[Problem], one: InteriorSettings) -> float:
        return float(np.mean([k.iterations if k.is_met else np.nan for k in (iterations(p, one, rule) for p in some)]))

    other = mean(given[:_OTHER_START], settings.changed(start="two-step"))
    last = iterations(given[-1], settings, rule)
    contacts = float(np.mean([problem.contact_count for problem in given]))
    return Size(contacts, mean(given, settings), other, mean(given, method()), last.figures)


def measure(folder: Path, quick: bool) -> Findings:
    sizes: dict[tuple[str, int], Size] = {}
    found: dict[str, Found | NotTested] = {}
    for paper, table, rule, changes in (
        ("mangoni", TABLE_5_3, THESIS, {}),
        ("mangoni-tasora", TABLE_1, MANGONI_TASORA, AS_IN_MANGONI_TASORA),
    ):
        settings = thesis_ipm(linear="body", **changes)  # the iterates of the published matrix, sooner
        for k, balls in enumerate(table):
            if quick and k >= _SIZES_QUICK:
                found[f"{paper}-{balls}"] = NotTested("the two smallest sizes alone: the others are for full runs")
                continue
            size = sizes[paper, balls] = size_of(problems(balls, _STEPS_QUICK if quick else _STEPS), settings, rule)
            found[f"{paper}-{balls}"] = _found(size, table[balls][1])
        counted = [size for (name, _), size in sizes.items() if name == paper]
        found[f"{paper}-spread"] = Found(
            _spread([size.published for size in counted]), _spread([size.fast for size in counted])
        )
    pictures = []
    for paper, of, rule, name in (
        ("mangoni", "Figure 5.2", THESIS, "box-size-convergence.png"),
        ("mangoni-tasora", "Figure 1", MANGONI_TASORA, "box-size-convergence-mangoni-tasora.png"),
    ):
        curves = {balls: size.curve for (known, balls), size in sizes.items() if known == paper}
        _draw_convergence(folder / name, curves, rule, f"{of}: convergence, balls in the box")
        pictures.append(
            Picture(
                name,
                of,
                f"Residuals and μ over the iterations of the last step, per row and velocity "
                f"as in {_RESULTS[paper]}; dotted: the rule by which the method stops. Zero is drawn "
                "at 1e-17.",
                "curve not available",
            )
        )
    _draw(folder / "box-size.png", sizes)
    return Findings(
        found,
        _facts(sizes, quick),
        [
            *pictures,
            Picture(
                "box-size.png",
                "Table 5.3",
                "Mean iterations a step over the number of velocities.",
                "means of both tables",
            ),
        ],
    )


def _found(size: Size, printed: float) -> Found:
    """The start is held responsible only where another one brings agreement."""
    criterion = Near(printed, _NEAR, LESS)
    explains = criterion.judge(size.published) != "agrees" == criterion.judge(size.other_start)
    evidence = f"from the start of §4.14.4 {size.other_start:.1f}" if explains else ""
    return Found(size.published, size.fast, "the start, in SI units" if explains else "", evidence)


def _spread(means: list[float]) -> float:
    return float(np.max(means) / np.min(means))


def _container(balls: int) -> float:
    """Diameter [m]: the thesis's for its largest number, smaller in proportion. All its sizes have 14 contacts a ball;
    in a container of 1 m 64 balls lie in one layer and have five."""
    return (balls / max(TABLE_5_3)) ** (1.0 / 3.0)


def _facts(sizes: dict[tuple[str, int], Size], quick: bool) -> list[Fact]:
    out = [
        Fact("diameter of the container, 1190 balls", "1 m", "1 m"),
        Fact(
            "diameter of the container, fewer balls",
            "1 m",
            ", ".join(
                f"{balls}: {_container(balls):.2f} m" for paper, balls in sizes if paper == "mangoni" and balls != 1190
            ),
            "as many contacts a ball as printed",
        ),
        Fact("distance at which balls become a row", "not given", f"{_REACH:g} m"),
        Fact("steps counted, after those to settle", "50", f"{_STEPS_QUICK if quick else _STEPS}, {_SETTLE}"),
    ]
    for (paper, balls), size in sizes.items():
        if paper == "mangoni":
            printed = TABLE_5_3[balls][0]
            out.append(
                Fact(
                    f"contacts, n_v = {6 * balls}",
                    f"{printed:.0f} ({printed / balls:.1f} a ball)",
                    f"{size.contacts:.0f} ({size.contacts / balls:.1f})",
                )
            )
        else:
            out.append(
                Fact(f"rows and columns, {balls} balls", f"{TABLE_1[balls][0]:.0f}", f"{size.contacts + 6 * balls:.0f}")
            )
        out.append(Fact(f"iterations from the start of §4.14.4, {balls} balls", published=f"{size.other_start:.1f}"))
    return out


_COLOURS = ("#0b66a8", "#d1495b", "#3a7d44", "#e09f3e")


def _draw_convergence(path: Path, curves: dict[int, list[Figures]], rule: Rule, title: str) -> None:
    """Residuals and μ of one step. curves: by number of balls."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    for colour, (balls, curve) in zip(_COLOURS, curves.items()):
        count = np.arange(1, len(curve) + 1)
        for style, width, name, values in (
            ("-", 1.6, "μ [J]", [one.mu for one in curve]),
            ("--", 1.1, "‖r_p‖/n_λ [m/s]", [one.primal for one in curve]),
            (":", 1.4, "‖r_d‖/n_v [N s]", [one.momentum for one in curve]),
        ):
            axes.semilogy(
                count, np.maximum(values, 1e-17), style, color=colour, lw=width, label=f"n_v = {6 * balls}: {name}"
            )
    axes.axhline(rule.mu, color="0.6", lw=0.8, ls=":")
    axes.axhline(rule.primal, color="0.6", lw=0.8, ls=":")
    axes.set(xlabel="iteration", ylabel="residuals", title=title)
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=8, ncol=max(1, len(curves) // 2))
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


def _draw(path: Path, sizes: dict[tuple[str, int], Size]) -> None:
    """Iterations over the number of velocities, beside both tables."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.subplots()
    for paper, table, colour in (("mangoni", TABLE_5_3, _COLOURS[0]), ("mangoni-tasora", TABLE_1, _COLOURS[1])):
        mine = {balls: size for (name, balls), size in sizes.items() if name == paper}
        x, name = [6 * balls for balls in mine], _PLACE[paper]
        axes.plot(
            [6 * balls for balls in table],
            [row[1] for row in table.values()],
            "o:",
            color=colour,
            mfc="white",
            label=f"{name}, printed",
        )
        axes.plot(x, [size.published for size in mine.values()], "s-", color=colour, label=f"{name}, published method")
        axes.plot(x, [size.fast for size in mine.values()], "^--", color=colour, label=f"{name}, `ipm`")
    axes.set(
        xscale="log",
        xlabel="velocities n_v",
        ylabel="mean iterations per step",
        ylim=(0, 22),
        title="Iterations over the number of balls",
    )
    ticks = [6 * balls for balls in TABLE_5_3]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=8, ncol=2, loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "box-size",
    ("mangoni", "mangoni-tasora"),
    "Interior point: iterations over the number of balls",
    ("Table 5.3", "Figure 5.2", "mangoni-tasora: Table 1", "mangoni-tasora: Figure 1"),
    CLAIMS,
    measure,
)
