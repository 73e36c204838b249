"""The systems of Tsounis et al. 2025: their dimensions, counted in the ways there are, what they do in a run, and one
picture of all of them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, PLANE, SPHERE
from delassus.io.recording import Trajectory
from delassus.joints.arrays import PASSIVE
from delassus.model.model import Model
from delassus.scenes import Setup
from delassus.spatial import rotations_of

_AT_LIMIT = 1e-4  # rad, m: a coordinate this near is at its limit
_SAMPLES = 60  # steps of a run whose contacts are looked at


@dataclass(frozen=True)
class Dimensions:
    """Of a model. constraints: rows of joints; rank: of their Jacobian; mounts: joints to the world."""

    bodies: int
    joints: int
    mounts: int
    constraints: int
    rank: int
    actuated: int
    ratio: float
    is_free: bool

    @property
    def of_joints(self) -> int:
        """Degrees of freedom: six per joint less its constraints, and six of a free base."""
        return 6 * self.joints - self.constraints + 6 * self.is_free

    @property
    def of_mechanism(self) -> int:
        """Degrees of freedom: six per body less the rank of the constraints."""
        return 6 * self.bodies - self.rank

    @property
    def loops(self) -> int:
        """Joints beyond those of a tree."""
        return self.joints - self.mounts - (self.bodies - 1)


def dimensions(setup: Setup) -> Dimensions:
    """Of the model as it starts."""
    model, joints = setup.model, setup.model.joints
    mounts = int((joints.bodies[:, 0] < 0).sum())
    return Dimensions(
        model.body_count,
        joints.count,
        mounts,
        joints.row_count,
        _rank(model, setup.state.q),
        int((joints.drive != PASSIVE).sum()),
        float(model.mass.max() / model.mass.min()),
        mounts == 0,
    )


def _rank(model: Model, q: np.ndarray) -> int:
    joints = model.joints
    if not joints.row_count:
        return 0
    _, rows = joints.constraints(joints.frames(q, rotations_of(q)))
    J = np.zeros((joints.row_count, 6 * model.body_count + 6))  # the last six: the world's, dropped
    for side in range(2):
        columns = 6 * np.where(joints.row_bodies[:, side] < 0, model.body_count, joints.row_bodies[:, side])
        J[np.arange(len(J))[:, None], columns[:, None] + np.arange(6)] += rows[:, 6 * side : 6 * side + 6]
    return int(np.linalg.matrix_rank(J[:, :-6]))


@dataclass(frozen=True)
class Lived:
    """What a run did. own: contacts of its bodies with each other; stops: coordinates that were at a limit."""

    seconds: float
    steps: int
    converged: int
    drift: float
    contacts: int
    own: int
    stops: int

    def __str__(self) -> str:
        return (
            f"{self.converged} of {self.steps} steps converge, joints open by at most {self.drift:.0e}; up to "
            f"{self.contacts} contacts, {self.own} between its own bodies; {self.stops} joints reach a limit"
        )


def lived(setup: Setup, run: Trajectory) -> Lived:
    """Looked at in some of its steps."""
    found = [run.contacts(k) for k in range(0, run.step_count, max(1, run.step_count // _SAMPLES))]
    pressed = [c.bodies[np.linalg.norm(c.force, axis=1) > 0.0] for c in found]
    joints, angle = setup.model.joints, run.array("joints/coordinate")
    at = (angle < joints.lower + _AT_LIMIT) | (angle > joints.upper - _AT_LIMIT)
    return Lived(
        float(run.t[-1]),
        run.step_count,
        int(run.converged.sum()),
        float(run.drift.max(initial=0.0)),
        max((len(c.gap) for c in found), default=0),
        max((int((b >= 0).all(axis=1).sum()) for b in pressed), default=0),
        int(at.any(axis=0).sum()),
    )


def are_primitives_or_hulls(model: Model) -> bool:
    """No triangles, no shape of somebody's own."""
    return bool(np.isin(model.shapes.kind, (SPHERE, PLANE, BOX, CAPSULE, CYLINDER, CONVEX)).all())


def has_limits(model: Model) -> bool:
    """On every driven coordinate?"""
    joints = model.joints
    driven = joints.drive != PASSIVE
    return bool((np.isfinite(joints.lower) & np.isfinite(joints.upper))[driven].all())


def has_shells(model: Model) -> bool:
    """Are there bodies of several shapes that rods of the mechanism inside may hit?"""
    shapes, names = model.shapes, model.body_names
    plated = np.flatnonzero(np.bincount(shapes.body[shapes.body >= 0], minlength=model.body_count) > 1)
    joined = {frozenset(pair) for pair in model.joints.bodies.tolist()}
    rods = [k for k, name in enumerate(names) if name.endswith("-rod")]
    return any(frozenset((int(a), b)) not in joined for a in plated for b in rods)


def sheet(path: Path, rows: list[dict[str, tuple[Setup, Trajectory]]], size: tuple[int, int] = (300, 260)) -> bool:
    """One picture of the ends of all runs, with their names, row by row, where pictures can be rendered."""
    from delassus.view.render import extra, film
    from delassus.view.render.stage import Look

    if not extra.is_installed():
        return False
    look, across = Look(size, elevation=15.0), max(len(row) for row in rows)
    found = np.full((len(rows) * size[1], across * size[0], 3), 255, np.uint8)
    for i, row in enumerate(rows):
        for j, (name, (setup, run)) in enumerate(row.items()):
            picture = next(film.pictures(run, setup.model, np.array([run.step_count]), look, title=None))
            found[i * size[1] : (i + 1) * size[1], j * size[0] : (j + 1) * size[0]] = _named(picture, name)
    film.write_picture(path, found)
    return True


def _named(picture: np.ndarray, name: str) -> np.ndarray:
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    ImageDraw.Draw(image).text((8, 6), name, fill=(28, 39, 51), font_size=14)
    return np.asarray(image)
