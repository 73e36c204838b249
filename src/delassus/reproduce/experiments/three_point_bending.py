"""Mangoni's thesis, §5.3.2: a beam of finite elements bent over two cylinders, with hard contacts and with springs."""

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from matplotlib.figure import Figure

from delassus.dynamics import Penalty
from delassus.errors import DelassusError
from delassus.law import Law
from delassus.model.state import State
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes import SCENES
from delassus.simulation import Memory, StepReport, StepSettings, simulate

_END = 0.3  # [s] of bending, at 1 m/s
_SPRINGS = Penalty(stiffness=1e5, damping=0.0, slip_speed=1e-2)
_NOISE = 0.1  # of the force: a step whose force jumps by more than this is not stable
_PAPER_HARD, _PAPER_SOFT = 0.06, 0.005  # [s] longest steps
_STIFFER = (4e5, 1.6e6)  # [N/m]


@dataclass(frozen=True)
class Bent:
    """One run.  t: (n,) [s]; force: (n,) of the driven cylinder [N]; energy: (n,) [J]; iterations: (n,) of the solver;
    residual: (n,); seconds: of processor, all together; converged: all steps?"""

    h: float
    t: np.ndarray
    force: np.ndarray
    energy: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    seconds: float
    converged: bool

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
        whole = self.t[-1] > 0.99 * _END
        return bool(whole and self.noise < _NOISE and self.force[self.t > 0.1].min() > 0.0)

    def at_end(self) -> float:
        return float(self.force[-1])

    def late_force(self) -> float:
        """Mean of the last tenth [N]."""
        return float(self.force[self.t > 0.9 * _END].mean())


def bend(h: float, settings: StepSettings, young: float = 1e7) -> Bent:
    """The scene with steps of h [s]; settings: all but h."""
    setup = SCENES["three-point-bending"].build(h=h, young=young)
    kept: tuple[list[float], ...] = ([], [], [], [], [])
    fine = True

    def watch(k: int, state: State, report: StepReport, memory: Memory) -> None:
        nonlocal fine
        del k, memory
        contacts, first = report.contacts, report.rows.cone.contact_start
        pushes = report.solution.reactions[first:].reshape(-1, 3) / h
        forces = np.einsum("ki,kij->kj", pushes, contacts.frame)
        on = forces[contacts.bodies[:, 1] == 0].sum(axis=0) - forces[contacts.bodies[:, 0] == 0].sum(axis=0)
        solution = report.solution
        row = (state.t, on[2], sum(report.energy), solution.iterations, solution.residuals.natural_map_relative)
        for column, value in zip(kept, row):
            column.append(float(value))
        fine = fine and report.solution.converged

    start = process_time()
    steps = round(_END / h)
    try:
        simulate(setup.model, setup.state, setup.inputs, replace(settings, h=h), steps, watch=watch)
    except DelassusError:  # blown up: what was found before the end says so
        fine = False
    t, force, energy, iterations, residual = (np.array(values, float) for values in kept)
    return Bent(h, t, force, energy, iterations, residual, process_time() - start, fine)


def run(folder: Path, quick: bool) -> Outcome:
    hard = StepSettings(integrator="euler", solver="ipm", law=Law.CCP, tol=1e-8)
    soft = StepSettings(integrator="penalty", penalty=_SPRINGS)
    long, short = (0.06, 0.05), (0.02, 0.01) if quick else (0.02, 0.01, 0.005, 0.0025)
    bend(0.05, hard)  # compiled now, not in what is timed
    bend(0.01, soft)
    rigid = {h: bend(h, hard) for h in (*long, *short)}
    springs = {h: bend(h, soft) for h in ((0.01, 0.005, 0.001) if quick else (0.01, 0.005, 0.004, 0.002, 0.001))}
    iterated = {h: bend(h, replace(hard, integrator="iterated", tol=1e-6)) for h in long}
    exact = bend(0.05, replace(hard, solver="auto", law=Law.NCP))
    stiff = bend(0.05, replace(hard, tol=1e-6, solver="auto"), young=1e9)
    stiffer = {} if quick else {k: bend(1e-3 * (1e5 / k) ** 0.5, _with_springs(soft, k)) for k in _STIFFER}
    picture = folder / "three-point-bending.png"
    _draw(picture, rigid, springs, iterated)
    lines = [*_claims(rigid, springs, stiff), _agreement(rigid, springs, stiffer)]
    return Outcome([*lines, *_shown(rigid, springs, iterated, exact)], [picture])


def _with_springs(settings: StepSettings, stiffness: float) -> StepSettings:
    return replace(settings, penalty=replace(_SPRINGS, stiffness=stiffness))


