"""Kleinert et al. 2014, §5.2.4, figure 11: the inexact interior point against projected Gauß–Jacobi (PGJ) on two piles,
and the number of outer iterations with exact directions.

The paper says "one time step from a simulation of a pile" and no more: a pile is what has come to rest, and by that the
claims are judged, each once. The same numbers of piles that still move stand beside them as remarks."""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from delassus.solvers.settings import Settings
from delassus.solvers.table import find
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import LESS, Between, Near, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.descent import Descent, descend, draw_descents, follow
from delassus_papers.measure.piles import FULL, QUICK, Pile, pile_of
from delassus_papers.outcome import Picture

_GOAL = 1e-3  # error, §5.2.4
_FINE = 1e-7  # error that curves of quick methods go on to
_PGJ, _INNER, _PART = 43_000, 2545, 0.22  # iterations, iterations, "a little more than a fifth" of the time; §5.2.4
IPM, PGJ = "interior point", "PGJ"
_HOW = {"rest": "at rest", "motion": "in motion"}  # the first is the paper's "pile", and judged
_PUBLISHED = "IC(0), BiCGstab, path-following"
_OURS: dict[str, Any] = {"space": "body", "linear": "cg", "strategy": "adaptive"}  # our way to the same point
_BOUNDS = "walls touch more of the spheres of a smaller pile; not the bounds on f_cen, a sum over all contacts"
_OMEGA = 0.1  # step of PGJ, a third of what Heyn et al. 2013 use
_MUCH = 2.0  # rates so many times each other are "much faster", below they are "about the same"
_RATES = "2026-11-16: rates, of which the sentence speaks; before, the levels of both at the goal"
_SWEEPS = 1000  # iterations of PGJ that the interior point may start from
_LOOKS = 3  # least number of looks that make a rate


CLAIMS = (
    Claim(
        "pgj",
        "§5.2.4",
        "PGJ requires about 43000 iterations to reduce the error below 10^-3 (problem 2)",
        f"iterations of PGJ to {_GOAL:g}",
        Near(float(_PGJ), 2.0, LESS),
    ),
    Claim(
        "inner",
        "§5.2.4",
        "the interior point requires a total of around 2545 Krylov iterations (problem 2)",
        f"inner iterations to {_GOAL:g}",
        Near(float(_INNER), 2.0, LESS),
    ),
    Claim(
        "time",
        "§5.2.4",
        "and a little more than a fifth of the calculation time",
        f"time of the interior point over that of PGJ to {_GOAL:g}",
        Near(_PART, 2.0, LESS),
    ),
    Claim(
        "size",
        "§5.2.4",
        "PGJ struggles specifically with larger problems; the rate of the interior point decreases slowly",
        f"iterations (inner ones) to {_GOAL:g}, large pile over small",
        Order((IPM, PGJ)),
    ),
    Claim(
        "least",
        "Figure 11(a), §5.2.4",
        "it achieves a smaller error for both test cases",
        f"the larger of the errors on both piles in the time in which the interior point reaches {_GOAL:g}",
        Order((IPM, PGJ)),
        changed="2026-11-16: both at the same moment, not each at the other's",
    ),
    Claim(
        "outer",
        "Figure 11(b), §5.2.4",
        "the number of outer iterations with a direct solver is nearly the same for both",
        f"those of the large pile over those of the small one, to {_GOAL:g}",
        Near(1.0, 1.1, in_words=True),
    ),
    Claim(
        "pgj-cost",
        "§5.2.4",
        "PGJ reduces the cost function much faster than the feasibility error",
        f"decades of the cost over decades of the feasibility error, PGJ, to {_GOAL:g}",
        Between(_MUCH, math.inf, _MUCH, in_words=True),
        changed=_RATES,
    ),
    Claim(
        "ipm-cost",
        "§5.2.4",
        "the interior point decreases both at about the same rate",
        f"decades of the cost over decades of the feasibility error, interior point, to {_GOAL:g} or until it is "
        "feasible",
        Near(1.0, _MUCH, in_words=True),
        changed=_RATES,
    ),
    Claim(
        "started",
        "§6",
        "the PGJ solution can be used to construct a good starting value",
        f"inner iterations to {_GOAL:g}, after {_SWEEPS} iterations of PGJ or none",
        Order(("started by PGJ", "from 0.25 N s")),
        changed="2026-11-16: after that many; before, until a rule of ours saw PGJ slow down, which on large piles "
        "was before its point was of any use",
    ),
)


