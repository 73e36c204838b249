"""Tsounis et al. 2025, Table II: intrinsic dimensions of the thirteen systems."""

from pathlib import Path

from delassus.joints.arrays import PASSIVE
from delassus.model.model import Model
from delassus.reproduce.old import Experiment, Line, Outcome
from delassus.scenes import find

COLUMNS = ("bodies", "joints", "total", "passive", "actuated", "constraints", "mass ratio")
# name: base is free, then the columns, as printed
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
"""Where the table contradicts itself, or counts otherwise than six per joint less the constraints plus a free base."""


def columns(model: Model, is_free: bool) -> dict[str, float]:
    """The table's columns of a model."""
    joints = model.joints
    total = 6 * joints.count - joints.row_count + 6 * is_free
    actuated = int((joints.drive != PASSIVE).sum())
    ratio = float(model.mass.max() / model.mass.min())
    values = (model.body_count, joints.count, total, total - actuated, actuated, joints.row_count, ratio)
    return dict(zip(COLUMNS, values))


def run(folder: Path, quick: bool) -> Outcome:
    del folder, quick
    lines = []
    for name, (free, *wanted) in TABLE.items():
        found = columns(find(name).build().model, free)
        for column, value in zip(COLUMNS, wanted):
            same = abs(found[column] - value) <= 1e-6 * max(1.0, abs(value))
            lines.append(Line(f"{name}: {column}", f"{value:g}", f"{found[column]:g}", same,
                              "equal", EXCEPTIONS.get((name, column), "")))  # fmt: skip
    return Outcome(lines)


EXPERIMENT = Experiment("table-ii", "Tsounis et al. 2025, Table II", "Dimensions of the thirteen systems", run)
