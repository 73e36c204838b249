"""Kleinert et al. 2014, §5.2.3, figure 10: path-following against potential reduction on a pile at rest.

A full run is of test problem 1, 2 048 spheres; figure 10 is of problem 2, whose 5 040 take up to ten seconds a
direction.
"""

import math
from pathlib import Path

import numpy as np

from delassus.problem import Problem
from delassus.solvers.settings import Settings
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Near, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.descent import Descent, descend, draw_descents
from delassus_papers.measure.piles import FULL, QUICK_ONE, Pile, pile_of
from delassus_papers.outcome import Picture

_GOAL = 1e-4  # error to which both are compared
_OUTER = 100  # iterations, §5.2.2
_DIRECT = 75  # iterations with a direct solver, enough for machine precision
_NO_STEP = 1e-2  # θ below which a step is none
_SLOWS = 50  # iterations, §5.2.3
_TOLERANCES = (1e-2,)  # of linear solves, beside the published method's 1e-5
PATH, POTENTIAL = "path-following", "potential reduction"
_NAMES = {PATH: "path-following", POTENTIAL: "potential-reduction"}

CLAIMS = (
    Claim(
        "outer-direct",
        "Figure 10(a), §5.2.3",
        "potential reduction reduces the error faster than path-following, with a direct solver",
        f"outer iterations to an error of {_GOAL:g}",
        Order((POTENTIAL, PATH)),
    ),
    Claim(
        "outer-krylov",
        "Figure 10(a), §5.2.3",
        "… or a Krylov method",
        f"outer iterations to {_GOAL:g}, BiCGstab",
        Order((POTENTIAL, PATH)),
    ),
    Claim(
        "stops",
        "§5.2.3",
        "with BiCGstab the step size of potential reduction converges to zero quickly and we are forced to stop "
        "after around 30 iterations",
        f"iteration from which on θ stays below {_NO_STEP:g}",
        Near(30.0, 1.3),
    ),
    Claim(
        "goes-on",
        "§5.2.3",
        "this is not the case for path-following",
        f"are there steps longer than {_NO_STEP:g} beyond iteration {_SLOWS}?",
        Same(True, (False,)),
    ),
    Claim(
        "slows",
        "§5.2.3",
        "but the convergence rate decreases after 50 iterations",
        f"decades of the error in the 20 iterations before and after the {_SLOWS}th",
        Order(("after", "before")),
    ),
    Claim(
        "machine",
        "§5.2.3",
        "if the linear systems are solved accurately, the error is reduced to machine precision, for both",
        "the larger of the least errors, direct solver",
        Between(0.0, 1e-12, 1e-15, in_words=True),
    ),
    Claim(
        "constant",
        "§5.2.3",
        "… at a constant rate",
        "decades per iteration in the second half of the way over those in the first, the one further from one",
        Near(1.0, 2.0, in_words=True),
    ),
    Claim(
        "steps",
        "§5.2.3",
        "path-following allows larger step sizes θ",
        "mean θ, BiCGstab, whole run",
        Order((POTENTIAL, PATH)),
    ),
    Claim(
        "inner",
        "§5.2.3",
        "in total less inner Krylov iterations are needed by path-following",
        f"inner iterations to an error of {_GOAL:g}",
        Order((PATH, POTENTIAL)),
    ),
    Claim(
        "faster",
        "Figure 10(b), §5.2.3",
        "combined with an inexact linear solver, path-following converges faster",
        f"seconds to an error of {_GOAL:g}",
        Order((PATH, POTENTIAL), unit="s"),
    ),
    Claim(
        "further",
        "Figure 10, §5.2.3",
        "the one is forced to stop, the other is not",
        "least error with BiCGstab",
        Order((PATH, POTENTIAL)),
    ),
)


def both(
    problem: Problem, methods: dict[str, Settings], iterations: int, seconds: float, goal: float = 0.0
) -> dict[str, Descent]:
    """Both strategies, by name."""
    return {
        name: descend(name, problem, own, goal, iterations=iterations, seconds=seconds) for name, own in methods.items()
    }


