"""Draws docs/rooms.svg, the rooms of the package and what they import, from the import statements themselves.

    python docs/draw_rooms.py

An arrow says "imports". Arrows that follow from others are left out: where a imports b and b imports c, a may import c.
Imports for type checkers only are not counted. tests/test_diagram.py draws it again and compares."""

import ast
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / "delassus"

WORDS = ("errors", "law", "status", "tables")
"""Small modules of the package that hold words for all others: one box."""
FRONT_DOOR = ("method", "settings", "solution")
"""Words of the solvers' front door: one box, too."""

Graph = dict[str, set[str]]
"""Rooms that each room imports."""

_GAP_X, _GAP_Y, _HEIGHT, _MARGIN = 18, 46, 44, 24  # [px]
_BEND = 14  # width of an arrow that passes between two boxes [px]
_FAMILIES = ("splitting", "newton", "interior", "gradient", "active_set", "admm", "double_double", "continuation")
_STYLE = """<style>
text { font-family: Helvetica, Arial, sans-serif; fill: #1f2933; }
.name { font-size: 14px; font-weight: 600; text-anchor: middle; }
.inside { font-size: 10.5px; fill: #52606d; text-anchor: middle; }
.title { font-size: 16px; font-weight: 600; }
.note { font-size: 11.5px; fill: #52606d; }
path { fill: none; stroke: #7b8794; stroke-width: 1.2; }
rect { stroke-width: 1.2; }
</style>"""
_COLOURS = {"ground": ("#eef2f6", "#9aa5b1"), "bodies": ("#e3f0fb", "#5b9bd5"), "top": ("#eaf6ec", "#6aa874")}
_BODIES = (
    "softening",
    "shapes",
    "joints",
    "fem",
    "collision",
    "model",
    "integrators",
    "dynamics",
    "builder",
    "simulation",
    "importers",
)
_TOP = ("io.recording", "scenes", "view", "world", "envs", "bench", "cli")


def imported(path: Path) -> Iterator[str]:
    """Modules of the package that a file imports when it runs, below the package's name; from x import y gives x.y."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    home = ["delassus", *parts[:-1]]  # of a relative import

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        yield from (name.removeprefix("delassus.") for name in names if name.startswith("delassus."))
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    yield from visit(ast.parse(path.read_text()))


def package_room(module: str) -> str | None:
    """The room of the package that a module is in; None for the package's own `__init__`."""
    first, _, rest = module.partition(".")
    if first in WORDS:
        return "words"
    if first == "io":
        return "io.recording" if rest.partition(".")[0] in ("recording", "Recorder", "Recording") else "io"
    return first if (SOURCE / first).is_dir() or (SOURCE / f"{first}.py").is_file() else None


def solver_room(module: str) -> str | None:
    """The room inside solvers/ that a module is in; None for those outside."""
    first, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    if first != "solvers" or not ((SOURCE / first / room).is_dir() or (SOURCE / first / f"{room}.py").is_file()):
        return None
    return "words" if room in FRONT_DOOR else room or None


