"""Two rigid jaws hold a soft block by friction: it slips where theory says, and as fast."""

import numpy as np
import pytest

from delassus import Box, Inputs, ModelBuilder, fem
from delassus.simulation import Memory, StepSettings, step

_G, _SIZE, _FORCE, _H = 9.81, 0.1, 15.0, 0.005
_CRITICAL = 1000.0 * _SIZE**3 * _G / (2.0 * _FORCE)  # μ that just holds it: m g = 2 μ N


def held(mu, duration):
    """Vertical velocities of its centre of mass after each step [m/s], and the jaws' force on it in the end [N]."""
    builder = ModelBuilder()
    for name, side in (("left", -1.0), ("right", 1.0)):
        jaw = builder.body(
            name, mass=0.2, shapes=Box((0.02, 0.3, 0.3)), material=mu, position=(side * 0.5 * (_SIZE + 0.02), 0, 0)
        )
        builder.joint("prismatic", None, jaw, axis=(-side, 0, 0), name=name, damping=20.0)
    rubber = fem.Elastic(1e5, 0.3, 1000.0, damping=(0.0, 0.02))
    builder.flexible("block", fem.block(size=(_SIZE, _SIZE, _SIZE), cells=(3, 3, 3)), rubber, material=mu)
    model, state = builder.build()
    settings, memory = StepSettings(h=_H, integrator="euler", tol=1e-9), Memory()
    inputs, mass = Inputs.of(model, effort={"left": _FORCE, "right": _FORCE}), model.flexible.elements.nodal_mass
    speeds = []
    for _ in range(round(duration / _H)):
        state, report = step(model, state, inputs, settings, memory)
        assert report.ok
        speeds.append(mass @ state.node_velocity[:, 2] / mass.sum())
    reactions = report.solution.reactions[report.rows.cone.contact_start :].reshape(-1, 3)
    return np.array(speeds), np.einsum("ki,kij->j", reactions, report.contacts.frame) / _H


@pytest.mark.parametrize("mu", [1.02 * _CRITICAL, 0.5])
def test_it_is_held_above_the_critical_friction_and_forces_balance_its_weight(mu):
    speeds, force = held(mu, 0.6)
    assert abs(speeds[-1]) < 1e-9
    assert force == pytest.approx([0.0, 0.0, 1000.0 * _SIZE**3 * _G], abs=1e-6)


@pytest.mark.parametrize("share", [0.8, 0.98])
def test_it_slips_below_as_fast_as_friction_lets_it(share):
    speeds, _ = held(share * _CRITICAL, 0.3)
    assert (speeds[-1] - speeds[-21]) / (20 * _H) == pytest.approx(-_G * (1.0 - share), rel=1e-4)
