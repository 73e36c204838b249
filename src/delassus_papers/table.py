"""The table of experiments."""

from importlib import import_module

from delassus.errors import SettingsError
from delassus.tables import Table
from delassus_papers.experiment import Experiment

_HERE = (
    "table_ii",
    "comparison",
    "local_solvers",
    "constraint_softening",
    "warm_start",
    "box_size",
    "stacks",
    "three_point_bending",
    "redundant_contacts",
    "starting_values",
    "odd_masses",
    "heap_table",
    "heap_size",
    "heavy_cylinder",
    "pile_spectrum",
    "hyperstatic",
    "pile_krylov",
    "pile_strategies",
    "pile_convergence",
    "blade_draft",
)


def experiment_in(module: str) -> Experiment:
    """The `EXPERIMENT` of a module, by the module's name."""
    found = getattr(import_module(module), "EXPERIMENT", None)
    if not isinstance(found, Experiment):
        raise SettingsError(f"{module} has no EXPERIMENT: define one, as delassus_papers.experiments.table_ii does")
    return found


EXPERIMENTS: Table[Experiment] = Table(
    "experiment",
    lambda line: isinstance(line, Experiment),
    lambda line: line.name,
    [experiment_in(f"delassus_papers.experiments.{name}") for name in _HERE],
    reserved=["all"],
)
"""Every experiment by name, plug-ins included."""
