"""Prismatic joint: a slider along z."""

from delassus.joints.kind import NO_ROTATION, JointKind, point, slide

KIND = JointKind(
    "prismatic",
    rows=(*point(0, 1), *NO_ROTATION),
    coordinates=(slide("position", 2),),
    meaning="translation along z",
)
