"""Collision: shapes attached to bodies in, contacts out.

    arrays = shape_arrays(instances)                        once
    contacts = detect(arrays, position, quaternion)         every step

placement (where shapes are) → broad (which pairs are near) → narrow (contacts of each pair, by the kernel of its family
of kinds), all in one compiled call. surface/: contact of flexible bodies."""

from delassus.collision.arrays import MIXING, ShapeArrays, shape_arrays
from delassus.collision.contacts import Contacts
from delassus.collision.detect import detect, detect_at
from delassus.collision.instances import Instance
from delassus.collision.surface import Skin, SurfaceArrays, detect_surface, surface_arrays

__all__ = [
    "MIXING",
    "Contacts",
    "Instance",
    "ShapeArrays",
    "Skin",
    "SurfaceArrays",
    "detect",
    "detect_at",
    "detect_surface",
    "shape_arrays",
    "surface_arrays",
]
