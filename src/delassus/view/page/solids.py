"""Bodies of the states that an exported page keeps, packed into text that its panel reads (bodies.html): what was
clicked is found among their solids, and told as `panel.about_row` tells it."""

from typing import Any

import numpy as np

from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.view.drawing import Drawing, Solids
from delassus.view.page.packed import text
from delassus.view.page.scenery import Scenery

BYTES, BALL_BYTES = 52, 24
"""Of a body in a state: position, orientation, velocities; of one among very many balls position and velocity."""


def bytes_of(scenery: Scenery) -> int:
    """Of a body in a state."""
    return BALL_BYTES if scenery.balls and not scenery.solids else BYTES


def packed_solids(run: Trajectory, model: Model, scenery: Scenery, steps: list[int]) -> dict[str, Any]:
    """For JSON.  steps: numbers of the states that are kept."""
    drawing, are_turned = scenery.drawing, bytes_of(scenery) == BYTES
    q, u = run.q[steps], run.u[steps]
    kept = (q, u) if are_turned else (q[..., :3], u[..., :3])
    groups = [(s, False) for s, _ in scenery.solids] + [(s, True) for s, _ in scenery.balls]
    return {
        "names": model.body_names,
        "mass": model.mass.tolist(),
        "turned": are_turned,
        "states": text(np.concatenate(kept, axis=2).astype("<f4")),
        "count": model.body_count,
        "groups": [_group(drawing, solids, is_ball) for solids, is_ball in groups],
    }


def _group(drawing: Drawing, solids: Solids, is_ball: bool) -> dict[str, Any]:
    """Solids of the same triangles, or balls: whose they are, friction, and place, orientation and scale of each."""
    place = np.column_stack([solids.position, solids.quaternion, solids.scale])
    faces = np.zeros((0, 3)) if is_ball else solids.triangles.faces
    fixed = {k: drawing.owner(int(solids.rows[k])) for k in np.flatnonzero(solids.body < 0).tolist()}
    return {
        "body": text(solids.body.astype("<i4")),
        "places": text(place.astype("<f4")),
        "fixed": fixed,
        "mu": text(drawing.model.shapes.surface[solids.rows, 1].astype("<f4")),
        "vertices": text(solids.triangles.vertices.astype("<f4")),
        "faces": text(faces.astype("<u4")),
    }
