"""The report of a benchmark: one HTML page that opens offline, and its numbers as CSV."""

import csv
import html
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

from delassus.arguments import number
from delassus.bench import figures
from delassus.bench.metrics import Score, scores, warm_gain
from delassus.bench.page import PAGE
from delassus.bench.result import Result, Results, is_in_time, text_of
from delassus.errors import FileError, printable
from delassus.io.place import label, put


def write_report(folder: Path, rows: Sequence[Result], about: dict[str, Any]) -> Path:
    """report.html, rows.csv, scores.csv and profile.png into the folder; about: machine, versions, settings."""
    if not rows:
        raise FileError(f"{folder}: no rows yet: run `delassus bench` with --out there first")
    limit = float(about["time_limit"])
    ranking = scores(rows, limit)
    files = {
        "rows.csv": _csv([field.name for field in fields(Result)], [asdict(row) for row in rows]),
        "scores.csv": _csv([field.name for field in fields(Score)], [asdict(score) for score in ranking]),
        "profile.png": figures.profile_png(rows, limit),
    }
    page = PAGE.substitute(
        title=html.escape(f"Delassus benchmark: {about['suite']}"),
        verdict=_verdict(ranking, rows, about),
        about=_about(about),
        starts=_starts(rows),
        ranking=_ranking(ranking, rows, limit),
        claims=_claims(rows, limit),
        categories=_categories(rows, limit),
        figures=figures.html_figures(rows, limit, float(about["tol"])),
        rows=_row_table(rows, about),
        plotly=figures.plotly_script(),
    )
    files["report.html"] = page.encode()
    for name, content in files.items():
        put(folder / name, content)
    return folder / "report.html"


