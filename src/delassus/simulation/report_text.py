"""A step's report as a screen of text."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from delassus.simulation.report import StepReport


def report_text(report: "StepReport") -> str:
    """What happened in a step, a line for each thing worth knowing."""
    solution, cone = report.solution, report.rows.cone
    residuals = solution.residuals
    held, rubbing, welds = len(report.rows.residual), report.rows.friction_count, report.rows.welds
    welded = welds.stop - welds.start
    touched = report.contacts.nodes
    soft = 0 if touched is None else int((touched >= 0).any(axis=1).sum())
    counts = (
        (held - welded, "joint rows"),
        (welded // 3, "welded nodes"),
        (cone.bilateral_rows - held - rubbing, "drives"),
        (cone.unilateral, "limits"),
        (report.rows.contact_count - soft, "contacts"),
        (soft, "contacts of flexible bodies"),
        (rubbing, "joint frictions"),
    )
    kinetic, potential = report.energy
    lines = {
        "status": f"{solution.status.value}, {solution.solver}, law {solution.law.value}",
        "iterations": f"{solution.iterations}",
        "residual": f"{residuals.natural_map_relative:.2e} relative natural map (asked {solution.tol:.0e}), "
        f"worst velocity {residuals.worst_velocity:.2e} m/s",
        "rows": ", ".join(f"{count} {what}" for count, what in counts if count) or "none",
        "reactions": f"{np.abs(solution.reactions).max(initial=0.0):.4g} N s at most",
        "energy": f"{kinetic + potential:.6g} J: kinetic {kinetic:.6g} J, potential {potential:.6g} J",
        "joint drift": f"{report.drift:.2e} m, rad before the step",
        "penetration": f"{report.penetration:.2e} m",
        "time": ", ".join(f"{stage} {_duration(seconds)}" for stage, seconds in report.times.items()),
    }
    if report.held_back:
        lines["held back"] = ", ".join(report.held_back)
    if not solution.converged:
        lines["advice"] = solution.status.advice
    for k, text in enumerate(report.warnings):
        lines["warning" if k == 0 else f"warning {k + 1}"] = text
    head = f"step of {report.h:.6g} s to t = {report.t:.6g} s"
    return "\n".join([head, *(f"  {name:<12} {text}" for name, text in lines.items())])


def _duration(seconds: float) -> str:
    """With three digits, in the unit that keeps it short."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.0f} µs"
