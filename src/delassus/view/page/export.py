"""A recording as one file that opens in any browser without a network: viser's own page with the scene in it, thinned
to a size that can be mailed, and beside it a panel of our own, because viser's recorder keeps no controls."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from delassus.errors import FileError, SettingsError
from delassus.io.place import label, place
from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.view.page import panel, sprites
from delassus.view.page.layers import darken
from delassus.view.page.packed import BYTES, packed
from delassus.view.page.player import Player
from delassus.view.page.solids import bytes_of, packed_solids

_FPS = 20.0
_FEWEST_FRAMES = 200  # where there are so many states: runs shorter than 10 s are played slower than they were
_MOST_FRAMES = 600
_MOST_BYTES = 60 * 1024**2  # of the file; bodies take 28 bytes each in every frame before base64
_MOST_RAW = 0.65  # share of it that numbers may take before they are written in base64, which makes 4 bytes of 3
_EARLY, _BESIDE, _CONTACTS, _BODIES = (
    Path(__file__).with_name(f"{name}.html") for name in ("early", "beside", "contacts", "bodies")
)


def export(path: Path, run: Trajectory, model: Model, *, title: str, dark: bool = False) -> int:
    """Write the page; how many states it holds."""
    player = Player(run, model, title=title, port=0)
    try:
        frames = _frames(run, model, bytes_of(player.scenery))
        darken(player.server, player.scenery, dark)
        serializer = player.server.get_scene_serializer()
        for k in frames.tolist():
            player.show(k, again=True)
            serializer.insert_sleep(1.0 / _FPS)
        page = serializer.as_html(dark_mode=dark)
        contacts = packed(run, model, player.drawing, player.scenery.scale, frames.tolist())
        solids = packed_solids(run, model, player.scenery, frames.tolist())
    finally:
        player.stop()
    page = page.replace("<title>", f"<title>{_plain(title)} ", 1)
    if player.scenery.are_many:
        page = page.replace("<head>", "<head>" + _EARLY.read_text(encoding="utf-8"), 1)
    beside = _BESIDE.read_text(encoding="utf-8").replace("@RUN@", _json(_numbers(run, frames, title, dark)))
    beside += f"<script>{sprites.SCRIPT.read_text(encoding='utf-8')}</script>"
    beside += _CONTACTS.read_text(encoding="utf-8").replace("@CONTACTS@", _json(contacts))
    beside += _BODIES.read_text(encoding="utf-8").replace("@SOLIDS@", _json(solids))
    start, _, end = page.rpartition("</body>")
    content = f"{start}{beside}</body>{end}".encode()
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"{label(path)}: the page would have {len(content) >> 20} MiB: record fewer bodies or less")
    try:
        place(path, content)
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None
    return len(frames)


def _frames(run: Trajectory, model: Model, body_bytes: int) -> np.ndarray:
    """Numbers of steps whose states are kept: real time where that is neither too few nor too many."""
    seconds = float(run.t[-1] - run.t[0])
    contacts = float(run.contact_counts.mean()) if run.step_count else 0.0
    per_frame = 28 * (model.shapes.count + 1) + (100 + BYTES) * contacts
    per_frame += 60 * model.node_count + body_bytes * model.body_count
    most = max(2, min(_MOST_FRAMES, int(_MOST_RAW * _MOST_BYTES / max(per_frame, 1.0))))
    count = min(max(int(seconds * _FPS) + 1, _FEWEST_FRAMES), most, run.step_count + 1)
    return np.unique(np.linspace(0, run.step_count, max(count, 1)).astype(int))


def _numbers(run: Trajectory, frames: np.ndarray, title: str, dark: bool) -> dict[str, Any]:
    """What the panel shows; `here` of a plot are the values of the frames, null for the first state, which no step
    led to."""
    start, steps = panel.stretches(run), frames.tolist()
    starts = list(accumulate([0.0] + [1.0 / _FPS] * (len(steps) - 1)))  # summed as the recorder sums
    seconds = float(run.t[-1] - run.t[0]) / (len(steps) / _FPS)
    plots = []
    for name, values in zip(panel.PLOTS, panel.columns(run)) if len(start) else ():
        here = [_number(values[k - 1]) if k else None for k in steps]
        worst = [_number(x) for x in np.maximum.reduceat(values, start)]
        plots.append({"name": name, "log": name in panel.DECADES, "values": worst, "here": here})
    failed = run.t[1:][start][np.maximum.reduceat(~run.converged, start)] if len(start) else np.zeros(0)
    return {
        "title": title,
        "dark": dark,
        "period": 1.0 / _FPS,
        "starts": starts,
        "steps": steps,
        "about": f"{len(steps)} of {run.step_count + 1} states; 1 s of the player is {seconds:.3g} s of the run",
        "times": run.t[frames].tolist(),
        "facts": [panel.facts(run, k) for k in steps],
        "floor": panel.FLOOR,
        "plotted": run.t[1:][start].tolist() if len(start) else [],
        "plots": plots,
        "failed": failed.tolist(),
    }


def _json(value: dict[str, Any]) -> str:
    """Fit to stand in a page."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in " -_.")
