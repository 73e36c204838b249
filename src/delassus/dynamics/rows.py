"""The rows of one step: joints, drives, limits, contacts and joint friction, with bias, compliance and names.

Blocks in the order of the problem's cone: bilateral (joints, then drives), unilateral (limits), triples (contacts, then
dry friction of joints). Dry friction of a joint coordinate, |τ| ≤ τ_f, is Coulomb's law with a known normal reaction: a
triple whose normal row is v_n = w (λ_n − h τ_f) with some mobility w, so that λ_n = h τ_f exactly, whose first tangent
is the coordinate's rate and whose second does not move.
"""

from dataclasses import dataclass

import numpy as np

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics.fill_rows import fill_rows
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.softening import HARD, Softening
from delassus.dynamics.stabilisation import Stabilisation
from delassus.model import Model
from delassus.state import State


@dataclass(eq=False)
class Rows:
    """What a problem is made of, plus the name of every block for the warm start. Not changed once made.

    bodies: (block_count, 2); rows: (m, 12); bias: (m,) [m/s]; compliance: (m,) [1/kg] or None; cone; names:
    (block_count,) uint64, the same from step to step for the same joint, limit or contact feature; residual: (m_j,)
    joint errors [m, rad]; contacts: what the first triples are, the rest is joint friction; coordinates: (n_d,) [m,
    rad], turns counted, and their rate rows: (n_d, 12)."""

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

    @property
    def contact_count(self) -> int:
        return len(self.contacts.gap)

    def __repr__(self) -> str:
        soft = 0 if self.compliance is None else int(np.count_nonzero(self.compliance))
        return f"Rows({len(self.rows)} rows, {self.cone}, {soft} compliant, {len(self.coordinates)} coordinates)"

    @property
    def hard_joint_rows(self) -> int:
        """Number of joint rows, none where they are springs."""
        soft = self.compliance is not None and np.any(self.compliance[: len(self.residual)] > 0.0)
        return 0 if soft else len(self.residual)


def assemble(
    model: Model, position, rotation, state: State, contacts: Contacts, h: float, inputs: Inputs,
    stabilisation: Stabilisation, softening: Softening | None = None, ahead: float = 0.0,
    half: np.ndarray | None = None,
) -> Rows:  # fmt: skip
    """All rows at the given configuration.  position: (n_b, 3), rotation: (n_b, 3, 3) where rows are evaluated, a
    time ahead [s] after the state, where the joints' errors are taken; half: (n_b, 6) velocities after the first half
    of the step's gyroscopic moment, for drives."""
    if softening is not None:
        softening.check_step(h)
    joints = model.joints
    free, joint_rows = joints.coordinate_count, joints.row_count
    most_triples = len(contacts.gap) + joints.friction_count
    most_blocks = joints.count + joints.drive_count + joints.limit_count + most_triples
    most_rows = joint_rows + joints.drive_count + joints.limit_count + 3 * most_triples
    bodies, names = np.empty((most_blocks, 2), np.int64), np.empty(most_blocks, np.uint64)
    sizes = np.empty(most_blocks, np.int64)
    rows, bias, compliance = np.empty((most_rows, 12)), np.empty(most_rows), np.empty(most_rows)
    mu, residual = np.empty(most_triples), np.empty(joint_rows)
    coordinates, rates = np.empty(free), np.empty((free, 12))
    late = ahead if inputs.time is None else state.t + ahead - inputs.time
    bilateral, limits, triples, count, is_soft = fill_rows(
        joints.plain, joints.plain_coordinates,
        (contacts.bodies, contacts.point, contacts.frame, contacts.gap, contacts.restitution, contacts.feature,
         contacts.mu),
        state.q, joints.turns_of(state.turns), ahead, position, rotation, state.u, state.u if half is None else half,
        inputs.target, inputs.target_rate, late, h,
        stabilisation.plain,
        HARD if softening is None else softening.plain, (model.inverse_mass, model.inverse_inertia),
        (bodies, names, sizes, rows, bias, compliance, mu, residual, coordinates, rates),
    )  # fmt: skip
    blocks = bilateral + limits + triples
    cone = ProductCone.trusted(sizes[:bilateral], limits, mu)
    return Rows(
        bodies[:blocks], rows[:count], bias[:count], compliance[:count] if is_soft else None, cone, names[:blocks],
        residual, contacts, coordinates, rates,
    )  # fmt: skip
