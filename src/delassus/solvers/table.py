"""The table of solvers: one line each. The contract tests, `delassus solvers` and the benchmarks run over it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from delassus.errors import SettingsError, nearest
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.direct import Direct, DirectMethod
from delassus.solvers.driver import Method
from delassus.solvers.prox_ssn import ProxSsn, start_prox_ssn
from delassus.solvers.settings import Settings
from delassus.solvers.splitting import Splitting, start_splitting

BILATERAL, UNILATERAL, CONTACT = "bilateral", "unilateral", "contact"
ALL_ROWS = (BILATERAL, UNILATERAL, CONTACT)


@dataclass(frozen=True)
class Solver:
    """A line of the table: what the method takes, where it comes from, when to use it, and how to start it."""

    settings: Settings
    laws: tuple[Law, ...]
    rows: tuple[str, ...]
    paper: str
    advice: str
    start: Callable[[Problem, Settings, np.ndarray], Method]
    most_rows: int | None = None  # where the method's cost or memory would get out of hand

    @property
    def name(self) -> str:
        return self.settings.solver

    def takes(self, problem: Problem) -> bool:
        """Does the method treat this law, these kinds of rows and this many of them?"""
        if self.most_rows is not None and problem.row_count > self.most_rows:
            return False
        cone = problem.cone
        present = [(BILATERAL, cone.bilateral.size), (UNILATERAL, cone.unilateral), (CONTACT, cone.contact_count)]
        return problem.law in self.laws and all(kind in self.rows for kind, count in present if count)


_EXACT = (Law.NCP, Law.FRICTIONLESS)
_ANY = (Law.NCP, Law.CCP, Law.FRICTIONLESS)


def _start_direct(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    assert isinstance(settings, Direct)
    contacts = SOLVERS["nbgs"].settings
    assert isinstance(contacts, Splitting)
    return DirectMethod(problem, reactions, contacts)


def _splitting(name, laws, paper, advice, **settings) -> Solver:
    return Solver(Splitting(solver=name, **settings), laws, ALL_ROWS, paper, advice, start_splitting)


SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in [
        _splitting("nbgs", _EXACT, "003 Alg. 4-5",
                   "first choice for exact Coulomb friction to 1e-3…1e-6; slow on tall stacks and large mass ratios",
                   local="slip", omega=1.6, omega_after=1, omega_min=0.8, omega_backoff=0.7),
        Solver(Direct(solver="nbgs-direct"), _EXACT, ALL_ROWS, "003 Alg. 4-5; joints eliminated",
               "mechanisms: all joints by one dense factorisation, contacts by nbgs; up to some thousand rows",
               _start_direct, most_rows=4000),
        Solver(ProxSsn(solver="prox-ssn"), _EXACT, ALL_ROWS, "Newton on Alart and Curnier's function, proximal",
               "exact friction to 1e-8 and beyond where sweeps crawl: stacks, mass ratios, loops; hundreds of rows",
               start_prox_ssn, most_rows=3000),
        _splitting("pgs-ccp", _ANY, "003 Alg. 2, 5",
                   "the convex relaxation at the lowest cost per sweep; under the ncp law with De Saxcé's term",
                   local="ccp", omega_min=0.3, omega_backoff=0.7),
        _splitting("pgs-ncp", _EXACT, "003 Alg. 3, 5",
                   "what game engines do; cheap sweeps, may oscillate on anisotropic contacts",
                   local="ncp", omega_min=0.3, omega_backoff=0.7),
        _splitting("raisim", _EXACT, "003 Alg. 4-5",
                   "bisection on the friction angle without De Saxcé's term: stalls where normal and tangent couple",
                   local="bisection"),
        _splitting("raisim-ds", _EXACT, "003 Alg. 4-5",
                   "raisim with De Saxcé's term: exact Coulomb friction at its fixed point",
                   local="bisection", desaxce=True),
        _splitting("raisim-ds-es", _EXACT, "003 Alg. 4-5, eq. 160",
                   "raisim-ds that stops when the energy no longer falls: for real time, not for accuracy",
                   local="bisection", desaxce=True, early_stop=1e-8),
    ]
}  # fmt: skip
"""Every solver by name."""


_NEWTON = 150  # rows up to which dense Newton steps cost no more than the sweeps they save
_DENSE = 600  # rows up to which a dense factorisation per step costs less than the sweeps it saves


def default_solver(problem: Problem) -> str:
    """What `solver="auto"` begins with on this problem."""
    if problem.law is Law.CCP:
        return "pgs-ccp"
    if problem.row_count <= _NEWTON:
        return "prox-ssn"
    return "nbgs-direct" if problem.cone.bilateral.size and problem.row_count <= _DENSE else "nbgs"


def find(solver: str | Settings) -> tuple[Solver, Settings]:
    """The table line and the settings behind a name or a settings object."""
    name = solver.solver if isinstance(solver, Settings) else solver
    if name not in SOLVERS:
        raise SettingsError(f"unknown solver {name!r}; {nearest(str(name), list(SOLVERS))}")
    line = SOLVERS[name]
    if isinstance(solver, Settings):
        if type(solver) is not type(line.settings):
            raise SettingsError(f"solver {name!r} takes {type(line.settings).__name__} settings")
        return line, solver
    return line, line.settings
