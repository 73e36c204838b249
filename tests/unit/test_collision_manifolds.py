"""How many contacts, where, with which features: box on plane, box on box, capsules, cylinders, hulls, meshes."""

import numpy as np
import pytest

from delassus.collision import MIXING, Instance, detect, shape_arrays
from delassus.collision.narrow.frames import fill_tangents, singular_normal
from delassus.shapes import Box, Capsule, Compound, Convex, Cylinder, Mesh, Plane, Sphere
from delassus.spatial import quaternion_to_matrix, rotation_exp

EXACT = 1e-12  # distances of order one, a few rounding errors


def two(a, b, position, quaternion=(1, 0, 0, 0), margin=0.01):
    """Shape a fixed at the origin (body 0), b at a pose."""
    arrays = shape_arrays([Instance(a, body=0, margin=margin), Instance(b, body=1, margin=margin)])
    return detect(arrays, [[0, 0, 0], position], [[1, 0, 0, 0], quaternion])


def on_plane(shape, height, rotation=(0, 0, 0), margin=0.01):
    arrays = shape_arrays([Instance(Plane()), Instance(shape, body=0, margin=margin)])
    return detect(arrays, [[0, 0, height]], [rotation_exp(np.array(rotation, dtype=float))])


def prism(sides, radius=0.5, height=1.0):
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Convex(np.concatenate([np.c_[ring, np.full(sides, z)] for z in (-height / 2, height / 2)]))


def grid_mesh(n=6):
    x, y = np.meshgrid(np.arange(n + 1) - n / 2, np.arange(n + 1) - n / 2, indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    k = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    return Mesh(vertices, np.concatenate([np.c_[k, k + n + 1, k + n + 2], np.c_[k, k + n + 2, k + 1]]))


@pytest.mark.parametrize(
    ("shape", "height", "count"),
    [
        (Box((1, 2, 0.5)), 0.25, 4),
        (Box((1, 1, 1e-3)), 0.5e-3, 4),
        (Sphere(0.3), 0.3, 1),
        (Cylinder(0.4, 1.0), 0.5, 4),
        (prism(6), 0.5, 6),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_counts_on_a_plane(shape, height, count):
    contacts = on_plane(shape, height)
    assert len(contacts) == count
    np.testing.assert_allclose(contacts.gap, 0, atol=EXACT)
    np.testing.assert_allclose(contacts.point[:, 2], 0, atol=EXACT)
    np.testing.assert_array_equal(contacts.normal, np.tile([0, 0, 1.0], (count, 1)))
    np.testing.assert_array_equal(contacts.bodies, np.tile([-1, 0], (count, 1)))


@pytest.mark.parametrize("shape", [Capsule(0.3, 1.0), Cylinder(0.3, 1.0)])
def test_lying_on_a_plane_gives_two_points(shape):
    contacts = on_plane(shape, 0.3, rotation=(0, np.pi / 2, 0))
    assert len(contacts) == 2
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.5, 0.5], atol=EXACT)


def test_many_sided_prism_is_reduced_but_keeps_its_support():
    """Of 40 corners eight are kept, and the centre of mass lies well inside them."""
    contacts = on_plane(prism(40), 0.5)
    assert 4 <= len(contacts) <= 8
    angle = np.sort(np.arctan2(contacts.point[:, 1], contacts.point[:, 0]))
    assert np.diff(np.append(angle, angle[0] + 2 * np.pi)).max() < np.pi / 2


def test_box_on_box_gives_four():
    contacts = two(Box((1, 1, 1)), Box((1, 1, 1)), [0.2, -0.3, 1.0])
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1.0], (4, 1)), atol=EXACT)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.3, -0.3, 0.5, 0.5], atol=EXACT)
    np.testing.assert_allclose(np.sort(contacts.point[:, 1]), [-0.5, -0.5, 0.2, 0.2], atol=EXACT)


@pytest.mark.parametrize("gap", [-1e-3, 1e-3])
@pytest.mark.parametrize("angle", [0.0, 0.1, 0.5, np.pi / 4, 1.2])
def test_turned_box_on_box_lies_within_both_faces(angle, gap):
    q = rotation_exp(np.array([0, 0, angle]))
    contacts = two(Box((1, 1, 1)), Box((1, 1, 1)), [0.05, 0.1, 1.0 + gap], q)
    assert 4 <= len(contacts) <= 8
    np.testing.assert_allclose(contacts.gap, gap, atol=EXACT)
    slack = 0.5 * (1 + 2e-6)  # CLIP_SLACK
    assert (np.abs(contacts.point[:, :2]) <= slack).all()
    local = (contacts.point - [0.05, 0.1, 1.0 + gap]) @ quaternion_to_matrix(q)
    assert (np.abs(local[:, :2]) <= slack).all()