@dataclass(frozen=True)
class Race:
    """What the published interior point, PGJ and our interior point did on one pile."""

    pile: Pile
    published: Descent
    pgj: Descent
    ours: Descent


@dataclass(frozen=True)
class WholeRace(Race):
    """exact: the published method with exact directions; warm: started by PGJ."""

    exact: Descent
    warm: Descent


def race(pile: Pile, methods: dict[str, Settings], seconds: float) -> Race:
    """On one pile, every method for so many seconds at most.  methods: published, pgj, ours."""

    def run(name: str, words: str, goal: float, **limits: Any) -> Descent:
        return descend(words, pile.problem, methods[name], goal, seconds=seconds, **limits)

    return Race(
        pile,
        run("published", _PUBLISHED, _GOAL),
        run("pgj", "PGJ", 0.1 * _GOAL, iterations=10**8, batch=20),
        run("ours", "ours: between bodies, IC(0) CG", _FINE),
    )


def whole_race(pile: Pile, methods: dict[str, Settings], seconds: float) -> WholeRace:
    """Every method on one pile.  methods: published, pgj, ours, exact."""
    three = race(pile, methods, seconds)
    exact = descend("direct", pile.problem, methods["exact"], _FINE, iterations=70, seconds=seconds)
    warm = started_by_pgj(pile, methods, seconds)
    return WholeRace(pile, three.published, three.pgj, three.ours, exact, warm)


def started_by_pgj(pile: Pile, methods: dict[str, Settings], seconds: float) -> Descent:
    """The published method from what PGJ has come to."""
    begin, (pgj, own), (line, settings) = time.process_time(), find(methods["pgj"]), find(methods["published"])
    sweeps = pgj.start(pile.problem, own, np.zeros(pile.problem.row_count))
    sweeps.advance(_SWEEPS)
    method = line.start(pile.problem, settings, sweeps.reactions)
    spent = time.process_time() - begin
    return follow("started by PGJ", pile.problem, method, _GOAL, spent, seconds=seconds)


def methods_of(pile: Pile) -> dict[str, Settings]:
    """As published, and ours."""
    return {
        "published": pile.published(),
        "pgj": find("jacobi")[1],
        "exact": pile.published(space="body", linear="direct"),
        "ours": pile.inexact(**_OURS),
    }


def numbers(small: WholeRace, large: WholeRace) -> dict[str, Any]:
    """What the claims ask for, by key; published, and under "ours" ours."""
    return paces(small, large) | {
        "outer": _ratio(large.exact, small.exact, "iteration"),
        "started": {
            "started by PGJ": large.warm.to(_GOAL, "inner"),
            "from 0.25 N s": large.published.to(_GOAL, "inner"),
        },
    }


def paces(small: Race, large: Race) -> dict[str, Any]:
    """What of it three methods show."""
    both = small, large
    grows = {IPM: _ratio(large.published, small.published, "inner"), PGJ: _ratio(large.pgj, small.pgj, "iteration")}
    own = {IPM: _ratio(large.ours, small.ours, "inner"), PGJ: grows[PGJ]}
    return {
        "pgj": large.pgj.to(_GOAL, "iteration"),
        "inner": large.published.to(_GOAL, "inner"),
        "time": _time(large.published, large.pgj),
        "size": grows,
        "least": _worst(both, "published"),
        "pgj-cost": cost_over_feasibility(large.pgj),
        "ipm-cost": cost_over_feasibility(large.published),
        "ours": {
            "inner": large.ours.to(_GOAL, "inner"),
            "time": _time(large.ours, large.pgj),
            "size": own,
            "least": _worst(both, "ours"),
            "ipm-cost": cost_over_feasibility(large.ours),
        },
    }


def _ratio(over: Descent, under: Descent, what: str) -> float:
    low = under.to(_GOAL, what)
    return over.to(_GOAL, what) / low if low > 0.0 else math.nan


def _time(one: Descent, pgj: Descent) -> float:
    """Over that of PGJ, or over all that PGJ was given where it did not arrive."""
    return one.to(_GOAL) / min(pgj.to(_GOAL), pgj.seconds[-1])


