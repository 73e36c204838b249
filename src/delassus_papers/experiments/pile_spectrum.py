"""Kleinert et al. 2014, §4.6.2, §5.2.1, figure 8: what regularisation and preconditioning do to a pile's linear
systems."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.inexact.regularisation import softness
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.standard import Standard
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.piles import FULL, QUICK_ONE, SAND, TOUCHING, Pile, pile_of
from delassus_papers.measure.spectrum import NAMES, Range, spectrum
from delassus_papers.outcome import Picture

_COLOURS = {"plain": "C3", "regularised": "C1", "softer": "C4", "ic0": "C0", "ilu0": "C2"}
_ITERATIONS, _EVERY = 53, 4
_EARLY = 8  # iterations: "the first few"
Ranges = dict[str, list[Range]]

CLAIMS = (
    Claim(
        "quadratic",
        "Figure 8, §5.2.1",
        "non-regularised and non-preconditioned, the condition grows quadratically as α tends towards zero",
        "exponent of 1/α in the condition of D + W², second half",
        Between(1.7, 2.3, 2.0),
    ),
    Claim(
        "bounded",
        "Figure 8, §5.2.1",
        "with regularisation, the smallest eigenvalue stays bounded: O(ρ_min)",
        "smallest eigenvalue of the last iteration over the least entry of R (of sand)",
        Between(0.98, 10.0, 1.0, in_words=True),
    ),
    Claim(
        "unbounded",
        "§5.2.1",
        "… while the smallest eigenvalue of W approaches zero",
        "smallest eigenvalue of D + W² in the last iteration over the least entry of R (of sand)",
        Between(0.0, 0.1, 0.0, in_words=True),
    ),
    Claim(
        "early",
        "Figure 8, §5.2.1",
        "IC(0) very effectively reduces the range of eigenvalues in the first few iterations",
        f"condition with R over that with R and IC(0), least of those up to the {_EARLY}th",
        Between(5.0, math.inf, 5.0, in_words=True),
    ),
    Claim(
        "late",
        "Figure 8, §5.2.1",
        "close to the exact solution, the preconditioned system is not much better than the regularised "
        "non-preconditioned one",
        "condition with R over that with R and IC(0), last iteration",
        Between(0.2, 5.0, 1.0, in_words=True),
    ),
    Claim(
        "worsens",
        "Figure 8, §5.2.1",
        "ILU(0) actually worsens the condition between the 10th and the 40th iteration",
        "share of the looks from 10 to 40 at which the condition with R and ILU(0) is larger than with R alone",
        Between(0.5, 1.0, 1.0, in_words=True),
    ),
    Claim(
        "clustered",
        "Figure 8, §5.2.1",
        "towards the exact solution, the eigenvalues are nicely clustered around one; the decrease of the range is "
        "better with ILU(0)",
        "condition at the last iteration",
        Order(("ILU(0)", "IC(0)")),
    ),
    Claim(
        "indefinite",
        "§5.2.1",
        "the preconditioners ILU(0) are indefinite between the 10th and the 16th iteration",
        "is it at any look from 10 to 16?",
        Same(True, (False,)),
    ),
    Claim(
        "always",
        "§5.2.1",
        "ILU(0) is always indefinite after switching the preconditioner",
        "is it at every look from the 16th on?",
        Same(True, (False,)),
    ),
)


def ranges_of(problem: Problem, settings: IpmInexact, softer: IpmInexact) -> Ranges:
    """Ranges by name of matrix."""
    ranges = spectrum(problem, settings, softer, iterations=_ITERATIONS, every=_EVERY)
    return {name: [one for one in ranges if one.name == name] for name in NAMES}


def exponent(plain: list[Range]) -> float:
    """How the condition grows with 1/τ over the second half of the looks."""
    late = plain[len(plain) // 2 :]
    return -float(np.polyfit(np.log([one.tau for one in late]), np.log([one.condition for one in late]), 1)[0])


def numbers(of: Ranges, least: float) -> dict[str, Any]:
    """What the claims ask for.  least: entry of R, in the units of the matrices."""
    gain = [a.condition / b.condition for a, b in zip(of["regularised"], of["ic0"])]
    first = [g for g, one in zip(gain, of["ic0"]) if 0 < one.iteration <= _EARLY]
    middle = [(i, r) for i, r in zip(of["ilu0"], of["regularised"]) if 10 <= i.iteration <= 40]
    return {
        "quadratic": exponent(of["plain"]),
        "bounded": of["softer"][-1].low / least,
        "unbounded": of["plain"][-1].low / least,
        "early": min(first),
        "late": gain[-1],
        "worsens": sum(i.condition > r.condition for i, r in middle) / len(middle),
        "clustered": {"ILU(0)": of["ilu0"][-1].condition, "IC(0)": of["ic0"][-1].condition},
        "indefinite": any(one.is_indefinite for one in of["ilu0"] if 10 <= one.iteration <= 16),
        "always": all(one.is_indefinite for one in of["ilu0"] if one.iteration >= 16),
    }


def measure(folder: Path, quick: bool) -> Findings:
    pile = pile_of(QUICK_ONE if quick else FULL[0])
    sand = pile.published(young=SAND)
    of = ranges_of(pile.problem, pile.published(), sand)
    least = float(softness(Standard(pile.problem, scaled=False), sand).min())
    own, found = numbers(of, least), {}
    for key, (why, evidence) in _reasons(pile, of).items():
        found[key] = Found(own[key], None, why, evidence)
    picture = folder / "pile-spectrum.png"
    _draw(picture, of, least, pile.label)
    facts = [_fact(name, of[name]) for name in NAMES]
    caption = (
        f"Smallest and largest size of an eigenvalue over the iterations, {pile.label} at rest, published settings."
    )
    return Findings(_typed(found), facts, [Picture(picture.name, "Figure 8", caption, "curve not available")])


def _typed(found: dict[str, Found]) -> dict[str, Found | NotTested]:
    return dict(found)


def _reasons(pile: Pile, of: Ranges) -> dict[str, tuple[str, str]]:
    """Suspected causes, and what is found with them switched off."""
    loaded, stuck = pile.loaded()
    bare = spectrum(pile.settled, pile.published(), pile.published(young=SAND), iterations=_ITERATIONS, every=13)
    loaded_settled, stuck_settled = pile.loaded(pile.settled)
    plain = [one for one in bare if one.name == "plain"]
    hyper = (
        f"with the gaps that settling left {stuck_settled:.1f} contacts per sphere stick ({stuck:.1f} at rest), "
        "and the "
        f"exponent is {exponent(plain):.2f}"
    )
    closed, sand = _last(pile_of(pile.spheres, reach=TOUCHING)), _last(pile, young=SAND)
    largest = f"with the contacts that touch alone IC(0) gains {closed[0]:.2g} times"
    pivots = (
        "some pivots of ILU(0) stay near zero to the last; what does not turn it: R of sand, 7 000 times larger "
        f"(conditions {sand[2]:.1e} with ILU(0), {sand[1]:.1e} with IC(0)), and the contacts that touch alone "
        f"({closed[2]:.1e}, {closed[1]:.1e})"
    )
    hyperstatic = (
        f"the smallest eigenvalue falls with τ where contacts are hyperstatic: {loaded:.1f} per sphere carry load"
    )
    opened = "the largest eigenvalues are those of W² at contacts that open, which the diagonal of IC(0) takes away"
    return {
        "quadratic": (hyperstatic, hyper),
        "bounded": ("", ""),
        "unbounded": ("", ""),
        "early": ("", ""),
        "late": (opened, largest),
        "worsens": ("", ""),
        "clustered": (pivots, ""),
        "indefinite": ("", ""),
        "always": ("", ""),
    }


def _last(pile: Pile, **changes: float) -> tuple[float, float, float]:
    """Gain of IC(0), condition with it, condition with ILU(0), at the last look."""
    settings = pile.published(**changes)
    looks = spectrum(pile.problem, settings, settings, iterations=_ITERATIONS, every=26)
    last = {name: [one for one in looks if one.name == name][-1].condition for name in ("regularised", "ic0", "ilu0")}
    return last["regularised"] / last["ic0"], last["ic0"], last["ilu0"]


def _fact(name: str, ranges: list[Range]) -> Fact:
    cells = [
        f"{one.iteration}: {one.low:.0e} … {one.high:.0e}" + " indefinite" * one.is_indefinite
        for one in ranges[:: max(1, len(ranges) // 5)]
    ]
    return Fact(f"{NAMES[name]}: smallest … largest eigenvalue by iteration", "curve in figure 8", "; ".join(cells))


def _draw(path: Path, of: Ranges, least: float, label: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.8))
    ax = figure.subplots()
    for name, ranges in of.items():
        k = [r.iteration for r in ranges]
        style: dict[str, Any] = {"color": _COLOURS[name], "linestyle": "--" if name == "plain" else "-"}
        ax.plot(k, [r.low for r in ranges], label=NAMES[name], **style)
        ax.plot(k, [r.high for r in ranges], **style)
        ax.fill_between(k, [r.low for r in ranges], [r.high for r in ranges], color=_COLOURS[name], alpha=0.08)
        crosses = [r for r in ranges if r.is_indefinite]
        ax.plot(
            [r.iteration for r in crosses],
            [r.high for r in crosses],
            "x",
            color=_COLOURS[name],
            label=f"{NAMES[name]}, indefinite" if crosses else None,
        )
    ax.axhline(least, color="0.4", linestyle=":", label="least entry of R of sand")
    ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel="smallest and largest eigenvalue", title=label)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "pile-spectrum",
    ("kleinert",),
    "Eigenvalues of the systems of a pile, preconditioned",
    ("Figure 8", "§5.2.1"),
    CLAIMS,
    measure,
)