def compared(runs: dict[str, Descent], what: str) -> dict[str, float]:
    """Iterations, inner ones or seconds of each to the goal."""
    return {name: one.to(_GOAL, what) for name, one in runs.items()}


def stops_at(one: Descent) -> float:
    """The iteration from which on no step is longer than `_NO_STEP`; infinite where the last one is."""
    long = [k for k, step in zip(one.iteration, one.step) if step >= _NO_STEP]
    last = long[-1] if long else 0
    return float(last + 1) if last < one.iteration[-1] else math.inf


def decades(one: Descent, first: int, last: int) -> float:
    """Decades the best error falls by between two iterations."""
    best = np.minimum.accumulate(one.error)
    return float(np.log10(best[first - 1] / best[last - 1]))


def constancy(one: Descent) -> float:
    """Rate in the second half of the way, in decades, over that in the first."""
    best = np.log10(np.maximum(np.minimum.accumulate(one.error), 1e-300))
    end = int(np.argmax(best <= best[-1] + 0.3))
    middle = int(np.argmax(best <= 0.5 * (best[0] + best[end])))
    return (end - middle) and (middle / (end - middle))


def measure(folder: Path, quick: bool) -> Findings:
    pile, seconds = pile_of(QUICK_ONE if quick else FULL[0]), 20.0 if quick else 200.0
    _compile(pile_of(64))
    direct = both(pile.problem, _methods(pile, linear="direct"), _DIRECT, seconds)
    krylov = both(pile.problem, _methods(pile), _OUTER, seconds)
    ours = both(pile.problem, {name: pile.inexact(strategy=own) for name, own in _NAMES.items()}, _OUTER, seconds, 1e-7)
    found = {
        **_outer(direct, krylov, ours, seconds),
        **_rates(direct, krylov[PATH]),
        **_inexact(pile, krylov, ours, seconds),
    }
    facts = [
        Fact("spheres; processor time of each run at most", f"{FULL[1]}", f"{pile.spheres}; {seconds:g} s"),
        *(
            Fact(f"{name}, {kind}, {pile.label}, to {_GOAL:g}", "curve in figure 10", one.text(_GOAL))
            for kind, runs in (("direct", direct), ("BiCGstab, IC(0)", krylov))
            for name, one in runs.items()
        ),
    ]
    facts += [Fact(f"{name}, our settings, to {_GOAL:g}", "–", "–", one.text(_GOAL)) for name, one in ours.items()]
    name = "pile-strategies.png"
    _draw(folder / name, direct, krylov, ours, pile.label)
    caption = f"Error over outer iterations (a) and time (b), {pile.label}, published settings; dashed: ours."
    printed = "potential reduction stops after about 30 iterations, path-following slows down after 50; no curve"
    return Findings(found, facts, [Picture(name, "Figure 10", caption, printed)])


def _methods(pile: Pile, **changes: str | float) -> dict[str, Settings]:
    return {name: pile.published(strategy=own, **changes) for name, own in _NAMES.items()}


def _outer(
    direct: dict[str, Descent], krylov: dict[str, Descent], ours: dict[str, Descent], seconds: float
) -> dict[str, Found | NotTested]:
    late = f"not even {_SLOWS + 20} iterations in {seconds:g} s"
    slow = krylov[PATH]
    is_late = slow.iteration[-1] < _SLOWS + 20 and not slow.gave_up
    goes_on = slow.iteration[-1] > _SLOWS and max(slow.step[_SLOWS:]) >= _NO_STEP
    return {
        "outer-direct": Found(compared(direct, "iteration")),
        "outer-krylov": Found(compared(krylov, "iteration"), compared(ours, "iteration")),
        "stops": Found(stops_at(krylov[POTENTIAL]), stops_at(ours[POTENTIAL])),
        "goes-on": NotTested(late) if is_late else Found(bool(goes_on)),
    }


