"""The thirteen systems of Tsounis et al. 2025, Table II, column by column.

Where the table contradicts itself, bodies, constraints, actuated degrees of freedom and mass ratio are matched and the
exception is listed: total degrees of freedom are six per joint less the constraints, plus six of a free base."""

import numpy as np
import pytest

from delassus.reproduce.experiments.table_ii import EXCEPTIONS, TABLE, columns
from delassus.scenes import find


@pytest.mark.parametrize("name", TABLE)
def test_every_column_of_the_table(name):
    free, *wanted = TABLE[name]
    found = columns(find(name).build().model, free)
    for column, value in zip(found, wanted):
        if (name, column) not in EXCEPTIONS:
            assert found[column] == pytest.approx(value, rel=1e-6), column
        else:
            assert column not in ("bodies", "constraints", "mass ratio")


def test_exceptions_are_needed():
    """An exception that agrees with the table would hide a later mistake."""
    for name, column in EXCEPTIONS:
        free, *wanted = TABLE[name]
        found = columns(find(name).build().model, free)
        assert found[column] != pytest.approx(wanted[list(found).index(column)]), (name, column)


@pytest.mark.parametrize("name", TABLE)
def test_base_and_loops(name):
    """A fixed base has one unary joint, a free one none; joints beyond a tree close loops."""
    free = TABLE[name][0]
    model = find(name).build().model
    unary = int((model.joints.bodies[:, 0] < 0).sum())
    assert unary == (0 if free else 1)
    loops = model.joints.count - unary - (model.body_count - 1)
    assert loops == {"four-bar": 1, "four-bar-free": 1, "misha": 2, "walker": 6, "gazelle": 7, "ironman": 13}.get(
        name, 0
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_five_seconds_with_loops_closed(name):
    """h = 1 ms, five seconds, joints and loops to 1e-5."""
    setup = find(name).build()
    assert setup.settings.h == 1e-3
    run = setup.run(duration=5.0)
    assert run.drift.max() < 1e-5
    assert np.isfinite(run.q).all()
    assert all(check.passed for check in find(name).check(setup, run)), find(name).check(setup, run)
