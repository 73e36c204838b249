"""Bad starts speak: open joints, loops that cannot close, overlaps and parting velocities are said when built."""

import warnings

import numpy as np
import pytest

from delassus.builder import ModelBuilder
from delassus.dynamics.closure import joint_error
from delassus.errors import DelassusWarning, ProblemError
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import step

ROD = {"mass": 1.0, "inertia": (0.01, 0.1, 0.1)}


def four_bar(coupler):
    """Crank, coupler and rocker of 1 m, `coupler` and 1 m over a base of 2 m, the last joint open as placed."""
    builder = ModelBuilder()
    crank = builder.body("crank", position=(0, 0, 0.5), **ROD)
    middle = builder.body("coupler", position=(coupler / 2, 0, 1), **ROD)
    rocker = builder.body("rocker", position=(2, 0, 0.5), **ROD)
    builder.joint("revolute", None, crank, position=(0, 0, 0), axis=(0, 1, 0), name="first")
    builder.joint("revolute", crank, middle, position=(0, 0, 1), axis=(0, 1, 0), name="second")
    builder.joint("revolute", None, rocker, position=(2, 0, 0), axis=(0, 1, 0), name="fourth")
    builder.joint(
        "revolute", middle, rocker, position=(coupler, 0, 1), follower_position=(2, 0, 1), axis=(0, 1, 0), name="third"
    )
    return builder


def test_an_open_joint_is_an_error_that_names_it_and_the_way_out():
    """It was closed silently: 0.2 m in one step."""
    with pytest.raises(ProblemError, match=r"joint 'third' is open by 0\.2 m as placed.*build\(assemble=True\)"):
        four_bar(1.8).build()


def test_assemble_closes_open_joints_on_purpose():
    model, state = four_bar(1.8).build(assemble=True)
    assert joint_error(model, state.q) < 1e-11
    assert np.abs(state.q[:, 1]).max() < 1e-12, "what is in a plane stays there"
    _, report = step(model, state)
    assert report.solution.converged
    assert report.drift < 1e-11


def test_assembled_velocities_obey_the_joints():
    builder = four_bar(2.0)
    builder.bodies[0].angular_velocity[:] = (0, 10.0, 5.0)
    with pytest.warns(DelassusWarning, match=r"velocities that part joint 'first' at 5"):
        builder.build()
    model, state = builder.build(assemble=True)
    after, _ = step(model, state)
    assert np.abs(state.u).max() > 0.1
    assert np.abs(after.u - state.u).max() < 0.05, "no impulse in the first step, gravity alone"


def test_a_loop_that_cannot_close_is_an_error_that_says_by_how_much():
    """It built silently and "converged" at 2e33 m/s. The coupler is half a metre too long for the others."""
    with pytest.raises(ProblemError, match=r"cannot all close: joint 'second' is open by 0\.\d+ m.* at best"):
        four_bar(4.5).build(assemble=True)


def test_joints_open_by_rounding_are_closed():
    builder = ModelBuilder()
    rod = builder.body(position=(0.5, 0, 0), **ROD)
    builder.joint("spherical", None, rod, position=(0, 0, 0), follower_position=(1e-9, 0, 0))
    model, state = builder.build()
    for _ in range(2):
        state, report = step(model, state)
    assert report.drift <= 1e-9


def test_overlapping_bodies_are_named_with_their_depth():
    """They were pushed apart at 1 m/s without a word."""
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()])
    builder.body("crate", position=(0, 0, 0.5), density=500.0, shapes=[Box((1, 1, 1))])
    builder.body("ball", position=(0, 0, 1.2), density=500.0, shapes=[Sphere(0.4)])
    with pytest.warns(DelassusWarning, match=r"bodies overlap: 'crate' and 'ball' by 0\.2 m;.*exclude.*check=False"):
        builder.build()
    builder.build(check=False)


def test_bodies_that_rest_on_each_other_do_not_overlap():
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()])
    builder.body("crate", position=(0, 0, 0.5 - 1e-4), density=500.0, shapes=[Box((1, 1, 1))])
    with warnings.catch_warnings(record=True) as said:
        builder.build()
    assert said == []


def test_jointed_bodies_may_overlap():
    builder = ModelBuilder()
    left = builder.body("left", position=(0, 0, 0), density=500.0, shapes=[Box((1, 0.1, 0.1))])
    right = builder.body("right", position=(0.9, 0, 0), density=500.0, shapes=[Box((1, 0.1, 0.1))])
    builder.joint("revolute", left, right, position=(0.45, 0, 0), axis=(0, 1, 0))
    with warnings.catch_warnings(record=True) as said:
        builder.build()
    assert said == []
