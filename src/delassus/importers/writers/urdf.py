"""URDF of a model: a tree of links with hinges, slides and fixed joints, and the shapes that URDF knows.

A link's frame is that of the joint it hangs on, so that coordinates count as ours do: all are zero where the two
frames of a joint coincide. What hangs on nothing floats on the link `world`. Hulls are OBJ files in a folder beside."""

import xml.etree.ElementTree as ET
from os import PathLike
from pathlib import Path

import numpy as np

from delassus.collision.instances import FIXTURES
from delassus.errors import FileError
from delassus.importers.mechanism import NO_LIMIT
from delassus.importers.notes import Notes
from delassus.importers.writers.geoms import owner_name, rows_of
from delassus.importers.writers.spanning import WORLD, Node, says_more, spanning
from delassus.importers.writers.text import printable, put, said, xml_of
from delassus.importers.writers.urdf_shapes import Shapes, add_origin
from delassus.io.place import label
from delassus.joints.arrays import PASSIVE
from delassus.model.model import Model
from delassus.model.state import State
from delassus.spatial import quaternion_to_matrix

_TYPES = {"revolute": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s²] what readers of URDF take


def write_urdf(
    path: str | PathLike[str], model: Model, state: State | None = None, *, overwrite: bool = False
) -> tuple[str, ...]:
    """Write URDF; returns what could not be said there, one sentence each.  state: where what floats is placed; joints
    are always written at zero. Hulls go to the folder `<name>_meshes`."""
    where = Path(path)
    if where.exists() and not overwrite:
        raise FileError(f"{label(where)}: is there already: give another name, or overwrite=True to replace it")
    writer = _Writer(model, state, where)
    root = writer.root()
    for name, content in writer.shapes.files.items():
        target = where.parent / name
        try:
            target.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise FileError(f"{label(target.parent)}: cannot be made: {error.strerror or error}") from None
        put(target, content, overwrite)
    put(where, xml_of(root, where), overwrite)
    return writer.notes.texts


