"""What every line of SHAPES promises to flexible bodies: their surfaces meet it, at the true distance."""

import sys
from pathlib import Path

import numpy as np
import pytest

from delassus.collision import Instance, Skin, detect_surface, shape_arrays, surface_arrays
from delassus.errors import ProblemError
from delassus.shapes import SHAPES, Box, Capsule, Compound, Convex, Cylinder, Ellipsoid, Mesh, Plane, Sphere
from delassus.spatial import quaternion_to_matrix, rotation_exp

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from soft_meshes import lump, sampled, signed_distance

SPIKY = np.random.default_rng(0).normal(size=(14, 3)) * 0.15
CUBE, CUBE_FACES = lump(2, 0.0)
EXAMPLES = {
    "sphere": Sphere(0.15),
    "box": Box((0.3, 0.2, 0.25)),
    "capsule": Capsule(0.1, 0.3),
    "cylinder": Cylinder(0.1, 0.3),
    "ellipsoid": Ellipsoid(0.1, 0.2, 0.15),
    "plane": Plane((1.0, 2.0, -0.5), 0.1),
    "convex": Convex(SPIKY),
    "mesh": Mesh(0.4 * CUBE, CUBE_FACES),
    "compound": Compound(
        ((Box((0.2, 0.2, 0.2)), (0.15, 0, 0), (0.8, 0.6, 0, 0)), (Sphere(0.1), (-0.1, 0, 0.05), None))
    ),
}
NODES, TRIANGLES = lump(3, 0.1)
REACH = 0.06
every = pytest.mark.parametrize("kind", list(SHAPES))


def poses(shape, count, seed):
    """(position, quaternion) at which a shape is a little off the lump, from all sides."""
    rng = np.random.default_rng(seed)
    points = sampled(NODES, TRIANGLES, 4)
    for _ in range(count):
        quaternion = rotation_exp(rng.normal(size=3))
        R, along = quaternion_to_matrix(quaternion), rng.normal(size=3)
        along /= np.linalg.norm(along)
        if isinstance(shape, Plane):  # which does not move: everything else does
            yield np.zeros(3), np.array([1.0, 0, 0, 0])
            continue
        far = 2.0
        for _ in range(12):  # no point comes nearer than the shape moves
            far -= 0.95 * (signed_distance(shape, (points - far * along) @ R).min() - 0.02)
        yield far * along, quaternion


def found(kind, position, quaternion, **options):
    shape = EXAMPLES[kind]
    nodes, R = NODES, quaternion_to_matrix(quaternion)
    if isinstance(shape, Plane):
        low = (NODES @ np.array(shape.normal)).min() - shape.offset
        nodes = NODES + (0.02 - low) * np.array(shape.normal)
    surface = surface_arrays(nodes, [Skin(TRIANGLES, name="lump")])
    body = -1 if shape.static_only else 0
    instance = Instance(shape, body, *((position, quaternion) if body < 0 else ()))
    q = np.array([[*position, *quaternion]])
    contacts = detect_surface(surface, nodes, shape_arrays([instance]), q, reach=REACH, **options)
    return contacts, nodes, (lambda x: signed_distance(shape, (x - position) @ R))


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(SHAPES)


@every
def test_the_least_gap_is_the_distance(kind):
    """The least gap is that of its point of the surface to the shape, and no other point of the surface is nearer.
    Other gaps may be larger than their point's distance: a corner's is measured along the face's normal."""
    apart = 0
    for position, quaternion in poses(EXAMPLES[kind], 16, 1):
        contacts, nodes, distance = found(kind, position, quaternion)
        if not contacts.gap.min() > 0:
            continue
        apart += 1
        at = (contacts.weights[:, :, None] * nodes[contacts.nodes]).sum(axis=1)
        assert (contacts.gap >= distance(at) - 1e-9).all()
        assert abs(contacts.gap.min() - distance(at[[contacts.gap.argmin()]])[0]) < 1e-9
        assert contacts.gap.min() <= distance(sampled(nodes, TRIANGLES)).min() + 1e-9
    assert apart >= 6


@every
def test_weights_frames_features_and_threads(kind):
    for position, quaternion in poses(EXAMPLES[kind], 4, 2):
        contacts, nodes, _ = found(kind, position, quaternion)
        assert np.allclose(contacts.weights.sum(axis=1), 1, atol=1e-12)
        assert contacts.weights.min() >= -1e-8
        assert (contacts.nodes[contacts.weights != 0] >= 0).all()
        assert (contacts.bodies[:, 1] == -1).all()
        assert np.allclose(contacts.frame @ contacts.frame.transpose(0, 2, 1), np.eye(3), atol=1e-12)
        assert np.allclose(np.linalg.det(contacts.frame), 1)
        assert len(np.unique(contacts.feature)) == len(contacts)
        assert contacts.feature.max() < 1 << 61
        order = np.lexsort((contacts.feature, contacts.shapes[:, 1], contacts.shapes[:, 0]))
        assert (order == np.arange(len(order))).all()
        again, _, _ = found(kind, position, quaternion, threads=3)
        for name in contacts.__dataclass_fields__:
            assert np.array_equal(getattr(contacts, name), getattr(again, name)), name


