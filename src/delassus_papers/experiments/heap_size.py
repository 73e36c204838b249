"""Heyn et al. 2013, §5.2: figures 6 to 10, 1 000, 2 000 and 4 000 spheres in a cylinder."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Near, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.heap_curves import NEW, warm_up
from delassus_papers.measure.heap_systems import (
    ACTIVE_SET_METHODS,
    BEGINNING,
    ITERATIONS,
    LONGER,
    NEAR,
    STEADY,
    System,
    changes,
    draw_active,
    draw_curves,
    draw_feasibility,
    ends,
    feasibility,
    rise,
    settles,
    system,
    unsettled,
)
from delassus_papers.measure.heaps import CLOSE, FAR, second_problem

_CONTACTS = {1000: 3634, 2000: 8507, 4000: 17161}  # the paper's
_FIGURE = {1000: "Figure 6", 2000: "Figure 7", 4000: "Figure 8"}
_LARGEST = max(_CONTACTS)
_SIGNIFICANT = 2.0  # factor behind "significantly better" and "much worse"
_ONCE = "2026-11-16: sizes are looked at once an iteration, not at the gradient steps between two of GPMINRES"
_LAST = 100  # records at the end of a curve
_RISE = 1e-6  # relative rises smaller than this are rounding
_FOUR = ("Jacobi", *NEW)


def _claims_of(size: int) -> tuple[Claim, ...]:
    place, contacts = _FIGURE[size], _CONTACTS[size]
    worst = "worst of the three"
    return (
        Claim(
            f"contacts {size}", "§5.2", f"{size:,} bodies with {contacts:,} contacts", "contacts", Near(contacts, 1.05)
        ),
        Claim(
            f"objective {size}",
            place,
            "SPG-FB, GPMINRES and Kučera perform significantly better than Jacobi in the objective",
            f"(f − f*)/|f*| after {ITERATIONS} iterations",
            Order((worst, "Jacobi"), _SIGNIFICANT),
        ),
        Claim(
            f"residual {size}",
            place,
            "and in the residual",
            f"‖ε‖₂ after {ITERATIONS} iterations",
            Order((worst, "Jacobi"), _SIGNIFICANT, unit="m/s"),
        ),
        Claim(
            f"first {size}",
            place,
            "among the three, SPG-FB performs best at the beginning",
            f"‖ε‖₂ after {BEGINNING} iterations",
            Order(("SPG-FB", "better of the other two"), unit="m/s"),
        ),
        Claim(
            f"later {size}",
            place,
            "but its performance degrades more quickly than that of GPMINRES",
            f"‖ε‖₂ after {ITERATIONS} iterations",
            Order(("GPMINRES", "SPG-FB"), unit="m/s"),
        ),
        Claim(
            f"changes {size}",
            "Figure 10",
            f"{size:,} bodies: Kučera experiences larger changes in the active set than GPMINRES",
            "sum of changes of its size from iteration to iteration, over the contacts",
            Order(ACTIVE_SET_METHODS),
            changed=_ONCE,
        ),
        Claim(
            f"settles {size}",
            "Figure 10",
            f"{size:,} bodies: GPMINRES seems to settle on one more quickly",
            f"iterations after which its size stays within {STEADY:.0%} of the contacts",
            Order(ACTIVE_SET_METHODS),
        ),
    )


CLAIMS = (
    *(claim for size in _CONTACTS for claim in _claims_of(size)),
    *(
        Claim(
            f"monotone {what} {name}",
            "§5.2",
            f"{name} is monotone in the {what}",
            f"largest rise of the {what} in one iteration, over its value, all systems",
            Between(0.0, _RISE, 0.0, in_words=True),
        )
        for name in ("Jacobi", "SPG-FB")
        for what in ("objective", "residual")
    ),
    Claim(
        "unsettled",
        "Figure 10",
        "the active set can be unsettled even as the objective approaches the minimum",
        f"change of its size after (f − f*)/|f*| is below {NEAR:g}, contacts, largest system",
        Between(1.0, np.inf, 1.0, in_words=True),
    ),
    Claim(
        "scales",
        "§6",
        "the scalability of Jacobi to larger problems appears to be much worse",
        f"factor by which iterations to (f − f*)/|f*| = {NEAR:g} grow from 1,000 to 4,000 bodies",
        Order(("worst of the three", "Jacobi"), _SIGNIFICANT),
    ),
    Claim(
        "gauss-seidel",
        "§6",
        "the ubiquitous Jacobi and Gauß–Seidel algorithms converge very slowly",
        f"iterations to (f − f*)/|f*| = {NEAR:g}, 1,000 bodies",
        Order(("slowest of the three", "Gauß–Seidel"), _SIGNIFICANT),
    ),
)


def measure(folder: Path, quick: bool) -> Findings:
    warm_up()
    sizes = [size for size in _CONTACTS if not (quick and size == _LARGEST)]
    systems = {size: system(second_problem(size)) for size in sizes}
    found = findings(systems)
    left_out = [claim.key for claim in CLAIMS if claim.key not in found]
    found |= {key: NotTested("quick: 4,000 bodies take a minute to settle and to solve") for key in left_out}
    pictures = [draw_curves(folder / f"heap-{size}.png", _FIGURE[size], size, s) for size, s in systems.items()]
    pictures += [
        draw_feasibility(folder / "heap-feasibility.png", systems[1000]),
        draw_active(folder / "heap-active-set.png", systems),
    ]
    return Findings(found, _facts(systems), pictures)


def findings(systems: Mapping[int, System]) -> dict[str, Found | NotTested]:
    """What these systems say; claims about others are left out."""
    found: dict[str, Found | NotTested] = {}
    for size, s in systems.items():
        found |= _of_system(size, s)
    found |= _monotone(systems)
    if _LARGEST in systems:
        counts = {size: {name: systems[size].to_near(name) for name in _FOUR} for size in (1000, _LARGEST)}
        growth = {name: counts[_LARGEST][name] / counts[1000][name] for name in _FOUR}
        ours = {name: systems[_LARGEST].to_near(name) / systems[1000].to_near(name) for name in ("ags", "apgd")}
        found["scales"] = Found(
            {"worst of the three": max(growth[name] for name in NEW), "Jacobi": growth["Jacobi"]},
            ours,
            "the height of the heap: "
            + ", ".join(f"{name} {counts[1000][name]:.0f} → {counts[_LARGEST][name]:.0f}" for name in _FOUR),
        )
        found["unsettled"] = Found(unsettled(systems[_LARGEST]))
    small = systems[1000]
    found["gauss-seidel"] = Found(
        {"slowest of the three": max(small.to_near(name) for name in NEW), "Gauß–Seidel": small.to_near("Gauß–Seidel")},
        {"ags": small.to_near("ags")},
        "the heap of 1,000 is three layers high",
        _on_higher_heap(systems),
    )
    return found


def _on_higher_heap(systems: Mapping[int, System]) -> str:
    size = max(systems)
    told = (f"{name} {systems[size].to_near(name):.0f}" for name in ("Gauß–Seidel", *_FOUR))
    return f"{size:,} bodies: " + ", ".join(told)


def _of_system(size: int, s: System) -> dict[str, Found | NotTested]:
    end, contacts = ends(s), s.heap.problem.contact_count
    later = {
        name: (c.gap(s.best)[c.at(LONGER)], c.epsilon[c.at(LONGER)])
        for name in ("Kučera", "Jacobi")
        for c in [s.longer.get(name, s.curves[name])]
    }
    early = {name: float(s.curves[name].epsilon[s.curves[name].at(BEGINNING)]) for name in NEW}
    products = {name: s.curves[name].epsilon[min(BEGINNING, len(s.curves[name].epsilon)) - 1] for name in NEW}
    ours = {
        name: (float(c.gap(s.best)[-1]), float(c.epsilon[-1])) for name, c in s.own.items() if name in ("ags", "apgd")
    }
    scaled = {
        name: s.own[key].epsilon[s.own[key].at(BEGINNING)]
        for name, key in (("P-SPG-FB", "spg-fb"), ("gpminres", "gpminres"), ("kucera", "kucera"))
    }
    found: dict[str, Found | NotTested] = {f"contacts {size}": Found(contacts)}
    for place, what in enumerate(("objective", "residual")):
        found[f"{what} {size}"] = Found(
            {"worst of the three": max(end[name][place] for name in NEW), "Jacobi": end["Jacobi"][place]},
            {name: values[place] for name, values in ours.items()},
            "Kučera's method, slow to find the contacts that carry; how many iterations are meant is not printed",
            f"{', '.join(f'{name} {end[name][place]:.1e}' for name in NEW)}; after {LONGER} iterations Kučera "
            f"{later['Kučera'][place]:.1e}, Jacobi {later['Jacobi'][place]:.1e}",
        )
    found[f"first {size}"] = Found(
        {"SPG-FB": early["SPG-FB"], "better of the other two": min(early["GPMINRES"], early["Kučera"])},
        scaled,
        "what an iteration of GPMINRES is: its gradient steps are not counted",
        f"after {BEGINNING} products with N " + ", ".join(f"{name} {value:.2g}" for name, value in products.items()),
    )
    least = {name: s.curves[name].epsilon[-_LAST:].min() for name in ("GPMINRES", "SPG-FB")}
    found[f"later {size}"] = Found(
        {name: end[name][1] for name in least},
        None,
        "GPMINRES's residual jumps from face to face",
        f"least of the last {_LAST} records: GPMINRES {least['GPMINRES']:.2g}, SPG-FB {least['SPG-FB']:.2g} m/s",
    )
    found[f"changes {size}"] = Found({name: changes(s.curves[name], contacts) for name in ACTIVE_SET_METHODS})
    found[f"settles {size}"] = Found({name: settles(s.curves[name], contacts) for name in ACTIVE_SET_METHODS})
    return found


def _monotone(systems: Mapping[int, System]) -> dict[str, Found | NotTested]:
    found: dict[str, Found | NotTested] = {}
    for name in ("Jacobi", "SPG-FB"):
        for what in ("objective", "residual"):
            values = [
                s.curves[name].objective if what == "objective" else s.curves[name].epsilon for s in systems.values()
            ]
            share = [float(np.mean(np.diff(v) > _RISE * np.abs(v[:-1]))) for v in values]
            found[f"monotone {what} {name}"] = Found(
                max(rise(v) for v in values),
                None,
                "single iterations are looked at, which a plot hides",
                f"{max(share):.1%} of the iterations rise; looking at every fiftieth, the largest rise is "
                f"{max(rise(v[::50]) for v in values):.1e}",
            )
    return found


def _facts(systems: Mapping[int, System]) -> list[Fact]:
    out = []
    for size, s in systems.items():
        count, median = s.heap.problem.contact_count, s.heap.median_speed
        other = second_problem(size, then=FAR if size == 1000 else CLOSE).problem.contact_count
        out.append(
            Fact(
                f"{size} spheres: contacts, gap below which a pair counts, median speed",
                f"{_CONTACTS[size]}, not printed",
                f"{count} ({count / _CONTACTS[size] - 1:+.1%}), "
                f"{0.2 * (CLOSE if size == 1000 else FAR):g} m, {median:.2g} m/s",
                f"{other} ({other / _CONTACTS[size] - 1:+.1%}) with {0.2 * (FAR if size == 1000 else CLOSE):g} m",
            )
        )
        end = ends(s)
        out += [
            Fact(
                f"{size} spheres, {name} after {ITERATIONS}: (f − f*)/|f*|, ‖ε‖₂",
                "in the figure",
                f"{end[name][0]:.1e}, {end[name][1]:.1e} m/s",
            )
            for name in end
        ]
        for name, curve in [*s.curves.items(), *s.own.items()]:
            when = s.longer.get(name, curve).reaching(s.near)
            told = f"{when.iterations:.0f} iterations, {when.seconds:.2g} s"
            own = name in s.own
            out.append(
                Fact(
                    f"{size} spheres, {name} to (f − f*)/|f*| = {NEAR:g}",
                    "–",
                    "–" if own else told,
                    told if own else "–",
                )
            )
    for name, curve in systems[1000].curves.items():
        work = np.abs(feasibility(systems[1000].heap.problem, curve))
        out.append(
            Fact(
                f"figure 9, {name}: mean, deviation, largest |γ (N γ + r)|",
                "in the figure",
                f"{work.mean():.1e}, {work.std():.1e}, {work.max():.1e} J",
            )
        )
    return out


EXPERIMENT = Experiment(
    "heap-size",
    ("heyn",),
    "Test problem 2: 1 000, 2 000 and 4 000 spheres in a cylinder, no friction",
    ("Figure 6", "Figure 7", "Figure 8", "Figure 9", "Figure 10", "§5.2", "§6"),
    CLAIMS,
    measure,
)
