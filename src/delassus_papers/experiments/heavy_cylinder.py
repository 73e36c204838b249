"""Heyn et al. 2013, §5.3: figures 11 to 13, a cylinder of 1 000, 4 000 and 16 000 kg on 1 000 spheres."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Near, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.heap_curves import COLOURS, NEW, OURS, PUBLISHED, Curves, follow, minimum, warm_up
from delassus_papers.measure.heap_pictures import NO_CURVE, log_axes, render
from delassus_papers.measure.heaps import Heap, third_problem
from delassus_papers.outcome import Picture

_SPHERES, _CONTACTS = 1000, 4295
_MASSES = (1000.0, 4000.0, 16000.0)  # [kg]
_STYLES = (":", "--", "-")
_NEAR = 1e-3  # of |f*|: above −1 in the paper's normalised objective
_ITERATIONS = 2000
_FOUR = ("Jacobi", *NEW)
_OTHERS = ("Jacobi", "SPG-FB", "Kučera")
_SLOW = {"Jacobi": _NEAR, "SPG-FB": 0.1 * _NEAR, "Kučera": 0.1 * _NEAR}  # gaps at which those that crawl may stop
_LONGER = 10  # times the iterations of the others, at most

CLAIMS = (
    Claim("contacts", "§5.3", "this scenario had 4,295 contacts", "contacts", Near(_CONTACTS, 1.05)),
    *(
        Claim(
            f"best {mass:g}",
            "Figure 12",
            f"{mass:,.0f} kg: GPMINRES performs best",
            f"iterations to a normalised objective of −1 + {_NEAR:g}",
            Order(("GPMINRES", "best of the others")),
        )
        for mass in _MASSES
    ),
    Claim(
        "degradation",
        "Figure 12",
        "the performance degradation with increasing mass is less significant for GPMINRES than for other algorithms",
        "factor by which these iterations grow from 1,000 to 16,000 kg",
        Order(("GPMINRES", "least of the others")),
    ),
    Claim(
        "preconditioner",
        "§4.3",
        "the preconditioner improved the convergence of P-SPG-FB with many light objects and few heavy ones",
        f"iterations to a normalised objective of −1 + {_NEAR:g}, 16,000 kg",
        Order(("P-SPG-FB", "SPG-FB")),
    ),
)


@dataclass(frozen=True)
class Loaded:
    """The heap under one mass: curves of the paper's methods, ours, and the minimum."""

    heap: Heap
    best: float
    curves: Curves
    own: Curves

    def iterations(self, near: float = _NEAR) -> dict[str, float]:
        """To the objective near its minimum, of the paper's four."""
        return {name: self.curves[name].reaching(self.best + near * abs(self.best)).iterations for name in _FOUR}


def loaded(heap: Heap, last: int = _ITERATIONS) -> Loaded:
    """The paper's methods and ours; those that crawl go on until they are near, and no further."""
    problem = heap.problem
    best = minimum(problem)
    curves = {
        name: follow(problem, solver, _LONGER * last, ratio=1.02, until=best + _SLOW[name] * abs(best))
        if name in _SLOW
        else follow(problem, solver, last, ratio=1.02)
        for name, solver in PUBLISHED.items()
    }
    own = {
        name: follow(problem, OURS[name], last, ratio=1.02) for name in ("ags", "apgd", "spg-fb", "gpminres", "kucera")
    }
    return Loaded(heap, best, curves, own)


def measure(folder: Path, quick: bool) -> Findings:
    warm_up()
    # one scene settled under the lightest, then the mass changed: the same contacts for all
    cases = {mass: loaded(third_problem(_SPHERES, mass, _MASSES[0])) for mass in _MASSES}
    heap = cases[_MASSES[0]].heap
    scene, facts = render(
        folder / "heavy-scene.png",
        heap,
        "Figure 11",
        f"A cylinder of radius 1.125 m on {_SPHERES} spheres, {heap.problem.contact_count} contacts.",
    )
    pictures = [
        _draw(folder / "heavy-objective.png", cases, "Figure 12"),
        _draw(folder / "heavy-residual.png", cases, "Figure 13"),
    ]
    return Findings(findings(cases), [*facts, *_facts(cases)], [*scene, *pictures])


