"""Files: FCLIB problems in and out (`problems`, `fclib`), recordings of simulations both ways (`recording`).

The first two sit below the solvers and know no bodies, `recording` above simulations: nothing is imported before it is
asked for, so reading a problem does not load an engine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "load_problem": "delassus.io.problems",
    "save_problem": "delassus.io.problems",
    "save_solution": "delassus.io.problems",
    "Recorder": "delassus.io.recording",
    "Recording": "delassus.io.recording",
}

if TYPE_CHECKING:
    from delassus.io.problems import load_problem as load_problem
    from delassus.io.problems import save_problem as save_problem
    from delassus.io.problems import save_solution as save_solution
    from delassus.io.recording import Recorder as Recorder
    from delassus.io.recording import Recording as Recording

__all__ = list(_HOME)  # noqa: PLE0605 - computed, so that no name is written a third time


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'delassus.io' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
