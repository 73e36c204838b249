"""Balls at the corners and edges of meshes: found wherever the solid is within reach, at its distance, once."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from delassus.collision import Instance, Skin, detect, detect_surface, shape_arrays, surface_arrays
from delassus.shapes import Mesh, Sphere

EXACT = 1e-12  # distances of order one, a few rounding errors
RADIUS, MARGIN = 0.03, 0.03
REACH = 0.09  # how far from corners and edges balls are put: some of them touch nothing


def hull(points):
    """The mesh of a convex hull, with its triangles facing out."""
    found = ConvexHull(points)
    faces = found.simplices.copy()
    a, b, c = np.moveaxis(points[faces], 1, 0)
    flip = (np.cross(b - a, c - a) * found.equations[:, :3]).sum(axis=1) < 0
    faces[flip] = faces[flip, ::-1]
    used, which = np.unique(faces, return_inverse=True)
    return Mesh(points[used], which.reshape(-1, 3))


def cube():
    return hull(np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]))


def halved(mesh):
    """Every triangle in four: flat edges and flat corners, on faces and along edges."""
    v, f = mesh.vertices, mesh.faces
    edges, which = np.unique(
        np.sort(f[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
    )
    ab, bc, ca = (which.reshape(-1, 3) + len(v)).T
    a, b, c = f.T
    faces = np.concatenate([np.c_[a, ab, ca], np.c_[ab, b, bc], np.c_[ca, bc, c], np.c_[ab, bc, ca]])
    return np.concatenate([v, v[edges].mean(axis=1)]), faces


def icosphere():
    g = 0.5 * (1 + np.sqrt(5))
    corners = np.array([[0, a, b * g] for a in (-1, 1) for b in (-1, 1)])
    v, f = halved(hull(np.concatenate([np.roll(corners, k, axis=1) for k in range(3)])))
    return Mesh(0.5 * v / np.linalg.norm(v, axis=1, keepdims=True), f)


def prism(outline, top, bottom, height=0.6):
    """A solid over a polygon (k, 2), whose ends are cut into the triangles `top` and `bottom`."""
    k = len(outline)
    v = np.concatenate([np.c_[outline, np.full(k, height)], np.c_[outline, np.zeros(k)]])
    i, j = np.arange(k), np.roll(np.arange(k), -1)
    sides = np.concatenate([np.c_[i, i + k, j], np.c_[j, i + k, j + k]])
    return v, np.concatenate([sides, top, np.asarray(bottom)[:, ::-1] + k])


def l_shape():
    """A corner that is cut out of a block: its edge is concave, the ends of that edge are saddles."""
    outline = np.array([[0, 0], [1, 0], [1, 0.5], [0.5, 0.5], [0.5, 1], [0, 1]])
    return Mesh(
        *prism(outline, [[0, 1, 3], [1, 2, 3], [0, 3, 5], [3, 4, 5]], [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    )


def pointed(tip, sides=12):
    """A round prism whose top runs to a tip at this height: a spike above 0.6, a pit below."""
    angle = 2 * np.pi * np.arange(sides) / sides
    v, f = prism(0.2 * np.c_[np.cos(angle), np.sin(angle)], np.zeros((0, 3), int), np.zeros((0, 3), int))
    i, j = np.arange(sides), np.roll(np.arange(sides), -1)
    ends = [np.c_[i, j, np.full(sides, 2 * sides)], np.c_[j + sides, i + sides, np.full(sides, 2 * sides + 1)]]
    return Mesh(np.concatenate([v, [[0, 0, tip], [0, 0, 0]]]), np.concatenate([f, *ends]))


CONVEX = {
    "cube": cube(),
    "cube of 48": Mesh(*halved(cube())),
    "tetrahedron": hull(np.array([[0, 0, 0], [1, 0, 0], [0.2, 0.9, 0], [0.3, 0.2, 0.8]])),
    "icosphere": icosphere(),
    "needle": hull(np.array([[0, 0, 0], [0.1, 0, 0], [0.05, 0.1, 0], [0.05, 0.03, 1.2]])),
    **{f"hull {k}": hull(np.random.default_rng(k).normal(size=(12, 3))) for k in range(2)},
}
SHARP = ("hull 0", "hull 1", "spike", "pit")
"""More than three faces at a sharp corner: what overlaps it by much may be behind one that is no neighbour of those it
is in front of, by less than its radius, and this face, which knows only its neighbours, counts as well."""
OTHERS = {"L": l_shape(), "spike": pointed(1.5), "pit": pointed(0.1)}


def distances(points, mesh):
    """(k,) signed distance to a closed mesh: the least over all triangles, inside where these surround the point."""
    best, angle = np.full(len(points), np.inf), np.zeros(len(points))
    for corners in mesh.vertices[mesh.faces]:
        n = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        n /= np.linalg.norm(n)
        inside, height = np.ones(len(points), bool), np.abs((points - corners[0]) @ n)
        for a, b in zip(corners, np.roll(corners, -1, axis=0)):
            inside &= (points - a) @ np.cross(n, b - a) > 0
            t = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
            best = np.minimum(best, np.linalg.norm(points - a - t[:, None] * (b - a), axis=1))
        best[inside] = np.minimum(best, height)[inside]
        x = corners[None] - points[:, None]
        r = np.linalg.norm(x, axis=2)
        a, b, c = np.moveaxis(x, 1, 0)
        above = (a * np.cross(b, c)).sum(axis=1)
        r1, r2, r3 = r.T
        beside = r1 * r2 * r3 + (a * b).sum(1) * r3 + (b * c).sum(1) * r1 + (c * a).sum(1) * r2
        angle += 2 * np.arctan2(above, beside)
    return np.where(np.abs(angle) > 2 * np.pi, -best, best)


def around(mesh, count, rng):
    """Points in random directions near every corner and every edge."""
    edges = np.unique(np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    corners = np.repeat(mesh.vertices, count, axis=0)
    a, b = np.moveaxis(mesh.vertices[np.repeat(edges, count, axis=0)], 1, 0)
    spots = np.concatenate([corners, a + rng.random((len(a), 1)) * (b - a)])
    direction = rng.normal(size=spots.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return spots + rng.uniform(0.001, REACH, (len(spots), 1)) * direction


def balls_at(points, mesh, at_once=2000):
    """(gap, normal, ball) of the contacts of balls at all these points with a mesh."""
    each = [Instance(Sphere(RADIUS), body=k, margin=MARGIN, group=2, mask=1) for k in range(at_once)]
    arrays = shape_arrays([Instance(mesh, margin=0.0, group=1, mask=2), *each])
    found = []
    for k in range(0, len(points), at_once):
        rest = points[k : k + at_once]
        there = np.concatenate([rest, np.full((at_once - len(rest), 3), 100.0)])
        contacts = detect(arrays, there, np.tile([1.0, 0, 0, 0], (at_once, 1)))
        assert (contacts.bodies[:, 0] == -1).all()
        found.append((contacts.gap, contacts.normal, contacts.bodies[:, 1] + k))
    return [np.concatenate(x) for x in zip(*found)]


@pytest.mark.parametrize("name", [*CONVEX, *OTHERS])
def test_balls_near_corners_and_edges(name):
    rng = np.random.default_rng(7)
    mesh = (CONVEX | OTHERS)[name]
    points = around(mesh, 2000 if len(mesh.faces) <= 12 else 600 if len(mesh.faces) <= 20 else 200, rng)
    true = distances(points, mesh)
    gap, normal, ball = balls_at(points, mesh)
    count, outside = np.bincount(ball, minlength=len(points)), true > 0
    reached = true - RADIUS <= MARGIN
    assert np.array_equal(count[outside] > 0, reached[outside])
    assert (outside & ~reached).sum() > 0.01 * len(points)
    off = np.full(len(points), np.inf)
    np.minimum.at(off, ball, np.abs(gap - (true - RADIUS)[ball]))
    assert off[outside & reached].max() <= EXACT
    is_sharp = name in SHARP
    sure = outside & (true > RADIUS) if is_sharp else outside
    assert (sure & reached).sum() > 0.05 * len(points)
    assert (gap - (true - RADIUS)[ball])[sure[ball]].min() >= -EXACT
    each = np.c_[ball, np.round(normal, 6)]
    assert len(np.unique(each, axis=0)) == len(each)
    if name in CONVEX:
        assert count[sure].max() == 1
    # a centre that is inside is pushed out by what is nearest, never further in
    far = gap + RADIUS
    is_nearest = ~outside[ball] & (np.abs(np.abs(far) + true[ball]) < EXACT)
    assert far[is_nearest].max() <= EXACT


def test_exactly_over_corners():
    """Also of flat ones, on faces and along edges: one contact."""
    mesh = CONVEX["cube of 48"]
    v = mesh.vertices
    sides = np.abs(v) == 0.5
    direction = np.sign(v) * sides / np.sqrt(sides.sum(axis=1, keepdims=True))
    for height in (0.01, 0.055):
        gap, normal, ball = balls_at(v + height * direction, mesh)
        assert np.array_equal(np.sort(ball), np.arange(len(v)))
        np.testing.assert_allclose(gap, height - RADIUS, atol=EXACT)


def test_ball_over_a_saddle_feels_no_corner():
    """Nowhere is a corner of a saddle or of a hollow nearest to a ball above: all normals are those of triangles or of
    convex edges."""
    n, rng = 8, np.random.default_rng(3)
    x, y = np.meshgrid(np.linspace(-1, 1, n + 1), np.linspace(-1, 1, n + 1), indexing="ij")
    k = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = np.concatenate([np.c_[k, k + n + 1, k + n + 2], np.c_[k, k + n + 2, k + 1]])
    for bend in (-0.4, 0.4):  # 0.4: a saddle, −0.4: a hollow
        mesh = Mesh(np.c_[x.ravel(), y.ravel(), (0.4 * x**2 - bend * y**2).ravel()], faces)
        inner = mesh.vertices[(np.abs(mesh.vertices[:, :2]) < 0.9).all(axis=1)]
        direction = np.concatenate(
            [0.15 * rng.normal(size=(len(inner), 500, 2)), np.ones((len(inner), 500, 1))], axis=2
        )
        direction /= np.linalg.norm(direction, axis=2, keepdims=True)
        points = (inner[:, None] + 0.055 * direction).reshape(-1, 3)
        gap, normal, ball = balls_at(points, mesh)
        assert np.array_equal(np.unique(ball), np.arange(len(points)))
        corner = np.repeat(np.arange(len(inner)), 500)[ball]
        far = np.linalg.norm(points[ball] - (gap + RADIUS)[:, None] * normal - inner[corner], axis=1)
        assert far.min() > 1e-6


@pytest.mark.parametrize("name", [*CONVEX, *OTHERS])
def test_what_a_corner_knows(name):
    """All edges that meet there, once, and a normal that points out of what is convex."""
    mesh = (CONVEX | OTHERS)[name]
    rows, count = mesh.corner_directions()
    start = np.cumsum(count.ravel()) - count.ravel()
    first = np.unique(mesh.faces, return_index=True)[1]
    assert np.array_equal(np.flatnonzero(count.ravel()), np.sort(first))
    for v, k in zip(mesh.vertices, first):
        fan = mesh.faces[(mesh.vertices[mesh.faces] == v).all(axis=2).any(axis=1)]
        ends = np.unique(fan)
        along = mesh.vertices[ends] - v
        along = along[np.linalg.norm(along, axis=1) > 0]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        known = rows[start[k] : start[k] + count.flat[k]]
        assert len(known) == 1 + len(along)
        assert (np.abs(known[1:, None] - along).max(axis=2).min(axis=0) < EXACT).all()
        if name in CONVEX:
            assert known[0] @ (v - mesh.vertices.mean(axis=0)) > 0


def fanned():
    """A block whose top is a fan of triangles from one corner; the first triangle there has flat edges only."""
    outline = np.array([[0, 0], [1, 0], [1, 0.5], [1, 1], [0.5, 1], [0, 1]])
    fan = [[0, k, k + 1] for k in (2, 1, 3, 4)]
    vertices, faces = prism(outline, fan, sorted(fan))
    return Mesh(vertices, np.roll(faces, -12, axis=0))  # the sides last


def soft_body(what, tip, d):
    """(nodes, triangles) of a flexible body that reaches `tip` from direction d with a node, an edge or a face."""
    t = np.cross(d, [0.3, -0.5, 0.7])
    t /= np.linalg.norm(t)
    b = np.cross(d, t)
    if what == "face":
        ends = np.array([t + b, t - b, -t - b, -t + b])
        return tip + 0.1 * ends + 0.01 * t, np.array([[0, 1, 2], [0, 2, 3]])  # the corner is over no edge
    ends = [0 * t, d + t, d - 0.5 * t + b, d - 0.5 * t - b] if what == "node" else [t, -t, d + b, d - b]
    nodes, triangles = tip + 0.1 * np.array(ends), np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    x = nodes[triangles]
    out = (np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]) * (x.mean(axis=1) - nodes.mean(axis=0))).sum(axis=1) > 0
    triangles[~out] = triangles[~out, ::-1]
    return nodes, triangles


@pytest.mark.parametrize("what", ["node", "edge", "face"])
@pytest.mark.parametrize("name", ["cube", "tetrahedron", "hull 0", "fanned"])
def test_flexible_bodies_meet_corners(what, name):
    mesh = CONVEX.get(name) or fanned()
    shapes, rng, least = shape_arrays([Instance(mesh)]), np.random.default_rng(1), 0.01
    tried = 0
    for corner in mesh.vertices[:12]:
        along = mesh.vertices - corner
        along = along[np.linalg.norm(along, axis=1) > 0]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        d = rng.normal(size=(400, 3))
        d /= np.linalg.norm(d, axis=1, keepdims=True)
        for way in d[(d @ along.T).max(axis=1) < -0.02][:20]:
            nodes, triangles = soft_body(what, corner + least * way, way)
            surface = surface_arrays(nodes, [Skin(triangles, margin=0.02)])
            contacts = detect_surface(surface, nodes, shapes, np.zeros((0, 7)))
            nearest = np.flatnonzero(np.abs(contacts.gap - least) < 1e-9)
            if name not in SHARP:
                assert contacts.gap.min(initial=np.inf) > least - 1e-9, (what, corner, way)
            assert len(nearest) == 1, (what, corner, way)
            assert np.allclose(contacts.normal[nearest], way, atol=1e-7)
            tried += 1
    assert tried > 40
