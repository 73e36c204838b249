"""Tsounis et al. 2025, §VI-C–F: what its projectors and its proximal term do to one contact and to coupled ones."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import solve
from delassus.solvers.settings import Settings
from delassus.solvers.table import find
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Between, Order
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.dual_solvers import OURS, PUBLISHED, SPLITTING
from delassus_papers.outcome import Picture

MU, SLIDING = 0.5, 1e-4  # friction of the single contacts [-]; least speed that counts as sliding [m/s]
_LOADED = 1e-6  # of the largest power of friction: contacts with less carry nothing but rounding
COUPLINGS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of normal and tangent, in D_nt/√(D_nn D_tt)
STRONG = 0.5  # couplings from here on count as strong
SWEEPS = 20  # of the comparison with plain linear algebra
_ETA = 0.1  # proximal weight and compliance that are compared, in mean mobilities

CLAIMS = (
    Claim(
        "mdp",
        "§VI-C",
        "the program of NBGS and RAISIM violates maximal dissipation where normal and tangent couple "
        "strongly; De Saxcé's term, approximated, amends it",
        "part of the friction's power that is missing, worst of the strongly coupled single contacts",
        Order(("RAISIM-DS", "RAISIM"), 100.0),
    ),
    Claim(
        "identical",
        "§VI-E",
        "RAISIM is fundamentally identical to NBGS but for its bisection",
        "largest difference of reactions after 20 sweeps, relative",
        Between(0.0, 1e-6, 0.0, in_words=True),
    ),
    Claim(
        "ccp-lifts",
        "§VI-C",
        "without De Saxcé's term the CCP projector leaves a velocity along the normal",
        "speed of lifting over speed of sliding, single contact",
        Order(("with the term", "without"), 100.0),
    ),
    Claim(
        "ncp-normal",
        "§VI-C",
        "the NCP projector ensures zero velocity along the normal, with or without the term",
        "speed of lifting over speed of sliding, single contact, PGS-NCP without the term",
        Between(0.0, 1e-6, 0.0, in_words=True),
    ),
    Claim(
        "ncp-mdp",
        "§VI-C",
        "the NCP projector can lead to reactions that are not maximally dissipative, since it "
        "cannot account for couplings induced by other constraints",
        "part of the friction's power that is missing where PGS-NCP has converged, worst of coupled contacts",
        Between(1e-3, 2.0, 1e-3, in_words=True),
    ),
    Claim(
        "linear",
        "§VI-E",
        "with bilateral constraints alone the splitting methods are an indirect method for the linear system",
        f"largest difference from block Gauß–Seidel, {SWEEPS} sweeps, relative",
        Between(0.0, 1e-8, 0.0, in_words=True),
    ),
    Claim(
        "proximal",
        "§VI-F",
        "the proximal term makes the Hessian strictly convex without any bias in the solution",
        "dual residual on redundant joints and contacts [m/s], the same weight as a compliance beside it",
        Order(("proximal term", "compliance"), 100.0),
    ),
)


def single(coupling: float, angle: float = 0.6) -> Problem:
    """One contact, pressed down at 1 m/s and pulled along the plane at 2 m/s, under an angle to the direction in which
    normal and tangent couple."""
    D = np.array([[1.0, coupling, 0.0], [coupling, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return Problem.dual(D, np.array([-1.0, 2.0 * np.cos(angle), 2.0 * np.sin(angle)]), mu=[MU])


def missing_power(problem: Problem, reactions: np.ndarray) -> float:
    """Largest part of μ λ_n ‖v_t‖ that friction does not dissipate, over contacts that slide and carry load; NaN where
    none does, for then nothing was tested."""
    c, v = problem.cone.contact_start, problem.constraint_velocity(reactions)
    normal, push, slide = reactions[c::3], reactions[c:].reshape(-1, 3)[:, 1:], v[c:].reshape(-1, 3)[:, 1:]
    most = problem.cone.mu * normal * np.hypot(*slide.T)
    counts = (np.hypot(*slide.T) > SLIDING) & (most > _LOADED * most.max(initial=0.0))
    if not counts.any():
        return float("nan")
    return float((1.0 + (push * slide).sum(axis=1)[counts] / most[counts]).max())


def lifting(problem: Problem, reactions: np.ndarray) -> float:
    """Largest normal velocity over the speed of sliding, of contacts that carry load."""
    c, v = problem.cone.contact_start, problem.constraint_velocity(reactions)
    v = v[c:].reshape(-1, 3)[reactions[c::3] > 0.0]
    return float((np.abs(v[:, 0]) / np.hypot(v[:, 1], v[:, 2])).max(initial=0.0)) if len(v) else float("nan")


def iterated(problem: Problem, method: str | Settings, count: int) -> np.ndarray:
    """Reactions after so many iterations, from zero."""
    line, settings = find(method)
    at_work = line.start(problem, settings, np.zeros(problem.row_count))
    at_work.advance(count)
    return at_work.reactions.copy()


def power_by_coupling(method: str | Settings, couplings: Sequence[float] | np.ndarray = COUPLINGS) -> np.ndarray:
    """Missing power at the fixed point, by coupling."""
    return np.array([missing_power(single(c), iterated(single(c), method, 2000)) for c in couplings])


def coupled(count: int) -> list[Problem]:
    """Bodies with joints and contacts that many others press on."""
    return [random_rigid(np.random.default_rng(k), bodies=6, contacts=10, joints=2) for k in range(count)]


def difference(problems: Sequence[Problem], a: str | Settings, b: str | Settings) -> float:
    """Largest difference of two methods' reactions after `SWEEPS`, over the largest reaction."""
    found = [(iterated(problem, a, SWEEPS), iterated(problem, b, SWEEPS)) for problem in problems]
    return max(float(np.abs(x - y).max() / np.abs(x).max()) for x, y in found)


