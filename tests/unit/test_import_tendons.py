"""Fixed tendons of MJCF: limits, springs, damping and armature, beside MuJoCo's own."""

import numpy as np
import pytest

import delassus

mujoco = pytest.importorskip("mujoco")

FINGER = """<mujoco><option timestep="0.002"/><worldbody>
  <body><joint name="a" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" size="0.01" fromto="0 0 0 0.2 0 0" mass="0.2"/>
  <body pos="0.2 0 0"><joint name="b" axis="0 1 0" damping="0.05"/>
  <geom type="capsule" size="0.01" fromto="0 0 0 0.2 0 0" mass="0.1"/>
  <body pos="0.2 0 0"><joint name="c" axis="0 1 0" damping="0.05"/>
  <geom type="capsule" size="0.01" fromto="0 0 0 0.1 0 0" mass="0.05"/></body></body></body></worldbody>
  <tendon><fixed name="string" @><joint joint="a" coef="1"/><joint joint="b" coef="0.5"/><joint joint="c" coef="0.25"/>
  </fixed></tendon></mujoco>"""


def beside_mujoco(tmp_path, words, seconds, h):
    """The finger with these words of its tendon after some time: a world of ours, and MuJoCo's data."""
    path = tmp_path / "finger.xml"
    path.write_text(FINGER.replace("@", words).replace('timestep="0.002"', f'timestep="{h}"'))
    world = delassus.World.load(path)
    world.run(round(seconds / h))
    assert world.ok
    assert not [text for text in world.imported.not_carried if "tendon" in text]
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for _ in range(round(seconds / h)):
        mujoco.mj_step(model, data)
    return world, data


def test_a_limited_tendon_stops_a_finger_where_mujocos_gives(tmp_path):
    """Three links fall until their tendon is tight, and come to rest: ours at the limit to 1e-8, theirs near it, with
    the same pull to the accuracy of their softness."""
    world, data = beside_mujoco(tmp_path, 'range="-0.3 1.1"', 4.0, 4e-3)
    tendon = world.tendon("string")
    assert tendon.length == pytest.approx(1.1, abs=1e-8)
    assert data.ten_length[0] == pytest.approx(1.1, abs=2e-2)
    assert abs(data.ten_length[0] - 1.1) > 1e-5  # soft
    pull = data.qfrc_constraint[0]
    assert tendon.force == pytest.approx(pull, rel=2e-2)
    np.testing.assert_allclose([world.joint(name).angle for name in "abc"], data.qpos, atol=2e-2)


@pytest.mark.parametrize(
    "words",
    [
        'stiffness="0.4" springlength="0.2"',
        'stiffness="0.4" springlength="0.2 0.5"',
        'damping="0.02" armature="0.003"',
        'stiffness="0.3" springlength="0.6" damping="0.01" range="-9 9"',
    ],
)
def test_springs_dampers_and_armature_of_tendons_act_as_mujocos(tmp_path, words):
    """Angles after 0.2 s: both integrate to first order, h = 2 ms, then 0.2 ms."""
    off = []
    for h in (2e-3, 2e-4):
        world, data = beside_mujoco(tmp_path, words, 0.2, h)
        off.append(np.abs([world.joint(name).angle for name in "abc"] - data.qpos).max())
    assert off[1] < 0.2 * off[0]
    assert off[1] < 3e-3


@pytest.mark.parametrize("gear", [1.0, 2.0, -0.5])
def test_the_force_on_a_tendon_is_clamped_where_mujoco_clamps_it(tmp_path, gear):
    """Before the gear: a range of 3 N behind a gear of 2 leaves 6 N."""
    path = tmp_path / "finger.xml"
    motor = f'<actuator><motor tendon="string" gear="{gear}"/></actuator></mujoco>'
    path.write_text(FINGER.replace("@", 'actuatorfrcrange="-2 3"').replace("</mujoco>", motor))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    (actuator,) = delassus.load_model(path).actuators
    for ctrl in (-100.0, 1.0, 100.0):
        data.ctrl[0], effort = ctrl, np.zeros(3)
        mujoco.mj_forward(model, data)
        actuator.push(ctrl, None, None, effort)
        np.testing.assert_allclose(effort, data.qfrc_actuator, rtol=1e-12)


def test_what_tendons_say_that_is_not_carried_over_is_listed(tmp_path):
    path = tmp_path / "finger.xml"
    path.write_text(FINGER.replace("@", 'range="-1 1" margin="0.1"'))
    notes = delassus.load_model(path).not_carried
    assert any(text.startswith("tendon margin (string)") for text in notes)
    spatial = '<spatial name="rope" range="0 1"><site site="u"/><site site="v"/></spatial></tendon>'
    text = FINGER.replace("@", 'range="-1 1"').replace("</tendon>", spatial)
    path.write_text(text.replace("<worldbody>", '<worldbody><site name="u"/><site name="v" pos="1 0 0"/>'))
    notes = delassus.load_model(path).not_carried
    assert [text for text in notes if text.startswith("spatial tendon (rope): is left out") and "limits" in text]
