"""Every file with every solver; a bad file costs its own runs only."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from delassus.cli.console import BAD_INPUT, INTERRUPTED, Display
from delassus.cli.options import AUTO, with_threads
from delassus.cli.solve.command import Plan
from delassus.errors import DelassusError

if TYPE_CHECKING:
    from delassus.io.fclib import FclibFile
    from delassus.problem import Problem
    from delassus.solvers.settings import Settings
    from delassus.solvers.solution import Solution, Trace


@dataclass(frozen=True)
class Run:
    """One finished run. asked: the solver as the command line named it."""

    file: Path
    asked: str
    contacts: int
    settings: "Settings"
    solution: "Solution"
    trace: "Trace"
    solution_file: Path | None

    @property
    def solver(self) -> str:
        """What was asked for, and, where that chooses, what it came to: "auto (prox-ssn)"."""
        return self.asked if self.asked == self.solution.solver else f"{self.asked} ({self.solution.solver})"


@dataclass
class Batch:
    """What came of a plan."""

    runs: list[Run] = field(default_factory=list)
    failed: bool = False  # some file could not be read or written
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return INTERRUPTED
        if self.failed:
            return BAD_INPUT
        return 0 if all(run.solution.converged for run in self.runs) else 1


class WarmUp:
    """Lets each solver do one contact of the problem's storage first, once: its first call in a process touches
    everything for the first time, which doubles the time of a small problem. (Compiling is not on the clock.)"""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()

    def __call__(self, problem: "Problem", settings: "Settings") -> None:
        from delassus.solvers.solve_problem import solve

        key = (problem.delassus.kind, settings.solver)
        if key not in self._done:
            self._done.add(key)
            solve(_one_contact(problem), settings, max_iter=3)


def solve_all(plan: Plan) -> Batch:
    """Carry the plan out; on Ctrl-C what is finished stays."""
    _use_threads(plan.threads)
    batch = Batch(failed=bool(plan.complaints))
    warm_up = WarmUp()
    try:
        with Display(plan.run_count) as display:
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
        display.now(f"{file.name}  reading")
        raw = read_fclib(file)
        problem = to_problem(raw, law=plan.law, name=str(file))
    except DelassusError as error:
        batch.failed = True
        display.error(error)
        display.advance(len(plan.solvers))
        return
    for solver in plan.solvers:
        try:
            batch.runs.append(_run(plan, file, raw, problem, solver, display, warm_up))
        except DelassusError as error:
            batch.failed = True
            display.error(f"{file}: {solver}: {error}")
        display.advance(1)


def _run(
    plan: Plan, file: Path, raw: "FclibFile", problem: "Problem", solver: str, display: Display, warm_up: WarmUp
) -> Run:
    from delassus.io.problems import save_solution
    from delassus.solvers.solution import Trace
    from delassus.solvers.solve_problem import solve
    from delassus.status import Status

    settings = _settings_for(plan, problem, solver)
    trace = Trace()

    def follow(iteration: int, seconds: float, relative: float, velocity: float) -> None:
        trace.add(iteration, seconds, relative, velocity)
        display.now(f"{file.name}  {settings.solver}  iteration {iteration}  residual {relative:.1e}")

    display.now(f"{file.name}  {settings.solver}")
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
    return Run(file, solver, problem.contact_count, settings, solution, trace, target)


def _settings_for(plan: Plan, problem: "Problem", name: str) -> "Settings":
    """What to solve this problem with when the command line said `name`; for `auto`, what it begins with."""
    from delassus.solvers.plan import default_solver
    from delassus.solvers.table import find

    return with_threads(find(default_solver(problem) if name == AUTO else name)[1].parsed(plan.settings), plan.threads)


def _one_contact(problem: "Problem") -> "Problem":
    """A sliding contact of unit mass, stored as `problem` is and under its law."""
    import numpy as np

    from delassus.problem import Problem

    one, velocity, mu = np.eye(3), [-1.0, 1.0, 0.0], [0.5]
    kind = problem.delassus.kind
    if kind == "matrix":
        return Problem.dual(one, velocity, mu=mu, law=problem.law)
    size = 6 if kind == "rigid" else 3
    return Problem.primal(
        np.eye(size), np.eye(3, size), u_f=np.resize([*velocity, 0, 0, 0], size), mu=mu, law=problem.law
    )
