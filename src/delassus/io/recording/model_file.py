"""The model of a recording: an HDF5 file beside its parts, written once, from which all can be seen, replayed and
continued. As of the parts, nothing that is read is trusted: sizes, types and numbers are checked before a kernel sees
them, and at the end the hash of the whole.

Arrays and texts are those of `Model`, `JointArrays` and `ShapeArrays` by their names; what follows from them is made
again. Empty arrays, as a model of nothing has them, say which types and shapes are expected, so a constant that comes
to these classes is kept without a line here."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from delassus.builder.joint import joint_arrays
from delassus.collision.arrays import PRIMARY, ShapeArrays, complete_arrays, shape_arrays
from delassus.collision.layout import TRIANGLE, Polyhedra
from delassus.errors import DelassusError, FileError
from delassus.io.files import size_of
from delassus.io.place import label
from delassus.io.recording.model_check import check_joints, check_shapes, fail
from delassus.io.recording.model_couplings import couplings_from, pack_couplings
from delassus.io.recording.model_soft import flexible_from, forces_from, pack_flexible, pack_forces
from delassus.io.recording.parts import Part, write_part
from delassus.joints.arrays import JointArrays
from delassus.model.model import NEUTRAL, Model
from delassus.shapes import Mesh

FILE = "model.hdf5"
MOST_BYTES = 1024**3  # of the file: a mesh of ten million triangles has as many
_FORMAT = 1
_OF_MODEL = ("mass", "inertia", "gravity", "centre", "fixed_pose", "colours")
_VERTICES = Polyhedra._fields
_CORNERS = ("corner", "corner_start")  # of these
_COINCIDE = 1e-9  # of a mesh's size: corners of its triangles that are nearer are one

Packed = tuple[dict[str, np.ndarray], dict[str, Any]]
"""Arrays by name, "group/name", and what else there is, as JSON keeps it."""


def write_model(folder: Path, model: Model) -> None:
    """Put the model into a recording's folder."""
    arrays, texts = pack_model(model)
    write_part(folder / FILE, json.dumps(texts, ensure_ascii=False), arrays)


def pack_model(model: Model) -> Packed:
    """Everything constant; of forces of the user's own, which are programs, the names alone."""
    arrays = {f"model/{name}": getattr(model, name) for name in _OF_MODEL}
    texts: dict[str, Any] = {
        "format": _FORMAT,
        "hash": model.hash,
        "source": model.source,
        "body_names": model.body_names,
        "fixed_names": model.fixed_names,
        "mixing": model.shapes.mixing,
        "given_kinds": model.shapes.support_only_kinds,
    }
    for field in fields(JointArrays):
        value = getattr(model.joints, field.name)
        if isinstance(value, np.ndarray):
            arrays[f"joints/{field.name}"] = value
        else:
            texts[f"joints/{field.name}"] = value
    shapes = {name: getattr(model.shapes, name) for name in PRIMARY} | dict(zip(_VERTICES, model.shapes.vertices))
    arrays |= {f"shapes/{name}": value for name, value in shapes.items() if isinstance(value, np.ndarray)}
    packs: dict[Any, Any] = {
        pack_flexible: model.flexible,
        pack_forces: model.forces,
        pack_couplings: model.couplings,
    }
    for pack, what in packs.items():
        if what is not None:
            more = pack(what)
            arrays |= more[0]
            texts |= more[1]
    plain = {name: a.astype(np.uint8) if a.dtype == np.bool_ else a for name, a in arrays.items()}  # no bools in HDF5
    return plain, texts


