"""Geoms of a compiled model as shapes, and which of them may touch."""

from typing import Any

import numpy as np

from delassus.errors import ProblemError
from delassus.importers.notes import Notes
from delassus.shapes import Box, Capsule, Convex, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere

PLANE, FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)
"""Kinds of geoms, MuJoCo's numbers."""
_MOST_CLASSES = 32  # bits of a mask
_UNSAID = (0.5, 0.5, 0.5, 1.0)  # colour of a geom without one
_SAME = 1e-9  # relative: coefficients of friction that differ by less are one
_HERE = np.zeros(3), np.array([1.0, 0, 0, 0])


def shape_of(a: dict[str, Any], g: int, name: str, notes: Notes) -> tuple[Shape | None, np.ndarray, np.ndarray]:
    """(shape, position, quaternion) of geom g in its body's frame; None where there is no such shape here."""
    kind, size = int(a["geom_type"][g]), a["geom_size"][g]
    position, quaternion = a["geom_pos"][g], a["geom_quat"][g] / np.linalg.norm(a["geom_quat"][g])
    shape: Shape | None = None
    if kind == PLANE:
        shape = Plane()
    elif kind == SPHERE:
        shape = Sphere(float(size[0]))
    elif kind == CAPSULE:
        shape = Capsule(float(size[0]), 2.0 * float(size[1]))
    elif kind == CYLINDER:
        shape = Cylinder(float(size[0]), 2.0 * float(size[1]))
    elif kind == BOX:
        shape = Box(tuple(2.0 * size))
    elif kind == ELLIPSOID:
        shape = Ellipsoid(*map(float, size))
    elif kind == MESH:
        shape = _hull(a, int(a["geom_dataid"][g]), name, notes)
    elif kind == FIELD:
        shape = _field(a, int(a["geom_dataid"][g]))
    else:
        notes.add("geom", name, "has a shape that is not known here and does not touch")
    return shape, position, quaternion


def _hull(a: dict[str, Any], mesh: int, name: str, notes: Notes) -> Shape | None:
    first, count = int(a["mesh_vertadr"][mesh]), int(a["mesh_vertnum"][mesh])
    try:
        return Convex(a["mesh_vert"][first : first + count].astype(float))
    except ProblemError:
        notes.add("mesh", name, "is flat and does not touch")
        return None


def _field(a: dict[str, Any], field: int) -> Shape:
    """A height field as triangles; its base is left out."""
    rows, columns = int(a["hfield_nrow"][field]), int(a["hfield_ncol"][field])
    x, y, top, _ = a["hfield_size"][field]
    first = int(a["hfield_adr"][field])
    height = top * a["hfield_data"][first : first + rows * columns].astype(float)
    across, along = np.meshgrid(np.linspace(-x, x, columns), np.linspace(-y, y, rows))
    vertices = np.stack([across.ravel(), along.ravel(), height], axis=1)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + columns + 1], axis=1),
            np.stack([corner, corner + columns + 1, corner + columns], axis=1),
        ]
    )
    return Mesh(vertices, faces)


class Touching:
    """Which geoms may touch: those whose contype and conaffinity fit one way or the other, and those of a contact pair.
    Geoms for which all of this is the same are a class here, with a bit, and the mask of those it touches. A link none
    of whose geoms may touch keeps those that are seen, with no bits: otherwise it would be missing in pictures."""

    def __init__(self, a: dict[str, Any], notes: Notes, names: list[str]):
        self.a = a
        own, other = a["geom_contype"].tolist(), a["geom_conaffinity"].tolist()
        pairs = list(zip(a["pair_geom1"].tolist(), a["pair_geom2"].tolist()))
        met: list[set[int]] = [set() for _ in own]  # by pairs
        for one, two in pairs:
            met[one].add(two)
            met[two].add(one)
        self._class = [(x, y, frozenset(z)) for x, y, z in zip(own, other, met)]
        members = {c: g for g, c in enumerate(self._class)}  # one of each: all of a class have the same partners
        kinds = sorted((c for c in members if any(c)), key=lambda c: (c[0], c[1], sorted(c[2])))
        if len(kinds) > _MOST_CLASSES:
            notes.add("collision filters", "", f"there are {len(kinds)} kinds, of which {_MOST_CLASSES} are told apart")
        self._number = {c: min(k, _MOST_CLASSES - 1) for k, c in enumerate(kinds)}
        self._mask = {
            c: sum({1 << self._number[d] for d in kinds if c[0] & d[1] or d[0] & c[1] or members[d] in c[2]})
            for c in kinds
        }
        self._only = _friction_of_pairs(a, pairs, self._class)
        for k, (one, two) in enumerate(pairs):
            mine = max(self.friction(one), self.friction(two))
            if abs(mine - _pair_friction(a, k)) > _SAME * mine:
                named = "–".join(names[g] or f"geom{g}" for g in (one, two))
                notes.add("contact pair", named, f"has the larger friction of its geoms, {mine:g}, not its own")

        link = a["body_weldid"][a["geom_bodyid"]]
        touches = np.array([self.mask(g) != 0 for g in range(len(own))], bool)
        self._kept = np.where(np.isin(link, link[touches]), touches, a["geom_rgba"][:, 3] > 0.0)

    def of(self, body: int) -> list[int]:
        """Geoms of a body that may touch anything, or are all that is seen of it."""
        return np.flatnonzero((self.a["geom_bodyid"] == body) & self._kept).tolist()

    def has_shapes(self, body: int) -> bool:
        """Does it have such geoms?"""
        return bool(self.of(body))

    def colour(self, body: int) -> np.ndarray | None:
        """Red, green, blue, opacity: what the first geom says that says any and is seen."""
        said = [self.a["geom_rgba"][g] for g in self.of(body)]
        return next((np.clip(x, 0.0, 1.0) for x in said if x[3] > 0.0 and not np.allclose(x, _UNSAID)), None)

    def group(self, g: int) -> int:
        """The bit of its class, if it touches anything."""
        return 1 << self._number[self._class[g]] if self.mask(g) else 0

    def mask(self, g: int) -> int:
        """Bits of the classes it touches."""
        return self._mask.get(self._class[g], 0)

    def friction(self, g: int) -> float:
        """Of sliding; of a pair the larger counts, as does the larger condim, which is 1 where there is no friction."""
        if g in self._only:
            return self._only[g]
        return float(self.a["geom_friction"][g, 0]) if self.a["geom_condim"][g] > 1 else 0.0


def _pair_friction(a: dict[str, Any], k: int) -> float:
    """Of sliding, as contact pair k says."""
    return float(a["pair_friction"][k, 0]) if a["pair_dim"][k] > 1 else 0.0


def _friction_of_pairs(
    a: dict[str, Any], pairs: list[tuple[int, int]], classes: list[tuple[int, int, frozenset[int]]]
) -> dict[int, float]:
    """Friction of geoms that touch in contact pairs alone: the least that these say, as of two geoms the larger
    counts."""
    out: dict[int, float] = {}
    for k, pair in enumerate(pairs):
        for g in pair:
            if classes[g][:2] == (0, 0):
                out[g] = min(out.get(g, np.inf), _pair_friction(a, k))
    return out
