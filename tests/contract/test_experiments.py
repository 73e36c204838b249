"""Every experiment of the papers: what is promised of all of them. Running one takes up to a minute."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delassus.cli.main import app
from delassus.errors import FileError, SettingsError
from delassus.reproduce import EXPERIMENTS, experiment_in, find_experiment
from delassus.reproduce.experiment import page

DOCS = Path(__file__).parents[2] / "docs" / "reproduce.md"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_is_described(name):
    experiment = EXPERIMENTS[name]
    assert re.match(
        r"(Mangoni, PhD thesis|Heyn et al. 2013|Tsounis et al. 2025|Kleinert et al. 2014), ", experiment.paper
    )
    line = next(line for line in DOCS.read_text(encoding="utf-8").splitlines() if f"| `{name}` |" in line)
    assert experiment.paper in line


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(SettingsError, match="did you mean 'heap-table'"):
        find_experiment("heap-tabel")


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="give another --out"):
        EXPERIMENTS["table-ii"].carry_out(tmp_path / "file" / "page", quick=True)


COIN = '''
"""Heads or tails."""

from pathlib import Path

from delassus.reproduce import Line, Outcome
from delassus.reproduce.experiment import Experiment


def run(folder: Path, quick: bool) -> Outcome:
    tosses = 10 if quick else 1000
    return Outcome([Line("heads", "half", f"{tosses // 2} of {tosses}", True, "half of the tosses")])


EXPERIMENT = Experiment("coin", "Laplace 1812, §1", "A coin that is tossed", run)
'''


def test_an_experiment_is_one_file_and_one_line(tmp_path, monkeypatch):
    """A module written just now, added to the table, is listed, run and written to a page by `delassus reproduce`."""
    (tmp_path / "coin.py").write_text(COIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXPERIMENTS, "coin", experiment_in("coin"))
    listed = CliRunner().invoke(app, ["reproduce"])
    assert "Laplace 1812, §1" in next(line for line in listed.stdout.splitlines() if line.startswith("coin "))
    result = CliRunner().invoke(app, ["reproduce", "coin", "--quick", "--out", str(tmp_path / "page")])
    assert (result.exit_code, "5 of 10" in result.stdout) == (0, True)
    assert "A coin that is tossed" in (tmp_path / "page" / "coin.html").read_text()


def test_a_module_without_an_experiment_is_named():
    with pytest.raises(SettingsError, match=r"reproduce\.experiment has no EXPERIMENT"):
        experiment_in("delassus.reproduce.experiment")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_run_says_what_it_holds_itself_to(name, tmp_path):
    experiment = EXPERIMENTS[name]
    outcome = experiment.carry_out(tmp_path, quick=True)
    judged = [line for line in outcome.lines if line.agrees is not None]
    assert judged
    for line in judged:
        assert line.criterion, line.what
        assert line.agrees or line.why, f"{line.what} differs and nothing is said about it"
    for picture in outcome.pictures:
        assert picture.stat().st_size > 5000
    text = page([(experiment, outcome)])
    assert "<script" not in text
    assert all(path.name in text for path in outcome.pictures)
