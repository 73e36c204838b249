"""The ten solvers of Tsounis et al. 2025, Table I, as published and as ours, raced over samples of whole motions.

What the text at hand does not print is ours: 1000 iterations at most, ω = 1 for the splitting methods, 1.6 for ADMM,
and the tolerances of the stop. Common accuracy: what our judge calls 1e-6.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from delassus.bench.extract import Take, extract
from delassus.bench.metrics import ACCURACY, EXACT, Profile, data_profile, extended, performance_profile
from delassus.bench.result import Result
from delassus.bench.sample import Sample
from delassus.bench.work import Task, in_turn
from delassus.problem.describe import CATEGORIES
from delassus.solvers.settings import Settings
from delassus.solvers.table import find

PUBLISHED = {
    "PGS-CCP": "pgs-ccp-plain",
    "PGS-NCP": "pgs-ncp-plain",
    "NBGS": "nbgs-preclik",
    "RAISIM": "raisim",
    "RAISIM-DS": "raisim-ds",
    "RAISIM-DS-ES": "raisim-ds-es",
    "ADMM-CCP": "admm-ccp-plain",
    "ADMM-NCP-FP": "admm-ncp-fp-plain",
    "ADMM-NCP-LA": "admm-ncp-la-plain",
    "ADMM-NCP-SA": "admm-ncp-sa-plain",
}
"""Names of the paper's Table I, and of our lines with the published settings."""
OURS = {
    "PGS-CCP": "pgs-ccp",
    "PGS-NCP": "pgs-ncp",
    "NBGS": "nbgs",
    "ADMM-CCP": "admm-ccp",
    "ADMM-NCP-FP": "admm-ncp-fp",
    "ADMM-NCP-LA": "admm-ncp-la",
    "ADMM-NCP-SA": "admm-ncp-sa",
    "auto": "auto",
}
"""What we made of them; of the three by RaiSim's bisection nothing."""
SPLITTING = ("PGS-CCP", "PGS-NCP", "NBGS", "RAISIM", "RAISIM-DS", "RAISIM-DS-ES")

GROUPS = {
    "primitives": ("box-on-plane", "boxes-fixed", "nunchuk", "four-bar", "four-bar-free"),
    "robotics": ("arm7d", "quadruped", "bdx", "lima"),
    "animatronics": ("misha", "walker", "gazelle", "ironman"),
}
"""The suite of §VII-A, Figure 8 and Table II."""
QUICK = ("box-on-plane", "boxes-fixed", "nunchuk", "four-bar", "four-bar-free", "arm7d", "quadruped", "misha", "walker")
"""Of these, what a quick run takes."""

TOL, MOST, EPS = 1e-6, 1000, 1e-6  # of the judge [-]; iterations; of the published stop [N s, m/s, J]
EARLY = getattr(find("raisim-ds-es")[1], "early_stop", np.nan)  # [J/kg]
LIMIT = 30.0  # seconds of a solve: beyond all of them, for limits of iterations alone give the same verdicts anywhere
METRICS = ACCURACY | {"iterations": "iterations", "seconds": "processor seconds"}


def group_of(sequence: str) -> str:
    """Which part of the suite a sample belongs to."""
    return next(name for name, scenes in GROUPS.items() if sequence.partition("(")[0] in scenes)


def suite(quick: bool) -> list[Sample]:
    """Pieces of three steps, five of them over the whole motion of each system, eight in a full run."""
    scenes = QUICK if quick else tuple(scene for scenes in GROUPS.values() for scene in scenes)
    return [sample for scene in scenes for sample in extract(Take(scene, None, 5 if quick else 8, 3))]


def race(
    samples: Sequence[Sample],
    methods: Mapping[str, str | Settings],
    starts: Iterable[str] = ("cold",),
    most: int = MOST,
) -> list[Result]:
    """Rows of every method, by its label, from every start on every sample, one after the other in this process."""
    pieces: list[list[int]] = []
    for n, sample in enumerate(samples):
        last = samples[n - 1] if n else None
        follows = last is not None and (last.sequence, last.step + 1) == (sample.sequence, sample.step)
        pieces[-1].append(n) if follows else pieces.append([n])
    seen: set[tuple[str, str]] = set()
    rows = []
    for label, method in methods.items():
        settings = method if isinstance(method, Settings) else None
        name = method.solver if isinstance(method, Settings) else method
        for start in starts:
            for piece in pieces:
                task = Task(name, TOL, start, tuple(piece), LIMIT, most, settings)
                rows += [replace(row, solver=label) for row in in_turn(samples, task, seen)]
    return rows


def stopping(methods: Mapping[str, str]) -> dict[str, Settings]:
    """The same with the published stop on three residuals; RAISIM-DS-ES has one of its own."""
    eps = {"eps_primal": EPS, "eps_dual": EPS, "eps_complementarity": EPS}
    found = {label: find(name)[1] for label, name in methods.items()}
    return {label: one if label == "RAISIM-DS-ES" else one.changed(**eps) for label, one in found.items()}


def solved(rows: Sequence[Result], label: str, start: str = "cold") -> float:
    """Part of a method's runs that reached the common accuracy."""
    mine = [row.solved for row in rows if (row.solver, row.start) == (label, start)]
    return sum(mine) / len(mine) if mine else float("nan")


