"""What is drawn is what is there: triangles against the shapes they stand for, poses against the engine's own."""

from dataclasses import fields

import numpy as np
import pytest

from delassus import Box, Capsule, Compound, Convex, Cylinder, Mesh, ModelBuilder, Plane, Sphere, State, World, fem
from delassus.collision.layout import PLANE
from delassus.shapes import SHAPES
from delassus.shapes.polyhedron import mass_properties
from delassus.view.drawing import STATUS_COLOURS, Drawing, arrow_scale, heat
from delassus.view.triangles import shaded, unit_sphere

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * (0.1, 0.2, 0.3)
SAMPLES = {
    "sphere": Sphere(0.3),
    "box": Box((0.2, 0.4, 0.6)),
    "capsule": Capsule(0.1, 0.5),
    "cylinder": Cylinder(0.2, 0.5),
    "convex": Convex(CORNERS),
    "compound": Compound([(Sphere(0.1), (0.4, 0, 0)), (Box((0.2, 0.2, 0.2)), (-0.3, 0, 0), (0.6, 0.8, 0, 0))]),
}
STATIC = {
    "plane": Plane((0, 0, 1), 0.2),
    "mesh": Mesh([(0, 0, 0), (1, 0, 0), (1, 1, 0.2), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)]),
}


def sample(kind):
    """A shape of a kind that this file does not know: by its numbers, all different."""
    if kind in SAMPLES:
        return SAMPLES[kind]
    made = SHAPES[kind]
    return made(*np.linspace(0.1, 0.3, len(fields(made))))


