"""Modules import only downwards, between packages and inside them, and slow packages only where they are needed."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "delassus"
BESIDE = SOURCE.with_name("delassus_papers")

# From the ground up: a module may import from its own layer's package and from any layer above it in this list.
LAYERS = [
    "errors",
    "tables",
    "status",
    "law",
    "kernel",
    "waiting",
    "spatial",
    "arguments",
    "linalg",
    "cones",
    "problem",
    "io.problems",
    "foreign",
    "residuals",
    "solvers",
    # ---- nothing above this line knows bodies or time ----
    "softening",
    "shapes",
    "joints",
    "fem",
    "forces",
    "collision",
    "model",
    "integrators",
    "dynamics",
    "builder",
    "simulation",
    "importers",
    "io.recording",
    "scenes",
    "view",
    "world",
    "envs",
    "cli",
    "bench",
]

# Inside a package: what each of its rooms (a folder or a file) may import of the others. Rooms that are not named here
# fail the test, so that a new one is put in its place; `__init__` may name what any of them holds.
WORDS = {"settings", "method"}  # what whoever writes a solver needs
FAMILIES = {"splitting", "newton", "interior", "gradient", "active_set", "admm", "double_double", "continuation"}
SHARED_BY_COMMANDS = {"ahead", "command", "console", "files", "options", "tables"}
COMMANDS = {"compile", "info", "render", "run", "scenes", "solve", "solvers", "view"}
ROOMS: dict[str, dict[str, set[str]]] = {
    "solvers": {
        "settings": set(),
        "method": {"settings"},
        "solution": set(),
        "parts": WORDS,
        **dict.fromkeys(FAMILIES, WORDS | {"parts"}),
        "driver": WORDS | {"parts"},
        "compose": WORDS | {"driver"},
        "modifiers": WORDS | {"parts", "driver", "compose"},
        "table": WORDS | FAMILIES | {"parts", "driver", "compose", "modifiers"},
        "auto": WORDS | FAMILIES | {"parts", "driver", "table", "solution"},
        "plan": WORDS | FAMILIES | {"driver", "table", "auto"},
        "run": WORDS | {"parts", "driver", "table", "auto", "solution", "plan"},
        "solve_problem": WORDS | {"driver", "solution", "plan", "run"},
        "solve_many": WORDS | {"parts", "driver", "solution", "plan", "solve_problem"},
    },
    "linalg": {
        "blas_threads": set(),
        "dense_product": set(),
        "pairs": set(),
        "factor": {"blas_threads", "dense_product", "pairs"},
        "operators": {"blas_threads", "dense_product", "pairs", "factor"},
        "iterative": {"dense_product", "pairs", "operators", "factor"},
    },
    "collision": {
        "instances": set(),
        "layout": set(),
        "machine": set(),
        "contacts": {"machine"},
        "work": set(),
        "parts": {"instances", "layout"},
        "placement": {"layout"},
        "broad": {"layout", "machine", "work"},
        "narrow": {"layout", "machine", "contacts", "work", "placement", "broad"},
        "find": {"layout", "machine", "contacts", "work", "placement", "broad", "narrow"},
        "arrays": {"layout", "machine", "instances", "parts", "work", "broad", "narrow", "find"},
        "sweep": {"layout", "placement", "arrays", "broad", "narrow", "detect"},
        "detect": {"layout", "contacts", "work", "find", "arrays"},
        "surface": {"layout", "machine", "contacts", "instances", "placement", "arrays", "narrow", "detect"},
    },
    "fem": {
        "kinds": set(),
        "check": {"kinds"},
        "surface": {"kinds"},
        "mesh": {"kinds", "check", "surface"},
        "solids": {"check", "mesh"},
        "stretch": set(),
        "laws": {"stretch"},
        "elastic": {"laws"},
        "section": {"elastic"},
        "pattern": set(),
        "assembly": set(),
        "group": {"stretch", "laws", "assembly"},
        "elements": {"kinds", "mesh", "elastic", "pattern", "group"},
        "statics": {"check", "elements"},
        "vibration": {"elements", "statics"},
        "files": {"kinds", "mesh", "elements"},
    },
    "io": {
        "place": set(),
        "files": {"place"},
        "fclib": {"place", "files"},
        "problems": {"fclib", "place", "files"},
        "recording": {"fclib", "place", "files", "problems"},
    },
    "cli": {
        **dict.fromkeys(SHARED_BY_COMMANDS, SHARED_BY_COMMANDS),
        **dict.fromkeys(COMMANDS, SHARED_BY_COMMANDS),  # no command imports another
        "main": {"command", "console"},  # and those it runs by name
    },
    "envs": {
        "task": set(),
        "tasks": {"task"},  # one file each, which import no other
        "table": {"task", "tasks"},
        "episodes": {"task"},
        "extra": set(),
        "single": {"task", "episodes", "extra"},
        "vector": {"task", "episodes", "extra", "single"},
    },
}

PAPERS: dict[str, dict[str, set[str]]] = {
    "criterion": set(),
    "claim": {"criterion"},
    "papers": set(),
    "outcome": {"claim"},
    "experiment": {"claim", "outcome"},
    "pages": {"criterion", "claim", "papers", "outcome", "experiment"},
    "solvers": set(),
    "measure": {"criterion", "claim", "outcome", "experiment", "solvers"},
    "experiments": {"criterion", "claim", "outcome", "experiment", "measure", "solvers"},
    "table": {"experiment"},  # and experiments by name
    "command": {"papers", "pages", "table"},
}
"""What each room of `delassus_papers` may import of its neighbours."""

# What `delassus.io` hands out without being its home.
HANDED_OUT = {"delassus.io.Recorder": "delassus.io.recording", "delassus.io.Recording": "delassus.io.recording"}

# Only to say of which type an argument is: these are handed the arrays that are made for them.
TYPES_ONLY = {("collision.find", "collision.arrays")}


class Import(NamedTuple):
    """`module` as seen from above the package: "solvers.driver"; "" where the package itself is imported."""

    module: str
    is_for_types: bool  # under `if TYPE_CHECKING`


def modules(source):
    """The file of each module of the package, by its name below it: "solvers.driver", "solvers" for its `__init__`."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name, path, known, package="delassus"):
    """What a module imports of its own package, wherever in the file, relative imports included."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for branch in node.body
        for inner in ast.walk(branch)
    }
    home = [package, *name.split(".")] if name else [package]
    if path.stem != "__init__":
        home.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*home[: len(home) - node.level + 1], *filter(None, [node.module])])
            base = base if node.level else node.module
            whole = [f"{base}.{alias.name}" for alias in node.names]
            found = [
                name if name.removeprefix(f"{package}.") in known else HANDED_OUT.get(name, base) for name in whole
            ]
        else:
            continue
        for target in found:
            if target == package or target.startswith(f"{package}."):
                yield Import(target.removeprefix(package).removeprefix("."), id(node) in guarded)


def layer_of(name):
    """The layer of a module. Files of problems and recordings share a package, not a layer."""
    first, *rest = name.split(".")
    if first != "io":
        return first
    return "io.recording" if rest[:1] == ["recording"] else "io.problems"


def upward_imports(source, layers=LAYERS, package="delassus"):
    """Sentences about imports from a layer to one above it."""
    known = modules(source)
    for name, path in known.items():
        if name in ("", "__main__", "io"):
            continue  # they name what others hold
        for target in imports(name, path, known, package):
            above = target.module and layers.index(layer_of(target.module)) > layers.index(layer_of(name))
            if above:
                yield f"{name} imports upwards: {target.module}"


def sideways_imports(source, rooms=ROOMS, types_only=TYPES_ONLY, package="delassus"):
    """Sentences about imports inside a package that its rooms do not allow."""
    known = modules(source)
    for name, path in known.items():
        parent, *rest = name.split(".")
        if parent not in rooms or not rest:
            continue
        room = rest[0]
        if room not in rooms[parent]:
            yield f"{name}: say in ROOMS what {room!r} may import of {parent}"
            continue
        for target in imports(name, path, known, package):
            first, *inner = target.module.split(".")
            if first != parent or inner[:1] == [room]:
                continue
            other = inner[0] if inner else "__init__"
            may = other in rooms[parent][room]
            if target.is_for_types and (f"{parent}.{room}", f"{parent}.{other}") in types_only:
                may = True
            if not may:
                yield f"{name} imports its neighbour {target.module}"


def test_every_module_has_a_layer():
    found = {p.stem if p.is_file() else p.name for p in SOURCE.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert found - {"__init__", "__main__", "__pycache__", "py.typed"} == {name.partition(".")[0] for name in LAYERS}


def test_imports_point_downwards():
    assert list(upward_imports(SOURCE)) == []


def test_rooms_of_a_package_keep_to_themselves():
    assert list(sideways_imports(SOURCE)) == []


def test_rooms_have_an_order():
    """What may import each other would be one room."""
    for package, may in ROOMS.items():
        left = {room: set(others) - {room} for room, others in may.items() if room not in SHARED_BY_COMMANDS}
        while left:
            free = {room for room, others in left.items() if not others & set(left)}
            assert free, f"{package}: {sorted(left)} import each other in a circle"
            left = {room: others for room, others in left.items() if room not in free}


def test_rules_name_rooms_that_exist():
    for package, may in ROOMS.items():
        found = {p.stem for p in (SOURCE / package).iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
        assert set(may) == found - {"__init__"}, package


def test_rooms_of_the_papers_keep_to_themselves():
    known = modules(BESIDE)
    found = {p.stem for p in BESIDE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert set(PAPERS) == found - {"__init__"}
    for name, path in known.items():
        room = name.partition(".")[0]
        for target in imports(name, path, known, BESIDE.name):
            other = target.module.partition(".")[0]
            assert not room or other == room or other in PAPERS[room], f"{name} imports its neighbour {target.module}"


def test_experiments_do_not_import_each_other():
    known = modules(BESIDE)
    experiments = [name for name in known if name.startswith("experiments.")]
    assert experiments
    for name in experiments:
        others = [target.module for target in imports(name, known[name], known, BESIDE.name)]
        assert not [other for other in others if other.startswith("experiments.")], name


def test_the_core_imports_nothing_of_the_papers():
    """It finds their lines by name, where they are there."""
    for name, path in modules(SOURCE).items():
        assert list(imports(name, path, {}, BESIDE.name)) == [], name


def test_the_core_works_without_the_papers():
    """Solving and listing neither need nor load them, and a solver that is not there is not in the table."""
    code = f"""
        import sys
        if {{absent}}: sys.modules[{BESIDE.name!r}] = None
        import delassus
        from delassus.cli.main import app
        problem = delassus.Problem.dual([[2, 0, 0], [0, 2, 0], [0, 0, 2]], [-1, 0.1, 0], mu=[0.5])
        assert delassus.solve(problem, "nbgs").converged and delassus.solve(problem).converged
        assert {{absent}} or {BESIDE.name!r} not in sys.modules
        assert ("ipm-mangoni" in delassus.SOLVERS) != {{absent}}
        app(["--help"])
    """
    for absent in (False, True):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(code.format(absent=absent))],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ("the papers' experiments" in done.stdout) != absent


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("low.a", "from pack.high import b", "low.a imports upwards: high.b"),
        ("low.a", "import pack.high.b", "low.a imports upwards: high.b"),
        ("low.a", "from ..high.b import thing", "low.a imports upwards: high.b"),
        ("low.a", "def f():\n    from pack.high.b import thing", "low.a imports upwards: high.b"),
        ("high.red.x", "from pack.high.blue.y import thing", "high.red.x imports its neighbour high.blue.y"),
        ("high.red.x", "from ..blue import y", "high.red.x imports its neighbour high.blue.y"),
        ("high.red.x", "from . import z\nfrom .. import b\nfrom pack.low import a", None),
        ("high.red.x", "from pack.high import thing", "high.red.x imports its neighbour high"),
        ("high.new", "", "high.new: say in ROOMS what 'new' may import of high"),
        (
            "high.red.x",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.high.green import thing",
            None,
        ),
        ("high.red.x", "from pack.high.green import thing", "high.red.x imports its neighbour high.green"),
    ],
)
def test_the_rules_find_what_breaks_them(tmp_path, module, line, complaint):
    """On a small tree with one import in it that is wrong, or right."""
    names = ["low.__init__", "low.a", "high.__init__", "high.b", "high.green", "high.red.__init__", "high.red.x"]
    names += ["high.red.z", "high.blue.__init__", "high.blue.y", "__init__", module]
    for name in names:
        path = tmp_path.joinpath("pack", *name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line if name == module else "")
    rooms = {"high": {"b": set(), "green": {"red", "blue"}, "red": {"b"}, "blue": {"b"}}}
    source = tmp_path / "pack"
    found = [
        *upward_imports(source, ["low", "high"], "pack"),
        *sideways_imports(source, rooms, {("high.red", "high.green")}, "pack"),
    ]
    assert found == ([] if complaint is None else [complaint])


def test_import_is_light():
    """`import delassus` and the command line must not load the compiler, which takes half a second."""
    heavy = {"numba", "scipy", "h5py", "matplotlib"}
    code = f"import sys, delassus, delassus.cli.main; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
