"""Universal joint: the base's x axis and the follower's y axis stay at right angles (Cardan)."""

from delassus.joints.kind import UNIVERSAL_ANGLES, JointKind, Row, point
from delassus.joints.primitives import DOT

KIND = JointKind(
    "universal",
    rows=(*point(0, 1, 2), Row(DOT, 0, 1)),
    coordinates=UNIVERSAL_ANGLES,
    meaning="rotation about the base's x and the follower's y",
)
