"""What of a model and a state there is to draw: solids with poses and colours, planes, joints, contacts, flexible
surfaces. Nothing here knows how it is drawn."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from delassus.collision.layout import PLANE
from delassus.io.recording import StepContacts
from delassus.model.model import Model
from delassus.spatial import matrix_to_quaternion, quaternion_multiply, quaternion_to_matrix
from delassus.view.triangles import EACH, TOGETHER, UNIT, Triangles

PALETTE = np.array(
    [
        (0.30, 0.47, 0.66),
        (0.95, 0.56, 0.17),
        (0.35, 0.63, 0.31),
        (0.88, 0.34, 0.35),
        (0.46, 0.72, 0.70),
        (0.93, 0.79, 0.28),
        (0.69, 0.48, 0.63),
    ]
)
"""Of moving bodies whose colours were not chosen, by number."""
FIXED = (0.72, 0.72, 0.74)
STATUS_COLOURS = np.array([(0.55, 0.55, 0.58), (0.13, 0.47, 0.90), (0.92, 0.28, 0.16)])
"""Of contacts that are open, stick and slip."""
STATUS_NAMES = ("open", "stick", "slip")
SLIP = 2
RESIDUALS = (1e-12, 1e-2)
"""Errors that are drawn blue and red: of contacts over the velocities around them, of Coulomb's law over the largest
force."""
HEAT = np.array([(0.23, 0.30, 0.75), (0.55, 0.69, 0.99), (0.87, 0.87, 0.87), (0.96, 0.60, 0.48), (0.71, 0.02, 0.15)])
"""From blue to red."""
_LONGEST_ARROW = 0.35  # of the size of the scene: a large force of a recording; larger ones are drawn no longer than
_CUT_ARROW = 1.5  # times as long
_LOOKS = 12  # states whose solids say how large the picture must be
_MANY = 20  # bodies, of which some may leave the picture
_DETAIL = 20.0  # times as far as the usual body goes: marks of contacts are a fortieth of it, half a body's radius
_LARGE = 0.9  # quantile of forces that is drawn that long: impacts are few, and would make all others invisible


@dataclass(frozen=True, eq=False)
class Solids:
    """k solids of the same triangles.  rows: (k,) of the model's shapes, the first of those that make a surface
    together; body: (k,), −1 for the world; position (k, 3) [m] and rotation (k, 3, 3) in the body's frame at its centre
    of mass; scale: (k, 3) the triangles are stretched by, along their axes; colour: (k, 4) 0 … 1."""

    triangles: Triangles
    rows: np.ndarray
    body: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    scale: np.ndarray
    colour: np.ndarray

    def placed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (k, 3) [m] and rotations (k, 3, 3) in the world, bodies at poses q (n_b, 7)."""
        x, R = self.position.copy(), self.rotation.copy()
        moving = self.body >= 0
        own = q[self.body[moving]]
        turned = quaternion_to_matrix(own[:, 3:]).reshape(-1, 3, 3)
        x[moving] = own[:, :3] + np.einsum("kij,kj->ki", turned, self.position[moving])
        R[moving] = turned @ self.rotation[moving]
        return x, R

    @cached_property
    def quaternion(self) -> np.ndarray:
        """(k, 4) of `rotation`."""
        still = (self.rotation == np.eye(3)).all(axis=(1, 2))
        out = np.tile((1.0, 0.0, 0.0, 0.0), (len(still), 1))
        for k in np.flatnonzero(~still):
            out[k] = matrix_to_quaternion(self.rotation[k])
        return out

    def poses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `placed`, with quaternions (k, 4)."""
        turned = self.quaternion.copy()
        moving = self.body >= 0
        turned[moving] = quaternion_multiply(q[self.body[moving], 3:], self.quaternion[moving]).reshape(-1, 4)
        return self.placed(q)[0], turned

    def vertices(self, q: np.ndarray) -> np.ndarray:
        """(k, v, 3) all corners in the world [m]."""
        x, R = self.placed(q)
        return np.einsum("kij,kvj->kvi", R, self.triangles.vertices * self.scale[:, None]) + x[:, None]


class GroundPlane(NamedTuple):
    """A plane of the world: a point of it [m], and axes (3, 3) as columns, the third its normal."""

    point: np.ndarray
    axes: np.ndarray


class Arrows(NamedTuple):
    """Contact forces.  start: (n, 3) [m]; along: (n, 3) [m], as long as they are drawn; colour: (n, 3)."""

    start: np.ndarray
    along: np.ndarray
    colour: np.ndarray


class Drawing:
    """What is drawn of a model.  bounds: (2, 3) lowest and highest corner of all that moves, of what is fixed where
    nothing does [m]; size: half their distance [m]."""

    def __init__(self, model: Model, q: np.ndarray, nodes: np.ndarray | None = None):
        """q: (N, n_b, 7) and nodes: (N, n_n, 3): some states, all of which are to be seen."""
        self.model = model
        self.bounds = self._bounds(q, nodes)
        self.size = max(0.5 * float(np.linalg.norm(self.bounds[1] - self.bounds[0])), 1e-3)

    @cached_property
    def solids(self) -> list[Solids]:
        """Everything rigid but planes, grouped by the triangles that it shares."""
        shapes, out = self.model.shapes, []
        for kind, (unit, scale) in UNIT.items():
            rows = np.flatnonzero(shapes.kind == kind)
            if len(rows):
                out.append(self._group(unit(len(rows)), rows, scale(shapes.size[rows])))
        for kind, one in EACH.items():
            shared: dict[bytes, tuple[Triangles, list[int]]] = {}
            for s in np.flatnonzero(shapes.kind == kind):
                made = one(shapes, int(s))
                shared.setdefault(made.vertices.tobytes(), (made, []))[1].append(int(s))
            for made, own in shared.values():
                out.append(self._group(made, np.array(own), np.ones((len(own), 3))))
        for kind, together in TOGETHER.items():
            rows = np.flatnonzero(shapes.kind == kind)
            for number in np.unique(shapes.instance[rows]):
                own = rows[shapes.instance[rows] == number]
                made = together(shapes, own)
                first, one3 = own[:1], np.ones((1, 3))
                zero, still = np.zeros((1, 3)), np.eye(3)[None]
                out.append(Solids(made, first, shapes.body[first], zero, still, one3, self._colour(first)))
        return out

    def _group(self, triangles: Triangles, rows: np.ndarray, scale: np.ndarray) -> Solids:
        shapes = self.model.shapes
        return Solids(
            triangles,
            rows,
            shapes.body[rows],
            shapes.local_position[rows],
            shapes.local_rotation[rows],
            scale,
            self._colour(rows),
        )

    def _colour(self, rows: np.ndarray) -> np.ndarray:
        body, chosen = self.model.shapes.body[rows], self.model.colours[rows]
        default = np.where((body < 0)[:, None], FIXED, PALETTE[body % len(PALETTE)])
        return np.where(np.isnan(chosen), np.column_stack([default, np.ones(len(rows))]), chosen)

    @cached_property
    def planes(self) -> list[GroundPlane]:
        """Planes of the world."""
        shapes = self.model.shapes
        rows = np.flatnonzero(shapes.kind == PLANE)
        return [GroundPlane(shapes.local_position[s], shapes.local_rotation[s]) for s in rows]

    def owner(self, row: int) -> str:
        """The name of the body that has this shape."""
        from delassus.collision.instances import FIXTURES

        model, body = self.model, int(self.model.shapes.body[row])
        if body >= 0:
            return model.body_names[body]
        fixture = int(model.shapes.owner[row]) - FIXTURES
        return model.fixed_names[fixture] if fixture < len(model.fixed_names) else "world"

    # -- joints --------------------------------------------------------------------------------------------------------

    def joint_frames(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n_j, 3) [m] and axes (n_j, 3, 3), as columns, of the joints on their base; the third is that about
        or along which most kinds move."""
        joints = self.model.joints
        if not joints.count:
            return np.zeros((0, 3)), np.zeros((0, 3, 3))
        rotation = quaternion_to_matrix(q[:, 3:]).reshape(-1, 3, 3)
        origin, axes, _ = joints.frames(np.ascontiguousarray(q), rotation)
        return origin[:, 0], axes[:, 0]

    def joint_errors(self, q: np.ndarray) -> np.ndarray:
        """(n_j,) largest residual of each joint [m, rad]."""
        joints = self.model.joints
        if not joints.row_count:
            return np.zeros(joints.count)
        rotation = quaternion_to_matrix(q[:, 3:]).reshape(-1, 3, 3)
        residual, _ = joints.constraints(joints.frames(np.ascontiguousarray(q), rotation))
        return np.array([abs(residual[a:b]).max(initial=0.0) for a, b in zip(joints.row_start, joints.row_start[1:])])

    # -- contacts ------------------------------------------------------------------------------------------------------

    def arrows(self, contacts: StepContacts, metres_per_newton: float, *, colour: np.ndarray | None = None) -> Arrows:
        """Forces of contacts on the second body, or on the first where the second is fixed.  colour: (n, 3); by whether
        they stick where none is given."""
        colour = STATUS_COLOURS[contacts.status] if colour is None else colour
        on_first = (contacts.bodies[:, 1] < 0) & (contacts.bodies[:, 0] >= 0)
        along = np.where(on_first, -metres_per_newton, metres_per_newton)[:, None] * contacts.force
        most = _CUT_ARROW * _LONGEST_ARROW * self.size
        length = np.linalg.norm(along, axis=1, keepdims=True)
        return Arrows(contacts.point, along * np.minimum(1.0, most / np.maximum(length, 1e-300)), colour)

    # -- flexible bodies -----------------------------------------------------------------------------------------------

    @cached_property
    def surface(self) -> np.ndarray:
        """(F, 3) triangles of all flexible bodies, numbers of nodes."""
        flexible = self.model.flexible
        if flexible is None:
            return np.zeros((0, 3), np.int64)
        start = flexible.elements.node_start
        return np.concatenate([start[b] + mesh.surface for b, mesh in enumerate(flexible.elements.meshes)])

    def node_stress(self, nodes: np.ndarray) -> np.ndarray:
        """(n_n,) von Mises' stress at the nodes [Pa]: the mean over the elements around each."""
        flexible = self.model.flexible
        if flexible is None or not len(nodes):
            return np.zeros(len(nodes))
        elements = flexible.elements
        stress = elements.von_mises(nodes)
        total, count = np.zeros(len(nodes)), np.zeros(len(nodes))
        for b, mesh in enumerate(elements.meshes):
            own = elements.node_start[b] + mesh.elements
            here = stress[elements.element_start[b] : elements.element_start[b + 1]]
            np.add.at(total, own, here[:, None])
            np.add.at(count, own, 1.0)
        return total / np.maximum(count, 1.0)

    @cached_property
    def _reach(self) -> np.ndarray:
        """(n_b,) how far from its centre of mass each body goes [m]."""
        shapes, out = self.model.shapes, np.zeros(self.model.body_count)
        moving = shapes.body >= 0
        np.maximum.at(out, shapes.body[moving], shapes.pace.arm[moving])
        return out

    @cached_property
    def detail(self) -> float:
        """What the sizes of marks are shares of [m]: the size of the scene, less where bodies are small in it."""
        usual = float(np.median(self._reach)) if len(self._reach) else 0.0
        return min(self.size, _DETAIL * usual) if usual > 0.0 else self.size

    # -- how large -----------------------------------------------------------------------------------------------------

    def _bounds(self, q: np.ndarray, nodes: np.ndarray | None) -> np.ndarray:
        low, high = [], []
        if q.size and q.shape[1] > _MANY:  # what flies away from among many does not count
            reach = self._reach
            low.append(np.quantile((q[..., :3] - reach[:, None]).reshape(-1, 3), 0.01, axis=0))
            high.append(np.quantile((q[..., :3] + reach[:, None]).reshape(-1, 3), 0.99, axis=0))
        seen = [q[..., :3].reshape(-1, 3)] if q.size and not low else []
        if nodes is not None and nodes.size:
            seen.append(nodes.reshape(-1, 3))
        if q.size and not low:
            seen += [
                s.vertices(x)[s.body >= 0].reshape(-1, 3) for x in q[:: max(1, len(q) // _LOOKS)] for s in self.solids
            ]
        if not low and not seen:
            fixed = [s.vertices(np.zeros((0, 7))).reshape(-1, 3) for s in self.solids if (s.body < 0).all()]
            seen = [*fixed, np.array([(-1.0, -1.0, 0.0), (1.0, 1.0, 1.0)])]
        low += [x.min(axis=0) for x in seen if len(x)]
        high += [x.max(axis=0) for x in seen if len(x)]
        return np.array([np.min(low, axis=0), np.max(high, axis=0)])


def heat(values: np.ndarray) -> np.ndarray:
    """(n, 3) colours of values from 0 (blue) to 1 (red); others are drawn as the nearest of these."""
    at = np.clip(np.nan_to_num(values), 0.0, 1.0) * (len(HEAT) - 1)
    below = np.minimum(at.astype(np.int64), len(HEAT) - 2)
    share = (at - below)[:, None]
    return (1.0 - share) * HEAT[below] + share * HEAT[below + 1]


def logarithmic(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values as numbers from 0 (at or below low) to 1 (at or above high), by their logarithms."""
    with np.errstate(divide="ignore"):
        return np.clip((np.log10(np.abs(values)) - math.log10(low)) / (math.log10(high) - math.log10(low)), 0.0, 1.0)


def law_errors(contacts: StepContacts) -> np.ndarray:
    """(n,) by how much each force misses Coulomb's law, over the largest of the step: what lies outside the cone, and
    in slip what is not μ λ_n against the slip."""
    n = contacts.normal
    pressing = np.einsum("ij,ij->i", contacts.force, n)
    friction = contacts.force - pressing[:, None] * n
    outside = np.maximum(np.linalg.norm(friction, axis=1) - contacts.mu * pressing, -pressing)
    speed = np.linalg.norm(contacts.slip, axis=1)
    against = contacts.slip / np.maximum(speed, 1e-300)[:, None]
    sliding = np.linalg.norm(friction + (contacts.mu * pressing)[:, None] * against, axis=1)
    error = np.maximum(np.maximum(outside, 0.0), np.where(contacts.status == SLIP, sliding, 0.0))
    return error / max(float(np.linalg.norm(contacts.force, axis=1).max(initial=0.0)), 1e-300)


def residual_colours(contacts: StepContacts) -> np.ndarray:
    """(n, 3) heat of each contact's residual over the velocities around it, decades from RESIDUALS[0] to RESIDUALS[1];
    grey where nobody judged. Where recordings hold none, of the error of Coulomb's law."""
    found = law_errors(contacts) if contacts.residual_relative is None else contacts.residual_relative
    return np.where(np.isnan(found)[:, None], STATUS_COLOURS[0], heat(logarithmic(found, *RESIDUALS)))


def contact_names(model: Model, contacts: StepContacts, c: int) -> tuple[str, str]:
    """Of the two bodies of a contact; "world" is all that is fixed."""
    first, second = (
        model.flexible.names[soft]
        if soft >= 0 and model.flexible is not None
        else model.body_names[body]
        if body >= 0
        else "world"
        for body, soft in zip(contacts.bodies[c], (-1, -1) if contacts.flexible is None else contacts.flexible[c])
    )
    return first, second


def arrow_scale(forces: np.ndarray, size: float) -> float:
    """Metres a newton is drawn long, where forces (n, 3) [N] are all there are and the scene is so large [m]."""
    norms = np.linalg.norm(forces, axis=1)
    large = float(np.quantile(norms[norms > 0.0], _LARGE)) if (norms > 0.0).any() else 1.0
    return _LONGEST_ARROW * size / large
