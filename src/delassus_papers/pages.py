"""The pages: one per paper and an overview, made from the outcomes that a folder holds."""

import html
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from delassus_papers.claim import Line
from delassus_papers.criterion import AGREES, BETTER, DIFFERS, NOT_TESTED
from delassus_papers.experiment import Experiment
from delassus_papers.outcome import Outcome, Picture, stored, write_whole
from delassus_papers.papers import PAPERS, Paper

RULES = (
    "A claim is a sentence of a paper with its place, a measured quantity, and a criterion that the paper's own number "
    "passes. Criteria have two sides: better than the paper is <em>differs (better)</em>, not <em>agrees</em>. One "
    "that was changed after a run says when and why.",
    "The published method with its published settings is one column and is what the verdict is about; our best is "
    "another. Times are times to a common accuracy, never for a number of iterations. Quick and full runs make the "
    "same claims; one that cannot be tested at quick size says <em>not tested</em>, and so does one that a stand-in "
    "was built to.",
    "An explanation of a difference is measured, with the suspected cause switched off, or the difference is called "
    "<em>unexplained</em>.",
)
_FRAME = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
_CLASS = {AGREES: "agrees", BETTER: "better", DIFFERS: "differs", NOT_TESTED: "untested"}
_LONG = 30  # lines of a table beyond which those that agree are folded


def write_pages(folder: Path, experiments: Mapping[str, Experiment]) -> Path:
    """Write index.html and a page per paper from everything the folder holds; the path of the first."""
    outcomes = {outcome.experiment: outcome for outcome in stored(folder) if outcome.experiment in experiments}
    for key, paper in PAPERS.items():
        write_whole(folder / f"{key}.html", _paper_page(key, paper, experiments, outcomes))
    strays = [name for name, one in experiments.items() if not set(one.papers) & set(PAPERS) and name in outcomes]
    body = (
        _rules() + _overview(experiments, outcomes) + "".join(_experiment(experiments[n], outcomes[n]) for n in strays)
    )
    path = folder / "index.html"
    write_whole(path, _FRAME.substitute(title="The papers' experiments", body=body))
    return path


def headline(lines: Iterable[Line]) -> str:
    """«11 of 14 claims agree, 2 differ, 1 is better»."""
    verdicts = [line.verdict for line in lines]
    if not verdicts:
        return "no claim tested yet"
    agree, differ, better, untested = (verdicts.count(v) for v in (AGREES, DIFFERS, BETTER, NOT_TESTED))
    parts = [f"{agree} of {len(verdicts)} claims {'agrees' if agree == 1 else 'agree'}"]
    parts += [f"{differ} {'differs' if differ == 1 else 'differ'}"] if differ else []
    parts += [f"{better} {'is' if better == 1 else 'are'} better"] if better else []
    parts += [f"{untested} not tested"] if untested else []
    return ", ".join(parts)


def lines_of(key: str, outcomes: Iterable[Outcome]) -> list[Line]:
    """The lines of all outcomes that are claims of one paper."""
    return [line for outcome in outcomes for line in outcome.lines if line.paper == key]


# -- the overview ------------------------------------------------------------------------------------------------------


def _rules() -> str:
    return (
        "<section class='rules'><h2>Rules</h2><ol>" + "".join(f"<li>{rule}</li>" for rule in RULES) + "</ol></section>"
    )


