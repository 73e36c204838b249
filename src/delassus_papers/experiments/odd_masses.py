"""Mangoni and Tasora, abstract: the interior point converges where odd mass ratios degrade other methods. The same
stacks for sweeps, ADMM, gradient, Newton and interior points, to a common accuracy.

Stacks of n spheres, each ten times as heavy as the one below, or all alike; every answer is judged by the same measure,
and nobody may take more iterations than a limit. Times are of the processor, compiled before. Quick: up to six spheres.
"""

from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from delassus.problem import Problem
from delassus.solvers import solve
from delassus.solvers.interior.settings import InteriorSettings
from delassus.solvers.table import find
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import PUBLISHED, stack_problem
from delassus_papers.outcome import Picture

OTHERS = {"projected fixed point": "nbgs", "spectral": "spg-fb", "Nesterov's": "apgd"}
"""The other methods that the abstract names, by ours of their kind."""
SOLVERS = {
    "interior point": PUBLISHED,
    **OTHERS,
    "ADMM": "admm-ccp",
    "Newton": "prox-ssn",
    "interior point, ours": "ipm",
}
"""The abstract does not speak of ADMM and Newton's method: they are here for the reader."""
_TOL, _TOL_VELOCITY = 1e-8, 1e-6  # of the judge
_MOST = 200_000  # iterations of one solve: a limit of time would depend on who else is at work
_COUNTS, _COUNTS_QUICK = (2, 3, 4, 5, 6, 7, 8), (2, 4, 6)
_MARGIN = 2.0  # how much more other methods degrade

CLAIMS = (
    Claim(
        "converges",
        "Abstract",
        "the method regularly converges to small residuals even with odd mass ratios",
        "does it solve all stacks?",
        Same(True, (False,)),
    ),
    *(
        Claim(
            f"degrades {name}",
            "Abstract",
            f"… that degraded the convergence of other methods: {name}",
            "iterations for growing masses over those for equal ones, tallest stack; inf where it fails",
            Order(("interior point", name), _MARGIN),
        )
        for name in OTHERS
    ),
)


@dataclass(frozen=True)
class Solve:
    """iterations: inf where the tolerance was not met; seconds: of processor; accuracy: natural map, relative."""

    iterations: float
    seconds: float
    accuracy: float
    why: str


def timed(problem: Problem, solver: str | InteriorSettings) -> Solve:
    """The second of two solves: kernels are compiled in the first."""
    for _ in range(2):
        start = process_time()
        found = solve(problem, solver, tol=_TOL, tol_velocity=_TOL_VELOCITY, max_iter=_MOST)
        seconds = process_time() - start
    count = found.iterations if found.converged else float("inf")
    return Solve(count, seconds, found.residuals.natural_map_relative, found.status.value)


def runs(counts: tuple[int, ...], mass: float, ratio: float, solvers: dict[str, str]) -> dict[str, dict[int, Solve]]:
    """By name of method and number of spheres."""
    out: dict[str, dict[int, Solve]] = {}
    for name, solver in solvers.items():
        settings = find(solver)[1]
        if solver == PUBLISHED:
            settings = settings.changed(backend="dense")
        out[name] = {n: timed(stack_problem(n, mass, ratio), settings) for n in counts}  # type: ignore[arg-type]
    return out


def findings(odd: dict[str, dict[int, Solve]], equal: dict[str, dict[int, Solve]]) -> dict[str, Found]:
    """equal: of the tallest stack."""

    def degraded(name: str) -> float:
        last = max(odd[name])
        return odd[name][last].iterations / equal[name][last].iterations

    own = degraded("interior point")
    out = {f"degrades {name}": Found({"interior point": own, name: degraded(name)}) for name in OTHERS}
    solved = [np.isfinite(one.iterations) for one in odd["interior point"].values()]
    return out | {"converges": Found(all(solved))}


def measure(folder: Path, quick: bool) -> Findings:
    counts = _COUNTS_QUICK if quick else _COUNTS
    odd, equal = runs(counts, 10.0, 10.0, SOLVERS), runs(counts[-1:], 10.0, 1.0, SOLVERS)
    _draw(folder / "odd-masses.png", odd)
    facts = [
        Fact("common accuracy: natural map and worst velocity, relative", "–", f"{_TOL:g}, {_TOL_VELOCITY:g}"),
        Fact("iterations after which a solve has failed", "–", f"{_MOST}"),
    ]
    for name, solver in SOLVERS.items():
        last = odd[name][counts[-1]]
        ended = (
            f"{last.iterations:.0f} iterations, {1e3 * last.seconds:.2g} ms"
            if np.isfinite(last.iterations)
            else f"{last.why}, at {last.accuracy:.0e} after {last.seconds:.1f} s"
        )
        same = equal[name][counts[-1]]
        facts.append(
            Fact(
                f"{name} (`{solver}`), {counts[-1]} spheres of 10ⁿ kg; of 10 kg each",
                "–",
                "–",
                f"{ended}; {same.iterations:.0f} iterations, {1e3 * same.seconds:.2g} ms",
            )
        )
    return Findings(
        {**findings(odd, equal)},
        facts,
        [
            Picture(
                "odd-masses.png",
                "Abstract",
                f"Processor time and iterations to {_TOL:g}, each sphere ten times as "
                "heavy as the one below; crosses: not reached.",
                "no curve in the paper",
            )
        ],
    )


def _draw(path: Path, odd: dict[str, dict[int, Solve]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    for axes, attribute, label in zip(
        figure.subplots(1, 2), ("seconds", "iterations"), ("processor seconds", "iterations")
    ):
        values = [
            getattr(one, attribute) for row in odd.values() for one in row.values() if np.isfinite(one.iterations)
        ]
        top = 2.0 * max(values)
        for k, (name, row) in enumerate(odd.items()):
            ends = {n: getattr(one, attribute) for n, one in row.items() if np.isfinite(one.iterations)}
            width = 2.0 if name.startswith("interior") else 1.0
            (line,) = axes.semilogy(list(ends), list(ends.values()), "o-", ms=4, lw=width, label=name)
            lost = [n for n in row if n not in ends]
            axes.plot(lost, [top * 1.4**k] * len(lost), "x", color=line.get_color())
        axes.set(xlabel="spheres in the stack", ylabel=label)
        axes.locator_params(axis="x", integer=True)
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "odd-masses",
    ("mangoni-tasora", "mangoni"),
    "Odd masses: interior points against other methods",
    ("Abstract",),
    CLAIMS,
    measure,
)
