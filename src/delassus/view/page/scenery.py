"""A drawing in the scene of a page: put there once, then moved from state to state."""

from collections.abc import Callable
from typing import Any

import numpy as np

from delassus.collision.layout import SPHERE
from delassus.io.recording import StepContacts
from delassus.model.state import State
from delassus.spatial import matrix_to_quaternion
from delassus.view.drawing import STATUS_COLOURS, Drawing, GroundPlane, Solids, heat, logarithmic, residual_colours
from delassus.view.page import picking
from delassus.view.page.glb import glb
from delassus.view.page.sprites import BALLS, NEEDLES, put_balls, put_needles
from delassus.view.triangles import shaded

BY_STATE, BY_RESIDUAL, BY_LAW, BY_PENETRATION = (
    "stick, slip, open",
    "residual",
    "error of Coulomb's law",
    "penetration",
)
"""How contacts are coloured; by Coulomb's law where recordings of older versions hold no residuals of contacts."""
_MARK = (255, 214, 10)  # of the contact that was clicked
_LEVEL = 0.7  # cosine of the slope of planes that are ground and not walls
_MOST_ARROWS = 300  # of a state; more forces are needles, a triangle each instead of a hundred
_MOST_SHADOWED = 2000  # of a shape; a shadow is one more picture of all of them in every frame, or several
_CONTACTS = ("/forces", NEEDLES + "contacts", BALLS + "contacts")  # what is drawn of them
_LINES_ON_WHITE, _LINES_ON_BLACK = (205, 185), (60, 90)  # grey of cells and of sections


