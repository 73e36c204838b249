"""Recordings hold the model: to look at, to replay and to go on with, and nothing that is damaged is believed."""

import json

import h5py
import numpy as np
import pytest

from delassus import Box, Capsule, Compound, Convex, Cylinder, Mesh, ModelBuilder, Plane, Recording, Sphere, World, fem
from delassus.errors import DelassusError, FileError, ProblemError
from delassus.io.recording.model_file import FILE, pack_model, read_model, unpack_model, write_model
from delassus.scenes import SCENES
from delassus.spatial import rotation_exp


def everything():
    """A model with every shape, several joints, a drive, springs, colours and a flexible body."""
    builder = ModelBuilder(mixing="min")
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    terrain = Mesh([(-2, -2, 0), (2, -2, 0), (2, 2, 0), (-2, 2, 0.1)], [(0, 1, 2), (0, 2, 3)])
    ground = builder.fixed("ground", shapes=[Plane()], colour=(0.5, 0.5, 0.5))
    builder.fixed("terrain", shapes=[terrain], position=(0, 0, -1))
    shapes = [Sphere(0.1), Box((0.2, 0.1, 0.1)), Capsule(0.05, 0.2), Cylinder(0.1, 0.2), Convex(corners)]
    shapes.append(Compound([(Sphere(0.1), (0.1, 0, 0)), (Box((0.1, 0.1, 0.1)), (-0.1, 0, 0))]))
    bodies = [
        builder.body(shape.kind, density=500.0, shapes=[shape], position=(0.4 * k, 0, 1), colour=(0.1 * k, 0, 1, 0.5))
        for k, shape in enumerate(shapes)
    ]
    builder.joint("revolute", ground, bodies[0], axis=(0, 1, 0), limits=(-1, 1), motor="imposed", name="hinge")
    builder.joint("spherical", bodies[0], bodies[1])
    builder.spring(bodies[2], bodies[3], stiffness=100.0, name="spring")
    beam = builder.flexible(
        "beam",
        fem.block(size=(1, 0.1, 0.1), cells=(3, 1, 1)),
        fem.Elastic(1e6, damping=(0.1, 0.01)),
        position=(0, 2, 1),
    )
    builder.weld(beam, "x-")
    builder.exclude(beam, bodies[0])
    return builder.build(check=False)[0]


@pytest.fixture(scope="module")
def rich():
    return everything()


def test_models_come_back_as_they_were(tmp_path, rich):
    write_model(tmp_path, rich)
    found = read_model(tmp_path)
    assert found.hash == rich.hash
    assert found.forces.names == ("spring",)
    assert (found.flexible.names, found.flexible.welds.names) == (rich.flexible.names, rich.flexible.welds.names)
    assert sorted(found.flexible.sets) == sorted(rich.flexible.sets)
    assert np.array_equal(found.colours, rich.colours, equal_nan=True)
    assert np.isnan(found.colours[rich.shapes.body < 0]).any()
    assert np.array_equal(found.centre, rich.centre)


@pytest.mark.parametrize("name", ["four-bar", "sphere-pile", "wall", "blade", "quadruped"])
def test_models_of_scenes_come_back(tmp_path, name):
    model = SCENES[name].build().model
    write_model(tmp_path, model)
    assert read_model(tmp_path).hash == model.hash


def test_the_hash_sees_what_is_lost(rich):
    """Each array of mechanics, changed by one number, gives another model or none: nothing is kept in vain."""
    arrays, texts = pack_model(rich)
    texts = json.loads(json.dumps(texts))
    assert unpack_model(arrays, texts).hash == rich.hash
    free = {"model/centre", "model/fixed_pose", "model/colours", "flexible/sets"}  # nothing moves otherwise for them
    free |= {"shapes/edge", "shapes/shape_edge"}  # follow from corners and faces
    free |= {"shapes/corner", "shapes/corner_start"}  # likewise
    for name, array in arrays.items():
        if name in free or not array.size:
            continue
        changed = array.copy()
        if array.dtype.kind == "u":  # bools and bits
            changed.flat[-1] ^= 1
        else:
            changed.flat[-1] = changed.flat[-1] + 1 if np.isfinite(changed.flat[-1]) else 1
        try:
            other = unpack_model(arrays | {name: changed}, texts)
        except (DelassusError, IndexError, ValueError, KeyError):
            continue
        assert other.hash != rich.hash, name


