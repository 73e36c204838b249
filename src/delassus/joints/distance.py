"""Distance joint: the two origins keep their distance, as if tied by a massless rod."""

from delassus.joints.kind import DISTANCE_ROW, JointKind

KIND = JointKind(
    "distance",
    rows=(DISTANCE_ROW,),
    coordinates=(),
    meaning="a massless rod with ball ends",
)
