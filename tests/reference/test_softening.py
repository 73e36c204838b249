"""Soft constraints behave as the formulas say: static sinking, damped settling, and stiffness in the limit."""

import numpy as np
import pytest
from motion import simulate

from delassus.builder import ModelBuilder
from delassus.dynamics import Softening
from delassus.errors import SettingsError
from delassus.shapes import Plane, Sphere

G = 9.81


def resting_ball(softening, duration=0.5):
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)])
    return simulate(*builder.build(), duration, h=1e-3, softening=softening)


@pytest.mark.parametrize("time_constant", [0.02, 0.05])
def test_ball_sinks_in_by_the_stated_depth(time_constant):
    """c g / k with constant impedance d: (1 − d)/d · g · (d_w T ζ)²/d."""
    d = 0.9
    soft = Softening(impedance=d, impedance_width=d + 1e-9, time_constant=time_constant)
    depth = 0.1 - resting_ball(soft).q()[-1, 2]
    assert depth == pytest.approx((1 - d) / d * G * (d * time_constant) ** 2 / d, rel=1e-3)


def test_stiffer_impedance_sinks_less():
    shallow, deep = (
        0.1 - resting_ball(Softening(impedance=d, impedance_width=d + 1e-9)).q()[-1, 2] for d in (0.99, 0.5)
    )
    assert 0 < shallow < 0.1 * deep


def test_impedance_rises_from_one_end_to_the_other():
    soft = Softening(impedance=0.2, impedance_width=0.8, width=0.01, midpoint=0.3, power=3)
    d = soft.impedance_of(np.array([0.0, 0.003, 0.01, 1.0]))
    assert d == pytest.approx([0.2, 0.2 + 0.3 * 0.6, 0.8, 0.8])
    assert np.all(np.diff(soft.impedance_of(np.linspace(0, 0.02, 200))) >= 0)


def test_friction_still_holds_when_soft():
    builder = ModelBuilder(gravity=(2.0, 0, -G))
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)])
    run = simulate(*builder.build(), 0.2, h=1e-3, softening=Softening())
    v, w = run.u()[-1, :3], run.u()[-1, 3:]
    assert abs((v + np.cross(w, [0, 0, -0.1]))[0]) < 0.05 * v[0], "it rolls, with the creep of soft friction"


def test_bad_softening_is_named():
    with pytest.raises(SettingsError, match="softening.impedance is 1.0"):
        Softening(impedance=1.0)
    with pytest.raises(SettingsError, match="less than two steps"):
        resting_ball(Softening(time_constant=1e-3), duration=0.01)