def test_recordings_are_enough(tmp_path):
    world = World.from_scene("four-bar-free", height=0.02)
    world.run(60, record=tmp_path)
    recording = Recording(tmp_path)
    assert recording.model.hash == world.model.hash
    again = World(recording.model, recording.state(0), world.settings)
    again.run(60)
    assert again.state.hash == recording.state(-1).hash  # replayed to the last bit
    joint, body = recording.joint("hinge-1"), recording.body("crank")
    assert joint.coordinates["angle"].shape == (60,)
    assert joint.reaction.shape == (60, 5)
    assert body.position[-1] == pytest.approx(world.body("crank").position, abs=1e-12)
    assert body.contact_force[-1] == pytest.approx(recording.contacts(-1).force_on(1))
    pair = recording.between("world", "base")
    assert len(pair.step) > 0
    last = pair.force[pair.step == 59].sum(axis=0)
    assert last == pytest.approx(recording.contacts(-1).force_on(0))
    assert recording.between("base", "world").force == pytest.approx(-pair.force)
    with pytest.raises(ProblemError, match="no body 'crnk'.*crank"):
        recording.body("crnk")


def test_recordings_without_a_model_still_read_and_get_one_when_resumed(tmp_path):
    world = World.from_scene("bouncing-ball")
    world.run(10, record=tmp_path)
    (tmp_path / "recording" / FILE).unlink()
    recording = Recording(tmp_path)
    assert recording.step_count == 10
    assert recording.body("ball").position.shape == (11, 3)
    with pytest.raises(FileError, match="did not keep the model"):
        recording.model  # noqa: B018
    World.load(tmp_path).run(5, record=tmp_path)
    assert Recording(tmp_path).model.hash == world.model.hash


def test_damaged_models_are_one_sentence(tmp_path, rich):
    """One number or one array changed, many times: refused, or the hash says so; never anything else."""
    write_model(tmp_path, rich)
    path = tmp_path / FILE
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    with h5py.File(path) as file:
        names = [f"{group}/{name}" for group in file if group != "about" for name in file[group]]
    refused = 0
    arrays, texts = pack_model(rich)
    texts = json.loads(json.dumps(texts))
    for _ in range(200):
        name = names[rng.integers(len(names))]
        array = arrays[name].copy()
        if array.size and rng.random() < 0.8:
            k = rng.integers(array.size)
            wrong = (
                (-(2**31), -1, 0, 1, 255, 2**31) if array.dtype.kind in "iu" else (np.nan, np.inf, -1e300, -1.0, 0.0)
            )
            with np.errstate(all="ignore"):
                array.flat[k] = np.array(wrong[rng.integers(len(wrong))]).astype(array.dtype)
        else:
            array = array[:-1] if len(array) else np.zeros((1, *array.shape[1:]), array.dtype)
        try:
            with np.errstate(all="ignore"):
                unpack_model(arrays | {name: array}, texts)
        except (DelassusError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
            refused += 1
    assert refused > 100
    for text in (b"", whole[:1000], whole[:-500], b"not hdf5" * 100):
        path.write_bytes(text)
        with pytest.raises(FileError):
            read_model(tmp_path)


def test_corners_of_meshes_are_made_again_where_a_file_has_none():
    """Two meshes, placed and turned, and a hull between them."""
    angle = np.linspace(0.0, 2.0 * np.pi, 8)[:-1]
    cone = np.array([(0.0, 0.0, 0.3), *np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)])
    roof = Mesh(cone, [(0, 1 + k, 1 + (k + 1) % 7) for k in range(7)])
    builder = ModelBuilder()
    builder.fixed("roof", shapes=[roof], position=(0.1, 0.2, 0.3), orientation=rotation_exp((0.5, -0.8, 1.1)))
    builder.body("hull", density=500.0, shapes=[Convex(0.1 * np.eye(4, 3) - 0.02)], position=(0, 0, 3))
    builder.fixed("other", shapes=[Mesh(cone + (0, 0, 5), roof.faces[:4])])
    model, _ = builder.build(check=False)
    arrays, texts = pack_model(model)
    older = {name: array for name, array in arrays.items() if not name.startswith("shapes/corner")}
    found = unpack_model(older, json.loads(json.dumps(texts)))
    assert found.hash == model.hash
    (corner, start), (again, start_again) = model.shapes.vertices[-2:], found.shapes.vertices[-2:]
    np.testing.assert_array_equal(start_again, start)
    for first, last in zip(start, start[1:]):  # the normal, then edges in any order
        one, two = (x[first:last] for x in (corner, again))
        assert one[:1] == pytest.approx(two[:1], abs=1e-12)
        assert one[np.lexsort(np.round(one, 6).T)] == pytest.approx(two[np.lexsort(np.round(two, 6).T)], abs=1e-12)
    del older["shapes/edge"]
    with pytest.raises(FileError, match="shapes/edge is missing"):
        unpack_model(older, json.loads(json.dumps(texts)))


def test_constants_that_came_later_say_nothing_in_older_files(rich):
    arrays, texts = pack_model(SCENES["four-bar"].build().model)
    older = {name: array for name, array in arrays.items() if name not in ("joints/spring", "joints/armature")}
    found = unpack_model(older, json.loads(json.dumps(texts)))
    assert found.hash == texts["hash"]
