"""Beams of bodies and bushings against beam theory."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from delassus import Inputs, ModelBuilder, Plane, StepSettings, fem, simulate
from delassus.dynamics.implicit import Implicit
from delassus.errors import ProblemError
from delassus.simulation import equilibrate

STEEL = fem.Elastic(2.1e11, 0.3, 7800.0)
SLENDER = fem.Section.rectangle(0.02, 0.01)


def clamped(pieces, elastic=STEEL, section=SLENDER, way=(1.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    builder = ModelBuilder(gravity=gravity)
    nodes = builder.beam("beam", np.linspace((0.0, 0.0, 0.0), way, pieces + 1), section, elastic)
    builder.joint("fixed", None, nodes[0])
    return builder, nodes


def stiffness_of(model, state):
    """−∂f/∂q over all velocities."""
    n = 6 * len(state.q)
    made = Implicit.of(model).linearise(
        model, np.zeros((len(state.q), 6, 6)), state, np.zeros(n), 1.0, 1.0, "exact", state
    )
    return Implicit.of(model).matrix(made.H).toarray()


def frequencies(pieces):
    builder, nodes = clamped(pieces)
    model, state = builder.build()
    K = stiffness_of(model, state)[6:, 6:]
    M = scipy.linalg.block_diag(*(part for node in nodes[1:] for part in (node.mass * np.eye(3), node.inertia)))
    return np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)) / (2.0 * np.pi)


def test_frequencies_converge_to_those_of_a_slender_beam():
    """The first three across the height, of the second order in the length of the pieces."""
    roots = np.array([1.87510407, 4.69409113, 7.85475744])
    expected = roots**2 * np.sqrt(STEEL.young * SLENDER.about_y / (STEEL.density * SLENDER.area)) / (2.0 * np.pi)
    errors = []
    for pieces in (8, 16, 32):
        found = frequencies(pieces)
        errors.append([np.abs(found / f - 1.0).min() for f in expected])
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    print("relative errors", errors, "orders", rates, sep="\n")
    assert (rates[0] > 1.8).all()
    assert max(errors[-1]) < 0.01


def test_stiffness_is_symmetric_and_resists_no_rigid_motion():
    builder = ModelBuilder(gravity=(0, 0, 0))
    points = [(0, 0, 0), (0.3, 0, 0), (0.5, 0.2, 0.1), (0.5, 0.4, 0.3)]
    nodes = builder.beam("beam", points, fem.Section.circle(0.01), STEEL)
    model, state = builder.build()
    K = stiffness_of(model, state)
    scale = np.abs(K).max()
    assert np.abs(K - K.T).max() < 1e-12 * scale
    for spin, shift in zip(np.eye(3), np.eye(3)[::-1]):
        motion = np.concatenate([[*(np.cross(spin, node.position) + shift), *spin] for node in nodes])
        assert np.abs(K @ motion).max() < 1e-10 * scale
    assert np.linalg.eigvalsh(K)[6] > 0.0


def test_large_deflections_are_those_of_the_elastica():
    """P L² / (E I) = 1: the tip sinks by 0.3017 L and comes back by 0.0564 L (Mattiasson 1981)."""
    rod, gaps = fem.Section.circle(0.01), []
    for pieces in (5, 10):
        builder, nodes = clamped(pieces, STEEL, rod)
        model, state = builder.build()
        pull = Inputs.of(model, wrench={nodes[-1].name: (0.0, 0.0, -STEEL.young * rod.about_y)})
        rest = equilibrate(model, state, pull)
        gaps.append(np.abs(rest.q[nodes[-1].index, [2, 0]] - [-0.3017, 1.0 - 0.0564]))
    print("off by", gaps)
    assert (gaps[1] < 5e-4).all()
    assert (gaps[1] < gaps[0]).all()


@pytest.mark.parametrize("h", [1e-2, 1e-3, 1e-4])
def test_where_a_beam_comes_to_rest_does_not_depend_on_the_step(h):
    """A step too short for anything to fall is no sign of rest."""
    builder, nodes = clamped(8, gravity=(0.0, 0.0, -9.81))
    model, state = builder.build()
    rest = equilibrate(model, state, settings=StepSettings(h=h))
    load = 9.81 * STEEL.density * SLENDER.area
    sinks = load / (8.0 * STEEL.young * SLENDER.about_y)
    assert rest.q[nodes[-1].index, 2] == pytest.approx(-sinks, rel=0.02)


def test_a_beam_lies_on_the_ground_it_falls_to():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.5)
    rubber = fem.Elastic(1e7, 0.3, 1000.0, damping=(0.0, 0.01))
    points = np.linspace((0, 0, 0.1), (0.5, 0, 0.1), 6)
    nodes = builder.beam("strip", points, fem.Section.rectangle(0.05, 0.02), rubber, material=0.5)
    model, state = builder.build()
    reports = []
    state = simulate(
        model,
        state,
        settings=StepSettings(h=5e-3),
        steps=200,
        watch=lambda k, s, report, memory: reports.append(report),
    )
    assert all(report.solution.converged for report in reports)
    np.testing.assert_allclose(state.q[[node.index for node in nodes], 2], 0.01, atol=1e-3)


def test_sections():
    wide = fem.Section.rectangle(0.2, 0.1)
    assert (wide.area, wide.about_y) == pytest.approx((0.02, 0.2 * 0.1**3 / 12))
    assert fem.Section.rectangle(0.1, 0.1).torsion == pytest.approx(0.1406 * 1e-4, rel=0.01)
    K = wide.stiffness(STEEL, 2.0)
    assert K[0] == pytest.approx(STEEL.young * 0.02 / 2.0)
    tip = 1.0 / K[2] + (2.0 / 2) ** 2 / K[4]  # of a unit force at the end, by what the middle gives way
    slender = 2.0**3 / (3 * STEEL.young * wide.about_y) + 2.0 / (STEEL.shear_modulus * 5 / 6 * 0.02)
    assert tip == pytest.approx(slender, rel=1e-12)
    with pytest.raises(ProblemError, match="radius is 0"):
        fem.Section.circle(0)


def test_beams_that_are_none_are_refused():
    builder = ModelBuilder()
    for match, change in (
        ("1 points, give 2", {"points": [(0, 0, 0)]}),
        (r"points\[1\] and the next one are the same", {"points": [(0, 0, 0), (1, 0, 0), (1, 0, 0)]}),
        (r"points\[1\] is not finite", {"points": [(0, 0, 0), (np.nan, 0, 0)]}),
        ("is along the beam", {"up": (2, 0, 0)}),
        ("give fem.Section", {"section": 0.1}),
        ("beams take that of the stiffness only", {"elastic": replace(STEEL, damping=(1.0, 0.0))}),
    ):
        given = {"points": [(0, 0, 0), (1, 0, 0)], "section": SLENDER, "elastic": STEEL, **change}
        with pytest.raises(ProblemError, match=match):
            builder.beam("beam", **given)
