"""`delassus scenes`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from delassus.cli import console
from delassus.cli.files import check_output, write_json
from delassus.cli.tables import Column, print_facts, print_options, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from delassus.scenes import Scene


def scenes(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show one scene and its parameters.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="OUT", help="Write names, parameters, ... as JSON.")] = None,
) -> None:
    """List the scenes: what happens in them, their parameters with defaults and units.

    \b
      delassus scenes
      delassus scenes four-bar
    """
    if json is not None:
        check_output(json, [])
    from delassus.scenes import SCENES, find

    shown = list(SCENES.values()) if name is None else [find(name)]
    out = console.stdout()
    if name is None:
        print_table(_columns(shown), out)
        out.print("`delassus scenes NAME` shows a scene's parameters.", style="dim", soft_wrap=True)
    else:
        _show_one(shown[0], out)
    if json is not None:
        write_json(json, [_as_json(scene) for scene in shown])


def _columns(shown: "list[Scene]") -> list[Column]:
    return [
        Column("name", [scene.name for scene in shown]),
        Column("what happens", [scene.summary for scene in shown], narrow=30),
        Column("parameters", [", ".join(scene.parameters) for scene in shown], narrow=20),
    ]


def _show_one(scene: "Scene", out: "Console") -> None:
    setup = scene.build()
    facts = [
        ("name", scene.name),
        ("what happens", scene.summary),
        ("model", repr(setup.model)),
        ("duration", f"{setup.duration:g} s in steps of {setup.settings.h:g} s"),
        ("checks", scene.claims),
    ]
    print_facts(facts, out)
    out.print()
    rows = [
        (p.name, f"{p.default:.6g}" if isinstance(p.default, float) else str(p.default), p.meaning)
        for p in scene.parameters.values()
    ]
    print_options("parameter", rows, f"delassus run {scene.name}", out)


def _as_json(scene: "Scene") -> dict[str, Any]:
    setup = scene.build()
    return {
        "name": scene.name,
        "summary": scene.summary,
        "duration": setup.duration,
        "dt": setup.settings.h,
        "bodies": setup.model.body_count,
        "joints": setup.model.joints.count,
        "checks": scene.claims,
        "parameters": {p.name: {"default": p.default, "meaning": p.meaning} for p in scene.parameters.values()},
    }
