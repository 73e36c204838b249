"""What `delassus run` says at the end: a card, the scene's checks, JSON and a figure."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.cli import console, files, tables
from delassus.cli.run.plan import RunPlan
from delassus.cli.tables import Column, print_facts, print_table
from delassus.view.extra import SENTENCE, is_installed

if TYPE_CHECKING:
    from rich.console import Console

    from delassus.io.recording import Trajectory
    from delassus.scenes import Check

_PICTURES = 5  # above the plots
_PICTURE_SIZE = (400, 300)  # pixels of each
FIGURE, FLEXIBLE, VTU = "summary.png", "flexible.png", "vtu"
_LOOKED_AT = 50  # instants at most whose stresses are computed for the card


def report(
    plan: RunPlan, taken: int, seconds: float, problems: list[Path], warnings: list[str], interrupted: bool
) -> int:
    """Say and write what came of a run; the exit code.  taken, seconds: steps of this call and how long they took."""
    from delassus.io.recording import Recording

    recording = Recording(plan.out)
    facts = summary(recording, seconds)
    checks = plan.scene.check(plan.setup, recording)
    out = console.stdout()
    print_summary(facts, recording, taken, out)
    for text in warnings:
        out.print(text, soft_wrap=True)
    print_checks(checks, out)
    if problems:
        how = f"--law {plan.settings.law.value} --tol {plan.settings.tol:g}"
        out.print(
            f"{len(problems)} problems kept; look at one with: delassus solve {problems[0]} {how}", soft_wrap=True
        )
    figures, shown = [], ""
    if not is_installed():
        shown = f"; {SENTENCE}"
    elif recording.step_count:
        figures = write_figures(plan, recording)
        shown = f", figure: {' and '.join(map(str, figures))}"
    out.print(f"recording: {plan.out}{shown}", soft_wrap=True)
    if plan.vtu is not None:
        out.print(f"for ParaView: {recording.write_vtu(plan.out / VTU, every=plan.vtu)[0]}", soft_wrap=True)
    write_result(plan, facts, checks, problems, figures, interrupted)
    if interrupted:
        return console.INTERRUPTED
    is_fine = facts["not_converged"] == facts["suspicious"] == 0
    return 0 if is_fine and all(check.passed for check in checks) else 1


def summary(run: "Trajectory", seconds: float) -> dict[str, Any]:
    """The figures of the card. seconds: wall time of the steps of this call without
    those spent compiling, 0 if there were none."""
    total = run.total_energy
    return {
        "steps": run.step_count,
        "time": float(run.t[-1]),
        "bodies": int(run.q.shape[1]),
        "contacts_max": int(run.contact_counts.max(initial=0)),
        "contacts_mean": _mean(run.contact_counts),
        "iterations_max": int(run.iterations.max(initial=0)),
        "iterations_mean": _mean(run.iterations),
        "penetration_max": float(run.penetration.max(initial=0.0)),
        "residual_max": float(run.residual.max(initial=0.0)),
        "worst_velocity_max": float(run.array("solver/worst_velocity").max(initial=0.0)) if run.step_count else 0.0,
        "drift_max": float(run.drift.max(initial=0.0)),
        "energy_first": float(total[0]),
        "energy_last": float(total[-1]),
        "suspicious": int((run.warnings > 0).sum()),
        "not_converged": int((~run.converged).sum()) if run.step_count else 0,
        "stage_seconds_mean": {stage: _mean(values) for stage, values in run.times.items()},
        "wall_seconds": seconds,
        **(_flexible_facts(run) if run.node_count else {}),
    }


def _flexible_facts(run: "Trajectory") -> dict[str, Any]:
    """Sizes of the meshes, nodes that are welded, contacts of flexible bodies, the largest stress of some instants."""
    from delassus.view.flexible import sampled

    states = sampled(run, _LOOKED_AT)
    stress = [float(run.von_mises(int(k)).max()) for k in states]
    soft: Any = np.zeros(0, bool)
    if run.step_count:
        soft = (run.array("contacts/flexible") >= 0).any(axis=1)
    step = np.repeat(np.arange(run.step_count), run.contact_counts)
    return {
        "flexible": len(run.flexible_names),
        "nodes": run.node_count,
        "elements": run.elements.element_count,
        "welded_nodes": run.flexible.welds.count,
        "stress_max": max(stress),
        "stress_max_time": float(run.t[states[np.argmax(stress)]]),
        "strain_energy_last": float(run.strain_energy(-1).sum()),
        "flexible_contacts_max": int(np.bincount(step[soft], minlength=1).max()),
    }


def print_summary(facts: dict[str, Any], run: "Trajectory", taken: int, out: "Console") -> None:
    """The card, then advice on each way of not converging that occurred. taken: steps of this call."""
    stages = facts["stage_seconds_mean"]
    per_step = ", ".join(f"{stage} {tables.seconds(seconds)}" for stage, seconds in stages.items())
    change = facts["energy_last"] - facts["energy_first"]
    wall = facts["wall_seconds"]
    speed = f", {taken / wall:.3g} steps/s in this call" if taken and wall > 0 else ""
    lines = [
        ("steps", f"{facts['steps']} to t = {facts['time']:.6g} s{speed}"),
        ("not converged", f"{facts['not_converged']} of {facts['steps']} steps"),
        ("suspicious", f"{facts['suspicious']} of {facts['steps']} steps"),
        ("contacts", f"{facts['contacts_max']} at most, {facts['contacts_mean']:.3g} on average"),
        ("iterations", f"{facts['iterations_max']} at most, {facts['iterations_mean']:.3g} on average"),
        ("worst residual", f"{facts['residual_max']:.1e} (relative natural map)"),
        ("worst velocity", f"{facts['worst_velocity_max']:.1e} m/s"),
        ("worst penetration", f"{facts['penetration_max']:.1e} m"),
        ("joint drift", f"{facts['drift_max']:.1e} m, rad"),
        ("energy", f"{facts['energy_first']:.6g} J to {facts['energy_last']:.6g} J ({change:+.3g} J)"),
        ("time per step", per_step or tables.MISSING),
    ]
    if "flexible" in facts:
        lines[4:4] = [
            (
                "flexible",
                f"{facts['flexible']} bodies of {facts['nodes']} nodes and {facts['elements']} elements, "
                f"{facts['welded_nodes']} nodes welded, {facts['flexible_contacts_max']} contacts at most",
            ),
            ("largest stress", f"{facts['stress_max']:.4g} Pa (von Mises) at t = {facts['stress_max_time']:.4g} s"),
        ]
    print_facts(lines, out)
    for text in _advice(run):
        out.print(text, soft_wrap=True)


def print_checks(checks: "list[Check]", out: "Console") -> None:
    """A table of what the scene claims of the run, with a verdict each; nothing where it claims nothing."""
    from rich.text import Text

    if not checks:
        return
    out.print()
    verdicts = [Text("pass", style="green") if c.passed else Text("FAIL", style="red") for c in checks]
    columns = [
        Column("check", [check.name for check in checks], narrow=20),
        Column("value", [_number(check.value) for check in checks], right=True),
        Column("at most", [_number(check.bound) for check in checks], right=True),
        Column("unit", [check.unit for check in checks]),
        Column("verdict", verdicts),
    ]
    print_table(columns, out)


def write_figures(plan: RunPlan, run: "Trajectory") -> list[Path]:
    """summary.png beside the recording, and flexible.png where bodies bend."""
    from delassus.view.summary import draw

    paths = [plan.out / FIGURE]
    strip = _strip(plan, run) if plan.pictures else None
    files.write_figure(paths[0], draw(run, title=plan.scene.name, tol=plan.settings.tol, strip=strip))
    if run.node_count:
        from delassus.view.flexible import draw_flexible

        paths.append(plan.out / FLEXIBLE)
        files.write_figure(paths[1], draw_flexible(run, plan.setup.model, title=plan.scene.name))
    return paths


def _strip(plan: RunPlan, run: "Trajectory") -> Any:
    """Five pictures of the run side by side, where the extra `render` is installed."""
    from delassus.view.render import extra

    if not extra.is_installed():
        return None
    from delassus.view.render.film import strip_of
    from delassus.view.render.stage import Look

    return strip_of(run, plan.setup.model, _PICTURES, Look(_PICTURE_SIZE))


def write_result(
    plan: RunPlan,
    facts: dict[str, Any],
    checks: "list[Check]",
    problems: list[Path],
    figures: list[Path],
    interrupted: bool,
) -> None:
    """The JSON file, where asked for."""
    if plan.json is None:
        return
    about = plan.about
    data = {
        "scene": about.scene,
        "parameters": about.parameters,
        "settings": about.settings,
        "version": about.version,
        "model": about.model,
        "goal": plan.steps,
        "complete": facts["steps"] >= plan.steps,
        "interrupted": interrupted,
        "summary": facts,
        "checks": [asdict(check) | {"passed": check.passed} for check in checks],
        "recording": str(plan.out),
        "figure": str(figures[0]) if figures else None,
        "figures": [str(path) for path in figures],
        "problems": [str(path) for path in problems],
    }
    files.write_json(plan.json, data)


def _advice(run: "Trajectory") -> list[str]:
    from delassus.io.recording.columns import STATUSES

    counts = {k: int((run.array("solver/status") == k).sum()) for k in range(len(STATUSES))} if run.step_count else {}
    return [
        f"{STATUSES[k].value.replace('_', ' ')} in {count} steps: {STATUSES[k].advice}"
        for k, count in counts.items()
        if count and STATUSES[k].value != "converged"
    ]


def _mean(values: Any) -> float:
    """Of those that are known: stages of steps that were taken many at once have no times."""
    known = values[values == values]
    return float(known.mean()) if len(known) else 0.0


def _number(value: float) -> str:
    whole = math.isfinite(value) and abs(value) < 1e6 and value == int(value)
    return f"{value:.0f}" if whole else f"{value:.2e}"
