"""Every experiment of the papers: what is promised of all of them. Running one takes up to a minute."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delassus.cli.main import app
from delassus.errors import FileError, SettingsError
from delassus_papers.claim import Claim, Found, NotTested
from delassus_papers.criterion import AGREES, BETTER, DIFFERS, LESS, MORE, NOT_TESTED, Between, Near, Order, Same
from delassus_papers.experiment import Experiment, Findings
from delassus_papers.outcome import stored
from delassus_papers.pages import headline, is_within, results_shown, write_pages
from delassus_papers.papers import PAPERS
from delassus_papers.table import EXPERIMENTS, experiment_in

DOCS = Path(__file__).parents[2] / "docs" / "reproduce.md"


CLAIMS = [(name, claim) for name, experiment in EXPERIMENTS.items() for claim in experiment.claims]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_is_described(name):
    experiment = EXPERIMENTS[name]
    assert set(experiment.papers) <= set(PAPERS)
    keys = [claim.key for claim in experiment.claims]
    assert len(set(keys)) == len(keys)
    assert any(f"| `{name}` |" in line for line in DOCS.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}:{claim.key}" for name, claim in CLAIMS])
def test_the_papers_own_numbers_pass_and_wrong_ones_fail(name, claim):
    criterion = claim.criterion
    assert criterion.judge(criterion.printed) == AGREES
    assert criterion.wrong
    for wrong in criterion.wrong:
        assert criterion.judge(wrong) != AGREES, wrong
    assert criterion.words
    assert criterion.shown(criterion.printed)
    assert claim.says
    assert claim.quantity
    assert re.match(r"(Table|Figure|§|Abstract)", claim.place), claim.place
    assert not claim.changed or re.match(r"\d{4}-\d\d-\d\d: ", claim.changed)


@pytest.mark.parametrize("key", PAPERS)
def test_every_table_and_figure_of_results_is_shown_or_says_why_not(key):
    shown, paper = results_shown(key, EXPERIMENTS), PAPERS[key]
    assert set(shown) <= set(paper.results)
    assert set(paper.results) <= set(shown) | set(paper.not_tested)
    assert not set(shown) & set(paper.not_tested)
    places = [c.place for n, x in EXPERIMENTS.items() for c in x.claims if (c.paper or x.papers[0]) == key]
    assert all(any(is_within(place, known) for known in paper.results) for place in places), places


def test_a_place_is_not_the_beginning_of_another():
    within = [
        ("§VI-C", "§VI"),
        ("Table 5.3", "Table 5.3"),
        ("Figure 9, left", "Figure 9"),
        ("§4.5.2", "§4.5"),
        ("§5.2.1, figure 8", "Figure 8"),
        ("§5.2.1, figure 8", "§5.2.1"),
    ]
    apart = [("§VII-A", "§VI"), ("§VI", "§V"), ("Figure 11", "Figure 1"), ("Table 5.3", "Table 5"), ("§4.11", "§4.1")]
    assert all(is_within(*pair) for pair in within)
    assert not any(is_within(*pair) for pair in apart)


def test_criteria_have_two_sides():
    assert Near(10.0, 1.2, LESS).judge(5.0) == BETTER
    assert Near(10.0, 1.2, LESS).judge(15.0) == DIFFERS
    assert Near(10.0, 1.2, MORE).judge(15.0) == BETTER
    assert Near(10.0, 1.2).judge(5.0) == DIFFERS
    assert Between(-float("inf"), 5.0, 4.0).judge(-100.0) == AGREES
    assert Between(1.0, 5.0, 4.0, LESS).judge(0.5) == BETTER
    assert Order(("a", "b"), 2.0).judge({"a": 1.0, "b": 1.9}) == DIFFERS
    assert Order(("a", "b")).judge({"a": 1.0, "b": float("inf")}) == AGREES
    assert Order(("a", "b")).judge({"a": float("inf"), "b": float("inf")}) == DIFFERS
    assert Same(True, (False,)).judge(False) == DIFFERS
    for bad in (lambda: Near(10.0, 1.0), lambda: Between(-float("inf"), float("inf"), 0.0), lambda: Same(1, ())):
        with pytest.raises(ValueError, match=":"):
            bad()


def _coin(found):
    claims = (Claim("heads", "§1", "half of the tosses are heads", "part of heads", Near(0.5, 1.1)),)
    return Experiment(
        "coin", ("heyn",), "A coin", ("Figure 3",), claims, lambda folder, quick: Findings({"heads": found})
    )


def test_a_difference_without_evidence_is_unexplained(tmp_path):
    def why(found):
        return _coin(found).carry_out(tmp_path, quick=True).lines[0]

    assert why(Found(0.7)).why == "unexplained"
    assert why(Found(0.7, why="wind")).why == "unexplained; suspected: wind"
    assert why(Found(0.7, why="wind", evidence="0.5 indoors")).why == "wind; measured: 0.5 indoors"
    assert (why(Found(0.5)).why, why(Found(0.5)).verdict) == ("", AGREES)
    # there is nothing to explain, but a reader may want to know
    assert why(Found(0.5, why="wind", evidence="0.5 indoors")).why == "agrees; beside it: wind; measured: 0.5 indoors"
    assert why(NotTested("too few tosses")).verdict == NOT_TESTED


def test_a_sentence_without_a_number_gets_none(tmp_path):
    """What "much faster" is held against is ours, and is not shown as the paper's."""
    claims = (Claim("heads", "§1", "mostly heads", "part", Between(0.5, 1.0, 0.5, in_words=True)),)
    coin = Experiment("coin", ("heyn",), "A coin", (), claims, lambda folder, quick: Findings({"heads": Found(0.7)}))
    line = coin.carry_out(tmp_path, quick=True).lines[0]
    assert (line.printed, line.verdict) == ("in words only", AGREES)


