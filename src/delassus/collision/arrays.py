"""Everything about the shapes that does not change from step to step, as flat arrays for the kernels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.broad.grid import size_classes
from delassus.collision.broad.pairs import SMALL, Filters, candidate_pairs
from delassus.collision.find import compile_ends
from delassus.collision.instances import ALL, FIXTURES, Instance
from delassus.collision.layout import CONVEX, PLANE, SPHERE, SUPPORT_ONLY, TRIANGLE, Placing, Polyhedra
from delassus.collision.machine import Pool
from delassus.collision.narrow.families import FAMILIES, KERNELS, POINTS, family_address
from delassus.collision.parts import simple_shapes
from delassus.collision.work import ShapeConstants
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.shapes import SHAPES
from delassus.softening import plain_softness

MIXING = {"geometric": 0, "min": 1, "max": 2, "average": 3, "product": 4}
"""Friction of a pair from that of its shapes; geometric is √(μ_a μ_b). Restitution is always the larger of the two."""


_MADE_HERE = (
    "pool",
    "supports",
    "constants",
)  # cached properties that hold memory and addresses of this process
PRIMARY = (
    "instance",
    "kind",
    "body",
    "owner",
    "size",
    "local_position",
    "local_rotation",
    "half",
    "radius",
    "surface",
    "softening",
    "group",
    "mask",
    "mixing",
    "vertices",
    "excluded",
    "support_only_kinds",
)
"""Fields of ShapeArrays that define the shapes; `complete_arrays` makes the others of them."""
_SLOW = 0.1  # of half its thickness: a shape that moves less in a step is well described by one configuration


class Pace(NamedTuple):
    """How far n shapes may move within a step before contacts have to be found along their paths."""

    arm: np.ndarray  # (n,) how far a shape reaches from its body's centre of mass, 0 for the world [m]
    thin: np.ndarray  # (n,) a part of half its thickness [m], infinite for planes and triangles
    least: float  # the least motion of a shape that may matter [m]


@dataclass(frozen=True, eq=False, repr=False)
class ShapeArrays:
    """Shapes with parts of compounds and triangles of meshes, one row each; n rows, made by `shape_arrays`."""

    instance: np.ndarray  # (n,) which of the instances
    kind: np.ndarray  # (n,) see layout.py
    body: np.ndarray  # (n,) −1 for the world
    owner: np.ndarray  # (n,) the body, or 2³¹ + fixture for the world: what exclusions are about
    size: np.ndarray  # (n, ≥ 3) Shape.numbers [m]
    local_position: np.ndarray  # (n, 3) of the centre of the bounding ball, in the body's frame [m]
    local_rotation: np.ndarray  # (n, 3, 3) shape → body
    half: np.ndarray  # (n, 3) half edges of the box that holds the shape, in its frame [m]; planes: infinite
    radius: np.ndarray  # (n,) of the bounding ball, margin included [m]; planes: infinite
    surface: np.ndarray  # (n, 4) margin [m], mu, restitution and body of each shape
    softening: np.ndarray  # (n, 8) how soft contact with it is, see softening.py
    group: np.ndarray  # (n,) bits
    mask: np.ndarray  # (n,) bits
    mixing: int
    vertices: Polyhedra
    excluded: np.ndarray  # sorted keys of pairs of owners that never touch
    body_count: int  # bodies the arrays know of: one more than the largest index
    common: np.ndarray  # shapes tested against everything
    is_common: np.ndarray  # (n,)
    gridded: np.ndarray  # the others, by level, finest last
    level_start: np.ndarray  # (levels + 1,) first of each level in gridded
    level_radius: np.ndarray  # (levels,) largest bounding radius [m]
    is_heap: bool  # only spheres and planes, and every sphere may touch every other shape
    is_small: bool  # so few shapes that no grid is worth it
    candidates: np.ndarray  # (c, 4) pairs of few shapes, see broad/pairs.py
    hint: list[int]  # contacts to expect, from the last detection; changes no result
    spare: list[tuple[Any, ...]]  # work spaces that are free now, see find.py
    support_only_kinds: tuple[str, ...]  # names in SHAPES of the shapes that are SUPPORT_ONLY, in order

    @property
    def count(self) -> int:
        return len(self.kind)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles begin without memory and addresses."""
        here = {name: value for name, value in self.__dict__.items() if name not in _MADE_HERE}
        return here | {"spare": []}

    @cached_property
    def pool(self) -> Pool:
        """Memory of many shapes."""
        return Pool()

    @cached_property
    def supports(self) -> np.ndarray:
        """(n,) addresses of the support functions of what is SUPPORT_ONLY, else 0."""
        addresses = np.zeros(self.count, np.int64)
        if self.support_only_kinds:
            from delassus.collision.narrow.support_only import support_address

            addresses[self.kind == SUPPORT_ONLY] = [support_address(SHAPES[kind]) for kind in self.support_only_kinds]
        return addresses

    @cached_property
    def constants(self) -> tuple[Any, ...]:
        """What `find_contacts` reads, the fields of ShapeConstants: the same arrays at every call."""
        fixed = ShapeConstants(
            placing=self.placing,
            radius=self.radius,
            polyhedra=tuple(self.vertices),
            supports=self.supports,
            addresses=np.zeros(FAMILIES.max() + 4, np.int64),
            mixing=self.mixing,
            candidates=self.candidates,
            searched=(self.common, self.is_common, self.gridded),
            filters=tuple(self.filters),
            is_heap=self.is_heap,
            levels=(self.level_start, self.level_radius),
            families=FAMILIES,
            points=POINTS,
        )
        if self.count:
            compile_ends(self, tuple(fixed))
        return tuple(fixed)

    @property
    def filters(self) -> Filters:
        """What says whether two shapes may touch at all."""
        return Filters(self.body, self.owner, self.group, self.mask, self.excluded)

    def compile_families(self, bits: int) -> None:
        """Have the kernels of these families of pairs compiled, or loaded, for `find_contacts`."""
        for family in KERNELS:
            if bits >> family & 1:
                ShapeConstants(*self.constants).addresses[family] = family_address(family)

    @property
    def placing(self) -> tuple[Any, ...]:
        """The fields of Placing."""
        return tuple([getattr(self, name) for name in Placing._fields])

    @cached_property
    def bounces(self) -> bool:
        """Has any shape restitution?"""
        return bool((self.surface[:, 2] > 0.0).any())

    @cached_property
    def pace(self) -> Pace:
        """How far the shapes may move in a step before their paths are followed."""
        margin, moving = self.surface[:, 0], self.body >= 0
        arm = np.linalg.norm(self.local_position, axis=1)
        # turning about its own centre moves no point of a sphere's surface off that surface
        arm += np.where(self.kind == SPHERE, 0.0, self.radius - margin)
        thin = np.array([self._thin(s) for s in range(self.count)])
        least = min(thin.min(initial=np.inf), margin[moving].min(initial=np.inf))
        return Pace(np.where(moving, arm, 0.0), thin, float(least))

    def _thin(self, s: int) -> float:
        """A part of half the least width of shape s [m]."""
        kind = self.kind[s]
        if kind in (PLANE, TRIANGLE):
            return np.inf
        if kind == CONVEX:
            p = self.vertices
            corners = p.vertex[p.vertex_start[s] : p.vertex_start[s + 1]]
            along = corners @ p.face_normal[p.shape_face[s] : p.shape_face[s + 1]].T
            return _SLOW * 0.5 * float(np.ptp(along, axis=0).min())
        if kind == SUPPORT_ONLY:
            from delassus.collision.narrow.support_only import least_half_width

            return _SLOW * least_half_width(self.size, s, self.supports[s])
        size = self.size[s]
        return _SLOW * float(size[size > 0].min())

    def __repr__(self) -> str:
        levels, instances = len(self.level_radius), len(np.unique(self.instance))
        return (
            f"ShapeArrays({self.count} shapes of {instances} instances on {self.body_count} bodies, "
            f"{len(self.common)} tested against all, {len(self.gridded)} in {levels} grid level{'s' * (levels != 1)})"
        )


