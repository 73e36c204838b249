"""Joints of UsdPhysics as kinds of ours: which axes are free, and how frames must lie for ours to mean the same."""

from dataclasses import dataclass
from typing import Any

import numpy as np

ROTATIONS, SLIDES = ("rotX", "rotY", "rotZ"), ("transX", "transY", "transZ")
_NAMED = {"PhysicsRevoluteJoint": "rot", "PhysicsPrismaticJoint": "trans"}


@dataclass(frozen=True)
class Kind:
    """name: in JOINTS; frame: (3, 3) columns are our axes in the file's joint frame; axes: of the file, one for each of
    our coordinates."""

    name: str
    frame: np.ndarray
    axes: tuple[str, ...]


def kind_of(joint: dict[str, Any]) -> Kind | None:
    """None where there is no such kind here; a kind without a name is no joint at all."""
    free = free_axes(joint)
    if free is None:
        return None
    turns, slides = [a for a in ROTATIONS if a in free], [a for a in SLIDES if a in free]
    letters = {a: "XYZ".index(a[-1]) for a in (*ROTATIONS, *SLIDES)}
    if len(turns) == len(slides) == 3:
        return Kind("", np.eye(3), ())
    if not slides and not turns:
        return Kind("fixed", np.eye(3), ())
    if not slides and len(turns) == 1:
        return Kind("revolute", along_z(letters[turns[0]]), tuple(turns))
    if not slides and len(turns) == 2:
        x, y = (np.eye(3)[letters[a]] for a in turns)
        return Kind("universal", np.stack([x, y, np.cross(x, y)], axis=1), tuple(turns))
    if not slides:
        return Kind("spherical", np.eye(3), ROTATIONS)
    if not turns and len(slides) == 1:
        return Kind("prismatic", along_z(letters[slides[0]]), tuple(slides))
    if not turns and len(slides) == 3:
        return Kind("cartesian", np.eye(3), SLIDES)
    if len(turns) == len(slides) == 1 and letters[turns[0]] == letters[slides[0]]:
        return Kind("cylindrical", along_z(letters[turns[0]]), (slides[0], turns[0]))
    if len(turns) == 1 and len(slides) == 2 and letters[turns[0]] not in [letters[a] for a in slides]:
        frame = along_z(letters[turns[0]])
        order = tuple("trans" + "XYZ"[int(np.argmax(frame[:, k]))] for k in range(2))
        return Kind("planar", frame, (*order, turns[0]))
    return None


def free_axes(joint: dict[str, Any]) -> tuple[str, ...] | None:
    """The axes that a joint leaves, None where it is of a kind that is not known."""
    kind = joint["kind"]
    if kind in _NAMED:
        return (_NAMED[kind] + joint.get("axis", "X"),)
    if kind == "PhysicsSphericalJoint":
        return ROTATIONS
    if kind == "PhysicsFixedJoint":
        return ()
    if kind in ("PhysicsJoint", "PhysicsD6Joint"):
        locked = [axis for axis, (low, high) in joint["limits"].items() if low > high]
        return tuple(axis for axis in (*SLIDES, *ROTATIONS) if axis not in locked)
    return None


def limit_of(joint: dict[str, Any], axis: str) -> tuple[float, float]:
    """(lower, upper) [m, rad] of one axis, infinite for none."""
    low, high = joint["limits"].get(axis, (-np.inf, np.inf))
    if joint["kind"] in _NAMED:
        low, high = joint.get("lower", -np.inf), joint.get("upper", np.inf)
        low, high = joint["limits"].get("angular" if axis.startswith("rot") else "linear", (low, high))
        if low > high:
            low, high = -np.inf, np.inf
    unit = np.pi / 180.0 if axis.startswith("rot") else joint["length"]
    return (low * unit if abs(low) < 1e30 else -np.inf), (high * unit if abs(high) < 1e30 else np.inf)


def drive_of(joint: dict[str, Any], axis: str) -> dict[str, float] | None:
    """Stiffness, damping, target, rate and most [SI] of the drive of an axis, None for none."""
    turns = axis.startswith("rot")
    drive = joint["drives"].get(axis)
    if drive is None and joint["kind"] in _NAMED:
        drive = joint["drives"].get("angular" if turns else "linear")
    if drive is None:
        return None
    force = joint["mass"] * joint["length"] * (joint["length"] if turns else 1.0)
    unit = np.pi / 180.0 if turns else joint["length"]
    most = drive["most"] * force if drive["most"] < 1e30 else np.inf
    return {
        "stiffness": drive["stiffness"] * force / unit,
        "damping": drive["damping"] * force / unit,
        "target": drive["target"] * unit,
        "rate": drive["rate"] * unit,
        "most": most,
        "is_acceleration": float(drive["type"] == "acceleration"),
    }


def along_z(axis: int) -> np.ndarray:
    """(3, 3) columns: a right-handed frame whose third axis is this one."""
    return np.eye(3)[:, [(axis + 1) % 3, (axis + 2) % 3, axis]]
