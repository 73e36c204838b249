"""Without the extra `figures` all works but pictures, and whoever asks for one is told beforehand what to install."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from delassus.errors import SettingsError
from delassus.view import extra

ROOT = Path(__file__).parents[2]
HIDDEN = """
import sys
for name in ("matplotlib", "plotly", "PIL", "pyvista"):
    sys.modules[name] = None
from delassus.view import extra
extra.is_installed = lambda: False
import delassus.cli.run.report as report
report.is_installed = lambda: False
from delassus.cli.main import run
run()
"""


def test_the_sentence_names_an_extra_that_has_what_is_needed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {line.partition(">")[0] for line in extras["figures"]} == set(extra._NEEDED)
    assert "delassus[figures]" in extra.SENTENCE


def test_a_run_without_figures(tmp_path):
    words = ["run", "bouncing-ball", "--steps", "3", "--out", tmp_path / "run", "--json", tmp_path / "run.json"]
    done = subprocess.run([sys.executable, "-c", HIDDEN, *map(str, words)], capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    assert "pip install 'delassus[figures]'" in done.stdout
    assert json.loads((tmp_path / "run.json").read_text())["figures"] == []
    assert not list((tmp_path / "run").glob("*.png"))


def test_who_wants_a_picture_is_told_before_the_work(tmp_path, monkeypatch):
    from delassus.world.history import Series

    monkeypatch.setattr(extra, "is_installed", lambda: False)
    with pytest.raises(SettingsError, match="delassus\\[figures\\]"):
        Series("angle", "rad", np.zeros(2), np.zeros(2)).plot()
    problem = str(ROOT / "tests" / "data" / "OneContact-1c.hdf5")
    for words in (["solve", problem, "--plot", str(tmp_path / "a.png")], ["bench", "quick"], ["reproduce", "all"]):
        done = subprocess.run(
            [sys.executable, "-c", HIDDEN, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120
        )
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "pip install 'delassus[figures]'" in done.stderr, words
