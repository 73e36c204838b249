"""Small models of our own in every format, and files that are not what they claim: one sentence each, nothing else."""

import random

import numpy as np
import pytest

import delassus
from delassus.importers import load_shape

pytest.importorskip("mujoco")
trimesh = pytest.importorskip("trimesh")

ARM = """<mujoco model="arm">
  <option gravity="0 0 -9.81" timestep="0.002"/>
  <asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="slider" pos="0 0 1">
      <joint name="x" type="slide" axis="1 0 0" range="-1 1" damping="2" armature="0.3"/>
      <joint name="turn" type="hinge" axis="0 0 1" stiffness="4" springref="20"/>
      <geom type="box" size=".1 .1 .05"/>
      <site name="tip" pos="0.1 0 0"/>
      <body name="wrist" pos="0.2 0 0">
        <joint name="roll" type="hinge" axis="1 0 0"/>
        <joint name="pitch" type="hinge" axis="0 1 0" ref="10"/>
        <geom type="ellipsoid" size=".05 .03 .02"/>
        <body name="hand" pos="0.1 0 0"><geom type="mesh" mesh="wedge"/><geom type="capsule" size="0.02 0.05"/></body>
      </body>
    </body>
    <body name="ball" pos="2 0 1"><freejoint/><geom type="sphere" size="0.1" rgba="1 .2 0 .5"/></body>
  </worldbody>
  <tendon><fixed name="both"><joint joint="roll" coef="1"/><joint joint="pitch" coef="-0.5"/></fixed></tendon>
  <equality><joint joint1="pitch" joint2="turn" polycoef="0 0.5 0.1 0 0"/></equality>
  <actuator>
    <position name="servo" joint="x" kp="100" kv="5" forcerange="-20 20"/>
    <motor name="motor" joint="turn" gear="3" ctrlrange="-2 2"/>
    <general name="pull" tendon="both" gainprm="2" biasprm="0 -3 0" biastype="affine"/>
  </actuator>
  <keyframe><key name="home" qpos="0.3 0.2 0.1 0.2765 2 0 1 1 0 0 0" ctrl="0.3 0 0"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return path


def test_several_joints_of_one_body(arm):
    """Slide and hinge are a chain with a light link, two crossing hinges a universal joint; totals stay."""
    found = delassus.load_model(arm)
    model = found.model
    assert model.joints.kinds == ("prismatic", "revolute", "universal")
    assert model.body_names == ("slider~1", "slider", "wrist", "ball")
    assert found.joints["pitch"] == ("roll.second", 1.0)
    d = model.joints.coordinate_names.index("x.position")
    assert (model.joints.damping[d], model.joints.armature[d], model.joints.upper[d]) == (2.0, 0.3, 1.0)
    assert model.joints.rest[1] == pytest.approx(np.radians(20))
    assert model.mass[0] / model.mass[:2].sum() == pytest.approx(1e-5)
    assert found.sites["tip"].body == "slider"
    assert model.source.startswith("arm.xml sha256:")
    assert any("light" in text or "links between" in text for text in found.not_carried)


def test_colours_are_carried_over(arm):
    """Of geoms that have one; the others get one where they are drawn."""
    model = delassus.load_model(arm).model
    is_ball = model.shapes.body == model.body_names.index("ball")
    assert model.colours[is_ball] == pytest.approx(np.array([[1.0, 0.2, 0.0, 0.5]]))
    assert np.isnan(model.colours[~is_ball]).all()


def test_coordinates_of_a_keyframe_are_those_of_the_file(arm):
    """The coupling pitch = ref + 0.5 turn + 0.1 turn² holds in the keyframe to its four digits."""
    found = delassus.load_model(arm, keyframe="home")
    values = dict(zip(found.model.joints.coordinate_names, found.state.coordinates(found.model)))
    assert values["x.position"] == pytest.approx(0.3)
    assert values["turn.angle"] == pytest.approx(0.2)
    assert values["roll.first"] == pytest.approx(0.1)
    assert values["roll.second"] == pytest.approx(0.2765)
    assert found.ctrl["servo"] == 0.3


def test_actuators_push_as_they_say(arm):
    found = delassus.load_model(arm, keyframe="home")
    servo, motor, pull = found.actuators
    assert servo.is_drive
    assert not motor.is_drive
    found.set_ctrl({"motor": 5.0, "pull": 1.0})
    inputs = found.inputs(0.0, found.state)
    assert inputs.target[0] == pytest.approx(0.3)
    assert inputs.effort[1] == pytest.approx(3 * 2.0)  # of 5, within its range
    force = 2.0 - 3.0 * (0.1 - 0.5 * 0.2765)
    np.testing.assert_allclose(inputs.effort[2:], (force, -0.5 * force), rtol=1e-6)


def test_hold_makes_servos_of_motors(arm):
    found = delassus.load_model(arm, keyframe="home", hold=(30.0, 2.0))
    assert found.actuators[1].is_drive
    assert found.model.joints.stiffness[1] == pytest.approx(30.0)
    assert found.model.joints.effort[1] == pytest.approx(6.0)
    assert found.inputs(0.0, found.state).target[1] == pytest.approx(0.2)


def test_worlds_and_scenes_run_files(arm):
    world = delassus.World.load(arm, keyframe="home")
    world.run(5)
    assert world.ok
    assert world.report.drift < 1e-8  # couplings included
    setup = delassus.scenes.find(str(arm)).build(ctrl="servo=0.2")
    assert setup.inputs(0.0, setup.state).target[0] == pytest.approx(0.2)


def test_light_links_are_right_to_their_share(arm):
    """Accelerations of a body with two joints, against MuJoCo."""
    import mujoco

    from delassus.importers.imported import coordinates_and_rates

    text = "\n".join(line for line in ARM.splitlines() if "equality" not in line)
    model = mujoco.MjModel.from_xml_string(text)
    data, off = mujoco.MjData(model), mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_ACTUATION)
    path = arm.parent / "free.xml"
    path.write_text(text[: text.index("<actuator>")] + "</mujoco>")
    found = delassus.load_model(path)
    data.qpos[:4], data.qvel[:4] = (0.1, 0.2, 0.3, 0.1), (0.5, -0.3, 0.2, 0.4)
    mujoco.mj_forward(model, data)
    state = found.state_of(data.qpos, data.qvel)
    before = coordinates_and_rates(found.model, state)[1]
    errors = []
    for h in (1e-4, 5e-5):
        after, report = delassus.step(found.model, state, None, delassus.StepSettings(h=h, tol=1e-9))
        assert report.ok
        rates = coordinates_and_rates(found.model, after)[1]
        errors.append(np.abs((rates - before) / h - data.qacc[:4]).max() / np.abs(data.qacc[:4]).max())
    assert errors[1] < 0.6 * errors[0] + 1e-4
    assert errors[1] < 1e-2


PAIRS = """<mujoco><option gravity="2 0 -9.81"/>
  <default><geom type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/></default>
  <worldbody><geom name="floor" type="plane"/>
  <body name="slow" pos="0 0 0.1"><freejoint/><geom name="a"/></body>
  <body name="held" pos="0 1 0.1"><freejoint/><geom name="b"/></body>
  <body name="over" pos="0 0 0.5"><freejoint/><geom name="c"/></body></worldbody>
  <contact><pair geom1="floor" geom2="a" friction="0.1 0.1 0.1 0.1 0.1"/>
  <pair geom1="floor" geom2="b" friction="0.3 0.3 0.1 0.1 0.1" condim="6"/></contact></mujoco>"""


def test_contact_pairs_touch_with_their_own_friction(tmp_path):
    """Nothing else touches in this file: what slides does so at g_x − μ g, and what no pair names falls."""
    path = tmp_path / "pairs.xml"
    path.write_text(PAIRS)
    world = delassus.World.load(path)
    world.run(seconds=0.2)
    assert world.body("slow").velocity[0] == pytest.approx(0.2 * (2.0 - 0.1 * 9.81), rel=1e-6)
    assert world.body("held").velocity == pytest.approx(0.0, abs=1e-6)
    assert world.body("over").velocity[2] == pytest.approx(-0.2 * 9.81)
    assert not any("contact pair" in text for text in world.imported.not_carried)
    assert any(
        text.startswith("condim 6 (floor–b): friction against twisting and rolling")
        for text in world.imported.not_carried
    )
    path.write_text(PAIRS.replace('type="plane"', 'type="plane" contype="1" friction="0.7"'))
    notes = delassus.load_model(path).not_carried
    assert any("contact pair (floor–a" in text and "0.7, not its own" in text for text in notes)


TENDONS = """<mujoco><worldbody>
  <body name="one"><joint name="p" axis="0 1 0" ref="10"/><geom size="0.1" pos="0.3 0 0"/>
  <body name="two" pos="0.6 0 0"><joint name="q" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>
  <body name="three" pos="0.6 0 0"><joint name="r" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></body></body>
  </worldbody>
  <tendon><fixed name="s" range="-0.5 1e10" limited="true">
  <joint joint="p" coef="1"/><joint joint="q" coef="2"/></fixed>
  <fixed name="t"><joint joint="r" coef="3"/></fixed></tendon>
  <equality><tendon tendon1="s" tendon2="t" polycoef="0 0.5 0.2 0 0"/></equality></mujoco>"""


def test_bodies_moved_from_outside_stand(tmp_path):
    """Mocap bodies, and what is fixed to them, are parts of the world; what hangs on them swings."""
    path = tmp_path / "mocap.xml"
    path.write_text("""<mujoco><worldbody><body name="guide" mocap="true" pos="0 0 1"><geom size="0.1"/>
      <body name="plate" pos="0 0 0.2"><geom type="box" size=".1 .1 .1"/>
      <body name="bob"><joint axis="0 1 0"/><geom size="0.1" pos="1 0 0"/></body></body></body></worldbody></mujoco>""")
    found = delassus.load_model(path)
    assert any("mocap (guide)" in line for line in found.not_carried)
    assert found.model.body_names == ("bob",)
    np.testing.assert_allclose(found.state.q[0, :3], [1.0, 0.0, 1.2])


def test_what_a_file_switches_off_does_not_act(tmp_path):
    """Flags of the options: each takes away its own, `constraint` all rows; others stay."""

    def acting(flag):
        path = tmp_path / f"{flag}.xml"
        path.write_text(ARM.replace('timestep="0.002"/>', f'timestep="0.002"><flag {flag}="disable"/></option>'))
        found = delassus.load_model(path)
        assert not any("disabled" in line for line in found.not_carried)
        model, joints = found.model, found.model.joints
        assert model.shapes.count == 6  # what does not touch is still seen
        acts = {
            "gravity": model.gravity.any(),
            "limit": np.isfinite(joints.upper).any(),
            "equality": model.couplings is not None,
            "spring": joints.rest[1] != 0.0,
            "damper": (joints.damping > 0.0).any(),
            "actuation": len(found.actuators) > 0,
            "contact": (model.shapes.group[1:] & model.shapes.mask[0]).any(),
            "clampctrl": any(np.isfinite(a.ctrl_range).any() for a in found.actuators) or not found.actuators,
        }
        return {name for name, value in acts.items() if not value}

    assert acting("warmstart") == set()
    for flag in ("gravity", "limit", "equality", "spring", "damper", "actuation", "contact", "clampctrl"):
        assert acting(flag) == {flag}
    assert acting("constraint") == {"contact", "limit", "equality"}


def test_equal_tendons_are_couplings(tmp_path):
    """p − p⁰ + 2 q = ½ (3 r) + 0.2 (3 r)² while they fall; a polynomial of a sum is not known."""
    path = tmp_path / "tendons.xml"
    path.write_text(TENDONS)
    world = delassus.World.load(path)
    world.run(seconds=0.3)
    assert world.ok
    p, q, r = (world.joint(name).angle for name in "pqr")
    assert abs(r) > 0.01
    assert p - np.radians(10) + 2 * q == pytest.approx(1.5 * r + 0.2 * (3 * r) ** 2, abs=1e-8)
    assert world.tendon("s").limits == (-0.5, np.inf)
    assert not any("tendon" in text for text in world.imported.not_carried)
    path.write_text(TENDONS.replace('tendon1="s" tendon2="t"', 'tendon1="t" tendon2="s"'))
    found = delassus.load_model(path)
    assert found.model.couplings.names == ("s",)
    assert any("only a linear one" in text for text in found.not_carried)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb"])
def test_meshes_are_hulls(tmp_path, ending):
    box = trimesh.creation.box((0.2, 0.3, 0.4))
    box.export(tmp_path / f"box.{ending}")
    shape = load_shape(tmp_path / f"box.{ending}")
    assert shape.volume == pytest.approx(0.024, rel=1e-5)
    model, state = delassus.load_model(tmp_path / f"box.{ending}")
    np.testing.assert_allclose(model.mass, 24.0, rtol=1e-5)


@pytest.mark.slow
def test_a_mesh_that_is_not_convex_is_cut_into_parts(tmp_path):
    """An angle of two boxes: its hull is larger than itself, its parts are not."""
    pytest.importorskip("coacd")
    angle = trimesh.util.concatenate(
        [trimesh.creation.box((1, 0.2, 0.2)), trimesh.creation.box((0.2, 1, 0.2)).apply_translation((0.4, 0.6, 0))]
    )
    angle.export(tmp_path / "angle.stl")
    hull, parts = (load_shape(tmp_path / "angle.stl", decompose=x) for x in (False, True))
    assert hull.volume > 1.5 * 0.08
    assert len(parts.parts) >= 2
    assert parts.volume == pytest.approx(0.08, rel=0.2)  # coacd meshes the surface anew, a little outside


def test_no_entities_no_outside_no_plain_nonsense(tmp_path):
    (tmp_path / "secret.stl").write_bytes(b"solid")
    inner = tmp_path / "model"
    inner.mkdir()
    for text, said in (
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco>&a;</mujoco>', "document type"),
        ('<mujoco><asset><mesh name="m" file="../secret.stl"/></asset></mujoco>', "outside the model's folder"),
        ('<mujoco><include file="/etc/passwd"/></mujoco>', "outside the model's folder"),
        ('<mujoco><include file="model.xml"/></mujoco>', "include itself"),
        ('<mujoco><worldbody><body pos="0 0 nan"><geom size="1"/><freejoint/></body></worldbody></mujoco>', "xml.*nan"),
        ("<mujoco>", "no XML"),
        ("<mujocoinclude/>", "load the one that includes it"),
        ("<package/>", "no MJCF.*<package>"),
        ("<mujoco><asset><mesh file='nowhere.stl'/></asset></mujoco>", "no such file"),
    ):
        (inner / "model.xml").write_text(text)
        with pytest.raises(delassus.DelassusError, match=said):
            delassus.load_model(inner / "model.xml")
    (inner / "robot.urdf").write_text(
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://other/m.stl"/></geometry></visual>'
        "</link></robot>"
    )
    with pytest.raises(delassus.DelassusError, match="packages="):
        delassus.load_model(inner / "robot.urdf")
    with pytest.raises(delassus.DelassusError, match="no importer"):
        delassus.load_model(__file__)


def test_packages_of_ros_are_found(tmp_path):
    """package://name/… is the folder of that name which the model lies in, or beside, if it has a package.xml."""
    (tmp_path / "robot/meshes").mkdir(parents=True)
    (tmp_path / "robot/urdf").mkdir()
    (tmp_path / "robot/package.xml").write_text("<package/>")
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "robot/meshes/cube.stl")
    (tmp_path / "robot/urdf/robot.urdf").write_text("""<robot name="r">
      <link name="base"><inertial><mass value="3"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="arm"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><mesh filename="package://robot/meshes/cube.stl"/></geometry></collision></link>
      <link name="finger"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="2" effort="5" velocity="1"/></joint>
      <joint name="k" type="revolute"><parent link="arm"/><child link="finger"/><axis xyz="0 0 1"/>
        <limit lower="-2" upper="4" effort="5" velocity="1"/><mimic joint="j" multiplier="2"/></joint>
    </robot>""")
    found = delassus.load_model(tmp_path / "robot/urdf/robot.urdf")
    np.testing.assert_allclose(found.model.mass, (2.0, 1.0))
    assert found.model.joints.upper[0] == 2.0
    assert found.model.couplings.count == 1
    d = found.model.couplings.evaluate(found.model.joints, np.array([0.5, 1.0]), np.zeros((2, 12)), 2)[0]
    assert d[0] == pytest.approx(0.0)
    floating = delassus.load_model(tmp_path / "robot/urdf/robot.urdf", floating=True)
    np.testing.assert_allclose(floating.model.mass, (3.0, 2.0, 1.0))