def _claims(rigid: dict[float, Bent], springs: dict[float, Bent], stiff: Bent) -> list[Line]:
    longest = max((h for h, one in rigid.items() if one.is_stable and one.converged), default=0.0)
    limit = max((h for h, one in springs.items() if one.is_stable), default=0.0)
    noise = ", ".join(f"{h:g} s {100 * one.noise:.0f} %" for h, one in springs.items())
    return [
        Line("longest stable step with hard contacts [s]", f"{_PAPER_HARD:g} (reported up to)", f"{longest:g}",
             longest >= _PAPER_HARD, f"all steps at {_PAPER_HARD:g} s solved to 1e-8, force without jumps of 10 %"),
        Line("steps with springs at the contacts [s]", f"shorter than {_PAPER_SOFT:g}",
             f"stable up to {limit:g}; jumps of the force: {noise}", 0.0 < limit < _PAPER_SOFT,
             f"stable at a step below {_PAPER_SOFT:g} s, not at it",
             "the thesis does not name the springs; k = 1e5 N/m at every contact point is ours, and the limit goes "
             "with 1/√k"),
        Line("limited by the stiffness of the elements?", "not affected", "E × 100 at 0.05 s: "
             + ("stable" if stiff.is_stable and stiff.converged else "not stable"),
             stiff.is_stable and stiff.converged, "force without jumps, steps solved to 1e-6 with E = 1 GPa",
             "solved by `auto`: `ipm` alone leaves errors of velocity of 4e-5 in one of the six steps"),
    ]  # fmt: skip


def _agreement(rigid: dict[float, Bent], springs: dict[float, Bent], stiffer: dict[float, Bent]) -> Line:
    """Springs give way; the stiffer they are, the nearer is their force to that of hard contacts."""
    finest = min(rigid)
    hard, all_springs = rigid[finest].late_force(), {_SPRINGS.stiffness: springs[min(springs)], **stiffer}
    forces = {k: one.late_force() for k, one in all_springs.items()}
    found = ", ".join(f"k = {k:g} N/m {force:.0f}" for k, force in forces.items())
    apart = [abs(force / hard - 1.0) for force in forces.values()]
    return Line(
        f"force in the last 0.03 s, hard at {finest:g} s against springs [N]", "the same model", f"{hard:.0f}; {found}",
        apart[-1] < 0.05 and apart == sorted(apart, reverse=True) if stiffer else None,
        "nearer with every k, within 5 % with the stiffest" if stiffer else "not tested in quick runs",
    )  # fmt: skip


def _shown(
    rigid: dict[float, Bent], springs: dict[float, Bent], iterated: dict[float, Bent], exact: Bent
) -> list[Line]:
    """What the thesis has no number for."""
    out = [
        Line(f"{what}, h = {h:g} s: processor seconds per simulated second", "–",
             f"{one.seconds / _END:.2f}; force at the end {one.at_end():.0f} N, jumps {100 * one.noise:.1f} %", None)
        for what, runs in (("hard", rigid), ("iterated", iterated), ("springs", springs)) for h, one in runs.items()
    ]  # fmt: skip
    counts, worst = rigid[0.05].iterations, rigid[0.05].residual.max()
    out.append(Line("iterations of the interior point a step, h = 0.05 s", "figure 5.4: curve not available",
                    f"{counts.min():.0f} to {counts.max():.0f}, residuals {worst:.0e} at most", None))  # fmt: skip
    out.append(Line("the same under exact friction: force at the end [N]", "–", f"{exact.at_end():.0f}", None))
    return out


def _draw(path: Path, rigid: dict[float, Bent], springs: dict[float, Bent], iterated: dict[float, Bent]) -> None:
    figure = Figure(figsize=(12, 4.6), dpi=110, layout="constrained")
    axes = figure.subplots(1, 3)
    for panel, runs, title in ((axes[0], rigid, "hard contacts"), (axes[1], springs, "springs at the contacts")):
        for h, one in sorted(runs.items()):
            panel.plot(one.t, one.force / 1e3, ".-" if h >= 0.005 else "-", linewidth=1.0, label=f"h = {h:g} s")
        panel.set(title=title, xlabel="t [s]", ylabel="force of the driven cylinder [kN]", ylim=(0.0, 40.0))
        panel.legend(fontsize=8, frameon=False)
        panel.grid(True, color="0.92")
    for runs, name in ((rigid, "hard"), (iterated, "hard, iterated"), (springs, "springs")):
        steps = sorted(runs)
        axes[2].plot(steps, [runs[h].seconds / _END for h in steps], "o-", label=name, linewidth=1.0)
    axes[2].set(xscale="log", yscale="log", xlabel="h [s]", ylabel="processor seconds per simulated second")
    axes[2].axvline(_PAPER_SOFT, color="0.6", linestyle=":", linewidth=1.0)
    axes[2].axvline(_PAPER_HARD, color="0.6", linestyle="--", linewidth=1.0)
    axes[2].legend(fontsize=8, frameon=False, title="dotted, dashed: the thesis's limits", title_fontsize=8)
    axes[2].grid(True, color="0.92")
    figure.suptitle(
        "Mangoni's thesis, §5.3.2: three-point bending; the curve of its figure 5.4 is not available", fontsize=11
    )
    figure.savefig(path)


EXPERIMENT = Experiment(
    "three-point-bending",
    "Mangoni, PhD thesis, §5.3.2, Table 5.4",
    "A flexible beam between hard contacts and springs",
    run,
)
