"""A spring and a damper about an axis: the twist about z of the first frame, whatever else the frames do."""

from delassus.forces.kind import ForceKind, Measure
from delassus.forces.measures import TWIST

KIND = ForceKind("torsion-spring", (Measure(TWIST),), "angle about z of the first frame, in (−π, π]")
