"""Cylindrical joint: slides along z and turns about it."""

from delassus.joints.kind import PARALLEL_Z, JointKind, point, slide, turn_z

KIND = JointKind(
    "cylindrical",
    rows=(*point(0, 1), *PARALLEL_Z),
    coordinates=(slide("position", 2), turn_z()),
    meaning="translation along and rotation about z",
)