def test_findings_answer_every_claim():
    with pytest.raises(SettingsError, match="coin: claims and findings differ in heads"):
        _coin(Found(0.5)).judged(Findings({}), quick=True, seconds=0.0)


def test_pages_keep_what_was_run_before(tmp_path, monkeypatch):
    """Two experiments in two runs, the second one interrupted: both files stay, and so does the first one's row."""
    first = _coin(Found(0.7, why="a <bent> coin"))
    first.carry_out(tmp_path, quick=True)
    write_pages(tmp_path, {"coin": first})

    def interrupted(folder, quick):
        raise KeyboardInterrupt

    second = Experiment("dice", ("heyn",), "A die", (), (), interrupted)
    with pytest.raises(KeyboardInterrupt):
        second.carry_out(tmp_path, quick=True)
    write_pages(tmp_path, {"coin": first, "dice": second})
    page, index = (tmp_path / "heyn.html").read_text(), (tmp_path / "index.html").read_text()
    assert "a &lt;bent&gt; coin" in page
    assert "0 of 1 claims agree, 1 differs" in page
    assert "A coin" in index
    assert "Not run yet: dice" in index
    assert [outcome.experiment for outcome in stored(tmp_path)] == ["coin"]


def test_a_damaged_outcome_is_named(tmp_path):
    (tmp_path / "coin.outcome.json").write_text("{")
    with pytest.raises(FileError, match=r"coin\.outcome\.json: not an outcome"):
        stored(tmp_path)


def test_headline_counts_verdicts():
    lines = [
        _coin(found).judged(Findings({"heads": found}), True, 0.0).lines[0]
        for found in (Found(0.5), Found(0.5), Found(0.9), NotTested("x"))
    ]
    assert headline(lines) == "2 of 4 claims agree, 1 differs, 1 not tested"


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(SettingsError, match="did you mean 'heap-table'"):
        EXPERIMENTS.find("heap-tabel")


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="give another --out"):
        EXPERIMENTS["table-ii"].carry_out(tmp_path / "file" / "page", quick=True)


