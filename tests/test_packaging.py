"""What is imported is declared, the version is said once, and the files for other people's machines are valid."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import delassus

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

IMPORTED_AS = {"pin": "pinocchio", "usd-core": "pxr"}
"""Distributions whose package has another name."""
COMES_WITH = {"llvmlite": "numba", "vtkmodules": "pyvista", "PIL": "matplotlib"}
"""Packages that a declared one brings along, in the version that it needs."""
NOT_ON_PYPI = {"siconos"}
"""Found at run time by an interpreter of its own (bench/peers/siconos.py); its home is conda."""


def declared(requirements: list[str]) -> set[str]:
    """Names of packages as imported."""
    names = [re.match(r"[\w-]+", line)[0] for line in requirements]
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def third_party(path: Path) -> dict[str, bool]:
    """Packages that a file imports from elsewhere, and whether when it is loaded (True) or only inside a function."""
    found: dict[str, bool] = {}

    def visit(node: ast.AST, at_load: bool) -> None:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        for name in names:
            package = name.partition(".")[0]
            if package not in sys.stdlib_module_names and package not in ("delassus", "delassus_papers"):
                found[package] = found.get(package, False) or at_load
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.iter_child_nodes(node):
            visit(child, at_load and not is_function and not is_for_types)

    visit(ast.parse(path.read_text()), True)
    return found


def test_imports_are_declared():
    """What a module needs to be loaded is a dependency on every system; the rest may be an extra or have a marker."""
    always = declared([line for line in PROJECT["dependencies"] if ";" not in line])
    somewhere = declared(PROJECT["dependencies"])
    extras = set().union(*(declared(lines) for lines in PROJECT["optional-dependencies"].values()))
    seen: set[str] = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for package, at_load in third_party(path).items():
            package = COMES_WITH.get(package, package)
            seen.add(package)
            if package in NOT_ON_PYPI:
                assert not at_load, f"{path.relative_to(ROOT)} cannot be loaded without {package}"
                continue
            assert package in (always if at_load else somewhere | extras), (
                f"{path.relative_to(ROOT)} imports {package}, which pyproject.toml does not declare"
            )
    assert always <= seen, f"declared, but imported nowhere: {always - seen}"


def test_a_missing_extra_is_named(monkeypatch):
    from delassus.errors import SettingsError
    from delassus.linalg.iterative.multigrid import Multigrid

    monkeypatch.setitem(sys.modules, "pyamg", None)
    with pytest.raises(SettingsError, match=r"pip install 'delassus\[multigrid\]'"):
        Multigrid(None)
    assert "multigrid" in PROJECT["optional-dependencies"]


def test_nothing_imports_coal():
    """It is a peer of the tests: cylinders, hulls and meshes collide without it."""
    assert not any("coal" in line for line in PROJECT["dependencies"])
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*(import|from) coal\b", path.read_text(), re.MULTILINE), path


def test_version_is_said_once():
    assert "version" in PROJECT["dynamic"]
    named = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", *(ROOT / "src").rglob("*.py")]
    version = re.compile(rf"[\"' ]{re.escape(delassus.__version__)}[\"'\n]")
    assert [p.relative_to(ROOT).as_posix() for p in named if version.search(p.read_text())] == [
        "src/delassus/__init__.py"
    ]


def test_types_are_shipped():
    assert (ROOT / "src" / "delassus" / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def read_yaml(name: str):
    import yaml  # comes with yamllint

    return yaml.safe_load((ROOT / name).read_text())


def test_hosted_ci_runs_what_is_run_by_hand():
    """Every Python that is promised runs all of `.ci/run`; macOS and Windows install the package and use it."""
    jobs = read_yaml(".github/workflows/ci.yml")["jobs"]
    promised = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    assert jobs["everything"]["strategy"]["matrix"]["python"] == promised
    assert commands(jobs["everything"]) == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert {s.partition("-")[0] for s in jobs["smoke"]["strategy"]["matrix"]["system"]} == {"macos", "windows"}
    scripts = [word for line in commands(jobs["smoke"]) for word in line.split() if word.endswith(".py")]
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts)


def commands(job: dict) -> list[str]:
    """Shell lines of a job's steps."""
    return [step["run"] for step in job["steps"] if "run" in step]


def test_hosted_ci_is_said_to_be_unrun():
    """To be taken out, with the words, by whoever sees it run."""
    assert (ROOT / ".github/workflows/ci.yml").read_text().startswith("# Never run so far")
    assert "never been run" in (ROOT / "CONTRIBUTING.md").read_text()


def test_hooks_before_a_commit_are_those_of_ci():
    """Each tool that CI runs for style is a hook, none needs the network, and files that hooks name are there."""
    repos = read_yaml(".pre-commit-config.yaml")["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    entries = [hook["entry"] for hook in repos[0]["hooks"]]
    script = (ROOT / ".ci" / "run").read_text()
    for tool in ("ruff check", "ruff format", "mypy", "yamllint"):
        assert any(f".venv/bin/{tool}" in entry for entry in entries)
        assert f".venv/bin/{tool}" in script
    for word in " ".join(entries).split():
        assert not word.startswith("tests/") or (ROOT / word).is_file(), word


def test_readme_command_is_what_ci_runs():
    line = next(line for line in (ROOT / ".ci" / "run").read_text().splitlines() if "pytest" in line)
    assert line in (ROOT / "README.md").read_text()


def test_citation_has_what_the_format_requires():
    """Citation File Format 1.2.0: these four keys; licence and words as in pyproject.toml."""
    about = read_yaml("CITATION.cff")
    assert about["cff-version"] == "1.2.0"
    assert about["message"]
    assert about["title"].startswith("Delassus")
    assert about["authors"]
    assert about["license"] == PROJECT["license"]