def read_rows(folder: Path) -> tuple[list[Result], dict[str, Any]]:
    """Rows and settings of a benchmark's folder."""
    try:
        about = json.loads(text_of(folder / "about.json"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise FileError(f"{folder}: no benchmark in it: give the folder `delassus bench --out` wrote") from None
    if not (isinstance(about, dict) and isinstance(about.get("suite"), str)):
        raise FileError(f"{label(folder)}/about.json: does not say what was run: run the benchmark again")
    for name in ("time_limit", "tol"):
        what = f"{label(folder)}/about.json: {name}"
        about[name] = number(about.get(name), what, "-", positive=True, error=FileError)
    return Results(folder / "rows.jsonl").rows, about


def _csv(names: list[str], rows: list[dict[str, Any]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, names)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def _verdict(ranking: list[Score], rows: Sequence[Result], about: dict[str, Any]) -> str:
    """The ranking in one sentence, for a reader with ten seconds."""
    best = ranking[0]
    count = len({row.sample for row in rows})
    missing = sum(not row.confirmed for row in rows)
    truth = "every claim was confirmed" if not missing else f"{missing} claims were not confirmed by the judge"
    others = [score for score in ranking[1:] if score.start == best.start and score.rate == best.rate]
    runner = f", {others[0].mean / best.mean:.1f} times faster than {others[0].solver}" if others else ""
    return html.escape(
        f"{best.solver} ({best.start}) solves {best.solved} of {best.count} problems to {about['tol']:g} in "
        f"{_time(best.mean)} each{runner}. {count} problems, {len(ranking)} solvers and starts; {truth}."
    )


def _starts(rows: Sequence[Result]) -> str:
    """What the reader chooses between: cold, warm, or both."""
    starts = list(dict.fromkeys(row.start for row in rows))
    choices = [*starts, "both"] if len(starts) > 1 else starts
    return "".join(
        f"<label><input type='radio' name='start' value='{html.escape(start)}'{' checked' if k == 0 else ''}> "
        f"{html.escape(start)}</label>"
        for k, start in enumerate(choices)
    )


def _about(about: dict[str, Any]) -> str:
    said = {printable(str(key)): printable(str(value)) for key, value in about.items()}
    lines = [f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in said.items()]
    return "<dl>" + "".join(lines) + "</dl>"


def _ranking(ranking: list[Score], rows: Sequence[Result], limit: float) -> str:
    gains = warm_gain(rows)
    head = [
        "solver",
        "start",
        "solved",
        "mean",
        "p50",
        "p95",
        "p99",
        "fastest on",
        "iterations",
        "warm gain",
        "claims not confirmed",
    ]
    fastest = min(score.mean for score in ranking)
    body = []
    for score in ranking:
        gain = gains.get(score.solver)
        body.append(
            Row(
                [
                    score.solver,
                    score.start,
                    Cell(
                        score.rate,
                        f"{score.solved} / {score.count}",
                        "good" if score.rate == 1.0 else "bad",
                        score.rate,
                    ),
                    Cell(score.mean, _time(score.mean), "speed", _part(score.mean, fastest, limit)),
                    *(Cell(t, _time(t), "limit" if t >= limit else "") for t in (score.p50, score.p95, score.p99)),
                    Cell(score.best, f"{100 * score.best:.0f} %", "speed", score.best),
                    Cell(score.iterations, f"{score.iterations:.0f}" if math.isfinite(score.iterations) else "–"),
                    Cell(gain[0], f"{gain[0]:.1f}×") if gain and score.start == "warm" else "",
                    Cell(
                        score.claims_not_confirmed,
                        str(score.claims_not_confirmed),
                        "false" if score.claims_not_confirmed else "",
                    ),
                ],
                score.start,
            )
        )
    return _table("ranking", head, body)


def _part(value: float, least: float, most: float) -> float:
    """Length of a bar, 0 to 1, on a scale of powers of ten: full for the fastest, empty at the time limit."""
    if not (0.0 < least < most):
        return 1.0
    return 1.0 - min(1.0, max(0.0, math.log(value / least) / math.log(most / least)))


def _categories(rows: Sequence[Result], limit: float) -> str:
    """Solved and mean by category, a line per solver and start."""
    kinds = sorted({row.category for row in rows})
    by = {
        kind: {(s.solver, s.start): s for s in scores([r for r in rows if r.category == kind], limit)} for kind in kinds
    }
    body = []
    for solver, start in dict.fromkeys((row.solver, row.start) for row in rows):
        cells: list[str | Cell] = [solver, start]
        for kind in kinds:
            score = by[kind].get((solver, start))
            cells.append(
                ""
                if score is None
                else Cell(
                    score.mean,
                    f"{score.solved}/{score.count} · {_time(score.mean)}",
                    "good" if score.rate == 1.0 else "bad",
                    score.rate,
                )
            )
        body.append(Row(cells, start))
    return _table("categories", ["solver", "start", *kinds], body)


def _claims(rows: Sequence[Result], limit: float) -> str:
    """What it means that a claim is not confirmed, and every case of it."""
    text = (
        "<p>A solver that calls itself converged makes a claim. The judge then computes the residuals of the point it "
        "returned, from the problem alone and in unscaled units. A claim is <em>not confirmed</em> where the two "
        "differ: either the point is not a solution although the solver says so, or it is one and the solver, which "
        "stops by a measure of its own, did not see it.</p>"
    )
    odd = [row for row in rows if not row.confirmed]
    if not odd:
        return text + "<p class='all'>Every claim of this benchmark was confirmed.</p>"
    body = []
    for row in odd:
        limit_said = (
            f"relative natural map {row.relative:.1e} at tol {row.tol:g}, worst velocity {row.worst_velocity:.1e} m/s"
        )
        found = f"is a solution ({limit_said})" if row.solved else f"is no solution ({limit_said})"
        late = "" if is_in_time(row.seconds, limit) else ", and late"
        body.append(Row([row.sample, row.solver, row.start, row.status, found + late], row.start, not row.solved))
    return text + _table("claims", ["problem", "solver", "start", "the solver says", "the judge: the point"], body)


def _row_table(rows: Sequence[Result], about: dict[str, Any]) -> str:
    head = [
        "problem",
        "solver",
        "start",
        "judged",
        "time",
        "iterations",
        "relative natural map",
        "worst velocity m/s",
        "over its island's",
        "status",
        "category",
        "contacts",
        "rows",
        "repeat",
    ]
    limit, body = float(about["time_limit"]), []
    for row in rows:
        verdict = ("✓ solved" if row.solved else "✗ not solved") if row.confirmed else "✗ claim not confirmed"
        late = row.status == "time_limit"
        body.append(
            Row(
                [
                    row.sample,
                    row.solver,
                    row.start,
                    verdict,
                    Cell(row.seconds, _time(row.seconds) + " (limit)" * late, "limit" if row.seconds >= limit else ""),
                    Cell(row.iterations, str(row.iterations)),
                    Cell(row.relative, f"{row.relative:.1e}"),
                    Cell(row.worst_velocity, f"{row.worst_velocity:.1e}"),
                    Cell(row.worst_velocity_relative, f"{row.worst_velocity_relative:.1e}"),
                    row.status + (f" ({row.note})" if row.note else ""),
                    row.category,
                    Cell(row.contacts, str(row.contacts)),
                    Cell(row.rows, str(row.rows)),
                    repeat_command(row, about),
                ],
                row.start,
                not row.solved or not row.confirmed,
            )
        )
    return _table("rows", head, body)


def repeat_command(row: Result, about: dict[str, Any]) -> str:
    """What to type to see that cell again."""
    return f"delassus bench {about['suite']} --only '{row.sample}' --solvers '{row.solver}' --tol {row.tol:g}"


class Cell(NamedTuple):
    """A number in a table. kind: the class that colours it; part: length of the bar behind it, 0 to 1."""

    key: float
    text: str
    kind: str = ""
    part: float | None = None


class Row(NamedTuple):
    """A line of a table: the page shows those of one start at a time, and failures in red."""

    cells: list[str | Cell]
    start: str
    failed: bool = False


def _table(name: str, head: list[str], body: list[Row]) -> str:
    """An HTML table that the page's script sorts and filters."""
    lines = [f"<table id='{name}'><thead><tr>"]
    lines += [f"<th>{html.escape(text)}</th>" for text in head]
    lines.append("</tr></thead><tbody>")
    for row in body:
        failed = " class='failed'" if row.failed else ""
        cells = "".join(_cell(cell) for cell in row.cells)
        lines.append(f"<tr data-start='{html.escape(row.start)}'{failed}>{cells}</tr>")
    lines.append("</tbody></table>")
    return "".join(lines)


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{html.escape(cell)}</td>"
    number = cell.key if math.isfinite(cell.key) else 1e300
    bar = "" if cell.part is None else f" style='--part:{cell.part:.3f}'"
    kind = f"n {cell.kind}" + (" bar" if cell.part is not None else "")
    return f"<td class='{kind.strip()}' data-k='{number!r}'{bar}>{html.escape(cell.text)}</td>"


def _time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{1e6 * seconds:.2g} µs"
