"""What an experiment is, and the page it ends up on."""

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from delassus.bench.benchmark import machine
from delassus.errors import FileError

_LONG = 40  # lines of a table beyond which it is folded

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1c2733; margin: 0 auto; max-width: 1000px; padding: 1.5rem; }}
table {{ border-collapse: collapse; width: 100%; }} td, th {{ text-align: left; padding: .25rem .6rem;
border-bottom: 1px solid #d8dee5; vertical-align: top; }} .agrees {{ color: #2d6a36; }} .differs {{ color: #b3261e; }}
img {{ max-width: 100%; }} summary {{ cursor: pointer; }} .scroll {{ overflow-x: auto; }} small {{ color: #5b6b7b; }}
</style></head><body><h1>{title}</h1>{body}<p><small>{machine}</small></p></body></html>
"""


@dataclass(frozen=True)
class Line:
    """One claim of the paper beside ours. agrees: by `criterion`, which was fixed before the run; None: nothing to hold
    it against, printed for the reader; why: where it differs, what we think is behind it."""

    what: str
    paper: str
    ours: str
    agrees: bool | None
    criterion: str = ""
    why: str = ""

    @property
    def verdict(self) -> str:
        return "" if self.agrees is None else "agrees" if self.agrees else "differs"


@dataclass(frozen=True)
class Outcome:
    """Lines in order, pictures the experiment drew, seconds it took."""

    lines: list[Line]
    pictures: list[Path] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """run: (folder for pictures, quick) → Outcome."""

    name: str
    paper: str
    title: str
    run: Callable[[Path, bool], Outcome]

    def carry_out(self, folder: Path, quick: bool) -> Outcome:
        """Run it and write its page."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{folder}: cannot be made ({error.strerror}): give another --out") from None
        start = perf_counter()
        found = self.run(folder, quick)
        outcome = Outcome(found.lines, found.pictures, perf_counter() - start)
        (folder / f"{self.name}.html").write_text(page([(self, outcome)]), encoding="utf-8")
        return outcome


def page(outcomes: list[tuple[Experiment, Outcome]]) -> str:
    """One HTML page; pictures lie beside it."""
    parts = [_overview(outcomes)] if len(outcomes) > 1 else []
    for experiment, outcome in outcomes:
        rows = "".join(
            f"<tr><td>{_text(line.what)}</td><td>{_text(line.paper)}</td><td>{_text(line.ours)}</td>"
            f"<td class='{line.verdict}'>{line.verdict}</td><td>{_text(line.criterion)}"
            f"{'<br><small>' + _text(line.why) + '</small>' if line.why else ''}</td></tr>"
            for line in outcome.lines
        )
        pictures = "".join(
            f"<p><img src='{_text(path.name)}' alt='{_text(path.stem)}'></p>" for path in outcome.pictures
        )
        table = (
            "<div class='scroll'><table><thead><tr><th>what</th><th>paper</th><th>ours</th><th></th>"
            f"<th>criterion</th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
        if len(outcome.lines) > _LONG:
            table = f"<details><summary>{len(outcome.lines)} lines</summary>{table}</details>"
        parts.append(
            f"<h2 id='{_text(experiment.name)}'>{_text(experiment.title)} <small>({_text(experiment.paper)}, "
            f"{outcome.seconds:.0f} s)</small></h2>{table}{pictures}"
        )
    about = ", ".join(f"{key} {value}" for key, value in machine().items())
    return _PAGE.format(title="Delassus: the papers' experiments", body="".join(parts), machine=_text(about))


def _overview(outcomes: list[tuple[Experiment, Outcome]]) -> str:
    """A line per experiment: how much agrees, and the way to it."""
    rows = ""
    for experiment, outcome in outcomes:
        verdicts = [line.verdict for line in outcome.lines]
        differs = verdicts.count("differs")
        rows += (
            f"<tr><td><a href='#{_text(experiment.name)}'>{_text(experiment.title)}</a></td>"
            f"<td>{_text(experiment.paper)}</td><td class='agrees'>{verdicts.count('agrees')}</td>"
            f"<td class='{'differs' if differs else ''}'>{differs}</td><td>{outcome.seconds:.0f} s</td></tr>"
        )
    return (
        "<div class='scroll'><table><thead><tr><th>experiment</th><th>paper</th><th>agrees</th><th>differs</th>"
        f"<th>took</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _text(value: str) -> str:
    return html.escape(str(value), quote=True)