def _rates(direct: dict[str, Descent], slow: Descent) -> dict[str, Found | NotTested]:
    least = max(min(one.error) for one in direct.values())
    rates = [constancy(one) for one in direct.values()]
    apart = max(rates, key=lambda rate: abs(math.log(rate)) if rate > 0.0 else math.inf)
    fair = slow.iteration[-1] >= _SLOWS + 20
    return {
        "machine": Found(
            least,
            None,
            "R is in the matrix and not in the law: once W² is smaller than R, directions are too short",
            _without_softness(least),
        ),
        "constant": Found(apart),
        "slows": Found({"after": decades(slow, _SLOWS, _SLOWS + 20), "before": decades(slow, _SLOWS - 20, _SLOWS)})
        if fair
        else NotTested(f"path-following took {slow.iteration[-1]} iterations only"),
    }


def _without_softness(least: float) -> str:
    pile = pile_of(QUICK_ONE)
    runs = both(
        pile.problem,
        {n: pile.published(strategy=s, linear="direct", young=1e16) for n, s in _NAMES.items()},
        _DIRECT,
        60.0,
    )
    return f"{max(min(one.error) for one in runs.values()):.1e} with R a million times smaller, {pile.label}"


def _inexact(
    pile: Pile, krylov: dict[str, Descent], ours: dict[str, Descent], seconds: float
) -> dict[str, Found | NotTested]:
    rough = {tol: both(pile.problem, _methods(pile, accuracy=tol), _OUTER, 0.5 * seconds, _GOAL) for tol in _TOLERANCES}
    why = (
        "directions are solved to ‖r‖ ≤ 1e-5 ‖b‖ here; the paper names no tolerance, and poor directions are what "
        "potential reduction does not get along with"
    )
    said = "; ".join(
        f"with ‖r‖ ≤ {tol:g} ‖b‖ " + ", ".join(f"{name} {_short(one)}" for name, one in runs.items())
        for tol, runs in rough.items()
    )
    return {
        "steps": Found(_mean_steps(krylov), _mean_steps(ours), why, said),
        "inner": Found(compared(krylov, "inner"), compared(ours, "inner"), why, said),
        "faster": Found(compared(krylov, "seconds"), compared(ours, "seconds"), why, said),
        "further": Found({name: min(one.error) for name, one in krylov.items()}),
    }


def _mean_steps(runs: dict[str, Descent]) -> dict[str, float]:
    return {name: float(np.mean(one.step)) for name, one in runs.items()}


def _short(one: Descent) -> str:
    inner, steps = one.to(_GOAL, "inner"), f"mean θ {np.mean(one.step):.2f}"
    if math.isfinite(inner):
        return f"takes {inner:.0f} inner iterations and {one.to(_GOAL):.3g} s, {steps}"
    return f"does not get there ({min(one.error):.0e}), {steps}"


def _compile(pile: Pile) -> None:
    for changes in ({}, {"linear": "direct"}):
        both(pile.problem, _methods(pile, **changes), 2, 60.0)
    descend("", pile.problem, pile.inexact(), 0.0, iterations=2)


def _draw(
    path: Path, direct: dict[str, Descent], krylov: dict[str, Descent], ours: dict[str, Descent], label: str
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4))
    axes = figure.subplots(1, 2, sharey=True)
    for kind, runs in (("direct", direct), ("BiCGstab", krylov), ("ours", ours)):
        for name, one in runs.items():
            one.name = f"{kind}: {name}"
    curves = [one for runs in (direct, krylov, ours) for one in runs.values()]
    for ax, x, words, part in zip(axes, ("iteration", "seconds"), ("outer iterations", "seconds of processor"), "ab"):
        draw_descents(ax, curves, x)
        ax.set(xlabel=words, title=f"{label} ({part})")
    axes[0].axvline(30, color="k", linestyle=":", linewidth=0.8)
    axes[0].text(30, 3.0, " stops (printed)", fontsize=7)
    axes[0].axvline(_SLOWS, color="k", linestyle=":", linewidth=0.8)
    axes[0].text(_SLOWS, 3.0, " slows down (printed)", fontsize=7)
    axes[1].set_xscale("log")
    axes[0].set_ylabel("error, §5.2.4")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


EXPERIMENT = Experiment(
    "pile-strategies",
    ("kleinert",),
    "Path-following against potential reduction",
    ("Figure 10", "§5.2.3"),
    CLAIMS,
    measure,
)
