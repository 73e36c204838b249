"""The convergence figure: a valid picture of sensible size with every run in it and a legend that does not grow."""

import struct
import warnings

import numpy as np
import pytest
from command_line import delassus

from delassus.solvers.solution import Trace
from delassus.view.convergence import Curve, draw, image


def curve(file, solver, residuals=(1.0, 1e-3, 1e-7), converged=True):
    trace = Trace()
    for k, residual in enumerate(residuals):
        trace.add(10 * k, 1e-3 * (k + 1), residual, 0.1)
    return Curve(file, solver, trace, converged)


def png_size(content):
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


def test_plot_option_writes_a_readable_picture(tmp_path, data_dir):
    from matplotlib.image import imread

    out = tmp_path / "race.png"
    files = [data_dir / name for name in ("Rover-4396.hdf5", "OneObject-i1028-138.hdf5")]
    result = delassus("solve", *files, "--solver", "nbgs", "--solver", "raisim-ds", "--plot", out)
    assert result.exit_code == 0, result.output
    width, height = png_size(out.read_bytes())
    assert 800 <= width <= 3000
    assert 400 <= height <= 2000
    pixels = imread(out)[..., :3].reshape(-1, 3)
    assert len(np.unique(pixels, axis=0)) > 50  # not blank


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_figure_formats(kind, start):
    assert image(draw([curve("a", "nbgs")], tol=1e-6), kind).startswith(start)


@pytest.mark.parametrize(
    ("files", "solvers", "panels"), [(1, 6, 2), (2, 1, 4), (4, 3, 8), (5, 1, 5), (12, 6, 12), (60, 1, 2), (60, 6, 2)]
)
def test_every_run_is_drawn_in_the_panel_of_its_file_and_the_legend_stays_short(files, solvers, panels):
    curves = [curve(f"file-{k}", f"solver-{s}") for k in range(files) for s in range(solvers)]
    figure = draw(curves, tol=1e-6)
    assert len(figure.axes) == panels
    drawn = [[line for line in panel.lines if len(line.get_xdata()) == 3] for panel in figure.axes]
    times = 1 if 4 < files <= 30 else 2  # over seconds only, or over iterations, too
    assert sum(map(len, drawn)) == times * files * solvers
    assert {len(lines) for lines in drawn} == {solvers if files <= 30 else files * solvers}
    for panel in figure.axes:
        assert sum(np.allclose(line.get_ydata(), 1e-6) for line in panel.lines) == 1  # the tolerance
    if 1 < files <= 30:
        assert [panel.get_title() for panel in figure.axes] == [f"file-{k}" for k in range(files)] * times
    assert len(figure.legends[0].texts) == solvers + 2
    png_size(image(figure, "png"))


def test_solvers_are_told_apart_and_alike_in_all_panels():
    curves = [curve(f"file-{k}", f"solver-{s}") for k in range(3) for s in range(3)]
    looks = [
        [line.get_color() for line in panel.lines if len(line.get_xdata()) == 3]
        for panel in draw(curves, tol=1e-6).axes
    ]
    assert len(set(looks[0])) == 3
    assert all(colours == looks[0] for colours in looks)


@pytest.mark.parametrize(
    "residuals", [(0.0,), (1.0, np.inf, np.nan), (1.0, 0.5, 0.0), (np.inf, np.inf), (1e-30, 1e-31)]
)
def test_awkward_residuals_are_drawn_without_complaint(residuals):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png_size(image(draw([curve("a", "nbgs", residuals, converged=False)], tol=1e-6), "png"))
