"""Tests of the broad phase on one pair: could these two be in contact?"""

from numba import njit

from delassus.collision.layout import MARGIN


@njit(cache=True, error_model="numpy")
def boxes_overlap(position, extent, a, b):
    """The boxes along the world's axes, margins included."""
    return (
        abs(position[a, 0] - position[b, 0]) <= extent[a, 0] + extent[b, 0]
        and abs(position[a, 1] - position[b, 1]) <= extent[a, 1] + extent[b, 1]
        and abs(position[a, 2] - position[b, 2]) <= extent[a, 2] + extent[b, 2]
    )


@njit(cache=True, error_model="numpy")
def over_plane(position, rotation, radius, plane, other):
    """The bounding ball of the other shape reaches the plane."""
    d = 0.0
    for k in range(3):
        d += rotation[plane, k, 2] * (position[other, k] - position[plane, k])
    return d <= radius[other] + position[plane, MARGIN]