def test_a_folder_that_cannot_be_written_to_is_named_before_the_work(tmp_path, monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    began = []
    coin = Experiment("coin", ("heyn",), "A coin", (), (), lambda folder, quick: began.append(folder))
    monkeypatch.setattr("delassus_papers.outcome.open", denied, raising=False)
    with pytest.raises(FileError, match=r"cannot be written to \(Permission denied\): give another --out"):
        coin.carry_out(tmp_path, quick=True)
    assert began == []


def test_a_picture_that_cannot_be_written_is_named(tmp_path):
    def draws(folder, quick):
        (folder / "no" / "such.png").write_bytes(b"")

    with pytest.raises(FileError, match=r"such\.png: cannot be written \(No such file"):
        Experiment("coin", ("heyn",), "A coin", (), (), draws).carry_out(tmp_path, quick=True)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_of_one_experiment_do_not_share_a_folder(tmp_path):
    """The second is told at once; another experiment may, and the same one may when the first has ended."""
    pytest.importorskip("fcntl")
    told = []

    def meanwhile(folder, quick):
        with pytest.raises(FileError, match="another run of coin is writing there"):
            coin.carry_out(folder, quick)
        other.carry_out(folder, quick)
        told.append(folder)
        return Findings({})

    other = Experiment("dice", ("heyn",), "A die", (), (), lambda folder, quick: Findings({}))
    coin = Experiment("coin", ("heyn",), "A coin", (), (), meanwhile)
    coin.carry_out(tmp_path, quick=True)
    coin.carry_out(tmp_path, quick=True)
    assert len(told) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coin.outcome.json", "dice.outcome.json"]


COIN = '''
"""Heads or tails."""

from pathlib import Path

from delassus_papers.claim import Claim, Fact, Found
from delassus_papers.criterion import Near
from delassus_papers.experiment import Experiment, Findings

CLAIMS = (Claim("heads", "§1", "half of the tosses are heads", "part of heads", Near(0.5, 1.1)),)


def measure(folder: Path, quick: bool) -> Findings:
    tosses = 10 if quick else 1000
    return Findings({"heads": Found(0.5)}, [Fact("tosses", ours=str(tosses))])


EXPERIMENT = Experiment("coin", ("heyn",), "A coin that is tossed", (), CLAIMS, measure)
'''


def test_an_experiment_is_one_file_and_one_line(tmp_path, monkeypatch):
    """A module written just now, added to the table, is listed, run and written to a page by `delassus reproduce`."""
    (tmp_path / "coin.py").write_text(COIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXPERIMENTS, "coin", experiment_in("coin"))
    listed = CliRunner().invoke(app, ["reproduce"])
    assert "Heyn et al. 2013" in next(line for line in listed.stdout.splitlines() if line.startswith("coin "))
    result = CliRunner().invoke(app, ["reproduce", "coin", "--quick", "--out", str(tmp_path / "page")])
    assert (result.exit_code, "1 of 1 claims agrees" in result.stdout) == (0, True), result.output
    assert "A coin that is tossed" in (tmp_path / "page" / "heyn.html").read_text()


def test_a_module_without_an_experiment_is_named():
    with pytest.raises(SettingsError, match=r"delassus_papers\.experiment has no EXPERIMENT"):
        experiment_in("delassus_papers.experiment")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_run_says_what_it_holds_itself_to(name, tmp_path):
    experiment = EXPERIMENTS[name]
    outcome = experiment.carry_out(tmp_path, quick=True)
    assert any(line.verdict != NOT_TESTED for line in outcome.lines)
    for picture in outcome.pictures:
        assert (tmp_path / picture.name).stat().st_size > 5000
    write_pages(tmp_path, EXPERIMENTS)
    text = (tmp_path / f"{experiment.papers[0]}.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert all(picture.name in text for picture in outcome.pictures)
