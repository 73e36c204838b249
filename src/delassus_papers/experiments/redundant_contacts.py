"""Mangoni and Tasora, §4.3, Mangoni, PhD thesis, §4.10: contacts that depend on each other, and contacts that give.

A brick rests on its four corners, each of which is there 1 to 256 times: the Jacobian of up to 1024 contacts has rank
three. Quick and full are the same, a few seconds.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.scenes import find
from delassus.simulation import Memory, step
from delassus.solvers import solve
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Between, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import AS_IN_MANGONI_TASORA, MANGONI_TASORA, iterations, thesis_ipm
from delassus_papers.outcome import Picture
from delassus_papers.solvers.settings import ThesisIpm
from delassus_papers.solvers.thesis import ThesisMethod

COPIES = (1, 4, 16, 64, 256)
"""Of each of the four corners."""
_LOOKED_AT = 4  # copies where matrices are looked at
_ON = 1e-12  # rule [m/s, N s] to which matrices are followed: beyond that of the paper, to see where they go
_STIFFNESS = (1e3, 1e5, 1e7)  # k, of which E = 1/k, in the papers' units
_BENDS = 1e5  # of them, where conditions are compared
_ENOUGH = 100  # iterations, at most
_FURTHER = (
    "2026-11-16: followed to 1e-12 in place of 1e-8, at which E made no difference yet, and to where the last "
    "iteration ends, not begins: with η as published it goes all the way to the solution"
)

CLAIMS = (
    Claim(
        "converges",
        "§4.3",
        "with redundant constraints the method always converged with the required accuracy",
        "does it end by its rule for 4 to 1024 contacts?",
        Same(True, (False,)),
    ),
    # a contact that carries λ moves at μ/λ, where the rule lets μ be 1e-7
    Claim(
        "accuracy",
        "§4.3",
        "… to the solution",
        "largest velocity left of the resting brick over 1e-7 J/λ",
        Between(0.0, 2.0, 1.0, in_words=True),
        changed="2026-11-16: over what the rule allows; before, over 1e-4 h g, which the rule does not promise",
    ),
    Claim(
        "springs",
        "§4.3",
        "elements of y/λ, although small, add the required independence: the matrix is better conditioned",
        "condition of the matrix after the last iteration",
        Order(("with y/λ", "without"), 10.0),
        changed=_FURTHER,
    ),
    Claim(
        "singular",
        "§4.3",
        "it is more prone to become singular as y/λ tend to zero",
        "condition of the matrix",
        Order(("at the start", "after the last iteration"), 10.0),
        changed=_FURTHER,
    ),
    Claim(
        "compliance",
        "§4.3",
        "with a compliance E the diagonal stays when the method converges",
        "condition of the matrix after the last iteration",
        Order(("with E", "without E"), 10.0),
        changed=_FURTHER,
    ),
)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of the equilibrated matrix at the start and after each iteration: as it is, and with y/λ left out."""

    whole: list[float]
    without: list[float]


def brick(copies: int, compliance: float = 0.0) -> Problem:
    """The brick at rest on 4 × copies contacts.  compliance: E of each [1/kg]."""
    setup = find("single-brick").build()
    whole = step(setup.model, setup.state, None, setup.settings, Memory())[1].problem
    rigid = whole.delassus.rigid
    normal = np.repeat(np.arange(0, whole.row_count, 3), copies)
    return Problem.rigid(
        rigid.mass,
        np.repeat(rigid.bodies, copies, axis=0),
        rigid.rows[normal],
        cone=ProductCone((), len(normal)),
        u_f=whole.u_f,
        b=whole.bias[normal],
        compliance=np.full(len(normal), compliance),
        law=Law.FRICTIONLESS,
    )


def conditions(problem: Problem, settings: ThesisIpm) -> Conditions:
    """Along the iterations of the published method, on beyond its rule."""
    run = ThesisMethod(problem, settings.changed(own_tol=_ON), np.zeros(problem.row_count))
    H, J = problem.delassus.mass_matrix().toarray(), problem.delassus.jacobian().toarray()
    soft = problem.delassus.compliance
    out = Conditions([], [])
    while True:
        inner = run.interior
        for kept, found in ((1.0, out.whole), (0.0, out.without)):
            diagonal = kept * inner.y / inner.x + (0.0 if soft is None else soft)
            found.append(_condition(np.block([[H, J.T], [J, -np.diag(diagonal)]])))
        if run.finished or len(out.whole) == _ENOUGH:
            return out
        run.advance(1)


def _condition(K: np.ndarray) -> float:
    """Of the matrix with rows and columns equilibrated; at most the inverse of rounding."""
    scale = 1.0 / np.sqrt(np.abs(K).max(axis=1))
    values = np.linalg.svd(scale[:, None] * K * scale, compute_uv=False)
    return float(values[0] / max(values[-1], np.finfo(float).eps * values[0]))


def ends(settings: ThesisIpm) -> dict[int, tuple[bool, int, float]]:
    """By number of copies: did it end by its rule, after how many iterations, and what velocity is left, over what the
    rule leaves of a contact that carries its part of the weight?"""
    out = {}
    for copies in COPIES:
        found = iterations(brick(copies), settings, MANGONI_TASORA, most=100)
        left = float(np.abs(found.velocities).max(initial=0.0)) if len(found.velocities) else float("nan")
        carried = _impulse() / (4 * copies)
        out[copies] = found.is_met, found.iterations, left * carried / MANGONI_TASORA.mu
    return out


