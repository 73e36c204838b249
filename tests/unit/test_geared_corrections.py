"""What is moved after a step (joints that are closed, limits that were passed, bodies that overlap) moves by masses,
rotors included."""

import numpy as np
import pytest

import delassus
from delassus import ModelBuilder, Sphere, Spring, StepSettings, World
from delassus.dynamics.forces import total_energy
from delassus.errors import DelassusWarning

HEAVY = 100.0  # [kg m²] of a rotor beside links of 0.1 kg m²


def links(gravity=9.81, first=None, second=None):
    """Two links of 1 kg and 1 m in a row along x, on hinges along y."""
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    builder.body("one", position=(0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
    builder.body("two", position=(1.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
    builder.joint("revolute", None, "one", position=(0, 0, 0), axis=(0, 1, 0), name="j1", **(first or {}))
    builder.joint("revolute", "one", "two", position=(1, 0, 0), axis=(0, 1, 0), name="j2", **(second or {}))
    return builder


def ran(model, state, steps, **settings):
    memory = delassus.Memory()
    for _ in range(steps):
        state, report = delassus.step(model, state, None, StepSettings(**settings), memory)
        assert report.solution.converged, report
    return state


@pytest.mark.parametrize(("integrator", "allowed"), [("moreau", 3e-4), ("euler", 0.03)])
def test_rotors_on_soft_joints_count_when_the_hard_ones_close(integrator, allowed):
    """Energy over a second of a fall from 9.81 · 2 J: without the rotor 0.015 J and 3.6 J were gained."""
    stiffness = 1e6
    model, state = links(first={"armature": 2.0, "softening": Spring(stiffness)}).build()

    def energy(state):
        opened = model.joints.constraints(model.joints.frames(state.q, state.rotation))[0][:5]
        return sum(total_energy(model, state)) + 0.5 * stiffness * float(opened @ opened)

    after = ran(model, state, 500, h=2e-3, integrator=integrator, tol=1e-10)
    assert energy(after) == pytest.approx(energy(state), abs=allowed)


@pytest.mark.parametrize("armature", [0.0, 1.0, HEAVY])
def test_the_way_back_within_limits_is_shared_with_rotors(armature):
    """The second hinge starts 0.01 rad beyond its limit: the first gives way by M⁻¹ of both, its rotor included."""
    with pytest.warns(DelassusWarning, match="outside its limits"):
        model, state = links(0.0, {"armature": armature}, {"limits": (-2.0, -0.01)}).build()
    first, second = ran(model, state, 60).coordinates(model)
    coupled = 0.1 + 0.5 * 1.5
    M = np.array([[0.1 + 0.25 + armature + 0.1 + 1.5**2, coupled], [coupled, 0.1 + 0.25]])
    way = np.linalg.solve(M, [0.0, 1.0])
    assert second == pytest.approx(-0.01, abs=1e-5)
    assert first / second == pytest.approx(way[0] / way[1], rel=1e-3)


@pytest.mark.parametrize("armature", [0.0, 1.0, HEAVY])
def test_overlaps_are_shared_with_rotors(armature):
    """A lever in a ball of 1 kg by a millimetre at its end, 1 m from the hinge, in compiled steps and in Python's."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body(
        "lever",
        position=(0.5, 0, 0),
        mass=1.0,
        inertia=(0.01, 0.1, 0.1),
        shapes=[(Sphere(0.1), (0.5, 0, 0), (1, 0, 0, 0))],
    )
    builder.joint("revolute", None, "lever", position=(0, 0, 0), axis=(0, 1, 0), name="hinge", armature=armature)
    builder.body("ball", position=(1.0, 0, 0.199), mass=1.0, shapes=[Sphere(0.1)])
    model, state = builder.build(check=False)
    after = ran(model, state, 40)
    world = World(model, state)
    world.run(40)
    mass = 0.1 + 0.25 + armature  # of the lever, seen at its end
    share = 1.0 / (1.0 + mass)
    for end in (after, world.state):
        assert end.coordinates(model)[0] == pytest.approx(1e-3 * share, rel=2e-2)
        assert end.q[1, 2] - 0.199 == pytest.approx(1e-3 * (1.0 - share), rel=1e-2)
