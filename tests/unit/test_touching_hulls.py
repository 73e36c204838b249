"""Hulls that stand face on face, as blocks of masonry do."""

import itertools

import numpy as np
import pytest

from delassus.collision import Instance, detect, shape_arrays
from delassus.shapes import Box, Convex, Cylinder
from delassus.spatial import quaternion_to_matrix, rotate, rotation_exp

SEED = 5
COUNT = 100  # pairs
WEDGE = np.array([(x, y, z) for z, half in ((-0.5, 0.3), (0.5, 0.4)) for x in (-half, half) for y in (-0.3, 0.3)])


@pytest.mark.parametrize("tilt", [1e-11, 1e-9, 1e-7])
def test_normal_of_touching_faces_is_that_of_the_faces(tilt):
    """One wedge on another, off by a hair as any body at rest is."""
    rng = np.random.default_rng(SEED)
    position, quaternion, instances = [], [], []
    for k in range(COUNT):
        for z in (0.0, 1.0):
            instances.append(Instance(Convex(WEDGE), body=len(position), margin=0.01))
            position.append(np.array([5.0 * k, 0.0, z]) + tilt * rng.standard_normal(3))
            quaternion.append(rotation_exp(tilt * rng.standard_normal(3)))
    contacts = detect(shape_arrays(instances), np.array(position), np.array(quaternion))
    assert contacts.frame[:, 0, 2].min() > 1.0 - 1e-9
    assert np.abs(contacts.gap).max() < 10.0 * tilt
    assert len(contacts.gap) == 4 * COUNT


def rounded_slab(rng):
    """A slab of which one face has many corners, inner ones too: what a mesh file in single precision makes of it."""
    inner = rng.uniform(-0.9, 0.9, (30, 2)) * (0.04, 0.02)
    rim = np.array([(x, y) for x in (-0.04, -0.0395, 0.0395, 0.04) for y in (-0.02, -0.0197, 0.0197, 0.02)])
    top = np.concatenate([inner, rim])
    points = np.concatenate([np.insert(top, 2, 0.005, axis=1), np.insert(rim, 2, -0.005, axis=1)])
    R = quaternion_to_matrix(rotation_exp(rng.normal(size=3)))  # in the file's frame no face is along an axis
    return Convex((points @ R.T).astype(np.float32).astype(float) @ R)


def test_faces_of_hulls_are_convex_and_as_few_as_they_look():
    """Corners that lie in a plane but for rounding are one face, convex, and together the faces are the surface."""
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        hull = rounded_slab(rng)
        area = 0.0
        for face in hull.faces:
            corners = hull.vertices[face]
            side = np.roll(corners, -1, axis=0) - corners
            across = np.cross(side, np.roll(side, -1, axis=0))
            normal = np.cross(corners[1:-1] - corners[0], corners[2:] - corners[0]).sum(axis=0)
            area += 0.5 * np.linalg.norm(normal)
            assert (across @ normal > 0.0).all()
            assert ((corners - corners[0]) @ normal <= 1e-10 * np.linalg.norm(normal)).all()  # the first is outermost
        a, b, c = np.moveaxis(hull.vertices[hull.triangles], 1, 0)
        assert area == pytest.approx(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum(), rel=1e-4)
        large = [
            f
            for f in hull.faces
            if np.ptp(hull.vertices[f], axis=0)[1] > 0.03 and np.ptp(hull.vertices[f], axis=0)[0] > 0.07
        ]
        assert len(large) == 2


@pytest.mark.parametrize("depth", [1e-8, 1e-6, 1e-4])
def test_a_box_stands_in_a_rounded_face_with_all_its_corners(depth):
    """Where it touches is where the box is: a hull whose face had corners inside gave one point, 17 mm beside the box,
    and a gripper sank into what it held."""
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        turn = rotation_exp(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
        at = np.array([*rng.uniform(-0.005, 0.005, 2), 0.005 + 0.01 - depth])
        shapes = shape_arrays([Instance(rounded_slab(rng), body=0), Instance(Box((0.02, 0.02, 0.02)), body=1)])
        found = detect(shapes, np.array([np.zeros(3), at]), np.array([[1.0, 0, 0, 0], turn]))
        corners = rotate(turn, 0.01 * np.array([(x, y, -1.0) for x in (-1, 1) for y in (-1, 1)])) + at
        assert len(found.gap) >= 4
        for corner in corners:
            near = np.linalg.norm((found.point - corner)[:, :2], axis=1)
            assert near.min() < 1e-4
        np.testing.assert_allclose(found.gap, -depth, atol=2e-7)


def test_uneven_hulls_touch_where_both_of_them_are():
    """Faces that are no longer one: a patch of two of them may miss the place where a box stands deepest, and then it
    is looked for."""
    rng = np.random.default_rng(SEED)
    for _ in range(50):
        slab = rounded_slab(rng)
        uneven = Convex(slab.points + 1e-6 * rng.standard_normal(slab.points.shape))
        turn = rotation_exp(np.array([*1e-3 * rng.standard_normal(2), rng.uniform(-np.pi, np.pi)]))
        at = np.array([*rng.uniform(-0.005, 0.005, 2), 0.005 + 0.01 - 1e-4])
        shapes = shape_arrays([Instance(uneven, body=0), Instance(Box((0.02, 0.02, 0.02)), body=1)])
        found = detect(shapes, np.array([np.zeros(3), at]), np.array([[1.0, 0, 0, 0], turn]))
        assert len(found.gap) > 0
        inside = (found.point - at) @ quaternion_to_matrix(turn)
        assert (np.abs(inside) < 0.01 + 2e-4).all()
        # no point of the box is deeper than the deepest contact says
        corners = rotate(turn, 0.01 * np.array([(x, y, -1.0) for x in (-1, 1) for y in (-1, 1)])) + at
        assert found.gap.min() == pytest.approx((corners[:, 2] - 0.005).min(), abs=1e-5)


def test_what_lies_beside_a_hull_meets_it_at_its_edge():
    """Their faces are flush and do not overlap: too near for GJK to tell a direction, and the point is where they meet,
    not at a far corner of the hull."""
    corners = np.array(list(itertools.product((-1.0, 1.0), (-1.0, 1.0), (-0.5, 0.5))))
    shapes = [Instance(Convex(corners)), Instance(Cylinder(0.1, 0.2), body=0, margin=0.01)]
    for x in (0.0, 1e-9, 1e-8, 1e-7):
        lying = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
        contacts = detect(shape_arrays(shapes), [[1.0 + x, 0.03, 0.6 + x]], [lying])
        assert len(contacts)
        assert np.abs(contacts.point - [1.0, 0.03, 0.5]).max() < 0.11