def _impulse() -> float:
    """What the floor gives the brick in a step: m g h [N s]."""
    setup = find("single-brick").build()
    return float(setup.model.mass[0]) * 9.81 * setup.settings.h


def findings(found: dict[int, tuple[bool, int, float]], hard: Conditions, soft: Conditions) -> dict[str, Found]:
    return {
        "converges": Found(all(met for met, _, _ in found.values())),
        "accuracy": Found(float(np.max([left for _, _, left in found.values()]))),
        "springs": Found(
            {"with y/λ": hard.whole[-1], "without": hard.without[-1]},
            why="where y/λ is below rounding of the rest, it adds nothing",
        ),
        "singular": Found({"at the start": hard.whole[0], "after the last iteration": hard.whole[-1]}),
        "compliance": Found({"with E": soft.whole[-1], "without E": hard.whole[-1]}),
    }


def measure(folder: Path, quick: bool) -> Findings:
    del quick
    settings = thesis_ipm(backend="dense", **AS_IN_MANGONI_TASORA)
    found = ends(settings)
    hard = conditions(brick(_LOOKED_AT), settings)
    soft = {k: conditions(brick(_LOOKED_AT, 1.0 / k), settings) for k in _STIFFNESS}
    told = findings(found, hard, soft[_BENDS])
    _draw(folder / "redundant-contacts.png", hard, soft, found)
    middle = len(hard.whole) // 2
    facts = [
        Fact(
            "iterations of 4, 16, …, 1024 contacts",
            "–",
            ", ".join(str(count) for _, count, _ in found.values()),
            ", ".join(str(solve(brick(k), "ipm", tol=1e-10).iterations) for k in COPIES),
        ),
        Fact(
            "condition of the matrix half-way, without y/λ",
            "–",
            f"{hard.whole[middle]:.1e}, {hard.without[middle]:.1e}",
        ),
        *(_softened(k) for k in _STIFFNESS),
        Fact(
            "redundant joints: the same joint twice",
            "may throw errors (thesis, §4.10)",
            _twice(settings),
            "removed by the null space of the joints' rows",
        ),
    ]
    return Findings(
        {**told},
        facts,
        [
            Picture(
                "redundant-contacts.png",
                "§4.3",
                "Condition of the equilibrated matrix over the iterations, 16 "
                "contacts of rank three, and iterations over the number of contacts.",
                "no curve in the paper",
            )
        ],
    )


def _softened(k: float) -> Fact:
    """How far apart the reactions of equal contacts are, and how fast the brick sinks."""
    problem = brick(_LOOKED_AT, 1.0 / k)
    found = solve(problem, "ipm", tol=1e-10)
    spread = found.reactions.max() / found.reactions.min() - 1.0
    assert found.body_velocities is not None
    sinks = -float((problem.delassus.rows_times(found.body_velocities) + problem.bias).min())
    return Fact(
        f"k = {k:g}: reactions of equal contacts differ by, contacts give way at",
        "some penetration",
        "–",
        f"{spread:.0e}, {sinks:.1e} m/s",
    )


def _twice(settings: ThesisIpm) -> str:
    """A body whose three translations are held twice."""
    rows = np.zeros((7, 12))
    rows[:3, 6:9] = rows[3:6, 6:9] = np.eye(3)
    rows[6, 8] = 1.0
    problem = Problem.rigid(
        np.eye(6)[None],
        np.array([[-1, 0]] * 3),
        rows,
        cone=ProductCone((3, 3), 1),
        u_f=[0, 0, -1.0, 0, 0, 0],
        law=Law.FRICTIONLESS,
    )
    found = iterations(problem, settings, MANGONI_TASORA, most=100)
    return f"ends after {found.iterations} iterations" if found.is_met else "its matrix is singular: it does not end"


def _draw(
    path: Path, hard: Conditions, soft: dict[float, Conditions], found: dict[int, tuple[bool, int, float]]
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogy(range(1, len(hard.whole) + 1), hard.whole, "o-", label="with y/λ")
    left.semilogy(range(1, len(hard.without) + 1), hard.without, "x:", color="0.4", label="y/λ left out")
    for k, one in soft.items():
        left.semilogy(range(1, len(one.whole) + 1), one.whole, "s--", lw=1, ms=4, label=f"with y/λ + E, k = {k:g}")
    left.set(xlabel="iteration", ylabel="condition, rows and columns equilibrated", title="16 contacts of rank three")
    left.locator_params(axis="x", integer=True)
    left.legend(fontsize=8)
    right.semilogx([4 * k for k in found], [count for _, count, _ in found.values()], "o-", base=2)
    right.set(xlabel="contacts under one brick", ylabel="iterations", ylim=(0, 10), title="published method")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=130)


EXPERIMENT = Experiment(
    "redundant-contacts",
    ("mangoni-tasora", "mangoni"),
    "Redundant contacts, and contacts that give",
    ("§4.3",),
    CLAIMS,
    measure,
)
