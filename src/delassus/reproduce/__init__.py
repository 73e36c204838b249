"""The papers' experiments: what a paper claims, what came out here with its published method and with ours, and whether
that agrees by a criterion that the paper's own numbers pass."""

from importlib import import_module

from delassus.errors import SettingsError, nearest
from delassus.reproduce.experiment import Experiment


def experiment_in(module: str) -> Experiment:
    """The `EXPERIMENT` of a module, by the module's name."""
    found = getattr(import_module(module), "EXPERIMENT", None)
    if not isinstance(found, Experiment):
        raise SettingsError(f"{module} has no EXPERIMENT: define one, as delassus.reproduce.experiments.table_ii does")
    return found


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in map(experiment_in, (
        "delassus.reproduce.experiments.table_ii",
        "delassus.reproduce.experiments.comparison",
        "delassus.reproduce.experiments.local_solvers",
        "delassus.reproduce.experiments.constraint_softening",
        "delassus.reproduce.experiments.warm_start",
        "delassus.reproduce.experiments.box_size",
        "delassus.reproduce.experiments.stacks",
        "delassus.reproduce.experiments.three_point_bending",
        "delassus.reproduce.experiments.redundant_contacts",
        "delassus.reproduce.experiments.starting_values",
        "delassus.reproduce.experiments.odd_masses",
        "delassus.reproduce.experiments.heap_table",
        "delassus.reproduce.experiments.heap_size",
        "delassus.reproduce.experiments.heavy_cylinder",
        "delassus.reproduce.experiments.pile_spectrum",
        "delassus.reproduce.experiments.hyperstatic",
        "delassus.reproduce.experiments.pile_krylov",
        "delassus.reproduce.experiments.pile_strategies",
        "delassus.reproduce.experiments.pile_convergence",
        "delassus.reproduce.experiments.blade_draft",
    ))
}  # fmt: skip
"""Every experiment by name."""


def find_experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise SettingsError(f"unknown experiment {name!r}; {nearest(name, [*EXPERIMENTS, 'all'])}")
    return EXPERIMENTS[name]
