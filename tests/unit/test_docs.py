"""What the documentation shows runs as it stands."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if BLOCK.search(page.read_text())]
SHOWING = [p for p in sorted((ROOT / "src").rglob("*.py")) if re.search(r"^ *>>> ", p.read_text(), re.MULTILINE)]
"""Modules with examples in their docstrings. Found by their text: importing all the others would take a minute."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page, monkeypatch, capsys):
    """One after the other in one namespace, from the folder the reader is in."""
    monkeypatch.chdir(ROOT)
    names: dict = {}
    for code in BLOCK.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_docstring_examples_print_what_they_say(path):
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted  # none that the collector overlooks
    assert not outcome.failed, f"{name}: see the difference above"
