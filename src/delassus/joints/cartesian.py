"""Cartesian joint: free translation without rotation."""

from delassus.joints.kind import NO_ROTATION, JointKind, slide

KIND = JointKind(
    "cartesian",
    rows=NO_ROTATION,
    coordinates=(slide("x", 0), slide("y", 1), slide("z", 2)),
    meaning="translation along x, y and z",
)
