"""Revolute joint: a hinge about the common z axis."""

from delassus.joints.kind import PARALLEL_Z, JointKind, point, turn_z

KIND = JointKind(
    "revolute",
    rows=(*point(0, 1, 2), *PARALLEL_Z),
    coordinates=(turn_z(),),
    meaning="rotation about z",
)