def shape_arrays(
    instances: Iterable[Instance | Sequence[Any]],
    *,
    exclude: Iterable[tuple[int, int]] = (),
    exclude_fixed: Iterable[tuple[int, int]] = (),
    mixing: str = "geometric",
) -> ShapeArrays:
    """Build the arrays `detect` works on, once.

    instances: `Instance`s, or their fields in a row; exclude: pairs of body indices that never touch; exclude_fixed:
    pairs (body index, fixture) that never touch; mixing: how the friction coefficients of two shapes combine, one of
    `MIXING`."""
    if mixing not in MIXING:
        raise SettingsError(f"mixing is {mixing!r}: {nearest(mixing, list(MIXING))}")
    every = [x if isinstance(x, Instance) else Instance(*x) for x in instances]
    parts = simple_shapes(every)
    of, kind = parts.instance, parts.kind
    body = np.array([x.body for x in every], dtype=np.int64)[of]
    fixture = np.array([x.fixture for x in every], dtype=np.int64)[of]
    surface = np.array([(x.margin, x.mu, x.restitution, x.body) for x in every], dtype=float).reshape(-1, 4)[of]
    hard = plain_softness(None, "softening")
    softening = np.array([hard if x.softening is None else x.softening for x in every]).reshape(-1, len(hard))[of]
    group = np.array([x.group for x in every], dtype=np.uint32)[of]
    mask = np.array([x.mask for x in every], dtype=np.uint32)[of]
    owner = np.where(body >= 0, body, FIXTURES + fixture)
    excluded = _pair_keys(exclude, exclude_fixed)
    return complete_arrays(
        {
            "instance": of,
            "kind": kind,
            "body": body,
            "owner": owner,
            "size": parts.size,
            "local_position": parts.local_position,
            "local_rotation": parts.local_rotation,
            "half": parts.half,
            "radius": parts.radius + surface[:, 0],
            "surface": surface,
            "softening": softening,
            "group": group,
            "mask": mask,
            "mixing": MIXING[mixing],
            "vertices": parts.vertices,
            "excluded": excluded,
            "support_only_kinds": parts.support_only_kinds,
        }
    )


