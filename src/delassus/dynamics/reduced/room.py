"""What joint coordinates work in, made once for a model."""

from typing import NamedTuple

import numpy as np

from delassus.dynamics.reduced.kinematics import Posture, posture_for
from delassus.joints.arrays import JointArrays
from delassus.model.tree import Tree


class LoopRoom(NamedTuple):
    """Of m rows of the c joints that close loops. error: (m,); rows: (m, 12); Y: (m, n_v); D: (m, m) and order: (m,),
    its factor; null: (m, m); scale: (m,); y: (m, 1); origin: (c, 2, 3), axes: (c, 2, 3, 3), centre: (c, 2, 3) of the
    joints' frames."""

    error: np.ndarray
    rows: np.ndarray
    Y: np.ndarray
    D: np.ndarray
    order: np.ndarray
    null: np.ndarray
    scale: np.ndarray
    y: np.ndarray
    origin: np.ndarray
    axes: np.ndarray
    centre: np.ndarray


class Room(NamedTuple):
    """posture: the one that was found last; composite: (n_b, 10); H: (n_v, n_v), or its factor; spatial, twists:
    (n_b, 6); p, w: (n_v,); normal: (6, 6) and side: (6,), of the rows of one joint; loops: `LoopRoom`."""

    posture: Posture
    composite: np.ndarray
    H: np.ndarray
    spatial: np.ndarray
    twists: np.ndarray
    p: np.ndarray
    w: np.ndarray
    normal: np.ndarray
    side: np.ndarray
    loops: LoopRoom


def room_for(tree: Tree, loops: JointArrays) -> Room:
    """Room for this forest and the joints that close its loops."""
    n, n_v, m, c = len(tree.base), len(tree.before), loops.row_count, loops.count
    own = LoopRoom(
        np.zeros(m), np.zeros((m, 12)), np.zeros((m, n_v)), np.zeros((m, m)), np.zeros(m, np.int64), np.zeros((m, m)),
        np.zeros(m), np.zeros((m, 1)), np.zeros((c, 2, 3)), np.zeros((c, 2, 3, 3)), np.zeros((c, 2, 3)),
    )  # fmt: skip
    return Room(
        posture_for(n, n_v, tree.n_q), np.zeros((n, 10)), np.zeros((n_v, n_v)), np.zeros((n, 6)), np.zeros((n, 6)),
        np.zeros(n_v), np.zeros(n_v), np.zeros((6, 6)), np.zeros(6), own,
    )  # fmt: skip
