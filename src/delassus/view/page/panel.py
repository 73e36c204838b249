"""What a page says of a step and of what was clicked, as Markdown: the numbers of the recording and no others."""

import numpy as np

from delassus.io.recording import StepContacts, Trajectory
from delassus.io.recording.columns import STATUSES
from delassus.model.model import Model
from delassus.model.state import State
from delassus.view.drawing import STATUS_NAMES, Drawing, contact_names, law_errors

PLOTS = ("penetration [m]", "relative natural map", "joint drift [m, rad]", "energy [J]", "iterations", "contacts")
"""As in summary.png."""
DECADES = PLOTS[:3]
"""Those of PLOTS of which decades are plotted."""
FLOOR = 1e-16
"""Where exact zeros are plotted."""
_POINTS = 600  # of a plot: the worst of every stretch of steps


def facts(run: Trajectory, k: int) -> list[tuple[str, str]]:
    """Of step k, which led to state k; of the first state its time alone."""
    out = [("step", f"{k} of {run.step_count}"), ("time", f"{run.t[k]:.6g} s")]
    kinetic, potential = run.energy[k]
    if not k:
        return [*out, ("energy", f"{kinetic + potential:.6g} J ({kinetic:.4g} kinetic)")]
    status = STATUSES[int(run.array("solver/status")[k - 1])].value.replace("_", " ")
    solver = bytes(run.array("solver/name")[k - 1]).decode("utf-8", "replace").strip()
    contacts = run.contacts(k - 1)
    seconds = [(stage, float(values[k - 1])) for stage, values in run.times.items()]
    known = ", ".join(f"{stage} {1e6 * value:.0f} µs" for stage, value in seconds if value == value)
    return [
        *out,
        ("status", status),
        ("solver", f"{solver}, {int(run.iterations[k - 1])} iterations"),
        ("natural map", f"{run.residual[k - 1]:.3e}"),
        ("worst velocity", f"{run.array('solver/worst_velocity')[k - 1]:.3e} m/s"),
        ("contacts", _counts(contacts.status)),
        ("penetration", f"{run.penetration[k - 1]:.3e} m"),
        ("joint drift", f"{run.drift[k - 1]:.3e} m, rad"),
        ("energy", f"{kinetic + potential:.6g} J ({kinetic:.4g} kinetic)"),
        ("seconds", known or "taken many at once"),
    ]


def _counts(status: np.ndarray) -> str:
    return f"{len(status)}: " + ", ".join(f"{int((status == s).sum())} {STATUS_NAMES[s]}" for s in (1, 2, 0))


def markdown(rows: list[tuple[str, str]]) -> str:
    """A table of two columns."""
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows)


def about_row(drawing: Drawing, row: int, state: State, contacts: StepContacts | None) -> list[tuple[str, str]]:
    """Of the body that a shape, which was clicked, belongs to.  contacts: of the step that led to the state."""
    model, body = drawing.model, int(drawing.model.shapes.body[row])
    name, mu = drawing.owner(row), model.shapes.surface[row, 1]
    if body < 0:
        return [("body", f"{name} (fixed)"), ("friction", f"{mu:g}")]
    x, u = state.q[body], state.u[body]
    touching = []
    if contacts is not None:
        own = (contacts.bodies == body).any(axis=1)
        largest = float(np.linalg.norm(contacts.force[own], axis=1).max(initial=0.0))
        many = f"{_counts(contacts.status[own])}; largest force {largest:.4g} N"
        touching = [("contacts", many if own.any() else "none")]
    return [
        ("body", name),
        ("mass", f"{model.mass[body]:.6g} kg"),
        ("friction", f"{mu:g}"),
        ("centre of mass", f"{_vector(x[:3])} m"),
        ("orientation", _vector(x[3:])),
        ("velocity", f"{_vector(u[:3])} m/s"),
        ("angular velocity", f"{_vector(u[3:])} rad/s"),
        *touching,
    ]


def about_contact(contacts: StepContacts, model: Model, c: int) -> list[tuple[str, str]]:
    """Of contact c of a step; forces are those on the second body."""
    normal = float(contacts.force[c] @ contacts.normal[c])
    along = float(np.linalg.norm(contacts.force[c] - normal * contacts.normal[c]))
    return [
        ("contact", " – ".join(contact_names(model, contacts, c))),
        ("state", STATUS_NAMES[int(contacts.status[c])]),
        ("position", f"{_vector(contacts.point[c])} m"),
        ("normal force", f"{normal:.4g} N"),
        ("tangential force", f"{along:.4g} N of {contacts.mu[c] * max(normal, 0.0):.4g} N"),
        ("slip", f"{np.linalg.norm(contacts.slip[c]):.3e} m/s"),
        ("gap", f"{contacts.gap[c]:.3e} m"),
        ("residual", _residual(contacts, c)),
        ("friction", f"{contacts.mu[c]:g}"),
    ]


def _residual(contacts: StepContacts, c: int) -> str:
    """As the judge measures it; what older recordings can tell instead."""
    if contacts.residual is None or contacts.residual_relative is None:
        return f"not recorded; misses Coulomb's law by {law_errors(contacts)[c]:.1e} of the largest force"
    if np.isnan(contacts.residual[c]):
        return "not judged"
    return f"{contacts.residual[c]:.3e} m/s, {contacts.residual_relative[c]:.1e} of velocities around it"


def columns(run: Trajectory) -> list[np.ndarray]:
    """One value a step of each of PLOTS."""
    found = (run.penetration, run.residual, run.drift, run.total_energy[1:], run.iterations, run.contact_counts)
    return [np.asarray(values, float) for values in found]


def stretches(run: Trajectory) -> np.ndarray:
    """First steps of the stretches that are a point of a plot each."""
    return np.arange(0, run.step_count, max(1, -(-run.step_count // _POINTS)))


def plots(run: Trajectory) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times (n,) and values (n,) of PLOTS, thinned; decades of what is plotted logarithmically."""
    start, found = stretches(run), {}
    for name, values in zip(PLOTS, columns(run)):
        worst = np.maximum.reduceat(values, start) if len(start) else np.zeros(0)
        found[name] = np.log10(np.maximum(worst, FLOOR)) if name in DECADES else worst
    return run.t[1:][start] if len(start) else np.zeros(0), found


def _vector(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in values) + ")"
