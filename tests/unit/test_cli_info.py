"""`delassus info`, `delassus solvers`, `--help`, and the tables they share."""

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest
from command_line import delassus as run
from rich.console import Console

import delassus
from delassus.cli import tables
from delassus.cli.solvers import setting_lines
from delassus.cli.tables import Column, print_table
from delassus.problem.describe import describe
from delassus.solvers import SOLVERS
from delassus.solvers.settings import Settings

LOCAL, GLOBAL = "OneObject-i1028-138.hdf5", "Flex-TwoRods1.hdf5"


def command(*arguments):
    """A process of its own, as users start it."""
    code = "from delassus.cli.main import run; run()"
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)


# -- info --------------------------------------------------------------------------------------------------------------


def test_info_json_is_the_description(tmp_path, data_dir):
    out = tmp_path / "facts.json"
    assert run("info", data_dir / LOCAL, data_dir / GLOBAL, "--json", out).exit_code == 0
    for entry in json.loads(out.read_text(), parse_constant=pytest.fail):
        expected = describe(delassus.load_problem(entry["file"])).as_dict()
        infinite = expected["full_rank"] is False
        assert entry["condition"] == (None if infinite else expected["condition"])
        for key in ("form", "rows", "contacts", "rank", "condition_nonzero", "dofs", "density_total", "islands"):
            assert entry[key] == expected[key]


def test_info_of_one_file_is_a_card(data_dir):
    result = run("info", data_dir / LOCAL)
    assert result.exit_code == 0
    assert "rank of W" in result.stdout
    assert "51 of 69 rows" in result.stdout
    assert "infinite; 1.9e+06 over nonzero singular values" in result.stdout
    assert "unknown (local form)" in result.stdout


def test_info_prints_the_plan_that_a_solve_follows(data_dir, tmp_path):
    """In the card, in the file, and in the trace of the solve."""
    out = tmp_path / "facts.json"
    card = run("info", data_dir / LOCAL, "--json", out).stdout
    (entry,) = json.loads(out.read_text())
    problem = delassus.load_problem(data_dir / LOCAL)
    assert entry["plan"] == delassus.solve(problem).trace.plan
    assert entry["plan"][0] == "prox-ssn (least=False), first in one compiled call, at most 20000 iterations"
    assert entry["plan"][-1] == "nbgs+anderson"
    lines = [line.split() for line in card.splitlines()]
    assert ["plan", "1.", "prox-ssn"] in [line[:3] for line in lines]
    assert [f"{len(entry['plan'])}.", "nbgs+anderson"] in lines


def test_info_of_several_files_is_a_table_and_a_bad_one_costs_only_itself(data_dir):
    result = run("info", data_dir / LOCAL, "absent.hdf5", data_dir / GLOBAL)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == ["error: absent.hdf5: no such file: check the path"]
    assert [line.split()[0] for line in result.stdout.splitlines()[2:4]] == [LOCAL, GLOBAL]


def test_info_never_writes_over_a_problem(data_dir):
    for target in (data_dir / LOCAL, data_dir / GLOBAL):
        before = target.read_bytes()
        assert run("info", data_dir / LOCAL, "--json", target).exit_code == 2
        assert target.read_bytes() == before


# -- solvers -----------------------------------------------------------------------------------------------------------


def test_solvers_lists_the_whole_table(tmp_path):
    result = run("solvers", "--json", tmp_path / "solvers.json")
    assert result.exit_code == 0
    entries = json.loads((tmp_path / "solvers.json").read_text(), parse_constant=pytest.fail)
    assert [entry["name"] for entry in entries] == list(SOLVERS)
    for entry, line in zip(entries, SOLVERS.values()):
        assert line.name in result.stdout
        assert line.advice in result.stdout
        assert entry["laws"] == [law.value for law in line.laws]


@pytest.mark.parametrize("name", list(SOLVERS))
def test_every_setting_is_shown_with_default_and_meaning(name):
    result = run("solvers", name)
    assert result.exit_code == 0
    for setting, default, meaning in setting_lines(SOLVERS[name].settings):
        assert meaning, f"{name}: the field {setting} has no comment"
        assert any(line.split()[:2] == [setting, str(default)] for line in result.stdout.splitlines())
        assert meaning in result.stdout


def test_unknown_solver_suggests_the_nearest():
    result = run("solvers", "raisin")
    assert result.exit_code == 2
    assert result.stderr == "error: unknown solver 'raisin'; did you mean 'raisim'?\n"


@dataclass(frozen=True)
class Sample(Settings):
    """A family with comments in every place a formatter may put them."""

    plain: int = 1  # beside
    folded: tuple = 2  # inside
    silent: int = 3


def test_meanings_are_found_wherever_the_comment_stands():
    assert setting_lines(Sample("x")) == [("plain", 1, "beside"), ("folded", 2, "inside"), ("silent", 3, "")]


# -- tables and numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_number_is_cut_in_a_narrow_terminal(width, capsys):
    figures = ["1.234e-07", "9.876e+10"]
    columns = [
        Column("file", ["a-rather-long-file-name-000.hdf5", "b.hdf5"], narrow=8),
        Column("residual of all", figures, right=True),
        Column("spare", ["77777", "88888"], right=True, spare=True),
    ]
    print_table(columns, Console(width=width))
    printed = capsys.readouterr().out
    assert all(figure in printed for figure in figures)
    assert ("spare left out" in printed) == ("77777" not in printed) == (width < 50)
    assert "".join(line.split("  ")[0].strip() for line in printed.splitlines()).count("a-rather") == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.5e-5, "35 µs"),
        (4.2e-3, "4.2 ms"),
        (0.99991, "1 s"),
        (1.734, "1.73 s"),
        (119.6, "120 s"),
        (725.0, "12 min 5 s"),
    ],
)
def test_seconds_have_a_sensible_unit(value, text):
    assert tables.seconds(value) == text


# -- the program -------------------------------------------------------------------------------------------------------


def test_help_teaches_every_command():
    text = run("--help").stdout
    for example in ("delassus solve pile.hdf5", "delassus info pile.hdf5", "delassus solvers nbgs"):
        assert example in text
    said = " ".join(run("solve", "--help").stdout.split())
    for word in (
        "Relative natural map",
        "pure number",
        "factor of the velocities around it",
        "--json holds every residual",
    ):
        assert word in said


def test_version():
    assert run("--version").stdout == f"delassus {delassus.__version__}\n"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom delassus.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit: pass\n"
        "print({'numpy', 'numba', 'scipy', 'h5py', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_the_program_solves_and_reports_by_exit_code(tmp_path, data_dir):
    good = command("solve", data_dir / "Rover-4396.hdf5", "--json", tmp_path / "out.json")
    assert good.returncode == 0, good.stderr
    assert "\x1b" not in good.stdout  # piped: no colours, no cursor movements
    assert json.loads((tmp_path / "out.json").read_text())[0]["status"] == "converged"
    bad = command("solve", tmp_path / "absent.hdf5")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == f"error: {tmp_path}/absent.hdf5: no such file: check the path\n"
