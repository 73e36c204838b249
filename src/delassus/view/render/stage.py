"""The stage of a renderer: set up once for a model, then moved from state to state."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.io.recording import StepContacts
from delassus.model.state import State
from delassus.view.drawing import Drawing, GroundPlane, Solids, heat
from delassus.view.render.extra import pyvista
from delassus.view.triangles import lathe, shaded

_LIGHT = np.array([0.35, -0.45, 0.82])
_BACKGROUND, _BACKGROUND_TOP = "#f4f5f7", "#dfe5ec"
_GROUND, _GRID, _SHADOW = "#e9e9e6", "#cfd0cd", "#c3c4c3"
_INK = "#26292e"
_WIDE = 5.0  # ground that is drawn, in radii of the scene
_WALL = 1.2  # the same of walls,
_STEEP = 0.5  # planes whose normals rise less than this
_LETTERS = 8  # size of the caption
_LETTER_WIDTH, _INDENT = 8, 12  # pixels: about a letter's of that size, and left of the caption
GAP = "   "
"""Between the parts of a caption."""
_VIEW_ANGLE = 40.0  # degrees, of the height
_MARGIN = 1.12  # more than what is needed to see all
_LINES = 24  # of the grid, about
_LIFT = 1e-3  # of the scene's radius: shadows and lines lie this far above the ground, so that they are seen


@dataclass(frozen=True)
class Look:
    """How a picture is taken.  size: (width, height) in pixels; azimuth, elevation: where from [degrees]; zoom: 1 shows
    all; forces, joints, stress: draw contact forces, joints, and colour flexible bodies by their stress?"""

    size: tuple[int, int] = (960, 540)
    azimuth: float = -60.0
    elevation: float = 22.0
    zoom: float = 1.0
    forces: bool = True
    joints: bool = False
    stress: bool = True


class _Batch:
    """Some solids as one surface: VTK draws one mesh of a million triangles far faster than a thousand meshes."""

    def __init__(self, pv: Any, parts: list[Solids]):
        self.parts = [(solids, shaded(solids.triangles)) for solids in parts]
        faces, colours, first = [], [], 0
        for solids, made in self.parts:
            count = len(made.vertices)
            starts = first + count * np.arange(len(solids.rows))
            faces.append((made.faces[None] + starts[:, None, None]).reshape(-1, 3))
            colours.append(np.repeat(solids.colour, count, axis=0))
            first += count * len(solids.rows)
        self.faces = np.concatenate(faces)
        cells = np.column_stack([np.full(len(self.faces), 3), self.faces]).ravel()
        self.mesh = pv.PolyData(np.zeros((first, 3)), cells)
        self.mesh.point_data["colour"] = np.rint(255 * np.concatenate(colours)).astype(np.uint8)

    def move(self, q: np.ndarray) -> None:
        """To these poses (n_b, 7)."""
        points, normals = [], []
        for solids, made in self.parts:
            x, R = solids.placed(q)
            corners = made.vertices[None] * solids.scale[:, None]
            across = made.normals[None] / solids.scale[:, None]
            points.append((np.einsum("kij,kvj->kvi", R, corners) + x[:, None]).reshape(-1, 3))
            turned = np.einsum("kij,kvj->kvi", R, across).reshape(-1, 3)
            normals.append(turned / np.linalg.norm(turned, axis=1, keepdims=True))
        self.mesh.points = np.concatenate(points)
        self.mesh.point_data["Normals"] = np.concatenate(normals)
        self.mesh.GetPointData().SetActiveNormals("Normals")


class Stage:
    """A model in front of a camera.  metres_per_newton: how long forces are drawn; most_stress: that is drawn red
    [Pa]."""

    def __init__(self, drawing: Drawing, look: Look, metres_per_newton: float, most_stress: float):
        self.drawing, self.look, self.scale, self.most_stress = drawing, look, metres_per_newton, most_stress
        self.pv = pyvista()
        self.centre, self.radius = drawing.bounds.mean(axis=0), drawing.size
        a, e = np.radians(look.azimuth), np.radians(look.elevation)
        self.eye = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        self.plotter = self.pv.Plotter(off_screen=True, window_size=look.size, lighting="none")
        self.plotter.set_background(_BACKGROUND, top=_BACKGROUND_TOP)
        self.plotter.enable_anti_aliasing("msaa", multi_samples=4)
        self._lights()
        self.ground = self._planes()
        self.shadows: list[tuple[Any, Any, GroundPlane]] = []
        self.batch = _Batch(self.pv, drawing.solids) if drawing.solids else None
        if self.batch is not None:
            self._solid(self.batch.mesh)
            self._cast(self.batch.mesh)
        self.soft = self._soft()
        self.caption = self.plotter.add_text(" ", position=(_INDENT, 10), font_size=_LETTERS, color=_INK)
        self._camera(drawing.bounds)
        self.arrows: Any = None
        self.axes: Any = None

    def picture(self, state: State, contacts: StepContacts | None, caption: str) -> np.ndarray:
        """(height, width, 3) bytes."""
        if self.batch is not None:
            self.batch.move(state.q)
        if self.soft is not None:
            self.soft.points = state.nodes
            if self.look.stress:
                stress = self.drawing.node_stress(state.nodes) / self.most_stress
                self.soft.point_data["colour"] = np.rint(255 * heat(stress)).astype(np.uint8)
            self.soft.compute_normals(inplace=True, split_vertices=False)
        for shadow, mesh, plane in self.shadows:
            shadow.points = self._flat(np.asarray(mesh.points), plane)
        if self.look.forces:
            self._draw_arrows(contacts)
        if self.look.joints:
            self._draw_axes(state.q)
        self.caption.SetInput(self._in_lines(caption))
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(None, return_img=True))[..., :3]

    def _in_lines(self, caption: str) -> str:
        """Broken between its parts, where it is wider than the picture."""
        lines = [""]
        for part in caption.split(GAP):
            longer = lines[-1] + GAP + part if lines[-1] else part
            if lines[-1] and _LETTER_WIDTH * len(longer) > self.look.size[0] - 2 * _INDENT:
                lines.append(part)
            else:
                lines[-1] = longer
        return "\n".join(lines)

    def close(self) -> None:
        """Give its memory back."""
        self.plotter.close()

    # -- setting up ----------------------------------------------------------------------------------------------------

    def _lights(self) -> None:
        light = self.pv.Light(position=_LIGHT, light_type="scene light", intensity=0.75)
        light.positional = False
        self.plotter.add_light(light)
        self.plotter.add_light(self.pv.Light(light_type="headlight", intensity=0.4))

    def _camera(self, bounds: np.ndarray) -> None:
        """As near as all of the bounds' corners are seen from."""
        up = np.array((0.0, 0.0, 1.0)) if abs(self.eye[2]) < 0.999 else np.array((0.0, 1.0, 0.0))
        right = np.cross(up, self.eye)
        right /= np.linalg.norm(right)
        corners = np.array([[x, y, z] for x in bounds[:, 0] for y in bounds[:, 1] for z in bounds[:, 2]]) - self.centre
        tall = math.tan(math.radians(0.5 * _VIEW_ANGLE))
        wide = tall * self.look.size[0] / self.look.size[1]
        across, height = abs(corners @ right) / wide, abs(corners @ np.cross(self.eye, right)) / tall
        distance = _MARGIN * float((np.maximum(across, height) + corners @ self.eye).max()) / self.look.zoom
        distance = max(distance, 1.05 * self.radius)
        camera = self.plotter.camera
        camera.position, camera.focal_point, camera.up = self.centre + distance * self.eye, self.centre, tuple(up)
        camera.view_angle = _VIEW_ANGLE
        camera.clipping_range = (0.02 * distance, distance + 4.0 * _WIDE * self.radius)

    def _planes(self) -> list[GroundPlane]:
        """Those that face the camera, with a grid of lines; others would only hide what is behind them."""
        shown = [plane for plane in self.drawing.planes if plane.axes[:, 2] @ self.eye > 0.0]
        for plane in shown:
            n = plane.axes[:, 2]
            foot = self.centre - n * float(n @ (self.centre - plane.point))
            is_wall = n[2] < _STEEP
            half = (_WALL if is_wall else _WIDE) * self.radius
            quad = self.pv.Plane(
                center=foot, direction=n, i_size=2 * half, j_size=2 * half, i_resolution=1, j_resolution=1
            )
            self.plotter.add_mesh(quad, color=_GROUND, lighting=False, opacity=0.5 if is_wall else 1.0)
            self.plotter.add_mesh(self._grid(foot, plane.axes, half), color=_GRID, line_width=1, lighting=False)
        return shown

    def _grid(self, foot: np.ndarray, axes: np.ndarray, half: float) -> Any:
        gap = nice(2 * half / _LINES)
        at = np.arange(-np.ceil(half / gap), np.ceil(half / gap) + 1) * gap
        lift = foot + _LIFT * self.radius * axes[:, 2]
        ends = []
        for along, across in ((0, 1), (1, 0)):
            off = gap * np.round(float(foot @ axes[:, across]) / gap) - float(foot @ axes[:, across])
            for k in at:
                middle = lift + (k + off) * axes[:, across]
                ends += [middle - half * axes[:, along], middle + half * axes[:, along]]
        count = len(ends) // 2
        lines = np.column_stack([np.full(count, 2), 2 * np.arange(count), 2 * np.arange(count) + 1]).ravel()
        return self.pv.PolyData(np.array(ends), lines=lines)

    def _cast(self, mesh: Any) -> None:
        """A shadow of this mesh on the ground: one on every wall would take longer than all the rest."""
        for plane in self.ground:
            if plane.axes[2, 2] >= _STEEP and plane.axes[:, 2] @ _LIGHT > 0.0:
                shadow = self.pv.PolyData(np.zeros((mesh.n_points, 3)), np.asarray(mesh.faces))
                self.shadows.append((shadow, mesh, plane))
                self.plotter.add_mesh(shadow, color=_SHADOW, lighting=False)

    def _flat(self, points: np.ndarray, plane: GroundPlane) -> np.ndarray:
        n = plane.axes[:, 2]
        height = np.maximum((points - plane.point) @ n, 0.0)
        return (
            points
            - np.outer(height / float(n @ _LIGHT), _LIGHT)
            + (1.5 * _LIFT * self.radius) * n
            - np.outer(np.minimum((points - plane.point) @ n, 0.0), n)
        )

    def _soft(self) -> Any:
        surface = self.drawing.surface
        if not len(surface):
            return None
        rest = self.drawing.model.flexible.elements.rest  # type: ignore[union-attr]
        mesh = self.pv.PolyData(rest.copy(), np.column_stack([np.full(len(surface), 3), surface]).ravel())
        mesh.point_data["colour"] = np.full((len(rest), 3), (96, 160, 170), np.uint8)
        self._solid(mesh)
        self._cast(mesh)
        return mesh

    def _solid(self, mesh: Any) -> None:
        """Normals are ours: pyvista's smooth shading would copy the mesh, and the copy would not move."""
        actor = self.plotter.add_mesh(
            mesh, scalars="colour", rgb=True, smooth_shading=False, ambient=0.18, diffuse=0.85
        )
        actor.prop.interpolation = "Phong"

    # -- of each picture -----------------------------------------------------------------------------------------------

    def _draw_arrows(self, contacts: StepContacts | None) -> None:
        if self.arrows is not None:
            self.plotter.remove_actor(self.arrows, render=False)
            self.arrows = None
        if contacts is None or not len(contacts.gap):
            return
        found = self.drawing.arrows(contacts, self.scale)
        length = np.linalg.norm(found.along, axis=1)
        shown = length > 1e-3 * self.radius
        if shown.any():
            mesh = _arrow_mesh(self.pv, found.start[shown], found.along[shown], found.colour[shown], self.radius)
            self.arrows = self.plotter.add_mesh(mesh, scalars="colour", rgb=True, render=False)

    def _draw_axes(self, q: np.ndarray) -> None:
        origin, axes = self.drawing.joint_frames(q)
        if self.axes is not None:
            self.plotter.remove_actor(self.axes, render=False)
        if len(origin):
            along = 0.16 * self.radius * axes[:, :, 2]
            colour = np.tile((0.20, 0.20, 0.22), (len(origin), 1))
            mesh = _arrow_mesh(self.pv, origin - 0.5 * along, along, colour, self.radius)
            self.axes = self.plotter.add_mesh(mesh, scalars="colour", rgb=True, render=False)


