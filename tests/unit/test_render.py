"""Pictures and films of recordings: something is seen, it moves, and it is where the bodies are."""

import dataclasses
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import assert_refused, delassus

from delassus import Box, ModelBuilder, Recording, World, fem
from delassus.view.render import extra
from delassus.view.source import title_of

pytestmark = pytest.mark.skipif(not extra.is_installed(), reason="the extra `render` is not installed")
SIZE = "200x150"


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    """A ball that falls and bounces."""
    place = tmp_path_factory.mktemp("ball")
    World.from_scene("bouncing-ball").run(200, record=place)
    return place


def read(path):
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGB")).astype(int)


def test_a_picture_shows_the_body_and_another_one_that_it_moved(ball, tmp_path):
    for name, at in (("first", 0.0), ("last", 0.2)):
        done = delassus("render", ball, "--out", tmp_path / f"{name}.png", "--at", at, "--size", SIZE, "--no-captions")
        assert done.exit_code == 0, done.output
    first, last = read(tmp_path / "first.png"), read(tmp_path / "last.png")
    assert first.shape == last.shape == (150, 200, 3)
    assert first.std() > 5.0
    blue = [picture[..., 2] - picture[..., 0] > 40 for picture in (first, last)]
    heights = [np.flatnonzero(mask.any(axis=1)).mean() for mask in blue]
    assert heights[1] > heights[0] + 5  # rows count downwards: it fell


def test_strips_and_films(ball, tmp_path):
    assert delassus("render", ball, "--out", tmp_path / "s.png", "--frames", 3, "--size", SIZE).exit_code == 0
    assert read(tmp_path / "s.png").shape == (150, 3 * 200 + 2 * 6, 3)
    assert delassus("render", ball, "--out", tmp_path / "f.mp4", "--fps", 20, "--size", SIZE).exit_code == 0
    import imageio_ffmpeg

    reader = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-i",
        str(tmp_path / "f.mp4"),
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    found = subprocess.run(reader, capture_output=True, check=True).stdout
    pictures = np.frombuffer(found, np.uint8).astype(int).reshape(-1, 150, 200, 3)
    assert len(pictures) == 5
    assert abs(pictures[0] - pictures[-1]).max() > 50
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.mp4", "s.png"]  # nothing half-made is left


def test_flexible_bodies_are_drawn_by_their_stress(tmp_path):
    builder = ModelBuilder()
    beam = builder.flexible("beam", fem.block(size=(1, 0.1, 0.1), cells=(6, 1, 1)), fem.Elastic(1e6))
    builder.weld(beam, "x-")
    builder.body("box", density=100.0, shapes=[Box((0.1, 0.1, 0.1))], position=(0.5, 0, 0.5))
    World(*builder.build(), h=2e-3).run(30, record=tmp_path / "run")
    assert delassus("render", tmp_path / "run", "--out", tmp_path / "b.png", "--size", SIZE).exit_code == 0
    picture = read(tmp_path / "b.png")
    assert (picture[..., 0] - picture[..., 2] > 60).any()  # red, at the clamp
    assert (picture[..., 2] - picture[..., 0] > 60).any()  # blue, at the tip


def test_runs_are_summed_up_with_pictures(tmp_path):
    for name in ("--pictures", "--no-pictures"):
        done = delassus("run", "bouncing-ball", "--steps", 20, "--out", tmp_path / name, name)
        assert done.exit_code in (0, 1), done.output
    tall, plain = (read(tmp_path / name / "summary.png").shape for name in ("--pictures", "--no-pictures"))
    assert tall[0] > plain[0] + 150
    assert tall[1] == plain[1]


def test_what_cannot_be_drawn_is_one_sentence(ball, tmp_path, monkeypatch):
    assert_refused(delassus("render", ball, "--out", tmp_path / "x.gif"), "ends in .mp4 or .png")
    assert_refused(delassus("render", ball, "--out", tmp_path / "x.png", "--at", 9), "0.2 s")
    assert_refused(delassus("render", ball, "--out", tmp_path / "x.png", "--size", "9x9"), "--size")
    assert_refused(delassus("render", ball, "--out", tmp_path / "x.mp4", "--fps", 0), "fps")
    assert_refused(delassus("render", tmp_path, "--out", tmp_path / "x.png"), "holds no recording")
    monkeypatch.setattr(extra, "is_installed", lambda: False)
    assert_refused(delassus("render", ball, "--out", tmp_path / "x.png"), "pip install 'delassus[render]'")


def test_recordings_of_scenes_without_a_model_are_drawn_too(ball, tmp_path):
    import shutil

    shutil.copytree(ball, tmp_path / "old")
    (tmp_path / "old" / "recording" / "model.hdf5").unlink()
    assert not Recording(tmp_path / "old").has_model
    assert delassus("render", tmp_path / "old", "--out", tmp_path / "o.png", "--size", SIZE).exit_code == 0


def test_captions_name_the_file_and_stay_in_the_picture(ball, tmp_path):
    from delassus.view.drawing import Drawing
    from delassus.view.render.stage import Look, Stage

    run = Recording(ball)
    named = dataclasses.replace(run.about, scene="/home/somebody/robots/arm/scene.xml")
    assert title_of(SimpleNamespace(about=named)) == "arm/scene.xml"
    stage = Stage(Drawing(run.model, run.q), Look((200, 150)), 1.0, 1.0)
    assert stage._in_lines("bouncing-ball   t = 0.1 s   1 contacts") == "bouncing-ball\nt = 0.1 s   1 contacts"
    stage.close()
