"""Shapes of a model as geoms of MJCF, hulls as mesh assets; which of them may touch."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from delassus.collision.arrays import MIXING
from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, PLANE, SPHERE, SUPPORT_ONLY, TRIANGLE
from delassus.collision.narrow.frames import NEVER_SLIPS
from delassus.importers.notes import Notes
from delassus.importers.writers.text import said
from delassus.model.model import Model
from delassus.spatial import matrix_to_quaternion

_TYPES = {SPHERE: ("sphere", 1), BOX: ("box", 3), CAPSULE: ("capsule", 2), CYLINDER: ("cylinder", 2)}
_MOST_CLASSES = 31  # bits of a filter, which is a signed number there


class Geoms:
    """Writes the shapes of a model.  assets: where meshes go."""

    def __init__(self, model: Model, assets: ET.Element, notes: Notes):
        self.model, self.assets, self.notes = model, assets, notes
        self._meshes: dict[bytes, str] = {}
        self._filter = self._filters()
        rows = np.flatnonzero(model.shapes.kind == SUPPORT_ONLY)
        self._support_only = dict(zip(rows.tolist(), model.shapes.support_only_kinds))
        self._note_surfaces()

    def add(self, parent: ET.Element, s: int, position: np.ndarray, rotation: np.ndarray, owner: str) -> None:
        """Row s of the shapes, placed in its parent's frame: position (3,) [m], rotation (3, 3).  owner: the body."""
        shapes = self.model.shapes
        what = self._what(s, owner)
        if what is None:
            return
        contype, conaffinity = self._filter[(int(shapes.group[s]), int(shapes.mask[s]))]
        mu = min(float(shapes.surface[s, 1]), NEVER_SLIPS)
        geom = ET.SubElement(parent, "geom", what)
        geom.attrib |= {
            "pos": said(position),
            "quat": said(matrix_to_quaternion(rotation)),
            "contype": str(contype),
            "conaffinity": str(conaffinity),
            "condim": "3" if mu > 0.0 else "1",
        }
        if mu > 0.0:
            geom.set("friction", said((mu, 0.005, 0.0001)))  # of twisting and rolling: MuJoCo's own, not used
        colour = self.model.colours[s]
        if np.isfinite(colour).all():
            geom.set("rgba", said(colour))

    def _what(self, s: int, owner: str) -> dict[str, str] | None:
        """Type and size, None where it cannot be said."""
        shapes = self.model.shapes
        kind, size = int(shapes.kind[s]), shapes.size[s]
        if kind in _TYPES:
            name, count = _TYPES[kind]
            return {"type": name, "size": said(size[:count])}
        if kind == PLANE:
            return {"type": "plane", "size": "0 0 1"}  # without end
        if kind == CONVEX:
            return {"type": "mesh", "mesh": self._mesh(s)}
        if kind == SUPPORT_ONLY and self._support_only[s] == "ellipsoid":
            return {"type": "ellipsoid", "size": said(size[:3])}
        if kind == TRIANGLE:
            self.notes.add("mesh", owner, "is not written: meshes that are not convex are hulls there")
        else:
            self.notes.add("shape", owner, f"{self._support_only[s]} is not written: it is known here alone")
        return None

    def _mesh(self, s: int) -> str:
        vertex, start = self.model.shapes.vertices[:2]
        corners = vertex[start[s] : start[s + 1]]
        key = corners.tobytes()
        if key not in self._meshes:
            name = self._meshes[key] = f"hull{len(self._meshes)}"
            # inertia: bodies have their own; that of a surface exists for the thinnest hull, too
            ET.SubElement(self.assets, "mesh", {"name": name, "vertex": said(corners), "inertia": "shell"})
        return self._meshes[key]

    def _filters(self) -> dict[tuple[int, int], tuple[int, int]]:
        """(contype, conaffinity) of every (group, mask): a bit for each, and those of all that it touches."""
        shapes = self.model.shapes
        kinds = sorted(set(zip(shapes.group.tolist(), shapes.mask.tolist())))
        if len(kinds) > _MOST_CLASSES:
            self.notes.add(
                "collision filters", "", f"there are {len(kinds)} kinds, of which {_MOST_CLASSES} are told apart"
            )
        bit = {c: 1 << min(k, _MOST_CLASSES - 1) for k, c in enumerate(kinds)}
        out = {}
        for g, m in kinds:
            seen = 0
            for other in kinds:
                seen |= bit[other] if g & other[1] and other[0] & m else 0
            out[g, m] = (bit[g, m], seen) if seen else (0, 0)
        return out

    def _note_surfaces(self) -> None:
        shapes = self.model.shapes
        mu = shapes.surface[:, 1]
        if shapes.mixing != MIXING["max"] and len(np.unique(mu)) + (shapes.mixing == MIXING["product"]) > 1:
            self.notes.add("friction of pairs", "", "is the larger of the two there, not as it is mixed here")
        self.note_each("restitution", shapes.surface[:, 2] > 0.0, "is not written: contacts there have none")
        self.note_each("softening", (shapes.softening[:, 0] > 0.0), "of contacts is not written: give solref there")

    def note_each(self, what: str, which: np.ndarray, meaning: str) -> None:
        """A note for the owners of some shapes."""
        for s in np.flatnonzero(which):
            self.notes.add(what, owner_name(self.model, int(self.model.shapes.owner[s])), meaning)


def owner_name(model: Model, owner: int) -> str:
    """Of a body or of what is fixed, as exclusions number them."""
    from delassus.collision.instances import FIXTURES

    return model.body_names[owner] if owner < FIXTURES else model.fixed_names[owner - FIXTURES]


def rows_of(model: Model, owner: int) -> list[int]:
    """Shapes of a body, or of FIXTURES + what is fixed."""
    return [int(s) for s in np.flatnonzero(model.shapes.owner == owner)]


def attributes(**given: Any) -> dict[str, str]:
    """Those that are not None."""
    return {key: value if isinstance(value, str) else said(value) for key, value in given.items() if value is not None}