def test_edge_on_edge_gives_one():
    up = rotation_exp(np.array([np.pi / 4, 0, 0]))
    across = rotation_exp(np.array([0, np.pi / 4, 0]))
    arrays = shape_arrays([Instance(Box((1, 1, 1)), body=k, margin=0.01) for k in range(2)])
    contacts = detect(arrays, [[0, 0, 0], [0.1, 0.2, np.sqrt(2) - 1e-3]], [up, across])
    assert len(contacts) == 1
    np.testing.assert_allclose(contacts.gap, -1e-3, atol=EXACT)
    np.testing.assert_allclose(contacts.normal[0], [0, 0, 1], atol=EXACT)
    np.testing.assert_allclose(contacts.point[0], [0.1, 0.0, np.sqrt(0.5) - 5e-4], atol=EXACT)


def test_parallel_capsules_give_two_and_crossing_ones_one():
    lying = rotation_exp(np.array([0, np.pi / 2, 0]))
    arrays = shape_arrays([Instance(Capsule(0.2, 1.0), body=k, margin=0.01) for k in range(2)])
    contacts = detect(arrays, [[0, 0, 0], [0.3, 0, 0.4]], [lying, lying])
    assert len(contacts) == 2
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.2, 0.5], atol=EXACT)
    other = rotation_exp(np.array([np.pi / 2, 0, 0]))
    assert len(detect(arrays, [[0, 0, 0], [0.1, 0.2, 0.4]], [lying, other])) == 1


def test_capsule_on_box_gives_two():
    lying = rotation_exp(np.array([0, np.pi / 2, 0]))
    contacts = two(Box((1, 1, 1)), Capsule(0.2, 2.0), [0.3, 0, 0.7], lying)
    assert len(contacts) == 2
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.5, 0.5], atol=EXACT)  # cut to the face


@pytest.mark.parametrize(
    ("shape", "height", "count"),
    [(Cylinder(0.3, 1.0), 1.0, 8), (prism(6), 1.0, 6), (Capsule(0.2, 0.4), 0.9, 1), (Box((0.5, 0.5, 1)), 1.0, 4)],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_solids_on_a_hull(shape, height, count):
    contacts = two(Convex(Box((2, 2, 1)).bounds[[0, 1, 0, 1, 0, 1, 0, 1], :][:, :] * _signs()), shape, [0.1, 0, height])
    assert len(contacts) == count
    np.testing.assert_allclose(contacts.gap, 0, atol=1e-12)
    assert len(np.unique(contacts.feature)) == count


def _signs():
    """With the two corners in turn, all eight corners of a box."""
    return np.array([[a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)])[[0, 0, 1, 1, 2, 2, 3, 3]]


def test_ball_does_not_feel_the_edges_of_a_flat_mesh():
    """One contact wherever it is, above faces, edges and corners alike, also a little sunk in."""
    rng = np.random.default_rng(0)
    arrays = shape_arrays([Instance(grid_mesh()), Instance(Sphere(0.4), body=0, margin=0.02)])
    spots = [*rng.uniform(-2, 2, (200, 2)), [0, 0], [1, 1], [0.5, 0], [0.5, 0.5], [0, -0.25], [0.3, 0.3 + 1e-12]]
    for spot in spots:
        for height in (0.41, 0.4, 0.39):
            contacts = detect(arrays, [[*spot, height]], [[1, 0, 0, 0]])
            assert len(contacts) == 1, (spot, height)
            np.testing.assert_allclose(contacts.normal[0], [0, 0, 1], atol=1e-9)
            np.testing.assert_allclose(contacts.gap[0], height - 0.4, atol=1e-9)


def test_ball_on_a_ridge_touches_the_edge_once():
    mesh = Mesh([[-1, 0, -1], [0, -1, 0], [0, 1, 0], [1, 0, -1]], [[0, 1, 2], [1, 3, 2]])
    arrays = shape_arrays([Instance(mesh), Instance(Sphere(0.4), body=0, margin=0.02)])
    contacts = detect(arrays, [[0.05, 0.1, 0.39]], [[1, 0, 0, 0]])
    assert len(contacts) == 1
    np.testing.assert_allclose(contacts.gap[0], np.hypot(0.05, 0.39) - 0.4, atol=EXACT)


PAIRS = [
    (Sphere(0.5), Sphere(0.4)),
    (Sphere(0.5), Box((1, 1, 1))),
    (Box((1, 1.2, 0.9)), Box((0.8, 1, 1.1))),
    (Box((1, 1, 1)), Capsule(0.3, 0.8)),
    (Capsule(0.3, 0.8), Capsule(0.2, 1.0)),
    (Sphere(0.4), Cylinder(0.4, 1.0)),
    (Sphere(0.4), prism(5)),
]


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda s: s.kind)
def test_swapping_the_shapes_flips_the_normal(a, b):
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(300):
        position = rng.normal(size=(2, 3)) * 0.6
        quaternion = rng.normal(size=(2, 4))
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        here = detect(shape_arrays([Instance(a, 0, margin=0.1), Instance(b, 1, margin=0.1)]), position, quaternion)
        there = detect(shape_arrays([Instance(b, 1, margin=0.1), Instance(a, 0, margin=0.1)]), position, quaternion)
        assert len(here) == len(there)
        if len(here):
            seen += 1
            i, j = np.argmin(here.gap), np.argmin(there.gap)
            np.testing.assert_allclose(here.gap[i], there.gap[j], atol=1e-4)  # FACE_BIAS between the faces of two boxes
            if len(here) == 1:
                np.testing.assert_allclose(here.normal, -there.normal, atol=1e-9)
                np.testing.assert_allclose(here.point, there.point, atol=1e-9)
    assert seen > 50


