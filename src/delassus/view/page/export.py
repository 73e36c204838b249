"""A recording as one file that opens in any browser without a network: viser's own page with the scene in it, thinned
to a size that can be mailed."""

from pathlib import Path

import numpy as np

from delassus.errors import FileError, SettingsError
from delassus.io.place import label, place
from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.view.page.panel import facts
from delassus.view.page.player import Player

_FPS = 20.0
_MOST_FRAMES = 600
_MOST_BYTES = 60 * 1024**2  # of the file; bodies take 28 bytes each in every frame before base64
_LABELLED = ("time", "status", "solver", "natural map", "contacts", "penetration")


def export(path: Path, run: Trajectory, model: Model, *, title: str, dark: bool = False) -> int:
    """Write the page; how many states it holds."""
    frames = _frames(run, model)
    player = Player(run, model, title=title, port=0)
    try:
        server = player.server
        serializer = server.get_scene_serializer()
        top = player.drawing.bounds.mean(axis=0) + (0.0, 0.0, 1.1 * player.drawing.size)
        for k in frames.tolist():
            player.show(k, again=True)
            words = [value for name, value in facts(run, k) if name in _LABELLED]
            server.scene.add_label("/step", "  ·  ".join(words), position=tuple(float(x) for x in top))
            serializer.insert_sleep(1.0 / _FPS)
        page = serializer.as_html(dark_mode=dark)
    finally:
        player.stop()
    content = page.replace("<title>", f"<title>{_plain(title)} ", 1).encode()
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"{label(path)}: the page would have {len(content) >> 20} MiB: record fewer bodies or less")
    try:
        place(path, content)
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None
    return len(frames)


def _frames(run: Trajectory, model: Model) -> np.ndarray:
    """Numbers of steps whose states are kept: real time where that is few enough."""
    seconds = float(run.t[-1] - run.t[0])
    per_frame = 28 * (model.shapes.count + 1) + 100 * (float(run.contact_counts.mean()) if run.step_count else 0.0)
    per_frame += 60 * model.node_count
    most = max(2, min(_MOST_FRAMES, int(0.5 * _MOST_BYTES / max(per_frame, 1.0))))
    count = min(int(seconds * _FPS) + 1, most, run.step_count + 1)
    return np.unique(np.linspace(0, run.step_count, max(count, 1)).astype(int))


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in " -_.")
