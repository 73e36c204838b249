"""Fixed joint: the two frames move as one."""

from delassus.joints.kind import NO_ROTATION, JointKind, point

KIND = JointKind(
    "fixed",
    rows=(*point(0, 1, 2), *NO_ROTATION),
    coordinates=(),
    meaning="no relative motion",
)