@pytest.mark.parametrize("kind", ["box", "capsule", "cylinder", "prism", "box on box", "prism on box"])
def test_features_are_stable_under_small_motion(kind):
    """A body at rest that trembles by 1e-7 keeps its features; they are unique."""
    shape = {"capsule": Capsule(0.5, 1.0), "cylinder": Cylinder(0.3, 1.0)}.get(kind, Box((1, 1, 1)))
    if kind.startswith("prism"):
        shape = prism(6)
    ground = Instance(Box((3, 3, 1)), position=(0, 0, -0.5)) if kind.endswith("on box") else Instance(Plane())
    arrays = shape_arrays([ground, Instance(shape, body=0, margin=0.01)])
    rest = np.array([0, np.pi / 2, 0]) if kind == "capsule" else np.array([0, 0, 0.3])
    rng = np.random.default_rng(3)
    features = None
    for _ in range(50):
        q = rotation_exp(rest + 1e-7 * rng.normal(size=3))
        contacts = detect(arrays, [0.1, 0.2, 0.5] + 1e-7 * rng.normal(size=3), q)
        assert len(np.unique(contacts.feature)) == len(contacts) > 0
        if features is not None:
            np.testing.assert_array_equal(np.sort(contacts.feature), np.sort(features))
        features = contacts.feature.copy()


def test_frames_are_right_handed_and_continuous():
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(1000, 3))
    normals = np.concatenate(
        [normals / np.linalg.norm(normals, axis=1, keepdims=True), [singular_normal()], np.eye(3), -np.eye(3)]
    )
    frame = np.full((len(normals), 3, 3), np.nan)
    frame[:, 0] = normals
    for k in range(len(normals)):
        fill_tangents(frame, k)
    np.testing.assert_allclose(frame @ np.swapaxes(frame, 1, 2), np.tile(np.eye(3), (len(frame), 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frame), 1, atol=1e-12)
    # floors, ceilings and walls: the frame moves no faster than a few times the normal
    for n in np.concatenate([np.eye(3), -np.eye(3)]):
        near = np.tile(np.concatenate([n, np.zeros(6)]).reshape(1, 3, 3), (2, 1, 1))
        near[1, 0] = n + 1e-6 * rng.normal(size=3)
        near[1, 0] /= np.linalg.norm(near[1, 0])
        fill_tangents(near, 0)
        fill_tangents(near, 1)
        assert np.abs(near[1] - near[0]).max() < 2e-5


@pytest.mark.parametrize(
    ("mixing", "value"), [("geometric", 0.4), ("min", 0.2), ("max", 0.8), ("average", 0.5), ("product", 0.16)]
)
def test_mixing(mixing, value):
    assert mixing in MIXING
    given = [Instance(Plane(), mu=0.2, restitution=0.3), Instance(Sphere(1.0), 0, mu=0.8, restitution=0.1)]
    contacts = detect(shape_arrays(given, mixing=mixing), [[0, 0, 1.0]], [[1, 0, 0, 0]])
    np.testing.assert_allclose(contacts.mu, value)
    np.testing.assert_allclose(contacts.restitution, 0.3)


def test_compound_is_its_parts():
    table = Compound(tuple((Box((0.1, 0.1, 1)), (x, y, 0), None) for x in (-1, 1) for y in (-1, 1)))
    contacts = on_plane(table, 0.5)
    assert len(contacts) == 16
    assert set(contacts.shapes[:, 1].tolist()) == {1, 2, 3, 4}
    assert set(contacts.bodies[:, 1].tolist()) == {0}
