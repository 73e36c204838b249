"""Every Python function of the package says what it takes and returns. Kernels are exempt, by their decorator.

mypy's own rule for this (disallow_untyped_defs, the one part of `strict` that pyproject.toml leaves off) knows no
decorators: it would want annotations on every kernel, whose types Numba infers and checks by itself, or let whole files
go. So the rule is kept here; what mypy then finds inside the functions is up to mypy."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

COMPILED = {"njit", "intrinsic", "cfunc"}
"""Decorators of Numba behind which no Python runs; functions inside such a function write its instructions."""


def is_compiled(function: ast.FunctionDef) -> bool:
    names = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return any(isinstance(name, ast.Name) and name.id in COMPILED for name in names)


def without_annotation(function: ast.FunctionDef) -> list[str]:
    """Arguments, and "return", that lack one. As for mypy, __init__ with an annotated argument returns None unsaid."""
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
    missing = [x.arg for x in given if x.annotation is None and x.arg not in ("self", "cls")]
    says_nothing = function.returns is None
    if says_nothing and not (function.name == "__init__" and any(x.annotation for x in given)):
        missing.append("return")
    return missing


def untyped(tree: ast.AST) -> list[str]:
    """line, name and missing annotations of every function of a module, methods and inner functions too."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_compiled(node):
                continue
            if missing := without_annotation(node):
                found.append(f"{node.lineno} {node.name}: {', '.join(missing)}")
        found += untyped(node)
    return found


def rooms() -> list[Path]:
    """What lies in the core, and the package beside it as one room."""
    inside = (p for p in (SOURCE / "delassus").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists())
    return [*sorted(inside), SOURCE / "delassus_papers"]


@pytest.mark.parametrize("room", rooms(), ids=lambda p: p.name)
def test_functions_say_what_they_take_and_return(room):
    files = [room] if room.suffix else sorted(room.rglob("*.py"))
    found = [f"{p.relative_to(SOURCE)}:{line}" for p in files for line in untyped(ast.parse(p.read_text()))]
    assert not found, "\n".join(found)


def unquoted(tree: ast.Module) -> list[str]:
    """Annotations that would be looked up when the function is defined, of names that only type checkers import."""
    if any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in tree.body):
        return []
    checked = [n for n in tree.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    names = {a.asname or a.name for n in checked for m in ast.walk(n) if isinstance(m, ast.ImportFrom) for a in m.names}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            a = node.args
            given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
            for annotation in [*(x.annotation for x in given), node.returns]:
                used = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)} if annotation else set()
                found += [f"{node.lineno} {node.name}: {name}" for name in sorted(used & names)]
    return found


def test_names_for_type_checkers_only_are_quoted():
    """Inside a function such a mistake would show only when that function runs."""
    files = sorted(SOURCE.rglob("*.py"))
    found = [f"{p.relative_to(SOURCE)}:{line}" for p in files for line in unquoted(ast.parse(p.read_text()))]
    assert not found, "\n".join(found)
    guarded = "if TYPE_CHECKING:\n  from a import B\ndef f(x: B, y: 'B') -> None: ..."
    assert unquoted(ast.parse(guarded)) == ["3 f: B"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(a: int) -> int: ...", []),
        ("def f(a, *, b: int) -> int: ...", ["1 f: a"]),
        ("def f(): ...", ["1 f: return"]),
        ("class A:\n  def __init__(self, a: int): ...\n  def g(self): ...", ["3 g: return"]),
        ("def f(a: int) -> None:\n  def g(b) -> None: ...", ["2 g: b"]),
        ("@njit(cache=True)\ndef f(a): ...\n@njit\ndef g(a): ...", []),
        ("@intrinsic\ndef f(a):\n  def generate(b): ...", []),
        ("@lru_cache\ndef f(*a): ...", ["2 f: a, return"]),
    ],
)
def test_the_rule_sees_what_it_should(code, expected):
    assert untyped(ast.parse(code)) == expected