class Scenery:
    """What is drawn of a model on a page.  server: of viser, or a client's; metres_per_newton, most_stress [Pa],
    deepest [m]: how long forces are drawn, and what is red; picked: called with the row of a shape that is clicked."""

    def __init__(
        self,
        server: Any,
        drawing: Drawing,
        metres_per_newton: float,
        most_stress: float,
        deepest: float,
        picked: Callable[[int], None] | None = None,
    ):
        self.server, self.scene, self.drawing = server, server.scene, drawing
        self.scale, self.most_stress, self.deepest = metres_per_newton, max(most_stress, 1e-300), max(deepest, 1e-9)
        self.picked = picked
        self.colouring, self.show_forces, self.heat_joints = BY_STATE, True, False
        self.shown: dict[str, Any] = {}  # what comes and goes, by name
        self.solids: list[tuple[Solids, Any]] = []  # and their meshes
        self.balls: list[tuple[Solids, str]] = []  # and what their sprites are called
        for k, solids in enumerate(drawing.solids):
            if self.are_balls(solids):
                self.balls.append((solids, f"solids{k}"))
            else:
                self.solids.append(self._add(k, solids))
        self.are_many = any(len(solids.rows) > _MOST_SHADOWED for solids in drawing.solids)
        if self.are_many:
            # Else shaders look for shadows at every corner and pixel, though nothing throws one: half their work.
            self.scene.configure_default_lights(cast_shadow=False)
        self.grids = [self._add_grid(k, plane) for k, plane in enumerate(drawing.planes)]
        self.darken(False)
        self.visible = {"joints": False, "centres of mass": False}

    def _add(self, k: int, solids: Solids) -> tuple[Solids, Any]:
        made, n = shaded(solids.triangles), len(solids.rows)
        handle = self.scene.add_batched_meshes_simple(
            f"/solids/{k}",
            made.vertices.astype(np.float32),
            made.faces.astype(np.uint32),
            np.tile(np.array((1, 0, 0, 0), np.float32), (n, 1)),
            np.zeros((n, 3), np.float32),
            batched_scales=solids.scale.astype(np.float32),
            batched_colors=_bytes(solids.colour[:, :3]),
            batched_opacities=None if (solids.colour[:, 3] == 1.0).all() else solids.colour[:, 3].astype(np.float32),
            lod="off",
            cast_shadow=n <= _MOST_SHADOWED,
            receive_shadow=n <= _MOST_SHADOWED,
        )
        if self.picked is not None:
            picked = self.picked
            handle.on_click(lambda event: picked(int(solids.rows[event.instance_index or 0])))
        return solids, handle

    def _add_grid(self, k: int, plane: GroundPlane) -> Any:
        """Of a plane, below or beside all that moves; walls, through which one looks, are no larger than that."""
        centre, normal = self.drawing.bounds.mean(axis=0), plane.axes[:, 2]
        size = (10.0 if abs(normal[2]) > _LEVEL else 2.0) * self.drawing.size
        return self.scene.add_grid(
            f"/planes/{k}",
            size,
            size,
            cell_size=0.25 * self.drawing.size,
            section_size=1.25 * self.drawing.size,
            position=centre - ((centre - plane.point) @ normal) * normal,
            wxyz=matrix_to_quaternion(plane.axes),
        )

    def row_at(self, origin: np.ndarray, sight: np.ndarray, q: np.ndarray, row: int) -> int:
        """The shape in front on a line of sight, where viser, which knows nothing of balls, found that of this row or
        none (−1)."""
        best = np.inf
        for solids, _ in self.solids:
            if row in solids.rows:
                best = picking.distance(origin, sight, solids, row, q)
        for balls, _ in self.balls:
            away, ball = picking.first_ball(origin, sight, balls, q)
            if away < best:
                best, row = away, ball
        return row

    def darken(self, dark: bool) -> None:
        """Lines of the ground that do not shine on black."""
        cell, section = _LINES_ON_BLACK if dark else _LINES_ON_WHITE
        for grid in self.grids:
            grid.cell_color, grid.section_color = (cell,) * 3, (section,) * 3

    def move(self, state: State, contacts: StepContacts | None) -> None:
        """To a state, with the contacts of the step that led there."""
        with self.server.atomic():
            for solids, handle in self.solids:
                if (solids.body >= 0).any() or not handle.batched_positions.any():
                    x, turned = solids.poses(state.q)
                    handle.batched_positions = x.astype(np.float32)
                    handle.batched_wxyzs = turned.astype(np.float32)
            for solids, name in self.balls:
                if (solids.body >= 0).any() or BALLS + name not in self.shown:
                    x, colour = solids.placed(state.q)[0], _bytes(solids.colour[:, :3])
                    put_balls(self.scene, self._put, name, x, colour, solids.scale[:, 0])
            self._move_joints(state)
            self._move_soft(state)
            self._move_contacts(contacts)

    def are_balls(self, solids: Solids) -> bool:
        """Spheres so many that they are drawn as sprites; those of one colour look the same however they turn."""
        is_sphere = (self.drawing.model.shapes.kind[solids.rows] == SPHERE).all()
        return bool(is_sphere and len(solids.rows) > _MOST_SHADOWED and (solids.colour[:, 3] == 1.0).all())

    def _put(self, name: str, add: Callable[..., Any], **given: Any) -> None:
        """Add what is not there yet and change what is: whatever is added anew has its shaders compiled anew, which
        takes a second without a GPU."""
        handle = self.shown.get(name)
        if handle is None:
            self.shown[name] = add(name, **given)
            return
        handle.visible = True
        for key, value in given.items():
            setattr(handle, key, value)

    def hide(self, name: str) -> None:
        """Show a layer no more: "/joints", "/read", "/forces", or one of balls or needles."""
        if name in self.shown:
            self.shown[name].visible = False

    def _move_joints(self, state: State) -> None:
        drawing, size = self.drawing, self.drawing.detail
        if self.visible["joints"] and drawing.model.joints.count:
            origin, axes = drawing.joint_frames(state.q)
            self._put(
                "/joints",
                self.scene.add_batched_axes,
                batched_positions=origin.astype(np.float32),
                batched_wxyzs=np.array([matrix_to_quaternion(R) for R in axes], np.float32),
                axes_length=0.12 * size,
                axes_radius=0.006 * size,
            )
        if self.heat_joints and drawing.model.joints.count:
            origin, _ = drawing.joint_frames(state.q)
            colour = heat(logarithmic(drawing.joint_errors(state.q), 1e-12, 1e-3))
            self._dots("drift", origin, colour, 0.03 * size)
        if self.visible["centres of mass"] and len(state.q):
            self._dots("centres", state.q[:, :3], np.tile((0.1, 0.1, 0.1), (len(state.q), 1)), 0.02 * size)

    def _dots(self, name: str, points: np.ndarray, colours: np.ndarray, size: float) -> None:
        """Small balls of that diameter [m]."""
        put_balls(self.scene, self._put, name, points, _bytes(colours), np.array([0.5 * size]))

    def _move_soft(self, state: State) -> None:
        if not len(self.drawing.surface):
            return
        stress = heat(self.drawing.node_stress(state.nodes) / self.most_stress)
        self._put("/flexible", self.scene.add_glb, glb_data=glb(state.nodes, self.drawing.surface, stress))

    def _move_contacts(self, contacts: StepContacts | None) -> None:
        if contacts is None or not len(contacts.gap) or not self.show_forces:
            for name in _CONTACTS:
                self.hide(name)
            return
        colour = self._colours(contacts)
        arrows = self.drawing.arrows(contacts, self.scale, colour=colour)
        size = self.drawing.detail
        is_seen = np.linalg.norm(arrows.along, axis=1) > 1e-3 * self.drawing.size
        start, along, tint = arrows.start[is_seen], arrows.along[is_seen], arrows.colour[is_seen]
        are_many = len(start) > _MOST_ARROWS
        if are_many:
            put_needles(self.scene, self._put, "contacts", start, along, _bytes(tint), 0.006 * size)
        elif len(start):
            ends = np.stack([start, start + along], axis=1).astype(np.float32)
            self._put(
                "/forces",
                self.scene.add_arrows,
                points=ends,
                colors=_bytes(tint),
                shaft_radius=0.006 * size,
                head_radius=0.016 * size,
                head_length=0.04 * size,
            )
        if are_many or not len(start):
            self.hide("/forces")
        if not are_many:
            self.hide(NEEDLES + "contacts")
        self._dots("contacts", contacts.point, colour, 0.025 * size)

    def _colours(self, contacts: StepContacts) -> np.ndarray:
        if self.colouring in (BY_RESIDUAL, BY_LAW):
            return residual_colours(contacts)
        if self.colouring == BY_PENETRATION:
            return heat(np.maximum(-contacts.gap, 0.0) / self.deepest)
        return STATUS_COLOURS[contacts.status]

    def mark(self, point: np.ndarray | None) -> None:
        """Show which contact is read: the one at this point [m]; None: no one is."""
        if point is None:
            self.hide("/read")
        else:
            self._put(
                "/read",
                self.scene.add_icosphere,
                position=tuple(point.tolist()),
                radius=0.02 * self.drawing.detail,
                color=_MARK,
                opacity=0.6,
                cast_shadow=False,
                receive_shadow=False,
            )


def _bytes(colour: np.ndarray) -> np.ndarray:
    return np.rint(255.0 * colour).astype(np.uint8)