def _worst(races: tuple[Race, ...], name: str) -> dict[str, float]:
    """Errors of both in the time in which the interior point reaches the goal; what it does later does not count."""
    out = {IPM: 0.0, PGJ: 0.0}
    for one in races:
        own: Descent = getattr(one, name)
        seconds = own.to(_GOAL)
        out[IPM] = max(out[IPM], _within(own, seconds) if math.isfinite(seconds) else math.inf)
        out[PGJ] = max(out[PGJ], _within(one.pgj, seconds))
    return out


def _within(one: Descent, seconds: float) -> float:
    """Least error in so much time, and after the first look in any case."""
    return min(error for error, spent in zip(one.error, one.seconds) if spent <= max(seconds, one.seconds[0]))


def cost_over_feasibility(one: Descent) -> float:
    """Decades per look that the cost falls by over those of the feasibility error, by least squares over all looks to
    the goal at which neither is zero: an interior point that has become feasible has no such error. nan where the
    feasibility error does not fall."""
    end = next((i for i, error in enumerate(one.error) if error <= _GOAL), len(one.error) - 1) + 1
    both = np.array([one.cost[:end], one.feasibility[:end]])
    looks = np.flatnonzero((both > 0.0).all(axis=0))
    if len(looks) < _LOOKS:
        return math.nan
    cost, feasibility = np.polyfit(looks, np.log10(both[:, looks]).T, 1)[0]
    return float(cost / feasibility) if feasibility < 0.0 else math.nan


def measure(folder: Path, quick: bool) -> Findings:
    sizes, seconds = (QUICK, 6.0) if quick else (FULL, 120.0)
    _compile(pile_of(64))
    resting = [whole_race(pile, methods_of(pile), seconds) for pile in map(pile_of, sizes)]
    moving = [race(pile, methods_of(pile), seconds) for pile in (pile_of(n, how="motion") for n in sizes)]
    own, beside = numbers(resting[0], resting[1]), paces(moving[0], moving[1])
    found = _found(own, beside, resting, quick)
    facts = [
        Fact("state of the piles", "“a pile”", "at rest: what the claims are judged by; in motion beside it"),
        *(
            _told(one, both.pile, "rest")
            for both in resting
            for one in (both.published, both.pgj, both.exact, both.warm, both.ours)
        ),
        *(_told(one, both.pile, "motion") for both in moving for one in (both.published, both.pgj, both.ours)),
        *(
            Fact(
                f"{one.pile.label} {_HOW[how]}: an inner iteration takes as long as so many of PGJ",
                "3.7",
                f"{_per_iteration(one):.0f}",
            )
            for how, one in (("rest", resting[1]), ("motion", moving[1]))
        ),
        Fact("each method: processor time at most", "–", f"{seconds:g} s"),
        Fact("PGJ: its step", "not named", "the longest that is safe, found for each problem"),
    ]
    name = "pile-convergence.png"
    _draw(folder / name, resting, moving)
    caption = "Error over time (a) at rest and in motion, and over outer iterations with a direct solver (b)."
    printed = (
        "5 040 spheres to 1e-3: 43 000 iterations of PGJ, 2 545 inner ones, a fifth of the time; curves not available"
    )
    return Findings(found, facts, [Picture(name, "Figure 11", caption, printed)])


def _told(one: Descent, pile: Pile, how: str) -> Fact:
    return Fact(f"{one.name}, {pile.label} {_HOW[how]}, to {_GOAL:g}", _printed(one.name, pile), one.text(_GOAL))


def _found(
    own: dict[str, Any], beside: dict[str, Any], pair: list[WholeRace], quick: bool
) -> dict[str, Found | NotTested]:
    out, criteria = dict[str, Found | NotTested](), {claim.key: claim.criterion for claim in CLAIMS}
    for name, (words, evidence) in _reasons(own, pair, quick).items():
        if quick and name in ("pgj", "inner", "time"):
            out[name] = NotTested(f"the number is that of {FULL[1]} spheres, not of {pair[1].pile.spheres}")
            continue
        moving = f"with piles in motion {criteria[name].shown(beside[name])}" if name in beside else ""
        told = "; ".join(part for part in (evidence, moving) if part)
        out[name] = Found(own[name], own["ours"].get(name), words, told)
    return out


