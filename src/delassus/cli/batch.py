"""Running a plan: every file with every solver, one row each; a bad file costs its own rows only."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from delassus.cli.console import BAD_INPUT, INTERRUPTED
from delassus.cli.plan import AUTO, Plan, settings_for
from delassus.cli.progress import Display
from delassus.cli.warmup import WarmUp
from delassus.errors import DelassusError

if TYPE_CHECKING:
    from delassus.io.fclib import FclibFile
    from delassus.problem import Problem
    from delassus.solvers.settings import Settings
    from delassus.solvers.solution import Solution, Trace


@dataclass(frozen=True)
class Row:
    """One finished run."""

    file: Path
    contacts: int
    settings: "Settings"
    solution: "Solution"
    trace: "Trace"
    solution_file: Path | None


@dataclass
class Batch:
    """What came of a plan."""

    rows: list[Row] = field(default_factory=list)
    failed: bool = False  # some file could not be read or written
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.failed:
            return BAD_INPUT
        return 0 if all(row.solution.converged for row in self.rows) else 1


def run_plan(plan: Plan, display: Display) -> Batch:
    """Solve everything; on Ctrl-C what is finished stays."""
    _use_threads(plan.threads)
    batch = Batch(failed=bool(plan.complaints))
    warm_up = WarmUp()
    try:
        with display:
            for complaint in plan.complaints:
                display.error(complaint)
            for file in plan.files:
                _run_file(plan, file, display, batch, warm_up)
    except KeyboardInterrupt:
        batch.interrupted = True
    return batch


def _use_threads(count: int | None) -> None:
    if count is not None:
        import numba

        numba.set_num_threads(count)


def _run_file(plan: Plan, file: Path, display: Display, batch: Batch, warm_up: WarmUp) -> None:
    from delassus.io.fclib import read_fclib
    from delassus.io.problems import to_problem

    try:
        display.now(file, "reading")
        raw = read_fclib(file)
        problem = to_problem(raw, law=plan.law, name=str(file))
    except DelassusError as error:
        batch.failed = True
        display.error(error)
        display.advance(len(plan.solvers))
        return
    for solver in plan.solvers:
        try:
            batch.rows.append(_run(plan, file, raw, problem, solver, display, warm_up))
        except DelassusError as error:
            batch.failed = True
            display.error(f"{file}: {solver}: {error}")
        display.advance(1)


def _run(
    plan: Plan, file: Path, raw: "FclibFile", problem: "Problem", solver: str, display: Display, warm_up: WarmUp
) -> Row:
    from delassus.io.problems import save_solution
    from delassus.solvers.solution import Trace
    from delassus.solvers.solve_problem import solve
    from delassus.status import Status

    settings = settings_for(plan, problem, solver)
    trace = Trace()

    def follow(iteration: int, seconds: float, relative: float, velocity: float) -> None:
        trace.add(iteration, seconds, relative, velocity)
        display.now(file, f"{settings.solver}  iteration {iteration}  residual {relative:.1e}")

    display.now(file, settings.solver)
    warm_up(problem, settings)
    # settings belong to one method, so they turn the portfolio behind `auto` into the method it begins with
    is_portfolio = solver == AUTO and not plan.settings and plan.threads is None
    solution = solve(problem, AUTO if is_portfolio else settings, trace=follow, **plan.limits)
    target = plan.solution_path(file, solver)
    if target is not None and solution.status is Status.UNSUPPORTED:
        target = None  # there is no point to write
    if target is not None:
        save_solution(target, raw, solution, overwrite=plan.outputs.overwrite)
        if not solution.converged:
            display.note(f"note: {target} holds the best point found, which did not converge")
    return Row(file, problem.contact_count, settings, solution, trace, target)
