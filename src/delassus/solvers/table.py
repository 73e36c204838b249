"""The table of solvers: one line each. The contract tests, `delassus solvers` and the benchmarks run over it."""

from functools import partial
from typing import Any

import numpy as np

from delassus.arguments import shown
from delassus.errors import SettingsError, nearest
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.active_set.gpminres import Gpminres, GpminresMethod
from delassus.solvers.active_set.gpminres_p import GpminresP, GpminresPMethod
from delassus.solvers.active_set.kucera import Kucera, KuceraMethod
from delassus.solvers.admm.admm import Admm, admm_at_once, admm_batch, start_admm
from delassus.solvers.admm.admm import fits_at_once as fits_admm
from delassus.solvers.compose import Modifier, compose
from delassus.solvers.continuation.homotopy import HomotopyMethod
from delassus.solvers.continuation.settings import Homotopy, has_friction
from delassus.solvers.double_double.settings import DoubleDoubleIpm, takes_pairs
from delassus.solvers.driver import ALL_ROWS, CONTACT, Solver
from delassus.solvers.gradient.ags import Ags, AgsMethod
from delassus.solvers.gradient.apgd import Apgd, ApgdMethod
from delassus.solvers.gradient.jacobi import Jacobi, JacobiMethod
from delassus.solvers.gradient.prox import Prox, ProxMethod
from delassus.solvers.gradient.spg_fb import SpgFb, SpgFbMethod
from delassus.solvers.interior.dense import dense_at_once, fits_dense
from delassus.solvers.interior.inexact.method import start_ipm_inexact
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.method import hands_on, start_ipm
from delassus.solvers.interior.newton_start import interior_start
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.method import Method
from delassus.solvers.modifiers.anderson import ANDERSON
from delassus.solvers.modifiers.desaxce import DESAXCE
from delassus.solvers.newton.prox_ssn import ProxSsn, prox_ssn_at_once, prox_ssn_batch, start_prox_ssn
from delassus.solvers.newton.prox_ssn import fits_at_once as fits_newton
from delassus.solvers.parts.at_once import are_few_joints, joints_at_once
from delassus.solvers.settings import Settings, require
from delassus.solvers.splitting.direct import Direct, DirectMethod
from delassus.solvers.splitting.method import Splitting, start_splitting
from delassus.tables import Table

EXACT = (Law.NCP, Law.FRICTIONLESS)
ANY = (Law.NCP, Law.CCP, Law.FRICTIONLESS)
CONVEX = (Law.CCP, Law.FRICTIONLESS)


