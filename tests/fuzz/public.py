"""Everything that can be called from outside, found by inspection, and sound values for what it takes."""

import ast
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

import delassus
from delassus import fem, importers, io, residuals, shapes, simulation, solvers
from delassus.scenes import SCENES

MODULES = (delassus, fem, importers, io, residuals, shapes, simulation, solvers)
NOT_CALLED = set(
    [
        "register",
        "Problem",
        "Solutions",
        "Solution",
        "StepReport",
        "Model",
        "Status",
        "Law",
        "write_mjcf",
        "write_urdf",
        "Response",
        "Composed",
        "Method",
        "Trajectory",
        "Elements",
        "data_at",
        "measure_with_velocities",
        "evaluate_with_velocities",
    ]
)
"""What changes tables of the process; what is made by others (`Problem` by its class methods, reports and solutions by
solving, models by builders); what the loop over iterations calls with arrays of its own."""
NO_METHODS = {
    "film",
    "remove",
    "register",
    "write_vtu",
    "recall",
    "store",
    "mass_blocks",
    "world_inertia",
    "shifted",
    "after",
    "check",
}
"""The same of methods: what a step asks of memories and models."""


def pantry(home: Path) -> dict[str, Any]:
    """Sound values, by the names of parameters."""
    builder = delassus.ModelBuilder()
    builder.fixed("ground", shapes=delassus.Plane())
    arm = builder.body("arm", density=1000.0, shapes=delassus.Box((0.4, 0.1, 0.1)), position=(0, 0, 1))
    builder.joint("revolute", None, arm, position=(0, 0, 1), axis=(0, 1, 0), name="hinge")
    builder.body("ball", density=1000.0, shapes=delassus.Sphere(0.1), position=(2, 0, 0.1))
    model, state = builder.build()
    problem = delassus.Problem.dual(np.eye(3), [-1.0, 0.6, 0.2], mu=[0.5])
    mesh = fem.block()
    return {
        "model": model,
        "state": state,
        "problem": problem,
        "problems": [problem, problem],
        "builder": builder,
        "inputs": delassus.Inputs.none(model),
        "settings": delassus.StepSettings(),
        "memory": delassus.Memory(),
        "mesh": mesh,
        "path": home / "nothing.xml",
        "directory": home / "nothing",
        "steps": 2,
        "count": 2,
        "h": 1e-3,
        "nodes": mesh.nodes,
        "elements": mesh.elements,
        "shape": delassus.Sphere(0.1),
        "cone": problem.cone,
        "reactions": np.zeros(3),
        "velocities": np.zeros(3),
        "x": np.zeros(3),
        "name": "arm",
        "D": np.eye(3),
        "v_f": np.zeros(3),
        "mu": [0.5],
        "q": state.q,
        "u": state.u,
        "radius": 0.1,
        "size": (1.0, 1.0, 1.0),
        "points": np.vstack([np.zeros(3), np.eye(3)]),
        "half_length": 0.2,
        "solver": "nbgs",
        "tol": 1e-6,
        "law": "ncp",
        "function": lambda *_: 1.0,
        "body": "arm",
        "joint": "hinge",
        "kind": "revolute",
        "base": None,
        "follower": "ball",
        "density": 1000.0,
        "shapes": delassus.Sphere(0.1),
        "young": 1e6,
        "poisson": 0.3,
        "material": fem.Elastic(1e6, 0.3, density=1000.0) if hasattr(fem, "Elastic") else None,
        "max_iter": 10,
        "time_limit": 1.0,
        "seconds": 0.01,
        "world": delassus.World(model, state),
        "worlds": delassus.Worlds(model, state, 2),
    }


def instances(stock: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Objects whose methods are called, made anew for each call."""
    return {
        "world": lambda: delassus.World(stock["model"], stock["state"]),
        "worlds": lambda: delassus.Worlds(stock["model"], stock["state"], 2),
        "builder": delassus.ModelBuilder,
        "problem": lambda: stock["problem"],
        "cone": lambda: stock["cone"],
        "model": lambda: stock["model"],
        "state": lambda: stock["state"],
        "mesh": lambda: stock["mesh"],
        "memory": delassus.Memory,
        "setup": lambda: SCENES["bouncing-ball"].build(),
        "run": lambda: SCENES["bouncing-ball"].build().run(steps=2),
        "scene": lambda: SCENES["bouncing-ball"],
        "body": lambda: delassus.World(stock["model"], stock["state"]).body("arm"),
        "joint": lambda: delassus.World(stock["model"], stock["state"]).joint("hinge"),
        "solution": lambda: delassus.solve(stock["problem"]),
        "settings": delassus.StepSettings,
    }


def callables(stock: dict[str, Any]) -> Iterator[tuple[str, Callable[[], Any], inspect.Signature]]:
    """(name, what gives the function to call, its signature)."""
    seen = set()
    for module in MODULES:
        for name, found in sorted(vars(module).items()):
            home = getattr(found, "__module__", "") or ""
            if name.startswith("_") or name in NOT_CALLED or not callable(found) or not home.startswith("delassus"):
                continue
            is_own = home == module.__name__ or name in exported(module)
            if not is_own or id(found) in seen or hasattr(found, "py_func"):
                continue  # imported for itself, seen, or a kernel
            if isinstance(found, type) and issubclass(found, BaseException | Enum):
                continue
            seen.add(id(found))
            yield from _of(f"{module.__name__}.{name}", lambda found=found: found)
            if isinstance(found, type):
                for inner, value in sorted(vars(found).items()):
                    if not inner.startswith("_") and isinstance(value, classmethod):
                        yield from _of(
                            f"{module.__name__}.{name}.{inner}", lambda found=found, inner=inner: getattr(found, inner)
                        )
    for name, maker in instances(stock).items():
        for inner in sorted(dir(type(maker()))):
            if inner.startswith("_") or inner in NO_METHODS or not inspect.isfunction(getattr(type(maker()), inner)):
                continue
            yield from _of(f"{name}.{inner}", lambda maker=maker, inner=inner: getattr(maker(), inner))


def exported(module: Any) -> set[str]:
    """Names that a module hands on: `import x as x`, or __all__."""
    tree = ast.parse(Path(module.__file__).read_text())
    given = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    return {alias.name for alias in given if alias.asname == alias.name}


def _of(name: str, get: Callable[[], Any]) -> Iterator[tuple[str, Callable[[], Any], inspect.Signature]]:
    try:
        signature = inspect.signature(get())
    except (TypeError, ValueError):
        return
    yield name, get, signature
