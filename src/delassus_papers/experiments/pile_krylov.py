"""Kleinert et al. 2014, §5.2.2, figure 9: Krylov methods and preconditioners on a pile at rest.

A full run is of test problem 1, 2 048 spheres, which the sentences about ILU are about. Figure 9 is of problem 2, with
5 040: its directions take up to ten seconds each, and the sixteen runs hours.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from delassus.problem import Problem
from delassus.solvers.settings import Settings
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Near, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.descent import Descent, descend, draw_descents
from delassus_papers.measure.piles import FULL, QUICK_ONE, Pile, pile_of
from delassus_papers.outcome import Picture

# Methods are compared by the error of §5.2.4, max(cost, feasibility): the cost alone, |λ·u| / n, is zero for λ = 0.
_GOAL = 1e-4
_LOW = 1e-2  # "if the accuracy requirements are not too high"
_OUTER = 100  # iterations, §5.2.2
_UNTIL_STUCK = 24  # iterations with ILU(0) and ILU(1), which fail before the 16th there
_INNER = 500  # iterations, §5.2.2
_FIRST = 5  # "the first few iterations"
_OTHER_PILE = 1.2  # factor on the iterations 10 and 16, between which methods fail there: the pile is not the paper's
_NOT_13 = (
    "2026-11-16: all three methods, not BiCGstab alone, and a fifth beyond the printed 10 and 16; before, a factor of "
    "1.6 around 13, which is not printed"
)
_HIGH = 10.0  # [N s] a start a hundred times the published one
BEST, BARE = "BiCGstab, IC(0)", "CG, no preconditioner"
_KRYLOV: dict[str, dict[str, Any]] = {
    BEST: {},
    "CG, IC(0)": {"linear": "cg"},
    "GMRES, IC(0)": {"linear": "gmres"},
    BARE: {"linear": "cg", "preconditioner": "none"},
}
_INDEFINITE: dict[str, dict[str, Any]] = {
    f"{method}, ILU({level})": {"linear": method.lower(), "preconditioner": f"ilu{level}"}
    for level in (0, 1)
    for method in ("BiCGstab", "CG", "GMRES")
}
_FAIL = 10.0, 16.0  # iterations between which all of them fail there

CLAIMS = (
    Claim(
        "fewest",
        "Figure 9(a), §5.2.2",
        "BiCGstab delivers the smallest error in the fewest number of inner iterations",
        f"the method with the fewest inner iterations to an error of {_GOAL:g}",
        Same(BEST, ("CG, IC(0)", "GMRES, IC(0)", BARE, "none")),
        changed="2026-11-16: by the error; by the cost alone, as first asked, reactions of zero are perfect",
    ),
    Claim(
        "bare",
        "Figure 9(b), §5.2.2",
        "if the accuracy requirements are not too high, preconditioning can be skipped altogether when using CG",
        f"time of CG without preconditioner to an error of {_LOW:g} over that of {BEST}",
        Between(0.0, 1.0, 1.0, in_words=True),
    ),
    Claim(
        "cheap",
        "§5.2.2",
        "the linear solves from the first few iterations are always cheap",
        f"inner iterations of the dearest of the first {_FIRST} directions, over the limit of {_INNER}",
        Between(0.0, 0.1, 0.1, in_words=True),
    ),
    Claim(
        "limit",
        "§5.2.2",
        "the maximum number of 500 Krylov iterations is reached during all later IPM iterations",
        "share of the directions of the last third that take all of them",
        Between(0.9, 1.0, 1.0, in_words=True),
    ),
    Claim(
        "together",
        "§5.2.2",
        "initially, the feasibility error decreases with a comparable rate as the cost function",
        "decades of the feasibility error over decades of the cost, until the error is 0.1",
        Near(1.0, 1.5, in_words=True),
    ),
    Claim(
        "feasible",
        "§5.2.2",
        "it drops suddenly to zero by the 19th IPM iteration for all Krylov solvers",
        "iteration at which the last of the methods with IC(0) drops the artificial variable",
        Near(19.0, 1.3),
    ),
    Claim(
        "ilu0",
        "§5.2.1",
        "all Krylov methods fail between the 10th and 16th iteration with ILU(0)",
        "iteration from which on the error no longer falls, ILU(0), the method furthest from these",
        Between(_FAIL[0] / _OTHER_PILE, _FAIL[1] * _OTHER_PILE, _FAIL[1]),
        changed=_NOT_13,
    ),
    Claim(
        "ilu1",
        "§5.2.1",
        "… or ILU(1)",
        "iteration from which on the error no longer falls, ILU(1), the method furthest from these",
        Between(_FAIL[0] / _OTHER_PILE, _FAIL[1] * _OTHER_PILE, _FAIL[1]),
        changed=_NOT_13,
    ),
)


def all_runs(problem: Problem, methods: dict[str, Settings], seconds: float, iterations: int) -> dict[str, Descent]:
    """Every method to the error of figure 9, or as far as it comes."""
    return {
        name: descend(name, problem, settings, _GOAL, iterations=iterations, seconds=seconds)
        for name, settings in methods.items()
    }


def fewest(runs: dict[str, Descent]) -> str:
    """The name of the method with the fewest inner iterations to the goal, or "none"."""
    inner = {name: one.to(_GOAL, "inner") for name, one in runs.items()}
    least = min(inner, key=lambda name: inner[name])
    return least if math.isfinite(inner[least]) else "none"


def ratio(over: Descent, under: Descent, error: float) -> float:
    """Time of one over that of the other to an error; infinite where the first never got there."""
    return over.to(error) / under.to(error)


def fails(runs: dict[str, Descent], ours: float) -> Found:
    """The iteration at which the error stops falling, of the method for which it is furthest from those printed."""
    stuck = {name: one.stuck for name, one in runs.items()}
    apart = {name: max(_FAIL[0] / k, k / _FAIL[1]) for name, k in stuck.items()}
    worst = max(apart, key=lambda name: apart[name])
    return Found(stuck[worst], ours, ", ".join(f"{name} at iteration {k:.0f}" for name, k in stuck.items()))


def per_direction(one: Descent) -> np.ndarray:
    """Inner iterations of each direction."""
    return np.diff(np.concatenate([[0.0], one.inner]))


def at_limit(inner: np.ndarray) -> float:
    """Share of the last third that takes all of the inner iterations."""
    return float((inner[-(len(inner) // 3) :] >= _INNER).mean())


def together(one: Descent) -> float:
    """Decades of feasibility over decades of cost at the beginning."""
    k = next((i for i, error in enumerate(one.error) if error <= 0.1), len(one.error) - 1)
    cost = math.log(one.cost[0] / one.cost[k]) if one.cost[k] > 0.0 else 0.0
    if k == 0 or cost == 0.0:
        return math.nan
    return math.log(one.feasibility[0] / one.feasibility[k]) / cost


def last_feasible(runs: list[Descent]) -> float:
    """The latest iteration at which one of them became feasible; not a number where one never did."""
    seen = [one.feasible for one in runs]
    return math.nan if None in seen else float(max(k for k in seen if k is not None))


def measure(folder: Path, quick: bool) -> Findings:
    pile, seconds = pile_of(QUICK_ONE if quick else FULL[0]), 15.0 if quick else 60.0
    _compile(pile_of(64))
    krylov = all_runs(pile.problem, {name: pile.published(**own) for name, own in _KRYLOV.items()}, seconds, _OUTER)
    ours = all_runs(
        pile.problem, {f"ours: {name}": pile.inexact(**own) for name, own in _KRYLOV.items()}, seconds, _OUTER
    )
    bad = all_runs(
        pile.problem, {name: pile.published(**own) for name, own in _INDEFINITE.items()}, seconds, _UNTIL_STUCK
    )
    bad_ours = all_runs(
        pile.problem,
        {f"ours: {name}": pile.inexact(**own) for name, own in _INDEFINITE.items() if name.startswith("BiCGstab")},
        seconds,
        _UNTIL_STUCK,
    )
    found = _found(pile, krylov, ours, bad, bad_ours, quick)
    runs = {**krylov, **bad, **ours, **bad_ours}
    facts = [
        Fact(
            "spheres; processor time of each run at most", f"{FULL[1]}, ILU {FULL[0]}", f"{pile.spheres}; {seconds:g} s"
        ),
        *(
            Fact(f"{name}, {pile.label}, to an error of {_GOAL:g}", "curve in figure 9", one.text(_GOAL))
            for name, one in runs.items()
        ),
    ]
    name = "pile-krylov.png"
    _draw(
        folder / name,
        [*krylov.values(), *(one for name, one in bad.items() if name.startswith("BiCGstab")), ours[f"ours: {BEST}"]],
        pile.label,
    )
    caption = f"Cost over inner iterations and time, feasibility over outer iterations; {pile.label}."
    picture = Picture(name, "Figure 9", caption, "feasible by the 19th iteration, from 10^-1.3; curves not available")
    return Findings(found, facts + _settings(pile), [picture])


def _found(
    pile: Pile,
    krylov: dict[str, Descent],
    ours: dict[str, Descent],
    bad: dict[str, Descent],
    bad_ours: dict[str, Descent],
    quick: bool,
) -> dict[str, Found | NotTested]:
    best, own = krylov[BEST], ours[f"ours: {BEST}"]
    inner, own_inner = per_direction(best), per_direction(own)
    factored = [one for name, one in krylov.items() if name != BARE]
    winner = fewest(krylov)
    high = descend("", pile.problem, pile.published(first=_HIGH, linear="direct"), 1e-3, seconds=30.0)
    out: dict[str, Found | NotTested] = {
        "fewest": Found(
            winner,
            fewest(ours).removeprefix("ours: "),
            "one of BiCGstab's iterations has two products, so that it does twice the work",
            ", ".join(f"{name} {one.to(_GOAL, 'products'):.0f} products" for name, one in krylov.items()),
        ),
        "bare": Found(ratio(krylov[BARE], best, _LOW), ratio(ours[f"ours: {BARE}"], own, _LOW)),
        "cheap": Found(float(inner[:_FIRST].max()) / _INNER, float(own_inner[:_FIRST].max()) / _INNER),
        "together": Found(together(best), together(own)),
        "feasible": Found(
            last_feasible(factored),
            last_feasible([one for name, one in ours.items() if "IC(0)" in name]),
            "s is dropped as soon as s d is smaller than every eigenvalue of y, and s d over τ is the smaller the "
            "further the start lies above the reactions: 0.25 N s is not far enough above the largest of these",
            f"from {_HIGH / 0.4:g} N s, a hundred times as much, and with exact directions, at iteration "
            f"{high.feasible}",
        ),
        **{
            f"ilu{level}": fails(
                {name: one for name, one in bad.items() if name.endswith(f"ILU({level})")},
                bad_ours[f"ours: BiCGstab, ILU({level})"].stuck,
            )
            for level in (0, 1)
        },
        "limit": NotTested("the systems of so few spheres are solved in fewer")
        if quick
        else Found(
            at_limit(inner),
            at_limit(own_inner),
            "directions are solved to ‖r‖ = 1e-5 ‖b‖, PETSc's default, the paper names no tolerance",
            _limit_evidence(pile),
        ),
    }
    return out


def _limit_evidence(pile: Pile) -> str:
    tight = descend("", pile.problem, pile.published(accuracy=1e-10), 1e-2, seconds=30.0)
    share = float((per_direction(tight)[_FIRST:] >= _INNER).mean())
    return f"with 1e-10 {share:.0%} of the directions after the {_FIRST}th, to an error of {min(tight.error):.1g}"


def _settings(pile: Pile) -> list[Fact]:
    loaded, stuck = pile.loaded()
    return [
        Fact(
            "settings the paper names",
            "x = (0.1, 0, 0), μ = 0.4, α of eq. 34, 500 inner and 100 outer iterations",
            "the same",
            "scaled start above the reactions, stopped on the worst cone",
        ),
        Fact(
            "settings it does not",
            "–",
            "θ at most 0.95 of the way; ‖r‖ ≤ 1e-5 ‖b‖; E = 70 GPa, ν = 0.17; contacts in the order they are found in",
            "the same E and ν, Cuthill and McKee's order",
        ),
        Fact(f"{pile.label}: contacts that carry load, and that stick, per sphere", "–", f"{loaded:.2f}, {stuck:.2f}"),
    ]


def _compile(pile: Pile) -> None:
    """A few iterations of all, so that no clock sees the compiler."""
    for changes in (*_KRYLOV.values(), *_INDEFINITE.values(), {"linear": "direct"}):
        descend("", pile.problem, pile.published(**changes), 0.0, iterations=2)
        descend("", pile.problem, pile.inexact(**changes), 0.0, iterations=2)


def _draw(path: Path, runs: list[Descent], label: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.4))
    axes = figure.subplots(1, 3)
    panels = (
        ("inner", "inner iterations", "cost"),
        ("seconds", "seconds of processor", "cost"),
        ("iteration", "outer iterations", "feasibility"),
    )
    for ax, (x, words, value), part in zip(axes, panels, ("(a)", "(b)", "")):
        draw_descents(ax, runs, x, value)
        ax.set(xlabel=words, ylabel=value, title=f"{label} {part}")
    axes[0].set_xscale("log")
    axes[1].set_xscale("log")
    axes[2].plot([19], [10**-1.3], "k*", markersize=11, label="printed: then zero")
    axes[2].legend(fontsize=6.5)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


EXPERIMENT = Experiment(
    "pile-krylov",
    ("kleinert",),
    "Krylov methods and preconditioners on a pile",
    ("Figure 9", "§5.2.2"),
    CLAIMS,
    measure,
)
