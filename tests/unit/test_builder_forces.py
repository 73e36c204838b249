"""Forces as they are given to the builder: what they become, and what is refused with which words."""

import numpy as np
import pytest

from delassus import ModelBuilder, StepSettings, step
from delassus.errors import ProblemError
from delassus.fem import Elastic, block
from delassus.forces import Configuration, Force
from delassus.spatial import rotation_exp


@pytest.fixture
def builder():
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("a", mass=1.0, inertia=(1, 1, 1))
    builder.body("b", mass=2.0, inertia=(1, 2, 3), position=(2, 0, 0), orientation=rotation_exp((0.1, 0.2, 0.3)))
    builder.fixed("ground")
    return builder


def evaluated(builder):
    model, state = builder.build()
    (group,) = model.forces.groups(Configuration.of(state))
    return model, state, group


def test_a_spring_pulls_towards_its_rest_length(builder):
    builder.spring("a", "b", stiffness=10.0, rest_length=1.5)
    model, state, group = evaluated(builder)
    np.testing.assert_allclose(group.force[0, :3], [5.0, 0, 0])
    np.testing.assert_allclose(group.force[0, 6:9], [-5.0, 0, 0])
    assert model.forces.energy(state) == pytest.approx(0.5 * 10.0 * 0.25)
    assert "1 spring" in repr(model)


def test_whatever_is_given_without_a_rest_is_at_rest_as_placed(builder):
    builder.spring("a", "b", at=((0, 1, 0), (2, 0, 1)), stiffness=10.0)
    builder.torsion_spring("a", "b", stiffness=1.0, axis=(1, 2, 3))
    builder.bending_spring("a", "b", stiffness=(1.0, 2.0, 3.0))
    builder.bushing("ground", "b", stiffness=np.arange(1.0, 7.0), at=(0.3, 0.2, 0.1), axis=(0, 1, 1))
    builder.bushing("a", "b", stiffness=(1.0, 2.0, 3.0))
    model, state = builder.build()
    for group in model.forces.groups(state):
        assert abs(group.force).max() < 1e-13
    assert model.forces.names == ("spring-1", "torsion-spring-2", "bending-spring-3", "bushing-4", "bushing-5")
    assert model.forces.count == 5


def test_a_torsion_spring_turns_by_its_rest_angle(builder):
    builder.torsion_spring("world", "a", stiffness=2.0, rest_angle=0.5, axis=(0, 1, 0))
    _, _, group = evaluated(builder)
    np.testing.assert_allclose(group.force[0, 9:], [0.0, 1.0, 0.0], atol=1e-15)


def test_models_with_and_without_forces_have_hashes_of_their_own(builder):
    plain = builder.build()[0]
    builder.spring("a", "b", stiffness=10.0)
    assert builder.build()[0].hash != plain.hash


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.spring("a", "a", stiffness=1.0), "both ends are 'a': give two different ones"),
        (lambda b: b.spring(None, "ground", stiffness=1.0), "both ends are the world"),
        (lambda b: b.spring("a", "b", stiffness=-1.0), r"stiffness is -1.0, which gives energy away"),
        (lambda b: b.spring("a", "b", stiffness="hard"), "stiffness is 'hard': give one finite number"),
        (lambda b: b.spring("a", "b", stiffness=0.0), "stiffness and damping are both zero"),
        (lambda b: b.spring("a", "c", stiffness=1.0), "there is no body 'c'"),
        (lambda b: b.spring("a", "b", stiffness=1.0, at=(0, 0, 0)), "give two points in the world"),
        (
            lambda b: b.spring("a", "b", at=((1, 0, 0), (1, 0, 0)), stiffness=1.0, rest_length=1.0),
            "both ends are at the same point, .* or give rest_length=0",
        ),
        (lambda b: b.torsion_spring("a", "b", stiffness=1.0, rest_angle=4.0), r"rest_angle is 4.0: give at most half"),
        (lambda b: b.bending_spring("a", "b", stiffness=(1, 2)), "give 3 numbers or a 3×3 matrix"),
        (lambda b: b.bushing("a", "b", stiffness=np.triu(np.ones((6, 6)))), "is not symmetric"),
        (lambda b: b.bushing("a", "b", stiffness=(1, 2)), "give 6 numbers or a 6×6 matrix or 3 numbers or a 3×3"),
        (lambda b: b.force(object()), "has no force, dq, dv, velocities"),
        (lambda b: b.spring("a", ("beam", 0), stiffness=1.0), "'beam' is no flexible body"),
    ],
)
def test_what_cannot_be_meant_is_refused(builder, call, words):
    with pytest.raises(ProblemError, match=words):
        call(builder)


