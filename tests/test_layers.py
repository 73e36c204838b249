"""Modules import only downwards, and optional or slow packages only where they are needed."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "delassus"

# From the ground up: a module may import from its own layer's package and from any layer above it in this list.
LAYERS = [
    "errors", "tables", "given", "status", "law", "spatial", "linalg", "cones", "problem", "io.problems", "residuals",
    "solvers",
    # ---- nothing above this line knows bodies or time ----
    "softening", "shapes", "joints", "collision", "model", "integrators", "dynamics", "builder", "simulation",
    "io.recording", "scenes", "view", "bench", "reproduce", "cli",
]  # fmt: skip


def layer_of(parts):
    """The layer of a module below `delassus`. Files of problems and recordings share a package, not a layer."""
    if parts[0] != "io":
        return parts[0]
    return "io.recording" if {"recording", "Recorder", "Recording"} & set(parts) else "io.problems"


def imports(path):
    """Absolute module names a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_every_module_has_a_layer():
    found = {p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert found - {"__init__", "__main__", "__pycache__", "py.typed"} == {name.partition(".")[0] for name in LAYERS}


def test_imports_point_downwards():
    for path in SOURCE.rglob("*.py"):
        home = layer_of(path.relative_to(SOURCE).with_suffix("").parts)
        if home in ("__init__", "__main__") or path == SOURCE / "io" / "__init__.py":
            continue  # they name what others hold
        for name in imports(path):
            parts = name.split(".")
            if parts[0] != "delassus" or len(parts) == 1 or layer_of(parts[1:]) not in LAYERS:
                continue
            assert LAYERS.index(layer_of(parts[1:])) <= LAYERS.index(home), f"{path.name} imports upwards: {name}"


def test_import_is_light():
    """`import delassus` and the command line must not load the compiler, which takes half a second."""
    heavy = {"numba", "scipy", "h5py", "matplotlib"}
    code = f"import sys, delassus, delassus.cli.main; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
