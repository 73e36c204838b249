"""Mangoni, PhD thesis, §5.3.3 and Figure 5.6: stacked spheres, equal ones and each ten times as heavy as the one below.

The published method (`ipm-mangoni`) in ordinary doubles, its matrix factored as a dense one. A stack stands if the
method ends by its rule and leaves no sphere moving. Quick: fewer numbers of spheres. Either takes less than a minute.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from delassus.model.state import State
from delassus.residuals import evaluate
from delassus.scenes import find
from delassus.scenes.stacked_spheres import sunk
from delassus.simulation import Memory, StepReport
from delassus.solvers import solve
from delassus.solvers.interior.settings import InteriorSettings
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import AGREES, MORE, Between, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import THESIS, iterations, method, stack_problem, thesis_ipm
from delassus_papers.outcome import Picture

EQUAL = {"100 kg": 100.0, "1e6 kg": 1e6, "1e12 kg": 1e12}
"""Masses of equal spheres [kg]."""
GROWING = "10ⁿ kg"
_COUNTS, _COUNTS_QUICK = (5, 10, 20, 30, 40, 50), (5, 10, 20, 50)
_GROWING = (2, 4, 5, 6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 20)
_MOST = 15  # spheres of 10ⁿ kg in the thesis
_SAME = 10  # equal spheres whose weights are compared
_STILL = 1e-6  # m/s: faster ones do not stand
_STEPS = 50  # of the library's own step
_FLAT = 1.2  # "not with the number": at most a fifth more, or less
_NUMBER = Between(1.0 / _FLAT, _FLAT, 1.0, in_words=True)
_LINE = 0.1  # how far a count may be off the line, of the largest count

CLAIMS = (
    Claim(
        "weight",
        "Figure 5.6",
        "the number of required iterations changes with the spheres' weight",
        f"iterations, {_SAME} equal spheres",
        Order(tuple(EQUAL), 1.1),
    ),
    *(
        Claim(
            f"number {name}",
            "Figure 5.6",
            f"… not with the number of spheres stacked: {name}",
            "iterations of 50 spheres over those of 5",
            _NUMBER,
        )
        for name in EQUAL
    ),
    Claim(
        "linear",
        "Figure 5.6",
        "10ⁿ kg: iterations grow linearly with the exponent of the mass",
        f"largest distance from the best line up to n = {_MOST}, of the largest count",
        Between(0.0, _LINE, 0.0, in_words=True),
    ),
    Claim(
        "grows",
        "Figure 5.6",
        "10ⁿ kg: iterations grow with the exponent of the mass",
        "iterations",
        Order(("n = 5", "n = 10", "n = 15"), 1.2),
    ),
    Claim(
        "fifteen",
        "§5.3.3",
        "only fifteen for the odd mass ratio before meeting instability",
        "largest stack of 10ⁿ kg that stands",
        Between(14, 16, _MOST, MORE),
    ),
    Claim(
        "huge",
        "§5.3.3",
        "a huge number of spheres can be stacked where masses are equal",
        "do 50 spheres of 100, 1e6 and 1e12 kg stand?",
        Same(True, (False,)),
    ),
)


@dataclass(frozen=True)
class Run:
    """One problem: iterations until the rule was met, nan where it was not; do the spheres stand?"""

    iterations: float
    stands: bool


def curve(counts: Iterable[int], mass: float, ratio: float, settings: InteriorSettings) -> dict[int, Run]:
    """By number of spheres."""
    out = {}
    for n in counts:
        found = iterations(stack_problem(n, mass, ratio), settings, THESIS, most=300)
        still = bool(np.abs(found.velocities).max(initial=np.inf if not len(found.velocities) else 0.0) < _STILL)
        out[n] = Run(found.iterations if found.is_met else float("nan"), found.is_met and still)
    return out


def off_line(runs: dict[int, Run]) -> float:
    """Largest distance of the counts from the best line, of the largest; nan where one did not end."""
    n, count = np.array(list(runs)), np.array([run.iterations for run in runs.values()])
    if not np.isfinite(count).all():
        return float("nan")
    return float(np.abs(np.polyval(np.polyfit(n, count, 1), n) - count).max() / count.max())


def highest(runs: dict[int, Run]) -> int:
    """Spheres of the largest stack up to which all stand; 0 where none does."""
    out = 0
    for n, run in sorted(runs.items()):
        if not run.stands:
            break
        out = n
    return out


def findings(equal: dict[str, dict[int, Run]], growing: dict[int, Run]) -> dict[str, Found]:
    """What the runs of one method say about every claim."""
    last, first = max(next(iter(equal.values()))), min(next(iter(equal.values())))
    up_to = {n: run for n, run in growing.items() if n <= _MOST}
    out = {f"number {name}": Found(runs[last].iterations / runs[first].iterations) for name, runs in equal.items()}
    out["weight"] = Found({name: runs[_SAME].iterations for name, runs in equal.items()})
    out["linear"] = Found(off_line(up_to))
    out["grows"] = Found({f"n = {n}": up_to[n].iterations for n in (5, 10, 15)})
    out["fifteen"] = Found(highest(growing))
    out["huge"] = Found(all(runs[last].stands for runs in equal.values()))
    return out


def measure(folder: Path, quick: bool) -> Findings:
    settings = thesis_ipm(backend="dense")
    counts = _COUNTS_QUICK if quick else _COUNTS
    equal = {name: curve(counts, mass, 1.0, settings) for name, mass in EQUAL.items()}
    growing = curve(_GROWING, 10.0, 10.0, settings)
    others = {
        "one step length": settings.changed(lengths="common"),
        "the start of Mangoni and Tasora, eq. 22,": settings.changed(start="dapuzzo"),
        "that of §4.14.4": settings.changed(start="two-step"),
        "steps of at most 0.99 of the way to the boundary": settings.changed(inside=0.99),
    }
    ours = {name: _ours((5, _SAME, 50), mass, 1.0) for name, mass in EQUAL.items()}
    odd = _ours((5, 10, 15, 20, 25), 10.0, 10.0)
    found = findings(equal, growing)
    for name, runs in equal.items():
        tried = {what: curve((5, 50), EQUAL[name], 1.0, other) for what, other in others.items()}
        found[f"number {name}"] = explained(runs, ours[name].get(50, np.nan) / ours[name].get(5, np.nan), tried)
    found["weight"] = replace(found["weight"], ours={name: float(k[_SAME]) for name, k in ours.items()})
    found["grows"] = replace(found["grows"], ours={f"n = {n}": float(odd[n]) for n in (5, 10, 15)})
    found["fifteen"] = replace(found["fifteen"], ours=max(odd))
    _draw(folder / "stacked-spheres.png", equal, growing, ours, odd)
    facts = [*_facts(growing, settings), *_standing(quick)]
    return Findings(
        {**found},
        facts,
        [
            Picture(
                "stacked-spheres.png",
                "Figure 5.6",
                "Iterations over the number of spheres, as published; crosses: "
                "the method does not end. Dashed: `ipm-dd`, ours, in two doubles.",
                "curve not available; fifteen spheres of 10ⁿ kg",
            )
        ],
    )


def _ours(counts: tuple[int, ...], mass: float, ratio: float) -> dict[int, int]:
    """Iterations of `ipm-dd` by number of spheres, where it converges."""
    solved = {n: solve(stack_problem(n, mass, ratio), "ipm-dd", tol=1e-10, tol_velocity=1e-8) for n in counts}
    return {n: found.iterations for n, found in solved.items() if found.converged}


def explained(runs: dict[int, Run], own: float, tried: dict[str, dict[int, Run]]) -> Found:
    """Iterations of 50 spheres over those of 5. tried: the published method with one thing otherwise, by its name; it
    is held responsible only where it brings agreement. own: the same figure of ours."""

    def ratio(of: dict[int, Run]) -> float:
        return of[50].iterations / of[5].iterations

    told = {
        name: f"with {name} {of[5].iterations:.0f} and {of[50].iterations:.0f} iterations" for name, of in tried.items()
    }
    turning = [told[name] for name, of in tried.items() if _NUMBER.judge(ratio(of)) == AGREES]
    if _NUMBER.judge(ratio(runs)) == AGREES:
        return Found(ratio(runs), own)
    here = f"{runs[5].iterations:.0f} and {runs[50].iterations:.0f} iterations"
    if turning:
        return Found(ratio(runs), own, f"a setting: {here}", "; ".join(turning))
    return Found(ratio(runs), own, f"none of what was tried: {here}, {', '.join(told.values())}")


def _facts(growing: dict[int, Run], settings: InteriorSettings) -> list[Fact]:
    common = curve((5, 10, 15, 16), 10.0, 10.0, settings.changed(lengths="common"))
    told = ", ".join(
        f"n = {n}: {run.iterations:.0f}" if run.stands else f"n = {n}: does not end" for n, run in common.items()
    )
    steepness = np.polyfit(
        [n for n in growing if n <= _MOST], [run.iterations for n, run in growing.items() if n <= _MOST], 1
    )
    return [
        Fact("step lengths", "two (algorithm 1), or one (eq. 4.12)", "two"),
        Fact("10ⁿ kg with one step length", "–", told),
        Fact("10ⁿ kg: iterations for every power of ten", "–", f"{steepness[0]:.1f}"),
        *(_one_double(n) for n in (15, 20)),
    ]


def _one_double(n: int) -> Fact:
    """What is left of velocities where reactions have sixteen digits, and what explains it: rounding of the right
    answer to one double, or linear systems that have lost digits, since velocities are eliminated from them. The latter
    is tried on the method without what we added, which can keep them as unknowns, with pivots."""
    problem = stack_problem(n, 10.0, 10.0)

    def left(settings: InteriorSettings) -> float:
        return solve(problem, settings, tol=1e-10, tol_velocity=1e-8, max_iter=200).residuals.worst_velocity

    plain, exact = method("ipm-thesis"), solve(problem, "ipm-dd", tol=1e-10, tol_velocity=1e-8)
    own, rounded = left(method(rescue=False)), evaluate(problem, exact.reactions).worst_velocity
    kept, eliminated = left(plain.changed(linear="saddle", backend="dense")), left(plain.changed(linear="dual"))
    if rounded >= 0.5 * own:
        why = "rounding explains it"
    elif kept <= 0.1 * eliminated:
        why = "what elimination costs linear systems explains it"
    else:
        why = "unexplained"
    return Fact(
        f"{n} spheres of 10ⁿ kg, reactions of one double: worst velocity of `ipm` (rescue=false)",
        "–",
        "–",
        f"{own:.1e} m/s; of the answer of two doubles, rounded, {rounded:.1e}; of `ipm-thesis` with velocities "
        f"eliminated {eliminated:.1e}, as unknowns {kept:.1e}: {why}",
    )


def _standing(quick: bool) -> list[Fact]:
    """50 steps with the library's own step: does anything sink?"""
    height = 10 if quick else 50
    cases = [(height, mass, 1.0, f"{height} spheres of {name}") for name, mass in EQUAL.items()]
    cases += [(n, 10.0, 10.0, f"{n} spheres of 10ⁿ kg") for n in (_MOST, 20)]
    out = []
    for n, mass, ratio, what in cases:
        setup = find("stacked-spheres").build(n=n, mass=mass, ratio=ratio)
        converged = two = 0

        def watch(k: int, state: State, report: StepReport, memory: Memory) -> None:
            nonlocal converged, two
            del k, state, memory
            converged += report.solution.converged
            two += report.solution.reactions_low is not None

        run = setup.run(steps=_STEPS, settings=replace(setup.settings, solver="auto"), watch=watch)
        depth = float(sunk(setup, run).max())
        reached = "stands" if ratio == 1.0 or n <= _MOST else "not reached"
        ours = f"sinks {depth:.0e} diameters, {converged} of {_STEPS} steps converged, {two} in two doubles"
        out.append(Fact(f"{what}, {_STEPS} steps of 0.05 s by `auto`", reached, "–", ours))
    return out


