"""What the documentation shows runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page, monkeypatch, capsys):
    """One after the other in one namespace, from the folder the reader is in."""
    monkeypatch.chdir(ROOT)
    names: dict = {}
    for code in BLOCK.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), names)
    assert capsys.readouterr().out