def complete_arrays(primary: dict[str, Any]) -> ShapeArrays:
    """The arrays of their primary fields (PRIMARY, by name): with the others, by which pairs are searched for."""
    kind, body, group, mask, excluded = (primary[name] for name in ("kind", "body", "group", "mask", "excluded"))
    n = len(kind)
    is_small = n <= SMALL
    if is_small or (kind == PLANE).all():
        none = np.zeros(0, np.int64)
        common, gridded, level_start, level_radius = np.arange(n), none, np.zeros(1, np.int64), np.zeros(0)
    else:
        common, gridded, level_start, level_radius = size_classes(kind, primary["radius"])
    is_common = np.zeros(n, bool)
    is_common[common] = True
    return ShapeArrays(
        **primary,
        body_count=int(body.max(initial=-1)) + 1,
        common=common,
        is_common=is_common,
        gridded=gridded,
        level_start=level_start,
        level_radius=level_radius,
        is_heap=bool((mask == ALL).all() and (group != 0).all()) and not len(excluded) and _all_may_touch(kind, body),
        is_small=is_small,
        candidates=candidate_pairs(kind, Filters(body, primary["owner"], group, mask, excluded), FAMILIES, POINTS)
        if is_small
        else np.zeros((0, 4), np.int64),
        hint=[8 * n + 64],
        spare=[],
    )


def _all_may_touch(kind: np.ndarray, body: np.ndarray) -> bool:
    """Spheres and planes, no two of them but planes on the same body."""
    sphere = kind == SPHERE
    return (
        bool((sphere | (kind == PLANE)).all())
        and len(np.unique(body[sphere])) == sphere.sum()
        and (body[sphere] >= 0).all()
    )


def _pair_keys(exclude: Iterable[tuple[int, int]], exclude_fixed: Iterable[tuple[int, int]]) -> np.ndarray:
    """Sorted keys lower · 2³² + higher of owners."""
    bodies, fixtures = (np.array(list(x), dtype=np.int64).reshape(-1, 2) for x in (exclude, exclude_fixed))
    for name, pairs in (("exclude", bodies), ("exclude_fixed", fixtures)):
        if len(pairs) and (pairs < 0).any():
            wrong = pairs[(pairs < 0).any(axis=1)][0].tolist()
            raise ProblemError(f"{name} holds {wrong}: give pairs of body indices ≥ 0")
    pairs = np.concatenate([bodies, fixtures + (0, FIXTURES)])
    return np.unique((pairs.min(axis=1, initial=2**31) << 32) + pairs.max(axis=1, initial=0))
