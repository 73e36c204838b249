"""USD: mechanisms that nobody here wrote have the masses, joints and limits that their files state."""

import numpy as np
import pytest

import delassus
from delassus.spatial import quaternion_to_matrix

pytest.importorskip("pxr")
from pxr import Usd, UsdPhysics  # noqa: E402

KINDS = {
    "revolute": ("revolute", 1),
    "prismatic": ("prismatic", 1),
    "cylindrical": ("cylindrical", 2),
    "universal": ("universal", 2),
    "cartesian": ("cartesian", 3),
    "d6_revolute": ("revolute", 1),
    "d6_prismatic": ("prismatic", 1),
    "d6_cylindrical": ("cylindrical", 2),
    "d6_universal": ("universal", 2),
    "d6_cartesian": ("cartesian", 3),
    "d6_spherical": ("spherical", 3),
}
WHOLE = (
    "ant",
    "cartpole",
    "kamino/box_on_plane",
    "kamino/box_pendulum",
    "kamino/boxes_fourbar",
    "kamino/boxes_hinged",
    "kamino/boxes_nunchaku",
    "kamino/cartpole",
)


def stated(path):
    """The one joint of a file, as USD itself reads it: limits of all axes in SI."""
    stage = Usd.Stage.Open(str(path))
    prim = next(p for p in stage.Traverse() if p.IsA(UsdPhysics.Joint))
    out = {}
    for axis in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
        if prim.HasAPI(UsdPhysics.LimitAPI, axis):
            limit = UsdPhysics.LimitAPI(prim, axis)
            out[axis] = limit.GetLowAttr().Get(), limit.GetHighAttr().Get()
    for kind, axis in ((UsdPhysics.RevoluteJoint, "rotX"), (UsdPhysics.PrismaticJoint, "transX")):
        if prim.IsA(kind):
            joint = kind(prim)
            axis = axis[:-1] + joint.GetAxisAttr().Get()
            out[axis] = joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get()
    return stage, prim, {a: np.radians(pair) if a.startswith("rot") else np.array(pair) for a, pair in out.items()}


