"""From where rows are evaluated to the end of the step: with the new velocities, not into what is in the way."""

import numpy as np
from numba import njit

from delassus.collision.placement import moves_far
from delassus.dynamics.impacts import wait_at_obstacles
from delassus.dynamics.rows import Rows
from delassus.dynamics.separation import separate
from delassus.dynamics.stabilisation import Stabilisation
from delassus.integrators.motion import move, moved_each
from delassus.model.model import Model
from delassus.problem import Problem

_NONE = np.zeros(0)


def move_on(
    model: Model, at: np.ndarray, before: np.ndarray, u: np.ndarray, elapsed: np.ndarray, h: float, rows: Rows,
    problem: Problem, settings: Stabilisation, reactions: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Poses at the end of the step, (n_b, 7).  at: where rows are evaluated, at times elapsed (n_b,) [s]; before, u:
    (n_b, 6) velocities before and after the step; reactions: (m,) [N s]."""
    left = h - elapsed
    if settings.through_velocities:
        return moved_each(at, u, left)
    q, contacts, shapes, pace = np.empty_like(at), rows.contacts, model.shapes, model.shapes.pace
    first, soft = rows.cone.contact_start, _NONE if rows.compliance is None else rows.compliance
    rigid = problem.delassus.rigid
    assert rigid is not None  # a model's problem always is
    touching = (contacts.bodies, contacts.shapes, contacts.gap, first, rows.rows, rigid.response, soft)
    reach = (shapes.body, pace.arm, pace.least, shapes.radius)
    if not _move_on(at, before, u, elapsed, left, h, touching, reach, settings.plain, False, q):
        left = wait_at_obstacles(model, at, u, left, contacts, reactions[first : first + 3 * len(contacts) : 3])
        _move_on(at, before, u, elapsed, left, h, touching, reach, settings.plain, True, q)
    return q


@njit(cache=True, error_model="numpy")
def _move_on(at, before, u, elapsed, left, h, touching, reach, plain, is_free, q):
    """q from `at`, without penetration at the contacts.  False, and nothing done, where a shape moves so far that its
    way has to be looked at first, unless it is known to be free."""
    body, arm, least, radius = reach
    if not is_free and moves_far(body, arm, least, u, 0.0, h):
        return False
    n = len(u)
    way = np.empty((n, 6))
    for b in range(n):
        for k in range(6):
            way[b, k] = left[b] * u[b, k]
    move(at, way, 1.0, q)
    if len(touching[2]):
        way[:] = 0.0
        if separate(touching, radius, before, elapsed, u, left, h, plain, way):
            move(q, way, 1.0, q)
    return True
