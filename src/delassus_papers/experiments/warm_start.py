"""Mangoni, PhD thesis, Table 5.1 and Mangoni and Tasora, Table 2: iterations with nothing, velocities or everything
taken from the step before.

Both print totals of 100 calls. A call with contacts takes at least one iteration (algorithm 1 iterates before it
looks), and with everything known the resting bodies take 90 and 81: so not all of the 100 calls had contacts. If N of
them had, took c iterations each without a warm start, and one each but for the first with a full one, then c N and c +
N − 1 are the printed totals. That is what is compared: iterations per call with contacts.

Quick: ten steps of 64 balls in place of 50 of 280.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.scenes import find
from delassus.scenes.scene import Setup
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import AGREES, LESS, Near, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import (
    AS_IN_MANGONI_TASORA,
    MANGONI_TASORA,
    THESIS,
    Rule,
    carried_on,
    iterations,
    method,
    steps,
    thesis_ipm,
)
from delassus_papers.outcome import Picture
from delassus_papers.solvers.settings import ThesisIpm
from delassus_papers.solvers.thesis import ThesisMethod

PRINTED = {"ball": (720, 515, 90), "brick": (499, 370, 81), "box": (935, 927, 747)}
"""Iterations of all calls with no, a partial and a full warm start; both papers print the same."""
_BOX_CALLS = 50
PARTS = ("none", "partial", "full")
_RULES: dict[str, tuple[Rule, dict[str, str]]] = {
    "mangoni": (THESIS, {}),
    "mangoni-tasora": (MANGONI_TASORA, AS_IN_MANGONI_TASORA),
}
_PLACE = {"mangoni": "Table 5.1", "mangoni-tasora": "Table 2"}
_SETTLE = 40  # steps until the balls lie still
_SIZES = (0.07, 0.5, 2.0)  # m, of resting bodies
_SIZE = 1.25  # m, both bodies: the papers give none. Of 0.07, 0.5, 1, 1.25, 1.5, 1.75 and 2 m the one whose counts
# without a warm start, of ball and brick by both papers' methods, are nearest to the printed ones, in logarithms
_WHY = {
    "ball": "the start is in SI units, and the size is not given",
    "brick": "the start is in SI units, and the size is not given",
    "box": "number of balls and first places are not given; nor is how reactions find their contacts again",
}
_NAMES = {"ball": "single ball", "brick": "single brick", "box": "balls in the box"}


def per_call(printed: tuple[int, int, int]) -> tuple[float, int]:
    """(c, N) of totals c N without and c + N − 1 with a full warm start."""
    none, _, full = printed
    half = 0.5 * (full + 1)
    c = half - math.sqrt(half * half - none)
    return c, round(none / c)


_SLACKS = "2026-11-16: |y| where a slack comes out negative, not one, the text says neither; the margin is as before"


def _claims() -> tuple[Claim, ...]:
    out = []
    for paper, place in _PLACE.items():
        for test, printed in PRINTED.items():
            resting = test != "box"
            c = per_call(printed)[0] if resting else printed[0] / _BOX_CALLS
            partial, full = (total / printed[0] for total in printed[1:])
            name = _NAMES[test]
            # sizes, masses and first places are not given: a quarter more or less in iterations, less in their parts
            out += [
                Claim(
                    f"{paper}-{test}-none",
                    place,
                    f"{name}: {printed[0]} iterations without a warm start",
                    "iterations per call with contacts",
                    Near(c, 1.25, LESS),
                    paper,
                ),
                Claim(
                    f"{paper}-{test}-partial",
                    place,
                    f"{name}: {printed[1]} with a partial one",
                    "partial over none",
                    Near(partial, 1.15, LESS),
                    paper,
                    _SLACKS,
                ),
                Claim(
                    f"{paper}-{test}-full",
                    place,
                    f"{name}: {printed[2]} with a full one",
                    "full over none",
                    Near(full, 1.5 if resting else 1.15, LESS),
                    paper,
                ),
            ]
    out.append(
        Claim(
            "fallback",
            "§4.11",
            "a warm start may fail: the algorithm falls back to the standard initialisation",
            "does a run end by its rule whose warm start's first matrix is singular?",
            Same(True, (False,)),
        )
    )
    return tuple(out)


CLAIMS = _claims()


@dataclass(frozen=True)
class Scene:
    """Where the calls come from: parameters of its scene, steps skipped, calls counted."""

    setup: Setup
    calls: int
    skipped: int = 0


def scenes(quick: bool) -> dict[str, Scene]:
    balls = 64 if quick else 280
    box = find("balls-in-the-box").build(n=balls, container=(balls / 1190) ** (1.0 / 3.0), reach=0.07)
    return {
        "ball": Scene(find("single-ball").build(size=_SIZE), per_call(PRINTED["ball"])[1]),
        "brick": Scene(find("single-brick").build(size=_SIZE), per_call(PRINTED["brick"])[1]),
        "box": Scene(box, 10 if quick else _BOX_CALLS, _SETTLE),
    }


def counts(
    scene: Scene, rule: Rule, settings: ThesisIpm, parts: tuple[str, ...] = (*PARTS, "centred")
) -> dict[str, float]:
    """Mean iterations per call with contacts, by warm start: as published, and "centred", ours; nan where a call did
    not end."""
    out = {}
    for warm in parts:
        found = carried_on(scene.setup, settings.changed(warm=warm), rule, scene.calls, scene.skipped)
        done = [one.iterations if one.is_met else math.nan for one in found]
        out[warm] = float(np.mean(done))
    return out


def findings(found: dict[str, float], fast: float, why: str) -> dict[str, Found | NotTested]:
    """By what is claimed of one test."""
    none = found["none"]
    return {
        "none": Found(none, fast, why),
        "partial": Found(found["partial"] / none, None, why),
        "full": Found(found["full"] / none, found["centred"] / none, why),
    }


def measure(folder: Path, quick: bool) -> Findings:
    found: dict[str, Found | NotTested] = {}
    means: dict[tuple[str, str], dict[str, float]] = {}
    facts = [
        Fact(
            f"{_NAMES[test]}: calls with contacts that the totals allow, iterations in each",
            f"{per_call(PRINTED[test])[1]}, {per_call(PRINTED[test])[0]:.2f}",
        )
        for test in ("ball", "brick")
    ]
    for test, scene in scenes(quick).items():
        for paper, (rule, changes) in _RULES.items():
            linear = "body" if test == "box" else "saddle"  # the same iterates, sooner
            settings = thesis_ipm(**changes, linear=linear)
            mine = means[paper, test] = counts(scene, rule, settings)
            told = findings(mine, _fast(scene, rule), _WHY[test])
            if test != "box" and settings.start == "dapuzzo":
                told = _with_other_start(test, told, scene, rule, settings)
            found |= {
                f"{paper}-{test}-{part}": _only_if_it_differs(f"{paper}-{test}-{part}", value)
                for part, value in told.items()
            }
            if test != "box":
                found[f"{paper}-{test}-none"] = NotTested(
                    f"the size, which is not given, was chosen by this count: {mine['none']:.2f} with {_SIZE:g} m"
                )
                facts.append(_over_sizes(test, paper, rule, settings))
    found["fallback"] = Found(falls_back(thesis_ipm()))
    facts += [
        Fact("balls in the box", "number not given", f"{scenes(quick)['box'].setup.model.body_count}"),
        Fact("resting bodies: length of the brick, diameter of the ball", "not given", f"{_SIZE:g} m"),
        Fact(
            "full warm start",
            "used directly",
            "as in the thesis where inside the cones, else §4.11's fallback",
            "`warm=centred`: on the central path next to the guess",
        ),
        Fact("partial warm start", "velocities", "velocities, y that follows from them, the start's own reactions"),
        Fact(
            "largest part of the way to the boundary, η",
            "0.9 + 0.1 exp(−τ n)",
            "the same",
            f"`ipm-thesis` has {ThesisIpm(solver='ipm-thesis').inside:g} at most",
        ),
    ]
    _draw(folder / "warm-start.png", means)
    caption = "Iterations per call with contacts, over those without a warm start; numbers on the bars are iterations."
    return Findings(found, facts, [Picture("warm-start.png", "Table 5.1", caption, "bars of both papers")])


def _only_if_it_differs(key: str, found: Found | NotTested) -> Found | NotTested:
    """Without a reason where there is nothing to explain."""
    criterion = next(claim.criterion for claim in CLAIMS if claim.key == key)
    if isinstance(found, Found) and criterion.judge(found.published) == AGREES:
        return replace(found, why="")
    return found


def falls_back(settings: ThesisIpm) -> bool:
    """Does the method end by its rule, although its warm start failed? A plate of one kilogram on its corners, so
    nearly closed that no digit is left of what tells four contacts from three: the first matrix is singular."""
    rows = np.zeros((4, 12))
    rows[:, 6:] = [[0.0, 0.0, 1.0, x, y, 0.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
    plate = Problem.rigid(
        np.eye(6)[None], [[-1, 0]] * 4, rows, cone=ProductCone((), 4), u_f=[0, 0, -1.0, 0, 0, 0], law=Law.FRICTIONLESS
    )
    lifted = np.array([0.0, 0.0, 1e-18, 0.0, 0.0, 0.0])
    problem = Problem(
        plate.delassus, plate.free_velocity, plate.cone, plate.law, u_f=plate.u_f, bias=plate.bias, before=lifted
    )
    run = ThesisMethod(problem, settings.changed(warm="full", own_tol=THESIS.primal), np.full(4, 0.25))
    run.advance(60)
    return not run.falls_back and run.interior.is_below(THESIS.primal)


def _with_other_start(
    test: str, told: dict[str, Found | NotTested], scene: Scene, rule: Rule, settings: ThesisIpm
) -> dict[str, Found | NotTested]:
    """Mangoni and Tasora have two starts, and do not say which is behind their Table 2: the other one is held
    responsible where it brings agreement."""
    other = counts(Scene(scene.setup, 10), rule, settings.changed(start="nocedal"), ("none", "partial"))
    criterion = next(claim.criterion for claim in CLAIMS if claim.key == f"mangoni-tasora-{test}-partial")
    found, part = told["partial"], other["partial"] / other["none"]
    if isinstance(found, Found) and criterion.judge(found.published) != AGREES == criterion.judge(part):
        told["partial"] = replace(found, why="the start of eq. 22", evidence=f"with that of eq. 21 {part:.2f}")
    return told


def _fast(scene: Scene, rule: Rule) -> float:
    """Of our variant, without a guess, on problems of the same motion."""
    calls = min(scene.calls, 5)
    reports = [report for report, _ in steps(scene.setup, scene.setup.settings, calls, scene.skipped)]
    return float(np.mean([iterations(report.problem, method(), rule).iterations for report in reports]))


def _over_sizes(test: str, paper: str, rule: Rule, settings: ThesisIpm) -> Fact:
    """Whether the size, which is not given, decides."""
    parts = []
    for size in _SIZES:
        mean = counts(Scene(find(f"single-{test}").build(size=size), 6), rule, settings, ("none", "partial"))
        parts.append(f"{size:g} m: {mean['none']:.1f}, {mean['partial'] / mean['none']:.2f}")
    return Fact(
        f"{_NAMES[test]}, as in {_PLACE[paper]}: iterations per call and partial over none by size",
        "size not given",
        "; ".join(parts),
    )


def _draw(path: Path, means: dict[tuple[str, str], dict[str, float]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    panels = figure.subplots(1, len(PRINTED), sharey=True)
    names = ("both papers, printed", "thesis's rule and start", "Mangoni and Tasora's")
    for axes, (test, printed) in zip(panels, PRINTED.items()):
        rows: list[list[float]] = [[total / printed[0] for total in printed]]
        rows += [[means[paper, test][part] / means[paper, test]["none"] for part in PARTS] for paper in _RULES]
        first = per_call(printed)[0] if test != "box" else printed[0] / _BOX_CALLS
        firsts = [first, *(means[paper, test]["none"] for paper in _RULES)]
        for k, values in enumerate(rows):
            bars = axes.bar(
                np.arange(3) + 0.27 * (k - 1), values, 0.25, label=names[k], color=("#9aa5b1", "#0b66a8", "#e09f3e")[k]
            )
            axes.bar_label(bars, [f"{firsts[k] * value:.1f}" for value in values], fontsize=8, padding=1)
        axes.set(title=_NAMES[test], xticks=range(3), ylim=(0, 1.3))
        axes.set_xticklabels(PARTS)
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("iterations, over those without warm start")
    panels[0].legend(fontsize=8, loc="upper right")
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "warm-start",
    ("mangoni", "mangoni-tasora"),
    "Interior point: what a warm start saves",
    ("Table 5.1", "§4.11", "mangoni-tasora: Table 2"),
    CLAIMS,
    measure,
)
