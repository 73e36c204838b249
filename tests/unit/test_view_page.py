"""The page shows the recording: its numbers, its bodies where they are, to this machine alone."""

import json
import re
import socket
import threading
import time
from dataclasses import replace
from functools import partial
from io import BytesIO

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from command_line import assert_refused, delassus

from delassus import Box, Plane, Recording, Sphere, World
from delassus.builder import ModelBuilder
from delassus.io.recording.columns import STATUSES
from delassus.residuals import of_contacts
from delassus.view.drawing import RESIDUALS, Drawing, heat, law_errors, logarithmic, residual_colours
from delassus.view.page import extra, panel, picking, scenery
from delassus.view.page.glb import glb

pytestmark = pytest.mark.skipif(not extra.is_installed(), reason="the extra `view` is not installed")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A block that slides and stops."""
    folder = tmp_path_factory.mktemp("block")
    World.from_scene("sliding-block").run(150, record=folder)
    return folder


@pytest.fixture
def player(place):
    from delassus.view.page.player import Player

    run = Recording(place)
    made = Player(run, run.model, title="block", port=0)
    yield made
    if not made._stopped.is_set():
        made.stop()


def test_the_panel_says_what_the_recording_holds(place):
    run = Recording(place)
    for k in (0, 1, 70, 150):
        said = dict(panel.facts(run, k))
        assert said["time"] == f"{run.t[k]:.6g} s"
        assert said["energy"].startswith(f"{run.total_energy[k]:.6g} J")
        if k:
            assert said["status"] == STATUSES[run.array("solver/status")[k - 1]].value
            assert said["natural map"] == f"{run.residual[k - 1]:.3e}"
            assert said["solver"].endswith(f" {run.iterations[k - 1]} iterations")
            assert said["penetration"] == f"{run.penetration[k - 1]:.3e} m"
            assert said["contacts"].startswith(f"{run.contact_counts[k - 1]}: ")
    t, values = panel.plots(run)
    assert tuple(values) == panel.PLOTS
    assert values["iterations"].max() == run.iterations.max()
    assert 10 ** values["relative natural map"].max() == pytest.approx(run.residual.max())
    assert len(t) == 150


def test_what_is_clicked_is_told(player):
    player._pick(int(np.flatnonzero(player.model.shapes.body == 0)[0]))
    assert player.model.body_names[0] in player.about_picked.content
    player.show(80)
    assert f"{player.run.q[80, 0, 0]:.4g}" in player.about_picked.content
    assert "80 of 150" in player.about_step.content


def sight(player, c):
    """From in front of the scene to contact c of the step that is shown."""
    target = player.run.contacts(player.step - 1).point[c]
    origin = target + np.array([1.0, -2.0, 1.5])
    return tuple(origin), tuple(target - origin)


def test_contacts_that_are_clicked_are_read(player):
    """By a line of sight, as the page sends it; they are read again in every step they are in."""
    player.show(10)
    contacts, model = player.run.contacts(9), player.model
    for c in range(len(contacts.gap)):
        player._click(*sight(player, c))
        said = player.about_picked.content
        assert f"{model.body_names[0]}" in said
        assert "world" in said
        normal = abs(contacts.force[c] @ contacts.normal[c])
        assert f"| normal force | {normal:.4g} N |" in said
        assert f"| tangential force | {np.linalg.norm(np.cross(contacts.force[c], contacts.normal[c])):.4g} N" in said
        assert f"| gap | {contacts.gap[c]:.3e} m |" in said
        assert f"| residual | {contacts.residual[c]:.3e} m/s" in said
        assert f"| state | {('open', 'stick', 'slip')[contacts.status[c]]} |" in said
        assert f"({contacts.point[c][0]:.4g}, " in said
    player.show(11)
    assert f"| residual | {player.run.contacts(10).residual[c]:.3e} m/s" in player.about_picked.content
    player.show(0)
    assert "not in this step" in player.about_picked.content


def test_clicks_beside_contacts_read_none(player):
    player.show(10)
    origin, along = sight(player, 0)
    player._click(origin, tuple(np.array(along) + (0.0, 0.0, 0.5)))
    player._click(origin, tuple(-np.array(along)))
    assert player.picked_contact is None
    row = int(np.flatnonzero(player.model.shapes.body == 0)[0])
    below = player.run.contacts(9).point.mean(axis=0)
    player._pick(row)
    player._click(tuple(below + (0, 0, 5)), (0.0, 0.0, -1.0))  # on the top of the block, between its contacts
    assert player.picked_contact is None
    assert player.picked_row == row


def test_contacts_are_coloured_by_residuals_or_by_what_old_recordings_have(player):
    contacts = player.run.contacts(9)
    worse = replace(contacts, residual_relative=np.array([1e-13, 1e-2, np.nan, 1e-7][: len(contacts.gap)]))
    colours = residual_colours(worse)
    assert colours[0] == pytest.approx(heat(np.array([0.0]))[0])
    assert colours[1] == pytest.approx(heat(np.array([1.0]))[0])
    assert np.ptp(colours[2]) < 0.05  # nobody judged it: grey
    old = replace(contacts, residual=None, residual_relative=None)
    assert residual_colours(old) == pytest.approx(heat(logarithmic(law_errors(old), *RESIDUALS)))
    assert "not recorded" in dict(panel.about_contact(old, player.model, 0))["residual"]


def test_what_moves_is_not_added_anew(player, monkeypatch):
    """A node that is added again has its shaders compiled again, a second each where there is no GPU."""
    player.show(1)
    scene = player.scenery.scene
    for name in dir(scene):
        if name.startswith("add_"):
            monkeypatch.setattr(scene, name, lambda *_, **__: pytest.fail("added anew"))
    forces = player.scenery.shown["/forces"]
    before = forces.points.copy()
    player.show(60)
    assert abs(forces.points - before).max() > 1e-3
    player.show(0)
    assert not forces.visible
    player.show(2)
    assert forces.visible
    monkeypatch.undo()
    monkeypatch.setattr(scenery, "_MOST_ARROWS", 1)
    player.show(3)
    assert player.scenery.shown["/needles/contacts"].visible
    assert not forces.visible


def test_planes_are_drawn_where_bodies_are():
    """Ground reaches far; walls, through which one looks, do not."""
    from delassus.view.page.live import Live

    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.fixed(shapes=[Plane(normal=(1.0, 0.0, 0.0))])
    builder.body("ball", mass=1.0, shapes=[Sphere(0.1)], position=(30.0, 20.0, 0.5))
    live = Live(World(*builder.build()), title="ball", port=0)
    try:
        ground, wall = live.scenery.grids
        assert ground.position == pytest.approx((30.0, 20.0, 0.0))
        assert wall.position == pytest.approx((0.0, 20.0, 0.5))
        assert ground.width == pytest.approx(5 * wall.width)
    finally:
        live.stop()


def test_flexible_surfaces_are_glb_files_of_dull_stuff():
    """As another reader has them; metal, the default of glTF, would be black."""
    trimesh = pytest.importorskip("trimesh")
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
    faces = np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
    colours = np.array([(0, 0, 1), (1, 0, 0), (0.2, 0.4, 0.6), (1, 1, 1)])
    (read,) = trimesh.load(BytesIO(glb(points, faces, colours)), file_type="glb", process=False).geometry.values()
    assert read.vertices == pytest.approx(points)
    assert (read.faces == faces).all()
    assert read.volume == pytest.approx(1 / 6)  # faces look outwards, and so do normals:
    assert np.einsum("ij,ij->i", read.vertex_normals, points - points.mean(axis=0)).min() > 0.0
    said = glb(points, faces, colours)
    about = json.loads(said[20 : 20 + int.from_bytes(said[12:16], "little")])
    assert about["materials"][0]["pbrMetallicRoughness"]["metallicFactor"] == 0.0
    start = about["bufferViews"][2]["byteOffset"] + 28 + int.from_bytes(said[12:16], "little")
    assert np.frombuffer(said[start : start + 16], np.uint8).reshape(4, 4)[:, :3] == pytest.approx(255 * colours)


def test_time_goes_on_and_begins_again(player):
    player.speed.value = "1"
    t = player.advance(0.0, 0.05)
    assert t == pytest.approx(0.05)
    assert player.run.t[player.step] == pytest.approx(0.05, abs=2e-3)
    player.loop.value = False
    assert player.advance(t, 100.0) == player.run.t[-1]
    assert (player.step, player.play.value) == (150, False)
    player.loop.value = True
    assert player.advance(player.run.t[-1], 1.0) == player.run.t[0]


def test_nobody_else_is_served(player):
    with socket.create_connection(("127.0.0.1", player.port), timeout=5):
        pass
    with pytest.raises(OSError, match=r"refused|assign|timed out"):  # would answer if all addresses were served
        socket.create_connection(("127.0.0.2", player.port), timeout=5)


def test_worlds_are_stepped_and_dragged():
    from delassus.view.page.live import Live

    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("ball", mass=2.0, shapes=[Sphere(0.1)])
    live = Live(World(*builder.build()), title="ball", port=0)
    try:
        live.advance(0.01)
        assert live.world.time == pytest.approx(0.01)
        live._pick(0)
        live.handle.position = (1.0, 0.0, 0.0)
        for _ in range(15):
            live.advance(0.1)
        assert live.world.body("ball").position == pytest.approx([1.0, 0.0, 0.0], abs=1e-3)  # critically damped
        live._restart()
        live.advance(0.001)
        assert abs(live.world.body("ball").position).max() < 1e-9
        assert live.held == -1
    finally:
        live.stop()


def test_worlds_that_are_stepped_have_the_layers_of_recordings():
    """Contacts of the step just taken, coloured by what the judge finds of each."""
    from delassus.view.page.live import Live

    live = Live(World.from_scene("sliding-block"), title="block", port=0)
    try:
        live.advance(0.05)
        report, contacts = live.world.report, live.contacts
        solution = report.solution
        found = of_contacts(report.problem, solution.reactions, solution.velocities, solution.reactions_low)
        assert len(found) > 0
        assert contacts.residual == pytest.approx(found[:, 0], rel=1e-6, abs=1e-30)
        assert contacts.residual_relative == pytest.approx(found[:, 1], rel=1e-6, abs=1e-30)
        assert found[:, 0].max() <= solution.residuals.worst_velocity * (1 + 1e-12)
        live.colouring.value = scenery.BY_RESIDUAL
        live.show()
        drawn = live.scenery.shown["/balls/contacts"].colors
        assert (drawn == np.rint(255 * residual_colours(contacts))).all()
        live._click(*(tuple(x) for x in (contacts.point[0] + (0, 0, 3), np.array((0.0, 0.0, -1.0)))))
        assert f"| residual | {found[0, 0]:.3e} m/s" in live.about_contact.content
    finally:
        live.stop()


def test_what_cannot_be_shown_is_one_sentence(place, tmp_path, monkeypatch):
    assert_refused(delassus("view", place, "--export", tmp_path / "x.pdf"), "ends in .html")
    assert_refused(delassus("view", "bouncing-ball", "--export", tmp_path / "x.html"), "--export")
    assert_refused(delassus("view", "bouncing-bal"), "bouncing-ball")
    assert_refused(delassus("view", tmp_path / "nowhere"), "no such recording")
    assert_refused(delassus("view", "robot.xml"), "no such recording or model")
    assert_refused(delassus("view", place, "--port", 70000), "--port")
    monkeypatch.setattr(extra, "is_installed", lambda: False)
    assert_refused(delassus("view", place), "pip install 'delassus[view]'")


PLAY = (
    "document.getElementById([...document.querySelectorAll('label')].find(l => l.innerText === 'play').htmlFor).click()"
)
CLOSE = "document.querySelectorAll('.mantine-Notification-closeButton').forEach(button => button.click())"


TRACK = """(() => { const track = document.querySelector('[role=slider]').closest('[class*="Slider-trackContainer"]');
const box = track.getBoundingClientRect(); return [box.left, box.top + box.height / 2, box.width] })()"""


def scrubbed(player, page, step):
    return abs(player.step - step) < 3 and f"{player.step} of" in page.text()


def changed(one, other):
    return (abs(one - other).max(axis=2) > 40).sum() > 50


def click_contact(page, contacts, told):
    """On the first that can be seen; its number."""
    for c, point in enumerate(contacts.point):
        at = page.pixel(point)
        if at is not None:
            page.click(*at)
            page.wait(lambda: told(page) is not None, 60)
            return c
    raise AssertionError("no contact in sight")


@pytest.mark.slow
@needs_browser
def test_the_page_is_played_scrubbed_and_clicked(player, tmp_path):
    player.show(0)
    run, clock = player.run, threading.Thread(target=player.play_on, daemon=True)
    clock.start()
    with Browser(f"http://127.0.0.1:{player.port}", tmp_path) as page:
        page.wait(lambda: "0 of 150" in page.text(), 60)
        page.value(CLOSE)  # what viser says of software rendering
        time.sleep(3.0)
        before = page.picture()
        assert before.std() > 2.0
        page.value(PLAY)
        page.wait(lambda: player.step > 0, 30)
        page.wait(lambda: changed(page.picture(), before), 60)
        page.value(PLAY)
        page.wait(lambda: not player.play.value, 30)
        left, top, width = page.value(TRACK)  # scrub, with the mouse
        for share in (0.5, 1.0):
            page.click(left + share * width, top)
            page.wait(partial(scrubbed, player, page, round(share * run.step_count)), 60)
        time.sleep(2.0)
        assert changed(page.picture(), before)
        k = player.step
        for name, value in panel.facts(run, k):
            assert value in page.text(), name
        c = click_contact(page, run.contacts(k - 1), lambda page: "normal force" in page.text() or None)
        said = page.text()
        for name, value in panel.about_contact(run.contacts(k - 1), player.model, c):
            assert value in said, name
        assert page.errors == []
    player.stop()
    clock.join(20)


@pytest.mark.slow
@needs_browser
def test_narrow_windows_have_the_panel_below_the_picture(player, place, tmp_path):
    path = tmp_path / "block.html"
    assert delassus("view", place, "--export", path).exit_code == 0
    ready = """!!window.__viserMutable && !!{0} && document.querySelector('canvas').getBoundingClientRect().bottom
      <= 1 + {0}.getBoundingClientRect().top"""
    sheet = """document.querySelector('[style*="max-height: 60%"]')"""
    pages = (f"http://127.0.0.1:{player.port}", sheet), (path.as_uri(), "document.getElementById('delassus')")
    for k, (url, lower) in enumerate(pages):
        with Browser("about:blank", tmp_path / str(k)) as page:
            page.call("Emulation.setDeviceMetricsOverride", width=420, height=800, deviceScaleFactor=1, mobile=False)
            page.call("Page.navigate", url=url)
            page.wait(partial(page.value, ready.format(lower)), 60)
            assert page.value("document.documentElement.scrollWidth") <= 420
            assert page.errors == []


ROWS = "[...document.querySelector('#delassus table').rows]"
TABLE = f"Object.fromEntries({ROWS}.map(row => [...row.cells].map(cell => cell.innerText)))"
STEP = "document.getElementById('delassus').dataset.step"
CURSOR = "+document.querySelector('#delassus .cursor').getAttribute('x1')"
CLICK = """{const plot = document.querySelector('#delassus svg'), box = plot.getBoundingClientRect();
plot.dispatchEvent(new MouseEvent("click", {clientX: box.left + SHARE * box.width}))}"""


READ = """(() => { const rows = [...document.querySelectorAll('#delassus .KIND tr')];
return rows.length ? Object.fromEntries(rows.map(row => [...row.cells].map(cell => cell.innerText))) : null })()"""
BY_RESIDUAL = """{const select = document.querySelector('#delassus select');
select.selectedIndex = 1; select.dispatchEvent(new Event('change'))}"""
DOTS = """(() => { const layer = document.getElementById('delassus-dots'), brush = layer.getContext('2d');
return brush.getImageData(0, 0, layer.width, layer.height).data.filter((x, k) => k % 4 === 3 && x > 200).length })()"""
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]\d+)?")


def assert_alike(said, wanted):
    """The same words, and numbers as four bytes have them."""
    assert said.keys() == wanted.keys()
    for name, text in wanted.items():
        assert NUMBER.sub("#", said[name]) == NUMBER.sub("#", text)
        some, others = ([float(x) for x in NUMBER.findall(both)] for both in (said[name], text))
        assert some == pytest.approx(others, rel=2e-3, abs=1e-30), name


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_the_exported_page_plays_offline(place, tmp_path, dark):
    path, run = tmp_path / "block.html", Recording(place)
    done = delassus("view", place, "--export", path, *(["--dark"] if dark else []))
    assert done.exit_code == 0, done.output
    assert 5e5 < path.stat().st_size < 5e6
    with Browser(path.as_uri(), tmp_path / "profile") as page:
        page.wait(lambda: page.value("document.querySelectorAll('canvas').length > 0"), 60)
        time.sleep(2.0)
        first = page.picture()
        assert first.std() > 2.0
        assert (first.mean() < 128) == dark
        page.value(CLOSE)
        page.wait(lambda: (abs(page.picture() - first).max(axis=2) > 40).sum() > 50, 120)
        seen = []
        for share, step in (
            (0.4, 46),
            (0.75, 108),
        ):  # a click on a plot goes there and stops, some states later if busy
            page.value(CLICK.replace("SHARE", str(share)))
            page.wait(lambda step=step: step - 4 < int(page.value(STEP)) < step + 40, 60)
            time.sleep(2.0)
            k, said = page.value(f"[+{STEP}, {TABLE}]")
            assert said == dict(panel.facts(run, k))
            assert said["natural map"] == f"{run.residual[k - 1]:.3e}"
            assert page.value("document.querySelectorAll('#delassus svg').length") == len(panel.PLOTS)
            seen.append((k, page.value(CURSOR), page.picture()))
        contacts = run.contacts(k - 1)
        read_contact, read_body = (READ.replace("KIND", kind) for kind in ("contact", "body"))
        c = click_contact(page, contacts, lambda page: page.value(read_contact) or None)
        assert_alike(page.value(read_contact), dict(panel.about_contact(contacts, run.model, c)))
        page.click(*page.pixel(run.q[k, 0, :3]))
        page.wait(lambda: (page.value(read_body) or {}).get("body") == run.model.body_names[0], 30)
        drawing, row = Drawing(run.model, run.q[:1]), int(np.flatnonzero(run.model.shapes.body == 0)[0])
        assert_alike(page.value(read_body), dict(panel.about_row(drawing, row, run.state(k), contacts)))
        page.value(BY_RESIDUAL)
        page.wait(lambda: page.value(DOTS) > 20, 30)
        (k, x, before), (last, far, after) = seen
        assert 40 < k < 90 < 100 < last
        assert (far - x) / (last - k) == pytest.approx(268 / 150, rel=1e-3)  # plots are 268 wide for 150 equal steps
        assert (abs(after - before).max(axis=2) > 40).sum() > 50
        assert page.value("performance.getEntriesByType('resource').filter(e => e.name.startsWith('http')).length") == 0
        assert page.errors == []


@pytest.fixture(scope="module")
def heap(tmp_path_factory):
    """10 000 spheres of various radii that fall."""
    folder, builder = tmp_path_factory.mktemp("heap"), ModelBuilder()
    for k, at in enumerate(np.ndindex(20, 25, 20)):
        builder.body(f"ball{k}", mass=1.0 + k, shapes=[Sphere(0.3 + 0.02 * (k % 7))], position=at)
    World(*builder.build(), h=0.01).run(20, record=folder)
    return folder


TRIANGLES = "window.__viserTestpoints.rendererInfo.render.triangles"  # of the last picture
REDRAWN = "window.__viserMutable.requestRender()"


@pytest.mark.slow
@needs_browser
def test_ten_thousand_spheres_are_two_triangles_each(heap, tmp_path):
    """No meshes and no shadows. Where there is no GPU, as here, hidden ones are left out, and nobody sees that."""
    from delassus.view.page.player import Player

    run = Recording(heap)
    player = Player(run, run.model, title="many", port=0)
    try:
        assert player.scenery.solids == []
        with Browser(f"http://127.0.0.1:{player.port}", tmp_path) as page:
            page.wait(lambda: page.value("window.delassusSprites?.isSlow ?? null") is not None, 120)
            page.value(CLOSE)
            time.sleep(2.0)
            some, before = page.value(TRIANGLES), page.picture()
            page.value(f"window.delassusSprites.isSlow = false; {REDRAWN}")
            page.wait(lambda: 20_000 <= page.value(TRIANGLES) < 25_000, 60)
            assert some < 12_000
            time.sleep(1.0)
            assert before.std() > 10.0
            assert ((abs(page.picture() - before).max(axis=2) > 40).sum()) < 30
            page.click(*page.pixel((19.0, 0.0, 19.0)))  # a corner of the heap; the camera looks from there
            k = int(np.flatnonzero((run.q[0, :, :3] == (19.0, 0.0, 19.0)).all(axis=1))[0])
            page.wait(lambda: f"{run.model.mass[k]:.6g} kg" in page.text(), 60)
            assert f"ball{k}" in page.text()
            player.show(20)
            page.wait(lambda: (abs(page.picture() - before).max(axis=2) > 40).sum() > 50, 120)
            assert page.errors == []
    finally:
        player.stop()


def test_clicks_find_what_is_in_front():
    """Balls by their equation, meshes by their triangles."""
    builder = ModelBuilder()
    builder.body("near", mass=1.0, shapes=[Box((0.2, 0.2, 0.2))], position=(0, 0, 2))
    builder.body("middle", mass=1.0, shapes=[Sphere(0.3)], position=(0, 0, 1))
    builder.body("far", mass=1.0, shapes=[Sphere(0.3)], position=(0, 0, 0))
    model, state = builder.build()
    balls, boxes = (s for s in Drawing(model, state.q[None]).solids)
    above, down = np.array((0.05, 0.0, 5.0)), np.array((0.0, 0.0, -2.0))
    away, row = picking.first_ball(above, down, balls, state.q)
    assert model.shapes.body[row] == 1
    assert away == pytest.approx(4.0 - np.sqrt(0.3**2 - 0.05**2))
    assert picking.first_ball(above + (0.4, 0, 0), down, balls, state.q) == (np.inf, -1)
    assert picking.distance(above, down, boxes, int(boxes.rows[0]), state.q) == pytest.approx(2.9)
    assert picking.distance(above, -down, boxes, int(boxes.rows[0]), state.q) == np.inf
