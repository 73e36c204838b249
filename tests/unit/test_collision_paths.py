"""Few shapes, many shapes and heaps of spheres take different ways to the same contacts."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest

from delassus.collision import Contacts, Instance, detect, detect_at, shape_arrays
from delassus.collision.broad.pairs import SMALL
from delassus.collision.contacts import empty_columns
from delassus.collision.find import (
    BAD_POSE,
    NO_KERNEL,
    PLACE,
    TOO_FEW_ROWS,
    TOO_SHORT_COLUMNS,
    find_contacts,
    most_contacts,
    work_for,
)
from delassus.collision.narrow import families
from delassus.collision.work import BAD, CONTACTS, MISSING, OUT_ROWS, PAIR_ROWS, Work
from delassus.kernel import njit
from delassus.model.model import constants
from delassus.shapes import Box, Capsule, Convex, Cylinder, Mesh, Plane, Sphere

ONE = np.array([1.0, 0, 0, 0])


def same_bits(a: Contacts, b: Contacts) -> bool:
    columns = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Contacts)]
    return all((x is None and y is None) or x.tobytes() == y.tobytes() for x, y in columns)


def random_heap(rng, count):
    """Spheres of different sizes and materials that overlap here and there, two planes in between them."""
    radius = rng.uniform(0.3, 0.6, count)
    shapes = [
        Instance(Sphere(r), body=k, margin=0.1 * r, mu=rng.uniform(), restitution=rng.uniform())
        for k, r in enumerate(radius)
    ]
    shapes.insert(count // 3, Instance(Plane(), margin=0.02))
    shapes.insert(count // 2, Instance(Plane((1.0, 0.2, 0.1), -1.0), mu=0.1))
    side = count ** (1 / 3)
    position = rng.uniform(0, side, (count, 3))
    quaternion = rng.normal(size=(count, 4))
    return shapes, position, quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [40, 500])
def test_a_heap_is_no_special_case(count):
    """One exclusion of two bodies that are far apart sends it the way of all other scenes."""
    instances, position, quaternion = random_heap(np.random.default_rng(count), count)
    d = np.linalg.norm(position[:, None] - position, axis=2)
    far = tuple(int(i) for i in np.unravel_index(np.argmax(d), d.shape))
    plain, other = shape_arrays(instances), shape_arrays(instances, exclude=[far])
    assert plain.is_heap
    assert not other.is_heap
    contacts = detect(plain, position, quaternion)
    assert len(contacts) > count
    assert (contacts.bodies == -1).any()
    assert same_bits(contacts, detect(other, position, quaternion))
    assert same_bits(contacts, detect(plain, position, quaternion, threads=3))


def test_two_spheres_of_a_body_are_no_heap():
    arrays = shape_arrays([Instance(Sphere(1.0), body=k // 2) for k in range(2 * SMALL)])
    assert not arrays.is_heap
    position = 10.0 * np.arange(SMALL)[:, None] * np.array([1.0, 0, 0])
    assert len(detect(arrays, position, np.tile(ONE, (SMALL, 1)))) == 0


def mixed_scene(rng, count):
    kinds = [Sphere(0.4), Box((0.6, 0.8, 0.5)), Capsule(0.3, 0.5)]
    instances = [Instance(Plane((0.1, 0, 1)), margin=0.01)]
    instances += [Instance(kinds[k % 3], body=k, margin=0.03, mask=0b11 if k % 5 else 1) for k in range(count)]
    quaternion = rng.normal(size=(count, 4))
    position = rng.uniform(0, 0.8 * count ** (1 / 3), (count, 3))
    return instances, position, quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
def test_few_shapes_are_no_special_case(seed):
    instances, position, quaternion = mixed_scene(np.random.default_rng(seed), SMALL // 2)
    few = shape_arrays(instances, exclude=[(1, 2), (0, 7)])
    assert few.is_small
    contacts = detect(few, position, quaternion)
    assert len(contacts) > 10
    assert same_bits(contacts, detect(replace(few, is_small=False), position, quaternion))


@njit(error_model="numpy")
def many_times(n, shapes, q, reach, work, columns):
    """The last of n detections inside compiled code."""
    total = 0
    for _ in range(n):
        total = find_contacts(PLACE, shapes, q, reach, work, columns)
    return total


@pytest.mark.parametrize("far", [False, True])
def test_compiled_code_finds_the_same_contacts(far):
    """In columns of its own, whose room `most_contacts` bounds; families are compiled when they are first needed."""
    instances, position, quaternion = mixed_scene(np.random.default_rng(3), 20)
    arrays, q = shape_arrays(instances), np.concatenate([position, quaternion], axis=1)
    reach = np.full(arrays.count, 0.05) if far else np.empty(0)
    work, columns = work_for(arrays), empty_columns(most_contacts(arrays))
    assert many_times(1, arrays.constants, q, reach, work, columns) == NO_KERNEL
    missing = Work(*work).counters[MISSING]
    assert missing
    arrays.compile_families(missing)
    total = many_times(3, arrays.constants, q, reach, work, columns)
    expected = detect_at(arrays, q, reach=reach if far else None)
    assert same_bits(Contacts(*[column[:total] for column in columns]), expected)
    assert len(expected) > len(detect(arrays, position, quaternion)) or not far


def test_columns_without_room_are_left_alone():
    instances, position, quaternion = mixed_scene(np.random.default_rng(3), 20)
    arrays, q = shape_arrays(instances), np.concatenate([position, quaternion], axis=1)
    total = len(detect_at(arrays, q))
    columns, work = empty_columns(total - 1), work_for(arrays)
    columns[4][:] = 7.0
    assert find_contacts(PLACE, arrays.constants, q, np.empty(0), work, columns) == TOO_SHORT_COLUMNS
    assert Work(*work).counters[CONTACTS] == total
    assert (columns[4] == 7.0).all()
    q[4, 3:] *= 2.0
    assert find_contacts(PLACE, arrays.constants, q, np.empty(0), work, columns) == BAD_POSE
    assert Work(*work).counters[BAD] == 4


def found_by_compiled_code(arrays, q, reach):
    """(contacts of `find_contacts`, how often it ran out of room), beginning with next to none."""
    work, columns, again = work_for(arrays, 1, 1, 1), empty_columns(0), 0
    while True:
        total = find_contacts(PLACE, arrays.constants, q, reach, work, columns)
        counters = Work(*work).counters
        if total >= 0:
            return Contacts(*[column[:total] for column in columns]), again
        if total == NO_KERNEL:
            arrays.compile_families(counters[MISSING])
            continue
        again += 1
        if total == TOO_SHORT_COLUMNS:
            columns = empty_columns(counters[CONTACTS])
        else:
            assert total == TOO_FEW_ROWS
            work = work_for(arrays, 1, max(counters[PAIR_ROWS], 1), max(counters[OUT_ROWS], 1))


@pytest.mark.parametrize("far", [False, True])
def test_compiled_code_finds_the_same_contacts_of_many(far):
    instances, position, quaternion = mixed_scene(np.random.default_rng(5), 300)
    arrays, q = shape_arrays(instances, exclude=[(1, 2)]), np.concatenate([position, quaternion], axis=1)
    assert not arrays.is_small
    reach = np.full(arrays.count, 0.05) if far else np.empty(0)
    contacts, again = found_by_compiled_code(arrays, q, reach)
    assert again >= 2
    assert len(contacts) > 300
    assert same_bits(contacts, detect_at(arrays, q, reach=reach if far else None))


def test_compiled_code_finds_the_same_contacts_of_a_heap():
    instances, position, quaternion = random_heap(np.random.default_rng(7), 400)
    arrays, q = shape_arrays(instances), np.concatenate([position, quaternion], axis=1)
    assert arrays.is_heap
    contacts, _ = found_by_compiled_code(arrays, q, np.empty(0))
    assert same_bits(contacts, detect_at(arrays, q))


def test_detections_at_the_same_time_do_not_disturb_each_other():
    """Memory of small scenes is used again, but by one call at a time."""
    instances, position, quaternion = mixed_scene(np.random.default_rng(9), 30)
    arrays, rng = shape_arrays(instances), np.random.default_rng(1)
    places = [position + 0.3 * rng.normal(size=position.shape) for _ in range(200)]
    alone = [detect(arrays, place, quaternion) for place in places]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda place: detect(arrays, place, quaternion), places))
    assert all(map(same_bits, alone, together))


def test_detection_leaves_no_array_in_the_arrays():
    """The hash of a model is made of all its constants, and must be the same after a step."""

    def compiled():
        return {name: pickle.dumps(value) for name, value in constants(arrays).items()}

    instances, position, quaternion = mixed_scene(np.random.default_rng(2), 12)
    arrays = shape_arrays(instances)
    before = compiled()
    assert "vertices" in before
    detect(arrays, position, quaternion)
    assert compiled() == before


def test_one_that_got_away_takes_no_contacts_with_it():
    """Cells are counted from the lowest corner of all shapes, so its distance rounds everybody's cell."""
    count = 400
    centre = 1.99e-6 * np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:count]
    arrays = shape_arrays([Instance(Sphere(1e-6), body=k) for k in range(count)])
    quaternion = np.tile(ONE, (count, 1))
    near = detect(arrays, centre, quaternion)
    assert len(near) > 2 * count
    away = centre.copy()
    away[-1] = [-1e9, 3e8, 2e8]
    expected = near.feature[(near.bodies != count - 1).all(axis=1)]
    np.testing.assert_array_equal(detect(arrays, away, quaternion).feature, expected)


