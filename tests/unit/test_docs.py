"""What the documentation shows runs as it stands, and what it points to is there."""

import doctest
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
TEXTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "changelog").glob("*.md"))]
PAGES = [page for page in TEXTS if BLOCK.search(page.read_text())]
LINK = re.compile(r"\]\(([^)\s]+)\)")
ARCHITECTURE, NOTEBOOK = ROOT / "docs" / "architecture.md", ROOT / "docs" / "notebook"
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


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page):
    for target in LINK.findall(page.read_text()):
        path = target.partition("#")[0]
        assert ":" in path or not path or (page.parent / path).exists(), f"{page}: {target}"


def test_every_page_of_the_notebook_is_listed():
    listed = set(LINK.findall((NOTEBOOK / "README.md").read_text()))
    assert {page.name for page in NOTEBOOK.glob("*.md")} - {"README.md"} <= listed


def test_the_architecture_is_short_and_names_every_folder():
    text = ARCHITECTURE.read_text()
    lines = text.splitlines()
    assert len(lines) <= 250
    assert not [line for line in lines if len(line) > 120]
    for package in ("delassus", "delassus_papers"):
        home = ROOT / "src" / package
        section = text.partition(f"**`{package}/`**")[2].partition("**`")[0]
        folders = {path.parent.relative_to(home).as_posix() for path in home.rglob("*.py")} - {"."}
        named = set(re.findall(r"^\| `([\w/]+)/` \|", section, re.MULTILINE))
        assert named == folders


def test_a_release_joins_the_fragments(tmp_path):
    """Those of the folder, above the releases before, and none is left."""
    folder = tmp_path / "changelog"
    folder.mkdir()
    for name, text in {"README": "how", "b": "- Fix b.\n", "a": "- Add a.\n"}.items():
        (folder / f"{name}.md").write_text(text)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.1\n\n- All.\n")
    names = runpy.run_path(str(ROOT / "changelog" / "join.py"))
    names["join"](folder, changelog, "0.2 (2026-12-01)")
    assert changelog.read_text() == "# Changelog\n\n## 0.2 (2026-12-01)\n\n- Add a.\n- Fix b.\n\n## 0.1\n\n- All.\n"
    assert [path.name for path in folder.iterdir()] == ["README.md"]


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_docstring_examples_print_what_they_say(path):
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted  # none that the collector overlooks
    assert not outcome.failed, f"{name}: see the difference above"
