"""Springs and dampers against every rotation of one frame against another, as between the links of a rod."""

from delassus.forces.kind import ForceKind, Measure
from delassus.forces.measures import ROTVEC

KIND = ForceKind(
    "bending-spring", tuple(Measure(ROTVEC, axis) for axis in range(3)), "rotation vector in the first frame"
)
