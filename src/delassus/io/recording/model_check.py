"""What a model that was read must be before kernels, which check nothing, get it: every number that is used as an index
points into what is there."""

from typing import Any, NoReturn

import numpy as np

from delassus.collision.arrays import MIXING
from delassus.collision.instances import FIXTURES
from delassus.collision.layout import CONVEX, KIND_COUNT, PLANE, SHAPES_MAX, SUPPORT_ONLY, TRIANGLE
from delassus.errors import FileError
from delassus.joints import JOINTS
from delassus.joints.arrays import IMPOSED, PASSIVE
from delassus.joints.primitives import EVEN, ROTVEC

_ORTHONORMAL = 1e-6  # entries of RᵀR − I
_PER_JOINT = ("bodies", "origin", "axes", "length", "softening", "names", "kinds")
_UNBOUNDED = ("lower", "upper", "effort")  # the only constants of joints that may be infinite


def fail(name: str, what: str) -> NoReturn:
    """The model is not one."""
    raise FileError(f"{name} {what}: damaged")


def check_joints(found: dict[str, Any], bodies: int) -> None:
    """Fields of JointArrays."""
    joints, free = len(found["names"]), len(found["coordinate_names"])
    rows = starts("joints/row_start", found["row_start"], joints, len(found["row_primitive"]))
    starts("joints/coordinate_start", found["coordinate_start"], joints, free)
    for name, value in found.items():
        if name in ("row_start", "coordinate_start"):
            continue
        wanted = joints if name in _PER_JOINT else rows if name.startswith("row_") else free
        if len(value) != wanted:
            fail(f"joints/{name}", f"has {len(value)} entries, expected {wanted}")
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            is_wrong = np.isnan(value) if name in _UNBOUNDED else ~np.isfinite(value)
            if is_wrong.any() and "softening" not in name:  # whose words for nothing said are no numbers
                fail(f"joints/{name}", "holds NaN or Inf")
    within("joints/bodies", found["bodies"], -1, bodies)
    if (found["bodies"][:, 0] == found["bodies"][:, 1]).any():
        fail("joints/bodies", "joins a body to itself")
    rotations("joints/axes", found["axes"])
    within("joints/row_primitive", found["row_primitive"], 0, EVEN + 1)
    within("joints/coordinate_primitive", found["coordinate_primitive"], 0, ROTVEC + 1)
    for name in ("row_base_axis", "row_follower_axis", "coordinate_axis"):
        within(f"joints/{name}", found[name], 0, 3)
    within("joints/coordinate_joint", found["coordinate_joint"], 0, joints)
    within("joints/drive", found["drive"], PASSIVE, IMPOSED + 1)
    for kind in set(found["kinds"]) - set(JOINTS):
        fail("joints/kinds", f"holds {kind!r}, which is no joint here: register it first, if it is your own")


def check_shapes(said: dict[str, Any], vertices: dict[str, np.ndarray], bodies: int) -> None:
    """What ShapeArrays are made of."""
    kind, n = said["kind"], len(said["kind"])
    if n >= SHAPES_MAX or type(said["mixing"]) is not int or said["mixing"] not in MIXING.values():
        fail("shapes", "are too many, or mix their friction in an unknown way")
    for name, value in said.items():
        if isinstance(value, np.ndarray) and name != "excluded" and len(value) != n:
            fail(f"shapes/{name}", f"has {len(value)} entries, expected {n}")
    within("shapes/kind", kind, 0, KIND_COUNT)
    within("shapes/body", said["body"], -1, bodies)
    within("shapes/instance", said["instance"], 0, n)
    within("shapes/owner", said["owner"], 0, 2 * FIXTURES)
    if not (np.isfinite(said["local_position"]).all() and np.isfinite(said["local_rotation"]).all()):
        fail("shapes", "are placed at NaN or Inf")
    rotations("shapes/local_rotation", said["local_rotation"])
    flat = kind == PLANE
    for name in ("half", "radius", "size"):
        if not np.isfinite(said[name][~flat]).all() or (said[name][~flat] < 0.0).any():
            fail(f"shapes/{name}", "must be finite and positive")
    if not np.isfinite(said["surface"]).all() or (said["surface"][:, :3] < 0.0).any():
        fail("shapes/surface", "must be finite and positive")
    if (said["surface"][:, 3] != said["body"]).any() or (flat & (said["body"] >= 0)).any():
        fail("shapes/surface", "names other bodies than the shapes do, or planes that move")
    if len(said["support_only_kinds"]) != (kind == SUPPORT_ONLY).sum():
        fail("given_kinds", "are not as many as shapes of that sort")
    _check_vertices(kind, vertices)


def _check_vertices(kind: np.ndarray, v: dict[str, np.ndarray]) -> None:
    """Corners, faces and edges of hulls and triangles."""
    n = len(kind)
    starts("shapes/vertex_start", v["vertex_start"], n, len(v["vertex"]))
    faces = starts("shapes/shape_face", v["shape_face"], n, len(v["face_normal"]))
    starts("shapes/face_start", v["face_start"], faces, len(v["face"]))
    starts("shapes/shape_edge", v["shape_edge"], n, len(v["edge"]))
    corners, own = np.diff(v["vertex_start"]), np.diff(v["shape_face"])
    if (corners[kind == TRIANGLE] != 3).any() or (corners[kind == CONVEX] < 4).any() or (own[kind == CONVEX] < 4).any():
        fail("shapes/vertex_start", "gives a hull or a triangle too few corners or faces")
    if faces and np.diff(v["face_start"]).min() < 3:
        fail("shapes/face_start", "has faces of fewer than three corners")
    of_face = np.repeat(np.arange(n), own)
    within("shapes/face", v["face"], 0, np.repeat(corners[of_face], np.diff(v["face_start"])))
    within("shapes/triangle", v["triangle"], -1, len(v["edge_normal"]))
    if len(v["triangle"]) != n or (v["triangle"][kind == TRIANGLE] < 0).any():
        fail("shapes/triangle", "leaves triangles without a number")
    starts("shapes/corner_start", v["corner_start"], 3 * len(v["edge_normal"]), len(v["corner"]))
    of_edge = np.repeat(np.arange(n), np.diff(v["shape_edge"]))
    within("shapes/edge", v["edge"][:, 0], 0, corners[of_edge])
    if not all(np.isfinite(v[name]).all() for name in ("vertex", "face_normal", "edge_normal", "edge", "corner")):
        fail("shapes/vertex", "holds NaN or Inf")


def starts(name: str, start: np.ndarray, count: int, total: int) -> int:
    """Firsts of consecutive stretches: (count + 1,) from 0 to total, never falling; the total."""
    if len(start) != count + 1 or start[0] != 0 or start[-1] != total or (np.diff(start) < 0).any():
        fail(name, f"does not divide {total} entries among {count}")
    return total


def rotations(name: str, found: np.ndarray) -> None:
    """Matrices (…, 3, 3) of rotations?"""
    if not np.allclose(np.swapaxes(found, -1, -2) @ found, np.eye(3), rtol=0.0, atol=_ORTHONORMAL):
        fail(name, "holds a matrix that is no rotation")
    if (np.linalg.det(found) < 0.0).any():
        fail(name, "holds a matrix that is left-handed")


def within(name: str, values: np.ndarray, low: int, end: Any) -> None:
    """low ≤ values < end, one for all or one each?"""
    wrong = ~((values >= low) & (values < end))
    if wrong.any():
        fail(name, f"holds {values[wrong][0]}, which points at nothing")
