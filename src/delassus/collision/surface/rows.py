"""What kernels write about a contact on a surface, and how the fields of Contacts are made of it."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import Contacts
from delassus.collision.narrow.frames import fill_tangents, mix
from delassus.collision.surface.arrays import SurfaceArrays
from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

HEIGHT, REALS = 11, 12
"""Columns of `real`: normal from A to B, point [m], gap [m], four weights, and how far above the surface the other's
point is, or the core of a round shape [m]."""
SIDE_A, SIDE_B, NODE = 0, 1, 2
FEATURE_A, FEATURE_B, ON_RIM, WHOLES = 6, 7, 8, 9
"""Columns of `whole`: the two shapes, four nodes (−1: none), the feature of A and of B, and 1 where a point is above
the rim of a face."""
_FIRST_FEATURE = 1 << 60  # feature ids of flexible bodies begin here: beyond those of rigid pairs
_SHAPES_MAX = 1 << 20  # shapes whose pairs have feature ids below _FIRST_FEATURE


class Rows(NamedTuple):
    """The contacts that one thread writes."""

    real: np.ndarray  # (·, REALS)
    whole: np.ndarray  # (·, WHOLES)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def rows_of(out, t):
    """Of thread t.  out: (real (threads, ·, REALS), whole (threads, ·, WHOLES), contacts of each thread)."""
    return Rows(out[0][t], out[1][t])


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def put(rows, k, sides, normal, point, gap, features):
    """Contact k of two sides (A, B), where rows suffice; point: of B, its two features, no nodes yet.  Whether they
    suffice."""
    real, whole = rows.real, rows.whole
    (nx, ny, nz), (x, y, z) = normal, point
    if k >= len(real):
        return False
    real[k, 0], real[k, 1], real[k, 2] = nx, ny, nz
    real[k, 3], real[k, 4], real[k, 5] = x - 0.5 * gap * nx, y - 0.5 * gap * ny, z - 0.5 * gap * nz
    real[k, 6] = gap
    whole[k, SIDE_A], whole[k, SIDE_B] = sides
    whole[k, FEATURE_A], whole[k, FEATURE_B] = features
    real[k, HEIGHT], whole[k, ON_RIM] = gap, 0
    for c in range(4):
        real[k, 7 + c] = 0.0
        whole[k, NODE + c] = -1
    return True


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def put_node(rows, k, place, node, weight):
    """Node number `place` of contact k."""
    rows.real[k, 7 + place], rows.whole[k, NODE + place] = weight, node


def make_contacts(
    surface: SurfaceArrays, shapes: ShapeArrays, features: int, real: np.ndarray, whole: np.ndarray
) -> Contacts:
    """The contacts, sorted.  features: the most that a shape may have."""
    feature = _names(surface, shapes, features, whole)
    order = np.lexsort((feature, whole[:, SIDE_B], whole[:, SIDE_A]))
    real, whole = real[order], whole[order]
    n, pair = len(real), whole[:, :2]
    frame, mu = np.empty((n, 3, 3)), np.empty(n)
    frame[:, 0] = real[:, :3]
    material = np.concatenate([shapes.surface[:, 1:3], surface.material[:, 1:3]])
    _finish(frame, material[pair[:, 0], 0], material[pair[:, 1], 0], shapes.mixing, mu)
    body = np.concatenate([shapes.body, np.full(surface.body_count, -1)])
    return Contacts(
        body[pair],
        pair.astype(np.int32),
        real[:, 3:6].copy(),
        frame,
        real[:, 6].copy(),
        mu,
        material[pair, 1].max(axis=1),
        feature[order],
        whole[:, NODE : NODE + 4].copy(),
        real[:, 7:11].copy(),
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _finish(frame, one, two, mixing, mu):
    for k in range(len(mu)):
        fill_tangents(frame, k)
        mu[k] = mix(mixing, one[k], two[k])


def _names(surface: SurfaceArrays, shapes: ShapeArrays, features: int, whole: np.ndarray) -> np.ndarray:
    """(n,) uint64, one for every pair of features."""
    own, rigid = surface.feature_count, shapes.count * features
    if shapes.count >= _SHAPES_MAX or math.log2(own) + math.log2(rigid + own) >= 60:
        raise ProblemError(
            f"{shapes.count} shapes beside {own} nodes, edges and faces of surfaces are too many: contacts have no "
            "numbers of their own any more"
        )
    a = whole[:, SIDE_A]
    first = np.where(a < shapes.count, a * features, rigid) + whole[:, FEATURE_A]
    return (_FIRST_FEATURE + first * own + whole[:, FEATURE_B]).astype(np.uint64)
