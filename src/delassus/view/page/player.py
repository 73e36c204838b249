"""A recording on a page: timeline, layers, the panel of a step, plots under a moving cursor."""

from threading import Event
from time import monotonic
from typing import Any

import numpy as np

from delassus.io.recording import StepContacts, Trajectory
from delassus.io.recording.columns import JUDGED
from delassus.model.model import Model
from delassus.view.drawing import Drawing, arrow_scale
from delassus.view.page import panel, picking
from delassus.view.page.extra import serve, stop
from delassus.view.page.layers import add_layers, darken
from delassus.view.page.scenery import Scenery

_SPEEDS = ("0.01", "0.1", "0.25", "0.5", "1", "2", "5")
_PERIOD = 1.0 / 30.0  # s between two states that are sent
_PLOT_PERIOD = 0.15  # s between two moves of the plots' cursor
_LOOKS = 100  # states that say how large all is


class Player:
    """Serves one run until it is stopped.  port: 0 for any that is free."""

    def __init__(self, run: Trajectory, model: Model, *, title: str, port: int):
        self.run, self.model = run, model
        self.server = serve(port, title)
        self.port = int(self.server.get_port())
        self.drawing = drawing_of(run, model)
        self._stopped = Event()
        self.step, self.picked_row, self._shown = 0, -1, -1
        self._in_front = -1  # the row that a click has just hit
        self.picked_contact: picking.Name | None = None
        forces = run.array("contacts/force") if run.step_count else np.zeros((0, 3))
        self.scenery = Scenery(
            self.server,
            self.drawing,
            arrow_scale(forces, self.drawing.size),
            _most_stress(run, self.drawing),
            float(run.penetration.max(initial=0.0)),
            self._pick,
        )
        look_at(self.server, self.drawing)
        self._build()
        self.show(0)

    # -- what there is to click ----------------------------------------------------------------------------------------

    def _build(self) -> None:
        gui, run = self.server.gui, self.run
        darken(self.server, self.scenery, False)
        with gui.add_folder("timeline"):
            self.slider = gui.add_slider("step", 0, max(run.step_count, 1), 1, 0)
            self.play = gui.add_checkbox("play", False)
            self.loop = gui.add_checkbox("loop", True)
            self.speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
        self.slider.on_update(lambda _: self.show(int(self.slider.value)))
        with gui.add_folder("this step"):
            self.about_step = gui.add_markdown("")
        with gui.add_folder("clicked"):
            self.about_picked = gui.add_markdown("Click a body, a contact or its arrow to read it.")
        self.server.scene.on_click()(lambda event: self._click(event.ray_origin, event.ray_direction))
        with gui.add_folder("layers", expand_by_default=False):
            is_judged = not run.step_count or JUDGED[0] in run.names
            add_layers(self.server, self.scenery, lambda: self.show(self.step, again=True), is_judged=is_judged)
        with gui.add_folder("plots"):
            self._plots()

    def _plots(self) -> None:
        self.plot_t, values = panel.plots(self.run)
        self.plots = {}
        for name, series in values.items() if len(self.plot_t) else ():
            label = f"log10 {name}" if name in panel.DECADES else name
            here = {"label": "now", "stroke": "#e11d48", "points": {"show": True, "size": 9, "fill": "#e11d48"}}
            self.plots[name] = (
                series,
                self.server.gui.add_uplot(
                    (self.plot_t, series, np.full(len(series), np.nan)),
                    ({"label": "t"}, {"label": label, "stroke": "#2563eb", "width": 1}, here),
                    scales={"x": {"time": False}},
                    title=label,
                    aspect=2.6,
                    legend={"show": False},
                ),
            )

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self, k: int, *, again: bool = False) -> None:
        """State k, with the step that led to it."""
        k = min(max(k, 0), self.run.step_count)
        if k == self._shown and not again:
            return
        self.step = self._shown = k
        self.scenery.move(self.run.state(k), self.run.contacts(k - 1) if k else None)
        self.about_step.content = panel.markdown(panel.facts(self.run, k))
        self._read()

    def _pick(self, row: int) -> None:
        """A body was clicked; what the click says of contacts comes after this."""
        self.picked_row, self.picked_contact, self._in_front = row, None, row
        self._read()

    def _click(self, origin: tuple[float, ...], sight: tuple[float, ...]) -> None:
        """Anywhere in the scene.  origin [m], sight: of the line of sight."""
        q = self.run.state(self.step).q
        row, self._in_front = self.scenery.row_at(np.array(origin), np.array(sight), q, self._in_front), -1
        if row >= 0 and row != self.picked_row:
            self._pick(row)
            self._in_front = -1
        contacts = self._contacts()
        if contacts is None or not self.scenery.show_forces:
            return
        along = self.drawing.arrows(contacts, self.scenery.scale).along
        body = int(self.model.shapes.body[row]) if row >= 0 else -1
        c = picking.contact_at(np.array(origin), np.array(sight), contacts, along, body)
        if c >= 0:
            self.picked_contact, self.picked_row = picking.name_of(contacts, c), row
            self._read()

    def _contacts(self) -> StepContacts | None:
        """Of the step that led to the state that is shown."""
        return self.run.contacts(self.step - 1) if self.step else None

    def _read(self) -> None:
        """What was clicked, as it is in this step."""
        contacts, point = self._contacts(), None
        if self.picked_contact is None and self.picked_row < 0:
            return
        rows: list[tuple[str, str]] = []
        if self.picked_contact is not None:
            c = picking.find(contacts, self.picked_contact) if contacts is not None else -1
            rows = [("contact", "not in this step")]
            if contacts is not None and c >= 0:
                rows, point = panel.about_contact(contacts, self.model, c), contacts.point[c]
        if self.picked_row >= 0:  # a click on a contact may have been meant for the body it is on
            rows = rows + panel.about_row(self.drawing, self.picked_row, self.run.state(self.step), contacts)
        self.scenery.mark(point)
        self.about_picked.content = panel.markdown(rows)

    def move_cursor(self) -> None:
        """Of the plots, to this step."""
        at = int(np.searchsorted(self.plot_t, self.run.t[self.step])) if len(self.plot_t) else 0
        for series, plot in self.plots.values():
            now = np.full(len(series), np.nan)
            now[min(at, len(series) - 1)] = series[min(at, len(series) - 1)]
            plot.data = (self.plot_t, series, now)

    def play_on(self) -> None:
        """Until stopped or interrupted: move on in time while the box is ticked."""
        before, plotted, cursor, reached, t = monotonic(), 0.0, -1, -1, float(self.run.t[0])
        while not self._stopped.wait(_PERIOD):
            now = monotonic()
            seconds, before = now - before, now
            if self.play.value and self.run.step_count:
                here = float(self.run.t[self.step])  # someone may have moved the slider meanwhile
                t = self.advance(t if self.step == reached else here, seconds)
                reached = self.step
            else:
                t = float(self.run.t[self.step])
            if now - plotted > _PLOT_PERIOD and cursor != self.step:
                plotted, cursor = now, self.step
                self.move_cursor()

    def advance(self, t: float, seconds: float) -> float:
        """Show what is later by so many seconds of the clock; the time that is reached [s]."""
        run = self.run
        t = float(t) + seconds * float(self.speed.value)
        if t > run.t[-1]:
            t = float(run.t[0] if self.loop.value else run.t[-1])
            self.play.value = bool(self.loop.value)
        k = min(int(np.searchsorted(run.t, t)), run.step_count)
        self.slider.value = k
        self.show(k)
        return t

    def stop(self) -> None:
        """The server, and the clock."""
        self._stopped.set()
        stop(self.server)


def drawing_of(run: Trajectory, model: Model) -> Drawing:
    """Large enough for all of a run."""
    some = np.unique(np.linspace(0, run.step_count, _LOOKS).astype(int))
    nodes = np.stack([run.state(int(k)).nodes for k in some[::10]]) if model.node_count else None
    return Drawing(model, run.q[some], nodes)


def _most_stress(run: Trajectory, drawing: Drawing) -> float:
    if not drawing.model.node_count:
        return 1.0
    some = np.unique(np.linspace(0, run.step_count, 20).astype(int))
    return max(float(drawing.node_stress(run.state(int(k)).nodes).max()) for k in some)


def look_at(server: Any, drawing: Drawing) -> None:
    """Put the camera in front of all that moves."""
    centre, size = drawing.bounds.mean(axis=0), drawing.size
    server.initial_camera.position = tuple(centre + size * np.array([0.9, -1.5, 0.8]))
    server.initial_camera.look_at = tuple(centre)
