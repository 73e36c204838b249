"""A model in joint coordinates: its forest, what closes its loops, and room; or why it stays in those of bodies."""

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from delassus.dynamics.reduced.room import Room, room_for
from delassus.dynamics.softness import Softness
from delassus.joints.primitives import ROTVEC
from delassus.model.model import Model
from delassus.model.tree import spanning_forest
from delassus.softening import HARD


class Mechanism:
    """tree: the forest of the hard joints; loops: the other hard ones; masses: of `close_reduced`; reason: why steps
    stay in the coordinates of bodies, in words, None where joint coordinates hold all of the motion."""

    def __init__(self, model: Model, softness: Softness):
        joints, hard = model.joints, softness.joints[:, 0] == HARD
        self.tree = spanning_forest(joints, model.body_count, hard)
        self.loops = joints.only(hard & ~self.tree.holds)
        armature = np.zeros(len(self.tree.before))
        for b in np.flatnonzero(self.tree.joint >= 0):
            j, first = self.tree.joint[b], self.tree.first[b]
            own = slice(joints.coordinate_start[j], joints.coordinate_start[j + 1])
            armature[first : first + self.tree.freedoms[b]] = joints.armature[own]
        self.masses = model.mass, model.inertia, model.inverse_mass, model.inverse_inertia, armature
        self.reason = _why_not(model, self.tree.holds)

    @cached_property
    def room(self) -> Room:
        """Made when it is needed."""
        return room_for(self.tree, self.loops)


def _why_not(model: Model, holds: np.ndarray) -> str | None:
    """Why steps of this model stay in the coordinates of bodies."""
    joints = model.joints
    if model.is_implicit:
        return "flexible bodies, springs, bushings and couplings of many bodies are not in joint coordinates"
    if model.couplings is not None:
        return "couplings of joints are not in joint coordinates"
    if not holds.any():
        return "no joint can be taken out"
    is_vector = joints.coordinate_primitive[joints.geared] == ROTVEC
    if (~holds[joints.coordinate_joint[joints.geared]] | is_vector).any():
        return "armature of joints that close loops, or of spherical ones, is not in joint coordinates"
    return None


def mechanism_of(model: Model, softness: Softness) -> Mechanism:
    """Made once for a model and how soft it is."""
    found = _MADE.get(softness)
    if found is None:
        found = _MADE[softness] = Mechanism(model, softness)
    return found


_MADE: WeakKeyDictionary[Softness, Mechanism] = WeakKeyDictionary()
