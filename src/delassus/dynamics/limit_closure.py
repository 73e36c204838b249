"""Bodies moved back within the limits of joints that were overshot, their joints closed, along the least change in the
mass metric: as closure.py closes joints, with a row for each coordinate that has to move."""

import numpy as np

from delassus.dynamics.closing_island import ClosingRoom, evaluate, factor, respond, room_of
from delassus.dynamics.closing_order import Closing, closing_with_limits
from delassus.joints.arrays import JointArrays
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model


def shift_into_limits(model: Model, joints: JointArrays, q: np.ndarray, lack: np.ndarray) -> np.ndarray:
    """Displacements (n_b, 6) that close these joints and change their coordinates by `lack`, (n_d,), to first order,
    where that is not zero. Islands that lack nothing stay."""
    fields, coordinate = closing_with_limits(joints)
    shift = np.zeros((len(q), 6))
    _shift(fields, coordinate, (model.inverse_mass, model.inverse_inertia), q, lack, room_of(fields), shift)
    return shift


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _shift(closing, coordinate, masses, q, lack, room, shift):
    closing, room = Closing(*closing), ClosingRoom(*room)
    for b in range(len(closing.body)):
        for i in range(7):
            room.q[b, i] = q[closing.body[b], i]
    for g in range(len(closing.islands) - 1):
        rows = closing.start[closing.islands[g, 0]], closing.start[closing.islands[g + 1, 0]]
        lacks = False
        for r in range(rows[0], rows[1]):
            lacks = lacks or (coordinate[r] >= 0 and lack[coordinate[r]] != 0.0)
        if not lacks:
            continue
        evaluate(closing, g, room.q, room)
        for r in range(rows[0], rows[1]):
            if coordinate[r] >= 0:
                room.residual[r] = -lack[coordinate[r]]
                if lack[coordinate[r]] == 0.0:  # a row of nothing is redundant
                    for i in range(12):
                        room.rows[r, i] = 0.0
        factor(closing, masses, g, room)
        respond(closing, g, room)
        for b in range(closing.islands[g, 1], closing.islands[g + 1, 1]):
            for i in range(6):
                shift[closing.body[b], i] = room.change[b, i]
