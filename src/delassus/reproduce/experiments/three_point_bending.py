"""Mangoni's thesis, §5.3.2: a beam of finite elements bent over two cylinders, with hard contacts and with springs."""

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np
from matplotlib.figure import Figure

from delassus.dynamics import Penalty
from delassus.reproduce.experiment import Experiment, Line, Outcome
from delassus.scenes import SCENES
from delassus.simulation import StepSettings, simulate

_END = 0.3  # [s] of bending, at 1 m/s
_SPRINGS = Penalty(stiffness=1e5, damping=0.0, slip_speed=1e-2)
_NOISE = 0.1  # of the force: a step whose force jumps by more than this is not stable
_PAPER_HARD, _PAPER_SOFT = 0.06, 0.005  # [s] longest steps
_PROBED = 2e-4  # [s] between times at which forces of different steps are compared


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
        if len(late) < 3 or not np.isfinite(late).all():
            return float("inf") if not np.isfinite(self.force).all() else 0.0
        return float(np.abs(late[1:-1] - 0.5 * (late[2:] + late[:-2])).max() / max(np.abs(late).max(), 1e-9))

    @property
    def is_stable(self) -> bool:
        return bool(np.isfinite(self.force).all() and self.noise < _NOISE and self.force[self.t > 0.1].min() > 0.0)

    def at_end(self) -> float:
        return float(self.force[-1])


def bend(h: float, settings: StepSettings, young: float = 1e7) -> Bent:
    """The scene with steps of h [s]; settings: all but h."""
    setup = SCENES["three-point-bending"].build(h=h, young=young)
    t, force, energy, iterations, residual, fine = [], [], [], [], [], True

    def watch(k, state, report, memory):  # type: ignore[no-untyped-def]
        nonlocal fine
        del k, memory
        contacts, first = report.contacts, report.rows.cone.contact_start
        pushes = report.solution.reactions[first:].reshape(-1, 3) / h
        forces = np.einsum("ki,kij->kj", pushes, contacts.frame)
        on = forces[contacts.bodies[:, 1] == 0].sum(axis=0) - forces[contacts.bodies[:, 0] == 0].sum(axis=0)
        t.append(state.t)
        force.append(on[2])
        energy.append(sum(report.energy))
        iterations.append(report.solution.iterations)
        residual.append(report.solution.residuals.natural_map_relative)
        fine = fine and report.solution.converged

    start = process_time()
    steps = round(_END / h)
    try:
        simulate(setup.model, setup.state, setup.inputs, replace(settings, h=h), steps, watch=watch)
    except ArithmeticError:
        force.append(np.nan)
        t.append(np.nan)
    columns = (np.array(values, float) for values in (t, force, energy, iterations, residual))
    return Bent(h, *columns, process_time() - start, fine)


def run(folder: Path, quick: bool) -> Outcome:
    hard = StepSettings(integrator="euler", solver="ipm", law="ccp", tol=1e-8)
    soft = StepSettings(integrator="penalty", penalty=_SPRINGS)
    long, short = (0.06, 0.05), (0.02, 0.01) if quick else (0.02, 0.01, 0.005, 0.0025)
    bend(0.05, hard)  # compiled now, not in what is timed
    bend(0.01, soft)
    rigid = {h: bend(h, hard) for h in (*long, *short)}
    springs = {h: bend(h, soft) for h in ((0.01, 0.005, 0.002) if quick else (0.01, 0.005, 0.004, 0.002, 0.001))}
    iterated = {h: bend(h, replace(hard, integrator="iterated")) for h in long}
    exact = bend(0.05, replace(hard, solver="auto", law="ncp"))
    stiff = bend(0.05, hard, young=1e9)
    picture = folder / "three-point-bending.png"
    _draw(picture, rigid, springs, iterated)
    return Outcome([*_claims(rigid, springs, iterated, stiff), *_shown(rigid, springs, iterated, exact)], [picture])


