"""The report of a benchmark: one HTML page that opens offline, and its numbers as CSV."""

import csv
import html
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from delassus.bench import figures
from delassus.bench.metrics import Score, scores, warm_gain
from delassus.bench.page import PAGE
from delassus.bench.result import Result, Results
from delassus.errors import FileError


def write_report(folder: Path, rows: Sequence[Result], about: dict[str, Any]) -> Path:
    """report.html, rows.csv, scores.csv and profile.png into the folder; about: machine, versions, settings."""
    if not rows:
        raise FileError(f"{folder}: no rows yet: run `delassus bench` with --out there first")
    limit = float(about["time_limit"])
    ranking = scores(rows, limit)
    _write_csv(folder / "rows.csv", [field.name for field in fields(Result)], [asdict(row) for row in rows])
    _write_csv(folder / "scores.csv", [field.name for field in fields(Score)], [asdict(score) for score in ranking])
    figures.write_profile_png(folder / "profile.png", rows, limit)
    page = PAGE.substitute(
        title=html.escape(f"Delassus benchmark: {about['suite']}"),
        verdict=_verdict(ranking, rows, about),
        about=_about(about),
        ranking=_ranking(ranking, rows),
        categories=_categories(rows, limit),
        figures=figures.html_figures(rows, limit),
        rows=_row_table(rows, about),
        plotly=figures.plotly_script(),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def read_rows(folder: Path) -> tuple[list[Result], dict[str, Any]]:
    """Rows and settings of a benchmark's folder."""
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise FileError(f"{folder}: no benchmark in it: give the folder `delassus bench --out` wrote") from None
    if not isinstance(about, dict) or not isinstance(about.get("time_limit"), int | float):
        raise FileError(f"{folder}/about.json: does not say what was run: run the benchmark again")
    return Results(folder / "rows.jsonl").rows, about


def _write_csv(path: Path, names: list[str], rows: list[dict[str, Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(rows)


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


def _about(about: dict[str, Any]) -> str:
    lines = [f"<dt>{html.escape(str(key))}</dt><dd>{html.escape(str(value))}</dd>" for key, value in about.items()]
    return "<dl>" + "".join(lines) + "</dl>"


def _ranking(ranking: list[Score], rows: Sequence[Result]) -> str:
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
    body = []
    for score in ranking:
        gain = gains.get(score.solver)
        body.append([
            score.solver, score.start, (score.rate, f"{score.solved} / {score.count}"), (score.mean, _time(score.mean)),
            (score.p50, _time(score.p50)), (score.p95, _time(score.p95)), (score.p99, _time(score.p99)),
            (score.best, f"{100 * score.best:.0f} %"), (score.iterations, f"{score.iterations:.0f}"),
            (gain[0], f"{gain[0]:.1f}×") if gain and score.start == "warm" else "",
            (score.claims_not_confirmed, str(score.claims_not_confirmed)),
        ])  # fmt: skip
    return _table("ranking", head, body)


def _categories(rows: Sequence[Result], limit: float) -> str:
    """Solved and mean by category, cold starts."""
    kinds = sorted({row.category for row in rows})
    start = "cold" if any(row.start == "cold" for row in rows) else "warm"
    by = {kind: {s.solver: s for s in scores([r for r in rows if r.category == kind and r.start == start], limit)}
          for kind in kinds}  # fmt: skip
    solvers = list(dict.fromkeys(row.solver for row in rows))
    body = []
    for solver in solvers:
        cells: list[Any] = [solver]
        for kind in kinds:
            score = by[kind].get(solver)
            cells.append("" if score is None else (score.mean, f"{score.solved}/{score.count} · {_time(score.mean)}"))
        body.append(cells)
    return _table("categories", [f"solver ({start})", *kinds], body)


def _row_table(rows: Sequence[Result], about: dict[str, Any]) -> str:
    head = ["problem", "category", "contacts", "rows", "solver", "start", "status", "judged", "relative natural map",
            "worst velocity m/s", "over its island's", "iterations", "seconds", "repeat"]  # fmt: skip
    body = []
    for row in rows:
        verdict = ("solved" if row.solved else "not solved") if row.confirmed else "claim not confirmed"
        body.append([
            row.sample, row.category, (row.contacts, str(row.contacts)), (row.rows, str(row.rows)), row.solver,
            row.start, row.status + (f" ({row.note})" if row.note else ""), verdict,
            (row.relative, f"{row.relative:.1e}"), (row.worst_velocity, f"{row.worst_velocity:.1e}"),
            (row.worst_velocity_relative, f"{row.worst_velocity_relative:.1e}"),
            (row.iterations, str(row.iterations)), (row.seconds, _time(row.seconds)), repeat_command(row, about),
        ])  # fmt: skip
    return _table("rows", head, body)


def repeat_command(row: Result, about: dict[str, Any]) -> str:
    """What to type to see that cell again."""
    return f"delassus bench {about['suite']} --only '{row.sample}' --solvers '{row.solver}' --tol {row.tol:g}"


def _table(name: str, head: list[str], body: list[list[Any]]) -> str:
    """An HTML table that the page's script sorts and filters; a cell is text, or (sort key, text)."""
    lines = [f"<table id='{name}'><thead><tr>"]
    lines += [f"<th>{html.escape(text)}</th>" for text in head]
    lines.append("</tr></thead><tbody>")
    for cells in body:
        lines.append("<tr>" + "".join(_cell(cell) for cell in cells) + "</tr>")
    lines.append("</tbody></table>")
    return "".join(lines)


def _cell(cell: Any) -> str:
    if isinstance(cell, tuple):
        key, text = cell
        number = key if isinstance(key, int | float) and math.isfinite(key) else 1e300
        return f"<td class='n' data-k='{number!r}'>{html.escape(text)}</td>"
    return f"<td>{html.escape(cell)}</td>"


def _time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "–"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{1e6 * seconds:.2g} µs"
