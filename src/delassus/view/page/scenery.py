"""A drawing in the scene of a page: put there once, then moved from state to state."""

from collections.abc import Callable
from typing import Any

import numpy as np

from delassus.collision.layout import SPHERE
from delassus.io.recording import StepContacts
from delassus.model.state import State
from delassus.spatial import matrix_to_quaternion
from delassus.view.drawing import STATUS_COLOURS, Drawing, Solids, heat, logarithmic, residual_colours, turned_along
from delassus.view.page.glb import glb
from delassus.view.triangles import Shaded, dot, needle, shaded

BY_STATE, BY_RESIDUAL, BY_LAW, BY_PENETRATION = (
    "stick, slip, open", "residual", "error of Coulomb's law", "penetration",
)  # fmt: skip
"""How contacts are coloured; by Coulomb's law where recordings of older versions hold no residuals of contacts."""
_MARK = (255, 214, 10)  # of the contact that was clicked
_GRID_CELLS = 40
_MOST_ARROWS = 1000  # of a state; more forces are needles of four triangles instead of a hundred
_MOST_SHADOWED = 2000  # of a shape; a shadow is one more picture of all of them in every frame, or several
_LINES_ON_WHITE, _LINES_ON_BLACK = (205, 185), (60, 90)  # grey of cells and of sections


