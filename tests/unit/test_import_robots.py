"""Real robots, MJCF and URDF: masses, inertias, limits, poses and accelerations against MuJoCo's own model."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import delassus
from delassus import StepSettings
from delassus.collision import detect, shape_arrays
from delassus.importers.imported import coordinates_and_rates
from delassus.spatial import quaternion_to_matrix

mujoco = pytest.importorskip("mujoco")

MJCF = (
    "agility_cassie/cassie.xml",
    "agility_cassie/scene.xml",
    "anybotics_anymal_c/anymal_c.xml",
    "anybotics_anymal_c/anymal_c_mjx.xml",
    "anybotics_anymal_c/scene.xml",
    "anybotics_anymal_c/scene_mjx.xml",
    "iit_softfoot/scene.xml",
    "iit_softfoot/softfoot.xml",
    "kuka_iiwa_14/iiwa14.xml",
    "kuka_iiwa_14/scene.xml",
    "robotiq_2f85/2f85.xml",
    "robotiq_2f85/scene.xml",
    "shadow_hand/right_hand.xml",
    "shadow_hand/scene_right.xml",
)
URDF = ("cartpole.urdf", "quadruped.urdf")
EVERY = [pytest.param(f"mjcf/{name}", id=name) for name in MJCF] + [pytest.param(f"urdf/{n}", id=n) for n in URDF]


@cache
def both(path):
    """(ours, MuJoCo's model and data at its reference)."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return delassus.load_model(path), model, data


def welded(model, data):
    """Mass, centre and inertia about it of everything that moves as one, world frame, by the name of its first body."""
    out = {}
    for root in np.unique(model.body_weldid):
        if root == 0:
            continue
        parts = np.flatnonzero(model.body_weldid == root)
        mass = model.body_mass[parts].sum()
        centre = model.body_mass[parts] @ data.xipos[parts] / mass
        inertia = np.zeros((3, 3))
        for b in parts:
            R, d = data.ximat[b].reshape(3, 3), data.xipos[b] - centre
            inertia += R @ np.diag(model.body_inertia[b]) @ R.T + model.body_mass[b] * (
                d @ d * np.eye(3) - np.outer(d, d)
            )
        out[model.body(root).name] = mass, centre, inertia
    return out


@pytest.mark.parametrize("name", EVERY)
def test_masses_inertias_and_poses_are_those_of_mujoco(robots_dir, name):
    ours, model, data = both(robots_dir / name)
    state = ours.state
    found = dict(zip(ours.model.body_names, range(ours.model.body_count)))
    for body, (mass, centre, inertia) in welded(model, data).items():
        b = found[body]
        R = quaternion_to_matrix(state.q[b, 3:])
        assert ours.model.mass[b] == pytest.approx(mass, rel=1e-10), body
        np.testing.assert_allclose(R @ ours.model.inertia[b] @ R.T, inertia, rtol=0, atol=1e-10 * np.abs(inertia).max())
        np.testing.assert_allclose(state.q[b, :3], centre, rtol=0, atol=1e-10)
        np.testing.assert_allclose(np.abs(state.q[b, 3:] @ data.xquat[model.body(body).id]), 1.0, rtol=0, atol=1e-10)
    total = model.body_mass[model.body_weldid > 0].sum()
    assert ours.model.mass.sum() == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_joints_are_those_of_mujoco(robots_dir, name):
    """Limits, damping, friction, springs and armature of every hinge and slide; two that roll are one of ours."""
    ours, model, _ = both(robots_dir / name)
    joints = ours.model.joints
    number = {coordinate: d for d, coordinate in enumerate(joints.coordinate_names)}
    for j in range(model.njnt):
        joint = model.joint(j)
        if model.jnt_type[j] not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
            assert joint.name not in ours.joints
            continue
        coordinate, factor = ours.joints[joint.name]
        d, v = number[coordinate], model.jnt_dofadr[j]
        lower, upper = joint.range if model.jnt_limited[j] else (-np.inf, np.inf)
        np.testing.assert_allclose(factor * joints.lower[d], lower, rtol=1e-10)
        np.testing.assert_allclose(factor * joints.upper[d], upper, rtol=1e-10)
        one = 1.0 if factor == 1.0 else 2.0  # of two equal ones, in which a rolling joint's is twice each one's
        for mine, other in (
            (joints.damping[d], model.dof_damping[v]),
            (joints.armature[d], model.dof_armature[v]),
            (joints.spring[d], model.jnt_stiffness[j]),
        ):
            assert mine / factor**2 / one == pytest.approx(other, rel=1e-10)
        assert joints.friction[d] == pytest.approx(model.dof_frictionloss[v], rel=1e-10)
        if joints.spring[d]:
            assert factor * joints.rest[d] == pytest.approx(model.qpos_spring[model.jnt_qposadr[j]], rel=1e-10)
    assert len(ours.joints) == np.isin(model.jnt_type, (2, 3)).sum()


@pytest.mark.parametrize("name", EVERY)
def test_actuators_and_keyframes_are_those_of_mujoco(robots_dir, name):
    ours, model, data = both(robots_dir / name)
    assert [a.name for a in ours.actuators] == [model.actuator(k).name or f"actuator{k}" for k in range(model.nu)]
    assert list(ours.keyframes) == [model.key(k).name for k in range(model.nkey)]
    for k in range(model.nkey):
        other = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, other, k)
        mujoco.mj_kinematics(model, other)
        state = ours.keyframes[model.key(k).name].state
        for b, body in enumerate(ours.model.body_names):
            at = other.body(body).xpos + quaternion_to_matrix(other.body(body).xquat) @ ours.model.centre[b]
            # loops that the keyframe leaves open, cassie's by a millimetre, are closed
            assert np.linalg.norm(state.q[b, :3] - at) < (1e-3 if model.neq else 1e-10)


