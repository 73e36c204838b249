"""Delassus: frictional contact problems of multibody dynamics, solved to a stated and verified accuracy.

>>> import delassus
>>> problem = delassus.Problem.dual([[2, 0, 0], [0, 2, 0], [0, 0, 2]], [-1, 0.1, 0], mu=[0.5])
>>> solution = delassus.solve(problem, "nbgs", tol=1e-8)
>>> solution.status.value
'converged'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded on first use: the command line's --help must not wait for the compiler behind the kernels.
_HOME = {
    "Box": "delassus.shapes",
    "Capsule": "delassus.shapes",
    "Compound": "delassus.shapes",
    "Convex": "delassus.shapes",
    "Cylinder": "delassus.shapes",
    "DelassusError": "delassus.errors",
    "Ellipsoid": "delassus.shapes",
    "Inputs": "delassus.dynamics",
    "Material": "delassus.builder",
    "Mesh": "delassus.shapes",
    "Memory": "delassus.simulation",
    "Model": "delassus.model.model",
    "ModelBuilder": "delassus.builder",
    "Imposed": "delassus.builder",
    "Motor": "delassus.builder",
    "Penalty": "delassus.dynamics",
    "Plane": "delassus.shapes",
    "Recording": "delassus.io.recording",
    "Softening": "delassus.softening",
    "Sphere": "delassus.shapes",
    "Stabilisation": "delassus.dynamics",
    "State": "delassus.model.state",
    "StepReport": "delassus.simulation",
    "StepSettings": "delassus.simulation",
    "equilibrate": "delassus.simulation",
    "fem": "delassus.fem",
    "simulate": "delassus.simulation",
    "step": "delassus.simulation",
    "Law": "delassus.law",
    "Problem": "delassus.problem",
    "Spring": "delassus.softening",
    "ProductCone": "delassus.cones",
    "Solution": "delassus.solvers",
    "Status": "delassus.status",
    "load_model": "delassus.importers",
    "load_problem": "delassus.io",
    "register": "delassus.tables",
    "residuals": "delassus.residuals",
    "save_model": "delassus.importers",
    "solve": "delassus.solvers",
    "solve_batch": "delassus.solvers",
    "SOLVERS": "delassus.solvers",
    "World": "delassus.world",
    "Worlds": "delassus.world",
}

if TYPE_CHECKING:
    from delassus import fem as fem
    from delassus import residuals as residuals
    from delassus.builder import Imposed as Imposed
    from delassus.builder import Material as Material
    from delassus.builder import ModelBuilder as ModelBuilder
    from delassus.builder import Motor as Motor
    from delassus.cones import ProductCone as ProductCone
    from delassus.dynamics import Inputs as Inputs
    from delassus.dynamics import Penalty as Penalty
    from delassus.dynamics import Stabilisation as Stabilisation
    from delassus.errors import DelassusError as DelassusError
    from delassus.importers import load_model as load_model
    from delassus.importers import save_model as save_model
    from delassus.io import load_problem as load_problem
    from delassus.io.recording import Recording as Recording
    from delassus.law import Law as Law
    from delassus.model.model import Model as Model
    from delassus.model.state import State as State
    from delassus.problem import Problem as Problem
    from delassus.shapes import Box as Box
    from delassus.shapes import Capsule as Capsule
    from delassus.shapes import Compound as Compound
    from delassus.shapes import Convex as Convex
    from delassus.shapes import Cylinder as Cylinder
    from delassus.shapes import Ellipsoid as Ellipsoid
    from delassus.shapes import Mesh as Mesh
    from delassus.shapes import Plane as Plane
    from delassus.shapes import Sphere as Sphere
    from delassus.simulation import Memory as Memory
    from delassus.simulation import StepReport as StepReport
    from delassus.simulation import StepSettings as StepSettings
    from delassus.simulation import equilibrate as equilibrate
    from delassus.simulation import simulate as simulate
    from delassus.simulation import step as step
    from delassus.softening import Softening as Softening
    from delassus.softening import Spring as Spring
    from delassus.solvers import SOLVERS as SOLVERS
    from delassus.solvers import Solution as Solution
    from delassus.solvers import solve as solve
    from delassus.solvers import solve_batch as solve_batch
    from delassus.status import Status as Status
    from delassus.tables import register as register
    from delassus.world import World as World
    from delassus.world import Worlds as Worlds

__all__ = list(_HOME)  # noqa: PLE0605 - computed, so that no name is written a third time


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from delassus.errors import nearest

        raise AttributeError(f"module 'delassus' has no attribute {name!r}; {nearest(name, __all__)}")
    module = import_module(_HOME[name])
    value = module if name in ("residuals", "fem") else getattr(module, name)
    globals()[name] = value  # found at once the next time: this look-up takes as long as a tenth of a small solve
    return value


def __dir__() -> list[str]:
    return sorted([*_HOME, "__version__"])
