"""Planar joint: the follower's origin stays in the base's x-y plane, with parallel z axes."""

from delassus.joints.kind import PARALLEL_Z, JointKind, point, slide, turn_z

KIND = JointKind(
    "planar",
    rows=(*point(2), *PARALLEL_Z),
    coordinates=(slide("x", 0), slide("y", 1), turn_z()),
    meaning="translation along x and y, rotation about z",
)
