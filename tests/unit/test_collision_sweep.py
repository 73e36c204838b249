"""Distances of convex shapes by GJK, and what is said of pairs along their paths."""

import importlib

import numpy as np
import pytest

from delassus.collision import Instance, shape_arrays
from delassus.collision.layout import PosedShapes
from delassus.collision.narrow.gjk import core_point, shape_distance, skin
from delassus.collision.placement import place
from delassus.collision.sweep import APART, HIT, MISS, TOUCH, sweep
from delassus.shapes import Box, Capsule, Convex, Cylinder, Mesh, Plane, Sphere
from delassus.spatial import rotation_exp


def solid(kind, rng):
    return {
        "sphere": lambda: Sphere(rng.uniform(0.1, 1)),
        "box": lambda: Box(rng.uniform(0.1, 2, 3)),
        "capsule": lambda: Capsule(rng.uniform(0.1, 1), rng.uniform(0.1, 2)),
        "cylinder": lambda: Cylinder(rng.uniform(0.1, 1), rng.uniform(0.1, 2)),
        "hull": lambda: Convex(rng.normal(size=(12, 3)) * 0.5),
        "triangle": lambda: Mesh(rng.normal(size=(3, 3)), [[0, 1, 2]]),
    }[kind]()


def placed(arrays, q):
    n = arrays.count
    position, rotation, extent = np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3))
    place(0, 1, arrays.placing, q, position, rotation, extent)
    return np.ascontiguousarray(position[:, :3]), rotation


@pytest.mark.parametrize("kind", ["sphere", "box", "capsule", "cylinder", "hull", "triangle"])
def test_distance_is_certified_from_both_sides(kind):
    """A plane across the direction found separates the shapes by the distance, and no shape grown by more than it stays
    apart: along the direction, the second shape moved by the distance touches the first."""
    rng = np.random.default_rng(1)
    apart = 0
    for _ in range(40):
        instances = [
            Instance(solid(rng.choice(["sphere", "box", "capsule", "cylinder", "hull"]), rng), body=0),
            Instance(solid(kind, rng), body=-1 if kind == "triangle" else 1),
        ]
        arrays = shape_arrays(instances)
        q = np.array(
            [
                [0, 0, 0, *rotation_exp(rng.normal(size=3))],
                [*rng.normal(size=3) * 1.6, *rotation_exp(rng.normal(size=3))],
            ]
        )
        P, R = placed(arrays, q)
        shapes = PosedShapes(P, R, arrays.size, arrays.kind, *arrays.vertices[:2], arrays.supports)
        d, *n = shape_distance(shapes, 0, 1, np.empty((4, 3)))
        n = np.array(n)
        if d <= 0.0:
            continue
        a = n @ core_point(shapes, 0, 0, *n) + skin(0, arrays.kind, arrays.size)
        b = n @ core_point(shapes, 1, 1, *-n) - skin(1, arrays.kind, arrays.size)
        assert b - a == pytest.approx(d, abs=1e-12)
        P[1] -= n * (d + 1e-6)
        assert shape_distance(shapes, 0, 1, np.empty((4, 3)))[0] <= 0.0
        apart += 1
    assert apart > 10


def verdict(target, path, position=(0.0, 0.0, 1.0), spin=(0.0, 0.0, 0.0), shape=None):
    arrays = shape_arrays([Instance(shape or Sphere(0.1), body=0, margin=0.005), Instance(target)])
    q = np.array([[*position, 1.0, 0, 0, 0]])
    found = sweep(arrays, q, np.array([[*path, *spin, 0.0, 0.0, 0.0]]))
    return (found.verdict[0], found.time[0]) if len(found.pairs) else (None, None)


def test_verdicts_along_a_path():
    assert verdict(Plane(), (0, 0, -2)) == (HIT, pytest.approx(0.45, abs=1e-8))
    assert verdict(Plane(), (0, 0, -0.8))[0] is None  # stays above it
    assert verdict(Plane(), (5, 0, 0), position=(0, 0, 0.1))[0] == TOUCH
    assert verdict(Plane(), (0, 0, -0.001), position=(0, 0, 0.1))[0] is None  # not fast
    assert verdict(Box((1, 1, 0.001)), (0, 0, -3)) == (HIT, pytest.approx((0.9 - 0.0005) / 3, abs=1e-8))
    assert verdict(Box((1, 1, 0.001)), (0, 0, -3), position=(0.601, 0, 1))[0] == MISS
    square = Mesh([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], [[0, 1, 2]])
    assert verdict(square, (0, 0, -3)) == (HIT, pytest.approx(0.3, abs=1e-8))
    assert verdict(square, (0, 0, 3), position=(0, 0, -1))[0] == TOUCH  # from behind, as before


def test_turning_counts():
    """A rod that only spins sweeps a disc: it hits what lies in it."""
    rod = Capsule(0.05, 2.0)
    hit, time = verdict(Sphere(0.1), (0, 0, 0), position=(0.9, 0, 0), spin=(0, 3.0, 0), shape=rod)
    assert hit == HIT
    assert time == pytest.approx(np.arccos(0.15 / 0.9) / 3.0, abs=1e-6)
    assert verdict(Sphere(0.1), (0, 0, 0), position=(1.2, 0, 0), spin=(0, 3.0, 0), shape=rod)[0] == MISS


def test_pairs_that_move_together_are_not_followed():
    arrays = shape_arrays([Instance(Sphere(0.1), body=b, margin=0.005) for b in (0, 1)])
    q = np.array([[0, 0, 0, 1.0, 0, 0, 0], [0.3, 0, 0, 1.0, 0, 0, 0]])
    path = np.tile([5.0, 0, 0, 0, 0, 0, 0, 0, 0], (2, 1))
    assert sweep(arrays, q, path).verdict.tolist() in ([], [APART])


def test_columns_find_the_pairs_that_looking_at_all_finds(monkeypatch):
    """Slow and fast shapes, large ones, a plane, one far away, some that may not touch: the same pairs and limits as of
    each shape with each other."""
    rng = np.random.default_rng(7)
    n, swept = 260, importlib.import_module("delassus.collision.sweep.swept")
    instances = [Instance(Sphere(rng.uniform(0.02, 0.1)), body=b, margin=0.005, group=b % 3 or 3) for b in range(n)]
    instances += [Instance(Box((3.0, 0.1, 0.1)), body=n, margin=0.005), Instance(Plane()), Instance(Box((9, 9, 0.1)))]
    arrays = shape_arrays(instances)
    q = np.zeros((n + 1, 7))
    q[:, :3], q[:, 3] = rng.uniform(-1.0, 1.0, (n + 1, 3)) * (2.0, 1.0, 0.3), 1.0
    q[5, 0] = 1e5
    path = np.zeros((n + 1, 9))
    path[::2, :6] = rng.normal(size=(len(path[::2]), 6)) * rng.uniform(0.01, 1.0, (len(path[::2]), 1))
    path[:, 8] = -1e-4
    count = len(instances)
    position, rotation, extent = np.empty((count, 8)), np.empty((count, 3, 3)), np.empty((count, 3))
    place(0, 1, arrays.placing, q, position, rotation, extent)
    pairs, limit = swept.swept_pairs(arrays, path, position, rotation, extent)
    found = {(a, b): most for (a, b), most in zip(pairs.tolist(), limit.tolist())}
    assert len(found) == len(pairs) > 500
    monkeypatch.setattr(swept, "_FEW", len(instances))
    pairs, limit = swept.swept_pairs(arrays, path, position, rotation, extent)
    assert found == {(a, b): most for (a, b), most in zip(pairs.tolist(), limit.tolist())}