def mutated(content, rng):
    """A file with a few bytes changed, lines moved, numbers made strange."""
    out = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        way, at = rng.randrange(4), rng.randrange(len(out))
        if way == 0:
            out[at] = rng.randrange(256)
        elif way == 1:
            del out[at : at + rng.randint(1, 40)]
        elif way == 2:
            out[at:at] = rng.choice([b"nan", b"1e308", b"-1", b"<", b'"', b"0 0 0", b"\x00", b"inf", b"@x@"])
        else:
            out[at:at] = out[rng.randrange(len(out)) :][: rng.randint(1, 60)]
        out = out or bytearray(b" ")
    return bytes(out)


def try_mutations(tmp_path, count, seed):
    """Whatever comes out is a model or one sentence."""
    rng = random.Random(seed)
    trimesh.creation.icosphere(1).export(tmp_path / "ball.stl")
    trimesh.creation.icosphere(1).export(tmp_path / "ball.ply")
    usd = '#usda 1.0\ndef Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n{\n    float physics:mass = 1\n    float3 physics:diagonalInertia = (1, 1, 1)\n    def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n    {\n    }\n}\n'  # noqa: E501
    texts = {
        "arm.xml": ARM.encode(),
        "a.usda": usd.encode(),
        "ball.stl": (tmp_path / "ball.stl").read_bytes(),
        "ball.ply": (tmp_path / "ball.ply").read_bytes(),
    }
    messages = []
    for k in range(count):
        name = list(texts)[k % len(texts)]
        path = tmp_path / name
        path.write_bytes(mutated(texts[name], rng))
        try:
            delassus.load_model(path)
        except delassus.DelassusError as error:
            messages.append(str(error))
    assert not [text for text in messages if "\n" in text or "Traceback" in text]
    return len(messages)


def test_mutated_files_are_models_or_one_sentence(tmp_path):
    assert try_mutations(tmp_path, 8, 1) > 1


@pytest.mark.slow
def test_a_thousand_mutated_files(tmp_path):
    assert try_mutations(tmp_path, 1000, 2) > 300


def test_controls_act_in_all_steps_of_a_call_until_they_change(tmp_path):
    path = tmp_path / "servo.xml"
    path.write_text(
        '<mujoco><worldbody><body pos="0 0 1"><joint name="turn" axis="0 1 0"/><geom type="box" size=".1 .02 .02"/>'
        '</body></worldbody><actuator><position name="servo" joint="turn" kp="2" kv="0.1"/></actuator></mujoco>'
    )
    together, single = delassus.World.load(path), delassus.World.load(path)
    for target in (0.5, -0.3):
        for world in (together, single):
            world.imported.set_ctrl({"servo": target})
        assert together.copy().are_constant
        together.run(60)
        for _ in range(60):
            single.run(1)
        assert together.state.hash == single.state.hash
    assert together.state.coordinates(together.model)[0] < 0.0 < 0.5
