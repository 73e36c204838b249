"""The convergence figure: a valid picture of sensible size with every run in it and a legend that does not grow."""

import struct
import warnings

import numpy as np
import pytest
from command_line import delassus

from delassus.solvers.solution import Trace
from delassus.view.convergence import Curve, draw, image

LEGEND_ENTRIES = 28  # what fits beside the panels


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


@pytest.mark.parametrize(("files", "solvers"), [(1, 6), (12, 1), (12, 6), (60, 1), (60, 6)])
def test_every_run_is_drawn_and_the_legend_stays_short(files, solvers):
    curves = [curve(f"file-{k}", f"solver-{s}") for k in range(files) for s in range(solvers)]
    figure = draw(curves, tol=1e-6)
    for panel in figure.axes:
        lines = [line for line in panel.lines if len(line.get_xdata()) == 3]
        assert len(lines) == files * solvers
        tolerance = [line for line in panel.lines if np.allclose(line.get_ydata(), 1e-6)]
        assert len(tolerance) == 1
    assert len(figure.legends[0].texts) <= LEGEND_ENTRIES
    png_size(image(figure, "png"))


def test_files_and_solvers_are_told_apart():
    curves = [curve(f"file-{k}", f"solver-{s}") for k in range(3) for s in range(3)]
    panel = draw(curves, tol=1e-6).axes[0]
    looks = {(line.get_color(), line.get_linestyle()) for line in panel.lines if len(line.get_xdata()) == 3}
    assert len(looks) == 9


@pytest.mark.parametrize(
    "residuals", [(0.0,), (1.0, np.inf, np.nan), (1.0, 0.5, 0.0), (np.inf, np.inf), (1e-30, 1e-31)]
)
def test_awkward_residuals_are_drawn_without_complaint(residuals):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png_size(image(draw([curve("a", "nbgs", residuals, converged=False)], tol=1e-6), "png"))
