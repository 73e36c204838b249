"""Tsounis et al. 2025, §VI–VII: the ten solvers, as published and as ours, over samples of whole motions of the suite.

The section with the paper's own results is not in the text at hand: claims are those that its other sections state."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from delassus.bench.extract import Take, extract
from delassus.bench.metrics import EXACT, warm_gain
from delassus.bench.result import Result
from delassus.bench.sample import Sample
from delassus.solvers.settings import Settings
from delassus.solvers.table import find
from delassus_papers.claim import Claim, Fact, Found, NotTested
from delassus_papers.criterion import Between, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.dual_solvers import (
    EARLY,
    EPS,
    GROUPS,
    MOST,
    OURS,
    PUBLISHED,
    TOL,
    draw_accuracy,
    draw_categories,
    draw_profiles,
    draw_starts,
    group_of,
    race,
    solved,
    stopping,
    suite,
)
from delassus_papers.outcome import Picture

OMEGAS = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8)
RATIOS = (1.0, 30.0, 1000.0)
_FASTER = 1.5  # times fewer iterations are a significant gain
_CARELESS = 1.8  # relaxation factor near the upper end
_SIGNIFICANT = 10.0  # iterations that make the error so many times smaller have had an effect
_FINER = 1e-4  # of the tolerance of eq. 160, which the text at hand does not print

CLAIMS = (
    Claim(
        "fixed-penalty",
        "§VI-F",
        "a fixed penalty of 1 was found to work well across all problems",
        "part of the samples that ADMM-NCP-FP solves",
        Between(0.9, 1.0, 1.0, in_words=True),
    ),
    Claim(
        "difficulty",
        "§VII-A",
        "three categories of increasing system complexity and difficulty",
        "part of the runs of all solvers that fail",
        Order(("primitives", "robotics", "animatronics")),
    ),
    Claim(
        "conditioning",
        "§VII-A",
        "robots show no inherent ill-conditioning; animatronic systems, with loops, do",
        "median condition number of the joints' rows of D",
        Order(("robotics", "animatronics")),
    ),
    Claim(
        "mass-ratio",
        "§VII-B",
        "hyperstaticity and inertial disparity together lead to excessive iterations",
        "mean iterations of all solvers, two boxes welded and at rest, by mass ratio",
        Order(tuple(f"{ratio:g}" for ratio in RATIOS)),
    ),
    Claim(
        "warm-start",
        "§III-D",
        "in most cases an initial guess significantly speeds up convergence; if the contact "
        "configuration has not changed, it is the solution of the step before",
        f"part of the runs, as many rows as in the step before, that take at least {_FASTER:g} times as many "
        "iterations from zero; one that fails takes infinitely many",
        Between(0.5, 1.0, 0.5, in_words=True),
        changed="2026-11-16: “significantly” asks for a factor, and failures from the guess count; before, one "
        "iteration fewer was enough",
    ),
    Claim(
        "early-stop",
        "§VI-D",
        "early stopping on the objective prevents the algorithm from iterating without significant effect",
        "natural map at the stop of RAISIM-DS-ES over that at the stop of RAISIM-DS, median of "
        "the samples on which the first stops earlier",
        Between(0.0, _SIGNIFICANT, 1.0, in_words=True),
        changed="2026-11-16: before, iterations alone, which any stop saves that comes earlier",
    ),
    Claim(
        "relaxation",
        "§VI-B",
        "a relaxation factor that generalises across all problems is difficult to choose",
        f"iterations of the one of {len(OMEGAS)} factors that is best for all samples over those of the fastest on "
        "each, worst sample, least of PGS-CCP, PGS-NCP and NBGS; inf where it fails and another does not",
        Between(2.0, float("inf"), 2.0, in_words=True),
        changed="2026-11-16: before, how many factors are the fastest somewhere, which could hardly be one alone",
    ),
    Claim(
        "divergence",
        "§VI-B",
        "the relaxation factor, in [0, 2], can lead to divergence if not selected carefully",
        f"runs of PGS-CCP, PGS-NCP and NBGS that succeed with a factor of 1 and diverge with one of {_CARELESS:g}: "
        "the residual grows by 1e8 or is no number",
        Between(1.0, float("inf"), 1.0, in_words=True),
        changed="2026-11-16: runs that diverge; before, all that were not solved, slow ones, too; NBGS alone, asked "
        "first, lost none, but the sentence is about all methods that relax",
    ),
)


def failing(rows: Sequence[Result]) -> dict[str, float]:
    """Part of the cold runs that fail, by group of the suite."""
    by = {
        name: [row.solved for row in rows if row.start == "cold" and group_of(row.sequence) == name] for name in GROUPS
    }
    return {name: 1.0 - sum(each) / len(each) if each else float("nan") for name, each in by.items()}


def _difficulty(published: Sequence[Result], ours: Sequence[Result]) -> Found:
    """Toys are ill-conditioned on purpose: where that is why, the same without the one of them that fails most."""
    whole = failing(published)
    if whole["primitives"] < whole["robotics"]:
        return Found(whole, failing(ours))
    scenes = [scene for scene in GROUPS["primitives"] if any(row.sequence == scene for row in published)]
    parts = {scene: failing([row for row in published if row.sequence == scene])["primitives"] for scene in scenes}
    worst = max(parts, key=lambda scene: parts[scene])
    others = failing([row for row in published if row.sequence != worst])
    said = ", ".join(f"{scene} {part:.2g}" for scene, part in parts.items())
    return Found(
        whole,
        failing(ours),
        "each primitive exhibits one kind of ill-conditioning, on purpose",
        f"without {worst} {others['primitives']:.3g} of the runs on primitives fail ({said})",
    )


def conditions(samples: Sequence[Sample]) -> dict[str, float]:
    """Median over samples of σ_max/σ_min of D's rows of joints, by group; infinite where these are redundant."""
    found: dict[str, list[float]] = {"robotics": [], "animatronics": []}
    for sample in samples:
        group, joints = group_of(sample.sequence), sample.joint_rows
        if group in found and joints is not None and joints.any():
            rows = np.flatnonzero(joints)
            rigid = sample.problem.delassus.rigid
            D = rigid.dense()[np.ix_(rows, rows)]
            if rigid.compliance is not None:
                D = D - np.diag(rigid.compliance[rows])
            values = np.linalg.svd(D, compute_uv=False)
            is_full = values[-1] > values[0] * len(values) * np.finfo(float).eps
            found[group].append(float(values[0] / values[-1]) if is_full else float("inf"))
    return {group: float(np.median(each)) if each else float("nan") for group, each in found.items()}


