"""What a solve returns."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from delassus.law import Law
from delassus.residuals import Residuals
from delassus.status import Status


@dataclass
class Trace:
    """The judged residual along a solve; entry i belongs to `iterations[i]`.

    seconds: since the start of the solve [s]; natural_map_relative and worst_velocity_relative [-] as in `residuals`;
    words: what each method did, a line each; plan: what the solve was to do, a line for each stage.
    """

    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    natural_map_relative: list[float] = field(default_factory=list)
    worst_velocity_relative: list[float] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    _plan: list[str] | Callable[[], list[str]] = field(default_factory=list, repr=False)

    @property
    def plan(self) -> list[str]:
        """Made when it is looked at."""
        if callable(self._plan):
            self._plan = self._plan()
        return self._plan

    def __getstate__(self) -> dict[str, Any]:
        """Words in place of what makes them, which cannot be pickled."""
        return self.__dict__ | {"_plan": self.plan}

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

    is_least: ClassVar[bool] = False
    """Did an attempt find it that returns the least of many reactions?"""

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
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        own["iterations"] = first.iterations + self.iterations
        own["solver"] = f"{first.solver}, {self.solver}"
        own["times"] = {key: first.times[key] + self.times[key] for key in self.times}
        return Solution(**own | {"trace": trace})

    def note_plan(self, words: Callable[[], list[str]]) -> None:
        """Put into the trace what was planned.  words: makes its lines."""
        self.trace._plan = words

    @property
    def point(self) -> np.ndarray:
        """Reactions as a guess for another solve: (m,), or (2, m) with the second doubles."""
        return self.reactions if self.reactions_low is None else np.stack([self.reactions, self.reactions_low])

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

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


class AttemptedSolution(Solution):
    """What an attempt in one compiled call found (`parts/at_once.py`). Filling in every field takes longer than solving
    a few contacts: what few callers look at is read out of the attempt when it is looked at."""

    def __init__(self, *every: Any, attempt: Any = None, **named: Any):
        """attempt: what the fields that are not named are read out of; None: every field is given, as of `Solution`."""
        if attempt is None:
            super().__init__(*every, **named)
            return
        self.__dict__.update(named)
        self._attempt = attempt
        self._plan: Callable[[], list[str]] = list

    @property
    def is_least(self) -> bool:  # type: ignore[override]
        return "_attempt" in self.__dict__ and self._attempt.is_least

    def note_plan(self, words: Callable[[], list[str]]) -> None:
        """As of `Solution`, when the trace is looked at."""
        self._plan = words

    def __getattr__(self, name: str) -> Any:
        """A field that has not been filled in yet."""
        make = _LATER.get(name)
        if make is None or "_attempt" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__.setdefault(name, make(self))  # another thread may have been first


def _times_of(solution: Any) -> dict[str, float]:
    seconds = solution._attempt.seconds
    return {"setup": 0.0, "iterate": seconds, "judge": 0.0, "total": seconds}


def _trace_of(solution: Any) -> Trace:
    attempt = solution._attempt
    if not attempt.is_traced:
        return Trace()
    iterations, seconds, relative, velocity = attempt.judgements()
    return Trace(iterations, seconds, relative, velocity, attempt.words, solution._plan)


_LATER: dict[str, Callable[[Any], Any]] = {
    "iterations": lambda solution: solution._attempt.iterations,
    "velocities": lambda solution: solution._attempt.velocities,
    "body_velocities": lambda solution: solution._attempt.body_velocities,
    "residuals": lambda solution: solution._attempt.residuals,
    "times": _times_of,
    "trace": _trace_of,
    "details": lambda solution: solution._attempt.details,
}
