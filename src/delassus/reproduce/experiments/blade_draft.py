"""Kleinert et al. 2014, §1: what an inaccurate solver costs in the draft force of a blade.

The same blade is drawn from the same bed of spheres by projected Gauß–Jacobi (PGJ), stopped after 100 and after 10 000
iterations, and by the interior-point method to 1e-6. All start from the reactions of the step before. The beds move
apart soon, so noise and means are compared over the whole way; and steps of the accurate run are solved again by PGJ
from the same start, which tells a wrong force from another bed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from delassus.model.state import State
from delassus.reproduce.measure.snapshot import draw_snapshots
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes.blade import SCENE
from delassus.scenes.scene import Setup
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.solvers import solve
from delassus.solvers.table import find

FEW, MANY = 100, 10_000
"""Iterations of PGJ."""

_FULL = {"reach": 0.012}
_QUICK = _FULL | {"n": 150, "length": 0.3, "width": 0.08, "blade": 0.05, "speed": 0.2}
_EVERY = 4  # steps between two that are solved again
_WINDOW = 15  # steps of the moving mean
_OFF = 0.1  # a force is wrong when it is off by more than this part
_ACCURATE = "ipm"
_COLOURS = {_ACCURATE: "C0", f"PGJ {MANY}": "C2", f"PGJ {FEW}": "C3"}


@dataclass
class Draft:
    """One run, one entry per step.  t [s]; force [N]; depth: deepest penetration [m]; residual: relative natural map;
    seconds: of solving; end: the last state."""

    name: str
    t: np.ndarray
    force: np.ndarray
    depth: np.ndarray
    residual: np.ndarray
    seconds: np.ndarray
    end: State

    @property
    def noise(self) -> float:
        """Standard deviation around the moving mean [N]."""
        return float((self.force - moving_mean(self.force)).std())


def moving_mean(x: np.ndarray) -> np.ndarray:
    """Over `_WINDOW` entries, fewer at the ends."""
    weights = np.ones(_WINDOW)
    return np.convolve(x, weights, "same") / np.convolve(np.ones(len(x)), weights, "same")


def run(folder: Path, quick: bool) -> Outcome:
    setup = SCENE.build(**(_QUICK if quick else _FULL))
    start, memory = _at_rest(setup)
    again: list[list[float]] = []  # of one step: time, then forces of ipm, PGJ after FEW, after MANY, another accurate

    def solve_again(number: int, time: float, report: StepReport, guess: np.ndarray) -> None:
        if number % _EVERY == 0:
            other = solve(report.problem, "apgd", guess, tol=1e-8, max_iter=20_000, trace=False)
            points = [report.solution.reactions, *_pgj(report, guess), other.reactions]
            again.append([time, *(draft_of(report, point, setup.settings.h) for point in points)])

    runs = [_drawn(_ACCURATE, setup, start, memory, setup.settings, solve_again)]
    for count in (MANY, FEW):
        rough = replace(setup.settings, solver="jacobi", tol=1e-12, tol_velocity=None, max_iter=count)
        runs.append(_drawn(f"PGJ {count}", setup, start, memory, rough))
    pictures = [folder / "blade-draft.png", folder / "blade-snapshot.png"]
    _draw(pictures[0], runs, np.array(again))
    draw_snapshots(pictures[1], setup, [(one.name, one.end) for one in (runs[0], runs[-1])])
    return Outcome(_lines(setup, runs, np.array(again)), pictures)


def _at_rest(setup: Setup) -> tuple[State, Memory]:
    """The bed when the blade begins to move."""
    memory = Memory()
    resting = setup.run(duration=setup.parameters["rest"], memory=memory)
    return resting.state(-1), memory


def _drawn(
    name: str, setup: Setup, state: State, memory: Memory, settings: StepSettings,
    watch: Callable[[int, float, StepReport, np.ndarray], None] | None = None,
) -> Draft:  # fmt: skip
    """Draw the blade all the way.  watch: (number, time, report, start of the solve)."""
    memory = memory.copy()
    columns: list[tuple[float, ...]] = []
    assert setup.inputs is not None
    for number in range(setup.steps() - round(state.t / settings.h)):
        before = memory.copy()
        state, report = step(setup.model, state, setup.inputs(state.t, state), settings, memory)
        solution = report.solution
        columns.append((state.t, draft_of(report, solution.reactions, settings.h), report.penetration,
                        solution.residuals.natural_map_relative, report.times["solve"]))  # fmt: skip
        if watch is not None:
            watch(number, state.t, report, before.recall(report.rows))
    t, force, depth, residual, seconds = np.array(columns).T
    return Draft(name, t, force, depth, residual, seconds, state)


def _pgj(report: StepReport, guess: np.ndarray) -> list[np.ndarray]:
    """Reactions of the step's problem after FEW and after MANY iterations of PGJ, no more and no fewer."""
    line, settings = find("jacobi")
    method = line.start(report.problem, settings, guess.copy())
    method.advance(FEW)
    early = method.reactions.copy()
    method.advance(MANY - FEW)
    return [early, method.reactions]


