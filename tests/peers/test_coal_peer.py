"""Gaps and normals of every pair of solid shapes against `coal` on random poses, separated and slightly penetrating."""

import itertools

import numpy as np
import pytest

from delassus.collision import Instance, detect, shape_arrays
from delassus.shapes import Box, Capsule, Convex, Cylinder, Mesh, Plane, Sphere
from delassus.spatial import quaternion_to_matrix

coal = pytest.importorskip("coal", reason="pip install coal")
pytestmark = pytest.mark.peer

COUNT = 600  # poses per pair
MARGIN = 0.05  # of each shape: gaps up to 0.1 are found
SPACING = 40.0  # between pairs, so that they do not meet each other

# coal stops GJK and EPA at a duality gap of 1e-6: with less, EPA fails on round shapes, with 1e-8 once in a hundred
# penetrating pairs.
# Face contacts of boxes are preferred by FACE_BIAS = 1e-4 of the smallest half edge (here at most 0.5) over edge
# contacts, so depths may be that much too large.
GAP = {"separated": 2e-6, "penetrating": 1e-4}
# Near a tie between two directions, as close as the gap tolerance, either normal is right; so gaps are compared along
# *our* normal as well: translating B by it must change coal's distance at rate one. Normals agree where coal is smooth.
NORMAL = 1e-3

KINDS = ["sphere", "box", "capsule", "cylinder", "convex"]


def random_shape(kind, rng):
    size = rng.uniform(0.3, 1.0, 3)
    if kind == "sphere":
        return Sphere(size[0])
    if kind == "box":
        return Box(size)
    if kind == "capsule":
        return Capsule(size[0] / 2, size[1])
    if kind == "cylinder":
        return Cylinder(size[0] / 2, size[1])
    return Convex(rng.normal(size=(12, 3)) * size / 2)


def peer_shape(shape):
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Plane):
        return coal.Halfspace(np.array(shape.normal), shape.offset)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in shape.vertices:
        points.append(x)
    for t in shape.triangles.tolist():
        triangles.append(coal.Triangle(*t))
    return coal.Convex(points, triangles)


