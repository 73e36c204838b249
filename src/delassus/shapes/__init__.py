"""Shapes: geometry in its own frame, with what bodies (volume, centre, inertia) and collision (bounds) need.

A kind is one file and one line of `SHAPES`; the contract tests run over the table."""

from delassus.shapes.base import Shape
from delassus.shapes.box import Box
from delassus.shapes.capsule import Capsule
from delassus.shapes.compound import Compound
from delassus.shapes.convex import Convex
from delassus.shapes.cylinder import Cylinder
from delassus.shapes.mesh import Mesh
from delassus.shapes.plane import Plane
from delassus.shapes.sphere import Sphere

SHAPES: dict[str, type] = {
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "plane": Plane,
    "convex": Convex,
    "mesh": Mesh,
    "compound": Compound,
}

__all__ = ["SHAPES", "Box", "Capsule", "Compound", "Convex", "Cylinder", "Mesh", "Plane", "Shape", "Sphere"]
