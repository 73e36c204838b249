"""`World`, the object people hold: a mechanism that moves, with everything in it by name (docs/world.md)."""

from delassus.world.body import Body as Body
from delassus.world.body import Energy as Energy
from delassus.world.coordinate import Coordinate as Coordinate
from delassus.world.flexible_body import FlexibleBody as FlexibleBody
from delassus.world.joint import Joint as Joint
from delassus.world.joint import Reaction as Reaction
from delassus.world.snapshot import Snapshot as Snapshot
from delassus.world.tendon import Tendon as Tendon
from delassus.world.world import World as World
from delassus.world.worlds import Worlds as Worlds
