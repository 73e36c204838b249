"""Shapes: geometry in its own frame, with what bodies (volume, centre, inertia) and collision (bounds, support) need.

A kind is one file and one line of `SHAPES`; the contract tests run over the table. Kinds of your own are entered with
`add(YourShape)`: base.py says what a class must answer."""

from delassus.errors import SettingsError
from delassus.shapes.base import Shape
from delassus.shapes.box import Box
from delassus.shapes.capsule import Capsule
from delassus.shapes.compound import Compound
from delassus.shapes.convex import Convex
from delassus.shapes.cylinder import Cylinder
from delassus.shapes.mesh import Mesh
from delassus.shapes.plane import Plane
from delassus.shapes.sphere import Sphere

SHAPES: dict[str, type[Shape]] = {
    "sphere": Sphere,
    "box": Box,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "plane": Plane,
    "convex": Convex,
    "mesh": Mesh,
    "compound": Compound,
}


def add(shape: type[Shape]) -> type[Shape]:
    """Enter a class of shapes under its `kind`; returns it, so that it may stand above a class as a decorator."""
    kind = getattr(shape, "kind", None)
    if not (isinstance(shape, type) and isinstance(kind, str) and kind):
        raise SettingsError(f"{shape!r} is no class of shapes with a `kind`: derive it from delassus.shapes.Shape")
    if SHAPES.get(kind, shape) is not shape:
        raise SettingsError(f"there is a shape {kind!r} already: give this one another kind")
    SHAPES[kind] = shape
    return shape


def remove(kind: str) -> None:
    """Forget a class of shapes that was added."""
    if kind not in SHAPES or SHAPES[kind].support is None:
        raise SettingsError(f"no shape {kind!r} was added")
    del SHAPES[kind]


__all__ = [
    "SHAPES", "Box", "Capsule", "Compound", "Convex", "Cylinder", "Mesh", "Plane", "Shape", "Sphere", "add", "remove",
]  # fmt: skip
