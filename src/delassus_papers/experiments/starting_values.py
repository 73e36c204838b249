"""Mangoni, PhD thesis, §4.5, Mangoni and Tasora, §2.4: what the published method makes of other starts than ones.

Both starts are ones in SI units: velocities, reactions and y. Here they are 1e-4 to 1e4, on problems of six kinds.
Quick: without the settled balls. A few seconds, or half a minute in full.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus.scenes import find
from delassus.solvers import solve
from delassus.solvers.interior.settings import InteriorSettings
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Between, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import (
    AS_IN_MANGONI_TASORA,
    MANGONI_TASORA,
    THESIS,
    Rule,
    iterations,
    steps,
    thesis_ipm,
)
from delassus_papers.outcome import Picture

ONES = tuple(10.0**k for k in range(-4, 5))
"""In place of one."""
_DENSE = 100  # rows up to which matrices are factored as full ones: stacks need its pivots
_MOST = 100  # iterations: beyond, a run has failed
_TRIVIAL = ("ball", "brick")
_SETTLE = 40  # steps of the balls

CLAIMS = (
    Claim(
        "sensitive",
        "§4.5",
        "the algorithm is not completely insensitive to the default values of the start",
        "most over fewest iterations, worst problem",
        Between(1.1, np.inf, 1.1, in_words=True),
    ),
    Claim(
        "unstable",
        "§4.5",
        "changing the initial guess by order of magnitude may still lead to instabilities",
        "does a run fail from 0.1 or 10 in place of one?",
        Same(True, (False,)),
    ),
    Claim(
        "trivial",
        "§2.4",
        "Nocedal's start: also with trivial examples some failures have been experienced",
        "does a run of a ball or a brick fail, from whatever start?",
        Same(True, (False,)),
        "mangoni-tasora",
    ),
    Claim(
        "robust",
        "§2.4",
        "D'Apuzzo's start grants robustness in a wide range of scenarios",
        "part of all runs that end by their rule",
        Between(0.95, 1.0, 1.0, in_words=True),
        "mangoni-tasora",
    ),
)

Table = dict[str, dict[float, float]]
"""Iterations by problem and value of the start; inf where a run failed."""


def problems(quick: bool) -> dict[str, Problem]:
    given = {
        "ball": find("single-ball").build(),
        "brick": find("single-brick").build(),
        "brick of 2 m": find("single-brick").build(size=2.0),
        "10 spheres of 100 kg": find("stacked-spheres").build(n=10),
        "6 spheres of 10ⁿ kg": find("stacked-spheres").build(n=6, mass=10.0, ratio=10.0),
    }
    out = {name: next(steps(setup, setup.settings, 1))[0].problem for name, setup in given.items()}
    if not quick:
        box = find("balls-in-the-box").build(container=(64 / 1190) ** (1.0 / 3.0), reach=0.07)
        settings = replace(box.settings, solver="ipm", tol=1e-9, tol_velocity=1e-8)
        out["64 settled balls"] = next(steps(box, settings, 1, _SETTLE))[0].problem
    return out


def table(given: dict[str, Problem], settings: InteriorSettings, rule: Rule = THESIS) -> Table:
    def count(problem: Problem, ones: float) -> float:
        backend = "dense" if problem.row_count <= _DENSE else "auto"
        found = iterations(problem, settings.changed(ones=ones, backend=backend), rule, most=_MOST)
        return found.iterations if found.is_met else float("inf")

    return {name: {ones: count(problem, ones) for ones in ONES} for name, problem in given.items()}


_UNTOLD = "which examples failed is not said"


def findings(thesis: Table, nocedal: Table, dapuzzo: Table) -> dict[str, Found]:
    """thesis: with two step lengths; the others with one, as in Mangoni and Tasora."""
    near = any(np.isinf(row[ones]) for row in thesis.values() for ones in (0.1, 10.0))
    trivial = any(np.isinf(count) for name in _TRIVIAL for count in nocedal[name].values())
    met = [np.isfinite(count) for row in dapuzzo.values() for count in row.values()]
    ended = [[k for k in row.values() if np.isfinite(k)] for row in thesis.values()]
    spread = max((max(row) / min(row) for row in ended if row), default=float("nan"))
    return {
        "sensitive": Found(spread),
        "unstable": Found(near, why="" if near else _UNTOLD),
        "trivial": Found(trivial, why="" if trivial else _UNTOLD),
        "robust": Found(float(np.mean(met))),
    }


def _tables(given: dict[str, Problem]) -> dict[str, Table]:
    return {
        "thesis, eq. 4.23": table(given, thesis_ipm()),
        "Mangoni and Tasora, eq. 21": table(given, thesis_ipm(lengths="common"), MANGONI_TASORA),
        "Mangoni and Tasora, eq. 22": table(given, thesis_ipm(**AS_IN_MANGONI_TASORA), MANGONI_TASORA),
    }


def measure(folder: Path, quick: bool) -> Findings:
    given = problems(quick)
    tables = _tables(given)
    found = findings(*tables.values())
    _draw(folder / "starting-values.png", tables)
    facts = [
        Fact(
            f"{name}, {start}: iterations from 1e-4, …, 1e4",
            "–",
            _row(row),
            f"{solve(given[name], 'ipm', tol=1e-10, tol_velocity=1e-8).iterations}",
        )
        for start, rows in tables.items()
        for name, row in rows.items()
    ]
    return Findings(
        {**found},
        facts,
        [
            Picture(
                "starting-values.png",
                "§4.5",
                "Iterations of the published method from other values than one; crosses: it does not end.",
                "no curve in the papers",
            )
        ],
    )


def _row(row: dict[float, float]) -> str:
    return ", ".join("fails" if np.isinf(count) else f"{count:.0f}" for count in row.values())


def _draw(path: Path, tables: dict[str, Table]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    top = max(count for rows in tables.values() for row in rows.values() for count in row.values() if count < np.inf)
    for axes, (start, rows) in zip(figure.subplots(1, len(tables), sharey=True), tables.items()):
        for k, (name, row) in enumerate(rows.items()):
            ends = {ones: count for ones, count in row.items() if np.isfinite(count)}
            (line,) = axes.plot(list(ends), list(ends.values()), "o-", ms=4, label=name)
            lost = [ones for ones in row if ones not in ends]
            axes.plot(lost, [(1.06 + 0.03 * k) * top] * len(lost), "x", color=line.get_color())
        axes.axvline(1.0, color="0.6", lw=0.8, ls=":")
        axes.set(xscale="log", xlabel="value in place of one", title=start, ylim=(0, 1.25 * top))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("iterations")
    figure.axes[0].legend(fontsize=8, loc="upper left")
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "starting-values",
    ("mangoni", "mangoni-tasora"),
    "Interior point: sensitivity to the starting point",
    ("§4.5", "mangoni-tasora: §2.4"),
    CLAIMS,
    measure,
)
