"""The table of commands: a command is one file and one line, and commands stand on their own."""

import ast
import shlex
import sys
from pathlib import Path

import pytest
from command_line import assert_refused
from typer.testing import CliRunner

import delassus.cli
from delassus.cli import Command
from delassus.cli.main import COMMANDS, app

CLI = Path(delassus.cli.__file__).parent

GREET = '''
"""`delassus greet`."""

from typing import Annotated

import typer

from delassus.errors import SettingsError


def greet(name: Annotated[str, typer.Argument(metavar="NAME", help="Whom to greet.")]) -> None:
    """Greet somebody by name.

    Exit code: 0 done, 2 bad input.
    """
    if not name.isalpha():
        raise SettingsError(f"NAME is {name!r}:\\nletters only, as in Ada")
    typer.echo(f"hello {name}")
'''


@pytest.fixture
def greeting(tmp_path, monkeypatch):
    """The command line with one command more, of a module that was just written."""
    (tmp_path / "greet_command.py").write_text(GREET)
    monkeypatch.syspath_prepend(tmp_path)
    delassus.register(Command("greet", "greet_command", "Say hello."))
    yield lambda *arguments: CliRunner().invoke(app, list(arguments))
    COMMANDS.remove("greet")
    sys.modules.pop("greet_command", None)


def test_a_command_is_one_file_and_one_line(greeting):
    result = greeting("greet", "Ada")
    assert (result.exit_code, result.stdout) == (0, "hello Ada\n")


def test_an_unknown_command_suggests_the_nearest():
    result = CliRunner().invoke(app, ["reproduse"])
    assert result.exit_code == 2
    assert "No such command 'reproduse': did you mean 'reproduce'?" in result.stderr


def test_help_lists_and_teaches_it(greeting):
    assert "Say hello." in next(line for line in greeting("--help").stdout.splitlines() if " greet " in line)
    text = greeting("greet", "--help").stdout
    for words in ("Greet somebody by name.", "Whom to greet.", "NAME"):
        assert words in text


def test_its_errors_are_one_sentence(greeting):
    assert_refused(greeting("greet", "7"), "NAME is '7': letters only, as in Ada")


def test_bugs_keep_their_traceback(tmp_path, monkeypatch):
    (tmp_path / "broken_command.py").write_text("def broken() -> None:\n    raise ZeroDivisionError\n")
    monkeypatch.syspath_prepend(tmp_path)
    COMMANDS.register(Command("broken", "broken_command", "Break."))
    result = CliRunner().invoke(app, ["broken"])
    COMMANDS.remove("broken")
    assert isinstance(result.exception, ZeroDivisionError)


def test_commands_do_not_import_each_other():
    homes = {line.name: line.module.removeprefix("delassus.cli.").partition(".")[0] for line in COMMANDS.values()}
    here = [name for name, home in homes.items() if home not in ("delassus", "delassus_papers")]
    assert [homes[name] for name in here] == here  # a file's name says which command it serves
    for name in here:
        files = [CLI / f"{name}.py"] if (CLI / f"{name}.py").exists() else sorted((CLI / name).glob("*.py"))
        assert files
        for path in files:
            nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
            found = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
            foreign = {one for one in found for other in COMMANDS if f"{one}.".startswith(f"delassus.cli.{other}.")}
            assert {one for one in foreign if not one.startswith(f"delassus.cli.{name}.")} == set(), path.name


def examples():
    """Commands on files that the help shows, in order."""
    texts = [CliRunner().invoke(app, words).stdout for words in (["--help"], ["solve", "--help"], ["info", "--help"])]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.startswith(("delassus solve ", "delassus info "))))


def test_examples_of_the_help_run(data_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pile.hdf5").write_bytes((data_dir / "OneContact-1c.hdf5").read_bytes())
    shown = examples()
    assert len(shown) >= 5
    for line in shown:
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, f"{line}: {result.stderr}"
    assert {"race.png", "runs.json", "facts.json", "solved"} <= {path.name for path in tmp_path.iterdir()}