def draft_of(report: StepReport, reactions: np.ndarray, h: float) -> float:
    """Draft force [N] of these reactions: minus what the contacts push the blade, body 0, along x."""
    contacts, first = report.contacts, report.rows.cone.contact_start
    triples = reactions[first : first + 3 * len(contacts.gap)].reshape(-1, 3)
    along = np.einsum("ni,ni->n", triples, contacts.frame[:, :, 0]) / h
    return float(along[contacts.bodies[:, 0] == 0].sum() - along[contacts.bodies[:, 1] == 0].sum())


def _lines(setup: Setup, runs: list[Draft], again: np.ndarray) -> list[Line]:
    accurate, many, few = runs
    mean = float(accurate.force.mean())
    bias = {one.name: float(one.force.mean()) / mean - 1.0 for one in runs}
    moving = again[again[:, 1] > 0.05 * mean]  # where there is a force to be wrong about
    off_few, off_many, off_other = (float((np.abs(moving[:, k] / moving[:, 1] - 1.0) > _OFF).mean()) for k in (2, 3, 4))
    # the median: a sphere that falls further than its reach in one step gets in deep whatever the solver
    depth = {one.name: float(np.median(one.depth)) for one in runs}
    out = [
        Line(f"same steps: force off by more than {_OFF:.0%} after {FEW} iterations", "PGJ is not accurate enough",
             f"{off_few:.0%} of {len(moving)} steps", off_few >= 0.5, "half of the steps and more"),
        Line(f"same steps: the same after {MANY} iterations", "a lot of iterations are necessary",
             f"{off_many:.0%} of the steps", off_many < off_few, f"fewer than after {FEW}"),
        Line("same steps: ipm and apgd, both accurate, compared alike", "–", f"{off_other:.0%} of the steps",
             off_other <= 0.05, "at most a twentieth: the force is the problem's, not the solver's"),
        Line(f"whole way: mean force of PGJ {FEW} against the accurate one", "incorrect forces",
             f"{bias[few.name]:+.0%}", abs(bias[few.name]) > _OFF, f"off by more than {_OFF:.0%}"),
        Line(f"whole way: mean force of PGJ {MANY} against the accurate one", "–", f"{bias[many.name]:+.0%}",
             abs(bias[many.name]) < abs(bias[few.name]), f"nearer than PGJ {FEW}"),
        Line(f"artificial compliance: deepest penetration of a step, median, accurate and PGJ {FEW}",
             "premature stops make granular material yield",
             f"{1e3 * depth[accurate.name]:.2g} mm, {1e3 * depth[few.name]:.2g} mm",
             depth[few.name] >= 10.0 * depth[accurate.name], "ten times as deep and more"),
    ]  # fmt: skip
    for one in runs:
        out.append(Line(f"{one.name}: mean force, noise around a moving mean of {_WINDOW} steps, median residual, time",
                        "–", f"{one.force.mean():.3g} N, {one.noise:.2g} N, {np.median(one.residual):.1e}, "
                        f"{one.seconds.sum():.0f} s for {len(one.t)} steps", None))  # fmt: skip
    weight = 9.81 * float(setup.model.mass[1:].sum())
    out.append(Line("spheres, their weight", "a million", f"{setup.model.body_count - 1}, {weight:.3g} N", None))
    return out


def _draw(path: Path, runs: list[Draft], again: np.ndarray) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7.5))
    axes = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for one in reversed(runs):
        colour = _COLOURS[one.name]
        axes[0].plot(one.t, one.force, color=colour, alpha=0.35, linewidth=0.8)
        axes[0].plot(one.t, moving_mean(one.force), color=colour, label=f"{one.name}: noise {one.noise:.2g} N")
    axes[0].set(ylabel="draft force [N]", title="A blade through a trench of spheres (Kleinert et al. 2014, §1)")
    largest = max(float(moving_mean(one.force).max()) for one in runs)
    axes[0].set_ylim(-0.1 * largest, 2.0 * largest)
    for k, name in ((2, f"PGJ {FEW}"), (3, f"PGJ {MANY}")):
        axes[1].plot(again[:, 0], again[:, k] - again[:, 1], "o-", color=_COLOURS[name], markersize=3, linewidth=0.8,
                     label=f"{name}, error in the same step")  # fmt: skip
    axes[1].axhline(0.0, color=_COLOURS[_ACCURATE], linewidth=0.8)
    axes[1].set(xlabel="t [s]", ylabel="error of the force [N]")
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


EXPERIMENT = Experiment(
    "blade-draft", "Kleinert et al. 2014, §1, figure 1", "The draft force of a blade by rough and accurate solves", run
)
