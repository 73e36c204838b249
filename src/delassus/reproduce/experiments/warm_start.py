"""Mangoni, PhD thesis, Table 5.1 and Mangoni and Tasora, Table 2: iterations with nothing, velocities or everything
taken from the step before.

Quick: ten steps of the balls in place of 50. Either takes less than a minute.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus.reproduce.measure.interior_runs import MANGONI_TASORA, THESIS, Rule, iterations, method, steps
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes import find
from delassus.scenes.scene import Setup
from delassus.solvers.interior.settings import WARM, Ipm

# test: scene, calls, iterations with none, partial and full warm start; both papers print the same figures
TABLE = {
    "single ball": ("single-ball", 100, (720, 515, 90)),
    "single brick": ("single-brick", 100, (499, 370, 81)),
    "balls in the box": ("balls-in-the-box", 50, (935, 927, 747)),
}
# paper: rule it stops by, starting point
PAPERS = {"Mangoni, Table 5.1": (THESIS, "nocedal"), "Mangoni and Tasora, Table 2": (MANGONI_TASORA, "dapuzzo")}
_NEAR = 0.05  # how much a part may exceed the paper's and still agree
_CALLS_QUICK = {"balls in the box": 10}


def run(folder: Path, quick: bool) -> Outcome:
    counts: dict[tuple[str, str], dict[str, int]] = {key: {} for key in ((p, t) for p in PAPERS for t in TABLE)}
    lines = []
    for test, (scene, calls, _) in TABLE.items():
        count = _CALLS_QUICK.get(test, calls) if quick else calls
        sequence = list(_problems(find(scene).build(), count))
        for paper, (rule, start) in PAPERS.items():
            counts[paper, test] = _counts(sequence, rule, start)
            lines += _lines(paper, test, count, counts[paper, test])
    return Outcome(lines, [_picture(folder / "warm-start.png", counts)])


def _problems(setup: Setup, count: int) -> Iterator[tuple[Problem, np.ndarray]]:
    """Each step's problem and what the step before left."""
    for report, guess in steps(setup, replace(setup.settings, tol=1e-10, tol_velocity=1e-9), count):
        yield report.problem, guess


def _counts(sequence: list[tuple[Problem, np.ndarray]], rule: Rule, start: str) -> dict[str, int]:
    """Iterations of all calls together, by warm start; "iterates first": full, without looking at the guess."""

    def total(settings: Ipm, *, uses_guess: bool, looks_first: bool = True) -> int:
        return sum(iterations(p, settings, rule, guess if uses_guess else None, looks_first=looks_first).iterations
                   for p, guess in sequence)  # fmt: skip

    out = {}
    for warm in WARM:
        # velocities alone do not say whether the guess solves it; only a full one may be looked at before iterating
        settings = method(variant="thesis", start=start, warm=warm)
        out[warm] = total(settings, uses_guess=warm != "none", looks_first=warm == "full")
    full = method(variant="thesis", start=start, warm="full")
    out["iterates first"] = total(full, uses_guess=True, looks_first=False)
    out["fast"], out["fast, guess"] = total(method(), uses_guess=False), total(method(), uses_guess=True)
    return out


def _lines(paper: str, test: str, calls: int, found: dict[str, int]) -> list[Line]:
    none, partial, full = TABLE[test][2]
    per_call, theirs = found["none"] / calls, none / TABLE[test][1]
    lines = [
        Line(f"{paper}, {test}: iterations per call, no warm start", f"{theirs:.2f}", f"{per_call:.2f}",
             per_call <= 1.1 * theirs, "at most 1.1 times the paper's",
             "" if per_call <= 1.1 * theirs else "a start of ones is in SI units and sizes are not given: bricks of "
             "0.1 to 2 m take 6 to 10 iterations"),
    ]  # fmt: skip
    for warm, value in (("partial", partial), ("full", full)):
        part, wanted = found[warm] / found["none"], value / none
        near = part <= wanted + _NEAR
        lines.append(
            Line(f"{paper}, {test}: {warm} warm start over none", f"{value} / {none} = {wanted:.3f}",
                 f"{found[warm]} / {found['none']} = {part:.3f}", near,
                 f"at most the paper's part, or {_NEAR} more", "" if near else "velocities are eliminated here: only "
                 "what follows from them can be reused")
        )  # fmt: skip
    lines.append(
        Line(f"{paper}, {test}: full, iterating once before looking", "–", str(found["iterates first"]), None,
             why="the papers' loop; ours looks at the guess first, and a body at rest then costs nothing")
    )  # fmt: skip
    lines.append(
        Line(f"{paper}, {test}: variant fast, none and with a guess", "–", f"{found['fast']}, {found['fast, guess']}",
             None)
    )  # fmt: skip
    return lines


def _picture(path: Path, counts: dict[tuple[str, str], dict[str, int]]) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6))
    panels = figure.subplots(1, len(TABLE), sharey=True)
    labels = ("paper", *PAPERS)
    for axes, test in zip(panels, TABLE):
        printed = TABLE[test][2]
        series = [[value / printed[0] for value in printed]]
        series += [[counts[p, test][warm] / counts[p, test]["none"] for warm in WARM] for p in PAPERS]
        for k, (label, values) in enumerate(zip(labels, series)):
            name = label if label == "paper" else f"ours, as {label}"
            bars = axes.bar(np.arange(3) + 0.27 * (k - 1), values, 0.25, label=name,
                            color=("#9aa5b1", "#0b66a8", "#e09f3e")[k])  # fmt: skip
            axes.bar_label(bars, fmt="%.2f", fontsize=7, padding=1)
        axes.set(title=test, xticks=range(3), ylim=(0, 1.25))
        axes.set_xticklabels(WARM)
    panels[0].set_ylabel("iterations, over those without warm start")
    panels[0].legend(fontsize=7, loc="upper right")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    return path


EXPERIMENT = Experiment(
    "warm-start",
    "Mangoni, PhD thesis, Table 5.1; Mangoni and Tasora, Table 2",
    "Interior point: what a warm start saves",
    run,
)