def _arrow_mesh(pv: Any, start: np.ndarray, along: np.ndarray, colour: np.ndarray, radius: float) -> Any:
    """All arrows as one mesh."""
    length = np.linalg.norm(along, axis=1)
    thick = np.minimum(0.012 * radius, 0.12 * length)
    one = lathe(np.array([0.0, 1.0, 1.0, 2.6, 0.0]), np.array([0.0, 0.0, 0.7, 0.7, 1.0]))
    n = along / length[:, None]
    helper = np.where(np.abs(n[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    x = np.cross(helper, n)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.cross(n, x)
    v, (a, b, c) = len(one.vertices), one.vertices.T
    points = (
        start[:, None]
        + (thick[:, None] * a)[..., None] * x[:, None]
        + (thick[:, None] * b)[..., None] * y[:, None]
        + c[None, :, None] * along[:, None]
    )
    faces = (one.faces[None] + v * np.arange(len(start))[:, None, None]).reshape(-1, 3)
    mesh = pv.PolyData(points.reshape(-1, 3), np.column_stack([np.full(len(faces), 3), faces]).ravel())
    mesh.point_data["colour"] = np.rint(255 * np.repeat(colour, v, axis=0)).astype(np.uint8)
    return mesh


def nice(value: float) -> float:
    """1, 2 or 5 times a power of ten, the next one up."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= value * (1 - 1e-9)))
