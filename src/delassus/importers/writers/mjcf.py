"""MJCF of a model at a state: what MuJoCo can say of it.

Bodies stand where the state has them and joints' coordinates count as ours do (`ref`), so that MuJoCo's first pose is
the state; the keyframe `start` has its velocities, too. Which pairs never touch is said by name: MuJoCo's own filter of
parents and children is off. Fixed joints are welds of two bodies, not one body, so that masses stay apart."""

import xml.etree.ElementTree as ET
from os import PathLike

import numpy as np

from delassus.collision.instances import FIXTURES
from delassus.errors import ProblemError
from delassus.importers.imported import coordinates_and_rates
from delassus.importers.notes import Notes
from delassus.importers.writers.geoms import Geoms, attributes, owner_name, rows_of
from delassus.importers.writers.mjcf_couplings import add_couplings
from delassus.importers.writers.mjcf_joints import (
    Part,
    add_joint,
    add_loop,
    add_motor,
    parts_of,
    rank,
)
from delassus.importers.writers.spanning import WORLD, Node, spanning
from delassus.importers.writers.text import printable, put, said, xml_of
from delassus.model.model import Model
from delassus.model.state import State
from delassus.spatial import matrix_to_quaternion, quaternion_to_matrix

KEYFRAME = "start"


def write_mjcf(
    path: str | PathLike[str], model: Model, state: State | None = None, *, overwrite: bool = False
) -> tuple[str, ...]:
    """Write MJCF; returns what could not be said there, one sentence each.  state: needed, since a model alone does not
    say where its bodies are."""
    if state is None:
        raise ProblemError("MJCF says where bodies are: give a state beside the model")
    writer = _Writer(model, state)
    root = writer.root()
    put(path, xml_of(root, path), overwrite)
    return writer.notes.texts


