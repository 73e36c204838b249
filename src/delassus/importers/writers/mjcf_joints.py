"""Joints of a model as MJCF says them: those of the tree as one or several joints of a body, loops as equalities."""

import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np

from delassus.importers.mechanism import NO_LIMIT
from delassus.importers.notes import Notes
from delassus.importers.writers.geoms import attributes
from delassus.importers.writers.spanning import Node, says_more
from delassus.importers.writers.text import printable, said
from delassus.joints.arrays import IMPOSED, PD
from delassus.model.model import Model

_LOOPS = {"spherical", "revolute", "fixed"}
_AXES = {
    "revolute": ("hinge z",),
    "prismatic": ("slide z",),
    "cylindrical": ("slide z", "hinge z"),
    "planar": ("slide x", "slide y", "hinge z"),
    "cartesian": ("slide x", "slide y", "slide z"),
    "universal": ("hinge x", "hinge follower y"),
    "rolling": ("hinge z", "hinge z"),
    "spherical": ("ball",),
}
"""What each kind is there, one joint for each coordinate (two for the angle of a rolling one), from the base on."""


class Part(NamedTuple):
    """One joint of the file.  kind: hinge, slide or ball; axis (3,) and anchor (3,) [m] in the world; coordinate: of
    ours, the first of a ball's three; scale: the file's value over ours."""

    name: str
    kind: str
    axis: np.ndarray
    anchor: np.ndarray
    coordinate: int
    scale: float


def rank(model: Model, j: int) -> int | None:
    """Which joints the tree needs most: those that no equality is, then hinges, of which a loop takes two points."""
    kind = model.joints.kinds[j]
    if kind not in _AXES:
        return None
    if kind not in _LOOPS or says_more(model, j):
        return 0
    return 1 if kind == "revolute" else 2


def parts_of(model: Model, node: Node, frames: tuple[np.ndarray, ...]) -> list[Part]:
    """The joints between a body and its parent, from the parent on."""
    joints, j = model.joints, node.joint
    if j < 0:
        return []
    origin, axes = frames[0][j], frames[1][j]
    kind, first = joints.kinds[j], int(joints.coordinate_start[j])
    rolls = kind == "rolling"
    out = []
    for k, what in enumerate(_AXES[kind]):
        side = 1 if "follower" in what else 0
        axis = axes[side][:, "xyz".find(what[-1])] if kind != "spherical" else np.array([0.0, 0, 1])
        anchor = origin[1]
        if rolls and k == 0:
            anchor = origin[0] + axis * (axis @ (origin[1] - origin[0]))
        d = first if rolls else first + k
        name = joints.names[j] if k == 0 else f"{joints.names[j]}.{'second' if rolls else _last(joints, d)}"
        sign = -1.0 if node.turned else 1.0
        out.append(Part(printable(name), what.split()[0], sign * axis, anchor, d, 0.5 if rolls else 1.0))
    return out[::-1] if node.turned else out


def _last(joints: object, d: int) -> str:
    return joints.coordinate_names[d].rpartition(".")[2]  # type: ignore[attr-defined]


def add_joint(
    parent: ET.Element, part: Part, model: Model, value: float, at: tuple[np.ndarray, np.ndarray], notes: Notes
) -> None:
    """A joint element.  value: of the coordinate; at: position (3,) and rotation (3, 3) of the body's own frame."""
    joints, d, s = model.joints, part.coordinate, part.scale
    position, R = at
    element = ET.SubElement(parent, "joint", {"name": part.name, "type": part.kind})
    element.set("pos", said(R.T @ (part.anchor - position)))
    if part.kind == "ball":
        _ball(element, model, d, notes)
        return
    element.set("axis", said(R.T @ part.axis))
    low, high = float(joints.lower[d]), float(joints.upper[d])
    limited = np.isfinite(low) or np.isfinite(high)
    factor = 1.0 / s  # two hinges of half our angle share it: 2 · ½ k′ (q/2)² = ½ k q²
    element.attrib |= attributes(
        ref=s * value,
        range=(max(s * low, -NO_LIMIT), min(s * high, NO_LIMIT)) if limited else None,
        damping=factor * joints.damping[d] or None,
        stiffness=factor * joints.spring[d] or None,
        springref=s * joints.rest[d] if joints.spring[d] else None,
        armature=factor * joints.armature[d] or None,
        frictionloss=joints.friction[d] or None,
    )
    if joints.limit_restitution[d] > 0.0:
        notes.add("restitution at limits", part.name, "is not written: limits there have none")
    if joints.drive[d] == IMPOSED:
        notes.add("imposed motion", part.name, "is not written: the joint moves freely there")