def rooms(room_of: Callable[[str], str | None], under: Path) -> Graph:
    """The import graph between the rooms that `room_of` names, of all files under a folder."""
    graph: Graph = {}
    for path in sorted(under.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        here = None if path.parent == under and path.stem in ("__init__", "__main__") else room_of(module)
        if here is None:
            continue
        found = {room_of(name) for name in imported(path)}
        graph.setdefault(here, set()).update(room for room in found if room is not None and room != here)
    return graph


def reached(graph: Graph, start: str, seen: tuple[str, ...] = ()) -> set[str]:
    """All rooms below one; a circle of imports is an error."""
    if start in seen:
        raise ValueError(f"rooms import each other in a circle: {' → '.join([*seen, start])}")
    return graph[start].union(*(reached(graph, room, (*seen, start)) for room in graph[start]))


def without_shortcuts(graph: Graph) -> Graph:
    """Only the arrows that do not follow from others."""
    below = {room: reached(graph, room) for room in graph}
    return {room: {n for n in others if not any(n in below[m] for m in others)} for room, others in graph.items()}


def floors(graph: Graph) -> dict[str, int]:
    """How many arrows the longest way from a room to the ground has."""
    found: dict[str, int] = {}
    while len(found) < len(graph):
        for room in sorted(graph):
            if room not in found and graph[room] <= set(found):
                found[room] = 1 + max((found[other] for other in graph[room]), default=-1)
    return found


def routed(graph: Graph) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Floors from the ground up, and arrows between neighbouring floors only: those that go further pass between the
    boxes through bends, named "a>b@floor"."""
    floor = floors(graph)
    storeys: list[list[str]] = [[] for _ in range(1 + max(floor.values()))]
    for room in sorted(graph):
        storeys[floor[room]].append(room)
    arrows = []
    for room in sorted(graph):
        for other in sorted(graph[room]):
            way = [room, *(f"{room}>{other}@{k}" for k in range(floor[room] - 1, floor[other], -1)), other]
            for k, bend in enumerate(way[1:-1]):
                storeys[floor[room] - 1 - k].append(bend)
            arrows += list(zip(way, way[1:]))
    return storeys, arrows


def width(name: str, inside: dict[str, str]) -> float:
    """Of a box, or of the space for a bend [px]."""
    if "@" in name:
        return _BEND
    return max(64.0, 18 + 8.6 * len(name), 18 + 5.6 * len(inside.get(name, "")))


def places(storeys: list[list[str]], arrows: list[tuple[str, str]], inside: dict[str, str]) -> dict[str, float]:
    """Middle of every box and bend from left to right [px]: each floor ordered by where its arrows lead, then pulled
    there as far as the boxes leave room."""
    near: dict[str, list[str]] = {}
    for a, b in arrows:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    x = {name: 100.0 * k for storey in storeys for k, name in enumerate(storey)}
    for turn in range(40):
        for storey in storeys if turn % 2 else reversed(storeys):
            wish = {name: sum(x[n] for n in near.get(name, [name])) / len(near.get(name, [name])) for name in storey}
            storey.sort(key=lambda name: (round(wish[name], 3), name))
            sizes = [width(name, inside) for name in storey]
            at = [wish[name] for name in storey]
            for _ in range(60):  # push apart what overlaps, both sides alike
                for k in range(len(storey) - 1):
                    lack = at[k] + (sizes[k] + sizes[k + 1]) / 2 + _GAP_X - at[k + 1]
                    if lack > 0.0:
                        at[k] -= lack / 2
                        at[k + 1] += lack / 2
            for k in range(len(storey) - 1):
                at[k + 1] = max(at[k + 1], at[k] + (sizes[k] + sizes[k + 1]) / 2 + _GAP_X)
            x.update(zip(storey, at))
    left = min(x[name] - width(name, inside) / 2 for name in x)
    return {name: x[name] - left for name in x}


def panel(
    title: str, graph: Graph, inside: dict[str, str], colour: Callable[[str], str], left: float
) -> tuple[list[str], float, float]:
    """SVG lines of one graph, and how wide and high they are [px]."""
    storeys, arrows = routed(without_shortcuts(graph))
    x = places(storeys, arrows, inside)
    top = {
        name: 62 + (len(storeys) - 1 - k) * (_HEIGHT + _GAP_Y) for k, storey in enumerate(storeys) for name in storey
    }
    lines = [f'<text class="title" x="{left:.0f}" y="38">{escape(title)}</text>']
    for a, b in arrows:
        x1, x2, y1, y2 = left + x[a], left + x[b], top[a] + _HEIGHT, top[b]
        end = ' marker-end="url(#head)"' if "@" not in b else ""
        y2 -= 4 if end else 0
        middle = (y1 + y2) / 2
        lines.append(f'<path d="M{x1:.1f},{y1} C{x1:.1f},{middle} {x2:.1f},{middle} {x2:.1f},{y2}"{end}/>')
        if "@" in b:
            lines.append(f'<path d="M{x2:.1f},{y2} V{y2 + _HEIGHT}"/>')
    for storey in storeys:
        for name in storey:
            if "@" in name:
                continue
            fill, edge = _COLOURS[colour(name)]
            w, y, text = width(name, inside), top[name], inside.get(name, "")
            lines.append(
                f'<rect x="{left + x[name] - w / 2:.1f}" y="{y}" width="{w:.1f}" height="{_HEIGHT}" rx="6" '
                f'fill="{fill}" stroke="{edge}"/>'
            )
            middle = left + x[name]
            lines.append(f'<text class="name" x="{middle:.1f}" y="{y + (20 if text else 27)}">{escape(name)}</text>')
            if text:
                lines.append(f'<text class="inside" x="{middle:.1f}" y="{y + 35}">{escape(text)}</text>')
    return lines, max(x[n] + width(n, inside) / 2 for n in x), 62 + len(storeys) * (_HEIGHT + _GAP_Y) - _GAP_Y


def folders(room: str) -> str:
    """The rooms inside a room, for the second line of its box."""
    place = SOURCE.joinpath(*room.split("."))
    inner = sorted(p.name for p in place.glob("*/") if (p / "__init__.py").is_file()) if place.is_dir() else []
    return "  ".join(f"{name}/" for name in inner) if len(inner) <= 4 else f"{len(inner)} rooms"


def drawing() -> str:
    """The text of the SVG file."""
    house, families = rooms(package_room, SOURCE), rooms(solver_room, SOURCE / "solvers")
    inside = {room: folders(room) for room in house} | {
        "words": " ".join(WORDS),
        "io": "fclib/",
        "solvers": "see right",
    }
    inner = {room: folders(f"solvers.{room}") for room in families} | {"words": " ".join(FRONT_DOOR)}

    def colour(room: str) -> str:
        return "bodies" if room in _BODIES else "top" if room in _TOP else "ground"

    first, w1, h1 = panel("delassus: rooms and what they import", house, inside, colour, _MARGIN)
    second, w2, h2 = panel(
        "inside solvers/", families, inner, lambda room: "bodies" if room in _FAMILIES else "ground", w1 + 4 * _MARGIN
    )
    w, h = w1 + w2 + 5 * _MARGIN, max(h1, h2) + _MARGIN
    note = "An arrow means “imports”; arrows that follow from others are left out. Grey knows neither bodies nor time."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}">',
            _STYLE,
            '<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" style="fill:#7b8794;stroke:none"/></marker></defs>',
            f'<rect width="{w:.0f}" height="{h:.0f}" fill="#ffffff" stroke="none"/>',
            *first,
            f'<text class="note" x="{_MARGIN}" y="54">{escape(note)}</text>',
            *second,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    (DOCS / "rooms.svg").write_text(drawing(), encoding="utf-8")