def _overview(experiments: Mapping[str, Experiment], outcomes: Mapping[str, Outcome]) -> str:
    cards = ""
    for key, paper in PAPERS.items():
        done = [name for name, one in experiments.items() if key in one.papers and name in outcomes]
        missing = [name for name, one in experiments.items() if key in one.papers and name not in outcomes]
        rest = f"<p class='soft'>Not run yet: {_text(', '.join(missing))}</p>" if missing else ""
        cards += (
            f"<section class='card'><h3><a href='{key}.html'>{_text(paper.cited)}</a></h3><p>{_text(paper.says)}</p>"
            f"{_bar(lines_of(key, outcomes.values()))}<p class='headline'>"
            f"{_text(headline(lines_of(key, outcomes.values())))}</p>{rest}"
            f"<p class='soft'>{len(done)} experiments run</p></section>"
        )
    rows = "".join(
        f"<tr><td><a href='{one.papers[0]}.html#{_text(name)}'>{_text(one.title)}</a></td>"
        f"<td>{_text(PAPERS[one.papers[0]].cited if one.papers[0] in PAPERS else one.papers[0])}</td>"
        f"<td>{_text(headline(outcomes[name].lines))}</td><td>{'quick' if outcomes[name].quick else 'full'}</td>"
        f"<td class='n'>{outcomes[name].seconds:.0f} s</td><td>{_text(outcomes[name].date)}</td></tr>"
        for name, one in experiments.items()
        if name in outcomes
    )
    return (
        f"<div class='cards'>{cards}</div><h2>Every experiment that was run</h2><div class='scroll'><table><thead><tr>"
        "<th>experiment</th><th>paper</th><th>claims</th><th>run</th><th>took</th><th>when (UTC)</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _bar(lines: list[Line]) -> str:
    """Verdicts as a bar whose parts are as wide as they are many."""
    parts = "".join(
        f"<span class='{_CLASS[verdict]}' style='flex:{count}' title='{count} {verdict}'></span>"
        for verdict in _CLASS
        if (count := sum(line.verdict == verdict for line in lines))
    )
    return f"<div class='bar' role='img' aria-label='{_text(headline(lines))}'>{parts}</div>"


# -- a paper -----------------------------------------------------------------------------------------------------------


def _paper_page(key: str, paper: Paper, experiments: Mapping[str, Experiment], outcomes: Mapping[str, Outcome]) -> str:
    lines = lines_of(key, outcomes.values())
    parts = [
        f"<p><a href='index.html'>All papers</a></p><p class='soft'>{_text(paper.title)}</p>",
        f"<p class='says'>{_text(paper.says)}</p>{_bar(lines)}<p class='headline'>{_text(headline(lines))}</p>",
    ]
    parts.append(_coverage(key, paper, experiments, outcomes))
    for name, experiment in experiments.items():
        if key in experiment.papers and name in outcomes:
            parts.append(_experiment(experiment, outcomes[name]))
    return _FRAME.substitute(title=_text(paper.cited), body="".join(parts))


def is_within(place: str, result: str) -> bool:
    """Does a claim's place belong to a result of the paper? "§VI-C" to "§VI", but "§VII" does not, nor does "Figure 11"
    to "Figure 1" or "Table 5.3" to "Table 5". A place may have several parts: "§5.2.1, figure 8"."""

    def is_part(part: str) -> bool:
        rest = part[len(result) :]
        is_other = rest[:1].isalnum() or (not result.startswith("§") and rest[:1] == "." and rest[1:2].isdigit())
        return part.lower().startswith(result.lower()) and not is_other

    return any(map(is_part, place.split(", ")))


def results_shown(key: str, experiments: Mapping[str, Experiment]) -> dict[str, list[str]]:
    """The experiments that rebuild each table and figure of a paper."""
    shown: dict[str, list[str]] = {}
    for name, experiment in experiments.items():
        for entry in experiment.shows:
            paper, _, place = entry.rpartition(": ")
            if (paper or experiment.papers[0]) == key:
                shown.setdefault(place, []).append(name)
    return shown


def _coverage(key: str, paper: Paper, experiments: Mapping[str, Experiment], outcomes: Mapping[str, Outcome]) -> str:
    """A row per table and figure that shows results: reproduced, differs, or not tested."""
    shown, rows = results_shown(key, experiments), ""
    for place, what in {**paper.results, **dict.fromkeys(paper.not_tested, "")}.items():
        names = shown.get(place, [])
        done = [name for name in names if name in outcomes]
        lines = [line for name in done for line in lines_of(key, [outcomes[name]]) if is_within(line.place, place)]
        if place in paper.not_tested:
            state, kind = f"not tested: {paper.not_tested[place]}", NOT_TESTED
        elif not done:
            state, kind = f"not run yet ({', '.join(names)})", NOT_TESTED
        elif lines and all(line.verdict == NOT_TESTED for line in lines):
            state, kind = f"not tested: {lines[0].why}", NOT_TESTED
        else:
            worst = DIFFERS if any(line.verdict == DIFFERS for line in lines) else AGREES
            state, kind = ("reproduced" if worst == AGREES else "differs") + f": {headline(lines)}", worst
            if not lines:
                state, kind = "drawn: the text has no claim about it", NOT_TESTED
        links = ", ".join(f"<a href='#{_text(name)}'>{_text(name)}</a>" for name in done)
        rows += (
            f"<tr><td class='place'>{_text(place)}</td><td>{_text(what or paper.results.get(place, ''))}</td>"
            f"<td class='{_CLASS[kind]}'>{_text(state)}</td><td>{links}</td></tr>"
        )
    return (
        "<details open><summary>Tables and figures of results</summary><div class='scroll'><table><thead><tr><th>place"
        f"</th><th>what it shows</th><th>state</th><th>experiment</th></tr></thead><tbody>{rows}</tbody></table></div>"
        "</details>"
    )


# -- an experiment -----------------------------------------------------------------------------------------------------


def _experiment(experiment: Experiment, outcome: Outcome) -> str:
    about = "; ".join(f"{key} {value}" for key, value in outcome.machine.items())
    return (
        f"<section class='experiment' id='{_text(experiment.name)}'><h2>{_text(experiment.title)}</h2>"
        f"<p class='headline'>{_text(headline(outcome.lines))}</p>"
        f"{''.join(map(_figure, outcome.pictures))}{_table(outcome.lines, experiment.papers[0])}"
        f"{_reasons(outcome.lines)}{_facts(outcome)}"
        f"<p class='soft'><code>{_text(outcome.command)}</code> · {outcome.seconds:.0f} s · {_text(outcome.date)} UTC"
        f"<br>{_text(about)}</p></section>"
    )


def _figure(picture: Picture) -> str:
    of = f"<b>{_text(picture.of)}.</b> " if picture.of else ""
    printed = f" <em>{_text(picture.printed)}.</em>" if picture.printed else ""
    return (
        f"<figure><a href='{_text(picture.name)}'><img src='{_text(picture.name)}' alt='{_text(picture.caption)}' "
        f"loading='lazy'></a><figcaption>{of}{_text(picture.caption)}{printed}</figcaption></figure>"
    )


def _table(lines: list[Line], paper: str) -> str:
    if not lines:
        return ""
    numbers = _numbers(lines)
    rows = "".join(
        f"<tr><td class='place'>{_text(_place(line, paper))}</td><td>{_text(line.says)}<br>"
        f"<span class='soft'>{_text(line.quantity)}</span></td>"
        f"<td>{_text(line.printed)}</td><td>{_text(line.published)}</td><td>{_text(line.ours)}</td>"
        f"<td><span class='verdict {_CLASS[line.verdict]}'>{line.verdict}</span>{_mark(numbers, line)}</td>"
        f"<td class='soft'>{_text(line.criterion)}</td></tr>"
        for line in lines
    )
    table = (
        "<div class='scroll'><table class='claims'><thead><tr><th>place</th><th>claim</th><th>paper</th>"
        "<th>published method</th><th>ours</th><th>verdict</th><th>agrees if</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
    return f"<details><summary>{len(lines)} claims</summary>{table}</details>" if len(lines) > _LONG else table


def _place(line: Line, paper: str) -> str:
    """With its paper's name where that is not the experiment's first one."""
    return (
        line.place if line.paper == paper or line.paper not in PAPERS else f"{PAPERS[line.paper].cited}, {line.place}"
    )


def _numbers(lines: list[Line]) -> dict[str, int]:
    """Explanations by number: each is printed once, however many lines it is behind."""
    numbers: dict[str, int] = {}
    for line in lines:
        if line.why:
            numbers.setdefault(line.why, len(numbers) + 1)
    return numbers


def _mark(numbers: dict[str, int], line: Line) -> str:
    return f" <sup>{numbers[line.why]}</sup>" if line.why else ""


def _reasons(lines: list[Line]) -> str:
    items = "".join(f"<li>{_text(why)}</li>" for why in _numbers(lines))
    return f"<ol class='reasons'>{items}</ol>" if items else ""


def _facts(outcome: Outcome) -> str:
    if not outcome.facts:
        return ""
    rows = "".join(
        f"<tr><td>{_text(fact.what)}</td><td>{_text(fact.paper)}</td><td>{_text(fact.published)}</td>"
        f"<td>{_text(fact.ours)}</td></tr>"
        for fact in outcome.facts
    )
    return (
        f"<details><summary>{len(outcome.facts)} further figures</summary><div class='scroll'><table><thead><tr>"
        "<th>what</th><th>paper</th><th>published method</th><th>ours</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
