"""The experiments of papers, and the solvers as these publish them: what a paper claims, what came out here with its
published method and with ours, and whether that agrees by a criterion that the paper's own numbers pass.

Beside `delassus`, which imports nothing of it: what is to be found there is named in `LINES`."""

from typing import TYPE_CHECKING, Any

LINES = {
    "solvers": "delassus_papers.solvers.table:LINES",
    "commands": "delassus_papers.command:LINES",
}
"""Lines that `delassus.tables` adds to tables of the core: "module:name" of a list of lines."""

if TYPE_CHECKING:
    from delassus_papers.experiment import Experiment as Experiment
    from delassus_papers.table import EXPERIMENTS as EXPERIMENTS

_HOME = {"Experiment": "delassus_papers.experiment", "EXPERIMENTS": "delassus_papers.table"}


def __getattr__(name: str) -> Any:
    """Loaded on first use: who lists the solvers need not load the experiments."""
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
