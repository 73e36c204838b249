"""What every line of SHAPES promises: exact mass properties, bounds that hold, clear refusals."""

import numpy as np
import pytest

from delassus.collision import Instance, detect, shape_arrays
from delassus.errors import ProblemError, SettingsError
from delassus.shapes import SHAPES, Box, Capsule, Compound, Convex, Cylinder, Ellipsoid, Mesh, Plane, Sphere
from delassus.spatial import rotation_exp

TURNED = tuple(rotation_exp(np.array([0.3, -0.2, 0.5])))
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1.5, 0], [0.2, 0.1, 2.0]])
EXAMPLES = {
    "sphere": Sphere(0.7),
    "box": Box((1.0, 2.0, 0.5)),
    "capsule": Capsule(0.4, 1.3),
    "cylinder": Cylinder(0.6, 1.1),
    "ellipsoid": Ellipsoid(0.7, 0.4, 1.1),
    "plane": Plane((1.0, 2.0, -0.5), 0.3),
    "convex": Convex(np.random.default_rng(0).normal(size=(30, 3)) + [1.0, 0, 2.0]),
    "mesh": Mesh(TETRAHEDRON, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]),
    "compound": Compound(((Box((1, 1, 1)), (2, 0, 0), TURNED), (Sphere(0.5), (-1, 0, 0.5), None))),
}
SAMPLES = 400_000
# Monte Carlo: the standard error of a mean over SAMPLES points in a box that the shape fills to a fifth at least, for
# moments up to order two in units of the box, is below 0.004; five of them.
RANDOM = 0.02

solid = pytest.mark.parametrize("kind", [k for k in SHAPES if not SHAPES[k].static_only])
every = pytest.mark.parametrize("kind", list(SHAPES))


def inside(shape, x):
    """Which of the points (n, 3) lie in a solid."""
    if isinstance(shape, Sphere):
        return np.linalg.norm(x, axis=1) <= shape.radius
    if isinstance(shape, Box):
        return (np.abs(x) <= np.array(shape.size) / 2).all(axis=1)
    if isinstance(shape, Capsule):
        z = np.clip(x[:, 2], -shape.length / 2, shape.length / 2)
        return np.hypot(np.hypot(x[:, 0], x[:, 1]), x[:, 2] - z) <= shape.radius
    if isinstance(shape, Cylinder):
        return (np.hypot(x[:, 0], x[:, 1]) <= shape.radius) & (np.abs(x[:, 2]) <= shape.length / 2)
    if isinstance(shape, Ellipsoid):
        return np.linalg.norm(x / np.array(shape.numbers), axis=1) <= 1.0
    a, b, c = np.moveaxis(shape.vertices[shape.triangles], 1, 0)
    normal = np.cross(b - a, c - a)
    return (x @ normal.T <= np.einsum("ij,ij->i", normal, a)).all(axis=1)


def parts(shape):
    """(solid, position, rotation matrix) of a shape, itself or those of a compound."""
    from delassus.spatial import quaternion_to_matrix

    if isinstance(shape, Compound):
        return [(s, p, quaternion_to_matrix(q)) for s, p, q in shape.parts]
    return [(shape, np.zeros(3), np.eye(3))]


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(SHAPES)
    assert all(EXAMPLES[kind].kind == kind for kind in SHAPES)


@solid
def test_mass_properties_agree_with_random_points(kind):
    shape, rng = EXAMPLES[kind], np.random.default_rng(1)
    lo, hi = shape.bounds
    x = rng.uniform(lo, hi, (SAMPLES, 3))
    within = np.zeros(SAMPLES, bool)
    for solid_part, position, R in parts(shape):  # the example's parts do not overlap
        within |= inside(solid_part, (x - position) @ R)
    box = float(np.prod(hi - lo))
    size = float(np.max(hi - lo))
    assert abs(within.mean() * box - shape.volume) <= RANDOM * box
    points = x[within]
    np.testing.assert_allclose(points.mean(axis=0), shape.centre_of_mass, atol=RANDOM * size)
    d = points - shape.centre_of_mass
    inertia = ((d**2).sum() * np.eye(3) - d.T @ d) / SAMPLES * box
    np.testing.assert_allclose(inertia, shape.inertia_per_density, atol=RANDOM * box * size**2)


@solid
def test_inertia_is_physical(kind):
    moments = np.linalg.eigvalsh(EXAMPLES[kind].inertia_per_density)
    assert moments[0] > 0
    assert moments[0] + moments[1] >= moments[2] * (1 - 1e-12)


@every
def test_bounds_hold_the_surface(kind):
    shape = EXAMPLES[kind]
    x = shape.surface_points(5000, np.random.default_rng(2))
    assert x.shape == (5000, 3)
    slack = 1e-12
    assert (x >= shape.bounds[0] - slack).all()
    assert (x <= shape.bounds[1] + slack).all()
    assert (np.linalg.norm(x, axis=1) <= shape.bounding_radius + slack).all()


@every
def test_static_shapes_have_no_mass_and_cannot_move(kind):
    shape = EXAMPLES[kind]
    assert shape.static_only == (shape.volume is None)
    if shape.static_only:
        assert shape.centre_of_mass is None
        assert shape.inertia_per_density is None
        with pytest.raises(ProblemError, match="cannot move"):
            Instance(shape, body=0)