def read_model(folder: Path) -> Model | None:
    """What `write_model` wrote, or None where there is nothing; `FileError` for anything else."""
    path = folder / FILE
    if not path.exists():
        return None
    if size_of(path, label(path)) > MOST_BYTES:
        raise FileError(f"{label(path)}: is larger than any model of a recording ({MOST_BYTES >> 30} GiB)")
    with Part(path) as part:
        try:
            texts = json.loads(part.about())
        except (ValueError, RecursionError):
            texts = None
        if not isinstance(texts, dict) or texts.get("format") != _FORMAT:
            part.fail("is no model of a recording, or of a version that this one does not read")
        arrays = {name: part.read(name) for name in part.shapes()}
    try:
        with np.errstate(all="ignore"):  # numbers without sense are found by what comes of them
            model = unpack_model(arrays, texts)
    except DelassusError as error:
        raise FileError(f"{label(path)}: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"{label(path)}: is damaged ({type(error).__name__}: {error})") from None
    if not texts.get("own_forces") and model.hash != texts.get("hash"):
        raise FileError(f"{label(path)}: is damaged, its hash is not that of what it holds")
    return model


def unpack_model(arrays: dict[str, np.ndarray], texts: dict[str, Any]) -> Model:
    """Inverse of `pack_model`, but for forces of the user's own."""
    bodies, fixed = (names_of(texts, key) for key in ("body_names", "fixed_names"))
    n, nan = len(bodies), np.zeros(0)
    shape = {"mass": (n,), "inertia": (n, 3, 3), "gravity": (3,), "centre": (n, 3), "fixed_pose": (len(fixed), 7)}
    own = {name: taken(arrays, f"model/{name}", nan, shape[name], finite=True) for name in shape}
    if n and (own["mass"].min() <= 0.0 or np.linalg.eigvalsh(own["inertia"]).min() <= 0.0):
        fail("model/mass and model/inertia", "must be positive")
    joints = _joints(arrays, texts, n)
    shapes = _shapes(arrays, texts, n)
    flexible = flexible_from(arrays, texts, n)
    nodes = 0 if flexible is None else flexible.node_count
    return Model(
        bodies,
        fixed,
        own["mass"],
        own["inertia"],
        own["gravity"],
        joints,
        shapes,
        own["centre"],
        own["fixed_pose"],
        flexible,
        forces_from(arrays, texts, n, nodes),
        taken(arrays, "model/colours", nan, (shapes.count, 4)),
        str(texts["source"]),
        couplings_from(arrays, texts, joints),
    )


def _joints(arrays: dict[str, np.ndarray], texts: dict[str, Any], bodies: int) -> JointArrays:
    empty = joint_arrays([])
    found: dict[str, Any] = {}
    for field in fields(JointArrays):
        like = getattr(empty, field.name)
        if field.name in NEUTRAL and f"joints/{field.name}" not in arrays:  # the file is older than this constant
            count = len(names_of(texts, "joints/coordinate_names"))
            found[field.name] = np.full((count, *like.shape[1:]), NEUTRAL[field.name], like.dtype)
        elif isinstance(like, np.ndarray):
            found[field.name] = taken(arrays, f"joints/{field.name}", like)
        else:
            found[field.name] = names_of(texts, f"joints/{field.name}")
    check_joints(found, bodies)
    return JointArrays(**found)


def _shapes(arrays: dict[str, np.ndarray], texts: dict[str, Any], bodies: int) -> ShapeArrays:
    empty = shape_arrays([])
    said: dict[str, Any] = {"mixing": texts["mixing"], "support_only_kinds": names_of(texts, "given_kinds")}
    for name in PRIMARY:
        like = getattr(empty, name)
        if isinstance(like, np.ndarray):
            said[name] = taken(arrays, f"shapes/{name}", like, wider=name == "size")
    vertices = {
        name: taken(arrays, f"shapes/{name}", like)
        for name, like in zip(_VERTICES, empty.vertices)
        if name not in _CORNERS or f"shapes/{name}" in arrays
    }
    if "corner" not in vertices:  # the file is older than these
        vertices |= _corners_again(said, vertices)
    check_shapes(said, vertices, bodies)
    said["vertices"] = Polyhedra(**vertices)
    return complete_arrays(said)


def _corners_again(said: dict[str, Any], vertices: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What follows from the triangles of each mesh, whose corners are one where they coincide."""
    rows, counts, of = [np.zeros((0, 3))], [np.zeros(0, np.int64)], np.flatnonzero(said["kind"] == TRIANGLE)
    for instance in np.unique(said["instance"][of]):
        mine = of[said["instance"][of] == instance]
        middle = said["local_position"][mine] @ said["local_rotation"][mine[0]]
        corners = middle[:, None] + vertices["vertex"][vertices["vertex_start"][mine][:, None] + np.arange(3)]
        points = corners.reshape(-1, 3)
        grid = np.round(points / (_COINCIDE * np.abs(points).max()))
        _, first, which = np.unique(grid, axis=0, return_index=True, return_inverse=True)
        directions, count = Mesh(points[first], which.reshape(-1, 3)).corner_directions()
        rows.append(directions)
        counts.append(count.ravel())
    start = np.concatenate([np.zeros(1, np.int64), np.concatenate(counts).cumsum()])
    return dict(zip(_CORNERS, (np.concatenate(rows), start)))


def taken(
    arrays: dict[str, np.ndarray],
    name: str,
    like: np.ndarray,
    shape: tuple[int, ...] | None = None,
    *,
    finite: bool = False,
    wider: bool = False,
) -> np.ndarray:
    """The array of that name, of the type of `like`, and of a shape or, but for its length, of that of `like`; wider:
    its last side may be longer."""
    if name not in arrays:
        fail(name, "is missing")
    found, stored = arrays[name], np.dtype(np.uint8) if like.dtype == np.bool_ else like.dtype
    fits = found.shape == shape if shape is not None else found.shape[1:] == like.shape[1:] and found.ndim == like.ndim
    if wider:
        fits = found.ndim == like.ndim and found.shape[1:] >= like.shape[1:]
    if found.dtype != stored or not fits:
        fail(name, f"is {found.dtype} {found.shape}, expected {stored} {shape or ('…', *like.shape[1:])}")
    if (finite and not np.isfinite(found).all()) or (found.dtype.kind == "f" and wider and np.isnan(found).any()):
        fail(name, "holds NaN or Inf")
    return np.ascontiguousarray(found.astype(like.dtype, copy=False))


def names_of(texts: dict[str, Any], key: str) -> tuple[str, ...]:
    """A list of texts."""
    found = texts.get(key)
    if not isinstance(found, list) or not all(isinstance(name, str) and name.isprintable() for name in found):
        fail(key, "is no list of texts, or holds characters for control")
    return tuple(found)