@every
def test_normals_and_weights_are_the_gradient_of_the_gap(kind):
    """Against finite differences, in the shape's position and in every node; features last."""
    shape, step, checked = EXAMPLES[kind], 1e-6, 0
    rng = np.random.default_rng(3)
    for position, quaternion in poses(shape, 4, 3):
        contacts, nodes, _ = found(kind, position, quaternion)
        surface = surface_arrays(nodes, [Skin(TRIANGLES)])
        body = -1 if shape.static_only else 0
        for _ in range(3):
            push, shift = rng.uniform(-1, 1, nodes.shape), np.zeros(3) if body < 0 else rng.uniform(-1, 1, 3)
            both = []
            for way in (-step, step):
                instance = Instance(shape, body, *((position, quaternion) if body < 0 else ()))
                q = np.array([[*(position + way * shift), *quaternion]])
                both.append(
                    detect_surface(surface, nodes + way * push, shape_arrays([instance]), q, reach=REACH + 1e-4)
                )
            same = [dict(zip(c.feature.tolist(), c.gap)) for c in both]
            motion = (contacts.weights[:, :, None] * push[contacts.nodes]).sum(axis=1) - shift
            rate = (contacts.normal * motion).sum(axis=1)
            for k, name in enumerate(contacts.feature.tolist()):
                if name in same[0] and name in same[1]:
                    # of gaps found by iteration (given shapes) the sixth digit; of others curvature is what is left
                    assert abs((same[1][name] - same[0][name]) / (2 * step) - rate[k]) < 1e-5
                    checked += 1
            assert sum(name in same[0] and name in same[1] for name in contacts.feature.tolist()) >= 0.9 * len(contacts)
    assert checked > 6


@every
def test_moving_everything_changes_nothing(kind):
    shape = EXAMPLES[kind]
    if shape.static_only:
        pytest.skip("cannot be moved along")
    turn, shift = rotation_exp(np.array([0.4, -1.1, 0.3])), np.array([3.0, -2.0, 1.0])
    R = quaternion_to_matrix(turn)
    shapes, surface = shape_arrays([Instance(shape, 0)]), surface_arrays(NODES, [Skin(TRIANGLES)])
    w, x, y, z = turn
    left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    for position, quaternion in poses(shape, 4, 4):
        one = detect_surface(surface, NODES, shapes, np.array([[*position, *quaternion]]), reach=REACH)
        q = np.array([[*(R @ position + shift), *(left @ quaternion)]])
        two = detect_surface(surface, NODES @ R.T + shift, shapes, q, reach=REACH)
        assert one.feature.tolist() == two.feature.tolist()
        assert np.allclose(one.gap, two.gap, atol=1e-12)
        # points that GJK finds on round solids have half the digits of the distance
        digits = 1e-9 if shape.support is None else 1e-5
        assert np.allclose(one.weights, two.weights, atol=digits)
        assert np.allclose(one.normal @ R.T, two.normal, atol=digits)
        assert np.allclose(one.point @ R.T + shift, two.point, atol=digits)


@every
def test_groups_masks_and_exclusions(kind):
    shape = EXAMPLES[kind]
    (position, quaternion), *_ = poses(shape, 1, 5)
    contacts, nodes, _ = found(kind, position, quaternion)
    assert len(contacts)
    body = -1 if shape.static_only else 0
    pose = (position, quaternion) if body < 0 else ()
    q = np.array([[*position, *quaternion]])

    def count(skin, instance, **excluded):
        surface = surface_arrays(nodes, [skin], **excluded)
        return len(detect_surface(surface, nodes, shape_arrays([instance]), q, reach=REACH))

    plain, named = Skin(TRIANGLES), Instance(shape, body, *pose, fixture=3)
    assert count(Skin(TRIANGLES, group=2, mask=4), Instance(shape, body, *pose, group=4, mask=2)) == len(contacts)
    assert count(Skin(TRIANGLES, group=2), Instance(shape, body, *pose, mask=1)) == 0
    assert count(Skin(TRIANGLES, mask=2), Instance(shape, body, *pose, group=1)) == 0
    excluded = {"exclude_fixed": [(0, 3)]} if body < 0 else {"exclude": [(0, 0)]}
    assert count(plain, named, **excluded) == 0
    assert count(plain, named, exclude=[(0, 7)], exclude_fixed=[(0, 0)]) == len(contacts)


def test_a_strange_shape_is_refused_by_name():
    class Stranger(Sphere):
        kind = "stranger"

    with pytest.raises(ProblemError, match="stranger is no shape that collision knows"):
        shape_arrays([Instance(Stranger(0.1), 0)])