@pytest.mark.parametrize("kind", [kind for kind, shape in SHAPES.items() if not shape.static_only])
def test_solids_enclose_what_the_shapes_do(kind):
    shape, turn = sample(kind), np.array([0.5, 0.1, -0.3, 0.8])
    turn /= np.linalg.norm(turn)
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("body", position=(1, 2, 3), orientation=turn, density=1000.0, shapes=[shape])
    model, state = builder.build()
    volume, moment = 0.0, np.zeros(3)
    for solids in Drawing(model, state.q[None]).solids:
        faces = solids.triangles.faces
        for corners in solids.vertices(state.q):
            inside, centre, _ = mass_properties(corners, faces)
            volume, moment = volume + inside, moment + inside * centre
    assert volume == pytest.approx(shape.volume, rel=0.04)  # circles of 24 corners
    assert moment / volume == pytest.approx(state.q[0, :3], abs=0.02)
    drawn = np.concatenate([s.vertices(state.q).reshape(-1, 3) for s in Drawing(model, state.q[None]).solids])
    world = World(model, state)
    for point in drawn[:: max(1, len(drawn) // 40)]:  # on the surface, in the frame in which the shape says its bounds
        assert np.linalg.norm(point - world.body("body").position) <= 1.04 * shape.bounding_radius


@pytest.mark.parametrize("kind", [kind for kind, shape in SHAPES.items() if not shape.static_only])
def test_normals_are_of_unit_length_and_point_outwards(kind):
    builder = ModelBuilder()
    builder.body("body", density=1000.0, shapes=[sample(kind)])
    for solids in Drawing(*_first(builder)).solids:
        made = shaded(solids.triangles)
        assert np.linalg.norm(made.normals, axis=1) == pytest.approx(1.0)
        a, b, c = np.moveaxis(made.vertices[made.faces], 1, 0)
        across = np.einsum("fi,fki->fk", np.cross(b - a, c - a), made.normals[made.faces])
        assert (across > 0.0).all()
        assert np.einsum("ij,ij->i", made.vertices, made.normals).min() > 0.0  # solids that hold their origin


def test_spheres_have_no_edges_however_few_triangles_they_get():
    few = unit_sphere(10_000)
    made = shaded(few)
    assert len(made.vertices) == len(few.vertices) < len(unit_sphere(1).vertices)
    assert np.einsum("ij,ij->i", made.normals, made.vertices) == pytest.approx(
        np.linalg.norm(made.vertices, axis=1), rel=0.02
    )


def _first(builder):
    model, state = builder.build(check=False)
    return model, state.q[None]


@pytest.mark.parametrize("kind", [kind for kind, shape in SHAPES.items() if shape.static_only])
def test_what_is_static_is_drawn_where_it_is(kind):
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[STATIC[kind]], position=(0, 0, 0.5), orientation=(np.sqrt(0.5), np.sqrt(0.5), 0, 0))
    builder.body("ball", density=1000.0, shapes=[Sphere(0.1)], position=(0, 0, 9))
    drawing = Drawing(*_first(builder))
    turned = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    if kind == "plane":
        (plane,) = drawing.planes
        assert plane.axes[:, 2] == pytest.approx(turned @ (0, 0, 1))
        assert plane.axes[:, 2] @ (plane.point - (0, 0, 0.5)) == pytest.approx(0.2)
        return
    (mesh,) = [solids for solids in drawing.solids if (solids.body < 0).all()]
    corners = mesh.vertices(np.zeros((1, 7)))[0][mesh.triangles.faces]
    expected = STATIC["mesh"].vertices[STATIC["mesh"].faces] @ turned.T + (0, 0, 0.5)
    assert corners == pytest.approx(expected)


def test_every_row_is_drawn_once():
    world = World.from_scene("balls-in-the-box")
    drawing = Drawing(world.model, world.state.q[None])
    rows = np.concatenate([solids.rows for solids in drawing.solids])
    assert sorted(rows) == list(np.flatnonzero(world.model.shapes.kind != PLANE))
    assert len(drawing.planes) == (world.model.shapes.kind == PLANE).sum()


def test_many_spheres_share_their_triangles():
    builder = ModelBuilder()
    for k in range(50):
        builder.body(f"ball-{k}", mass=1.0, shapes=[Sphere(0.1 + 0.01 * k)], position=(k, 0, 0))
    (solids,) = Drawing(*_first(builder)).solids
    assert len(solids.rows) == 50
    assert solids.scale[7] == pytest.approx([0.17] * 3)


def test_colours_are_those_chosen():
    builder = ModelBuilder()
    builder.body("red", mass=1.0, shapes=[Sphere(0.1)], colour=(1, 0, 0))
    builder.body("any", mass=1.0, shapes=[Sphere(0.1)], position=(1, 0, 0))
    (solids,) = Drawing(*_first(builder)).solids
    assert solids.colour[0].tolist() == [1, 0, 0, 1]
    assert np.isfinite(solids.colour).all()


def test_arrows_are_forces_and_their_colours_the_state_of_contact(tmp_path):
    world = World.from_scene("sliding-block")
    world.run(40, record=tmp_path)
    from delassus import Recording

    run = Recording(tmp_path)
    contacts = run.contacts(-1)
    drawing = Drawing(run.model, run.q)
    scale = arrow_scale(run.array("contacts/force"), drawing.size)
    arrows = drawing.arrows(contacts, scale)
    on_block = np.where(contacts.bodies[:, 1] == 0, 1.0, -1.0)[:, None] * contacts.force
    assert arrows.along == pytest.approx(scale * on_block)
    assert (arrows.along[contacts.status > 0, 2] > 0.0).all()  # the ground pushes upwards
    assert (arrows.colour == STATUS_COLOURS[contacts.status]).all()
    assert (contacts.status == 2).any()
    hot = drawing.arrows(contacts, scale, colour=heat(np.linspace(0, 1, len(contacts.gap)))).colour
    assert hot[0] @ (-1, 0, 1) > 0.3  # blue
    assert hot[-1] @ (1, 0, -1) > 0.3  # red
    assert np.linalg.norm(heat(np.array([np.nan])) - heat(np.array([0.0]))) == 0.0


def test_joints_are_drawn_where_they_are_and_errors_are_theirs():
    world = World.from_scene("four-bar")
    drawing, state = Drawing(world.model, world.state.q[None]), world.state
    origin, axes = drawing.joint_frames(state.q)
    assert origin.shape == (5, 3)
    assert abs(np.linalg.det(axes)) == pytest.approx(np.ones(5))
    assert drawing.joint_errors(state.q).max() < 1e-12
    moved = state.q.copy()
    moved[1, 0] += 1e-3
    assert drawing.joint_errors(moved).max() == pytest.approx(1e-3, rel=0.1)


def test_stress_of_flexible_bodies_is_the_elements():
    builder = ModelBuilder(gravity=(0, 0, 0))
    block = fem.block(size=(1, 0.2, 0.2), cells=(4, 2, 2))
    builder.flexible("beam", block, fem.Elastic(1e6, poisson=0.0))
    model, state = builder.build()
    drawing = Drawing(model, state.q[None], state.nodes[None])
    assert drawing.node_stress(state.nodes).max() < 1e-6
    stretched = state.nodes * (1.01, 1.0, 1.0)
    assert drawing.node_stress(stretched) == pytest.approx(np.full(len(stretched), 1e4), rel=0.02)
    volume, _, _ = mass_properties(state.nodes, drawing.surface)
    assert volume == pytest.approx(0.04)
    assert isinstance(state, State)
