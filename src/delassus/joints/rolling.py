"""Rolling joint: two equal circles that roll on each other, as links of tendon-driven fingers do. The same as two
parallel hinges a length apart that turn by equal angles."""

from delassus.joints.kind import DISTANCE_ROW, EVEN_Y, PARALLEL_Z, JointKind, point, turn_z

KIND = JointKind(
    "rolling",
    rows=(*point(2), *PARALLEL_Z, DISTANCE_ROW, EVEN_Y),
    coordinates=(turn_z(),),
    meaning="a circle about z rolls on an equal one, their centres along x",
)