def test_many_partners_are_sorted():
    """Large spheres among very many small ones, numbered at random."""
    rng = np.random.default_rng(0)
    large, each = 12, 300
    direction = rng.normal(size=(large, each, 3))
    around = 1.05 * direction / np.linalg.norm(direction, axis=2, keepdims=True)
    centre = 4.0 * np.arange(large)[:, None] * np.array([1.0, 0, 0])
    position = np.concatenate([centre, (centre[:, None] + around).reshape(-1, 3)])
    shapes = [Instance(Sphere(1.0 if k < large else 0.05), body=k, margin=1e-3) for k in range(len(position))]
    arrays = shape_arrays([shapes[k] for k in rng.permutation(len(shapes))])
    assert len(arrays.level_radius) == 2
    contacts = detect(arrays, position, np.tile(ONE, (len(position), 1)))
    key = contacts.shapes[:, 0].astype(np.int64) * len(shapes) + contacts.shapes[:, 1]
    assert (np.diff(key) > 0).all()
    assert (contacts.bodies < large).any(axis=1).sum() == large * each


SOLIDS = [Cylinder(0.4, 0.7), Convex(np.random.default_rng(4).normal(size=(12, 3)) * 0.4), Box((0.7, 0.5, 0.6))]
FLOOR = Mesh([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], [[0, 1, 2], [0, 2, 3]])


