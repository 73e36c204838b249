"""Heyn et al. 2013, §5.2: figures 6 to 10, 1 000, 2 000 and 4 000 spheres in a cylinder."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from delassus.problem import Problem
from delassus.reproduce.measure.heaps import COLOURS, METHODS, NEW, Curve, follow, ladder, settled, warm_up
from delassus.reproduce.old import Experiment, Line, Outcome

_CONTACTS = {1000: 3634, 2000: 8507, 4000: 17161}  # the paper's
_RADIUS = 2.0  # of the cylinder for 1 000 spheres [m]

Results = dict[int, dict[str, Curve]]


def run(folder: Path, quick: bool) -> Outcome:
    smallest, iterations = (150, 200) if quick else (1000, 1000)
    warm_up()
    results: Results = {}
    best, lines, work = {}, [], {}
    for size in (smallest, 2 * smallest, 4 * smallest):
        container = _RADIUS * (smallest / 1000) ** (1 / 3)
        problem = settled("silo", 1.2, n=size, radius=0.1, density=1500.0, container=container)
        curves = results[size] = {name: follow(problem, name, ladder(iterations)) for name in METHODS}
        exact = follow(problem, "gpminres", [5 * iterations]).objective[-1]
        best[size] = min(exact, *(curve.objective.min() for curve in curves.values()))
        work[size] = {name: _work(problem, curve) for name, curve in curves.items()}
        lines.append(Line(f"{size} spheres: contacts", str(_CONTACTS.get(size, "–")), str(problem.contact_count), None))
        lines += [Line(f"{size} spheres, {name}: (f − f*)/|f*| and ‖ε‖₂ after {iterations}", "in figures 6–8",
                       f"{curve.gap(best[size])[-1]:.1e}, {curve.epsilon[-1]:.1e} m/s", None)
                  for name, curve in curves.items()]  # fmt: skip
    lines += _claims(results, best, work)
    pictures = [folder / "heap-size.png", folder / "heap-active-set.png"]
    _draw_curves(pictures[0], results, best)
    _draw_active(pictures[1], results, work[smallest])
    return Outcome(lines, pictures)


def _work(problem: Problem, curve: Curve) -> np.ndarray:
    """γ_i (N γ + r)_i of the last iterate [J], (n_c,): zero at the solution (figure 9)."""
    reactions = np.zeros(problem.row_count)
    reactions[problem.cone.contact_start :: 3] = curve.normal
    return curve.normal * problem.constraint_velocity(reactions)[problem.cone.contact_start :: 3]


def _claims(results: Results, best: dict[int, float], work: dict[int, dict[str, np.ndarray]]) -> list[Line]:
    sizes = list(results)
    below = all(
        results[s][name].objective[-1] < results[s]["jacobi"].objective[-1]
        and results[s][name].epsilon[-1] < results[s]["jacobi"].epsilon[-1]
        for s in sizes for name in NEW
    )  # fmt: skip
    early = {s: min(NEW, key=lambda name: results[s][name].objective[results[s][name].at(10)]) for s in sizes}
    overtaken = all(results[s]["gpminres"].epsilon[-1] < results[s]["spg-fb"].epsilon[-1] for s in sizes)
    ends = {name: results[sizes[-1]][name].gap(best[sizes[-1]])[-1] for name in ("jacobi", *NEW)}
    monotone = {
        name: all(np.all(np.diff(x) <= 1e-9 * np.abs(x[:-1])) for s in sizes
                  for x in (results[s][name].objective, results[s][name].epsilon))
        for name in ("jacobi", "spg-fb")
    }  # fmt: skip
    mean = {name: float(np.abs(values).mean()) for name, values in work[sizes[0]].items()}
    turns = {name: float(np.mean([_turns(results[s][name]) for s in sizes])) for name in ("gpminres", "kucera")}
    return [
        Line("the three new methods against Jacobi, objective and residual", "significantly better",
             "all below" if below else "not all below", below, "below in the end, all sizes"),
        Line("best of the three at first", "SPG-FB", ", ".join(f"{name} at {s}" for s, name in early.items()),
             set(early.values()) == {"spg-fb"}, "lowest objective after 10 iterations, all sizes"),
        Line("SPG-FB's residual later", "degrades more quickly than GPMINRES's",
             "larger in the end" if overtaken else "not larger", overtaken, "larger in the end, all sizes"),
        Line(f"Jacobi's (f − f*)/|f*| at {sizes[-1]} spheres", "scales much worse",
             ", ".join(f"{name} {gap:.1e}" for name, gap in ends.items()), max(ends, key=ends.__getitem__) == "jacobi",
             "the largest after equally many iterations"),
        Line("monotone in objective and residual", "Jacobi and SPG-FB", ", ".join(k for k, v in monotone.items() if v),
             all(monotone.values()), "at the points recorded, both",
             "the fallback of SPG-FB keeps the objective, its projected gradient may rise between two records"),
        Line("mean of |γ (N γ + r)| in the end, figure 9", "Jacobi's is the largest",
             ", ".join(f"{name} {value:.1e}" for name, value in mean.items()),
             mean["jacobi"] == max(mean[name] for name in ("jacobi", *NEW)), "largest of the paper's four"),
        Line("changes of the active set's size, figure 10", "larger with Kučera",
             ", ".join(f"{name} {value:.0f}" for name, value in turns.items()), turns["kucera"] > turns["gpminres"],
             "sum of |changes| over the records after the tenth, mean over the sizes"),
    ]  # fmt: skip


def _turns(curve: Curve) -> float:
    return float(np.abs(np.diff(curve.open_contacts[curve.iterations >= 10])).sum())


def _draw_curves(path: Path, results: Results, best: dict[int, float]) -> None:
    """Figures 6 to 8: objective above its minimum and residual, a column per size."""
    figure = Figure(figsize=(12, 7.5), dpi=100, layout="constrained")
    axes = figure.subplots(2, len(results), sharex=True, sharey="row", squeeze=False)
    for column, (size, curves) in enumerate(results.items()):
        for name, curve in curves.items():
            style = {"color": COLOURS[name], "linewidth": 1.3}
            axes[0, column].plot(curve.iterations, curve.gap(best[size]), **style, label=name)
            axes[1, column].plot(curve.iterations, np.maximum(curve.epsilon, 1e-12), **style)
        axes[0, column].set_title(f"{size} spheres", fontsize=10)
        axes[1, column].set_xlabel("iterations")
    for panel in axes.ravel():
        panel.set(xscale="log", yscale="log")
        panel.grid(True, color="0.92")
    axes[0, 0].set_ylabel("(f − f*) / |f*|")
    axes[1, 0].set_ylabel("‖ε‖₂ [m/s]")
    axes[0, 0].legend(fontsize=8, frameon=False)
    figure.suptitle("Heyn et al. 2013, figures 6–8 rebuilt: spheres in a cylinder, no friction", fontsize=11)
    figure.savefig(path)


def _draw_active(path: Path, results: Results, work: dict[str, np.ndarray]) -> None:
    """Figure 9 on the left, figure 10 on the right."""
    figure = Figure(figsize=(12, 4.6), dpi=100, layout="constrained")
    left, right = figure.subplots(1, 2)
    names, x = list(work), np.arange(len(work))
    sizes = [np.abs(values) for values in work.values()]
    left.bar(x - 0.25, [size.mean() for size in sizes], 0.22, label="mean")
    left.bar(x, [size.std() for size in sizes], 0.22, label="standard deviation")
    left.bar(x + 0.25, [size.max() for size in sizes], 0.22, label="largest")
    left.set(yscale="log", ylabel="|γ (N γ + r)| in the end [J]", xticks=x, xticklabels=names)
    left.legend(fontsize=8, frameon=False)
    for size, style in zip(results, (":", "--", "-")):
        for name in ("gpminres", "kucera"):
            curve = results[size][name]
            right.plot(curve.iterations, curve.open_contacts, style, color=COLOURS[name], label=f"{name}, {size}")
    right.set(xscale="log", xlabel="iterations", ylabel="contacts without reaction")
    right.legend(fontsize=8, frameon=False)
    figure.suptitle("Heyn et al. 2013, figures 9 and 10 rebuilt", fontsize=11)
    figure.savefig(path)


EXPERIMENT = Experiment(
    "heap-size", "Heyn et al. 2013, figures 6–10", "1 000 to 4 000 spheres in a cylinder, no friction", run
)
