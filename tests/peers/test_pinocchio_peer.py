"""Accelerations of open chains against Pinocchio's articulated-body algorithm, as h → 0."""

import numpy as np
import pytest

from delassus.builder import ModelBuilder
from delassus.dynamics import Inputs
from delassus.model.state import State
from delassus.simulation import StepSettings, step
from delassus.spatial import axis_frame, quaternion_to_matrix, rotation_exp

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peer

G = 9.81


def chain(rng, links):
    """Random revolute chain at zero angles: joint points, axes, centres, masses and inertias in the world frame."""
    points = np.cumsum(rng.normal(size=(links, 3)), axis=0)
    axes = rng.normal(size=(links, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    centres = points + 0.5 * rng.normal(size=(links, 3))
    mass = rng.uniform(0.5, 5.0, links)
    inertia = []
    for _ in range(links):
        R = quaternion_to_matrix(rotation_exp(rng.normal(size=3)))
        inertia.append(R @ np.diag(rng.uniform(0.5, 0.9, 3)) @ R.T)
    return points, axes, centres, mass, inertia


def pinocchio_model(points, axes, centres, mass, inertia):
    model = pin.Model()
    model.gravity.linear = np.array([0, 0, -G])
    before, parent = pin.SE3.Identity(), 0
    for k in range(len(points)):
        world = pin.SE3(axis_frame(axes[k]), points[k])
        parent = model.addJoint(parent, pin.JointModelRZ(), before.actInv(world), f"j{k}")
        R = world.rotation
        model.appendBodyToJoint(
            parent, pin.Inertia(mass[k], R.T @ (centres[k] - points[k]), R.T @ inertia[k] @ R), pin.SE3.Identity()
        )
        before = world
    return model


def our_model(points, axes, centres, mass, inertia):
    builder = ModelBuilder()
    base = None
    for k in range(len(points)):
        body = builder.body(position=centres[k], mass=mass[k], inertia=inertia[k])
        builder.joint("revolute", base, body, position=points[k], axis=axes[k])
        base = body
    return builder.build()


def placed(theirs, q, v, axes, points, centres):
    """Poses and twists of the links' centres of mass for joint angles q and rates v."""
    data = theirs.createData()
    pin.forwardKinematics(theirs, data, q, v)
    poses, twists = [], []
    for k in range(len(q)):
        world, joint = data.oMi[k + 1], pin.SE3(axis_frame(axes[k]), points[k])
        local = joint.actInv(centres[k])
        spin = world.rotation @ data.v[k + 1].angular
        speed = world.rotation @ (data.v[k + 1].linear + np.cross(data.v[k + 1].angular, local))
        turn = pin.Quaternion(world.rotation @ joint.rotation.T)
        poses.append([*world.act(local), turn.w, turn.x, turn.y, turn.z])
        twists.append([*speed, *spin])
    return np.array(poses), np.array(twists)


@pytest.mark.parametrize("links", [1, 2, 5])
def test_accelerations_converge_to_the_articulated_body_algorithm(links):
    rng = np.random.default_rng(links)
    data = chain(rng, links)
    points, axes, centres, _, _ = data
    theirs, (ours, _) = pinocchio_model(*data), our_model(*data)
    q, v, effort = rng.uniform(-2, 2, links), rng.normal(size=links), rng.normal(size=links)
    expected = pin.aba(theirs, theirs.createData(), q, v, effort)
    poses, twists = placed(theirs, q, v, axes, points, centres)
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        inputs = Inputs.of(ours, effort=effort)
        # two steps and a central difference of joint rates would hide the first; one step shows the order
        after, report = step(ours, State(poses, twists), inputs, StepSettings(h=h))
        origin = ours.joints.frames(after.position, after.rotation)
        _, rates = ours.joints.coordinates(origin)
        pairs = ours.joints.bodies
        rate = [
            sum(rates[k, 6 * s : 6 * s + 6] @ after.u[pairs[k, s]] for s in range(2) if pairs[k, s] >= 0)
            for k in range(links)
        ]
        assert report.solution.converged
        errors.append(np.abs((np.array(rate) - v) / h - expected).max() / max(1.0, np.abs(expected).max()))
    assert errors[-1] < 0.02
    assert np.log2(errors[0] / errors[-1]) / 2 > 0.8, "first order or better"