def random_state(model, rng):
    """Positions well within limits, velocities of about 0.3."""
    qpos = model.qpos0.copy()
    for j in range(model.njnt):
        p = model.jnt_qposadr[j]
        if model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_FREE):
            qpos[p : p + 3] += rng.normal(size=3)
            turn = rng.normal(size=4)
            qpos[p + 3 : p + 7] = turn / np.linalg.norm(turn)
        else:
            lower, upper = model.jnt_range[j] if model.jnt_limited[j] else (-1.0, 1.0)
            qpos[p] = rng.uniform(lower, upper)
    return qpos, 0.3 * rng.normal(size=model.nv)


def bare(model):
    """Without contacts, limits, motors and dry friction, which MuJoCo's model is told to leave out, too."""
    joints, none = model.joints, np.zeros(model.joints.coordinate_count)
    joints = replace(
        joints,
        lower=none - np.inf,
        upper=none + np.inf,
        friction=none,
        stiffness=none,
        rate_gain=none,
        effort=none + np.inf,
        drive=np.zeros_like(joints.drive),
    )
    return replace(model, joints=joints, shapes=shape_arrays([]))


@pytest.mark.parametrize(
    "name", ["kuka_iiwa_14/iiwa14.xml", "anybotics_anymal_c/anymal_c.xml", "shadow_hand/right_hand.xml"]
)
def test_accelerations_of_open_chains_are_those_of_mujoco(robots_dir, name):
    """(v⁺ − v)/h → q̈ of mj_forward, at first order: 20 random states, efforts on all joints."""
    ours, model, _ = both(robots_dir / "mjcf" / name)
    data, off = mujoco.MjData(model), mujoco.mjtDisableBit
    flags = model.opt.disableflags
    model.opt.disableflags |= int(
        off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_ACTUATION | off.mjDSBL_FRICTIONLOSS
    )
    mine, rng = bare(ours.model), np.random.default_rng(16)
    joints = [j for j in range(model.njnt) if model.joint(j).name in ours.joints]
    dofs = model.jnt_dofadr[joints]
    order = [mine.joints.coordinate_names.index(ours.joints[model.joint(j).name][0]) for j in joints]
    errors = {1e-4: [], 5e-5: []}
    for _ in range(20):
        data.qpos[:], data.qvel[:] = random_state(model, rng)
        effort = rng.normal(size=len(joints))
        data.qfrc_applied[dofs] = effort
        mujoco.mj_forward(model, data)
        state = ours.state_of(data.qpos, data.qvel)
        given = np.zeros(mine.joints.coordinate_count)
        given[order] = effort
        rates = coordinates_and_rates(mine, state)[1]
        np.testing.assert_allclose(rates[order], data.qvel[dofs], atol=1e-10)
        for h, found in errors.items():
            after, report = delassus.step(
                mine, state, delassus.Inputs.of(mine, effort=given), StepSettings(h=h, tol=1e-10)
            )
            assert report.ok
            found.append(
                np.abs((coordinates_and_rates(mine, after)[1] - rates)[order] / h - data.qacc[dofs]).max()
                / np.abs(data.qacc[dofs]).max()
            )
    model.opt.disableflags = flags
    coarse, fine = (np.array(errors[h]) for h in (1e-4, 5e-5))
    assert fine.max() < 0.05
    assert np.median(fine / coarse) == pytest.approx(0.5, abs=0.05)


