"""Collision shapes of UsdPhysics as shapes of ours, sizes in the file's scaled frame."""

from typing import Any

import numpy as np

from delassus.errors import ProblemError
from delassus.importers.notes import Notes
from delassus.shapes import Box, Capsule, Convex, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from delassus.shapes.compound import Compound
from delassus.spatial import matrix_to_quaternion

_ROUND = 1e-6  # relative: scales that differ by less are one
_AROUND = 24  # corners of a cone's circle


def shape_of(shape: dict[str, Any], notes: Notes) -> Shape | None:
    """None where there is no such shape here."""
    scale, kind = np.array(shape["scale"]), shape["kind"]
    try:
        if kind == "Cube":
            return Box(tuple(shape.get("size", 2.0) * scale))
        if kind == "Sphere":
            radii = shape.get("radius", 1.0) * scale
            return Sphere(float(radii[0])) if np.ptp(radii) <= _ROUND * radii.max() else Ellipsoid(*map(float, radii))
        if kind in ("Capsule", "Cylinder", "Cone"):
            return _round(shape, scale, notes)
        if kind == "Plane":
            return Plane(tuple(np.eye(3)["XYZ".index(shape.get("axis", "Z"))]))
        if kind == "Mesh":
            return _mesh(shape, scale, notes)
    except (ProblemError, ValueError, IndexError) as error:
        notes.add(kind.lower(), shape["path"], f"is left out: {error}")
        return None
    notes.add(kind or "shape", shape["path"], "is left out: there is no such shape here")
    return None


def _round(shape: dict[str, Any], scale: np.ndarray, notes: Notes) -> Shape:
    """Bodies about an axis; ours is z."""
    axis = "XYZ".index(shape.get("axis", "Z"))
    across = np.delete(scale, axis)
    if np.ptp(across) > _ROUND * across.max():
        notes.add("scale", shape["path"], "differs across the axis: the larger one holds all around")
    radius, height = float(shape.get("radius", 1.0) * across.max()), float(shape.get("height", 2.0) * scale[axis])
    frame = np.eye(3)[:, [(axis + 1) % 3, (axis + 2) % 3, axis]]
    if shape["kind"] == "Cone":
        angle = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
        ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(_AROUND, -height / 2)], axis=1)
        notes.add("cone", shape["path"], f"has {_AROUND} faces")
        return Convex(np.concatenate([ring, [[0, 0, height / 2]]]) @ frame.T)
    made = Capsule(radius, height) if shape["kind"] == "Capsule" else Cylinder(radius, height)
    return made if axis == 2 else Compound(((made, (0, 0, 0), matrix_to_quaternion(frame)),))


def _mesh(shape: dict[str, Any], scale: np.ndarray, notes: Notes) -> Shape:
    """Its hull, or on what is fixed its triangles, where no approximation is asked for."""
    points = np.array(shape["points"]).reshape(-1, 3) * scale
    if shape["body"] or shape.get("approximation", "none") != "none":
        if shape.get("approximation", "none") not in ("convexHull", "none"):
            notes.add("mesh approximation", shape["path"], f"{shape['approximation']} is taken as the convex hull")
        return Convex(points)
    faces, first = [], 0
    for count in shape["counts"]:
        corners = shape["corners"][first : first + count]
        faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, count - 1)]
        first += count
    return Mesh(points, np.array(faces, dtype=np.int64))