@pytest.mark.parametrize("other", [*SOLIDS, FLOOR], ids=lambda s: s.kind)
def test_no_contact_at_the_edge_of_the_margin_is_lost(other):
    """Pairs that an axis separates are not looked at closely: that must not cost those which just count."""
    rng, seen = np.random.default_rng(6), 0
    for k in range(60):
        shape = SOLIDS[k % 2]
        quaternion = rng.normal(size=(2, 4))
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        position = np.array([[0.0, 0, 0], rng.normal(size=3)])
        position[1, 2] = abs(position[1, 2])
        static = other.static_only
        body = -1 if static else 0

        def found(margin, body=body, shape=shape, position=position, quaternion=quaternion):
            pair = [Instance(other, body=body), Instance(shape, body=1, margin=margin)]
            return detect(shape_arrays(pair), position, quaternion)

        gap = found(3.0).gap.min(initial=np.inf)
        if 0 < gap < 3.0:
            seen += 1
            assert len(found(gap + 1e-9)) > 0
            assert len(found(gap - 1e-9)) == 0
    assert seen > 20


def test_kernels_of_families_have_names_of_their_own():
    """By which the cache of machine code, and the list of kernels that are compiled ahead, know them."""
    assert len(vars(families.PAIRS)) == len(families.KERNELS)
    for kernel in families.KERNELS.values():
        holder, name = kernel.__qualname__.split(".")
        assert getattr(getattr(families, holder), name) is kernel