class _Writer:
    """names: of bodies in the file; frames: (n_b, 3) and (n_b, 3, 3), the bodies' own ones in the world; parts: all
    joints of the file, in its order; rolling: pairs of those that are one of ours; qpos, qvel: the state as the file
    counts it."""

    def __init__(self, model: Model, state: State):
        self.model, self.state, self.notes = model, state, Notes()
        self.names = [printable(name) if name != "world" else "world+" for name in model.body_names]
        self.R = state.rotation
        self.origin = state.position - np.einsum("bij,bj->bi", self.R, model.centre)
        self.values, self.rates = coordinates_and_rates(model, state)
        self.joint_frames = model.joints.frames(state.q, self.R)
        self.parts: list[Part] = []
        self.rolling: list[tuple[str, str]] = []
        self.qpos: list[float] = []
        self.qvel: list[float] = []

    def root(self) -> ET.Element:
        """The whole file."""
        root = ET.Element("mujoco", {"model": "delassus"})
        ET.SubElement(root, "compiler", {"angle": "radian", "autolimits": "true"})
        option = ET.SubElement(root, "option", {"gravity": said(self.model.gravity)})
        ET.SubElement(option, "flag", {"filterparent": "disable"})
        assets, world = ET.SubElement(root, "asset"), ET.SubElement(root, "worldbody")
        self.geoms = Geoms(self.model, assets, self.notes)
        self._fixed(world)
        loops = self._bodies(world)
        contact = ET.SubElement(root, "contact")
        for key in self.model.shapes.excluded.tolist():
            ends = {f"body{k + 1}": self._owner(o) for k, o in enumerate((key >> 32, key & 0xFFFFFFFF))}
            ET.SubElement(contact, "exclude", ends)
        tendon = ET.SubElement(root, "tendon")
        equality, actuator = ET.SubElement(root, "equality"), ET.SubElement(root, "actuator")
        for j in loops:
            add_loop(equality, self.model, j, self.names, self._anchors(j), self.notes)
        for first, second in self.rolling:  # two hinges that turn alike
            ET.SubElement(equality, "joint", {"joint1": first, "joint2": second, "polycoef": "0 1 0 0 0"})
        if self.model.couplings is not None:
            add_couplings(tendon, equality, self.model.couplings, self.parts, self.values, self.notes)
        driven = set()
        for part in self.parts:
            if part.coordinate not in driven:
                driven.add(part.coordinate)
                add_motor(actuator, part, self.model, self.notes)
        keys = ET.SubElement(root, "keyframe")
        ET.SubElement(keys, "key", {"name": KEYFRAME} | attributes(time=self.state.t)).attrib |= {
            "qpos": said(self.qpos),
            "qvel": said(self.qvel),
        }
        self._note_rest()
        for child in list(root):
            if not len(child) and not child.attrib:
                root.remove(child)
        return root

    def _owner(self, owner: int) -> str:
        return self.names[owner] if owner < FIXTURES else printable(owner_name(self.model, owner))

    def _fixed(self, world: ET.Element) -> None:
        """What does not move, each a body of its own; shapes of the world itself lie in it."""
        model = self.model
        for f, name in enumerate(model.fixed_names):
            place, R, parent = np.zeros(3), np.eye(3), world
            if name != "world":
                place, R = model.fixed_pose[f, :3], quaternion_to_matrix(model.fixed_pose[f, 3:])
                parent = ET.SubElement(world, "body", {"name": printable(name)})
                parent.attrib |= attributes(pos=place, quat=model.fixed_pose[f, 3:])
            for s in rows_of(model, FIXTURES + f):
                local = model.shapes.local_rotation[s]
                self.geoms.add(parent, s, R.T @ (model.shapes.local_position[s] - place), R.T @ local, name)

    def _bodies(self, world: ET.Element) -> list[int]:
        """All moving ones, nested; returns the joints that are loops."""
        tree = spanning(self.model, lambda j: rank(self.model, j))
        elements = {WORLD: world}
        for b in tree.order:
            node = tree.nodes[b]
            elements[b] = self._body(elements[node.parent], node)
        return tree.loops

    def _body(self, parent: ET.Element, node: Node) -> ET.Element:
        model, b = self.model, node.body
        place, R = (np.zeros(3), np.eye(3)) if node.parent == WORLD else (self.origin[node.parent], self.R[node.parent])
        at = self.origin[b], self.R[b]
        body = ET.SubElement(parent, "body", {"name": self.names[b]})
        body.attrib |= attributes(pos=R.T @ (at[0] - place), quat=matrix_to_quaternion(R.T @ at[1]))
        # as principal axes: MuJoCo finds those of a full matrix to 1e-12 kg m² only
        principal, axes = np.linalg.eigh(model.inertia[b])
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        ET.SubElement(
            body,
            "inertial",
            attributes(
                pos=model.centre[b],
                quat=matrix_to_quaternion(axes),
                mass=model.mass[b],
                diaginertia=principal,
            ),
        )
        parts = parts_of(model, node, self.joint_frames)
        if node.joint < 0:
            ET.SubElement(body, "freejoint")
            u, spin = self.state.u[b, :3], self.state.u[b, 3:]
            self.qpos += [*at[0], *matrix_to_quaternion(at[1])]
            self.qvel += [*(u + np.cross(spin, at[0] - self.state.position[b])), *(at[1].T @ spin)]
        for part in parts:
            add_joint(body, part, model, float(self.values[part.coordinate]), at, self.notes)
            self._put(part, node)
        if len(parts) == 2 and parts[0].coordinate == parts[1].coordinate:
            self.rolling.append((parts[0].name, parts[1].name))
        self.parts += parts
        for s in rows_of(model, b):
            local = model.shapes.local_position[s] + model.centre[b]
            self.geoms.add(body, s, local, model.shapes.local_rotation[s], model.body_names[b])
        return body

    def _put(self, part: Part, node: Node) -> None:
        """The joint's share of the state."""
        if part.kind != "ball":
            self.qpos.append(part.scale * self.values[part.coordinate])
            self.qvel.append(part.scale * self.rates[part.coordinate])
            return
        spin = self.state.u[node.body, 3:] - (0.0 if node.parent == WORLD else self.state.u[node.parent, 3:])
        self.qpos += [1.0, 0.0, 0.0, 0.0]
        self.qvel += list(self.R[node.body].T @ spin)

    def _anchors(self, j: int) -> list[np.ndarray]:
        """Two points of joint j's axis in its follower's frame, as far apart as its bodies reach."""
        b = int(self.model.joints.bodies[j, 1])
        at, axis = self.joint_frames[0][j, 1], self.joint_frames[1][j, 1][:, 2]
        far = float(np.linalg.norm(at - self.state.position[b])) or 1.0
        return [self.R[b].T @ (point - self.origin[b]) for point in (at, at + far * axis)]

    def _note_rest(self) -> None:
        model = self.model
        for j in np.flatnonzero(model.joints.softening[:, 0] > 0.0):
            self.notes.add("softening", model.joints.names[j], "of joints is not written: give solref there")
        for d in np.flatnonzero(model.joints.limit_softening[:, 0] > 0.0):
            self.notes.add("softening", model.joints.coordinate_names[d], "of limits is not written")
        for name in () if model.flexible is None else model.flexible.names:
            self.notes.add("flexible body", name, "is not written")
        for name in () if model.forces is None else model.forces.names:
            self.notes.add("force", name, "is not written: springs and bushings between bodies are not said there")