def _ball(element: ET.Element, model: Model, d: int, notes: Notes) -> None:
    joints, name = model.joints, element.get("name", "")
    three = slice(d, d + 3)
    element.attrib |= attributes(
        damping=joints.damping[d] or None,
        stiffness=joints.spring[d] or None,
        armature=joints.armature[d] or None,
        frictionloss=joints.friction[d] or None,
    )
    for what, values in (
        ("damping", joints.damping),
        ("spring", joints.spring),
        ("armature", joints.armature),
        ("friction", joints.friction),
    ):
        if np.ptp(values[three]) > 0.0:
            notes.add(f"{what} of a ball joint", name, "is that of its first coordinate in all directions there")
        elif values[d] > 0.0:
            notes.add(f"{what} of a ball joint", name, "acts on the spin there, and its rest is the pose written")
    if np.isfinite(joints.lower[three]).any() or np.isfinite(joints.upper[three]).any():
        notes.add("limits of a ball joint", name, "are not written: there is only one cone there")
    if (joints.drive[three] != 0).any():
        notes.add("drives of a ball joint", name, "are not written")


def add_motor(parent: ET.Element, part: Part, model: Model, notes: Notes) -> None:
    """The actuator of a joint that has a drive: its control is the target, or without stiffness the rate."""
    joints, d = model.joints, part.coordinate
    if joints.drive[d] != PD or part.kind == "ball":
        return
    k, c = float(joints.stiffness[d]), float(joints.rate_gain[d])
    limit = float(joints.effort[d])
    if k == 0.0 and c == 0.0:
        ET.SubElement(parent, "motor", {"name": part.name, "joint": part.name})
        return
    servo = ET.SubElement(parent, "general", {"name": part.name, "joint": part.name, "biastype": "affine"})
    servo.attrib |= attributes(
        gear=1.0 / part.scale,
        gainprm=k or c,
        biasprm=(0.0, -k, -c),
        forcerange=(-limit, limit) if np.isfinite(limit) else None,
    )


def add_loop(
    parent: ET.Element, model: Model, j: int, names: list[str], anchors: list[np.ndarray], notes: Notes
) -> None:
    """The equality of a joint outside the tree.  anchors: of its follower, in that body's frame [m]: the joint's
    origin, and another point of its axis."""
    joints, name, kind = model.joints, printable(model.joints.names[j]), model.joints.kinds[j]
    if kind not in _LOOPS:
        notes.add(
            f"{kind} joint",
            name,
            "is not written: it closes a loop, and equalities are connect and weld there"
            if kind in _AXES
            else "is not written: there is none such there",
        )
        return
    if says_more(model, j):
        notes.add("loop", name, "limits, drive, springs and the like are not written: equalities have none")
    base, follower = (int(b) for b in joints.bodies[j])
    ends = {"body1": names[follower]} | ({"body2": names[base]} if base >= 0 else {})
    if kind == "fixed":
        ET.SubElement(parent, "weld", {"name": name} | ends | {"anchor": said(anchors[0])})
        return
    ET.SubElement(parent, "connect", {"name": name} | ends | {"anchor": said(anchors[0])})
    if kind == "revolute":
        ET.SubElement(parent, "connect", {"name": f"{name}.axis"} | ends | {"anchor": said(anchors[1])})
