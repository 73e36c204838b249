"""A film of a run: its shapes from one side, painted back to front, as an animated GIF. No viewer, but it shows what
happened."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, PLANE, SPHERE, SUPPORT_ONLY, TRIANGLE
from delassus.io.place import beside
from delassus.model.model import Model
from delassus.spatial import quaternion_to_matrix
from delassus.view.extra import need_figures
from delassus.view.surfaces import LIGHT, Polygon, surface_polygons, triangles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUND = 24  # corners of a circle
_MOST_LINED = 4000  # polygons: the edges of more would hide what is between them
_BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_FIXED = (0.75, 0.75, 0.75)
_COLOURS = (
    (0.30, 0.47, 0.66),
    (0.95, 0.56, 0.17),
    (0.35, 0.63, 0.31),
    (0.88, 0.34, 0.35),
    (0.46, 0.72, 0.70),
    (0.93, 0.79, 0.28),
    (0.69, 0.48, 0.63),
)


def write_film(
    path: Path,
    model: Model,
    q: np.ndarray,
    t: np.ndarray,
    nodes: np.ndarray,
    *,
    fps: float,
    azimuth: float,
    elevation: float,
) -> None:
    """A frame for each of these states.  q: (N, n_b, 7); t: (N,) [s], written into the picture; nodes: (N, n_n, 3) of
    flexible bodies; fps: frames a second; azimuth, elevation: where it is looked at from [degrees]."""
    need_figures()
    from matplotlib.animation import PillowWriter
    from matplotlib.figure import Figure

    camera = camera_at(azimuth, elevation)
    figure = Figure(figsize=(6.4, 4.8), dpi=100, layout="constrained")
    axes = figure.subplots()
    low, high = bounds_of(model, q, camera, nodes)
    writer = PillowWriter(fps=fps)  # type: ignore[arg-type]  # any number will do
    with beside(path) as name, writer.saving(figure, str(name), dpi=100):
        for k in range(len(q)):
            axes.clear()
            draw_state(axes, model, q[k], camera, low, high, nodes[k])
            axes.set_title(f"t = {t[k]:.2f} s", fontsize=9)
            writer.grab_frame()


class Window:
    """What a picture of a moving mechanism shows: a part of the world of fixed size, with its bodies in the middle."""

    def __init__(self, model: Model, q: np.ndarray, *, azimuth: float = -70.0, elevation: float = 15.0):
        """q: (n_b, 7) the poses that say how large it is; azimuth, elevation: where it is looked at from [degrees]."""
        self.camera = camera_at(azimuth, elevation)
        low, high = bounds_of(model, q[None], self.camera)
        self.half = 0.75 * (high - low)  # half as much again as the mechanism takes

    def around(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(2,) each: its lower left and upper right corner around these poses."""
        low, high = bounds_of(model, q[None], self.camera)
        middle = 0.5 * (low + high)
        return middle - self.half, middle + self.half


def picture_of(model: Model, q: np.ndarray, window: Window) -> np.ndarray:
    """(480, 640, 3) bytes: the shapes at these poses (n_b, 7)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas: Any = FigureCanvasAgg(figure)  # comes without types
    draw_state(figure.add_axes((0.0, 0.0, 1.0, 1.0)), model, q, window.camera, *window.around(model, q))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def camera_at(azimuth: float, elevation: float) -> np.ndarray:
    """(3, 3) rows: right, up and towards the eye."""
    a, e = math.radians(azimuth), math.radians(elevation)
    eye = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    return np.stack([right, np.cross(eye, right), eye])


def bounds_of(
    model: Model, q: np.ndarray, camera: np.ndarray, nodes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the picture shows, (2,) each: all places bodies ever are at, and their shapes around them; nodes: (…, 3) of
    flexible ones."""
    arm = model.shapes.pace.arm
    reach = np.zeros(model.body_count)
    for s, b in enumerate(model.shapes.body):
        if b >= 0:
            reach[b] = max(reach[b], arm[s])
    soft = np.zeros((0, 2)) if nodes is None else nodes.reshape(-1, 3) @ camera[:2].T
    at = q[..., :3] @ camera[:2].T if q.size else soft[:1, None] if len(soft) else np.zeros((1, 1, 2))
    far = reach[:, None] if q.size else np.zeros((1, 1)) if len(soft) else np.ones((1, 1))
    low, high = (at - far).min(axis=(0, 1)), (at + far).max(axis=(0, 1))
    if len(soft):
        low, high = np.minimum(low, soft.min(axis=0)), np.maximum(high, soft.max(axis=0))
    edge = 0.05 * float((high - low).max()) + 1e-3
    return low - edge, high + edge


