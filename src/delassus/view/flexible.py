"""Flexible bodies of a run at a glance: deformed surfaces coloured by stress, forces on them, energies."""

from typing import TYPE_CHECKING

import numpy as np

from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.view.film import bounds_of, camera_at, draw_state
from delassus.view.surfaces import at_nodes, triangles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INSTANTS = 4
_SAMPLES = 200  # instants at most whose elements are evaluated for the energies
_CURVES = 5  # forces that are shown: the largest


def draw_flexible(run: Trajectory, model: Model, *, title: str) -> "Figure":
    """A few instants seen from the side, the last of them the end; below, forces and energies over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7.5), dpi=110, layout="constrained")
    above, below = np.asarray(figure.subfigures(2, 1))
    _instants(above, run, model)
    forces, energies = below.subplots(1, 2)
    _forces(forces, run, model)
    _energies(energies, run)
    for panel in (forces, energies):
        panel.grid(True, color="0.92")
        panel.set_xlabel("simulated time [s]")
        panel.set_xlim(float(run.t[0]), float(run.t[-1]))
    counts = f"{len(run.flexible_names)} flexible, {run.node_count} nodes, {run.elements.element_count} elements"
    figure.suptitle(f"{title}: {counts}", fontsize=11)
    return figure


def sampled(run: Trajectory, most: int) -> np.ndarray:
    """Numbers of at most so many states, the first and the last among them."""
    return np.unique(np.linspace(0, run.step_count, most).round().astype(np.int64))


def _instants(figure: "Figure", run: Trajectory, model: Model) -> None:
    """Von Mises' stress, means of the elements around each corner, in one scale for all instants."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    chosen = sampled(run, _INSTANTS)
    states, camera = [run.state(int(k)) for k in chosen], camera_at(-70.0, 20.0)
    triangles, _ = triangles_of(run.elements)
    stress = [at_nodes(run.elements, run.elements.von_mises(state.nodes))[triangles].mean(axis=1) for state in states]
    scale = Normalize(0.0, max(1e-300, max(float(values.max()) for values in stress)))
    low, high = bounds_of(
        model, np.array([state.q for state in states]), camera, np.array([state.nodes for state in states])
    )
    panels = np.atleast_1d(figure.subplots(1, len(chosen)))
    for panel, state, values in zip(panels, states, stress):
        colours = colormaps["viridis"](scale(values))
        draw_state(panel, model, state.q, camera, low, high, state.nodes, colours)
        panel.set_title(f"t = {state.t:.4g} s", fontsize=9)
    bar = figure.colorbar(ScalarMappable(scale, "viridis"), ax=list(panels), shrink=0.7)
    bar.set_label("von Mises stress [Pa]")


def _forces(panel: "Axes", run: Trajectory, model: Model) -> None:
    """On what is welded to flexible bodies, and on rigid bodies that touch them."""
    panel.set_ylabel("force [N]")
    found = {f"weld to {name}": force for name, force in run.weld_forces.items()}
    found |= {f"contacts with {name}": force for name, force in contact_forces(run, model).items()}
    sizes = {name: np.linalg.norm(force, axis=1) for name, force in found.items()}
    shown = sorted((name for name in sizes if sizes[name].any()), key=lambda name: -float(sizes[name].max()))
    if not shown:
        panel.annotate("nothing holds or touches them", (0.5, 0.5), xycoords="axes fraction", ha="center", color="0.5")
        return
    for name in shown[:_CURVES]:
        panel.plot(run.t[1:], sizes[name], linewidth=1.1, label=name)
    panel.set_ylim(bottom=0.0)
    panel.legend(fontsize=8, frameon=False)


def contact_forces(run: Trajectory, model: Model) -> dict[str, np.ndarray]:
    """(N, 3) what all contacts of flexible bodies with each rigid one do to them [N], by name; "the world": with
    everything that is fixed."""
    if not run.step_count or not run.node_count:
        return {}
    bodies, soft, force = (run.array(f"contacts/{name}") for name in ("bodies", "flexible", "force"))
    step = np.repeat(np.arange(run.step_count), run.contact_counts)
    total = np.zeros((run.step_count, model.body_count + 1, 3))
    for side, sign in ((0, 1.0), (1, -1.0)):  # the rigid side, and how the force acts on the other
        mixed = (soft[:, side] < 0) & (soft[:, 1 - side] >= 0)
        np.add.at(total, (step[mixed], bodies[mixed, side]), sign * force[mixed])
    return dict(zip((*model.body_names, "the world"), total.transpose(1, 0, 2)))


def _energies(panel: "Axes", run: Trajectory) -> None:
    """Kinetic, of strain, other potential energy from its lowest value on, and all of it."""
    chosen = sampled(run, _SAMPLES)
    t, kinetic = run.t[chosen], run.energy[chosen, 0]
    strain = np.array([run.strain_energy(int(k)).sum() for k in chosen])
    rest = run.energy[chosen, 1] - strain
    rest -= rest.min()
    for values, colour, label in (
        (kinetic, "C1", "kinetic"),
        (strain, "C3", "strain"),
        (rest, "C2", "other potential, from its lowest"),
        (kinetic + strain + rest, "0.2", "total"),
    ):
        panel.plot(t, values, linewidth=1.1, color=colour, label=label)
    panel.set_ylabel("energy [J]")
    panel.legend(fontsize=8, frameon=False)