@solid
def test_a_ball_touches_every_solid_where_its_surface_is(kind):
    """A tiny ball centred on a surface point has gap −radius there, outside and inside conventions included."""
    shape, rng = EXAMPLES[kind], np.random.default_rng(3)
    arrays = shape_arrays([Instance(shape), Instance(Sphere(1e-3), body=0)])
    for x in shape.surface_points(60, rng):
        contacts = detect(arrays, [x], [[1, 0, 0, 0]])
        assert abs(contacts.gap.min() + 1e-3) < 1e-9


def test_hulls_agree_with_trimesh():
    trimesh = pytest.importorskip("trimesh", reason="pip install trimesh")
    shape = EXAMPLES["convex"]
    peer = trimesh.Trimesh(shape.vertices, shape.triangles)
    assert peer.is_watertight
    np.testing.assert_allclose(shape.volume, peer.volume, rtol=1e-12)
    np.testing.assert_allclose(shape.centre_of_mass, peer.center_mass, rtol=1e-12)
    np.testing.assert_allclose(shape.inertia_per_density, peer.moment_inertia, rtol=1e-9)


def test_hull_of_a_box_is_the_box():
    box = Box((1.0, 2.0, 0.5))
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-1, 1) for z in (-0.25, 0.25)])
    hull = Convex(np.concatenate([corners, np.zeros((3, 3))]))
    np.testing.assert_allclose(hull.volume, box.volume)
    np.testing.assert_allclose(hull.inertia_per_density, box.inertia_per_density, atol=1e-14)
    assert sorted(len(face) for face in hull.faces) == [4] * 6
    assert len(hull.vertices) == 8


NAN = float("nan")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Sphere(0.0), "radius is 0.0"),
        (lambda: Sphere(NAN), "radius is nan"),
        (lambda: Box((1, -1, 1)), "size\\[1\\] is -1"),
        (lambda: Box((1, 1)), "three edge lengths"),
        (lambda: Capsule(0.1, 0), "length is 0"),
        (lambda: Cylinder(np.inf, 1), "radius is inf"),
        (lambda: Plane((0, 0, 0)), "length of normal"),
        (lambda: Plane(offset=NAN), "offset is nan"),
        (lambda: Convex([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), "at least four"),
        (lambda: Convex([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), "one plane"),
        (lambda: Convex([[0, 0, 0], [1, 0, 0], [0, 1, NAN], [1, 1, 1]]), "points\\[2\\] is not finite"),
        (lambda: Mesh(TETRAHEDRON, [[0, 1, 1]]), "degenerate"),
        (lambda: Mesh([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [[0, 1, 2]]), "degenerate"),
        (lambda: Mesh(TETRAHEDRON, [[0, 1, 4]]), "there are 4 vertices"),
        (lambda: Mesh(TETRAHEDRON, np.zeros((0, 3), int)), "m ≥ 1"),
        (lambda: Mesh(TETRAHEDRON * NAN, [[0, 1, 2]]), "not finite"),
        (lambda: Compound(()), "no parts"),
        (lambda: Compound(((Plane(), (0, 0, 0), None),)), "must be solid"),
        (lambda: Compound(((Sphere(1), (0, 0, 0), (1, 1, 0, 0)),)), "unit"),
        (lambda: Instance(Sphere(1), quaternion=(2, 0, 0, 0)), "unit"),
        (lambda: Instance(Sphere(1), position=(0, NAN, 0)), "finite"),
        (lambda: Instance(Sphere(1), mu=-0.1), "mu is -0.1"),
        (lambda: Instance(Sphere(1), restitution=1.5), "at most 1"),
        (lambda: Instance(Sphere(1), body=-2), "−1 for the world"),
        (lambda: Instance(Sphere(1), margin=NAN), "margin is nan"),
        (lambda: shape_arrays([], exclude=[(0, -1)]), "body indices"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(build, words):
    with pytest.raises(ProblemError, match=words) as error:
        build()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("position", "quaternion", "words"),
    [
        ([[0, NAN, 0]], [[1, 0, 0, 0]], "body 0"),
        ([[0, 0, 0]], [[1, 0.1, 0, 0]], "unit length"),
        ([[0, 0, 0]], [[NAN, 0, 0, 0]], "unit length"),
        (np.zeros((0, 3)), np.zeros((0, 4)), "one of each per body"),
        (np.zeros((2, 3)), [[1, 0, 0, 0]], "one of each per body"),
    ],
)
def test_bad_poses_are_refused(position, quaternion, words):
    arrays = shape_arrays([Instance(Plane()), Instance(Sphere(1.0), body=0)])
    with pytest.raises(ProblemError, match=words):
        detect(arrays, position, quaternion)


def test_unknown_mixing_suggests():
    with pytest.raises(SettingsError, match="did you mean 'average'"):
        shape_arrays([], mixing="averag")


def test_no_shapes_no_contacts():
    assert len(detect(shape_arrays([]), np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (3, 1)))) == 0
