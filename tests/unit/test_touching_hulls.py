"""Hulls that stand face on face, as blocks of masonry do."""

import numpy as np
import pytest

from delassus.collision import Instance, detect, shape_arrays
from delassus.shapes import Convex
from delassus.spatial import rotation_exp

SEED = 5
COUNT = 100  # pairs
WEDGE = np.array([(x, y, z) for z, half in ((-0.5, 0.3), (0.5, 0.4)) for x in (-half, half) for y in (-0.3, 0.3)])


@pytest.mark.parametrize("tilt", [1e-11, 1e-9, 1e-7])
def test_normal_of_touching_faces_is_that_of_the_faces(tilt):
    """One wedge on another, off by a hair as any body at rest is."""
    rng = np.random.default_rng(SEED)
    position, quaternion, instances = [], [], []
    for k in range(COUNT):
        for z in (0.0, 1.0):
            instances.append(Instance(Convex(WEDGE), body=len(position), margin=0.01))
            position.append(np.array([5.0 * k, 0.0, z]) + tilt * rng.standard_normal(3))
            quaternion.append(rotation_exp(tilt * rng.standard_normal(3)))
    contacts = detect(shape_arrays(instances), np.array(position), np.array(quaternion))
    assert contacts.frame[:, 0, 2].min() > 1.0 - 1e-9
    assert np.abs(contacts.gap).max() < 10.0 * tilt
    assert len(contacts.gap) == 4 * COUNT
