"""The rows of an impact: velocities jump, and nothing moves meanwhile.

What acts through a force (springs, drives, dampers, dry friction, soft joints) gives no impulse in no time. Joints,
armature, prescribed motion and limits that are reached do, and so do contacts that touch."""

import numpy as np

from delassus.collision import Contacts
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.rows import DRIVE, FRICTION, JOINT, LIMIT, Motion, Rows, Rule, are_of, row_rate
from delassus.dynamics.softness import Softness
from delassus.dynamics.stabilisation import Stabilisation
from delassus.dynamics.step_problem import Nodes, assemble
from delassus.joints.arrays import IMPOSED
from delassus.model.model import Model
from delassus.model.state import State

_REACHED = 1e-9  # limits this near are reached [m, rad]
_MOMENT = 1e-9  # [s] for what asks for a time; nothing that depends on it is kept
_NUMBER = np.uint64((1 << 32) - 1)  # of a coordinate, in the name of a block


def jump_rows(
    model: Model, state: State, contacts: Contacts, inputs: Inputs, stabilisation: Stabilisation, softness: Softness
) -> tuple[Rows, np.ndarray]:
    """Rows where the state is, and the normal speeds of the contacts before the jump (n_c,) [m/s]: those of all
    contacts hold as if there were no restitution."""
    u, pushing = state.u, stabilisation.pushing(model.gravity, _MOMENT, 0.0)
    still = np.zeros(model.body_count)
    motion = Motion(state.q, state.rotation, still, u, u, model.inverse_mass, model.inverse_inertia)
    rows = assemble(
        model, state, contacts, inputs, motion, Rule(_MOMENT, 1.0, pushing), softness, Nodes(state.nodes, pushing)
    )
    rows.bound = None
    compliance = np.zeros(len(rows.bias)) if rows.compliance is None else rows.compliance
    start, kinds = rows.cone.block_start, rows.names
    joints, drives, friction, limits = (are_of(kinds, kind) for kind in (JOINT, DRIVE, FRICTION, LIMIT))
    for k in np.flatnonzero(joints | drives | friction | limits):
        own = slice(int(start[k]), int(start[k + 1]))
        soft = compliance[own] > 0.0
        if joints[k]:
            rows.bias[own] = 0.0
        elif drives[k] and not soft.any():  # prescribed motion goes on
            rows.bias[own] = -row_rate(rows.bodies, k, rows.rows, own.start, u)
        elif drives[k]:
            d = int(kinds[k] & _NUMBER)
            armature = model.freedoms.armature[d]
            if armature > 0.0 and model.freedoms.drive[d] != IMPOSED:
                rows.bias[own] = -row_rate(rows.bodies, k, rows.rows, own.start, u)
                compliance[own], soft = 1.0 / armature, np.zeros(1, bool)
        elif limits[k]:
            soft = soft | (_gap(model, rows, int(kinds[k] & _NUMBER)) > _REACHED)
            rows.bias[own] = np.where(soft, 1.0, 0.0)
        soft = soft | friction[k]
        rows.rows[own][soft], compliance[own] = 0.0, np.where(soft, 1.0, compliance[own])
        rows.bias[own] = np.where(soft & ~limits[k], 0.0, rows.bias[own])
    first = rows.cone.contact_start
    rows.bias[first:] = 0.0
    if compliance.any():
        rows.compliance = compliance
    blocks = len(rows.bodies) - len(contacts)
    speed = np.array([row_rate(rows.bodies, blocks + c, rows.rows, first + 3 * c, u) for c in range(len(contacts))])
    return rows, speed


def _gap(model: Model, rows: Rows, number: int) -> float:
    """Of limit `number`, two a coordinate [m, rad]."""
    d, side = divmod(number, 2)
    value, freedoms = rows.coordinates[d], model.freedoms
    return float(freedoms.upper[d] - value if side else value - freedoms.lower[d])
