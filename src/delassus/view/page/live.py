"""A world on a page that moves as one watches: stepped in real time, its bodies dragged by a spring."""

import math
from threading import Event
from time import monotonic
from typing import Any, Protocol

import numpy as np

from delassus.io.recording import StepContacts
from delassus.io.recording.columns import contact_columns
from delassus.io.recording.nodes import flexible_of
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import StepReport, StepSettings
from delassus.view.drawing import Drawing, arrow_scale
from delassus.view.page import panel, picking
from delassus.view.page.extra import serve, stop
from delassus.view.page.layers import add_layers
from delassus.view.page.player import look_at
from delassus.view.page.scenery import Scenery

_PERIOD = 1.0 / 30.0  # s between two states that are sent
_FREQUENCY = 2.0  # Hz, of the dragged body on its spring, if it were free; damped critically
_SLOWEST = 4.0  # times the period that steps may take before the world falls behind the clock


class Moves(Protocol):
    """What is shown: a `World`, which is above this package and may not be imported here."""

    model: Model
    settings: StepSettings

    @property
    def state(self) -> State:
        """Where everything is."""

    @property
    def report(self) -> StepReport:
        """Of the last step."""

    def body(self, name: str) -> Any:
        """The body of that name, which can be pushed."""

    def step(self) -> None:
        """One time step."""

    def reset(self) -> None:
        """Back to the start."""


class Live:
    """Steps a world and shows it, until it is stopped.  port: 0 for any that is free."""

    def __init__(self, world: Moves, *, title: str, port: int):
        self.world, self.model = world, world.model
        self.server = serve(port, title)
        self.port = int(self.server.get_port())
        state = world.state
        nodes = state.nodes[None] if self.model.node_count else None
        self.drawing = Drawing(self.model, state.q[None], nodes)
        weight = float(self.model.mass.sum() * np.linalg.norm(self.model.gravity)) or 1.0
        scale = arrow_scale(np.array([[0.0, 0.0, weight]]), self.drawing.size)
        self.scenery = Scenery(self.server, self.drawing, scale, _stress_scale(self.model), 1e-3, self._pick)
        look_at(self.server, self.drawing)
        self.held = -1  # body that is dragged
        self._in_front = -1  # the row that a click has just hit
        self.handle: Any = None
        gui = self.server.gui
        self.going = gui.add_checkbox("run", True)
        self.again = gui.add_button("start again")
        self.release = gui.add_button("let go")
        self.about_step = gui.add_markdown("")
        gui.add_markdown(
            "Click a body, then drag the arrows that appear: a spring pulls it there. Click a contact to read it."
        )
        self.about_contact = gui.add_markdown("")
        with gui.add_folder("layers"):
            self.colouring = add_layers(self.server, self.scenery, self._draw_again, is_judged=True)
        self.again.on_click(lambda _: self._restart())
        self.release.on_click(lambda _: self._let_go())
        self.server.scene.on_click()(lambda event: self._click(event.ray_origin, event.ray_direction))
        self.contacts: StepContacts | None = None  # of the last step
        self.read: picking.Name | None = None  # the contact that was clicked
        self._restarting, self._is_due, self._stopped = False, False, Event()

    def _pick(self, row: int) -> None:
        self._in_front = row
        body = int(self.model.shapes.body[row])
        if body < 0:
            return
        self._let_go()
        position = tuple(float(x) for x in self.world.state.q[body, :3])
        self.handle = self.server.scene.add_transform_controls(
            "/hand", scale=0.35 * self.drawing.size, disable_rotations=True, position=position, depth_test=False
        )
        self.held = body

    def _click(self, origin: tuple[float, ...], sight: tuple[float, ...]) -> None:
        """Anywhere in the scene.  origin [m], sight: of the line of sight."""
        row, self._in_front = self._in_front, -1
        ball = self.scenery.row_at(np.array(origin), np.array(sight), self.world.state.q, row)
        if ball != row:
            self._pick(ball)
            self._in_front = -1
        if self.contacts is not None:
            along = self.drawing.arrows(self.contacts, self.scenery.scale).along
            c = picking.contact_at(np.array(origin), np.array(sight), self.contacts, along)
            self.read = picking.name_of(self.contacts, c) if c >= 0 else None
            self._tell()

    def _tell(self) -> None:
        """What is known of the contact that was clicked."""
        rows: list[tuple[str, str]] = []
        point, contacts = None, self.contacts
        if self.read is not None and contacts is not None:
            c = picking.find(contacts, self.read)
            rows = [("contact", "not in this step")]
            if c >= 0:
                rows, point = panel.about_contact(contacts, self.model, c), contacts.point[c]
        self.scenery.mark(point)
        self.about_contact.content = panel.markdown(rows) if rows else ""

    def _let_go(self) -> None:
        self.held = -1
        if self.handle is not None:
            self.handle.remove()
            self.handle = None

    def _draw_again(self) -> None:
        """A layer was chosen: at once, even if the world stands still."""
        self._is_due = True

    def _restart(self) -> None:
        self._restarting = True

    def pull(self) -> np.ndarray:
        """The force of the spring on the held body [N]; zero where none is."""
        body, handle = self.held, self.handle
        if body < 0 or handle is None:
            return np.zeros(3)
        state, omega = self.world.state, 2.0 * math.pi * _FREQUENCY
        away = np.array(handle.position) - state.q[body, :3]
        return self.model.mass[body] * (omega**2 * away - 2.0 * omega * state.u[body, :3])

    def advance(self, seconds: float) -> None:
        """As many steps as fit into so many seconds, and show where that leads."""
        world = self.world
        if self._restarting:
            self._restarting = False
            world.reset()
            self._let_go()
        for _ in range(max(1, round(seconds / world.settings.h))):
            force = self.pull()
            if force.any():
                world.body(self.model.body_names[self.held]).push(force)
            world.step()
        self.show()

    def show(self) -> None:
        """Where the world is, and how well its last step was solved."""
        state, report = self.world.state, self.world.report
        columns = contact_columns(report)
        if self.model.node_count:
            columns["contacts/flexible"] = flexible_of(self.model, report.contacts)
        self.contacts = StepContacts.of(columns.__getitem__, columns)
        self.scenery.move(state, self.contacts)
        if self.read is not None:
            self._tell()
        solution = report.solution
        rows = [
            ("time", f"{state.t:.3f} s"),
            ("status", solution.status.value),
            ("solver", f"{solution.solver}, {solution.iterations} iterations"),
            ("natural map", f"{solution.residuals.natural_map_relative:.2e}"),
            ("contacts", str(len(report.contacts))),
            ("energy", f"{sum(report.energy):.5g} J"),
        ]
        self.about_step.content = panel.markdown(rows)

    def go_on(self) -> None:
        """Until stopped or interrupted: keep up with the clock, or be slower where steps take longer."""
        before = monotonic()
        while not self._stopped.wait(max(0.0, _PERIOD - (monotonic() - before))):
            now = monotonic()
            seconds, before = min(now - before, _SLOWEST * _PERIOD), now
            if self.going.value:
                self.advance(seconds)
            elif self._is_due and self.contacts is not None:
                self.scenery.move(self.world.state, self.contacts)
            self._is_due = False

    def stop(self) -> None:
        """The server, and the world."""
        self._stopped.set()
        stop(self.server)


def _stress_scale(model: Model) -> float:
    """What is drawn red [Pa]: a strain of a hundredth."""
    return 1.0 if model.flexible is None else 0.01 * max(m.young for m in model.flexible.elements.materials)