def distance(a, pa, qa, b, pb, qb):
    """(gap, normal from a to b) by coal."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-6
    request.gjk_max_iterations = request.epa_max_iterations = 256
    poses = [coal.Transform3s(quaternion_to_matrix(q), p) for p, q in ((pa, qa), (pb, qb))]
    gap = coal.distance(a, poses[0], b, poses[1], request, result)
    return gap, np.array(result.normal)


def unit(rng, size):
    x = rng.normal(size=size)
    return x / np.linalg.norm(x)


def random_pairs(one, two, state, rng):
    """COUNT pairs of shapes with poses, moved together along the normal to a wanted gap: (shape, p, q) twice, gap."""
    for k in range(COUNT):
        a, b = random_shape(one, rng), random_shape(two, rng)
        pa = SPACING * np.array([k % 30, k // 30, 0.0])
        qa, qb = unit(rng, 4), unit(rng, 4)
        pb = pa + 3.0 * unit(rng, 3)
        gap, normal = distance(peer_shape(a), pa, qa, peer_shape(b), pb, qb)
        target = rng.uniform(1e-3, 0.08) if state == "separated" else -rng.uniform(1e-3, 0.03)
        yield (a, pa, qa), (b, pb - (gap - target) * normal, qb), target


def deepest_by_pair(contacts, count):
    """Rows of the smallest gap of each pair of bodies (2k, 2k + 1), −1 where there is none."""
    rows = np.full(count, -1)
    for c in np.argsort(-contacts.gap, kind="stable"):
        rows[contacts.bodies[c, 0] // 2] = c
    return rows


@pytest.mark.parametrize("state", ["separated", "penetrating"])
@pytest.mark.parametrize(("one", "two"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_gaps_and_normals_agree(one, two, state):
    rng = np.random.default_rng(7)
    pairs = list(random_pairs(one, two, state, rng))
    solids = [x for p in pairs for x in p[:2]]
    instances = [Instance(x[0], body=k, margin=MARGIN) for k, x in enumerate(solids)]
    position = np.array([x[1] for x in solids])
    quaternion = np.array([x[2] for x in solids])
    contacts = detect(shape_arrays(instances), position, quaternion)
    assert (contacts.bodies // 2 == (contacts.bodies // 2)[:, :1]).all()
    rows = deepest_by_pair(contacts, COUNT)
    assert (rows >= 0).all()
    bad = []
    for k, (a, b, _) in enumerate(pairs):
        shapes = peer_shape(a[0]), peer_shape(b[0])
        gap, normal = distance(shapes[0], a[1], a[2], shapes[1], b[1], b[2])
        ours, direction = contacts.gap[rows[k]], contacts.normal[rows[k]]
        same = abs(ours - gap) <= GAP[state]
        turned = np.linalg.norm(normal - direction)
        if turned > NORMAL:
            # another normal is right if the gap along it is as good: moving along it by the gap makes them touch
            moved, _ = distance(shapes[0], a[1], a[2], shapes[1], b[1] - ours * direction, b[2])
            same = same and abs(moved) <= 2 * GAP[state]
        if not same:
            bad.append((k, ours, gap, turned))
    assert not bad, f"{len(bad)} of {COUNT} pairs differ, the first: {bad[:5]}"


@pytest.mark.parametrize("kind", KINDS)
def test_planes_agree(kind):
    rng = np.random.default_rng(3)
    plane = Plane(unit(rng, 3), 0.3)
    for _ in range(COUNT // 3):
        shape, q = random_shape(kind, rng), unit(rng, 4)
        p = np.array(plane.normal) * 2 + rng.normal(size=3)
        gap, normal = distance(peer_shape(plane), np.zeros(3), [1, 0, 0, 0], peer_shape(shape), p, q)
        p = p - (gap - rng.uniform(-0.05, 0.05)) * np.array(plane.normal)
        gap, normal = distance(peer_shape(plane), np.zeros(3), [1, 0, 0, 0], peer_shape(shape), p, q)
        arrays = shape_arrays([Instance(plane), Instance(shape, body=0, margin=0.1)])
        contacts = detect(arrays, p, q)
        np.testing.assert_allclose(contacts.gap.min(), gap, atol=1e-8)
        np.testing.assert_allclose(contacts.normal, np.tile(normal, (len(contacts), 1)), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_solids_over_a_mesh_agree_with_coal(kind):
    """Over a flat mesh everything is as over a plane, edges or not; a solid's own edge contacts included."""
    rng = np.random.default_rng(5)
    x, y = np.meshgrid(np.arange(-3, 4), np.arange(-3, 4), indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1).astype(float)
    corner = (np.arange(6)[:, None] * 7 + np.arange(6)).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 7, corner + 8], axis=1), np.stack([corner, corner + 8, corner + 1], axis=1)]
    )
    mesh = Instance(Mesh(vertices, faces))
    ground = peer_shape(Plane())
    for _ in range(60):
        shape, q = random_shape(kind, rng), unit(rng, 4)
        p = np.array([*rng.uniform(-1, 1, 2), 3.0])
        gap, _ = distance(ground, np.zeros(3), [1, 0, 0, 0], peer_shape(shape), p, q)
        p[2] -= gap - rng.uniform(-0.02, 0.02)
        gap, _ = distance(ground, np.zeros(3), [1, 0, 0, 0], peer_shape(shape), p, q)
        contacts = detect(shape_arrays([mesh, Instance(shape, body=0, margin=0.05)]), p, q)
        np.testing.assert_allclose(contacts.gap.min(), gap, atol=2e-6)
        np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1.0], (len(contacts), 1)), atol=1e-5)
