"""Contacts on the surfaces of flexible bodies."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from soft_meshes import lump, sheet, surface_distance

import delassus
from delassus.collision import Instance, Skin, detect_surface, shape_arrays, surface_arrays
from delassus.errors import ProblemError
from delassus.shapes import SHAPES, Box, Capsule, Convex, Cylinder, Plane, Shape, Sphere
from delassus.spatial import quaternion_to_matrix, rotation_exp

STILL = np.array([[0.0, 0, 0, 1, 0, 0, 0]])
LYING = (np.sqrt(0.5), np.sqrt(0.5), 0, 0)
CUBE = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.1, 0.1)])
SLIDERS = {  # shape, quaternion, height of its centre when it touches
    "sphere": (Sphere(0.03), (1, 0, 0, 0), 0.03),
    "lying capsule": (Capsule(0.025, 0.2), LYING, 0.025),
    "lying cylinder": (Cylinder(0.025, 0.6), LYING, 0.025),
    "standing cylinder": (Cylinder(0.07, 0.1), (1, 0, 0, 0), 0.05),
    "box": (Box((0.15, 0.12, 0.1)), (1, 0, 0, 0), 0.05),
    "turned box": (Box((0.15, 0.12, 0.1)), (np.cos(0.2), 0, 0, np.sin(0.2)), 0.05),
    "hull": (Convex(CUBE), (1, 0, 0, 0), 0.1),
}


def test_every_node_over_a_plane_is_a_contact():
    nodes, triangles = sheet((4, 3), (1.0, 1.0))
    surface = surface_arrays(nodes, [Skin(triangles, mu=0.4, margin=0.01)])
    shapes = shape_arrays([Instance(Plane((0, 0, 1), offset=-0.005), mu=0.9)])
    contacts = detect_surface(surface, nodes, shapes, STILL)
    assert contacts.nodes[:, 0].tolist() == list(range(len(nodes)))
    assert (contacts.nodes[:, 1:] == -1).all()
    assert (contacts.weights == [1, 0, 0, 0]).all()
    assert np.allclose(contacts.gap, 0.005)
    assert np.allclose(contacts.frame, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert (contacts.shapes == [0, 1]).all()
    assert (contacts.bodies == -1).all()
    assert np.allclose(contacts.mu, 0.6)
    assert not len(detect_surface(surface, nodes + [0, 0, 0.006], shapes, STILL))
    assert len(detect_surface(surface, nodes + [0, 0, 0.006], shapes, STILL, reach=0.002)) == len(nodes)


@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_a_corner_a_hair_inside_a_face_is_not_lost(far):
    """Whatever the depth: the face that a corner came through does not hide it. One of 5 nm was lost, so that what
    rested on a soft body on its corners fell for a step, again and again."""
    rng = np.random.default_rng(5)
    flat, triangles = sheet((6, 4), (1.2, 0.4))
    tilt = quaternion_to_matrix(rotation_exp(np.array([0.3, -0.2, 0.1])))
    nodes = flat @ tilt.T + [far, 0, 0]
    surface = surface_arrays(nodes, [Skin(triangles)])
    shapes = shape_arrays([Instance(Box((0.1, 0.1, 0.1)), body=0)])
    turn = rotation_exp(np.array([0.4, 0.5, 0.0]))
    corner = (quaternion_to_matrix(turn) @ (np.array(list(np.ndindex(2, 2, 2))) * 0.1 - 0.05).T).T @ tilt[:, 2]
    lowest = quaternion_to_matrix(turn) @ (np.array(list(np.ndindex(2, 2, 2)))[corner.argmin()] * 0.1 - 0.05)
    for depth in np.logspace(-12, -4, 33):
        if depth < 1e-14 * far:
            continue
        for x, y in rng.uniform((0.2, 0.1), (1.0, 0.3), (10, 2)):
            place = tilt @ [x, y, -depth] + [far, 0, 0] - lowest
            contacts = detect_surface(surface, nodes, shapes, np.array([[*place, *turn]]))
            assert contacts.gap.min() == pytest.approx(-depth, rel=1e-6, abs=1e-15 * (1 + far)), depth


@pytest.mark.parametrize("kind", list(SLIDERS))
def test_what_slides_over_a_flat_mesh_feels_no_nodes(kind):
    """Between nodes, across edges, a hair above and a hair inside: the least gap is always the height."""
    shape, quaternion, height = SLIDERS[kind]
    nodes, triangles = sheet((12, 4), (1.2, 0.4))
    surface = surface_arrays(nodes, [Skin(triangles, margin=0.02)])
    shapes = shape_arrays([Instance(shape, body=0)])
    for gap in (1e-3, -1e-6):
        for x in np.linspace(0.2, 1.0, 41):
            contacts = detect_surface(surface, nodes, shapes, np.array([[x, 0.21, height + gap, *quaternion]]))
            least = contacts.gap.argmin()
            assert abs(contacts.gap[least] - gap) < 1e-12
            assert np.allclose(contacts.normal[least], [0, 0, -1], atol=1e-12)
            lowest = contacts.gap < gap + 1e-12
            assert np.allclose(contacts.normal[lowest], [0, 0, -1], atol=1e-12)
            assert abs(contacts.weights.sum(axis=1) - 1).max() < 1e-14
            at = (contacts.weights[:, :, None] * nodes[contacts.nodes]).sum(axis=1)
            assert np.allclose(at, contacts.point + 0.5 * contacts.gap[:, None] * contacts.normal, atol=1e-14)
            assert len(np.unique(contacts.feature)) == len(contacts)
            if shape.kind not in ("sphere", "capsule", "cylinder"):  # sharp: nothing ahead of it is a wall
                assert np.allclose(contacts.normal, [0, 0, -1], atol=1e-12)


def two_lumps(seed):
    """(nodes, surface, distance) of two lumps a little apart."""
    rng = np.random.default_rng(seed)
    one, of_one = lump(3, 0.1)
    other, of_other = lump(2, 0.1, seed=2)
    other = 0.7 * other @ quaternion_to_matrix(rotation_exp(rng.normal(size=3))).T
    along, far = rng.normal(size=3), 2.5
    along /= np.linalg.norm(along)
    for _ in range(30):
        distance = surface_distance(one, of_one, other + far * along, of_other)
        if distance < 0.02:
            break
        far -= 0.9 * distance
    nodes = np.concatenate([one, other + far * along])
    return nodes, surface_arrays(nodes, [Skin(of_one, mu=0.2), Skin(of_other + len(one), mu=0.8)]), distance


def test_two_flexible_bodies_meet_at_their_distance():
    """Nodes above faces and edges across edges, against trying all pairs; weights are the gradient of the gap."""
    nothing, none = shape_arrays([]), np.zeros((0, 7))
    edges = 0
    for seed in range(8):
        nodes, surface, distance = two_lumps(seed)
        contacts = detect_surface(surface, nodes, nothing, none, reach=0.03)
        assert abs(contacts.gap.min() - distance) < 1e-12
        assert (contacts.shapes == [0, 1]).all()
        assert (contacts.bodies == -1).all()
        assert np.allclose(contacts.mu, 0.4)
        assert np.abs(contacts.weights.sum(axis=1)).max() < 1e-12
        of_b = contacts.nodes >= surface.nodes[surface.node_body == 1].min()
        assert np.allclose((contacts.weights * of_b).sum(axis=1), 1)
        edges += int(((contacts.weights < 0).sum(axis=1) == 2).sum())
        push = np.random.default_rng(seed).uniform(-1, 1, nodes.shape)
        ahead, behind = (
            detect_surface(surface, nodes + step * push, nothing, none, reach=0.031) for step in (1e-6, -1e-6)
        )
        rate = (contacts.normal * (contacts.weights[:, :, None] * push[contacts.nodes]).sum(axis=1)).sum(axis=1)
        known = [dict(zip(c.feature.tolist(), c.gap)) for c in (ahead, behind)]
        both = [k for k, name in enumerate(contacts.feature.tolist()) if all(name in c for c in known)]
        assert len(both) >= 0.9 * len(contacts)
        for k in both:
            name = int(contacts.feature[k])
            assert abs((known[0][name] - known[1][name]) / 2e-6 - rate[k]) < 1e-5
    assert edges > 8


def test_groups_and_masks_of_flexible_bodies():
    nodes, surface, _ = two_lumps(0)
    bodies = [np.flatnonzero(surface.triangle_body == b) for b in (0, 1)]
    for options, there in (({}, True), ({"mask": 2}, False), ({"group": 2, "mask": 1}, True), ({"group": 0}, False)):
        skins = [Skin(surface.triangles[bodies[0]]), Skin(surface.triangles[bodies[1]], **options)]
        contacts = detect_surface(surface_arrays(nodes, skins), nodes, shape_arrays([]), np.zeros((0, 7)), reach=0.03)
        assert bool(len(contacts)) == there


def folded(radius):
    """(rest, triangles, nodes) of a strip 2 cm thick that is bent by 180 degrees around a radius [m]."""
    flat, corners = sheet((40, 4), (2.0, 0.2))
    rest = np.concatenate([flat + [0, 0, 0.01], flat - [0, 0, 0.01]])
    triangles = np.concatenate([corners, corners[:, ::-1] + len(flat)])
    s = rest[:, 0] - 1.0
    angle = np.clip(s / radius, -np.pi / 2, np.pi / 2)
    along, height = s - radius * angle, rest[:, 2]
    x = radius * np.sin(angle) + np.cos(angle) * along - np.sin(angle) * height
    z = radius * (1 - np.cos(angle)) + np.sin(angle) * along + np.cos(angle) * height
    return rest, triangles, np.stack([x, rest[:, 1], z], axis=1)


@pytest.mark.parametrize(("radius", "least"), [(0.1, None), (0.012, 0.004), (0.0095, -0.001)])
def test_a_folded_strip_touches_itself_and_not_through_its_thickness(radius, least):
    rest, triangles, nodes = folded(radius)
    for flag in (False, True):
        surface = surface_arrays(rest, [Skin(triangles, self_contact=flag)])
        contacts = detect_surface(surface, nodes, shape_arrays([]), np.zeros((0, 7)), reach=0.012)
        if not flag or least is None:
            assert not len(contacts)
            continue
        flat = contacts.point[:, 2] > 0.1  # of the two straight arms, above the bend
        assert flat.sum() > 50
        assert np.allclose(contacts.gap[flat], least, atol=1e-9)
        assert np.abs(contacts.weights.sum(axis=1)).max() < 1e-12
    at_rest = detect_surface(surface, rest, shape_arrays([]), np.zeros((0, 7)), reach=0.012)
    assert not len(at_rest)


def test_what_is_deep_inside_comes_out_the_right_way():
    """A corner in a soft block through the nearest face, a node in a box through the face that looks at its surface."""
    nodes, triangles = lump(4, 0.0)
    surface = surface_arrays(nodes, [Skin(triangles)])
    spike = Convex([[0, 0, 0], [0.3, 0, 1], [-0.3, 0.2, 1], [-0.3, -0.2, 1]])
    shapes = shape_arrays([Instance(spike, 0)])
    for x, z, normal, gap in ((0.03, 0.42, [0, 0, -1], -0.08), (0.03, 0.38, [0, 0, -1], -0.12)):
        contacts = detect_surface(surface, nodes, shapes, np.array([[x, 0.07, z, 1, 0, 0, 0]]))
        tip = contacts.gap.argmin()
        assert np.allclose(contacts.normal[tip], normal)
        assert np.isclose(contacts.gap[tip], gap)
    # the box is 5 cm inside, and the outer nodes under it are nearer to its sides than to its bottom
    nodes, triangles = sheet((20, 20), (1.0, 1.0))
    surface = surface_arrays(nodes, [Skin(triangles)])
    box = shape_arrays([Instance(Box((0.32, 0.32, 0.3)), 0)])
    contacts = detect_surface(surface, nodes, box, np.array([[0.5, 0.5, 0.1, 1, 0, 0, 0]]))
    under = (np.abs(nodes[:, :2] - 0.5) < 0.16).all(axis=1)
    assert set(np.flatnonzero(under)) <= set(contacts.nodes[:, 0].tolist())
    assert np.allclose(contacts.normal, [0, 0, -1])
    assert np.allclose(contacts.gap, -0.05)


def test_points_outside_a_thin_overhang_are_not_inside():
    """Under the side of a wedge that leans over, behind its top: the side is in between."""
    nodes, triangles = lump(4, 0.0)
    wedge = nodes * [1, 1, 0.2] + nodes[:, [2]] * [0.9, 0, 0]
    turn = quaternion_to_matrix(rotation_exp(np.array([0, np.pi / 4, 0])))  # boxes of flat faces are thick then
    wedge = wedge @ turn.T
    surface = surface_arrays(wedge, [Skin(triangles)])
    shapes = shape_arrays([Instance(Sphere(0.02), 0)])
    under = turn @ [0.9, 0.01, 0.03]
    contacts = detect_surface(surface, wedge, shapes, np.array([[*under, 1, 0, 0, 0]]), reach=0.03)
    assert not (contacts.gap < 0).any()


@pytest.mark.parametrize("kind", ["plate", "floor"])
def test_a_fast_node_does_not_pass_through_a_thin_plate(kind):
    """10 m/s in steps of 10 ms, through a plate of 2 mm: with `reach` the contact is known one step before."""
    nodes, triangles = lump(2, 0.0)
    surface = surface_arrays(nodes, [Skin(triangles)])
    plate = Box((4, 4, 0.002)) if kind == "plate" else Plane()
    shapes = shape_arrays([Instance(plate)])
    h, velocity = 0.01, np.array([0.0, 0.0, -10.0])
    at = nodes + [0, 0, 0.56]
    assert not len(detect_surface(surface, at, shapes, STILL))
    contacts = detect_surface(surface, at, shapes, STILL, reach=h * np.full(len(nodes), 10.0))
    low = np.flatnonzero(nodes[:, 2] == -0.5)
    assert set(low) <= set(contacts.nodes[:, 0].tolist())
    after = contacts.gap + h * (contacts.normal * velocity).sum(axis=1)
    assert after.max() < 0  # without the rows it would be on the other side
    assert np.allclose(contacts.normal, [0, 0, 1])
    # once inside, or just behind the middle of the plate, a node is pushed out by the side that looks at its surface
    inside = detect_surface(surface, nodes + [0, 0, 0.5 - 0.0004], shapes, STILL)
    assert np.allclose(inside.normal, [0, 0, 1])
    assert np.allclose(inside.gap[np.isin(inside.nodes[:, 0], low)], -0.0014 if kind == "plate" else -0.0004)


def test_a_shape_given_by_its_support_function():
    @dataclass(frozen=True)
    class Ball(Shape):
        radius: float
        kind: ClassVar[str] = "given-ball"

        @property
        def numbers(self):
            return (self.radius,)

        @staticmethod
        def support(numbers, x, y, z):
            d = math.sqrt(x * x + y * y + z * z)
            return numbers[0] * x / d, numbers[0] * y / d, numbers[0] * z / d

    delassus.register(Ball)
    try:
        nodes, triangles = lump(3, 0.1)
        surface = surface_arrays(nodes, [Skin(triangles)])
        rng, apart = np.random.default_rng(0), 0
        for _ in range(20):
            along = rng.normal(size=3)
            q = np.array([[*(1.05 * along / np.linalg.norm(along)), 1, 0, 0, 0]])
            given, plain = (
                detect_surface(surface, nodes, shape_arrays([Instance(shape, 0)]), q, reach=0.3, threads=2)
                for shape in (Ball(0.25), Sphere(0.25))
            )
            if not plain.gap.min() > 0:
                continue
            apart += 1
            assert abs(given.gap.min() - plain.gap.min()) < 1e-6
            assert np.allclose(given.normal[given.gap.argmin()], plain.normal[plain.gap.argmin()], atol=1e-4)
        assert apart > 10
    finally:
        SHAPES.remove("given-ball")


def test_bad_input_is_named():
    nodes, triangles = sheet((2, 2), (1.0, 1.0))
    refused = [
        ({"triangles": [[0, 1]]}, "surface of 'mat': triangles is list, expected an array"),
        ({"triangles": triangles + 0.5}, "triangles is ndarray, expected an array"),
        ({"triangles": [[0, 1, 1]]}, r"triangle 0 has corners \[0, 1, 1\], they must differ"),
        ({"mu": -1.0}, "mu is -1.0, it must be finite and not negative"),
        ({"margin": np.nan}, "margin is nan"),
        ({"restitution": 2.0}, "restitution is 2.0, it must be at most 1"),
        ({"group": 1 << 40}, "group is 1099511627776, it must fit in 32 bits"),
    ]
    for wrong, words in refused:
        with pytest.raises(ProblemError, match=words):
            Skin(**{"triangles": triangles, "name": "mat"} | wrong)
    with pytest.raises(ProblemError, match="no surfaces: give one Skin per flexible body"):
        surface_arrays(nodes, [])
    with pytest.raises(
        ProblemError, match=r"surface of 'mat': a triangle has corners \[0, 1, 99\], but there are 9 nodes"
    ):
        surface_arrays(nodes, [Skin([[0, 1, 99]], name="mat")])
    with pytest.raises(ProblemError, match="share node 0: every body has nodes of its own"):
        surface_arrays(nodes, [Skin(triangles), Skin(triangles)])
    with pytest.raises(ProblemError, match="run along their common edge in the same direction"):
        surface_arrays(nodes, [Skin([[0, 3, 4], [3, 4, 1]])])
    with pytest.raises(
        ProblemError, match=r"exclude holds \[1, 0\]: give pairs of a flexible body, of which there are 1"
    ):
        surface_arrays(nodes, [Skin(triangles)], exclude=[(1, 0)])
    surface, shapes = surface_arrays(nodes, [Skin(triangles)]), shape_arrays([Instance(Sphere(0.1), 0)])
    with pytest.raises(ProblemError, match=r"nodes are of shape \(4, 3\), but the surfaces know 9"):
        detect_surface(surface, nodes[:4], shapes, STILL)
    with pytest.raises(ProblemError, match="0 positions and 0 quaternions for 1 bodies"):
        detect_surface(surface, nodes, shapes, np.zeros((0, 7)))
    broken = nodes.copy()
    broken[5, 1] = np.nan
    with pytest.raises(ProblemError, match="node 5 is at .*: it must be finite"):
        detect_surface(surface, broken, shapes, STILL)
    with pytest.raises(ProblemError, match="body 0 is at"):
        detect_surface(surface, nodes, shapes, 2 * STILL)


def test_contacts_say_what_they_are():
    nodes, triangles = sheet((2, 2), (1.0, 1.0))
    surface = surface_arrays(nodes, [Skin(triangles, margin=0.1)])
    contacts = detect_surface(surface, nodes, shape_arrays([Instance(Plane())]), STILL)
    assert repr(contacts) == "Contacts(9 points of 1 pairs, 9 of them on flexible bodies, gaps 0 … 0 m)"
    assert len(contacts.where(contacts.point[:, 0] > 0.4).nodes) == 6
    assert repr(surface) == "SurfaceArrays(8 triangles, 9 nodes on the surface of 1 flexible body)"
