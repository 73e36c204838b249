"""Contacts on the surfaces of flexible bodies."""

import numpy as np

from delassus.collision import Instance, Skin, detect_surface, shape_arrays, surface_arrays
from delassus.shapes import Plane

STILL = np.array([[0.0, 0, 0, 1, 0, 0, 0]])


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
