"""Mangoni's thesis, §5.3.2: a beam of finite elements bent over two cylinders, with hard contacts and with springs.

Claims about hard contacts are judged by runs of the published method, without friction as in the thesis, and so is
figure 5.4 (Δt = 0.05 s), its last step; beside it, ours: `ipm` with friction to 1e-8. Quick: fewer steps of each kind.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from delassus.dynamics import Penalty
from delassus.errors import DelassusError
from delassus.law import Law
from delassus.model.state import State
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.simulation import Memory, StepReport, StepSettings, simulate
from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Between, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.measure.interior_runs import PUBLISHED, THESIS, Count, iterations, thesis_ipm
from delassus_papers.outcome import Picture

_END = 0.3  # [s] of bending, at 1 m/s
_SPRINGS = Penalty(stiffness=1e5, damping=0.0, slip_speed=1e-2)
_NOISE = 0.1  # of the force: a step whose force jumps by more than this is not stable
_PAPER_HARD, _PAPER_SOFT = 0.06, 0.005  # [s] longest steps
_STIFFER = (4e5, 1.6e6)  # [N/m]
_INSIDE = 0.99  # what η is kept below to see what it does
_TIMES = (0.1, 0.2, 0.3)  # [s] at which energies are compared

CLAIMS = (
    Claim(
        "hard",
        "§5.3.2",
        "hard contacts (MDI): stability has been reported up to 0.06 s",
        "longest step without jumps of the force",
        Between(_PAPER_HARD, np.inf, _PAPER_HARD, "", "s"),
    ),
    Claim(
        "springs at 0.005 s",
        "§5.3.2",
        "the penalty approach required steps shorter than 0.005 s",
        "is it stable at 0.005 s?",
        Same(False, (True,)),
    ),
    Claim(
        "springs below",
        "§5.3.2",
        "… even with implicit integrators",
        "is it stable at a shorter step?",
        Same(True, (False,)),
    ),
    Claim(
        "cheaper",
        "§5.3.2",
        "the extreme performances of hard contacts are justified by a longer time step",
        "processor seconds per simulated second, at the longest stable step of either",
        Order(("hard", "springs")),
        changed="2026-11-16: before, the longest steps themselves, which two other claims hold already",
    ),
    Claim(
        "stiffness",
        "§5.3.2",
        "the step is not affected by the stiffness of the elements",
        "stable at 0.05 s with E times 100?",
        Same(True, (False,)),
    ),
    Claim(
        "converges",
        "Figure 5.4",
        "convergence at Δt = 0.05 s",
        "does the published method end by its rule?",
        Same(True, (False,)),
    ),
)


@dataclass(frozen=True)
class Bent:
    """One run.  t: (n,) [s]; force: (n,) of the driven cylinder [N]; energy: (n,) [J]; iterations: (n,) of the solver;
    residual: (n,); seconds: of processor, all together; converged: all steps? last: the problem of the last step."""

    h: float
    t: np.ndarray
    force: np.ndarray
    energy: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    seconds: float
    converged: bool
    last: Problem | None = None

    @property
    def noise(self) -> float:
        """Largest jump of the force off the line through its neighbours, of its largest value: late, since the first
        impact is a jump."""
        late = self.force[self.t > 0.1]
        if len(late) < 3:
            return 0.0
        return float(np.abs(late[1:-1] - 0.5 * (late[2:] + late[:-2])).max() / max(np.abs(late).max(), 1e-9))

    @property
    def is_stable(self) -> bool:
        whole = len(self.t) > 0 and self.t[-1] > 0.99 * _END
        if not whole:
            return False
        return bool(self.noise < _NOISE and self.force[self.t > 0.1].min() > 0.0)

    def at_end(self) -> float:
        return float(self.force[-1])

    def energy_at(self, t: float) -> float:
        """Of the bodies [J], where a step ends; nan elsewhere."""
        near = int(np.abs(self.t - t).argmin())
        return float(self.energy[near]) if abs(self.t[near] - t) < 1e-6 else float("nan")

    def late_force(self) -> float:
        """Mean of the last tenth [N]."""
        return float(self.force[self.t > 0.9 * _END].mean())


def bend(h: float, settings: StepSettings, young: float = 1e7) -> Bent:
    """The scene with steps of h [s]; settings: all but h."""
    setup = SCENES["three-point-bending"].build(h=h, young=young)
    kept: tuple[list[float], ...] = ([], [], [], [], [])
    fine, last = True, None

    def watch(k: int, state: State, report: StepReport, memory: Memory) -> None:
        nonlocal fine, last
        del k, memory
        contacts, first = report.contacts, report.rows.cone.contact_start
        pushes = report.solution.reactions[first:].reshape(-1, 3) / h
        forces = np.einsum("ki,kij->kj", pushes, contacts.frame)
        on = forces[contacts.bodies[:, 1] == 0].sum(axis=0) - forces[contacts.bodies[:, 0] == 0].sum(axis=0)
        solution = report.solution
        row = (state.t, on[2], sum(report.energy), solution.iterations, solution.residuals.natural_map_relative)
        for column, value in zip(kept, row):
            column.append(float(value))
        fine, last = fine and report.solution.converged, report.problem

    start = process_time()
    steps = round(_END / h)
    try:
        simulate(setup.model, setup.state, setup.inputs, replace(settings, h=h), steps, watch=watch)
    except DelassusError:  # blown up: what was found before the end says so
        fine = False
    t, force, energy, iterations, residual = (np.array(values, float) for values in kept)
    return Bent(h, t, force, energy, iterations, residual, process_time() - start, fine, last)


def longest(runs: dict[float, Bent]) -> float:
    """The longest step [s] up to which all are stable and solved; 0 where none is."""
    out = 0.0
    for h, one in sorted(runs.items()):
        if not (one.is_stable and one.converged):
            break
        out = h
    return out


def cost(runs: dict[float, Bent]) -> float:
    """Processor seconds per simulated second at the longest stable step; nan where none is."""
    h = longest(runs)
    return runs[h].seconds / _END if h in runs else float("nan")


def findings(rigid: dict[float, Bent], springs: dict[float, Bent], stiff: Bent, published: Count) -> dict[str, Found]:
    """Springs never converge to anything: what counts is the force they give."""
    springs = {h: replace(one, converged=True) for h, one in springs.items()}
    return {
        "hard": Found(longest(rigid)),
        "springs at 0.005 s": Found(springs[_PAPER_SOFT].is_stable),
        "springs below": Found(0.0 < longest(springs) < _PAPER_SOFT),
        "cheaper": Found({"hard": cost(rigid), "springs": cost(springs)}),
        "stiffness": Found(stiff.is_stable and stiff.converged),
        "converges": Found(published.is_met),
    }


def measure(folder: Path, quick: bool) -> Findings:
    plain = StepSettings(integrator="euler", solver=PUBLISHED, law=Law.FRICTIONLESS, tol=1e-8)
    hard = replace(plain, solver="ipm", law=Law.CCP)
    soft = StepSettings(integrator="penalty", penalty=_SPRINGS)
    for h, settings in ((0.05, plain), (0.05, hard), (0.01, soft)):
        bend(h, settings)  # compiled now, not in what is timed
    lengths = (0.06, 0.05, 0.01) if quick else (0.06, 0.05, 0.02, 0.01, 0.005, 0.0025)
    as_published, rigid = ({h: bend(h, settings) for h in lengths} for settings in (plain, hard))
    springs = {h: bend(h, soft) for h in ((0.005, 0.001) if quick else (0.01, 0.005, 0.004, 0.002, 0.001))}
    stiff, stiff_ours = (bend(0.05, replace(one, tol=1e-6), young=1e9) for one in (plain, replace(hard, solver="auto")))
    last = as_published[0.05].last
    assert last is not None
    published = iterations(last, thesis_ipm(), THESIS)
    found, ours = (findings(one, springs, two, published) for one, two in ((as_published, stiff), (rigid, stiff_ours)))
    found |= {key: replace(found[key], ours=ours[key].published) for key in ("hard", "cheaper", "stiffness")}
    found |= _explained(found, as_published, plain)
    more = [] if quick else _more(hard, soft, rigid)
    _draw(folder / "three-point-bending.png", rigid, springs)
    _draw_convergence(folder / "three-point-bending-convergence.png", published)
    facts = [*_energies(rigid, springs), *_shown(as_published, rigid, springs, published), *more]
    return Findings(
        {**found},
        facts,
        [
            Picture(
                "three-point-bending.png",
                "§5.3.2",
                "Force of the driven cylinder and energy of the bodies over time, with hard contacts and with springs.",
                "longest steps 0.06 and 0.005 s",
            ),
            Picture(
                "three-point-bending-convergence.png",
                "Figure 5.4",
                "The published method in the last step of its "
                "run, Δt = 0.05 s; dotted: its rule. Zero is drawn at 1e-17.",
                "curve not available",
            ),
        ],
    )


def _explained(found: dict[str, Found], runs: dict[float, Bent], plain: StepSettings) -> dict[str, Found]:
    """Why the published method is not solved at some steps, although its force has no jumps."""
    unsolved = [h for h, one in runs.items() if one.is_stable and not one.converged]
    if not unsolved:
        return {}
    inner = replace(plain, solver=thesis_ipm(inside=_INSIDE))
    again = runs | {h: bend(h, inner) for h in unsolved}
    steps = ", ".join(f"{h:g}" for h in unsolved)
    why = f"η of §4.12 tends to one: at {steps} s an iterate ends on the boundary of a cone, and the solve stalls there"
    shown = {"hard": f"{longest(again):g} s", "cheaper": f"{cost(again):.2g} s per second"}
    return {
        key: replace(found[key], why=why, evidence=f"with η at most {_INSIDE:g} {value}")
        for key, value in shown.items()
    }


def _energies(rigid: dict[float, Bent], springs: dict[float, Bent]) -> list[Fact]:
    """Of hard contacts and springs at equal times."""
    fine, soft = min(rigid), min(springs)
    out = []
    for t in _TIMES:
        found = ", ".join(
            f"h = {h:g} s {rigid[h].energy_at(t):.0f}" for h in sorted(rigid) if np.isfinite(rigid[h].energy_at(t))
        )
        apart = springs[soft].energy_at(t) / rigid[fine].energy_at(t) - 1.0
        out.append(
            Fact(
                f"energy of the bodies at {t:g} s [J]: hard; springs",
                "–",
                "–",
                f"{found}; {soft:g} s {springs[soft].energy_at(t):.0f} ({100 * apart:+.0f} %)",
            )
        )
    return out


def _shown(
    as_published: dict[float, Bent], rigid: dict[float, Bent], springs: dict[float, Bent], published: Count
) -> list[Fact]:
    """What the thesis has no number for."""

    def told(one: Bent | None) -> str:
        if one is None:
            return "–"
        force = one.at_end() if len(one.force) else np.nan
        return f"{force:.0f} N, {100 * one.noise:.1f} %, {one.seconds / _END:.1f}"

    out = [
        Fact(
            f"{what}, h = {h:g} s: force at the end, jumps, processor seconds per simulated second",
            "–",
            told(as_published[h] if runs is rigid else None),
            told(one),
        )
        for what, runs in (("hard", rigid), ("springs", springs))
        for h, one in runs.items()
    ]
    counts, worst = rigid[0.05].iterations, rigid[0.05].residual.max()
    last = as_published[0.05].last
    assert last is not None
    out += [
        Fact(
            "iterations of `ipm` a step, h = 0.05 s, with friction",
            "–",
            "–",
            f"{counts.min():.0f} to {counts.max():.0f}, residuals {worst:.0e} at most",
        ),
        Fact("iterations of the published method, last step, h = 0.05 s", "–", f"{published.iterations}"),
        Fact("velocities, contacts of that step", "–", f"{len(published.velocities)}, {last.contact_count}"),
        Fact("springs at the contacts", "not given", f"{_SPRINGS.stiffness:g} N/m at every contact point"),
    ]
    return out


def _more(hard: StepSettings, soft: StepSettings, rigid: dict[float, Bent]) -> list[Fact]:
    """Stiffer springs, forces linearised again and again, exact friction: in full runs."""
    fine = min(rigid)
    out = []
    for k in _STIFFER:
        h = 1e-3 * (1e5 / k) ** 0.5
        force = bend(h, replace(soft, penalty=replace(_SPRINGS, stiffness=k))).late_force()
        out.append(
            Fact(
                f"force at last, springs of {k:g} N/m at {h:g} s against hard at {fine:g} s [N]",
                "–",
                "–",
                f"{force:.0f}, {rigid[fine].late_force():.0f}",
            )
        )
    again = bend(0.06, replace(hard, integrator="iterated", tol=1e-6))
    exact = bend(0.05, replace(hard, solver="auto", law=Law.NCP))
    return [
        *out,
        Fact("hard, h = 0.06 s, forces linearised again: force at the end", "–", "–", f"{again.at_end():.0f} N"),
        Fact("hard, h = 0.05 s, exact friction: force at the end", "–", "–", f"{exact.at_end():.0f} N"),
    ]


def _draw(path: Path, rigid: dict[float, Bent], springs: dict[float, Bent]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.4), dpi=110, layout="constrained")
    axes = figure.subplots(1, 3)
    for panel, runs, title in ((axes[0], rigid, "hard contacts"), (axes[1], springs, "springs at the contacts")):
        for h, one in sorted(runs.items()):
            panel.plot(one.t, one.force / 1e3, ".-" if h >= 0.005 else "-", linewidth=1.0, label=f"h = {h:g} s")
        panel.set(title=title, xlabel="t [s]", ylabel="force of the driven cylinder [kN]", ylim=(0.0, 40.0))
    for runs, name, style in ((rigid, "hard", "-"), (springs, "springs", "--")):
        for h in sorted(runs):
            if runs[h].is_stable:
                axes[2].plot(runs[h].t, runs[h].energy / 1e3, style, linewidth=1.0, label=f"{name}, h = {h:g} s")
    axes[2].set(title="energy of the bodies", xlabel="t [s]", ylabel="kinetic and potential [kJ]")
    for panel in axes:
        panel.legend(fontsize=8, loc="upper left", framealpha=0.9)
        panel.grid(True, color="0.92")
    figure.savefig(path)


def _draw_convergence(path: Path, published: Count) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    count = np.arange(1, len(published.figures) + 1)
    for style, name, values in (
        ("-", "μ [J]", [one.mu for one in published.figures]),
        ("--", "‖r_p‖/n_λ, contacts [m/s]", [one.primal for one in published.figures]),
        ("-.", "‖r_p‖/n_γ, joints [m/s]", [one.joint for one in published.figures]),
        (":", "‖r_d‖/n_v [N s]", [one.momentum for one in published.figures]),
    ):
        axes.semilogy(count, np.maximum(values, 1e-17), style, label=name)
    for level in (THESIS.mu, THESIS.primal):
        axes.axhline(level, color="0.6", lw=0.8, ls=":")
    axes.set(xlabel="iteration", ylabel="residuals", title="Figure 5.4: convergence, three-point bending, Δt = 0.05 s")
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=9)
    axes.grid(alpha=0.3)
    figure.savefig(path)


EXPERIMENT = Experiment(
    "three-point-bending",
    ("mangoni",),
    "A flexible beam between hard contacts and springs",
    ("Figure 5.4", "§5.3.2"),
    CLAIMS,
    measure,
)
