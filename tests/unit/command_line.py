"""The command line as the tests use it."""

from typer.testing import CliRunner

from delassus.cli.main import app


def delassus(*arguments):
    """What `delassus …` prints and returns."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def assert_refused(result, *words):
    """Exit code 2, nothing on stdout, one line on stderr that holds the words."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]
