"""Contact on the surfaces of flexible bodies: nodes, edges and faces that move, against shapes and against each other.

    surface = surface_arrays(rest, [Skin(triangles, mu=0.3)])               once
    contacts = detect_surface(surface, nodes, shapes, q, reach=h * speed)   every step

tree (which triangles are near) → against shapes and against each other → rows, which become Contacts."""

from delassus.collision.surface.arrays import SurfaceArrays, surface_arrays
from delassus.collision.surface.detect import detect_surface
from delassus.collision.surface.skin import Skin

__all__ = ["Skin", "SurfaceArrays", "detect_surface", "surface_arrays"]
