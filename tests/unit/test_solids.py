"""Solids without a formula of their own: their gap is the largest distance that any direction shows."""

import itertools

import numpy as np
import pytest

from delassus.collision import Instance, detect_at, shape_arrays
from delassus.shapes import Box, Capsule, Convex, Cylinder
from delassus.spatial import quaternion_to_matrix

KINDS = ["box", "capsule", "cylinder", "convex"]
WITH_KERNELS = {("box", "box"), ("box", "capsule"), ("capsule", "capsule")}
PAIRS = [pair for pair in itertools.combinations_with_replacement(KINDS, 2) if pair not in WITH_KERNELS]
COUNT = 60  # pairs of each kind
SPACING = 40.0  # between pairs, so that they do not meet each other
APART = 1e-9  # of metre-sized solids: error of a distance
CORNER = 2e-6  # a corner of a patch that is so near to the nearest point stands for it
OVERLAP = 1e-4  # faces are preferred over edges by 1e-5 of the sizes, and over what is round by 1e-4


def random_shape(kind, rng):
    size = rng.uniform(0.3, 1.0, 3)
    return {
        "box": lambda: Box(size),
        "capsule": lambda: Capsule(size[0] / 2, size[1]),
        "cylinder": lambda: Cylinder(size[0] / 2, size[1]),
        "convex": lambda: Convex(rng.normal(size=(12, 3)) * size / 2),
    }[kind]()


def scaled(shape, factor):
    if isinstance(shape, Box):
        return Box(np.array(shape.size) * factor)
    if isinstance(shape, Convex):
        return Convex(shape.points * factor)
    return type(shape)(shape.radius * factor, shape.length * factor)


def reach(shape, rotation, along):
    """How far a shape reaches along unit vectors (k, 3)."""
    local = along @ rotation
    if isinstance(shape, Box):
        return np.abs(local) @ (0.5 * np.array(shape.size))
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * np.abs(local[:, 2])
    if isinstance(shape, Cylinder):
        return shape.radius * np.hypot(local[:, 0], local[:, 1]) + 0.5 * shape.length * np.abs(local[:, 2])
    return (local @ shape.points.T).max(axis=1)


def apart(one, two, along):
    """Distances of two placed shapes (shape, pose) along unit vectors (k, 3) from one to two."""
    (a, p), (b, q) = one, two
    return (
        along @ (q[:3] - p[:3])
        - reach(a, quaternion_to_matrix(p[3:]), along)
        - reach(b, quaternion_to_matrix(q[3:]), -along)
    )


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def random_pairs(pair, rng, distance):
    """COUNT pairs of placed shapes, their origins so far apart."""
    for k in range(COUNT):
        at = SPACING * np.array([k % 10, k // 10, 0.0])
        way = unit(rng.normal(size=3)) * rng.uniform(*distance)
        yield tuple(
            (random_shape(kind, rng), np.concatenate([at + shift, unit(rng.normal(size=4))]))
            for kind, shift in zip(pair, (0.0 * way, way))
        )


def nearest_contacts(pairs, margin, factor=1.0):
    """Of each pair (gap, normal) of the contact with the least gap, or None."""
    placed = [x for pair in pairs for x in pair]
    poses = np.array([pose for _, pose in placed])
    poses[:, :3] *= factor
    arrays = shape_arrays(
        [Instance(scaled(s, factor) if factor != 1.0 else s, body=k, margin=margin) for k, (s, _) in enumerate(placed)]
    )
    contacts = detect_at(arrays, poses)
    found = [None] * len(pairs)
    for c in np.argsort(-contacts.gap, kind="stable"):
        found[contacts.bodies[c, 0] // 2] = contacts.gap[c], contacts.normal[c]
    return found


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
@pytest.mark.parametrize("distance", [(0.05, 0.6), (0.6, 1.6)], ids=["deep", "shallow or apart"])
def test_the_gap_is_the_largest_distance_along_any_direction(pair, distance):
    """The distance of what is apart, and the least overlap, are the maximum over all directions of the distance along
    them: it is attained along the normal, and not exceeded along thousands of others, all around and near by."""
    rng = np.random.default_rng(4)
    pairs = list(random_pairs(pair, rng, distance))
    around = unit(rng.normal(size=(3000, 3)))
    seen = 0
    for (one, two), contact in zip(pairs, nearest_contacts(pairs, 0.4)):
        if contact is None:
            assert apart(one, two, around).max() > 0.75
            continue
        gap, normal = contact
        seen += 1
        np.testing.assert_allclose(apart(one, two, normal[None])[0], gap, atol=CORNER)
        near = unit(normal + np.outer(np.geomspace(1e-5, 0.3, 600), np.ones(3)) * rng.normal(size=(600, 3)))
        most = max(apart(one, two, around).max(), apart(one, two, near).max())
        assert most <= gap + (APART if gap > 0.0 else OVERLAP)
    assert seen > COUNT // 3


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_sizes_do_not_matter(factor):
    rng = np.random.default_rng(8)
    for pair in PAIRS:
        pairs = list(random_pairs(pair, rng, (0.5, 1.0)))[:20]
        plain, large = nearest_contacts(pairs, 0.2), nearest_contacts(pairs, 0.2 * factor, factor)
        for one, two in zip(plain, large):
            assert (one is None) == (two is None)
            if one is not None:
                assert two[0] == pytest.approx(factor * one[0], abs=1e-8 * factor)


def test_same_centres_are_parted():
    """Nothing says where to go: the shortest way out is found all the same."""
    cylinder, one = Cylinder(0.5, 0.4), np.array([0, 0, 0, 1.0, 0, 0, 0])
    arrays = shape_arrays([Instance(cylinder, body=0), Instance(cylinder, body=1)])
    contacts = detect_at(arrays, np.array([one, one]))
    assert contacts.gap.min() == pytest.approx(-0.4)
    np.testing.assert_allclose(np.abs(contacts.normal[:, 2]), 1.0)


def test_many_sided_hulls_are_round():
    """So many edges that pairs of them are not tried: a ball of 300 corners rolls into another."""
    ball = Convex(unit(np.random.default_rng(2).normal(size=(300, 3))))
    poses = np.array([[0, 0, 0, 1.0, 0, 0, 0], [1.95, 0, 0, 1.0, 0, 0, 0]])
    contacts = detect_at(shape_arrays([Instance(ball, body=0), Instance(ball, body=1)]), poses)
    around = unit(np.array([1.0, 0, 0]) + 0.2 * np.random.default_rng(3).normal(size=(3000, 3)))
    most = apart((ball, poses[0]), (ball, poses[1]), around).max()
    assert contacts.gap.min() >= most - OVERLAP
    assert contacts.normal[0, 0] > 0.95