class Scenery:
    """What is drawn of a model on a page.  server: of viser, or a client's; metres_per_newton, most_stress [Pa],
    deepest [m]: how long forces are drawn, and what is red; picked: called with the row of a shape that is clicked."""

    def __init__(
        self, server: Any, drawing: Drawing, metres_per_newton: float, most_stress: float, deepest: float,
        picked: Callable[[int], None] | None = None,
    ):  # fmt: skip
        self.server, self.scene, self.drawing = server, server.scene, drawing
        self.scale, self.most_stress, self.deepest = metres_per_newton, max(most_stress, 1e-300), max(deepest, 1e-9)
        self.picked = picked
        self.colouring, self.show_forces, self.heat_joints = BY_STATE, True, False
        self.solids = [self._add(k, solids) for k, solids in enumerate(drawing.solids)]
        size = 10.0 * drawing.size
        self.grids = [
            self.scene.add_grid(
                f"/planes/{k}", size, size, cell_size=size / _GRID_CELLS, section_size=size / 8, position=plane.point,
                wxyz=matrix_to_quaternion(plane.axes),
            )
            for k, plane in enumerate(drawing.planes)
        ]  # fmt: skip
        self.darken(False)
        self.visible = {"joints": False, "centres of mass": False}
        self.shown: dict[str, Any] = {}  # what comes and goes, by name

    def _add(self, k: int, solids: Solids) -> tuple[Solids, Any]:
        made, n = shaded(solids.triangles), len(solids.rows)
        handle = self.scene.add_batched_meshes_simple(
            f"/solids/{k}", made.vertices.astype(np.float32), made.faces.astype(np.uint32),
            np.tile(np.array((1, 0, 0, 0), np.float32), (n, 1)), np.zeros((n, 3), np.float32),
            batched_scales=solids.scale.astype(np.float32), batched_colors=_bytes(solids.colour[:, :3]),
            batched_opacities=None if (solids.colour[:, 3] == 1.0).all() else solids.colour[:, 3].astype(np.float32),
            lod="off", cast_shadow=n <= _MOST_SHADOWED, receive_shadow=n <= _MOST_SHADOWED,
        )  # fmt: skip
        if self.picked is not None:
            picked = self.picked
            handle.on_click(lambda event: picked(int(solids.rows[event.instance_index or 0])))
        return solids, handle

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
                    if handle.cast_shadow or not self._are_spheres(solids):
                        handle.batched_wxyzs = turned.astype(np.float32)
            self._move_joints(state)
            self._move_soft(state)
            self._move_contacts(contacts)

    def _are_spheres(self, solids: Solids) -> bool:
        """Many of one colour each look the same however they are turned."""
        return bool((self.drawing.model.shapes.kind[solids.rows] == SPHERE).all())

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
        """Show a layer no more: "/joints", "/drift", "/centres", "/read", or one of "/contacts/"."""
        if name in self.shown:
            self.shown[name].visible = False

    def _move_joints(self, state: State) -> None:
        drawing, size = self.drawing, self.drawing.size
        if self.visible["joints"] and drawing.model.joints.count:
            origin, axes = drawing.joint_frames(state.q)
            self._put(
                "/joints", self.scene.add_batched_axes, batched_positions=origin.astype(np.float32),
                batched_wxyzs=np.array([matrix_to_quaternion(R) for R in axes], np.float32),
                axes_length=0.12 * size, axes_radius=0.006 * size,
            )  # fmt: skip
        if self.heat_joints and drawing.model.joints.count:
            origin, _ = drawing.joint_frames(state.q)
            colour = heat(logarithmic(drawing.joint_errors(state.q), 1e-12, 1e-3))
            self._dots("/drift", origin, colour, 0.03 * size)
        if self.visible["centres of mass"] and len(state.q):
            self._dots("/centres", state.q[:, :3], np.tile((0.1, 0.1, 0.1), (len(state.q), 1)), 0.02 * size)

    def _dots(self, name: str, points: np.ndarray, colours: np.ndarray, size: float) -> None:
        """Small balls: whenever colours of points of viser's own change, their shaders are compiled anew."""
        n = len(points)
        self._many(name, dot(), points, np.tile((1.0, 0.0, 0.0, 0.0), (n, 1)), np.full((n, 3), 0.5 * size), colours)

    def _many(
        self, name: str, made: Shaded, points: np.ndarray, turned: np.ndarray, scale: np.ndarray,
        colours: np.ndarray,
    ) -> None:  # fmt: skip
        self._put(
            name, self.scene.add_batched_meshes_simple, vertices=made.vertices.astype(np.float32),
            faces=made.faces.astype(np.uint32), batched_positions=points.astype(np.float32),
            batched_wxyzs=turned.astype(np.float32), batched_scales=scale.astype(np.float32),
            batched_colors=_bytes(colours), lod="off", cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def _move_soft(self, state: State) -> None:
        if not len(self.drawing.surface):
            return
        stress = heat(self.drawing.node_stress(state.nodes) / self.most_stress)
        self._put("/flexible", self.scene.add_glb, glb_data=glb(state.nodes, self.drawing.surface, stress))

    def _move_contacts(self, contacts: StepContacts | None) -> None:
        if contacts is None or not len(contacts.gap) or not self.show_forces:
            for name in ("forces", "needles", "points"):
                self.hide(f"/contacts/{name}")
            return
        colour = self._colours(contacts)
        arrows = self.drawing.arrows(contacts, self.scale, colour=colour)
        size = self.drawing.size
        is_seen = np.linalg.norm(arrows.along, axis=1) > 1e-3 * size
        start, along, tint = arrows.start[is_seen], arrows.along[is_seen], arrows.colour[is_seen]
        are_many = len(start) > _MOST_ARROWS
        if are_many:
            length = np.linalg.norm(along, axis=1)
            scale = np.column_stack([np.full((len(start), 2), 0.006 * size), length])
            self._many("/contacts/needles", needle(), start, turned_along(along), scale, tint)
        elif len(start):
            ends = np.stack([start, start + along], axis=1).astype(np.float32)
            self._put(
                "/contacts/forces", self.scene.add_arrows, points=ends, colors=_bytes(tint),
                shaft_radius=0.006 * size, head_radius=0.016 * size, head_length=0.04 * size,
            )  # fmt: skip
        if are_many or not len(start):
            self.hide("/contacts/forces")
        if not are_many:
            self.hide("/contacts/needles")
        self._dots("/contacts/points", contacts.point, colour, 0.025 * size)

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
                "/read", self.scene.add_icosphere, position=tuple(point.tolist()), radius=0.02 * self.drawing.size,
                color=_MARK, opacity=0.6, cast_shadow=False, receive_shadow=False,
            )  # fmt: skip


def _bytes(colour: np.ndarray) -> np.ndarray:
    return np.rint(255.0 * colour).astype(np.uint8)