def _reasons(own: dict[str, Any], pair: list[WholeRace], quick: bool) -> dict[str, tuple[str, str]]:
    """Suspected causes, and what is found with them switched off, to which that of piles in motion is added."""
    large, nothing = pair[1], ("", "")
    jacobi = find("jacobi")[1].changed(omega=_OMEGA)
    slow = descend("", large.pile.problem, jacobi, _GOAL, iterations=10**8, seconds=5.0 if quick else 15.0, batch=20)
    easy = "a pile at rest is easy for PGJ: nothing slides, and it stops everything at a constant rate"
    dear = (
        f"an inner iteration takes as long as {_per_iteration(large):.0f} of PGJ's, there 3.7; PGJ's own iterations: "
        f"{own['pgj']:.0f}; our settings take {own['ours']['time']:.2g} of PGJ's time"
    )
    tolerance = "how many are taken depends on the tolerance of the linear solves, which is not named"
    return {
        "pgj": (easy, f"with a step of {_OMEGA:g} {slow.to(_GOAL, 'iteration'):.0f}"),
        "inner": (tolerance, "" if quick else _tolerances(large.pile)),
        "time": ("our PGJ forms no matrix", dear),
        "least": ("our PGJ forms no matrix", dear),
        "size": (easy, ""),
        "outer": (f"{_BOUNDS}: {_without_bounds(pair)}", ""),
        "pgj-cost": ("the pile is at rest", ""),
        "ipm-cost": ("the pile is at rest", ""),
        "started": nothing,
    }


def _without_bounds(pair: list[WholeRace]) -> str:
    counts = [
        descend("", one.pile.problem, one.pile.published(space="body", linear="direct", strategy="adaptive"), _GOAL)
        for one in pair
    ]
    return " and ".join(f"{one.to(_GOAL, 'iteration'):.0f}" for one in counts) + " iterations without these bounds"


def _tolerances(pile: Pile) -> str:
    inner = {
        tol: descend("", pile.problem, pile.published(accuracy=tol), _GOAL, seconds=60.0).to(_GOAL, "inner")
        for tol in (1e-2,)
    }
    return ", ".join(
        f"{f'{count:.0f}' if math.isfinite(count) else 'not there in 60 s'} with ‖r‖ ≤ {tol:g} ‖b‖"
        for tol, count in inner.items()
    )


def _per_iteration(one: Race) -> float:
    """Time of an inner iteration over that of one of PGJ."""
    return (one.published.seconds[-1] / one.published.inner[-1]) / (one.pgj.seconds[-1] / one.pgj.iteration[-1])


def _printed(name: str, pile: Pile) -> str:
    if pile.spheres != FULL[-1]:
        return "–"
    return {"PGJ": f"{_PGJ} iterations", _PUBLISHED: f"{_INNER} inner iterations"}.get(name, "–")


def _compile(pile: Pile) -> None:
    """A few iterations of all, so that no clock sees the compiler."""
    for name, settings in methods_of(pile).items():
        descend(
            "", pile.problem, settings, 0.0, iterations=20 if name == "pgj" else 2, batch=20 if name == "pgj" else 1
        )


def _draw(path: Path, resting: list[WholeRace], moving: list[Race]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 8))
    axes = figure.subplots(2, 3)
    rows: dict[str, list[Race]] = {"rest": [*resting], "motion": moving}
    for row, (how, pair) in zip(axes, rows.items()):
        for ax, one in zip(row, pair):
            more = [one.warm, one.exact] if isinstance(one, WholeRace) else []
            draw_descents(ax, [one.published, *more, one.pgj, one.ours], "seconds")
            ax.set_xscale("log")
            ax.set(xlabel="seconds of processor", ylabel="error, §5.2.4", title=f"(a) {one.pile.label} {_HOW[how]}")
    for whole in resting:
        whole.exact.name = whole.pile.label
    draw_descents(axes[0, 2], [one.exact for one in resting], "iteration")
    axes[0, 2].set(xlabel="outer iterations, direct solver", title="(b) at rest")
    for value in ("cost", "feasibility"):
        for run, kind in ((resting[1].pgj, PGJ), (resting[1].published, IPM)):
            draw_descents(axes[1, 2], [replace(run, name=f"{kind}: {value}")], "seconds", value)
    axes[1, 2].set_xscale("log")
    axes[1, 2].set(xlabel="seconds of processor", title=f"cost and feasibility, {resting[1].pile.label} at rest")
    for ax in axes.ravel():
        ax.axhline(_GOAL, color="0.4", linestyle=":")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


EXPERIMENT = Experiment(
    "pile-convergence",
    ("kleinert",),
    "The interior point against projected Gauß–Jacobi",
    ("Figure 11", "§5.2.4", "§6"),
    CLAIMS,
    measure,
)
