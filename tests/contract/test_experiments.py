"""Every experiment of the papers: what is promised of all of them. Running one takes up to a minute."""

import re
from pathlib import Path

import pytest

from delassus.errors import FileError, SettingsError
from delassus.reproduce import EXPERIMENTS, find_experiment
from delassus.reproduce.experiment import page

DOCS = Path(__file__).parents[2] / "docs" / "reproduce.md"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_is_described(name):
    experiment = EXPERIMENTS[name]
    assert re.match(r"00[0-4] ", experiment.paper)
    assert f"`{name}`" in DOCS.read_text(encoding="utf-8")


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(SettingsError, match="did you mean 'heap-table'"):
        find_experiment("heap-tabel")


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="give another --out"):
        EXPERIMENTS["table-ii"].carry_out(tmp_path / "file" / "page", quick=True)


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
