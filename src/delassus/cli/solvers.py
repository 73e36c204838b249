"""`delassus solvers`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from delassus.cli import console
from delassus.cli.files import check_output, write_json
from delassus.cli.tables import Column, print_facts, print_options, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from delassus.solvers.compose import Modifier
    from delassus.solvers.driver import Solver
    from delassus.solvers.settings import Settings


def solvers(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show one solver and its settings.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="OUT", help="Write names, laws, settings, ... as JSON.")] = None,
) -> None:
    """List the solvers: what they take, where they come from, when to use them, and their settings.

    Modifiers make a solver of another one: put them behind its name with a plus.

    \b
      delassus solvers
      delassus solvers nbgs
      delassus solvers nbgs+anderson
    """
    if json is not None:
        check_output(json, [])
    from delassus.solvers.table import MODIFIERS, SOLVERS, find

    lines = list(SOLVERS.values()) if name is None else [find(name)[0]]
    out = console.stdout()
    if name is None:
        print_table(_columns(lines), out)
        out.print()
        print_table(_modifier_columns(list(MODIFIERS.values())), out)
        out.print("`delassus solvers NAME` shows a solver's settings.", style="dim", soft_wrap=True)
    else:
        _show_one(lines[0], out)
    if json is not None:
        write_json(json, [_as_json(line) for line in lines])


def setting_lines(settings: "Settings") -> list[tuple[str, Any, str]]:
    """(name, default, meaning) of each setting; the meaning is the comment beside the field in the source."""
    from delassus.solvers.compose import Composed, setting_names

    if isinstance(settings, Composed):
        own = [(f"{settings.modifier.solver}.{name}", *rest) for name, *rest in setting_lines(settings.modifier)]
        return setting_lines(settings.base) + own
    said = _comments(type(settings))
    return [(name, getattr(settings, name), said.get(name, "")) for name in setting_names(settings)]


def _comments(kind: type) -> dict[str, str]:
    """Comments beside the fields of a dataclass by field name, those of its bases included."""
    import ast
    import inspect
    import io
    import tokenize

    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__[:-1]):
        try:
            source = inspect.cleandoc("\n" + inspect.getsource(owner))
        except OSError:  # a frozen application has no source: names and defaults must do
            continue
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
        for field in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                lines = range(field.lineno, (field.end_lineno or field.lineno) + 1)
                found[field.target.id] = " ".join(comments[line] for line in lines if line in comments)
    return found


def _laws(line: "Solver") -> str:
    return ", ".join(law.value for law in line.laws)


def _rows(line: "Solver") -> str:
    from delassus.solvers.driver import ALL_ROWS

    return "all" if set(line.rows) == set(ALL_ROWS) else ", ".join(line.rows)


def _columns(lines: list["Solver"]) -> list[Column]:
    return [
        Column("name", [line.name for line in lines]),
        Column("laws", [_laws(line) for line in lines], narrow=13),
        Column("rows", [_rows(line) for line in lines], narrow=10),
        Column("advice", [line.advice for line in lines], narrow=30),
        Column("paper", [line.paper for line in lines], narrow=12),
    ]


def _modifier_columns(modifiers: list["Modifier"]) -> list[Column]:
    return [
        Column("modifier", [f"+{modifier.name}" for modifier in modifiers]),
        Column("advice", [modifier.advice for modifier in modifiers], narrow=30),
        Column("paper", [modifier.paper for modifier in modifiers], narrow=12),
    ]


def _show_one(line: "Solver", out: "Console") -> None:
    shown = {"name": line.name, "laws": _laws(line), "rows": ", ".join(line.rows), "paper": line.paper}
    print_facts(list((shown | {"advice": line.advice}).items()), out)
    out.print()
    rows = [(name, str(value), said) for name, value, said in setting_lines(line.settings)]
    print_options("setting", rows, f"delassus solve FILE --solver {line.name}", out)


def _as_json(line: "Solver") -> dict[str, Any]:
    return {
        "name": line.name,
        "laws": [law.value for law in line.laws],
        "rows": list(line.rows),
        "paper": line.paper,
        "advice": line.advice,
        "settings": {name: {"default": value, "meaning": said} for name, value, said in setting_lines(line.settings)},
    }
