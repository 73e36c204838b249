"""What joints carried over the last step, out of its report."""

from typing import TYPE_CHECKING

import numpy as np

from delassus.dynamics.rows import DRIVE
from delassus.spatial import rotate

if TYPE_CHECKING:
    from delassus.world.world import World


def coordinate_load(world: "World", d: int) -> float:
    """What the drive and the given effort exerted on coordinate d [N, N m]; zero before the first step."""
    if world._before is None:
        return 0.0
    effort = float(world._before.inputs.effort[d])
    report = world.report
    row = np.flatnonzero(report.rows.names[: report.rows.cone.bilateral.size] == DRIVE + np.uint64(d))
    if not len(row):
        return effort
    return effort + float(report.solution.reactions[report.rows.cone.block_start[row[0]]]) / report.h


def joint_reaction(world: "World", j: int) -> tuple[np.ndarray, np.ndarray]:
    """Force (3,) [N] and moment (3,) [N m] about the joint's origin on its follower, world axes; zero before the first
    step."""
    if world._before is None:
        return np.zeros(3), np.zeros(3)
    joints, report = world.model.joints, world.report
    own = slice(int(joints.row_start[j]), int(joints.row_start[j + 1]))
    wrench = report.solution.reactions[own] @ report.rows.rows[own, 6:] / report.h
    arm = rotate(report.at[joints.bodies[j, 1], 3:], joints.origin[j, 1])
    return wrench[:3], wrench[3:] - np.cross(arm, wrench[:3])
