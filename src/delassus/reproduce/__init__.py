"""The papers' experiments as functions: what the paper says, what came out here, and whether that agrees by a criterion
that was written down before the run."""

from delassus.errors import SettingsError, nearest
from delassus.reproduce import (
    blade_draft,
    box_size,
    comparison,
    heap_size,
    heap_table,
    heavy_cylinder,
    pile_convergence,
    pile_krylov,
    pile_spectrum,
    stacks,
    table_ii,
    warm_start,
)
from delassus.reproduce.experiment import Experiment
from delassus.reproduce.experiment import Line as Line
from delassus.reproduce.experiment import Outcome as Outcome

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table_ii.EXPERIMENT,
        comparison.EXPERIMENT,
        warm_start.EXPERIMENT,
        box_size.EXPERIMENT,
        stacks.EXPERIMENT,
        heap_table.EXPERIMENT,
        heap_size.EXPERIMENT,
        heavy_cylinder.EXPERIMENT,
        pile_spectrum.EXPERIMENT,
        pile_krylov.EXPERIMENT,
        pile_convergence.EXPERIMENT,
        blade_draft.EXPERIMENT,
    )
}
"""Every experiment by name."""


def find_experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise SettingsError(f"unknown experiment {name!r}; {nearest(name, [*EXPERIMENTS, 'all'])}")
    return EXPERIMENTS[name]
