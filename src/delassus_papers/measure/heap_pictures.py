"""Pictures of the heaps of Heyn et al. 2013: the scene, rendered, and axes as their figures have them."""

from pathlib import Path
from typing import TYPE_CHECKING

from delassus_papers.claim import Fact
from delassus_papers.measure.heaps import Heap
from delassus_papers.outcome import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_CURVE = "curve not available"
"""Where only a caption of the figure is at hand."""


def render(path: Path, heap: Heap, of: str, caption: str) -> tuple[list[Picture], list[Fact]]:
    """The heap, spheres coloured by number, where the renderer is installed; a fact that says so where it is not."""
    from delassus.view.drawing import Drawing
    from delassus.view.render.extra import is_installed

    if not is_installed():
        return [], [Fact(of, ours="not drawn: pip install 'delassus[render]'")]
    from delassus.view.render.film import write_picture
    from delassus.view.render.stage import Look, Stage

    drawing = Drawing(heap.model, heap.state.q[None])
    drawing.planes = [plane for plane in drawing.planes if plane.axes[2, 2] > 0.5]  # walls would hide what they hold
    stage = Stage(drawing, Look(size=(960, 600), elevation=28.0, forces=False), 1.0, 1.0)
    try:
        write_picture(path, stage.picture(heap.state, None, " "))
    finally:
        stage.close()
    return [Picture(path.name, of, caption, "the paper's picture is not available")], []


def log_axes(axes: "Axes", x: str, y: str) -> None:
    """Both logarithmic, named, with a grid."""
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.grid(True, color="0.92")
