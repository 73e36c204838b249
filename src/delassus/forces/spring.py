"""A spring and a damper along the line between two points."""

from delassus.forces.kind import ForceKind, Measure
from delassus.forces.measures import DISTANCE

KIND = ForceKind("spring", (Measure(DISTANCE),), "distance of two points")
