"""Spherical joint: a ball and socket."""

from delassus.joints.kind import ROTATION_VECTOR, JointKind, point

KIND = JointKind(
    "spherical",
    rows=point(0, 1, 2),
    coordinates=ROTATION_VECTOR,
    meaning="any rotation about the common point",
)