@pytest.mark.parametrize("drive", ["passive", "actuated"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_joint(robots_dir, name, drive):
    path = robots_dir / f"usd/kamino/joints/test_joint_{name}_{drive}.usda"
    found, (_stage, prim, limits) = delassus.load_model(path), stated(path)
    kind, count = KINDS[name]
    axes = tuple(axis for axis, (low, high) in limits.items() if low <= high)
    joints = found.model.joints
    assert joints.kinds == (kind,)
    assert joints.coordinate_count == len(axes) == count
    if kind == "spherical":
        assert any("ball" in text for text in found.not_carried)
    else:
        np.testing.assert_allclose([joints.lower, joints.upper], np.array([limits[a] for a in axes]).T, rtol=1e-6)
    if drive == "passive":
        assert found.actuators == ()
        return
    assert len(found.actuators) == len(axes)
    for axis, actuator in zip(axes, found.actuators):
        api = UsdPhysics.DriveAPI(prim, axis)
        if not prim.HasAPI(UsdPhysics.DriveAPI, axis):
            api = UsdPhysics.DriveAPI(prim, "angular" if axis.startswith("rot") else "linear")
        unit = 180.0 / np.pi if axis.startswith("rot") else 1.0
        assert actuator.force_range[1] == pytest.approx(api.GetMaxForceAttr().Get(), rel=1e-6)
        assert -actuator.bias[1] == pytest.approx(unit * api.GetStiffnessAttr().Get(), rel=1e-6)
        assert -actuator.bias[2] == pytest.approx(unit * api.GetDampingAttr().Get(), rel=1e-6)


@pytest.mark.parametrize("name", WHOLE)
def test_masses_are_those_stated(robots_dir, name):
    found = delassus.load_model(robots_dir / f"usd/{name}.usda")
    stage = Usd.Stage.Open(str(robots_dir / f"usd/{name}.usda"))
    bodies = {p.GetName(): p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)}
    assert set(found.model.body_names) <= set(bodies)
    for b, body in enumerate(found.model.body_names):
        mass = UsdPhysics.MassAPI(bodies[body])
        if bodies[body].HasAPI(UsdPhysics.MassAPI) and mass.GetMassAttr().Get() > 0.0:
            assert found.model.mass[b] == pytest.approx(mass.GetMassAttr().Get(), rel=1e-12)
            stated = np.array(mass.GetDiagonalInertiaAttr().Get())
            if (stated > 0).all():
                np.testing.assert_allclose(
                    np.sort(np.linalg.eigvalsh(found.model.inertia[b])), np.sort(stated), rtol=1e-6
                )


def test_a_joint_that_is_not_known_says_so(robots_dir):
    found = delassus.load_model(robots_dir / "usd/kamino/joints/test_joint_d6_6dof_passive.usda")
    assert found.model.joints.count == 0
    assert any("6dof_joint" in text for text in found.not_carried)


def test_the_four_bar_closes_and_runs(robots_dir):
    world = delassus.World.load(robots_dir / "usd/kamino/boxes_fourbar.usda")
    assert world.model.joints.kinds == ("revolute",) * 4
    np.testing.assert_allclose(world.model.joints.upper, np.radians(45), rtol=1e-6)
    for _ in range(20):
        world.step()
        assert world.ok
    assert world.report.drift < 1e-8


SCENE = """#usda 1.0
(
    metersPerUnit = 0.01
    kilogramsPerUnit = 0.001
    upAxis = "Y"
)
def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    double3 xformOp:translate = (100, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    float physics:mass = 2000
    float3 physics:diagonalInertia = (1e6, 2e6, 2e6)
    point3f physics:centerOfMass = (10, 0, 0)
    vector3f physics:velocity = (0, 50, 0)
    def Capsule "rod" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double radius = 5
        double height = 40
        uniform token axis = "X"
    }
}
def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
{
    rel physics:body0 = </arm>
    point3f physics:localPos0 = (-100, 0, 0)
    uniform token physics:axis = "Z"
    float physics:lowerLimit = -30
    float physics:upperLimit = 60
    float drive:angular:physics:stiffness = 1e5
    float drive:angular:physics:maxForce = 1e6
}
"""


def test_units_and_which_way_is_up(tmp_path):
    """Centimetres, grams and y up; a joint that has the world second keeps the signs of its angle."""
    (tmp_path / "arm.usda").write_text(SCENE)
    found = delassus.load_model(tmp_path / "arm.usda")
    model, joints = found.model, found.model.joints
    np.testing.assert_allclose(model.gravity, (0, -9.81, 0))
    np.testing.assert_allclose(model.mass, 2.0)
    np.testing.assert_allclose(np.diag(model.inertia[0]), (0.1, 0.2, 0.2))
    np.testing.assert_allclose(found.state.q[0, :3], (1.1, 0, 0), atol=1e-12)
    np.testing.assert_allclose([joints.lower[0], joints.upper[0]], np.radians((-30, 60)), rtol=1e-6)
    assert joints.stiffness[0] == pytest.approx(1e5 * 1e-7 * 180 / np.pi, rel=1e-6)
    assert joints.effort[0] == pytest.approx(0.1, rel=1e-6)
    # body1 is the world, so the angle grows when the arm turns the other way: clockwise about z
    turned = found.state.q.copy()
    turned[0] = [1.1 * np.cos(0.1), -1.1 * np.sin(0.1), 0, np.cos(0.05), 0, 0, -np.sin(0.05)]
    state = delassus.State(turned, found.state.u * 0)
    assert np.abs(joints.constraints(joints.frames(turned, quaternion_to_matrix(turned[:, 3:])))[0]).max() < 1e-12
    assert state.coordinates(model)[0] == pytest.approx(0.1)


def test_nothing_outside_the_folder_is_read(tmp_path):
    inner = tmp_path / "model"
    inner.mkdir()
    (tmp_path / "secret.usda").write_text(SCENE)
    (inner / "a.usda").write_text("#usda 1.0\n(\n subLayers = [@../secret.usda@]\n)\n")
    with pytest.raises(delassus.DelassusError, match="outside"):
        delassus.load_model(inner / "a.usda")
    (inner / "b.usda").write_text(f'#usda 1.0\ndef Xform "x" (references = @{tmp_path}/secret.usda@</arm>)\n{{\n}}\n')
    with pytest.raises(delassus.DelassusError, match="outside"):
        delassus.load_model(inner / "b.usda")
