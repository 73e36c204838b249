"""The command line as the tests use it."""

from typer.testing import CliRunner

from delassus.cli.main import app


def delassus(*arguments):
    """What `delassus …` prints and returns. Runs are not rendered unless asked: a picture takes longer than the run."""
    words = [str(argument) for argument in arguments]
    plain = words[:1] == ["run"] and "--pictures" not in words and not {"-h", "--help"} & set(words)
    return CliRunner().invoke(app, [*words, "--no-pictures"] if plain else words)


def assert_refused(result, *words):
    """Exit code 2, nothing on stdout, one line on stderr that holds the words."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]