def test_what_cannot_be_read_says_so(robots_dir):
    """A list of keyframes without bodies, and a URDF with links that have no mass."""
    with pytest.raises(delassus.DelassusError, match=r"keyframes.xml: .*qpos"):
        delassus.load_model(robots_dir / "mjcf/shadow_hand/keyframes.xml")
    with pytest.raises(delassus.DelassusError, match=r"humanoid.urdf: .*mass and inertia of moving bodies"):
        delassus.load_model(robots_dir / "urdf/humanoid.urdf")


@pytest.mark.parametrize("name", MJCF)
def test_the_same_bodies_overlap_as_in_mujoco(robots_dir, name):
    """At the keyframe, or else the first pose: the filter of neighbours is MuJoCo's. Where feet start in the ground
    (those of anymal_c by 1 cm), they do so there, too."""
    ours, model, data = both(robots_dir / f"mjcf/{name}")
    if ours.keyframes:
        ours = ours.at(next(iter(ours.keyframes)))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
    deep = 1e-4  # [m]; hulls have corners of single precision, and loops of keyframes are closed here
    theirs = {
        frozenset(model.body(model.body_weldid[model.geom_bodyid[g]]).name for g in (c.geom1, c.geom2))
        for c in data.contact[: data.ncon]
        if c.dist < -deep
    }
    found = detect(ours.model.shapes, ours.state.position, ours.state.quaternion)
    names = (*ours.model.body_names, "world")
    assert {frozenset(names[b] for b in pair) for pair, gap in zip(found.bodies, found.gap) if gap < -deep} == theirs


def test_the_gripper_closes_on_the_box_and_not_into_it(robots_dir):
    """The driven links hold the box after it has fallen on the base: 0.7 s, the last 0.4 of them in contact."""
    world = delassus.World.load(robots_dir / "mjcf/robotiq_2f85/scene.xml")
    world.imported.set_ctrl({"fingers_actuator": 255})
    deepest, holds = 0.0, 0
    while world.time < 0.7:
        world.step()
        report = world.report
        assert report.ok
        deepest = max(deepest, report.penetration)
        bodies = {world.model.body_names[b] for pair in report.contacts.bodies for b in pair if b >= 0}
        holds += world.time > 0.3 and {"object", "left_follower", "right_follower"} <= bodies
    assert deepest < 1e-5  # [m]
    assert holds > 0.9 * 0.4 / world.settings.h
    assert report.drift < 1e-8


@pytest.mark.slow
def test_cassie_stands_for_five_seconds(robots_dir):
    """On the gains that the docs name, every step converged, loops closed."""
    world = delassus.World.load(robots_dir / "mjcf/agility_cassie/scene.xml", keyframe="home", hold=(2000.0, 100.0))
    height = world.body("cassie-pelvis").position[2]
    while world.time < 5.0:
        world.run(seconds=0.25)
        assert world.ok
        assert world.report.drift < 1e-8
        assert world.body("cassie-pelvis").position[2] > height - 0.05
    assert np.abs(world.state.u).max() < 0.02  # and it comes to rest


@pytest.mark.slow
def test_cassie_moves_as_in_mujoco_with_stiff_constraints(robots_dir):
    """0.3 s after the keyframe, motors as servos: rotors, leaf springs, loops and feet together. The pelvis is where
    MuJoCo has it as its constraints become stiff, to 0.2 mm; at MuJoCo's defaults it is millimetres lower."""
    path, (k, d) = robots_dir / "mjcf/agility_cassie/scene.xml", (2000.0, 100.0)
    world = delassus.World.load(path, keyframe="home", hold=(k, d))
    world.run(seconds=0.3)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator, model.opt.timestep = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST), 1e-4
    for solref, solimp in ((model.eq_solref, model.eq_solimp), (model.geom_solref, model.geom_solimp)):
        solref[:], solimp[:, :2] = (6e-4, 1.0), (0.999, 0.9999)
    gear = model.actuator_gear[:, 0]
    model.actuator_forcelimited[:], model.actuator_forcerange[:] = 1, model.actuator_ctrlrange
    model.actuator_ctrllimited[:], model.actuator_gainprm[:, 0] = 0, k / gear**2
    model.actuator_biastype[:] = int(mujoco.mjtBias.mjBIAS_AFFINE)
    model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -k / gear**2, -d / gear**2
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = [world.imported.ctrl[model.actuator(i).name] for i in range(model.nu)]
    for _ in range(3000):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(world.body("cassie-pelvis").centre_of_mass, data.body("cassie-pelvis").xipos, atol=1e-3)
