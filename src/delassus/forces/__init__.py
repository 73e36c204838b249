"""Forces that the step takes into H = M − h²∂f/∂q − h ∂f/∂v: springs, bushings and the user's own. A kind is one file
of data over common measures, and one line in this table; kinds of one's own come in by `delassus.register` or as entry
points."""

from delassus.forces import bending_spring, bushing, point_bushing, spring, torsion_spring
from delassus.forces.configuration import Configuration as Configuration
from delassus.forces.forces import Forces as Forces
from delassus.forces.forces import Group as Group
from delassus.forces.kind import ForceKind as ForceKind
from delassus.forces.kind import Measure as Measure
from delassus.forces.pairs import Masses as Masses
from delassus.forces.pairs import Pairs as Pairs
from delassus.forces.user import Force as Force
from delassus.forces.user import UserForce as UserForce
from delassus.tables import Table

FORCES: Table[ForceKind] = Table(
    "force",
    is_line=lambda line: isinstance(line, ForceKind),
    name_of=lambda kind: kind.name,
    lines=[module.KIND for module in (spring, torsion_spring, bending_spring, bushing, point_bushing)],
)
"""Every kind of force between two ends by name."""
