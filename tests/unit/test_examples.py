"""The loops that a newcomer writes are short, and do what they say."""

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_LINES = 15


def run(name, monkeypatch, tmp_path):
    """What an example leaves behind: its names."""
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path):
    lines = path.read_text().splitlines()
    said = ast.parse(path.read_text()).body[0]
    code = [line for line in lines[said.end_lineno :] if line.strip() and not line.strip().startswith("#")]
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert len(code) <= MOST_LINES


def test_the_pole_stands(monkeypatch, tmp_path):
    world = run("cart_pole", monkeypatch, tmp_path)["world"]
    assert abs(world.joint("hinge").angle) < 5e-3
    assert abs(world.joint("rail").position) < 5e-2
    assert world.history("joint:hinge.angle").values[0] == pytest.approx(0.2)


def test_the_block_slides_where_friction_is_too_weak(monkeypatch, tmp_path, capsys):
    run("incline", monkeypatch, tmp_path)
    out = capsys.readouterr().out
    angle = np.radians(20)
    assert f"mu = 0.3: {9.81 * (np.sin(angle) - 0.3 * np.cos(angle)):.4f} m/s" in out
    assert "mu = 0.4: 0.0000 m/s" in out
    assert (out.count("slip"), out.count("stick")) == (4, 4)


def test_the_box_hangs_between_the_fingers(monkeypatch, tmp_path):
    world = run("gripper", monkeypatch, tmp_path)["world"]
    box = world.body("box")
    assert box.position == pytest.approx([0, 0, 0.1 + 0.2 * 1.0], abs=3e-3)
    assert box.contact_force == pytest.approx([0, 0, 0.5 * 9.81], abs=1e-4)
    squeeze = world.contacts.of("box", "left").force_on("box")[0]
    assert squeeze == pytest.approx(15.0, abs=1e-3)


def test_a_push_in_time_topples_the_tower(monkeypatch, tmp_path, capsys):
    run("push", monkeypatch, tmp_path)
    ends = [float(line.split()[-5]) for line in capsys.readouterr().out.splitlines()]
    assert ends == pytest.approx([0.5, 0.15, 0.15], abs=1e-3)


def test_the_pile_is_recorded_and_filmed(monkeypatch, tmp_path, capsys):
    from PIL import Image

    from delassus.io import Recording

    world = run("pile", monkeypatch, tmp_path)["world"]
    assert Recording(tmp_path / "runs" / "pile").state(-1).hash == world.state.hash
    assert "100 %" in capsys.readouterr().err
    with Image.open(tmp_path / "runs" / "pile.gif") as film:
        assert film.n_frames == 16
        frames = []
        for k in (0, 15):
            film.seek(k)
            frames.append(np.asarray(film.convert("RGB"), dtype=int))
    assert (abs(frames[0] - frames[1]) > 60).any(axis=2).mean() > 0.02, "it moved"
    assert (tmp_path / "runs" / "pile-energy.png").exists()


def test_the_soft_block_carries_the_ball(monkeypatch, tmp_path):
    world = run("soft_block", monkeypatch, tmp_path)["world"]
    ball = world.body("ball")
    assert ball.contact_force[2] == pytest.approx(9.81 * ball.mass, rel=0.02)
    assert 0.002 < 0.16 - ball.position[2] < 0.03