def _claims(rigid: dict[float, Bent], springs: dict[float, Bent], iterated: dict[float, Bent], stiff: Bent) -> list[Line]:
    longest = max((h for h, one in rigid.items() if one.is_stable and one.converged), default=0.0)
    limit = max((h for h, one in springs.items() if one.is_stable), default=0.0)
    noise = ", ".join(f"{h:g} s {100 * one.noise:.0f} %" for h, one in springs.items())
    finest, best = min(rigid), springs[min(springs)]
    late = best.t > 0.9 * _END
    mean, hard = float(best.force[late].mean()), float(rigid[finest].force[rigid[finest].t > 0.9 * _END].mean())
    return [
        Line("longest stable step with hard contacts [s]", f"{_PAPER_HARD:g} (reported up to)", f"{longest:g}",
             longest >= _PAPER_HARD, f"all steps at {_PAPER_HARD:g} s solved to 1e-8, force without jumps of 10 %"),
        Line("steps with springs at the contacts [s]", f"shorter than {_PAPER_SOFT:g}",
             f"stable up to {limit:g}; jumps of the force: {noise}", 0.0 < limit < _PAPER_SOFT,
             f"stable at a step below {_PAPER_SOFT:g} s, not at it",
             "the thesis does not name the springs; k = 1e5 N/m at every contact point is ours, and the limit goes with "
             "1/√k"),
        Line("limited by the stiffness of the elements?", "not affected", "E × 100 at 0.05 s: "
             + ("stable" if stiff.is_stable and stiff.converged else "not stable"),
             stiff.is_stable and stiff.converged, "stable at 0.05 s with E = 1 GPa"),
        Line(f"force at the end, hard at {finest:g} s against springs at {min(springs):g} s [N]", "the same model",
             f"{hard:.0f}, {mean:.0f}", abs(hard / mean - 1.0) < 0.05, "means of the last 0.03 s within 5 %"),
    ]  # fmt: skip


def _shown(
    rigid: dict[float, Bent], springs: dict[float, Bent], iterated: dict[float, Bent], exact: Bent
) -> list[Line]:
    """What the thesis has no number for."""
    out = [
        Line(f"{what}, h = {h:g} s: processor seconds per simulated second", "–",
             f"{one.seconds / _END:.2f}; force at the end {one.at_end():.0f} N, jumps {100 * one.noise:.1f} %", None)
        for what, runs in (("hard", rigid), ("iterated", iterated), ("springs", springs)) for h, one in runs.items()
    ]  # fmt: skip
    counts = rigid[0.05].iterations
    out.append(Line("iterations of the interior point a step, h = 0.05 s", "figure 5.4: curve not available",
                    f"{counts.min():.0f} to {counts.max():.0f}, residuals {rigid[0.05].residual.max():.0e} at most", None))  # fmt: skip
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
        steps = sorted(h for h in runs if np.isfinite(runs[h].force).all())
        axes[2].plot(steps, [runs[h].seconds / _END for h in steps], "o-", label=name, linewidth=1.0)
    axes[2].set(xscale="log", yscale="log", xlabel="h [s]", ylabel="processor seconds per simulated second")
    axes[2].axvline(_PAPER_SOFT, color="0.6", linestyle=":", linewidth=1.0)
    axes[2].axvline(_PAPER_HARD, color="0.6", linestyle="--", linewidth=1.0)
    axes[2].legend(fontsize=8, frameon=False, title="dotted, dashed: the thesis's limits", title_fontsize=8)
    axes[2].grid(True, color="0.92")
    figure.suptitle("Mangoni's thesis, §5.3.2: three-point bending; the curve of its figure 5.4 is not available", fontsize=11)
    figure.savefig(path)


EXPERIMENT = Experiment(
    "three-point-bending", "Mangoni, PhD thesis, §5.3.2, Table 5.4", "A flexible beam between hard contacts and springs", run
)