def _draw(
    path: Path,
    equal: dict[str, dict[int, Run]],
    growing: dict[int, Run],
    ours: dict[str, dict[int, int]],
    odd: dict[int, int],
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    lines = [(name, equal[name], ours[name]) for name in equal] + [(GROWING, growing, odd)]
    top = max(run.iterations for _, runs, _ in lines for run in runs.values() if run.stands)
    for colour, (name, runs, mine) in zip(("#0b66a8", "#3a7d44", "#e09f3e", "#d1495b"), lines):
        ends = {n: run.iterations for n, run in runs.items() if run.stands}
        axes.plot(list(ends), list(ends.values()), "o-", color=colour, label=f"{name}, as published")
        lost = [n for n, run in runs.items() if not run.stands]
        axes.plot(lost, [1.05 * top] * len(lost), "x", color=colour)
        axes.plot(list(mine), list(mine.values()), "--", color=colour, lw=1)
    axes.plot([], [], "k--", lw=1, label="`ipm-dd`")
    axes.plot([], [], "kx", label="does not end")
    axes.axvline(_MOST, color="0.6", lw=0.8, ls=":")
    axes.text(_MOST + 0.4, 0.6 * top, "10ⁿ kg: fifteen\nin the thesis", fontsize=9, color="0.35")
    axes.set(
        xlabel="spheres in the stack",
        ylabel="iterations",
        xlim=(0, None),
        ylim=(0, 1.4 * top),
        title="Figure 5.6: stacked spheres",
    )
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=8, loc="upper right", ncol=2)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "stacked-spheres", ("mangoni",), "Stacked spheres with odd mass ratios", ("Figure 5.6", "§5.3.3"), CLAIMS, measure
)
