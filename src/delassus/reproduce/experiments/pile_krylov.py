"""Kleinert et al. 2014, §5.2.2 and §5.2.3, figures 9 and 10: Krylov methods and strategies on a pile."""

from pathlib import Path
from typing import Any

from delassus.reproduce.measure.descent import Descent, descend, draw_descents
from delassus.reproduce.measure.piles import FULL, QUICK, Pile, pile_of
from delassus.reproduce.old import Experiment, Line, Outcome

_GOAL = 1e-4  # error
_LOW = 1e-3  # cost, the axis of figure 9: "if the accuracy requirements are not too high"
_PAPER = "Kleinert et al. 2014"
_OUTER = 100  # iterations, Kleinert et al. 2014, §5.2.2
_BEST = "BiCGstab, IC(0)"
_KRYLOV: dict[str, dict[str, Any]] = {
    _BEST: {},
    "CG, IC(0)": {"linear": "cg"},
    "GMRES, IC(0)": {"linear": "gmres"},
    "CG without": {"linear": "cg", "preconditioner": "none"},
    "BiCGstab, ILU(0)": {"preconditioner": "ilu0"},
}
_WORST_CONE = (
    "directions are solved until the worst cone is right, not to a residual's norm, so that bold targets do not spoil "
    "the steps; with fewer outer iterations potential reduction then takes fewer products"
)
_PATH, _POTENTIAL = "path-following", "potential-reduction"


def run(folder: Path, quick: bool) -> Outcome:
    pile = pile_of(QUICK[0] if quick else FULL[-1])
    _compile(pile_of(64))
    seconds = 6.0 if quick else 40.0
    krylov = {name: _descent(name, pile, seconds, **changes) for name, changes in _KRYLOV.items()}
    strategies = {
        (strategy, linear): _descent(f"{strategy}, {linear}", pile, seconds, strategy=strategy, goal=1e-9, **changes)
        for strategy in (_PATH, _POTENTIAL)
        for linear, changes in (("direct", {"space": "body", "linear": "direct"}), ("BiCGstab", {}))
    }
    pictures = [folder / "pile-krylov.png", folder / "pile-strategies.png"]
    _draw(pictures[0], list(krylov.values()), "cost", ("products", "seconds"), f"{_PAPER}, fig. 9: {pile.label}")
    _draw(pictures[1], list(strategies.values()), "error", ("iteration", "seconds"), f"{_PAPER}, fig. 10: {pile.label}")
    return Outcome(_krylov_lines(pile, krylov) + _strategy_lines(pile, strategies, seconds), pictures)


def _descent(name: str, pile: Pile, seconds: float, goal: float = _GOAL, **changes: Any) -> Descent:
    return descend(name, pile.problem, pile.inexact(**changes), goal, iterations=_OUTER, seconds=seconds)


def _krylov_lines(pile: Pile, runs: dict[str, Descent]) -> list[Line]:
    inner = {name: _inner(name, one.products_to(_GOAL)) for name, one in runs.items()}
    found = {name: count for name, count in inner.items() if count is not None}
    fewest = min(found, key=lambda name: found[name]) if found else "none"
    low, bare = (_to_cost(runs[name], _LOW) for name in (_BEST, "CG without"))
    feasible = {name: one.feasible for name, one in runs.items() if name != "BiCGstab, ILU(0)"}
    seen = [k for k in feasible.values() if k is not None]
    out = [
        Line(f"{pile.label}: fewest inner iterations to error {_GOAL:g}", _BEST,
             "; ".join(f"{name} {count:.0f}" for name, count in found.items()), fewest == _BEST,
             f"{_BEST}; its iterations are of two products each, and in products CG needs fewer"),
        Line(f"{pile.label}: CG without preconditioner to cost {_LOW:g}", "preconditioning can be skipped",
             f"{_seconds(bare)} against {_seconds(low)} with IC(0) and BiCGstab",
             low is not None and bare is not None and bare <= 2.0 * low, "at most twice the time"),
        Line(f"{pile.label}: ILU(0)", "fails between the 10th and 16th iteration", runs["BiCGstab, ILU(0)"].text(_GOAL),
             inner["BiCGstab, ILU(0)"] is None, f"does not reach {_GOAL:g}",
             "it is indefinite here too (pile-spectrum), but BiCGstab gets through with many more products"),
        Line(f"{pile.label}: iteration at which iterates become feasible", "by the 19th, for all Krylov methods",
             ", ".join(f"{name} {k}" for name, k in feasible.items()), len(seen) == len(feasible) and max(seen) <= 24,
             "all by the 24th", "feasibility and cost fall together here: the artificial variable's share of y stays "
             "larger than the smallest eigenvalue of y, and s is never dropped but falls with τ"),
    ]  # fmt: skip
    return out + [Line(f"{pile.label}: {name}", "figure 9", one.text(_GOAL), None) for name, one in runs.items()]


