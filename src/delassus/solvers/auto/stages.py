"""Sequences of methods that `auto` tries, one after the other, and for how many iterations each; `plan` says which of
them a problem gets."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.driver import Solver
from delassus.solvers.method import Method
from delassus.solvers.newton.prox_ssn import least_at_once
from delassus.solvers.settings import Settings
from delassus.solvers.table import SOLVERS, find

MOST_CONVEX = 20
"""Iterations of Newton's method on few rigid bodies under a convex law: after more the interior point is faster."""
_MOST_NEWTON = 3000  # sweeps and systems together, before an interior point that may prove that there is no solution
_MOST_EXACT = 20_000  # of them under exact friction, where what comes after seldom helps
_FEW_SYSTEMS = 40  # of Newton under a convex law: where it takes more, an interior point is several times faster
_ALPHA_ANEW = 1e-2  # first weight of Newton from zero, after it failed
_MOST_ANEW = 2000  # iterations of that: few help later
_MOST_ELIMINATED = 3000  # sweeps with joints eliminated: where friction is large they solve what Newton does not
_MOST_ONCE_MORE = 1000  # iterations of Newton from its own end, before paths
_MOST_PATHS = 5000  # systems along paths: of those known to end, one took 3 800
_MOST_CONVEX_PATH = 300  # of these to the convex problem: from a point nearby it takes some dozen, if it exists
_MOST_INTERIOR = 300  # iterations of it, with De Saxcé's term, before the last resort
_FEW_INTERIOR = 50  # of it where there are joints alone: its factors may give a digit more than those of others
_MOST_MOMENTUM = 1500  # sweeps with momentum before Newton's method or an interior point


class Stage(NamedTuple):
    """One method of a plan."""

    line: Solver
    settings: Settings
    most: int
    """Iterations at most; 0: as many as the solve may do, as the last stage always may."""
    is_one_call: bool = False
    """Where the line has a compiled call for the problem (`Solver.at_once`): is that all, without its loop?"""

    def words(self, problem: Problem) -> str:
        """What it does on this problem, in words."""
        default = self.line.settings
        changed = [
            f"{field.name}={getattr(self.settings, field.name)}"
            for field in fields(default)
            if getattr(self.settings, field.name) != getattr(default, field.name)
        ]
        words = [self.line.name + (f" ({', '.join(changed)})" if changed else "")]
        if self.line.attempts(problem, self.settings):
            words.append("in one compiled call" if self.is_one_call else "first in one compiled call")
        if self.most:
            words.append(f"at most {self.most} iterations")
        return ", ".join(words)


@cache
def stages_of(
    law: Law,
    least: bool,
    is_heap: bool = False,
    eliminates: bool = False,
    joints_alone: bool = False,
    paths: bool = False,
) -> tuple[Stage, ...]:
    """least: along the path to the least reactions first; eliminates: also try sweeps with joints eliminated;
    joints_alone: one linear system, whose last digits sweeps would not find; paths: also try those of `homotopy`."""
    if is_heap:
        momentum, (first, *others) = SOLVERS["ags"], stages_of(law, least, eliminates=eliminates, paths=paths)
        if law is Law.NCP:  # what other sweeps would find is found
            first = first._replace(settings=first.settings.changed(warm_up=0))
        return Stage(momentum, momentum.settings, _MOST_MOMENTUM), first, *others
    newton = _newton_to_least() if least else SOLVERS["prox-ssn"]
    first = Stage(newton, newton.settings.changed(least=least), _MOST_EXACT)
    if joints_alone:
        return first, Stage(*find("ipm+desaxce"), _FEW_INTERIOR), first._replace(most=0)
    if law is not Law.NCP:
        few = newton.settings.changed(least=least, systems=_FEW_SYSTEMS, yields=True)
        return Stage(newton, few, _MOST_NEWTON), Stage(SOLVERS["ipm"], SOLVERS["ipm"].settings, 0)
    sweeps = newton.settings.changed(least=False)
    again = (Stage(newton, sweeps, _MOST_EXACT),) if least else ()
    line = replace(newton, at_once=None, ends_least=False, start=_from_zero(newton.start))
    anew = Stage(line, newton.settings.changed(least=False, alpha=_ALPHA_ANEW), _MOST_ANEW)
    direct = (Stage(*find("nbgs-direct"), _MOST_ELIMINATED),) if eliminates else ()
    line, settings = find("homotopy")
    path = Stage(line, settings.changed(systems_convex=_MOST_CONVEX_PATH), _MOST_PATHS)
    more = (Stage(newton, sweeps, _MOST_ONCE_MORE), path) if paths else ()
    last = Stage(*find("ipm+desaxce"), _MOST_INTERIOR), Stage(*find("nbgs+anderson"), 0)
    return first, *again, anew, *direct, *more, *last