def _start_direct(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    assert isinstance(settings, Direct)
    contacts = SOLVERS["nbgs"].settings
    assert isinstance(contacts, Splitting)
    return DirectMethod(problem, reactions, contacts)


def _start_double_double(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    from delassus.solvers.double_double.method import DoubleDoubleMethod  # compiled when it is needed

    assert isinstance(settings, DoubleDoubleIpm)
    return DoubleDoubleMethod(problem, settings, reactions)


def start_pgj(problem: Problem, reactions: np.ndarray) -> Method:
    """Projected Gauß–Jacobi with the settings of its line, from these reactions on."""
    return JacobiMethod(problem, SOLVERS["jacobi"].settings, reactions)


def splitting_line(name: str, laws: tuple[Law, ...], paper: str, advice: str, **settings: Any) -> Solver:
    """A line of the splitting family; settings: those of `Splitting`."""
    return Solver(
        Splitting(solver=name, **settings),
        laws,
        ALL_ROWS,
        paper,
        advice,
        start_splitting,
        is_map=True,
        forms_delassus=True,
    )


def admm_line(name: str, laws: tuple[Law, ...], paper: str, advice: str, **settings: Any) -> Solver:
    """A line of the ADMM family; settings: those of `Admm`."""
    return Solver(
        Admm(solver=name, **settings),
        laws,
        ALL_ROWS,
        paper,
        advice,
        start_admm,
        is_map=True,
        at_once=admm_at_once,
        fits_at_once=fits_admm,
        batch_at_once=admm_batch,
    )


_LINES = [
    splitting_line(
        "nbgs",
        ANY,
        "exact local solves, over-relaxed; ours, after Tsounis et al. 2025, Alg. 5",
        "one contact after the other, each exactly, to 1e-3…1e-6; slow on tall stacks and large mass ratios",
        local="slip",
        omega=1.6,
        omega_after=1,
        omega_min=0.8,
        omega_backoff=0.7,
    ),
    Solver(
        Direct(solver="nbgs-direct"),
        ANY,
        ALL_ROWS,
        "Tsounis et al. 2025, Alg. 4–5; joints eliminated",
        "mechanisms: all joints by one dense factorisation, contacts by nbgs; up to some thousand rows",
        _start_direct,
        most_rows=4000,
        forms_delassus=True,
        at_once=joints_at_once,
        fits_at_once=are_few_joints,
    ),
    Solver(
        ProxSsn(solver="prox-ssn"),
        ANY,
        ALL_ROWS,
        "Newton on Alart and Curnier's function, proximal; ours",
        "any law to 1e-8 and beyond: accelerated sweeps, then Newton where they crawl: stacks, mass ratios, loops",
        partial(start_prox_ssn, interior_start=interior_start),
        most_rows=30_000,
        forms_delassus=True,
        at_once=prox_ssn_at_once,
        fits_at_once=fits_newton,
        batch_at_once=prox_ssn_batch,
    ),
    Solver(
        Homotopy(solver="homotopy"),
        (Law.NCP,),
        (CONTACT,),
        "smoothed law, pseudo-arclength continuation; ours",
        "contacts alone, all with friction: a last resort where Newton stalls, along paths of thousands of systems",
        HomotopyMethod,
        most_rows=10_000,
        forms_delassus=True,
        also=has_friction,
    ),
    Solver(
        Ipm(solver="ipm"),
        CONVEX,
        ALL_ROWS,
        "Mangoni, PhD thesis, ch. 4; Mangoni and Tasora",
        "the convex relaxation to 1e-8 and beyond: second order, sparse, insensitive to masses and stacks",
        start_ipm,
        at_once=dense_at_once,
        fits_at_once=fits_dense,
        hands_on=hands_on,
    ),
    Solver(
        DoubleDoubleIpm(solver="ipm-dd"),
        CONVEX,
        ALL_ROWS,
        "Mangoni, PhD thesis, §4.11, in two doubles; polish ours",
        "masses 1e6 to 1e20 apart: up to 50 rigid bodies, hard contacts; `auto` and `ipm` turn to it themselves",
        _start_double_double,
        ignores_guess=True,
        also=takes_pairs,
    ),
    splitting_line(
        "pgs-ccp",
        ANY,
        "Tsounis et al. 2025, Alg. 2, 5",
        "the convex relaxation at the lowest cost per sweep; under the ncp law with De Saxcé's term",
        local="ccp",
        omega_min=0.3,
        omega_backoff=0.7,
    ),
    splitting_line(
        "pgs-ncp",
        EXACT,
        "Tsounis et al. 2025, Alg. 3, 5",
        "what game engines do; cheap sweeps, may oscillate on anisotropic contacts",
        local="ncp",
        omega_min=0.3,
        omega_backoff=0.7,
    ),
    splitting_line(
        "raisim",
        EXACT,
        "Tsounis et al. 2025, Alg. 4–5",
        "bisection on the friction angle without De Saxcé's term: stalls where normal and tangent couple",
        local="bisection",
    ),
    splitting_line(
        "raisim-ds",
        EXACT,
        "Tsounis et al. 2025, Alg. 4–5",
        "raisim with De Saxcé's term: exact Coulomb friction at its fixed point",
        local="bisection",
        desaxce=True,
    ),
    splitting_line(
        "raisim-ds-es",
        EXACT,
        "Tsounis et al. 2025, Alg. 4–5, eq. 160",
        "raisim-ds that stops when the energy no longer falls: for real time, not for accuracy",
        local="bisection",
        desaxce=True,
        early_stop=1e-8,
    ),
    admm_line(
        "admm-ccp",
        CONVEX,
        "Tsounis et al. 2025, Alg. 6",
        "the convex relaxation, all rows at once: stacks and mechanisms to 1e-6 where sweeps crawl",
        eta=0.0,
    ),
    admm_line(
        "admm-ncp-fp",
        EXACT,
        "Tsounis et al. 2025, Alg. 6",
        "exact friction with one factorisation, the penalty kept: many like problems, once rho is tuned",
    ),
    admm_line(
        "admm-ncp-la",
        EXACT,
        "Tsounis et al. 2025, Alg. 6, eq. 171",
        "exact friction, the penalty balanced by a constant factor: small mechanisms, joints solved exactly",
        penalty="linear",
    ),
    admm_line(
        "admm-ncp-sa",
        EXACT,
        "Tsounis et al. 2025, Alg. 6, eq. 172",
        "exact friction, the penalty from the spectrum of D: the first choice of the four, to 1e-6…1e-8",
        penalty="spectral",
    ),
    Solver(
        Prox(solver="prox"),
        EXACT,
        ALL_ROWS,
        "Tsounis et al. 2025, §VI-D",
        "exact Coulomb friction by the cheapest sweeps; converges where exact local solves cycle",
        ProxMethod,
        forms_delassus=True,
    ),
    Solver(
        Apgd(solver="apgd"),
        CONVEX,
        ALL_ROWS,
        "Mazhar et al. 2015",
        "the convex law on large heaps to 1e-3…1e-6, in parallel; for exact friction apgd+desaxce",
        ApgdMethod,
        forms_delassus=True,
    ),
    Solver(
        Ags(solver="ags"),
        ANY,
        ALL_ROWS,
        "Gauß–Seidel with Nesterov's momentum and restarts",
        "heaps too large to factorise, exact friction or the convex law, to 1e-3…1e-6; in parallel, same bits",
        AgsMethod,
        forms_delassus=True,
    ),
    Solver(
        SpgFb(solver="spg-fb"),
        CONVEX,
        ALL_ROWS,
        "Heyn et al. 2013, §4.3",
        "the convex law, fast at first; returns the best iterate however soon it is stopped",
        SpgFbMethod,
        forms_delassus=True,
    ),
    Solver(
        Gpminres(solver="gpminres"),
        ANY,
        ALL_ROWS,
        "Heyn et al. 2013, §4.2; friction ours",
        "heaps without friction to any accuracy in the fewest products; with friction apgd is faster on heaps",
        GpminresMethod,
        forms_delassus=True,
    ),
    Solver(
        GpminresP(solver="gpminres-p"),
        ANY,
        ALL_ROWS,
        "Heyn et al. 2013, §4.2; friction ours",
        "small convex problems, and heaps without friction, in tens of factorisations; D is formed",
        GpminresPMethod,
        most_rows=12_000,
        forms_delassus=True,
    ),
    Solver(
        Kucera(solver="kucera"),
        ANY,
        ALL_ROWS,
        "Heyn et al. 2013, §4.4; Kučera 2008; ncp by Tresca",
        "heaps without friction; proved to converge with cones too, slowly where many contacts slide",
        KuceraMethod,
        forms_delassus=True,
    ),
    Solver(
        Jacobi(solver="jacobi"),
        ANY,
        ALL_ROWS,
        "Heyn et al. 2013, eq. 12; Kleinert et al. 2014, §5.2.4",
        "the reference that Heyn et al. and Kleinert et al. compare with (PGJ): parallel and slow",
        JacobiMethod,
        is_map=True,
        forms_delassus=True,
    ),
    Solver(
        IpmInexact(solver="ipm-inexact"),
        ANY,
        ALL_ROWS,
        "Kleinert et al. 2014; scaling and stopping ours",
        "interior point with Krylov directions: large heaps to 1e-2…1e-4; space=body, linear=cg is the fastest",
        partial(start_ipm_inexact, pgj=start_pgj),
        forms_delassus=True,
    ),
]

ALIASES = {"gauss-seidel": "nbgs"}
"""Other names of solvers: block Gauß–Seidel with exact local solves, the reference of two of the papers."""

MODIFIERS: dict[str, Modifier] = {modifier.name: modifier for modifier in [ANDERSON, DESAXCE]}
"""What makes a solver of another one, by name: find("nbgs+anderson")."""


def _check(line: Solver) -> None:
    """Refuse a line that could not be started."""
    require(
        isinstance(line.settings, Settings),
        f"a solver's settings are {line.settings!r}: give an object of settings, such as Settings(solver='mine')",
    )
    what = f"solver {line.name!r}"
    require(
        _is_some_of(line.laws, tuple(Law)),
        f"{what}: laws is {line.laws!r}: give a tuple of delassus.Law, such as (Law.NCP, Law.FRICTIONLESS)",
    )
    require(_is_some_of(line.rows, ALL_ROWS), f"{what}: rows is {line.rows!r}: give ALL_ROWS or a tuple of {ALL_ROWS}")
    require(callable(line.start), f"{what}: start is no Method and no function that gives one")
    if isinstance(line.start, type):
        kind = line.start.__name__
        require(issubclass(line.start, Method), f"{what}: {kind} is no Method: derive it from delassus.solvers.Method")
        written = getattr(line.start, "advance", None)
        require(written is not Method.advance, f"{what}: {kind} has no advance(count): write one")


def _is_some_of(given: object, known: tuple[object, ...]) -> bool:
    return isinstance(given, (tuple, list)) and bool(given) and all(one in known for one in given)


SOLVERS: Table[Solver] = Table(
    "solver",
    lambda line: isinstance(line, Solver),
    lambda line: line.settings.solver,
    _LINES,
    reserved=["auto", *ALIASES, *MODIFIERS],
    check=_check,
)
"""Every solver by name, plug-ins included."""


def find(solver: str | Settings) -> tuple[Solver, Settings]:
    """The table line and the settings behind a name, composed or not, or a settings object."""
    name = solver.solver if isinstance(solver, Settings) else solver
    if not isinstance(name, str):
        raise SettingsError(f"solver is {shown(name)}: give a name such as 'nbgs', or its settings; see SOLVERS")
    base, *parts = name.split("+")
    base = ALIASES.get(base, base)
    try:
        line = SOLVERS[base]
    except KeyError:
        raise SettingsError(f"unknown solver {base!r}; {nearest(base, list(SOLVERS))}") from None
    for part in parts:
        if part not in MODIFIERS:
            raise SettingsError(f"unknown modifier {part!r} in {name!r}; {nearest(part, list(MODIFIERS))}")
        line = compose(line, MODIFIERS[part])
    if isinstance(solver, Settings):
        if not solver.is_like(line.settings):
            raise SettingsError(f"solver {name!r} takes {type(line.settings).__name__} settings")
        return line, solver
    return line, line.settings
