"""A bushing that leaves rotations free: stiffness and damping, 3×3 each, of a point in a frame."""

from delassus.forces.kind import ForceKind, Measure
from delassus.forces.measures import SLIDE

KIND = ForceKind("point-bushing", tuple(Measure(SLIDE, axis) for axis in range(3)), "displacement in the first frame")