def from_linear_algebra(problem: Problem, method: str | Settings) -> float:
    """The same between a method and block Gauß–Seidel written down with dense matrices, joints alone."""
    D, x, start = problem.delassus.dense(), np.zeros(problem.row_count), problem.cone.block_start
    blocks = [slice(a, b) for a, b in zip(start, start[1:])]
    inverses = [np.linalg.pinv(D[own, own]) for own in blocks]
    for _ in range(SWEEPS):
        for own, inverse in zip(blocks, inverses):
            x[own] -= inverse @ (D[own] @ x + problem.free_velocity[own])
    return float(np.abs(iterated(problem, method, SWEEPS) - x).max() / np.abs(x).max())


def bias(problem: Problem, settings: Settings) -> dict[str, float]:
    """Dual residual [m/s] of the hard problem: with a large proximal weight, and with that much compliance."""
    weight = _ETA / problem.rho
    proximal = solve(problem, settings.changed(eta=weight), tol=1e-9, max_iter=100_000).reactions
    D = problem.delassus.dense() + weight * np.eye(problem.row_count)
    soft = solve(Problem.dual(D, problem.free_velocity, cone=problem.cone), tol=1e-9).reactions
    return {
        "proximal term": residuals.evaluate(problem, proximal).dual,
        "compliance": residuals.evaluate(problem, soft).dual,
    }


def _not_dissipative(problems: Sequence[Problem], method: str) -> tuple[float, str]:
    """Worst missing power where the method converged, and what else was measured."""
    found = [solve(problem, method, tol=1e-8, max_iter=20_000) for problem in problems]
    done = [(problem, one.reactions) for problem, one in zip(problems, found) if one.converged]
    powers = [missing_power(*pair) for pair in done]
    first = [missing_power(problem, iterated(problem, method, 1)) for problem in problems]
    worst = float(np.nanmax(powers)) if np.isfinite(powers).any() else float("nan")
    return worst, (
        f"after one sweep {np.nanmax(first):.2g} of it is missing, after convergence, on {len(done)} of "
        f"{len(problems)} problems, {worst:.1g}"
    )