@cache
def _newton_to_least() -> Solver:
    """Newton's method whose compiled call returns the least of many reactions."""
    return replace(SOLVERS["prox-ssn"], at_once=least_at_once, ends_least=True)


def _from_zero(start: Callable[[Problem, Settings, np.ndarray], Method]) -> Callable[..., Method]:
    """A method started at zero: what led the one before it astray may have been where it began."""
    return lambda problem, settings, reactions: start(problem, settings, np.zeros_like(reactions))


@cache
def for_few_convex(with_newton: bool) -> tuple[Stage, ...]:
    """Of few rigid bodies under a convex law."""
    ipm, newton = SOLVERS["ipm"], _newton_to_least()
    first = (Stage(newton, newton.settings.changed(least=True), MOST_CONVEX, is_one_call=True),) if with_newton else ()
    return *first, Stage(ipm, ipm.settings, 0)


@cache
def for_round_convex() -> tuple[Stage, ...]:
    """Of heaps of round bodies under a convex law. While they fall momentum gets to any accuracy, several times faster
    than factors; at rest it hardly passes 1e-5, and Newton's method takes ten times as long as an interior point."""
    momentum, ipm = SOLVERS["ags"], SOLVERS["ipm"]
    return Stage(momentum, momentum.settings.changed(yields=True), _MOST_MOMENTUM), Stage(ipm, ipm.settings, 0)


@cache
def for_flexible(law: Law, has_matrix: bool, eliminates: bool) -> tuple[Stage, ...]:
    """Of flexible bodies, where every contact feels every other one. Sweeps are no last resort: a bent beam takes
    84 000 of them. Where D is too large to be formed, an interior point goes through the nodes."""
    ipm, exact = Stage(SOLVERS["ipm"], SOLVERS["ipm"].settings, 0), Stage(*find("ipm+desaxce"), 0)
    if not has_matrix:
        return (exact,) if law is Law.NCP else (ipm,)
    if law is not Law.NCP:
        return stages_of(law, False)
    newton = SOLVERS["prox-ssn"]
    # along the path, which costs a twelfth more: rigid bodies beside flexible ones may share a load in many ways
    path = Stage(newton, newton.settings, _MOST_EXACT)
    sweeps = Stage(newton, newton.settings.changed(least=False), _MOST_EXACT)
    return path, sweeps, *((Stage(*find("nbgs-direct"), _MOST_ELIMINATED),) if eliminates else ()), exact


@cache
def for_many_rows(law: Law, yields: bool) -> tuple[Stage, ...]:
    """yields: sweeps, early, to an interior point."""
    momentum = SOLVERS["ags"]
    if law is Law.NCP:
        return Stage(momentum, momentum.settings, 2 * _MOST_MOMENTUM), Stage(*find("nbgs+anderson"), 0)
    ipm = Stage(SOLVERS["ipm"], SOLVERS["ipm"].settings, 0)
    return Stage(momentum, momentum.settings.changed(yields=yields), 2 * _MOST_MOMENTUM), ipm