def _strategy_lines(pile: Pile, runs: dict[tuple[str, str], Descent], seconds: float) -> list[Line]:
    outer = {strategy: runs[strategy, "direct"].iterations_to(_GOAL) for strategy in (_PATH, _POTENTIAL)}
    time = {strategy: runs[strategy, "BiCGstab"].seconds_to(_GOAL) for strategy in (_PATH, _POTENTIAL)}
    least = {strategy: min(runs[strategy, "BiCGstab"].error) for strategy in (_PATH, _POTENTIAL)}
    bold = runs[_POTENTIAL, "BiCGstab"]
    stop = f"{'stops' if bold.gave_up else 'does not stop'}: {bold.iteration[-1]} iterations"
    path, potential = outer[_PATH], outer[_POTENTIAL]
    slow, fast = time[_POTENTIAL], time[_PATH]
    what = "path-following, potential reduction"
    return [
        Line(f"{pile.label}: outer iterations to {_GOAL:g}, direct: {what}", "potential reduction needs fewer",
             f"{path}, {potential}", path is not None and potential is not None and potential < path,
             "potential reduction needs fewer",
             f"direct factors that do not get there within {seconds:g} s (None) prove nothing"),
        Line(f"{pile.label}: potential reduction with BiCGstab", "steps fall to zero after about 30 iterations",
             f"{stop}, error {least[_POTENTIAL]:.1e}", bold.gave_up and 20 <= bold.iteration[-1] <= 45,
             "stops after 20 to 45 iterations", _WORST_CONE),
        Line(f"{pile.label}: least error with BiCGstab in {seconds:g} s: {what}", "path-following gets further",
             f"{least[_PATH]:.1e}, {least[_POTENTIAL]:.1e}", least[_PATH] <= least[_POTENTIAL],
             "path-following gets at least as far", _WORST_CONE),
        Line(f"{pile.label}: time to {_GOAL:g} with BiCGstab: {what}", "path-following is faster",
             f"{_seconds(fast)}, {_seconds(slow)}", fast is not None and (slow is None or fast < slow),
             "path-following is faster", _WORST_CONE),
    ]  # fmt: skip


def _inner(name: str, products: float | None) -> float | None:
    """Iterations of the Krylov method, as PETSc counts them for the paper: BiCGstab's are of two products each."""
    return None if products is None else products / 2.0 if name.startswith("BiCGstab") else products


def _to_cost(one: Descent, cost: float) -> float | None:
    """Seconds to that cost."""
    return next((seconds for seconds, own in zip(one.seconds, one.cost) if own <= cost), None)


def _seconds(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.3g} s"


def _compile(pile: Pile) -> None:
    """A few iterations of all, so that no clock sees the compiler."""
    for changes in (*_KRYLOV.values(), {"space": "body", "linear": "direct"}):
        descend("", pile.problem, pile.inexact(**changes), 0.0, iterations=3)


def _draw(path: Path, runs: list[Descent], value: str, over: tuple[str, str], title: str) -> None:
    from matplotlib.figure import Figure

    labels = {"products": "products with the matrix", "seconds": "seconds of processor", "iteration": "iterations"}
    figure = Figure(figsize=(11, 4.4))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, x, part in zip(axes, over, "ab"):
        draw_descents(ax, runs, x, value)
        ax.set(xlabel=labels[x], title=f"{title} ({part})")
    axes[0].set_ylabel(f"{value} (Kleinert et al. 2014, §5.2.{2 if value == 'cost' else 4})")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


EXPERIMENT = Experiment(
    "pile-krylov", "Kleinert et al. 2014, figures 9–10", "Krylov methods and strategies on a pile", run
)