def faster_when_warm(rows: Sequence[Result]) -> float:
    """Part of the runs, solved from one start at least, that take significantly fewer iterations from the step before:
    those with such a step, of as many rows, where zero is not the solution already."""
    sizes = {(row.sequence, row.step): row.rows for row in rows}
    taken = {(row.solver, row.sample, row.start): float(row.iterations) if row.solved else np.inf for row in rows}
    unchanged = [row for row in rows if row.start == "warm" and sizes.get((row.sequence, row.step - 1)) == row.rows]
    counts = np.array(
        [[taken.get((row.solver, row.sample, start), np.nan) for start in ("cold", "warm")] for row in unchanged]
    ).reshape(-1, 2)
    counts = counts[np.isfinite(counts).any(axis=1) & (counts[:, 0] > 0.0)]
    return float((counts[:, 0] >= _FASTER * counts[:, 1]).mean()) if len(counts) else float("nan")


def lost_by_stopping(rows: Sequence[Result], early: str = "RAISIM-DS-ES", late: str = "RAISIM-DS") -> float:
    """Natural map of the one over that of the other, median of the samples on which the first takes fewer iterations;
    nan where it never does."""
    ends = {(row.solver, row.sample): row for row in rows}
    both = [(row, ends[late, row.sample]) for row in rows if row.solver == early and (late, row.sample) in ends]
    ratios = [a.natural_map / max(b.natural_map, EXACT) for a, b in both if a.iterations < b.iterations]
    return float(np.median(ratios)) if ratios else float("nan")


