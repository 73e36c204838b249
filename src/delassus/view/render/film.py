"""Recordings as pictures, strips of pictures and films."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from delassus.errors import FileError, SettingsError
from delassus.io.place import label
from delassus.io.recording import Trajectory
from delassus.io.recording.columns import STATUSES
from delassus.model.model import Model
from delassus.view.drawing import Drawing, arrow_scale
from delassus.view.render.extra import need
from delassus.view.render.stage import GAP, Look, Stage

MOST_FRAMES = 20_000
_LOOKS = 200  # states that say what the picture shows, and how large forces and stresses are
_GAP = 6  # pixels between the pictures of a strip
_QUALITY = 7  # of H.264, 0 … 10


def pictures(
    run: Trajectory, model: Model, steps: np.ndarray, look: Look, *, title: str | None = ""
) -> Iterator[np.ndarray]:
    """(height, width, 3) bytes after each of these numbers of steps."""
    stage = make_stage(run, model, look)
    try:
        for k in steps.tolist():
            contacts = run.contacts(k - 1) if k else None
            yield stage.picture(run.state(k), contacts, caption_of(run, k, title))
    finally:
        stage.close()


def make_stage(run: Trajectory, model: Model, look: Look) -> Stage:
    """Set up for all of a run."""
    some = np.unique(np.linspace(0, run.step_count, _LOOKS).astype(int))
    nodes = np.stack([run.state(int(k)).nodes for k in some[:: max(1, len(some) // 20)]]) if model.node_count else None
    drawing = Drawing(model, run.q[some], nodes)
    forces = run.array("contacts/force") if run.step_count else np.zeros((0, 3))
    most = 1.0
    if nodes is not None and look.stress:
        most = max(float(drawing.node_stress(x).max()) for x in nodes) or 1.0
    return Stage(drawing, look, arrow_scale(forces, drawing.size), most)


def caption_of(run: Trajectory, k: int, title: str | None) -> str:
    """What stands under a picture: time, contacts, and how well the step was solved; nothing without a title."""
    if title is None:
        return " "
    words = [title] if title else []
    words.append(f"t = {run.t[k]:.3f} s")
    if k:
        slipping = int((run.contacts(k - 1).status == 2).sum())
        status = STATUSES[int(run.array("solver/status")[k - 1])].value.replace("_", " ")
        words.append(f"{int(run.contact_counts[k - 1])} contacts, {slipping} slip")
        words.append(f"{status}, residual {run.residual[k - 1]:.0e}")
    return GAP.join(words)


def frames_between(run: Trajectory, first: float | None, last: float | None, fps: float, speed: float) -> np.ndarray:
    """Numbers of steps after which the frames of a film are taken.  first, last [s]; speed: of the film over that of
    what happened."""
    for name, value in (("fps", fps), ("speed", speed)):
        if not (math.isfinite(value) and value > 0.0):
            raise SettingsError(f"{name} is {value}: give a number above zero")
    t = run.t
    start, end = (t[0] if first is None else first), (t[-1] if last is None else last)
    if not t[0] <= start <= end <= t[-1] + 1e-9:
        raise SettingsError(f"times {start:g} … {end:g} s: the recording has {t[0]:g} … {t[-1]:g} s")
    count = int((end - start) * fps / speed + 1e-9) + 1
    if count > MOST_FRAMES:
        raise SettingsError(f"{count} frames, at most {MOST_FRAMES} are drawn: lower fps or raise speed")
    return nearest_steps(run, start + np.arange(count) * speed / fps)


def nearest_steps(run: Trajectory, times: np.ndarray) -> np.ndarray:
    """Numbers of steps whose states are the first at or after these times [s]."""
    return np.minimum(np.searchsorted(run.t, times - 1e-9), run.step_count)


def strip_of(run: Trajectory, model: Model, count: int, look: Look, *, title: str | None = "") -> np.ndarray:
    """(height, width, 3) bytes: so many pictures side by side, from the first state to the last."""
    steps = nearest_steps(run, np.linspace(run.t[0], run.t[-1], count))
    found = list(pictures(run, model, steps, look, title=title))
    gap = np.full((found[0].shape[0], _GAP, 3), 255, np.uint8)
    return np.concatenate([x for picture in found for x in (gap, picture)][1:], axis=1)


def write_picture(path: Path, picture: np.ndarray) -> None:
    """As a PNG file."""
    from io import BytesIO

    from PIL import Image

    from delassus.io.place import place

    stream = BytesIO()
    Image.fromarray(picture).save(stream, format="png", optimize=True)
    try:
        place(path, stream.getbuffer())
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None


def write_film(path: Path, frames: Iterator[np.ndarray], look: Look, fps: float, done: Callable[[int], None]) -> None:
    """As an MP4 file (H.264), put in place when it is whole.  done: called with the number of frames written."""
    need()
    import imageio_ffmpeg

    temporary = path.with_name(f".{path.stem}.part.mp4")
    size = (look.size[0] // 2 * 2, look.size[1] // 2 * 2)  # H.264 halves its colours: even sides
    try:
        writer = imageio_ffmpeg.write_frames(
            str(temporary), size, fps=fps, quality=_QUALITY, codec="libx264", macro_block_size=2
        )
        writer.send(None)
        for k, frame in enumerate(frames):
            writer.send(np.ascontiguousarray(frame[: size[1], : size[0]]))
            done(k + 1)
        writer.close()
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)
