"""Contacts on the surfaces of flexible bodies."""

import numpy as np
import pytest

from delassus.collision import Instance, Skin, detect_surface, shape_arrays, surface_arrays
from delassus.shapes import Box, Capsule, Convex, Cylinder, Plane, Sphere

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


def sheet(cells, size):
    """Nodes (n, 3) and triangles (F, 3) of a flat rectangle at z = 0 that looks up."""
    (n, m), (a, b) = cells, size
    x, y = np.meshgrid(np.linspace(0, a, n + 1), np.linspace(0, b, m + 1), indexing="ij")
    i = (np.arange(n)[:, None] * (m + 1) + np.arange(m)).ravel()
    corners = np.stack([i, i + m + 1, i + m + 2, i, i + m + 2, i + 1], axis=1)
    return np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1), corners.reshape(-1, 3)


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
