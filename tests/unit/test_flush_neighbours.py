"""Floors of several shapes: flush tiles are one floor, a step is a step, and what is flown past is left alone."""

import itertools

import numpy as np
import pytest

from delassus import Box, ModelBuilder, StepSettings, World, fem
from delassus.builder.body import Material
from delassus.shapes import Capsule, Convex, Cylinder, Mesh, Shape, Sphere
from delassus.spatial import quaternion_to_matrix

EDGE, H, MU = 0.2, 2e-3, 0.3  # of what slides [m], step [s], friction
FLOOR = 2.4  # half edge [m]
SLIDERS = ("box", "hull", "standing cylinder", "two boxes", "sphere", "wheel", "capsule")
TILES = ("box", "hull", "mixed")


def hull(*edges: float) -> Convex:
    """A box as a hull."""
    return Convex(np.array(list(itertools.product(*[(-0.5 * edge, 0.5 * edge) for edge in edges]))))


def turn(angle: float) -> np.ndarray:
    """Quaternion about the vertical."""
    return np.array([np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)])


def slider_shapes(kind: str) -> list[tuple[Shape, tuple[float, ...], tuple[float, ...]]]:
    """The shapes of what moves, which stands EDGE / 2 above the floor."""
    half, upright, lying = 0.5 * EDGE, (1.0, 0.0, 0.0, 0.0), (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    if kind == "two boxes":
        return [(Box((half, EDGE, EDGE)), (x, 0.0, 0.0), upright) for x in (-0.5 * half, 0.5 * half)]
    shapes = {
        "box": (Box((EDGE, 1.3 * EDGE, EDGE)), upright),
        "hull": (hull(EDGE, 1.3 * EDGE, EDGE), upright),
        "standing cylinder": (Cylinder(half, EDGE), upright),
        "sphere": (Sphere(half), upright),
        "wheel": (Cylinder(half, EDGE), lying),
        "capsule": (Capsule(half, EDGE), lying),
    }
    shape, orientation = shapes[kind]
    return [(shape, (0.0, 0.0, 0.0), orientation)]


def tiles(rng: np.random.Generator, kind: str, pieces: int) -> list[tuple[Shape, np.ndarray, np.ndarray]]:
    """A floor cut at random into pieces² tiles with flush tops, turned about the vertical."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    cuts = [np.concatenate([[-FLOOR], np.sort(rng.uniform(-2.2, 2.2, pieces - 1)), [FLOOR]]) for _ in range(2)]
    shapes = []
    for i, j in itertools.product(range(pieces), repeat=2):
        (x, X), (y, Y), deep = cuts[0][i : i + 2], cuts[1][j : j + 2], rng.uniform(0.3, 1.0)
        make = hull if kind == "hull" or (kind == "mixed" and (i + j) % 2) else lambda *edges: Box(edges)
        place = quaternion_to_matrix(turn(angle)) @ (0.5 * (x + X), 0.5 * (y + Y), -0.5 * deep)
        shapes.append((make(X - x, Y - y, deep), place, turn(angle)))
    return shapes


def slide(seed: int, slider: str, kind: str, pieces: int, speed: float, one_body: bool, material: Material) -> World:
    """What slides or rolls over the middle of a floor of tiles."""
    rng, builder = np.random.default_rng(seed), ModelBuilder()
    heading, yaw = rng.uniform(0.0, 2.0 * np.pi, 2)
    if slider == "wheel":
        heading = yaw
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    rolling = np.cross([0.0, 0.0, 1.0], ahead) * speed / (0.5 * EDGE) if slider in ("sphere", "wheel") else np.zeros(3)
    builder.body(
        "slider",
        shapes=slider_shapes(slider),
        density=1000.0,
        position=(*-0.8 * ahead[:2], 0.5 * EDGE),
        orientation=turn(yaw),
        velocity=speed * ahead,
        angular_velocity=rolling,
        material=material,
    )
    floor = tiles(rng, kind, pieces)
    for k, group in enumerate([floor] if one_body else [[tile] for tile in floor]):
        builder.fixed(f"floor {k}", shapes=group, material=material)
    world = World(*builder.build(), StepSettings(h=H))
    world.run(int(1.6 / speed / H))
    return world


def assert_tiles_are_one_floor(seed: int, slider: str, kind: str, speed: float) -> None:
    restitution, one_body = (0.0, 0.6)[seed % 2], seed % 4 < 2
    # pressure under what is carried at more points than three is not unique, and with it friction about the vertical
    material = Material(MU if slider in ("box", "hull", "standing cylinder") else 0.0, restitution)
    whole, cut = (slide(seed, slider, kind, n, speed, one_body, material) for n in (1, 4))
    assert whole.ok
    assert cut.ok
    np.testing.assert_allclose(cut.body("slider").position, whole.body("slider").position, atol=2e-5)
    np.testing.assert_allclose(cut.body("slider").velocity, whole.body("slider").velocity, atol=1e-3)


@pytest.mark.parametrize("slider", SLIDERS)
def test_tiles_are_one_floor(slider):
    seed = SLIDERS.index(slider)
    assert_tiles_are_one_floor(seed, slider, TILES[seed % 3], 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.5, 1.0, 3.0, 8.0, 20.0])
@pytest.mark.parametrize("kind", TILES)
@pytest.mark.parametrize("slider", SLIDERS)
def test_tiles_are_one_floor_at_any_speed(slider, kind, speed):
    for seed in range(10, 14):
        assert_tiles_are_one_floor(seed, slider, kind, speed)


def over_a_step(height: float, kind: str, speed: float = 3.0) -> World:
    """A box that slides towards the joint of two tiles, the second one higher by `height` [m]."""
    builder, make = ModelBuilder(), hull if kind == "hull" else lambda *edges: Box(edges)
    builder.body(
        "slider", shapes=Box((EDGE,) * 3), density=1000.0, position=(-0.5, 0.013, 0.5 * EDGE), velocity=(speed, 0, 0)
    )
    for name, x, z in (("near", -1.0, 0.0), ("far", 1.0, height)):
        builder.fixed(name, shapes=make(2.0, 2.0, 1.0), position=(x, 0.0, z - 0.5), material=0.0)
    world = World(*builder.build(), StepSettings(h=H))
    world.run(int(0.35 / H))
    return world


@pytest.mark.parametrize("kind", ["box", "hull"])
def test_a_step_up_stops_and_a_step_down_does_not(kind):
    up, down, slight = (over_a_step(height, kind) for height in (1e-3, -1e-4, 1e-9))
    assert up.body("slider").velocity[0] < 2.0
    # over the edge a fall of 0.1 mm becomes motion ahead: Δv ≤ g · 1e-4 / 3
    np.testing.assert_allclose(down.body("slider").velocity[0], 3.0, atol=3.3e-4)
    np.testing.assert_allclose(slight.body("slider").velocity[0], 3.0, atol=1e-5)


def test_a_plank_in_a_corner_stands_on_the_floor_and_leans_on_the_wall():
    """Both contacts of a concave edge are real, although each shape ends where the other begins."""
    builder, angle = ModelBuilder(), np.radians(70.0)
    builder.fixed("floor", shapes=Box((4.0, 4.0, 1.0)), position=(-2.0, 0.0, -0.5), material=0.0)
    builder.fixed("wall", shapes=Box((1.0, 4.0, 4.0)), position=(0.5, 0.0, 2.0), material=0.0)
    builder.body(
        "plank",
        shapes=Box((0.1, 0.5, 1.0)),
        density=500.0,
        velocity=(0.0, 0.0, 0.0),
        position=(-0.05 * np.sin(angle) - 0.5 * np.cos(angle), 0.0, 0.05 * np.cos(angle) + 0.5 * np.sin(angle)),
        orientation=(np.cos(0.25 * np.pi - 0.5 * angle), 0.0, -np.sin(0.25 * np.pi - 0.5 * angle), 0.0),
    )
    world = World(*builder.build(), StepSettings(h=H))
    world.run(200)
    corners = np.array(list(itertools.product((-0.05, 0.05), (-0.25, 0.25), (-0.5, 0.5))))
    plank = world.body("plank")
    corners = corners @ quaternion_to_matrix(plank.orientation).T + plank.position
    assert world.ok
    assert corners[:, 2].min() > -1e-5
    assert corners[:, 0].max() < 1e-5


def test_two_flush_boxes_of_one_body_tip_over_an_edge():
    """The one beyond the edge is not held by what the other stands on."""
    builder = ModelBuilder()
    builder.fixed("table", shapes=Box((1.0, 1.0, 1.0)), position=(-0.5, 0.0, -0.5))
    halves = [(Box((x, 0.2, 0.1)), (at, 0.0, 0.0)) for x, at in ((0.1, -0.05), (0.2, 0.1))]
    builder.body("plank", shapes=halves, density=500.0, position=(0.0, 0.0, 0.05))
    world = World(*builder.build(), StepSettings(h=H))
    world.run(150)
    assert world.body("plank").position[2] < -0.05


def test_a_ball_falls_beside_a_table_on_which_another_rests():
    builder = ModelBuilder()
    builder.fixed("table", shapes=Box((1.0, 1.0, 1.0)), position=(0.0, 0.0, -0.5))
    builder.body("resting", shapes=Sphere(0.1), density=500.0, position=(0.38, 0.0, 0.1))
    builder.body("falling", shapes=Sphere(0.1), density=500.0, position=(0.602, 0.0, 0.1))
    world = World(*builder.build(), StepSettings(h=H))
    world.run(100)
    fall = 0.5 * 9.81 * (100 * H) ** 2
    np.testing.assert_allclose(world.body("falling").position[2], 0.1 - fall, rtol=1e-3)


def past_an_edge(slider: str, tile: Shape, clearance: float, speed: float, yaw: float) -> World:
    """Without gravity, something flies over a fixed block of height 1 at a clearance [m]."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.fixed("tile", shapes=tile)
    builder.body(
        "slider",
        shapes=slider_shapes(slider),
        density=1000.0,
        position=(-0.85, 0.03, 0.5 + 0.5 * EDGE + clearance),
        orientation=turn(yaw),
        velocity=(speed, 0.0, 0.0),
    )
    world = World(*builder.build(), StepSettings(h=H))
    world.run(int(1.8 / speed / H))
    return world


@pytest.mark.parametrize("slider", ["box", "hull", "standing cylinder", "sphere", "capsule"])
def test_what_is_flown_past_changes_no_bit(slider):
    for n, tile in enumerate((Box((1.0, 1.0, 1.0)), hull(1.0, 1.0, 1.0), Cylinder(0.5, 1.0))):
        for clearance, speed in ((1e-3, 50.0), (1e-4, 10.0), (1e-5, 2.0), (1e-6, 3.0)):
            world = past_an_edge(slider, tile, clearance, speed, 0.4 * n)
            assert world.body("slider").velocity.tolist() == [speed, 0.0, 0.0]
            assert world.body("slider").angular_velocity.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("slider", ["box", "sphere", "wheel"])
def test_triangles_with_vertices_of_their_own_are_one_floor(slider):
    """As in STL files, which list three vertices for every triangle."""
    corners = np.array([(-2, -1, 0), (0, -1, 0), (0, 1, 0), (-2, 1, 0), (2, -1, 0), (2, 1, 0)], dtype=float)
    faces = np.array([(0, 1, 2), (0, 2, 3), (1, 4, 5), (1, 5, 2)])
    shared, apart = Mesh(corners, faces), Mesh(corners[faces.ravel()], np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(apart.edge_directions(), shared.edge_directions())
    builder = ModelBuilder()
    builder.fixed("floor", shapes=apart, material=0.0)
    builder.body(
        "slider",
        shapes=slider_shapes(slider),
        density=1000.0,
        position=(-0.5, 0.013, 0.5 * EDGE),
        orientation=turn(0.3),
        velocity=(3.0, 0.0, 0.0),
    )
    world = World(*builder.build(), StepSettings(h=H))
    world.run(175)
    np.testing.assert_allclose(world.body("slider").velocity, [3.0, 0.0, 0.0], atol=1e-5)


def test_two_meshes_side_by_side_are_one_floor():
    builder, corners = ModelBuilder(), np.array([(-2, -1, 0), (0, -1, 0), (0, 1, 0), (-2, 1, 0)], dtype=float)
    for name, x in (("near", 0.0), ("far", 2.0)):
        mesh = Mesh(corners + (x, 0.0, 0.0), np.array([(0, 1, 2), (0, 2, 3)]))
        builder.fixed(name, shapes=mesh, material=0.0)
    builder.body(
        "slider", shapes=Box((EDGE,) * 3), density=1000.0, position=(-0.5, 0.013, 0.5 * EDGE), velocity=(3.0, 0.0, 0.0)
    )
    world = World(*builder.build(), StepSettings(h=H))
    world.run(175)
    np.testing.assert_allclose(world.body("slider").velocity, [3.0, 0.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("make", [lambda *edges: Box(edges), hull])
def test_a_block_of_finite_elements_slides_over_a_seam(make):
    builder, rubber = ModelBuilder(), fem.Elastic(young=1e6, poisson=0.3, density=1000.0, damping=(0.0, 1e-3))
    for name, x in (("near", -1.0), ("far", 1.0)):
        builder.fixed(name, shapes=make(2.0, 2.0, 1.0), position=(x, 0.0, -0.5), material=0.0)
    block = fem.block(size=(EDGE,) * 3, cells=(2, 2, 2))
    builder.flexible("slider", block, rubber, position=(-0.3, 0.013, 0.5 * EDGE), velocity=(3.0, 0.0, 0.0))
    world = World(*builder.build(), StepSettings(h=H))
    world.run(120)
    assert world.ok
    assert world.body("slider").position[0] > 0.3
    np.testing.assert_allclose(world.body("slider").velocity[:2], [3.0, 0.0], atol=1e-6)
