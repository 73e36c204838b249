"""Shapes of a model as URDF says them, each as what is seen and as what touches."""

import xml.etree.ElementTree as ET

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, PLANE, SPHERE, SUPPORT_ONLY, TRIANGLE
from delassus.importers.notes import Notes
from delassus.importers.writers.text import said
from delassus.model.model import Model

_NAMES = {PLANE: "plane", TRIANGLE: "mesh", SUPPORT_ONLY: "shape of a support function"}


class Shapes:
    """files: OBJ files of hulls by name, relative to the URDF file."""

    def __init__(self, model: Model, folder: str, notes: Notes):
        self.model, self.folder, self.notes = model, folder, notes
        self.files: dict[str, bytes] = {}
        self._known: dict[bytes, str] = {}

    def add(self, link: ET.Element, s: int, position: np.ndarray, rotation: np.ndarray, owner: str) -> None:
        """Row s of the shapes in its link's frame: position (3,) [m], rotation (3, 3).  owner: its body."""
        kind, size = int(self.model.shapes.kind[s]), self.model.shapes.size[s]
        if kind == SPHERE:
            self._put(link, s, position, rotation, "sphere", {"radius": said(size[0])})
        elif kind == BOX:
            self._put(link, s, position, rotation, "box", {"size": said(2.0 * size[:3])})
        elif kind in (CYLINDER, CAPSULE):
            tube = {"radius": said(size[0]), "length": said(2.0 * size[1])}
            self._put(link, s, position, rotation, "cylinder", tube)
            for end in (-1.0, 1.0) if kind == CAPSULE else ():  # its caps: the same solid in three parts
                at = position + end * size[1] * rotation[:, 2]
                self._put(link, s, at, rotation, "sphere", {"radius": said(size[0])})
        elif kind == CONVEX:
            self._put(link, s, position, rotation, "mesh", {"filename": self._hull(s)})
        else:
            self.notes.add(_NAMES[kind], owner, "is not written: URDF has boxes, spheres, cylinders and meshes")

    def _put(
        self, link: ET.Element, s: int, position: np.ndarray, rotation: np.ndarray, name: str, given: dict[str, str]
    ) -> None:
        for what in ("visual", "collision"):
            element = ET.SubElement(link, what)
            add_origin(element, position, rotation)
            ET.SubElement(ET.SubElement(element, "geometry"), name, given)
            colour = self.model.colours[s]
            if what == "visual" and np.isfinite(colour).all():
                material = ET.SubElement(element, "material", {"name": f"colour{s}"})
                ET.SubElement(material, "color", {"rgba": said(colour)})

    def _hull(self, s: int) -> str:
        """Its file: corners and faces, anticlockwise from outside."""
        vertex, start, face, face_start, shape_face = self.model.shapes.vertices[:5]
        corners = vertex[start[s] : start[s + 1]]
        key = corners.tobytes()
        if key not in self._known:
            lines = [f"v {said(x)}" for x in corners]
            for f in range(int(shape_face[s]), int(shape_face[s + 1])):
                around = face[face_start[f] : face_start[f + 1]] + 1
                lines += [f"f {around[0]} {b} {c}" for b, c in zip(around[1:-1], around[2:])]
            name = self._known[key] = f"{self.folder}/hull{len(self._known)}.obj"
            self.files[name] = ("\n".join(lines) + "\n").encode()
        return self._known[key]


def add_origin(parent: ET.Element, position: np.ndarray, rotation: np.ndarray) -> None:
    """Where an element is in its frame: position (3,) [m], rotation (3, 3)."""
    ET.SubElement(parent, "origin", {"xyz": said(position), "rpy": said(roll_pitch_yaw(rotation))})


def roll_pitch_yaw(R: np.ndarray) -> tuple[float, float, float]:
    """Angles [rad] with R = R_z(yaw) R_y(pitch) R_x(roll), right to rounding where pitch is a quarter turn, too: roll
    is what is left of R once the other two are taken off, whatever yaw is there."""
    yaw = np.arctan2(R[1, 0], R[0, 0])
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    c, s = np.cos(yaw), np.sin(yaw)
    # second row of (R_z R_y)ᵀ R: (0, cos roll, −sin roll)
    return float(np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])), float(pitch), float(yaw)
