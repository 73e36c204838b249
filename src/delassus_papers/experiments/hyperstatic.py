"""Kleinert et al. 2014, §4.6, figure 6: two valid solutions of a hyperstatic example; and §5.1, figure 7: the two test
problems."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from delassus.solvers import solve
from delassus.solvers.table import find
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Near
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.disks import Disks, ten_disks
from delassus_papers.measure.piles import CONTACTS, FULL, QUICK, Pile, pile_of
from delassus_papers.outcome import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = ("ipm-kleinert", "nbgs")
_TOL = 1e-9  # of the relative natural map

CLAIMS = (
    Claim(
        "many",
        "Figure 6, §4.6",
        "ten resting disks allow infinitely many solutions for the reaction impulses",
        "dimension of the space of impulses that move nothing",
        Between(1.0, math.inf, 1.0, in_words=True),
    ),
    Claim(
        "two",
        "Figure 6, §4.6",
        "two different valid impulse solutions",
        "largest difference of an impulse, interior point and Gauß–Seidel, over the mean one",
        Between(0.1, math.inf, 0.1, in_words=True),
    ),
    Claim(
        "zero",
        "Figure 6, §4.6",
        "all lead to the same zero-velocity state",
        "largest velocity of a disk after either, and after their mean, over that of free fall",
        Between(0.0, 1e-5, 0.0, in_words=True),
    ),
    Claim(
        "first",
        "§5.1",
        "test problem 1 has n = 8378 potential contacts",
        "potential contacts of 2 048 spheres",
        Near(8378.0, 1.05),
    ),
    Claim(
        "second",
        "§5.1",
        "test problem 2 has n = 21052 potential contacts",
        "potential contacts of 5 040 spheres",
        Near(21052.0, 1.05),
    ),
    Claim(
        "neighbours",
        "§4.6",
        "every soil particle is in contact with approximately 5 to 10 other particles",
        "contacts that touch at a sphere, mean of the larger pile",
        Between(5.0, 10.0, 5.0),
        changed="2026-11-16: contacts that touch; before, potential ones, whose number another claim holds already",
    ),
)


def solutions(disks: Disks, methods: tuple[str, ...] = _METHODS) -> dict[str, np.ndarray]:
    """(n_c,) normal impulses [N s] by name of solver."""
    return {
        name: solve(disks.problem, find(name)[1], tol=_TOL, tol_velocity=None, max_iter=100_000).reactions[::3]
        for name in methods
    }


def numbers(disks: Disks, found: dict[str, np.ndarray]) -> dict[str, float]:
    """What the claims about the disks ask for."""
    first, second = found.values()
    mean = float(np.mean([first, second]))
    return {
        "many": float(disks.self_stresses),
        "two": float(np.abs(first - second).max()) / mean if mean > 0.0 else math.nan,
        "zero": max(disks.speed(one) for one in (first, second, 0.5 * (first + second))),
    }


def measure(folder: Path, quick: bool) -> Findings:
    disks = ten_disks()
    impulses = solutions(disks)
    found: dict[str, Found | NotTested] = {key: Found(value) for key, value in numbers(disks, impulses).items()}
    piles = [pile_of(n) for n in (QUICK if quick else FULL)]
    small = NotTested("a smaller pile is used")
    found["first"] = small if quick else Found(float(piles[0].problem.contact_count))
    found["second"] = small if quick else Found(float(piles[1].problem.contact_count))
    found["neighbours"] = Found(2.0 * piles[1].touching / piles[1].spheres)
    facts = [Fact("ten disks: contacts, motions", "–", f"{len(disks.bodies)}, {2 * len(disks.centres)}")]
    for pile in piles:
        facts += _facts(pile)
    pictures = [
        Picture(
            "hyperstatic-disks.png",
            "Figure 6",
            "Impulses between the disks by two methods: width and colour "
            "are their "
            "size, both leave every disk at rest.",
            "picture without numbers",
        ),
        Picture("test-problems.png", "Figure 7", "The two piles at rest; colour: radius.", "picture without numbers"),
    ]
    _draw_disks(folder / pictures[0].name, disks, impulses)
    _draw_piles(folder / pictures[1].name, piles)
    return Findings(found, facts, pictures)


def _facts(pile: Pile) -> list[Fact]:
    n, paper = pile.problem.contact_count, CONTACTS.get(pile.spheres)
    loaded, stuck = pile.loaded()
    return [
        Fact(
            f"{pile.label}: potential contacts, unknowns 3 n + 1",
            f"{paper}, {3 * paper + 1}" if paper else "–",
            f"{n}, {3 * n + 1}",
        ),
        Fact(
            f"{pile.label}: contacts that touch, carry load, stick, per sphere",
            "–",
            f"{pile.touching / pile.spheres:.2f}, {loaded:.2f}, {stuck:.2f}",
        ),
        Fact(f"{pile.label}: fastest sphere of the last step of settling [m/s]", "–", f"{pile.speed:.1e}"),
    ]


def _draw_disks(path: Path, disks: Disks, impulses: dict[str, np.ndarray]) -> None:
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axes = figure.subplots(1, len(impulses))
    largest = max(float(one.max()) for one in impulses.values())
    for ax, (name, normal) in zip(axes, impulses.items()):
        for centre in disks.centres:
            ax.add_patch(Circle(tuple(centre), disks.radius, facecolor="0.93", edgecolor="0.5"))
        for point, (a, b), size in zip(disks.point, disks.bodies, normal):
            ends = np.array([disks.centres[k] if k >= 0 else point for k in (a, b)])
            share = size / largest
            ax.plot(*ends.T, color=colormaps["plasma"](share), linewidth=0.3 + 8.0 * share, solid_capstyle="round")
        _trough(ax, disks)
        ax.set_title(f"{name}: largest {1e3 * normal.max():.2f} mN s")
    figure.savefig(path, dpi=120)


def _trough(ax: "Axes", disks: Disks) -> None:
    top = float(disks.centres[:, 1].max()) + disks.radius
    side = top / math.sqrt(3.0)  # walls of 60°
    ax.plot([-side, 0.0, side], [top, 0.0, top], color="0.3", linewidth=1.5)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _draw_piles(path: Path, piles: list[Pile]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    turn, tilt = math.radians(30.0), math.radians(25.0)
    for ax, pile, part in zip(figure.subplots(1, len(piles)), piles, "ab"):
        shapes, q = pile.setup.model.shapes, pile.state.q
        radius = np.zeros(len(q))
        moving = shapes.body >= 0
        radius[shapes.body[moving]] = shapes.size[moving, 0]
        across = math.cos(turn) * q[:, 0] - math.sin(turn) * q[:, 1]
        away = math.sin(turn) * q[:, 0] + math.cos(turn) * q[:, 1]
        up, depth = math.cos(tilt) * q[:, 2] + math.sin(tilt) * away, math.cos(tilt) * away - math.sin(tilt) * q[:, 2]
        order = np.argsort(-depth)  # the farthest first
        discs = PatchCollection(
            [Circle((across[k], up[k]), radius[k]) for k in order], cmap="YlOrBr", edgecolor="0.15", linewidth=0.25
        )
        discs.set_array(radius[order])
        ax.add_collection(discs)
        ax.autoscale_view()
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(f"({part}) {pile.label}, {pile.problem.contact_count} potential contacts")
    figure.savefig(path, dpi=120)


EXPERIMENT = Experiment(
    "hyperstatic",
    ("kleinert",),
    "A hyperstatic example, and the two test problems",
    ("Figure 6", "Figure 7", "§4.6", "§5.1"),
    CLAIMS,
    measure,
)
