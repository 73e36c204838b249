"""How far a shape may move within a step before one configuration no longer tells what it meets."""

from typing import NamedTuple

import numpy as np

from delassus.collision.layout import CONVEX, PLANE, SPHERE, TRIANGLE

_PART = 0.1  # of half its thickness: a shape that moves less is well described by one configuration


class Pace(NamedTuple):
    """Computed once; n shapes."""

    arm: np.ndarray  # (n,) how far a shape reaches from its body's centre of mass, 0 for the world [m]
    thin: np.ndarray  # (n,) a part of half its thickness [m], infinite for planes and triangles
    least: float  # the least motion of a shape that may matter [m]


def pace_of(arrays) -> Pace:
    """arrays: ShapeArrays."""
    margin, moving = arrays.surface[:, 0], arrays.body >= 0
    arm = np.linalg.norm(arrays.local_position, axis=1)
    # turning about its own centre moves no point of a sphere's surface off that surface
    arm += np.where(arrays.kind == SPHERE, 0.0, arrays.radius - margin)
    thin = np.array([_thin(arrays, s) for s in range(arrays.count)])
    least = min(thin.min(initial=np.inf), margin[moving].min(initial=np.inf))
    return Pace(np.where(moving, arm, 0.0), thin, float(least))


def _thin(arrays, s: int) -> float:
    """A part of half the least width of shape s [m]."""
    kind = arrays.kind[s]
    if kind in (PLANE, TRIANGLE):
        return np.inf
    if kind == CONVEX:
        vertex, start, _, _, shape_face, normal, _, _ = arrays.vertices
        along = vertex[start[s] : start[s + 1]] @ normal[shape_face[s] : shape_face[s + 1]].T
        return _PART * 0.5 * float(np.ptp(along, axis=0).min())
    size = arrays.size[s]
    return _PART * float(size[size > 0].min())
