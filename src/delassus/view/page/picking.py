"""Which body or contact a click means, and which contact that is in the next step."""

import numpy as np

from delassus.io.recording import StepContacts
from delassus.view.drawing import Solids

_APART = 0.015  # rad between the line of sight and a contact or its arrow: ten pixels in a window of usual size


def contact_at(origin: np.ndarray, sight: np.ndarray, contacts: StepContacts, along: np.ndarray, body: int = -1) -> int:
    """The contact that a line of sight meets, or whose arrow it meets; −1: none.

    origin [m], sight: (3,) of the line; along: (n, 3) arrows [m]; body: what is in front, if it is a body: then
    only its own contacts are meant."""
    if not len(contacts.gap):
        return -1
    sight = sight / np.linalg.norm(sight)
    start = contacts.point - origin
    # nearest points of the line o + s·sight and of the arrows start + t·along
    s_along, square = along @ sight, np.einsum("ij,ij->i", along, along)
    s_start, both = start @ sight, np.einsum("ij,ij->i", along, start)
    within = square - s_along**2
    t = np.where(within > 1e-12 * square, (s_along * s_start - both) / np.where(within > 0.0, within, 1.0), 0.0)
    nearest = start + np.clip(t, 0.0, 1.0)[:, None] * along
    depth = nearest @ sight
    angle = np.linalg.norm(nearest - depth[:, None] * sight, axis=1) / np.maximum(depth, 1e-12)
    is_meant = (depth > 0.0) & (angle < _APART)
    if body >= 0:
        is_meant &= (contacts.bodies == body).any(axis=1)
    return int(np.argmin(np.where(is_meant, angle, np.inf))) if is_meant.any() else -1


def first_ball(origin: np.ndarray, sight: np.ndarray, balls: Solids, q: np.ndarray) -> tuple[float, int]:
    """How far away the first of many spheres is that a line of sight meets [m], and its row; (∞, −1): it meets none."""
    start, sight = balls.placed(q)[0] - origin, sight / np.linalg.norm(sight)
    depth = start @ sight
    within = balls.scale[:, 0] ** 2 - (np.einsum("ij,ij->i", start, start) - depth**2)
    away = np.where((within >= 0.0) & (depth > 0.0), depth - np.sqrt(np.maximum(within, 0.0)), np.inf)
    k = int(np.argmin(away))
    return (float(away[k]), int(balls.rows[k])) if np.isfinite(away[k]) else (np.inf, -1)


def distance(origin: np.ndarray, sight: np.ndarray, solids: Solids, row: int, q: np.ndarray) -> float:
    """To where a line of sight first meets the solid of this row [m]; ∞: nowhere."""
    one = int(np.flatnonzero(solids.rows == row)[0])
    x, R = (values[one] for values in solids.placed(q))
    corners = (solids.triangles.vertices * solids.scale[one]) @ R.T + x - origin
    a, b, c = np.moveaxis(corners[solids.triangles.faces], 1, 0)
    along = sight / np.linalg.norm(sight)
    # a triangle is met where along lies between its corners, seen from the origin
    sides = np.stack([np.cross(a, b) @ along, np.cross(b, c) @ along, np.cross(c, a) @ along])
    normal = np.cross(b - a, c - a)
    steep = normal @ along
    is_met = ((sides >= 0.0).all(axis=0) | (sides <= 0.0).all(axis=0)) & (steep != 0.0)
    away = np.einsum("ij,ij->i", normal, a)[is_met] / steep[is_met]
    return float(away[away > 0.0].min(initial=np.inf))


Name = tuple[int, int, int]
"""Of a contact, the same from step to step: its bodies and its feature."""


def name_of(contacts: StepContacts, c: int) -> Name:
    """Of contact c."""
    first, second = contacts.bodies[c].tolist()
    return first, second, int(contacts.feature[c])


def find(contacts: StepContacts, name: Name) -> int:
    """Its number in this step; −1: there is none."""
    is_it = (contacts.bodies == name[:2]).all(axis=1) & (contacts.feature == np.uint64(name[2]))
    return int(np.argmax(is_it)) if is_it.any() else -1
