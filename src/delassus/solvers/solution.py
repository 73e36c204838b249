"""What a solve returns."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from delassus.law import Law
from delassus.residuals import Residuals
from delassus.status import Status


@dataclass
class Trace:
    """The judged residual along a solve; entry i belongs to `iterations[i]`.

    seconds: since the start of the solve [s]; natural_map_relative and worst_velocity_relative [-] as in `residuals`;
    words: what each method did, a line each.
    """

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    natural_map_relative: list[float] = field(default_factory=list)
    worst_velocity_relative: list[float] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        ends = [f"{self.natural_map_relative[k]:.2e}" for k in (0, -1)] if self.natural_map_relative else ["nothing"]
        return f"Trace({len(self.iterations)} judgements, natural_map_relative {' … '.join(ends)})"

    def add(self, iteration: int, seconds: float, relative: float, velocity: float) -> None:
        self.iterations.append(iteration)
        self.seconds.append(seconds)
        self.natural_map_relative.append(relative)
        self.worst_velocity_relative.append(velocity)


@dataclass(eq=False)  # not frozen: guarding twelve fields takes longer than judging a small problem
class Solution:
    """The best point seen, what the judge says of it, and how the solve went.

    reactions: λ (m,) [N s]; velocities: v (m,) [m/s]; body_velocities: u (n,) or None for dual problems;
    reactions_low: (m,) [N s] what λ lacks to thirty-one digits, where velocities follow from λ only so (masses far
    apart), otherwise None;
    times: seconds by stage ("setup", "iterate", "judge", "total"); details: what the method wrote down per iteration.
    """

    reactions: np.ndarray
    velocities: np.ndarray
    body_velocities: np.ndarray | None
    status: Status
    residuals: Residuals
    iterations: int
    solver: str
    law: Law
    tol: float
    tol_velocity: float  # inf: was not asked for
    times: dict[str, float]
    trace: Trace
    details: dict[str, list[float]] = field(default_factory=dict)
    reactions_low: np.ndarray | None = None

    @classmethod
    def of_attempt(
        cls, attempt: Any, reactions: np.ndarray, status: Status, solver: str, tol: float, tol_velocity: float
    ) -> "Solution":
        """What an attempt at once found (`parts/at_once.py`). On a few contacts filling all fields in takes longer
        than the solve, so what few callers look at is read out of the attempt when it is asked for."""
        out = cls.__new__(cls)
        out.__dict__ = {
            "reactions": reactions, "status": status, "solver": solver, "law": attempt.problem.law, "tol": tol,
            "tol_velocity": tol_velocity, "_attempt": attempt,
        }  # fmt: skip
        return out

    def __getattr__(self, name: str) -> Any:
        """A field that has not been filled in yet. Whoever has not even the time for `of_attempt` writes status, and
        `_later`: what makes the attempt, its arguments, name of the solver, and limits; and reactions, unless they
        stand in front of what the attempt found."""
        known = self.__dict__
        later = known.get("_later")
        if later is not None and "_attempt" not in known:
            make_attempt, *given, solver, limits = later
            attempt = make_attempt(*given)
            made = {
                "reactions": given[1][: attempt.problem.row_count], "solver": solver, "law": attempt.problem.law,
                "tol": limits.tol, "tol_velocity": limits.tol_velocity,
            }  # fmt: skip
            # what has been written stays; `_attempt` comes last, since another thread may look in between
            for each, value in made.items():
                known.setdefault(each, value)
            known.setdefault("_attempt", attempt)
            known.pop("_later", None)
            return getattr(self, name)
        make = _LATER.get(name)
        if make is None or "_attempt" not in known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = known[name] = make(known["_attempt"])
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Every field filled in, and nothing of where it came from: a factorisation cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def after(self, first: "Solution") -> "Solution":
        """This solution as the second part of one that began with `first`, from whose best point it started and than
        which it is therefore no worse. Costs and traces add up."""
        trace = Trace(words=first.trace.words + self.trace.words)
        for part, offset, delay in ((first.trace, 0, 0.0), (self.trace, first.iterations, first.seconds)):
            for row in zip(part.iterations, part.seconds, part.natural_map_relative, part.worst_velocity_relative):
                trace.add(row[0] + offset, row[1] + delay, row[2], row[3])
        return replace(
            self,
            iterations=first.iterations + self.iterations,
            solver=f"{first.solver}, {self.solver}",
            times={key: first.times[key] + self.times[key] for key in self.times},
            trace=trace,
        )

    @property
    def point(self) -> np.ndarray:
        """Reactions as a guess for another solve: (m,), or (2, m) with the second doubles."""
        return self.reactions if self.reactions_low is None else np.stack([self.reactions, self.reactions_low])

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    @property
    def is_least(self) -> bool:
        """Did an attempt find it that returns the least of many reactions?"""
        return ("_attempt" in self.__dict__ or "_later" in self.__dict__) and self._attempt.is_least

    @property
    def seconds(self) -> float:
        """Wall time of the whole call [s]."""
        return self.times["total"]

    @property
    def message(self) -> str:
        """One line: what happened and what to try next."""
        velocity = ""
        if self.tol_velocity < math.inf:
            velocity = f", worst velocity {self.residuals.worst_velocity_relative:.2e} of those around it"
            velocity += f" (tol_velocity {self.tol_velocity:.0e})"
        return (
            f"{self.solver}: {self.status.value} after {self.iterations} iterations, relative natural map "
            f"{self.residuals.natural_map_relative:.2e} (tol {self.tol:.0e}){velocity}. {self.status.advice}"
        )

    def __repr__(self) -> str:
        return (
            f"Solution({self.solver}, {self.law.value}, {self.status.value}, {self.iterations} iterations, "
            f"{1e3 * self.seconds:.3g} ms, natural_map_relative={self.residuals.natural_map_relative:.2e}, "
            f"worst_velocity={self.residuals.worst_velocity:.2e} m/s)"
        )


def _times_of(attempt: Any) -> dict[str, float]:
    return {"setup": 0.0, "iterate": attempt.seconds, "judge": 0.0, "total": attempt.seconds}


def _trace_of(attempt: Any) -> Trace:
    """Of an attempt at once."""
    if not attempt.is_traced:
        return Trace()
    iterations, seconds, relative, velocity = attempt.judgements()
    return Trace(iterations, seconds, relative, velocity, attempt.words)


_LATER: dict[str, Callable[[Any], Any]] = {
    "iterations": lambda attempt: attempt.iterations,
    "velocities": lambda attempt: attempt.velocities,
    "body_velocities": lambda attempt: attempt.body_velocities,
    "residuals": lambda attempt: attempt.residuals,
    "times": _times_of,
    "trace": lambda attempt: _trace_of(attempt),
    "details": lambda attempt: attempt.details,
}
