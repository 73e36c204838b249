"""The rows of one step: joints, drives, limits, contacts and joint friction, with bias, compliance and names.

Blocks in the order of the problem's cone: bilateral (joints, then drives, then dry friction of joints), unilateral
(limits), triples (contacts).
"""

from dataclasses import dataclass

import numpy as np

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics.fill_rows import fill_rows
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.soft_rows import Softness
from delassus.dynamics.stabilisation import Stabilisation
from delassus.model.model import Model
from delassus.model.state import State


@dataclass(eq=False)
class Rows:
    """What a problem is made of, plus the name of every block for the warm start. Not changed once made.

    bodies: (block_count, 2); rows: (m, 12); bias: (m,) [m/s]; compliance: (m,) [1/kg] or None; cone; names:
    (block_count,) uint64, the same from step to step for the same joint, limit or contact feature; residual: (m_j,)
    joint errors [m, rad]; contacts: what the triples are; coordinates: (n_d,) [m, rad], turns counted, and their rate
    rows: (n_d, 12); bound: (m,) largest reactions [N s], infinite for most, None for all; stopped: (n_d,) does a limit
    stop the prescribed motion? friction_count: the last bilateral rows are of dry friction."""

    bodies: np.ndarray
    rows: np.ndarray
    bias: np.ndarray
    compliance: np.ndarray | None
    cone: ProductCone
    names: np.ndarray
    residual: np.ndarray
    contacts: Contacts
    coordinates: np.ndarray
    rates: np.ndarray
    bound: np.ndarray | None
    stopped: np.ndarray
    friction_count: int = 0

    @property
    def contact_count(self) -> int:
        return len(self.contacts.gap)

    def __repr__(self) -> str:
        soft = 0 if self.compliance is None else int(np.count_nonzero(self.compliance))
        return f"Rows({len(self.rows)} rows, {self.cone}, {soft} compliant, {len(self.coordinates)} coordinates)"


def assemble(
    model: Model,
    position: np.ndarray,
    rotation: np.ndarray,
    state: State,
    contacts: Contacts,
    h: float,
    inputs: Inputs,
    stabilisation: Stabilisation,
    softness: Softness,
    half: np.ndarray,
    ahead: float,
    elapsed: np.ndarray,
) -> Rows:
    """All rows at the given configuration.  position: (n_b, 3), rotation: (n_b, 3, 3) where rows are evaluated, a
    time ahead [s] after the state, where the joints' errors are taken; half: (n_b, 6) velocities after the first half
    of the step's gyroscopic moment; elapsed: (n_b,) how long each body moved to get there [s], less than ahead where
    it met something."""
    softness.check_step(h)
    pushing = stabilisation.pushing(model.gravity, h, ahead)
    joints = model.joints
    free, joint_rows = joints.coordinate_count, joints.row_count
    most_single = joints.drive_count + joints.friction_count + joints.limit_count
    triples = len(contacts.gap)
    most_blocks, most_rows = joints.count + most_single + triples, joint_rows + most_single + 3 * triples
    bodies, names = np.empty((most_blocks, 2), np.int64), np.empty(most_blocks, np.uint64)
    sizes = np.empty(most_blocks, np.int64)
    rows, bias, compliance = np.empty((most_rows, 12)), np.empty(most_rows), np.empty(most_rows)
    mu, residual, bound = np.empty(triples), np.empty(joint_rows), np.empty(most_rows)
    coordinates, rates, stopped = np.empty(free), np.empty((free, 12)), np.empty(free, np.bool_)
    late = ahead if inputs.time is None else state.t + ahead - inputs.time
    bilateral, limits, count, is_soft = fill_rows(
        joints.plain, joints.plain_coordinates,
        (contacts.bodies, contacts.shapes, contacts.point, contacts.frame, contacts.gap, contacts.restitution,
         contacts.feature, contacts.mu),
        state.q, joints.turns_of(state.turns), elapsed, ahead, position, rotation, state.u, half, inputs.target,
        inputs.target_rate, late, h, pushing, softness.plain, (model.inverse_mass, model.inverse_inertia),
        (bodies, names, sizes, rows, bias, compliance, bound, mu, residual, coordinates, rates, stopped),
    )  # fmt: skip
    blocks = bilateral + limits + triples
    cone = ProductCone.trusted(sizes[:bilateral], limits, mu)
    return Rows(
        bodies[:blocks], rows[:count], bias[:count], compliance[:count] if is_soft else None, cone, names[:blocks],
        residual, contacts, coordinates, rates, bound[:count] if is_soft and joints.is_bounded else None, stopped,
        joints.friction_count,
    )  # fmt: skip
