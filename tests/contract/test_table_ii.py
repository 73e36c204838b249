"""The thirteen systems of paper 003, Table II, column by column.

Where the table contradicts itself, bodies, constraints, actuated degrees of freedom and mass ratio are matched and the
exception is listed: total degrees of freedom are six per joint less the constraints, plus six of a free base."""

import numpy as np
import pytest

from delassus.joints.arrays import PASSIVE
from delassus.scenes import find

# name: base is free, bodies, joints, total, passive and actuated degrees of freedom, constraints, mass ratio
TABLE = {
    "box-on-plane": (True, 1, 0, 6, 0, 0, 0, 1.0),
    "boxes-fixed": (True, 2, 1, 6, 0, 0, 6, 1000.0),
    "nunchuk": (True, 3, 2, 12, 6, 0, 6, 1.0),
    "four-bar": (False, 4, 5, 1, 0, 1, 26, 1.0),
    "four-bar-free": (True, 4, 4, 7, 5, 1, 20, 1.0),
    "arm7d": (False, 8, 7, 7, 0, 7, 41, 19.54),
    "quadruped": (True, 13, 12, 18, 6, 12, 60, 29.07),
    "bdx": (True, 15, 14, 14, 6, 14, 70, 42.49),
    "lima": (True, 21, 20, 26, 6, 20, 100, 321.39),
    "misha": (False, 22, 24, 23, 0, 23, 121, 90.67),
    "walker": (True, 31, 36, 42, 18, 24, 180, 99.55),
    "gazelle": (False, 38, 45, 60, 38, 22, 214, 1012.54),
    "ironman": (False, 54, 67, 100, 80, 20, 304, 25544.44),
}
EXCEPTIONS = {
    ("arm7d", "joints"): "41 constraints are seven hinges and a mount: eight joints",
    ("bdx", "total"): "six of the base are left out in the table",
    ("gazelle", "total"): "45 joints with 214 constraints leave 56",
    ("gazelle", "passive"): "follows from the total",
    ("ironman", "total"): "67 joints with 304 constraints leave 98",
    ("ironman", "passive"): "follows from the total",
    ("box-on-plane", "passive"): "the table counts a free base as passive only where there are joints",
    ("boxes-fixed", "passive"): "the same: one rigid whole",
    ("nunchuk", "passive"): "two ball joints are six; the base is left out",
    ("four-bar", "total"): "the mechanism's one degree of freedom, not the joints' four",
    ("four-bar", "passive"): "the same",
    ("four-bar-free", "total"): "the mechanism's, not the joints'",
    ("four-bar-free", "passive"): "the same",
    ("four-bar-free", "actuated"): "ours falls without a motor",
}


def columns(model, free: bool) -> dict:
    joints = model.joints
    total = 6 * joints.count - joints.row_count + 6 * free
    actuated = int((joints.drive != PASSIVE).sum())
    return {
        "bodies": model.body_count,
        "joints": joints.count,
        "total": total,
        "passive": total - actuated,
        "actuated": actuated,
        "constraints": joints.row_count,
        "mass ratio": float(model.mass.max() / model.mass.min()),
    }


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
    assert loops == {"four-bar": 1, "four-bar-free": 1, "misha": 2, "walker": 6, "gazelle": 7, "ironman": 13}.get(name, 0)


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