def _early_stop(samples: Sequence[Sample], stopped: Sequence[Result]) -> Found:
    """With a finer tolerance beside it."""
    finer = race(samples, {"finer": find(PUBLISHED["RAISIM-DS-ES"])[1].changed(early_stop=_FINER * EARLY)})
    counts = ", ".join(
        f"{label} {mean_iterations([*stopped, *finer], label):.0f}" for label in ("RAISIM-DS", "RAISIM-DS-ES", "finer")
    )
    return Found(
        lost_by_stopping(stopped),
        None,
        "the tolerance of eq. 160 is MuJoCo's default",
        f"with {_FINER * EARLY:.0e} J/kg {lost_by_stopping([*stopped, *finer], 'finer'):.2g}; mean iterations {counts}",
    )


def mean_iterations(rows: Sequence[Result], label: str) -> float:
    mine = [row.iterations for row in rows if row.solver == label]
    return float(np.mean(mine)) if mine else float("nan")


def price_of_one_factor(rows: Mapping[float, Sequence[Result]]) -> float:
    """What a solver loses on its worst sample with the one relaxation factor that is best for all: iterations over
    those of the fastest factor on that sample, of the samples that some factor solves; least over solvers, nan where
    nothing is solved."""
    taken = {
        (row.solver, row.sample, omega): float(row.iterations) if row.solved else float("inf")
        for omega, each in rows.items()
        for row in each
    }
    prices = []
    for solver in dict.fromkeys(solver for solver, _, _ in taken):
        samples = dict.fromkeys(sample for one, sample, _ in taken if one == solver)
        counts = np.maximum([[taken[solver, sample, omega] for omega in rows] for sample in samples], 1.0)
        counts = counts[np.isfinite(counts).any(axis=1)]
        if len(counts):
            prices.append(float((counts / counts.min(axis=1, keepdims=True)).max(axis=0).min()))
    return min(prices, default=float("nan"))


def diverging(rows: Mapping[float, Sequence[Result]], omega: float) -> int:
    """Runs that succeed with a factor of one and diverge with this one."""
    gone = {(row.solver, row.sample) for row in rows[omega] if row.status == "diverged"}
    return sum(row.solved and (row.solver, row.sample) in gone for row in rows[1.0])


def by_mass_ratio(methods: Mapping[str, str | Settings]) -> dict[str, float]:
    """Mean iterations on two boxes welded to each other, at rest on the ground, by the ratio of their masses."""
    out = {}
    for ratio in RATIOS:
        samples = extract(Take("boxes-fixed", None, 2, 1, {"ratio": ratio}))[-1:]
        out[f"{ratio:g}"] = float(np.mean([row.iterations for row in race(samples, methods)]))
    return out


def _fixed_penalty(samples: Sequence[Sample], published: Sequence[Result], ours: Sequence[Result]) -> Found:
    """With what we added to it switched on, one at a time."""
    plain = find(PUBLISHED["ADMM-NCP-FP"])[1]
    causes: dict[str, dict[str, Any]] = {
        "joints solved with the linear system instead of being split": {"joints": "exact"},
        "blocks scaled to unit mobility": {"scaled": True},
        "both": {"scaled": True, "joints": "exact"},
    }
    rows = race(samples, {label: plain.changed(**changes) for label, changes in causes.items()})
    said = ", ".join(f"{label}: {solved(rows, label):.2f}" for label in causes)
    why = "the penalty splits joints, too, whose cone is the whole space"
    return Found(
        solved(published, "ADMM-NCP-FP"), solved(ours, "ADMM-NCP-FP"), why, f"the published method with {said}"
    )


def _facts(
    samples: Sequence[Sample], published: Sequence[Result], ours: Sequence[Result], stopped: Sequence[Result]
) -> list[Fact]:
    kinds = sorted({sample.category for sample in samples})
    counts = ", ".join(f"{sum(sample.category == kind for sample in samples)} {kind}" for kind in kinds)
    systems = len({sample.sequence for sample in samples})
    facts = [
        Fact("systems; samples", "12 systems (13 in Table II)", f"{systems}; {len(samples)}: {counts}"),
        Fact(
            "ADMM: ρ, η, α; τ; p, Δp",
            "1, 1e-6, 10; 1.5; 0.2, 0.05",
            "the same; no scaling, no elimination, no acceleration, ω = 1.6",
            "the same; scaled blocks, joints eliminated, Anderson of depth 5",
        ),
        Fact("splitting: ω", "not in the text at hand", "1", "NBGS 1.6, backing off to 0.8; PGS 1, to 0.3"),
        Fact(
            "RAISIM-DS-ES: change of the objective over inertia (eq. 160)",
            "not in the text at hand",
            f"{EARLY:g} J/kg, MuJoCo's default",
        ),
        Fact(
            "published stop: ε of three residuals; iterations at most",
            "not in the text at hand",
            f"{EPS:g}; {MOST}",
            f"judge's {TOL:g}; {MOST}",
        ),
    ]
    gains = warm_gain(published), warm_gain(ours)
    for label in [*PUBLISHED, "auto"]:
        told = [_told(rows, label, gain) for rows, gain in zip((published, ours), gains)]
        facts.append(Fact(f"{label}: solved, median iterations and time; warm gain in iterations", "–", *told))
    for label in PUBLISHED:
        mine = [row for row in stopped if row.solver == label]
        worst = ", ".join(
            f"{np.median([getattr(row, name) for row in mine]):.1e}"
            for name in ("penetration", "dual", "complementarity", "natural_map")
        )
        facts.append(
            Fact(f"{label}: median penetration, dual, complementarity, natural map at the published stop", "–", worst)
        )
    return facts


