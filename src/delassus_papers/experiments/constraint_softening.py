"""Tsounis et al. 2025, §V-D: MuJoCo's impedance (figure 6), and what softened rows gain and cost."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from delassus import residuals
from delassus.bench.extract import Take, extract
from delassus.law import Law
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.softening import Softening
from delassus.solvers import solve
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Between, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.dual_solvers import PUBLISHED
from delassus_papers.outcome import Picture

MIDPOINTS, POWERS = (0.25, 0.5, 0.75), (1.0, 2.0, 4.0)
_MOST = 100_000  # iterations

CLAIMS = (
    Claim(
        "ends",
        "Figure 6",
        "impedance runs from its least value at no residual to its largest at the width, on both "
        "sides, and stays within them (eq. 104)",
        "largest deviation, over midpoints and powers",
        Between(0.0, 1e-12, 0.0, in_words=True),
    ),
    Claim(
        "midpoint",
        "Figure 6",
        "at the midpoint the shape takes the midpoint's value, whatever the power (eq. 103)",
        "largest deviation, over midpoints and powers",
        Between(0.0, 1e-12, 0.0, in_words=True),
    ),
    Claim(
        "sooner",
        "§V-D",
        "relaxed and softened, the problem can be solved much more efficiently than the original",
        "iterations of PGS-CCP to 1e-6",
        Order(("softened", "original"), 2.0),
    ),
    Claim(
        "unique",
        "§V-D",
        "the regularised problem has a unique solution, which steadies the reactions",
        "largest difference of reactions from two starts, relative",
        Order(("softened", "hard"), 100.0),
    ),
    Claim(
        "too-little",
        "§V-D",
        "regularisation can result in significant underestimation of constraint forces",
        "sum of normal reactions over the weight's impulse",
        Order(("softened", "hard"), 1.01),
    ),
    Claim(
        "violated",
        "§V-D",
        "… leading to intolerable constraint violation",
        "dual residual of the hard rows [m/s]",
        Order(("hard", "softened"), 100.0),
    ),
)


def softened(problem: Problem, impedance: float) -> Problem:
    """Eq. 96: convex, with R = (1 − d)/d diag D and no bias (no residual, no speed to feed back)."""
    D = problem.delassus.dense()
    R = (1.0 - impedance) / impedance * np.diag(D)
    return Problem.dual(D + np.diag(R), problem.free_velocity, cone=problem.cone, law=Law.CCP)


def shape_errors(curve: Callable[[Softening, np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Largest deviations of impedance curves from what eq. 103–104 print: at the ends and bounds, at the midpoint."""
    ends, middle = 0.0, 0.0
    for midpoint in MIDPOINTS:
        for power in POWERS:
            soft = Softening(midpoint=midpoint, power=power)
            low, high, w = soft.impedance, soft.impedance_width, soft.width
            r = w * np.linspace(-2.0, 2.0, 401)
            d = curve(soft, r)
            out = max(low - d.min(), d.max() - high, np.abs(d - d[::-1]).max(), abs(d[200] - low))
            ends = max(ends, out, float(np.abs(d[np.abs(r) >= w] - high).max()))
            at = curve(soft, np.array([midpoint * w]))[0]
            middle = max(middle, abs((at - low) / (high - low) - midpoint))
    return float(ends), float(middle)


def spread(problem: Problem) -> float:
    """How far apart reactions are that are found from zero and from a random guess, relative."""
    size = problem.rho * float(np.abs(problem.free_velocity).max())
    guess = size * np.abs(np.random.default_rng(7).normal(size=problem.row_count))
    a, b = (solve(problem, PUBLISHED["PGS-CCP"], start, tol=1e-10, max_iter=_MOST).reactions for start in (None, guess))
    return float(np.abs(a - b).max() / np.abs(a).max())


def iterations(problem: Problem) -> float:
    found = solve(problem, PUBLISHED["PGS-CCP"], tol=1e-6, max_iter=_MOST)
    return float(found.iterations) if found.converged else float("inf")


def normal_sum(problem: Problem) -> float:
    """Sum of the normal reactions [N s]."""
    return float(solve(problem, tol=1e-10).reactions[problem.cone.contact_start :: 3].sum())


def draw(path: Path) -> None:
    """The paper's figure: impedance between its least and largest value over the residual in widths."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.0), layout="constrained")
    for at, midpoint in zip(figure.subplots(1, 3, sharey=True), MIDPOINTS):
        for power in POWERS:
            soft = Softening(midpoint=midpoint, power=power)
            x = np.linspace(-1.0, 1.0, 401)
            at.plot(x, soft.impedance_of(x * soft.width), label=f"p = {power:g}")
        low, high = soft.impedance, soft.impedance_width
        at.plot([-1, 0, 1], [high, low, high], "ko", ms=5, label="eq. 104")
        at.plot([midpoint], [low + midpoint * (high - low)], "k^", ms=6, label="eq. 103 at m")
        at.set(xlabel="residual over width", title=f"midpoint m = {midpoint:g}")
        at.set_yticks([low, high], ["d_min", "d_max"])
        at.grid(alpha=0.3)
    figure.axes[0].set_ylabel("impedance")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=5, loc="outside lower center", fontsize=9)
    figure.savefig(path, dpi=120)


def measure(folder: Path, quick: bool) -> Findings:
    del quick
    scene = Take("boxes-fixed", None, 2, 1)
    hard = extract(scene)[-1].problem
    impedance = Softening().impedance_width
    soft = softened(hard, impedance)
    ends, middle = shape_errors(Softening.impedance_of)
    built = SCENES[scene.scene].build()
    weight = built.settings.h * float(built.model.mass.sum() * np.linalg.norm(built.model.gravity))
    residual = {
        name: residuals.evaluate(hard, solve(problem, tol=1e-10).reactions).dual
        for name, problem in (("hard", hard), ("softened", soft))
    }
    draw(folder / "impedance.png")
    found = {
        "ends": Found(ends),
        "midpoint": Found(middle),
        "sooner": Found({"softened": iterations(soft), "original": iterations(hard)}),
        "unique": Found({"softened": spread(soft), "hard": spread(hard)}),
        "too-little": Found({"softened": normal_sum(soft) / weight, "hard": normal_sum(hard) / weight}),
        "violated": Found(residual),
    }
    facts = [
        Fact("problem of the lower four claims", "–", f"{scene.sequence} at rest: {hard.contact_count} contacts, weld"),
        Fact("impedance d; R over D_jj", "eq. 105–106", f"{impedance:g}; {(1 - impedance) / impedance:.3g}"),
    ]
    picture = Picture(
        "impedance.png",
        "Figure 6",
        "impedance over residual, for midpoints and powers; points: what "
        "eq. 103–104 give at the ends and at the midpoint",
        "curve not available",
    )
    return Findings(dict(found), facts, [picture])


EXPERIMENT = Experiment(
    "constraint-softening",
    ("tsounis",),
    "Impedance, and what softened rows gain and cost",
    ("Figure 6", "§V"),
    CLAIMS,
    measure,
)