def draw_profiles(path: Path, stopped: Sequence[Result], raced: Sequence[Result], title: str) -> None:
    """Performance profiles: of accuracy after the published stop, of iterations and seconds to the common accuracy."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 10.5), layout="constrained")
    axes = figure.subplots(3, 2).ravel()
    for at, (name, label) in zip(axes, METRICS.items()):
        rows = raced if name in ("iterations", "seconds") else stopped
        _draw_steps(at, performance_profile(rows, LIMIT, name))
        at.set(xlabel=f"{label} over the best", ylabel="part of the samples")
    _draw_legend(figure, axes)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def draw_accuracy(path: Path, published: Sequence[Result], ours: Sequence[Result]) -> None:
    """Which part of the samples gets below an error: methods as published, and ours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    grid = figure.subplots(2, 4, sharey=True)
    for line, (rows, who) in zip(grid, ((published, "as published"), (ours, "ours"))):
        for at, (name, label) in zip(line, ACCURACY.items()):
            _draw_steps(at, data_profile(rows, LIMIT, name))
            at.set(xlabel=label, xlim=(0.5 * EXACT, 1.0))
        line[0].set_ylabel(f"part of the samples, {who}")
    _draw_legend(figure, grid.ravel())
    figure.savefig(path, dpi=110)


def draw_categories(path: Path, published: Sequence[Result], ours: Sequence[Result]) -> None:
    """Part of the samples solved, by category of §VII-C."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    sides = figure.subplots(1, 2)
    for at, rows, who in zip(sides, (published, ours), ("as published", "ours")):
        labels = list(dict.fromkeys(row.solver for row in rows))
        kinds = [kind for kind in CATEGORIES if any(row.category == kind for row in rows)]
        table = np.array(
            [[solved([row for row in rows if row.category == kind], label) for kind in kinds] for label in labels]
        )
        at.imshow(table, vmin=0.0, vmax=1.0, cmap="RdYlGn", aspect="auto", alpha=0.75)
        for i, line in enumerate(table):
            for j, part in enumerate(line):
                at.text(j, i, f"{100 * part:.0f} %", ha="center", va="center", fontsize=8)
        counts = [len({row.sample for row in rows if row.category == kind}) for kind in kinds]
        words = [f"{kind.replace(' ', chr(10))}\n({count})" for kind, count in zip(kinds, counts)]
        at.set_xticks(range(len(kinds)), words, fontsize=8)
        at.set_yticks(range(len(labels)), labels, fontsize=8)
        at.set_title(f"solved to {TOL:g} in {MOST} iterations, {who}", fontsize=10)
    figure.savefig(path, dpi=110)


def pairs(rows: Sequence[Result], label: str) -> np.ndarray:
    """Iterations of a method from zero and from the step before, (n, 2), of the samples that it solved from both and
    that have a step before them."""
    steps = {(row.sequence, row.step) for row in rows}
    mine = {(row.start, row.sample): row for row in rows if row.solver == label and row.solved}
    both = [
        (mine["cold", row.sample].iterations, row.iterations)
        for (start, _), row in mine.items()
        if start == "warm" and ("cold", row.sample) in mine and (row.sequence, row.step - 1) in steps
    ]
    return np.array(both, float).reshape(-1, 2)


def draw_starts(path: Path, published: Sequence[Result], ours: Sequence[Result]) -> None:
    """Mean iterations, cold and warm, where both starts succeed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for at, rows, who in zip(figure.subplots(1, 2), (published, ours), ("as published", "ours")):
        labels = list(dict.fromkeys(row.solver for row in rows))[::-1]
        counts = [pairs(rows, label) for label in labels]
        means = np.array([each.mean(axis=0) if len(each) else (np.nan, np.nan) for each in counts])
        place = np.arange(len(labels))
        at.barh(place + 0.2, means[:, 0], 0.4, color="C0", label="cold")
        at.barh(place - 0.2, means[:, 1], 0.4, color="C1", label="warm")
        at.set_yticks(place, [f"{label} ({len(each)})" for label, each in zip(labels, counts)], fontsize=8)
        at.set(xscale="log", xlabel="mean iterations", title=f"cold and warm, {who}")
        at.grid(axis="x", alpha=0.3)
        at.legend(fontsize=8)
    figure.savefig(path, dpi=110)


_COLOURS = {label: f"C{k}" for k, label in enumerate(PUBLISHED)} | {"auto": "black"}
_STYLES = {"RAISIM": ":"}  # lies on NBGS, with which it is identical


def _draw_steps(at: Any, profile: Profile) -> None:
    """Profiles, each flat to the right end of the axis; the first are the thickest, so that none hides another."""
    for k, ((solver, _), (x, y)) in enumerate(extended(profile).items()):
        style = _STYLES.get(solver, "--" if solver.startswith("ADMM") else "-")
        at.step(x, y, where="post", label=solver, lw=3.6 - 0.24 * k, color=_COLOURS.get(solver, "grey"), ls=style)
    at.set(xscale="log", ylim=(0, 1.03))
    at.grid(alpha=0.3)


def _draw_legend(figure: Any, axes: Iterable[Any]) -> None:
    """One for all panels, below them."""
    named = {label: handle for at in axes for handle, label in zip(*at.get_legend_handles_labels())}
    figure.legend(named.values(), named.keys(), ncols=6, loc="outside lower center", fontsize=9)
