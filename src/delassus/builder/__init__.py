"""How to say a mechanism: bodies, joints, materials and motors, and the builder that makes a `Model` of them."""

from delassus.builder.body import WORLD as WORLD
from delassus.builder.body import Body as Body
from delassus.builder.body import Material as Material
from delassus.builder.builder import ModelBuilder as ModelBuilder
from delassus.builder.flexible import FlexibleBody as FlexibleBody
from delassus.builder.joint import IMPOSED_MOTION as IMPOSED_MOTION
from delassus.builder.joint import Imposed as Imposed
from delassus.builder.joint import Motor as Motor