def draw(path: Path) -> None:
    """Missing power over coupling, as published and by exact local solves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    at = figure.subplots()
    fine = np.linspace(0.0, 0.9, 37)
    shown = {
        "NBGS": "nbgs-preclik",
        "RAISIM": "raisim",
        "RAISIM-DS": "raisim-ds",
        "PGS-NCP": "pgs-ncp-plain",
        "nbgs (ours)": "nbgs",
    }
    for k, (label, name) in enumerate(shown.items()):
        power = np.maximum(power_by_coupling(name, fine), 1e-17)
        at.semilogy(fine, power, ["-", "--", "-", "--", ":"][k], label=label, lw=2.2 if k % 2 else 1.4)
    at.set(xlabel="coupling of normal and tangent, D_nt / √(D_nn D_tt)", ylabel="part of friction's power missing")
    at.legend()
    at.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def measure(folder: Path, quick: bool) -> Findings:
    problems = coupled(8 if quick else 40)
    joints = [
        random_rigid(np.random.default_rng(k), bodies=6, contacts=0, joints=5, redundant_joints=k % 2 == 1)
        for k in range(4)
    ]
    redundant = random_rigid(np.random.default_rng(3), bodies=8, contacts=6, joints=4, redundant_joints=True)
    strong = [c for c in COUPLINGS if c >= STRONG]
    worst = {label: float(np.nanmax(power_by_coupling(PUBLISHED[label], strong))) for label in ("RAISIM-DS", "RAISIM")}
    flat, ccp, fixed = single(0.0), PUBLISHED["PGS-CCP"], "ADMM-NCP-FP"
    convex = flat.with_law(Law.CCP)
    lifts = {
        "with the term": lifting(flat, iterated(flat, ccp, 500)),
        "without": lifting(convex, iterated(convex, ccp, 500)),
    }
    power, evidence = _not_dissipative(problems, PUBLISHED["PGS-NCP"])
    linear = max(from_linear_algebra(problem, PUBLISHED[label]) for problem in joints for label in SPLITTING)
    draw(folder / "local-solvers.png")
    found = {
        "mdp": Found(worst),
        "identical": Found(difference(problems, PUBLISHED["NBGS"], PUBLISHED["RAISIM"])),
        "ccp-lifts": Found(lifts),
        "ncp-normal": Found(lifting(flat, iterated(flat, PUBLISHED["PGS-NCP"], 500))),
        "ncp-mdp": Found(
            power,
            _not_dissipative(problems, OURS["PGS-NCP"])[0],
            "it holds for one application of the projector, not for the fixed points of the sweeps: there "
            "friction opposes the sliding that all constraints leave",
            evidence,
        ),
        "linear": Found(linear),
        "proximal": Found(bias(redundant, find(PUBLISHED[fixed])[1]), bias(redundant, find(OURS[fixed])[1])),
    }
    nbgs = [f"{np.nanmax(power_by_coupling(names['NBGS'], strong)):.2g}" for names in (PUBLISHED, OURS)]
    facts = [
        Fact("missing power, worst of the strongly coupled single contacts: NBGS", "–", *nbgs),
        Fact("single contacts: couplings, friction", "–", f"{COUPLINGS[0]:g} to {COUPLINGS[-1]:g}, μ = {MU:g}"),
        Fact("coupled problems: bodies, joints, contacts", "–", f"{len(problems)} of 6, 2, 10 at random"),
        Fact("lifting over sliding under the convex law", "μ by eq. 18, 50–52", f"{lifts['without']:.3g} (μ = {MU:g})"),
    ]
    picture = Picture(
        "local-solvers.png",
        "§VI",
        "friction's power that is missing at the fixed point of a single "
        "contact, over the coupling of its normal and tangent",
        "curve not available",
    )
    return Findings(dict(found), facts, [picture])


EXPERIMENT = Experiment(
    "local-solvers", ("tsounis",), "What projectors and the proximal term do", ("§VI",), CLAIMS, measure
)