def draw_state(
    axes: "Axes",
    model: Model,
    q: np.ndarray,
    camera: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    nodes: np.ndarray | None = None,
    colours: np.ndarray | None = None,
) -> None:
    """All shapes at these poses (n_b, 7), the far ones first; nodes: (n_n, 3) of flexible bodies, colours: (F, 3) of
    their surfaces, instead of one a body."""
    from matplotlib.collections import PolyCollection

    found: list[Polygon] = []
    shapes, rotation = model.shapes, quaternion_to_matrix(q[:, 3:])
    for s, b in enumerate(shapes.body):
        R = shapes.local_rotation[s] if b < 0 else rotation[b] @ shapes.local_rotation[s]
        x = shapes.local_position[s] if b < 0 else q[b, :3] + rotation[b] @ shapes.local_position[s]
        colour = _FIXED if b < 0 else _COLOURS[b % len(_COLOURS)]
        found += _polygons(shapes, s, R, x, camera, colour, (low, high))
    if model.flexible is not None and nodes is not None:
        triangles, owner = triangles_of(model.flexible.elements)
        if colours is None:
            colours = np.array([_COLOURS[(model.body_count + k) % len(_COLOURS)] for k in owner])
        found += surface_polygons(triangles, nodes, camera, colours)
    found.sort(key=lambda polygon: polygon[0])
    axes.add_collection(
        PolyCollection(
            [corners for _, corners, _ in found],
            facecolors=[colour for _, _, colour in found],
            edgecolors="0.25" if len(found) <= _MOST_LINED else "face",
            linewidths=0.4,
        )
    )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()


def _polygons(
    shapes: ShapeArrays,
    s: int,
    R: np.ndarray,
    x: np.ndarray,
    camera: np.ndarray,
    colour: tuple[float, ...],
    window: tuple[np.ndarray, np.ndarray],
) -> list[Polygon]:
    """What is seen of shape s, turned by R and placed at x."""
    kind, size = shapes.kind[s], shapes.size[s]
    if kind == PLANE:
        return _ground(R, x, camera, colour, window)
    if kind in (SPHERE, CAPSULE):
        half = size[1] if kind == CAPSULE else 0.0
        ends = np.array([x - half * R[:, 2], x + half * R[:, 2]]) @ camera.T
        return [(ends[:, 2].mean(), _hull_of_circles(ends[:, :2], size[0]), colour)]
    corners, faces = _solid(shapes, s)
    world = corners @ R.T + x
    seen, depth = world @ camera.T, []
    for face in faces:
        normal = np.cross(world[face[1]] - world[face[0]], world[face[2]] - world[face[0]])
        if normal @ camera[2] > 0.0 or kind == TRIANGLE:
            shade = 0.75 + 0.25 * float(normal @ LIGHT) / max(float(np.linalg.norm(normal)), 1e-300)
            depth.append((seen[:, 2].mean(), seen[list(face), :2], tuple(shade * c for c in colour)))
    return depth


def _ground(
    R: np.ndarray, x: np.ndarray, camera: np.ndarray, colour: tuple[float, ...], window: tuple[np.ndarray, np.ndarray]
) -> list[Polygon]:
    """The half of the picture that a plane covers: seen from in front it is everything below its horizon, a line."""
    low, high = window
    centre = camera.T @ np.array([*(0.5 * (low + high)), 0.0])
    foot = centre + R[:, 2] * float(R[:, 2] @ (x - centre))
    far = 0.6 * float(np.linalg.norm(high - low))
    corners = np.array([foot + far * (a * R[:, 0] + b * R[:, 1]) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
    return [(-np.inf, (corners @ camera.T)[:, :2], tuple(0.5 + 0.6 * c for c in colour))]


def _hull_of_circles(ends: np.ndarray, radius: float) -> np.ndarray:
    """Outline (k, 2) of two circles and what is between them."""
    along = ends[1] - ends[0]
    start = math.atan2(along[1], along[0]) + 0.5 * math.pi
    turn = np.linspace(0.0, math.pi, _ROUND // 2 + 1)
    halves = [
        ends[k] + radius * np.stack([np.cos(start + k * math.pi + turn), np.sin(start + k * math.pi + turn)], 1)
        for k in (0, 1)
    ]
    return np.concatenate(halves)


def _solid(shapes: ShapeArrays, s: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Corners (k, 3) in the shape's frame and its faces, counter-clockwise from outside."""
    kind = shapes.kind[s]
    if kind == CYLINDER:
        radius, half = shapes.size[s, :2]
        turn = np.linspace(0.0, 2.0 * math.pi, _ROUND, endpoint=False)
        ring = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        corners = np.concatenate([np.column_stack([ring, np.full(_ROUND, z)]) for z in (-half, half)])
        sides = [(k, (k + 1) % _ROUND, _ROUND + (k + 1) % _ROUND, _ROUND + k) for k in range(_ROUND)]
        return corners, [*sides, tuple(range(_ROUND, 2 * _ROUND)), tuple(range(_ROUND))[::-1]]
    if kind in (CONVEX, TRIANGLE):
        vertex, start, face, face_start, shape_face, *_ = shapes.vertices
        corners = vertex[start[s] : start[s + 1]]
        if kind == TRIANGLE:
            return corners, [(0, 1, 2)]
        own = range(int(shape_face[s]), int(shape_face[s + 1]))
        return corners, [tuple(int(i) for i in face[face_start[f] : face_start[f + 1]]) for f in own]
    assert kind in (BOX, SUPPORT_ONLY)  # of what is known by its support function, the box that holds it
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * shapes.half[s], list(_BOX_FACES)
