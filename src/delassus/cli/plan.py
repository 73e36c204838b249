"""What one `delassus solve` is to do, with everything checked that can be before a file is read."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from delassus.cli.inputs import expand
from delassus.cli.outputs import check_distinct, check_output, looking_at, refuse_input
from delassus.errors import FileError, SettingsError
from delassus.law import Law

if TYPE_CHECKING:
    from delassus.problem import Problem
    from delassus.solvers.driver import VelocityTolerance
    from delassus.solvers.settings import Settings

AUTO = "auto"
FIGURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Outputs:
    """Where results go besides the table; None: nowhere."""

    json: Path | None = None
    plot: Path | None = None
    solution_dir: Path | None = None
    overwrite: bool = False  # may files in solution_dir be replaced?


@dataclass(frozen=True)
class Plan:
    """Build with `make_plan`: every file is solved by every solver."""

    files: list[Path]
    solvers: list[str]
    settings: dict[str, str]
    law: Law
    limits: dict  # keyword arguments of `delassus.solve`
    outputs: Outputs
    threads: int | None = None  # for solvers that can use several
    complaints: list[FileError] = field(default_factory=list)  # patterns that match no file

    @property
    def run_count(self) -> int:
        return len(self.files) * len(self.solvers)

    def solution_path(self, file: Path, solver: str) -> Path | None:
        """Where the solution of this run goes."""
        if self.outputs.solution_dir is None:
            return None
        name = file.name if len(self.solvers) == 1 else f"{file.stem}.{solver}{file.suffix}"
        return self.outputs.solution_dir / name


def make_plan(
    files: list[str],
    solvers: list[str],
    pairs: list[str],
    law: Law,
    limits: dict,
    outputs: Outputs,
    threads: int | None = None,
) -> Plan:
    """Check settings, outputs, names and limits, in the order of cost; raises SettingsError or FileError."""
    paths, complaints = expand(files)
    names = list(dict.fromkeys(solvers or [AUTO]))
    plan = Plan(paths, names, key_values(pairs, "omega=1.2"), law, limits, outputs, threads, complaints)
    _check_outputs(plan)
    _check_solvers(plan)
    if outputs.solution_dir is not None:
        make_directory(outputs.solution_dir)
    return plan


def key_values(pairs: list[str], example: str) -> dict[str, str]:
    """The texts given with --set, by name."""
    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (equals and name.strip() and text.strip()):
            raise SettingsError(f"--set {pair!r} is not key=value: write for instance --set {example}")
        texts[name.strip()] = text.strip()
    return texts


def velocity_tolerance(text: str) -> "VelocityTolerance":
    """A factor, "auto", or None for "none"."""
    word = text.strip().lower()
    if word in ("auto", "none"):
        return "auto" if word == "auto" else None
    try:
        return float(word)
    except ValueError:
        raise SettingsError(f"--tol-velocity is {text!r}: give a factor such as 1e-4, auto or none") from None


def _check_outputs(plan: Plan) -> None:
    outputs = plan.outputs
    for path in (outputs.json, outputs.plot):
        if path is not None:
            check_output(path, plan.files)
    if outputs.plot is not None and outputs.plot.suffix.lower() not in FIGURES:
        raise FileError(f"{outputs.plot}: not a kind of figure known here: end it in {', '.join(FIGURES)}")
    solutions = [plan.solution_path(file, solver) for file in plan.files for solver in plan.solvers]
    written = [path for path in [outputs.json, outputs.plot, *solutions] if path is not None]
    for path in filter(None, solutions):
        with looking_at(path):
            _check_solution(path, plan)
    check_distinct(written)


def _check_solution(path: Path, plan: Plan) -> None:
    refuse_input(path, plan.files)
    if path.is_dir():
        raise FileError(f"{path}: is a directory: choose another --write-solution directory")
    if path.exists() and not plan.outputs.overwrite:
        raise FileError(f"{path}: exists already: give --overwrite or another --write-solution directory")


def make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{directory}: cannot be made a directory ({reason}): choose another") from None


def _check_solvers(plan: Plan) -> None:
    """Names and settings of the solvers, and the limits: the first import that takes time."""
    from delassus.solvers.driver import Limits
    from delassus.solvers.table import find

    Limits(**plan.limits)
    for name in plan.solvers:
        if name != AUTO:
            with_threads(find(name)[1].parsed(plan.settings), plan.threads)
    if AUTO in plan.solvers and plan.settings:
        _check_some_solver_takes(plan.settings)
    if plan.threads is not None:
        check_threads(plan.threads)


def _check_some_solver_takes(settings: dict[str, str]) -> None:
    """Which solver "auto" is shows once a file is read; what none of them takes is refused before."""
    from delassus.solvers.table import SOLVERS

    errors = []
    for line in SOLVERS.values():
        try:
            with_threads(line.settings.parsed(settings), None)
        except SettingsError as error:
            errors.append(error)
    if len(errors) == len(SOLVERS):
        raise errors[0]


def check_threads(count: int, name: str = "--threads") -> None:
    import numba

    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set when numba starts
    if not 1 <= count <= most:
        raise SettingsError(f"{name} is {count}: give 1 to {most}, the number of cores here")


def with_threads(settings: "Settings", count: int | None) -> "Settings":
    """The settings with so many threads where the solver can use several (None: as they are), which must exist."""
    if not hasattr(settings, "threads"):
        return settings
    if count is not None:
        check_threads(count)
        return settings.changed(threads=count)
    check_threads(settings.threads, "threads")
    return settings


def settings_for(plan: Plan, problem: "Problem", name: str) -> "Settings":
    """What to solve this problem with when the command line said `name`; for `auto`, what it begins with."""
    from delassus.solvers.auto.stages import default_solver
    from delassus.solvers.table import find

    return with_threads(find(default_solver(problem) if name == AUTO else name)[1].parsed(plan.settings), plan.threads)
