"""Profiles and scatter plots as plotly figures for the page, and the performance profile as one PNG."""

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from delassus.bench.metrics import ACCURACY, Profile, data_profile, extended, performance_profile
from delassus.bench.result import Result

_COLOURS = (
    "#0b66a8",
    "#d1495b",
    "#3a7d44",
    "#e09f3e",
    "#7b4fa3",
    "#2aa1a1",
    "#8d6a4f",
    "#7d8894",
    "#b8336a",
    "#4f772d",
)
_HEIGHT = 420  # [px] of the plot; the legend below it comes on top
_LEGEND_LINE = 21  # [px]

_DECADES: dict[str, Any] = {  # of time, with their units
    "tickvals": [10.0**k for k in range(-6, 5)],
    "ticktext": ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s", "1000 s", "10⁴ s"],
}


class Drawn(NamedTuple):
    """A profile on the page. x: label of the axis; is_time: in seconds, written with their units; all
    others are pure numbers, written as powers of ten."""

    title: str
    x: str
    is_time: bool
    of: Callable[[Sequence[Result], float], Profile]


PROFILES = (
    Drawn("Performance profile (Dolan and Moré)", "time over the fastest", False, performance_profile),
    Drawn("Data profile", "time", True, data_profile),
    Drawn(
        "Performance profile of iterations",
        "iterations over the fewest",
        False,
        partial(performance_profile, name="iterations"),
    ),
    *(
        Drawn(
            f"Accuracy of the returned point: {label.partition(' [')[0]}",
            label,
            False,
            partial(data_profile, name=name),
        )
        for name, label in ACCURACY.items()
    ),
)
"""Of accuracy: the part of the problems whose error is at most that much, solved or not."""


def plotly_script() -> str:
    """The whole of plotly.js: the page must open offline."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def html_figures(rows: Sequence[Result], limit: float, tol: float) -> str:
    """Every profile, then accuracy over time and time over size, each a <div>. A trace's `meta` is its start: the page
    shows one start at a time."""
    import plotly.graph_objects as go

    colours, starts = _colour_of(rows), list(dict.fromkeys(row.start for row in rows))
    out = []
    for drawn in PROFILES:
        figure = go.Figure()
        for (solver, start), (x, y) in extended(drawn.of(rows, limit)).items():
            figure.add_scatter(
                x=x.tolist(),
                y=y.tolist(),
                name=solver,
                mode="lines",
                meta=start,
                visible=start == starts[0],
                line={"shape": "hv", "color": colours[solver], "dash": "solid" if start == "cold" else "dot"},
                hovertemplate="%{y:.0%} within %{x:.3g}",
            )
        figure.update_yaxes(title="part of the problems", range=[-0.02, 1.02], tickformat=".0%")
        out.append(_div(figure, drawn.title, drawn.x, drawn.is_time, len(colours)))
    out.append(_accuracy(rows, colours, starts, tol))
    out.append(_sizes(rows, colours, starts))
    return "".join(out)


def _accuracy(rows: Sequence[Result], colours: dict[str, str], starts: list[str], tol: float) -> str:
    figure = _scatter(rows, colours, starts, lambda row: row.seconds, lambda row: max(row.relative, 1e-17))
    figure.update_yaxes(title="relative natural map of the returned point", type="log", exponentformat="power")
    figure.add_hline(y=tol, line={"width": 1, "dash": "dash", "color": "#7d8894"}, annotation_text=f"tol {tol:g}")
    return _div(figure, "Accuracy and time (crosses: not solved)", "time", True, len(colours))


def _sizes(rows: Sequence[Result], colours: dict[str, str], starts: list[str]) -> str:
    figure = _scatter(rows, colours, starts, lambda row: max(1, row.rows), lambda row: row.seconds)
    figure.update_yaxes(title="time", type="log", **_DECADES)
    return _div(figure, "Time and size (crosses: not solved)", "rows of the problem", False, len(colours))


def _scatter(
    rows: Sequence[Result],
    colours: dict[str, str],
    starts: list[str],
    x: Callable[[Result], float],
    y: Callable[[Result], float],
) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for start in starts:
        for solver, colour in colours.items():
            mine = [row for row in rows if row.solver == solver and row.start == start]
            symbols = ["circle" if row.solved else "x" for row in mine]
            figure.add_scatter(
                x=[x(row) for row in mine],
                y=[y(row) for row in mine],
                mode="markers",
                name=solver,
                meta=start,
                visible=start == starts[0],
                text=[f"{row.sample}: {row.status}" for row in mine],
                marker={"color": colour, "size": 6, "symbol": symbols},
            )
    return figure


def profile_png(rows: Sequence[Result], limit: float) -> bytes:
    """The performance profile as a picture."""
    from matplotlib.figure import Figure

    colours = _colour_of(rows)
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for (solver, start), (x, y) in extended(performance_profile(rows, limit)).items():
        style = "-" if start == "cold" else ":"
        axes.step(x, y, where="post", label=f"{solver} ({start})", color=colours[solver], ls=style)
    axes.set(xscale="log", xlabel="time over the fastest", ylabel="part of the problems solved", ylim=(-0.02, 1.02))
    figure.legend(fontsize=8, loc="outside right upper", frameon=False)
    axes.grid(alpha=0.3)
    stream = BytesIO()
    figure.savefig(stream, dpi=130, format="png")
    return stream.getvalue()


def _colour_of(rows: Sequence[Result]) -> dict[str, str]:
    solvers = dict.fromkeys(row.solver for row in rows)
    return {solver: _COLOURS[k % len(_COLOURS)] for k, solver in enumerate(solvers)}


def _div(figure: Any, title: str, axis: str, is_time: bool, solvers: int) -> str:
    """The page's script gives it the width of its place; the legend below never takes any from the plot."""
    below = _LEGEND_LINE * (1 + solvers // 4)
    figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        height=_HEIGHT + below,
        autosize=True,
        showlegend=True,
        margin={"l": 65, "r": 15, "t": 45, "b": 60 + below},
        hovermode="closest",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "yanchor": "top", "y": -0.17, "x": 0.0, "font": {"size": 11}},
    )
    number = _DECADES if is_time else {"exponentformat": "power", "dtick": 1}
    figure.update_xaxes(title=axis, type="log", **number)
    plot = figure.to_html(include_plotlyjs=False, full_html=False, config={"displayModeBar": False, "responsive": True})
    return f"<div class='figure'>{plot}</div>"
