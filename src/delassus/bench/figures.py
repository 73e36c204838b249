"""Profiles as plotly figures for the page and as one PNG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from delassus.bench.metrics import data_profile, performance_profile
from delassus.bench.result import Result

_COLOURS = (
    "#0b66a8", "#d1495b", "#3a7d44", "#e09f3e", "#7b4fa3", "#2aa1a1", "#8d6a4f", "#555f6b", "#b8336a", "#4f772d",
)  # fmt: skip


def plotly_script() -> str:
    """The whole of plotly.js: the page must open offline."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def html_figures(rows: Sequence[Result], limit: float) -> str:
    """Performance profile, data profile and accuracy over time, each a <div>."""
    import plotly.graph_objects as go

    colours = _colour_of(rows)
    out = []
    for title, axis, profile in (
        ("Performance profile (Dolan and Moré)", "time over the fastest", performance_profile(rows, limit)),
        ("Data profile", "seconds", data_profile(rows, limit)),
    ):
        figure = go.Figure()
        for (solver, start), (x, y) in profile.items():
            line = {"shape": "hv", "color": colours[solver], "dash": "solid" if start == "cold" else "dot"}
            figure.add_scatter(x=x.tolist(), y=y.tolist(), name=f"{solver} ({start})", mode="lines", line=line)
        figure.update_yaxes(title="part of the problems solved", range=[0, 1.02])
        out.append(_div(figure, title, axis))
    figure = go.Figure()
    for solver, colour in colours.items():
        mine = [row for row in rows if row.solver == solver and row.start == rows[0].start]
        figure.add_scatter(
            x=[row.seconds for row in mine], y=[max(row.relative, 1e-17) for row in mine], mode="markers", name=solver,
            text=[row.sample for row in mine], marker={"color": colour, "size": 6},
        )  # fmt: skip
    figure.update_yaxes(title="relative natural map of the returned point", type="log")
    out.append(_div(figure, f"Accuracy and time ({rows[0].start} start)", "seconds"))
    figure = go.Figure()
    for solver, colour in colours.items():
        mine = [row for row in rows if row.solver == solver and row.start == rows[0].start and row.solved]
        figure.add_scatter(
            x=[max(1, row.rows) for row in mine], y=[row.seconds for row in mine], mode="markers", name=solver,
            text=[row.sample for row in mine], marker={"color": colour, "size": 6},
        )  # fmt: skip
    figure.update_yaxes(title="seconds, solved problems", type="log")
    out.append(_div(figure, "Time and size", "rows of the problem"))
    return "".join(out)


def write_profile_png(path: Path, rows: Sequence[Result], limit: float) -> None:
    """The performance profile as a picture."""
    from matplotlib.figure import Figure

    colours = _colour_of(rows)
    figure = Figure(figsize=(8, 5))
    axes = figure.subplots()
    for (solver, start), (x, y) in performance_profile(rows, limit).items():
        style = "-" if start == "cold" else ":"
        axes.step([1.0, *x], [0.0, *y], where="post", label=f"{solver} ({start})", color=colours[solver], ls=style)
    axes.set(xscale="log", xlabel="time over the fastest", ylabel="part of the problems solved", ylim=(0, 1.02))
    axes.legend(fontsize=8, loc="lower right")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def _colour_of(rows: Sequence[Result]) -> dict[str, str]:
    solvers = dict.fromkeys(row.solver for row in rows)
    return {solver: _COLOURS[k % len(_COLOURS)] for k, solver in enumerate(solvers)}


def _div(figure: Any, title: str, axis: str) -> str:
    figure.update_layout(
        title=title, template="plotly_white", height=420, margin={"l": 60, "r": 10, "t": 45, "b": 50},
        legend={"font": {"size": 10}},
    )  # fmt: skip
    figure.update_xaxes(title=axis, type="log")
    return figure.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False, "responsive": True})