def findings(cases: Mapping[float, Loaded]) -> dict[str, Found | NotTested]:
    """What these curves say to every claim."""
    counts = {mass: case.iterations() for mass, case in cases.items()}
    closer = {mass: case.iterations(0.1 * _NEAR) for mass, case in cases.items()}
    light, heavy = _MASSES[0], _MASSES[-1]
    found: dict[str, Found | NotTested] = {"contacts": Found(cases[light].heap.problem.contact_count)}
    for mass, count in counts.items():
        case = cases[mass]
        near = case.best + _NEAR * abs(case.best)
        ours = {name: case.own[name].reaching(near).iterations for name in ("gpminres", "ags", "apgd")}
        found[f"best {mass:g}"] = Found(
            {"GPMINRES": count["GPMINRES"], "best of the others": min(count[name] for name in _OTHERS)},
            ours,
            "how near is near",
            f"to −1 + {0.1 * _NEAR:g} " + _told(closer[mass]),
        )
    growth = {name: counts[heavy][name] / counts[light][name] for name in _FOUR}
    found["degradation"] = Found(
        {"GPMINRES": growth["GPMINRES"], "least of the others": min(growth[name] for name in _OTHERS)},
        _own_growth(cases),
        "a method that is slow with every mass grows by a small factor",
        f"iterations at {light:,.0f} kg "
        + _told(counts[light])
        + f"; at {heavy:,.0f} kg "
        + _told(counts[heavy])
        + f"; added by the mass GPMINRES {counts[heavy]['GPMINRES'] - counts[light]['GPMINRES']:.0f}, least of the "
        f"others {min(counts[heavy][name] - counts[light][name] for name in _OTHERS):.0f}",
    )
    case = cases[heavy]
    with_p = case.own["spg-fb"].reaching(case.best + _NEAR * abs(case.best)).iterations
    without = counts[heavy]["SPG-FB"]  # who never gets there proves nothing for the other
    found["preconditioner"] = Found({"P-SPG-FB": with_p, "SPG-FB": without if np.isfinite(without) else np.nan})
    return found


def _own_growth(cases: Mapping[float, Loaded]) -> dict[str, float]:
    ends = [cases[mass] for mass in (_MASSES[0], _MASSES[-1])]
    counts = {
        name: [c.own[name].reaching(c.best + _NEAR * abs(c.best)).iterations for c in ends]
        for name in ("gpminres", "ags", "apgd")
    }
    return {name: pair[1] / pair[0] for name, pair in counts.items()}


def _told(counts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {count:.0f}" for name, count in counts.items())


def _facts(cases: Mapping[float, Loaded]) -> list[Fact]:
    out = [Fact("height of the cylinder, gap below which spheres touch", "not printed", "0.75 m, 0.022 m")]
    for mass, case in cases.items():
        near = case.best + _NEAR * abs(case.best)
        for curves, is_ours in ((case.curves, False), (case.own, True)):
            for name, curve in curves.items():
                when = curve.reaching(near)
                told = f"{when.iterations:.0f} iterations, {when.seconds:.2g} s"
                out.append(
                    Fact(
                        f"{mass:,.0f} kg, {name} to −1 + {_NEAR:g}",
                        "–",
                        "–" if is_ours else told,
                        told if is_ours else "–",
                    )
                )
    return out


def _draw(path: Path, cases: Mapping[float, Loaded], of: str) -> Picture:
    """Figure 12, the objective normalised to −1 at its minimum, or figure 13, the residual."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 5.2), dpi=110, layout="constrained")
    axes, objective = figure.subplots(), of == "Figure 12"
    for (mass, case), style in zip(cases.items(), _STYLES):
        for name in ("Gauß–Seidel", *_FOUR):
            curve = case.curves[name].by_iteration()
            y = curve.gap(case.best) if objective else np.maximum(curve.epsilon, 1e-12)
            axes.plot(
                curve.iterations,
                y,
                style,
                color=COLOURS[name],
                linewidth=1.2,
                label=name if mass == _MASSES[-1] else None,
            )
    log_axes(axes, "iterations", "normalised objective above −1" if objective else "‖ε‖₂ [m/s]")
    axes.legend(fontsize=8, frameon=False, title="dotted 1 000 kg, dashed 4 000 kg, solid 16 000 kg", title_fontsize=8)
    figure.savefig(path)
    what = "Normalised objective" if objective else "Residual"
    return Picture(path.name, of, f"{what} over iterations for three masses, settings of the paper.", NO_CURVE)


EXPERIMENT = Experiment(
    "heavy-cylinder",
    ("heyn",),
    "Test problem 3: a heavy cylinder on 1 000 light spheres, no friction",
    ("Figure 11", "Figure 12", "Figure 13", "§4.3", "§5.3"),
    CLAIMS,
    measure,
)