def _told(rows: Sequence[Result], label: str, gain: Mapping[str, tuple[float, float]]) -> str:
    mine = [row for row in rows if (row.solver, row.start) == (label, "cold")]
    done = [row for row in mine if row.solved]
    if not mine:
        return "–"
    if not done:
        return f"0 / {len(mine)}"
    seconds, iterations = (float(np.median([getattr(row, name) for row in done])) for name in ("seconds", "iterations"))
    warm = f"; {gain[label][1]:.2g}×" if label in gain else ""
    return f"{len(done)} / {len(mine)}, {iterations:.0f}, {1e3 * seconds:.2g} ms{warm}"


def measure(folder: Path, quick: bool) -> Findings:
    samples = suite(quick)
    starts = ("cold", "warm")
    published, ours = race(samples, PUBLISHED, starts), race(samples, OURS, starts)
    stopped = race(samples, stopping(PUBLISHED))
    sweeps = {label: find(PUBLISHED[label])[1] for label in ("PGS-CCP", "PGS-NCP", "NBGS")}
    relaxed = {
        omega: race(samples, {label: one.changed(omega=omega, omega_min=omega) for label, one in sweeps.items()})
        for omega in OMEGAS
    }
    cold = [row for row in published if row.start == "cold"]
    draw_profiles(folder / "comparison-profiles.png", stopped, cold, "ten solvers as published")
    our_cold = [row for row in ours if row.start == "cold"]
    draw_accuracy(folder / "comparison-accuracy.png", stopped, our_cold)
    draw_categories(folder / "comparison-categories.png", cold, our_cold)
    draw_starts(folder / "comparison-starts.png", published, ours)
    found: dict[str, Found | NotTested] = {
        "fixed-penalty": _fixed_penalty(samples, published, ours),
        "difficulty": _difficulty(published, ours),
        "conditioning": Found(conditions(samples)),
        "mass-ratio": Found(by_mass_ratio(PUBLISHED), by_mass_ratio(OURS)),
        "warm-start": Found(faster_when_warm(published), faster_when_warm(ours)),
        "early-stop": _early_stop(samples, stopped),
        "relaxation": Found(price_of_one_factor(relaxed)),
        "divergence": Found(float(diverging(relaxed, _CARELESS))),
    }
    pictures = [
        Picture("comparison-categories.png", "§VII", "problems solved by category, as published and ours"),
        Picture(
            "comparison-profiles.png",
            "§VII",
            "performance profiles as published: four metrics of accuracy at "
            "the published stop, iterations and seconds to a common accuracy",
            "curves not available",
        ),
        Picture(
            "comparison-accuracy.png",
            "§VII",
            "part of the samples below an error: as published with the published stop, and ours at the judge's 1e-6",
            "curves not available",
        ),
        Picture(
            "comparison-starts.png",
            "§III",
            "mean iterations from zero and from the step before, where both succeed (number of samples)",
            "numbers not available",
        ),
    ]
    return Findings(found, _facts(samples, published, ours, stopped), pictures)


EXPERIMENT = Experiment(
    "comparison",
    ("tsounis",),
    "Ten solvers over the suite, as published and ours",
    ("Table I", "§III", "§VI", "§VII"),
    CLAIMS,
    measure,
)