class Wind:
    """A force against the velocity of one body, and nothing else."""

    def force(self, at):
        return -3.0 * at.u[0]

    def dq(self, at):
        return np.zeros((6, 6))

    def dv(self, at):
        return -3.0 * np.eye(6)


def test_a_force_of_ones_own_acts_on_what_it_is_given(builder):
    builder.bodies[0].velocity[:] = (1.0, 0.0, 0.0)
    builder.force(Wind(), on="a", name="wind")
    with pytest.raises(ProblemError, match="'ground' never moves, a force on it does nothing"):
        builder.force(Wind(), on="ground")
    model, state = builder.build()
    for _ in range(100):
        state, report = step(model, state, None, StepSettings(h=0.01))
        assert report.ok
    assert state.u[0, 0] == pytest.approx(np.exp(-3.0), rel=1e-3)
    assert model.forces.names == ("wind",)


def test_three_methods_make_a_force():
    """As forces.md says: what it acts on may be said by on=, so `velocities` is no part of the protocol."""

    class Nothing:
        def force(self, at):
            return np.zeros(6)

        def dq(self, at):
            return np.zeros((6, 6))

        dv = dq

    assert isinstance(Nothing(), Force)


def soft_bar():
    builder = ModelBuilder(gravity=(0, 0, 0))
    bar = builder.flexible("bar", block(size=(1.0, 0.1, 0.1), cells=(4, 1, 1)), Elastic(1e6, 0.3, 1000.0))
    builder.weld(bar, "x-")
    tip = int(bar.nodes("x+")[0])
    return builder, bar, tip


def test_a_spring_between_a_rigid_body_and_a_node_acts_on_both():
    builder, bar, tip = soft_bar()
    far = bar.mesh.nodes[tip] + (1.0, 0.0, 0.0)
    ball = builder.body("ball", mass=1.0, inertia=(1, 1, 1), position=far)
    builder.spring(ball, (bar, tip), stiffness=50.0, damping=5.0, rest_length=0.8)
    model, state = builder.build()
    forces = model.forces.groups(state)[0].force[0]
    np.testing.assert_allclose(forces[:3], [-10.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(forces[6:9], [10.0, 0.0, 0.0], atol=1e-12)
    start = sum(step(model, state, None, StepSettings(h=1e-9))[1].energy)
    for _ in range(300):
        state, report = step(model, state, None, StepSettings(h=0.01))
        assert report.ok
        assert sum(report.energy) <= start
    assert sum(report.energy) < 0.05 * start  # it has swung out
    assert np.linalg.norm(state.q[0, :3] - state.nodes[tip]) == pytest.approx(0.8, abs=0.02)


def test_ends_at_nodes_that_cannot_be_are_refused():
    builder, bar, tip = soft_bar()
    ball = builder.body("ball", mass=1.0, inertia=(1, 1, 1), position=(3, 0, 0))
    with pytest.raises(ProblemError, match="'x\\+' are 4 nodes of 'bar': give one"):
        builder.spring(ball, (bar, "x+"), stiffness=1.0)
    with pytest.raises(ProblemError, match="a node has no orientation, which a bushing acts against"):
        builder.bushing(ball, (bar, tip), stiffness=np.ones(6))
    with pytest.raises(ProblemError, match="but the node is at"):
        builder.spring(ball, (bar, tip), at=(None, (0, 0, 0)), stiffness=1.0)
    builder.bushing(ball, (bar, tip), stiffness=np.ones(3))
    assert builder.build()[0].forces.pairs[0].kind.name == "point-bushing"
