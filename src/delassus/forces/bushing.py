"""A rubber bushing: stiffness and damping, 6×6 each, between two frames."""

from delassus.forces.kind import ForceKind, Measure
from delassus.forces.measures import ROTVEC, SLIDE

KIND = ForceKind(
    "bushing",
    (*(Measure(SLIDE, axis) for axis in range(3)), *(Measure(ROTVEC, axis) for axis in range(3))),
    "displacement and rotation vector in the first frame",
)
