"""docs/rooms.svg shows the rooms as they are."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def draw_rooms():
    spec = importlib.util.spec_from_file_location("draw_rooms", DOCS / "draw_rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_diagram_is_drawn_from_the_imports_as_they_are(draw_rooms):
    assert draw_rooms.drawing() == (DOCS / "rooms.svg").read_text(), "run: python docs/draw_rooms.py"


def test_every_room_and_no_arrow_upwards_is_in_it(draw_rooms):
    texts = {node.text for node in ElementTree.parse(DOCS / "rooms.svg").iter("{http://www.w3.org/2000/svg}text")}
    for folder in draw_rooms.SOURCE.iterdir():
        assert folder.name in texts or not (folder / "__init__.py").is_file(), folder.name
    for graph in (
        draw_rooms.rooms(draw_rooms.package_room, draw_rooms.SOURCE),
        draw_rooms.rooms(draw_rooms.solver_room, draw_rooms.SOURCE / "solvers"),
    ):
        floor = draw_rooms.floors(graph)
        assert all(floor[room] > floor[other] for room in graph for other in graph[room])


def test_arrows_that_follow_from_others_are_left_out(draw_rooms):
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set()}
    assert draw_rooms.without_shortcuts(graph) == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}
    with pytest.raises(ValueError, match="a → b → a"):
        draw_rooms.without_shortcuts({"a": {"b"}, "b": {"a"}})
