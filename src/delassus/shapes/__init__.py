"""Shapes: geometry in its own frame, with what bodies (volume, centre, inertia) and collision (bounds, support) need.

A kind is one file and one line of `SHAPES`; the contract tests run over the table. Classes of one's own come in
by `delassus.register` or as entry points; base.py says what they must answer."""

from inspect import getattr_static, signature

from delassus.errors import SettingsError
from delassus.shapes.base import Shape
from delassus.shapes.box import Box
from delassus.shapes.capsule import Capsule
from delassus.shapes.compound import Compound
from delassus.shapes.convex import Convex
from delassus.shapes.cylinder import Cylinder
from delassus.shapes.ellipsoid import Ellipsoid
from delassus.shapes.mesh import Mesh
from delassus.shapes.plane import Plane
from delassus.shapes.sphere import Sphere
from delassus.tables import Table


def _check(shape: type[Shape]) -> None:
    if shape.static_only or shape.support is None:
        raise SettingsError(
            f"shape {getattr(shape, 'kind', shape.__name__)!r} has no support function: only solids that say their "
            "furthest point in a direction can be registered, see delassus.shapes.base"
        )
    if not isinstance(getattr_static(shape, "support"), staticmethod) or len(signature(shape.support).parameters) != 4:
        raise SettingsError(f"{shape.__name__}.support: make it a @staticmethod of (numbers, x, y, z)")


SHAPES: Table[type[Shape]] = Table(
    "shape",
    is_line=lambda line: isinstance(line, type) and issubclass(line, Shape),
    name_of=lambda shape: getattr(shape, "kind", ""),
    lines=(Sphere, Box, Capsule, Cylinder, Ellipsoid, Plane, Convex, Mesh, Compound),
    check=_check,
)

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "Compound",
    "Convex",
    "Cylinder",
    "Ellipsoid",
    "Mesh",
    "Plane",
    "Shape",
    "Sphere",
]