class _Writer:
    def __init__(self, model: Model, state: State | None, path: Path):
        self.model, self.state, self.notes = model, state, Notes()
        self.names = [printable(name) if name != "world" else "world+" for name in model.body_names]
        self.shapes = Shapes(model, f"{printable(path.stem)}_meshes", self.notes)
        # of links in the frames at the bodies' centres of mass
        self.place, self.turn = -model.centre.copy(), np.tile(np.eye(3), (model.body_count, 1, 1))

    def root(self) -> ET.Element:
        """The whole file."""
        model = self.model
        root = ET.Element("robot", {"name": "delassus"})
        tree = spanning(model, self._rank)
        world = ET.SubElement(root, "link", {"name": "world"})
        for f, name in enumerate(model.fixed_names):
            for s in rows_of(model, FIXTURES + f):
                self.shapes.add(world, s, model.shapes.local_position[s], model.shapes.local_rotation[s], name)
        for b in tree.order:
            self._link(root, tree.nodes[b])
        for b in tree.order:
            self._joint(root, tree.nodes[b])
        self._mimics(root)
        for j in tree.loops:
            what = "loop" if model.joints.kinds[j] in _TYPES else f"{model.joints.kinds[j]} joint"
            self.notes.add(what, model.joints.names[j], "is not written: its bodies are not joined there")
        self._note_rest()
        return root

    def _rank(self, j: int) -> int | None:
        kind = self.model.joints.kinds[j]
        return None if kind not in _TYPES else 1 if kind == "revolute" and not says_more(self.model, j) else 0

    def _link(self, root: ET.Element, node: Node) -> None:
        model, b = self.model, node.body
        if node.joint >= 0:
            side = 0 if node.turned else 1
            self.place[b], self.turn[b] = model.joints.origin[node.joint, side], model.joints.axes[node.joint, side]
        R, link = self.turn[b], ET.SubElement(root, "link", {"name": self.names[b]})
        principal, axes = np.linalg.eigh(model.inertia[b])
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        inertial = ET.SubElement(link, "inertial")
        add_origin(inertial, -R.T @ self.place[b], R.T @ axes)
        ET.SubElement(inertial, "mass", {"value": said(model.mass[b])})
        off = dict.fromkeys(("ixy", "ixz", "iyz"), "0")
        ET.SubElement(inertial, "inertia", dict(zip(("ixx", "iyy", "izz"), map(said, principal))) | off)
        for s in rows_of(model, b):
            position, rotation = model.shapes.local_position[s], model.shapes.local_rotation[s]
            self.shapes.add(link, s, R.T @ (position - self.place[b]), R.T @ rotation, model.body_names[b])

    def _joint(self, root: ET.Element, node: Node) -> None:
        model, b, j = self.model, node.body, node.joint
        if j < 0:
            joint = ET.SubElement(root, "joint", {"name": f"{self.names[b]}.float", "type": "floating"})
            if self.state is not None:
                R = quaternion_to_matrix(self.state.q[b, 3:])
                add_origin(joint, self.state.q[b, :3] + R @ self.place[b], R @ self.turn[b])
            self._ends(joint, WORLD, b)
            return
        joints, kind, d = model.joints, model.joints.kinds[j], int(model.joints.coordinate_start[j])
        joint = ET.SubElement(root, "joint", {"name": printable(joints.names[j]), "type": _TYPES[kind]})
        side = 1 if node.turned else 0
        place, turn = joints.origin[j, side], joints.axes[j, side]
        if node.parent != WORLD:
            R = self.turn[node.parent]
            place, turn = R.T @ (place - self.place[node.parent]), R.T @ turn
        add_origin(joint, place, turn)
        self._ends(joint, node.parent, b)
        if kind == "fixed":
            return
        ET.SubElement(joint, "axis", {"xyz": "0 0 -1" if node.turned else "0 0 1"})
        low, high = max(float(joints.lower[d]), -NO_LIMIT), min(float(joints.upper[d]), NO_LIMIT)
        if kind == "revolute" and low == -NO_LIMIT and high == NO_LIMIT:
            joint.set("type", "continuous")
        effort = min(float(joints.effort[d]), NO_LIMIT)
        ET.SubElement(
            joint,
            "limit",
            {
                "lower": said(low),
                "upper": said(high),
                "effort": said(effort),
                "velocity": said(NO_LIMIT),
            },
        )
        if joints.damping[d] or joints.friction[d]:
            ET.SubElement(joint, "dynamics", {"damping": said(joints.damping[d]), "friction": said(joints.friction[d])})
        for what, values in (("spring", joints.spring), ("armature", joints.armature)):
            if values[d] > 0.0:
                self.notes.add(what, joints.names[j], "is not written")
        if joints.drive[d] != PASSIVE:
            self.notes.add("drive", joints.names[j], "is not written: only its largest effort is")

    def _ends(self, joint: ET.Element, parent: int, child: int) -> None:
        ET.SubElement(joint, "parent", {"link": "world" if parent == WORLD else self.names[parent]})
        ET.SubElement(joint, "child", {"link": self.names[child]})

    def _mimics(self, root: ET.Element) -> None:
        """Couplings that are linear, of two coordinates: q₁ = multiplier · q₂ + offset."""
        couplings, joints = self.model.couplings, self.model.joints
        by = {e.get("name"): e for e in root.iter("joint") if e.get("type") != "floating"}
        for c in range(0 if couplings is None else couplings.count):
            t = slice(int(couplings.start[c]), int(couplings.start[c + 1]))  # type: ignore[union-attr]
            powers = couplings.powers[t].copy()  # type: ignore[union-attr]
            if c not in couplings.held:  # type: ignore[union-attr]
                self.notes.add("tendon", couplings.names[c], "is not written: URDF has none")  # type: ignore[union-attr]
                continue
            powers[0, 0] -= couplings.lower[c]  # type: ignore[union-attr]
            names = [printable(joints.names[joints.coordinate_joint[d]]) for d in couplings.coordinate[t]]  # type: ignore[union-attr]
            if len(names) != 2 or powers[:, 2:].any() or not powers[0, 1] or any(name not in by for name in names):
                name = couplings.names[c]  # type: ignore[union-attr]
                self.notes.add("coupling", name, "is not written: mimic joints have two joints and are linear")
                continue
            ET.SubElement(
                by[names[0]],
                "mimic",
                {
                    "joint": names[1],
                    "multiplier": said(-powers[1, 1] / powers[0, 1]),
                    "offset": said(-(powers[0, 0] + powers[1, 0]) / powers[0, 1]),
                },
            )

    def _note_rest(self) -> None:
        model, shapes = self.model, self.model.shapes
        if tuple(model.gravity) != _STANDARD_GRAVITY:
            self.notes.add("gravity", "", f"{said(model.gravity)} m/s² is not written")
        if shapes.count:
            self.notes.add("friction, restitution, filters", "", "of shapes are not written: URDF has none")
        for key in shapes.excluded.tolist():
            pair = "–".join(owner_name(model, owner) for owner in (key >> 32, key & 0xFFFFFFFF))
            self.notes.add(
                "exclusion", pair, "is not written: links that a joint connects never touch for most readers"
            )
        for name in () if model.flexible is None else model.flexible.names:
            self.notes.add("flexible body", name, "is not written")
        for name in () if model.forces is None else model.forces.names:
            self.notes.add("force", name, "is not written")
