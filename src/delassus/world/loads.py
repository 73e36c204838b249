"""What joints and welds carried over the last step, out of its report.

After the solve a step closes its joints, in position and velocity (dynamics/closure.py). What that changes velocities
by was an impulse of the same joints, a tenth of a percent of the reactions of a falling four-bar. It is added here, so
that forces and momenta balance on every body.
"""

from typing import TYPE_CHECKING

import numpy as np

from delassus.dynamics.rows import DRIVE
from delassus.io.recording.nodes import welding
from delassus.spatial import quaternion_to_matrix, rotate
from delassus.world import reading
from delassus.world.loops import dense_rows

if TYPE_CHECKING:
    from delassus.world.world import World

_REDUNDANT = 1e-10  # of the largest: singular values below belong to redundant rows


def coordinate_load(world: "World", d: int) -> float:
    """What the drive and the given effort exerted on coordinate d [N, N m]; zero before the first step."""
    if world._run.before is None:
        return 0.0
    effort = float(world._run.before.inputs.effort[d])
    report = world.report
    row = np.flatnonzero(report.rows.names[: report.rows.cone.bilateral.size] == DRIVE + np.uint64(d))
    if not len(row):
        return effort
    return effort + float(report.solution.reactions[report.rows.cone.block_start[row[0]]]) / report.h


def joint_reaction(world: "World", j: int) -> tuple[np.ndarray, np.ndarray]:
    """Force (3,) [N] and moment (3,) [N m] about the joint's origin on its follower, world axes; zero before the first
    step."""
    if world._run.before is None:
        return np.zeros(3), np.zeros(3)
    joints, report = world.model.joints, world.report
    own, b = slice(int(joints.row_start[j]), int(joints.row_start[j + 1])), int(joints.bodies[j, 1])
    force, moment = np.zeros(3), np.zeros(3)
    closing, closing_rows, open_poses = world._closing
    for impulse, rows, pose in (
        (report.solution.reactions[own], report.rows.rows[own, 6:], report.at[b]),
        (closing[own], closing_rows[own, 6:], open_poses[b]),
    ):
        wrench = impulse @ rows / report.h
        force += wrench[:3]
        moment += wrench[3:] - np.cross(rotate(pose[3:], joints.origin[j, 1]), wrench[:3])
    return force, moment


def weld_forces(world: "World") -> np.ndarray:
    """(n_w, 3) on the nodes that are held, world axes [N]; zero before the first step."""
    flexible = world.model.flexible
    count = 0 if flexible is None else flexible.welds.count
    if world._run.before is None or not count:
        return np.zeros((count, 3))
    return welding(world.report)


def closing_impulses(world: "World") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Impulses [N s] with which all joints, (m,), and then all lengths that are held closed after the last step: the
    least that explain what it did to the velocities; the rows (m, 12) that those of joints acted through and the poses
    (n_b, 7) these are of: closing starts there."""
    model, solved = world.model, world.report.solved
    q, u = solved if solved is not None else (world._q, world._u)
    rotation = quaternion_to_matrix(q[:, 3:])
    _, rows = model.joints.constraints(model.joints.frames(q[:, :3], rotation))
    change, couplings = world._u - u, model.couplings
    if not change.any():
        return np.zeros(len(rows) + (0 if couplings is None else len(couplings.held))), rows, q
    mass, _ = model.mass_blocks(rotation)
    geared = model.joints.geared
    J = dense_rows(model, q, geared)
    own, of_rotors = J[: len(rows)], J[len(rows) :]
    momentum = np.einsum("bij,bj->bi", mass, change).ravel()
    momentum += (model.joints.armature[geared] * (of_rotors @ change.ravel())) @ of_rotors
    if couplings is not None and model.closes_lengths:
        values, rates = reading.coordinates(model, q, world.state.turns)
        of_lengths = couplings.evaluate(model.joints, values, rates, model.body_count)[1]
        heavy = of_lengths[couplings.geared]
        momentum += (couplings.armature[couplings.geared] * (heavy @ change.ravel())) @ heavy
        own = np.concatenate([own, of_lengths[couplings.held]])
    return np.linalg.lstsq(own.T, momentum, rcond=_REDUNDANT)[0], rows, q
