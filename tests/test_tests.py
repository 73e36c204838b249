"""Every test can fail: it asserts something, itself or in a helper, and not only if something else happens to be so.

What no reader of the syntax sees (a loop over nothing, a bound that everything meets) is found by breaking the code."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
EXPECTING = ("raises", "warns", "fail")  # of pytest


def last_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_checked(call: ast.Call) -> bool:
    """subprocess.run(…, check=True): the other process asserts."""
    return any(k.arg == "check" and isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords)


def asserts(node: ast.AST, helpers: set[str]) -> bool:
    """Does it assert anywhere, by the statement, pytest, numpy.testing or one of the helpers?"""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            return True
        if isinstance(inner, ast.Call):
            name = last_name(inner)
            if name in EXPECTING or name.startswith("assert_") or name in helpers or is_checked(inner):
                return True
    return False


def surely_asserts(body: list[ast.stmt], helpers: set[str]) -> bool:
    """Does one of these statements assert whatever its conditions are? Loops are taken to run."""
    for statement in body:
        if isinstance(statement, ast.If):
            found = surely_asserts(statement.body, helpers) and surely_asserts(statement.orelse, helpers)
        elif isinstance(statement, ast.For | ast.While):
            found = surely_asserts(statement.body, helpers)
        elif isinstance(statement, ast.Try):
            found = surely_asserts([*statement.body, *statement.orelse, *statement.finalbody], helpers)
        elif isinstance(statement, ast.With):
            found = any(asserts(item, helpers) for item in statement.items) or surely_asserts(statement.body, helpers)
        else:
            found = not isinstance(statement, ast.FunctionDef | ast.ClassDef) and asserts(statement, helpers)
        if found:
            return True
    return False


def weak_tests(trees: dict[str, ast.Module]) -> list[str]:
    """Names of tests that may pass without having looked at anything."""
    functions = [
        (file, node) for file, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    helpers: set[str] = set()
    while True:
        more = {f.name for _, f in functions if not f.name.startswith("test_") and asserts(f, helpers)}
        if more <= helpers:
            break
        helpers |= more
    return [
        f"{file}: {test.name}"
        for file, test in functions
        if test.name.startswith("test_") and not surely_asserts(test.body, helpers)
    ]


def test_every_test_can_fail():
    trees = {str(p.relative_to(TESTS)): ast.parse(p.read_text()) for p in sorted(TESTS.rglob("*.py"))}
    assert len(trees) > 50
    assert weak_tests(trees) == []


@pytest.mark.parametrize(
    ("code", "is_weak"),
    [
        ("def test_a():\n  f()", True),
        ("def test_a():\n  if f():\n    assert g()", True),
        ("def test_a():\n  if f():\n    assert g()\n  else:\n    assert h()", False),
        ("def test_a():\n  for x in y:\n    if x:\n      assert x", True),
        ("def test_a():\n  for x in y:\n    assert x", False),
        ("def test_a():\n  with suppress(ValueError):\n    f()", True),
        ("def test_a():\n  with pytest.raises(ValueError):\n    f()", False),
        ("def check(x):\n  assert x\ndef test_a():\n  check(1)", False),
        ("def test_a():\n  def check(x):\n    assert x\n  f()", True),
        ("def test_a():\n  subprocess.run(code, check=True)", False),
        ("def test_a():\n  np.testing.assert_allclose(f(), 1.0)", False),
    ],
)
def test_weak_tests_are_told_from_others(code, is_weak):
    assert bool(weak_tests({"file": ast.parse(code)})) == is_weak
