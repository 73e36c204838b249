"""`delassus info`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from delassus.cli import console, files, options, tables
from delassus.cli.tables import Column, print_facts, print_table
from delassus.errors import DelassusError

if TYPE_CHECKING:
    from delassus.problem.describe import Description


class Fact(NamedTuple):
    """What is printed of a file."""

    path: Path
    found: "Description"
    text: dict[str, str | None]
    """Title and description."""
    plan: list[str]
    """What `delassus solve` does without further options, a line for each stage."""


def info(
    file: options.ProblemFiles,
    json: Annotated[Path | None, typer.Option(metavar="OUT", help="Write every figure of every file as JSON.")] = None,
) -> None:
    """Say what problems are like: sizes, densities, rank, conditioning, mass ratio, islands; and how they are solved.

    A card for one file, with the methods that `delassus solve` tries one after the other; a table for several. Local
    files know no bodies, so what depends on them is missing there.
    `~` marks figures that are estimated because the problem is large.

    \b
      delassus info pile.hdf5
      delassus info *.hdf5 --json facts.json
    """
    paths, complaints = files.expand(file)
    if json is not None:
        files.check_output(json, paths)
    for complaint in complaints:
        console.say_error(complaint)
    facts: list[Fact] = []
    code = console.BAD_INPUT if complaints else 0
    try:
        with _status() as status:
            for path in paths:
                status.update(path.name)
                if not _look(path, facts):
                    code = console.BAD_INPUT
    except KeyboardInterrupt:
        code = console.INTERRUPTED
    _show(facts, files.short_names(paths), single=len(paths) == 1)
    if json is not None and facts:  # as in `solve`
        files.write_json(
            json, [{"file": str(each.path)} | each.text | each.found.as_dict() | {"plan": each.plan} for each in facts]
        )
    raise typer.Exit(code)


def _status() -> Any:
    return console.stderr().status("", spinner="line")  # shown in a terminal only


def _look(path: Path, facts: list[Fact]) -> bool:
    """Describe one file; False, and a line on stderr, if it cannot be read."""
    from delassus.io.fclib import read_fclib
    from delassus.io.problems import to_problem
    from delassus.problem.describe import describe
    from delassus.solvers.plan import plan_of

    try:
        raw = read_fclib(path)
        problem = to_problem(raw, name=str(path))
        found, plan = describe(problem), plan_of(problem).words(problem)
    except DelassusError as error:
        console.say_error(error)
        return False
    facts.append(Fact(path, found, {"title": raw.info.title, "description": raw.info.description}, plan))
    return True


def _show(facts: list[Fact], names: dict[Path, str], single: bool) -> None:
    out = console.stdout()
    if single and facts:
        path, found, text, plan = facts[0]
        about = [(key, " ".join(value.split())) for key, value in text.items() if value]
        stages = [("plan" if k == 0 else "", f"{k + 1}. {words}") for k, words in enumerate(plan)]
        print_facts([("file", names[path]), *about, *_lines(found), *stages], out)
    elif facts:
        print_table(_columns(facts, names), out)
        if any(each.found.spectrum.method == "estimated" for each in facts):
            out.print("~ estimated", style="dim")


def _lines(found: "Description") -> list[tuple[str, str]]:
    """The card, line by line."""
    size = f"{found.contacts} contacts, {found.bilateral_rows} bilateral and {found.unilateral_rows} unilateral rows"
    bodies = {"matrix": "unknown (local form)", "sparse": f"flexible, {found.dofs} degrees of freedom"}
    densities = (found.density_joints, found.density_contacts, found.density_total)
    friction = tables.MISSING if found.friction is None else " to ".join(f"{mu:g}" for mu in sorted({*found.friction}))
    return [
        ("form", f"{found.form} ({'W, q' if found.form == 'local' else 'M, H, f, w'})"),
        ("rows", f"{found.rows}: {size}"),
        ("bodies", bodies.get(found.storage, f"{found.bodies} rigid, {found.dofs} degrees of freedom")),
        ("densities", "joints {}, contacts {}, total {}".format(*map(tables.plain, densities))),
        ("category", found.category or tables.MISSING),
        ("rank of " + ("W" if found.form == "local" else "J"), f"{_about(found, _rank(found))} of {found.rows} rows"),
        ("condition of " + ("W" if found.form == "local" else "D"), _condition(found)),
        ("mass ratio", tables.plain(found.mass_ratio)),
        ("asymmetry of " + ("W" if found.form == "local" else "M"), tables.scientific(found.asymmetry)),
        ("friction", friction),
        ("islands", tables.count(found.islands)),
    ]


def _columns(facts: list[Fact], names: dict[Path, str]) -> list[Column]:
    """The table; least important columns last, since those go first in a narrow terminal."""
    from rich.text import Text

    found = [each.found for each in facts]
    condition = [_about(each, tables.scientific(each.spectrum.condition_nonzero)) for each in found]
    return [
        Column("file", [Text(names[each.path]) for each in facts], narrow=16),
        Column("contacts", [tables.count(each.contacts) for each in found], right=True),
        Column("rows", [tables.count(each.rows) for each in found], right=True, spare=True),
        Column("rank", [_about(each, _rank(each)) for each in found], right=True),
        Column("condition, nonzero", condition, right=True),
        Column("category", [each.category or tables.MISSING for each in found], narrow=11, spare=True),
        Column("islands", [tables.count(each.islands) for each in found], right=True, spare=True),
        Column("dofs", [tables.count(each.dofs) for each in found], right=True, spare=True),
        Column("mass ratio", [tables.plain(each.mass_ratio) for each in found], right=True, spare=True),
        Column("form", [each.form for each in found], spare=True),
    ]


def _rank(found: "Description") -> str:
    return tables.count(found.spectrum.rank)


def _condition(found: "Description") -> str:
    over_nonzero = _about(found, tables.scientific(found.spectrum.condition_nonzero))
    if found.spectrum.method == "skipped":
        return "skipped: the problem is too large"
    return over_nonzero if found.spectrum.full_rank else f"infinite; {over_nonzero} over nonzero singular values"


def _about(found: "Description", text: str) -> str:
    return f"~{text}" if found.spectrum.method == "estimated" else text
