"""What rows say together: performance and data profiles, means that count failures, warm against cold, tails, truth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from delassus.bench.result import Result, is_in_time

ACCURACY = {
    "penetration": "penetration ‖f(s)‖∞ [m, rad]",
    "dual": "dual residual [m/s]",
    "complementarity": "complementarity [J]",
    "natural_map": "natural map",
}
"""Metrics of Tsounis et al. 2025, §VII-D, eq. 173 to 176, fields of `Result`, and what they are."""
EXACT = 1e-12  # of the same [m, m/s, J, -]: below, all are as good as each other
SHIFT = 1e-3  # of the shifted geometric mean [s]: what happens below a millisecond should not decide


@dataclass(frozen=True)
class Score:
    """One solver over many samples. mean: shifted geometric mean of the seconds with failures at the limit; p50, p95,
    p99 [s]; best: part of the samples on which it was the fastest of its start; iterations: median of the
    solved ones."""

    solver: str
    start: str
    count: int
    solved: int
    mean: float
    p50: float
    p95: float
    p99: float
    best: float
    iterations: float
    claims_not_confirmed: int

    @property
    def rate(self) -> float:
        return self.solved / self.count if self.count else 0.0


def scores(rows: Sequence[Result], limit: float) -> list[Score]:
    """One line per solver and start, the most solved and fastest first."""
    table = times(rows, limit)
    fastest = _fastest(table)
    out = []
    for (solver, start), seconds in table.items():
        mine = [row for row in rows if (row.solver, row.start) == (solver, start)]
        values = np.array([min(t, limit) for t in seconds.values()])
        wins = sum(t <= fastest[start, key] and math.isfinite(t) for key, t in seconds.items())
        iterations = [row.iterations for row in mine if row.solved]
        p50, p95, p99 = (float(np.quantile(values, q)) for q in (0.5, 0.95, 0.99))
        out.append(
            Score(
                solver,
                start,
                len(mine),
                sum(row.solved for row in mine),
                shifted_mean(values),
                p50,
                p95,
                p99,
                wins / max(1, len(seconds)),
                float(np.median(iterations)) if iterations else math.nan,
                sum(not row.confirmed for row in mine),
            )
        )
    return sorted(out, key=lambda score: (-score.rate, score.mean))


def times(rows: Iterable[Result], limit: float) -> dict[tuple[str, str], dict[str, float]]:
    """Seconds by (solver, start) and sample; infinite where not solved. Below a microsecond nothing is measured."""
    out: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        seconds = max(row.seconds, 1e-6) if row.solved and is_in_time(row.seconds, limit) else math.inf
        out.setdefault((row.solver, row.start), {})[row.sample] = seconds
    return out


def metric(rows: Iterable[Result], name: str, limit: float) -> dict[tuple[str, str], dict[str, float]]:
    """The same for any of "seconds", "iterations" and ACCURACY. Accuracy is what it is, solved or not; what is unknown
    is infinite."""
    if name == "seconds":
        return times(rows, limit)
    out: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if name == "iterations":
            value = float(max(row.iterations, 1)) if row.solved else math.inf
        else:
            value = max(getattr(row, name), EXACT) if math.isfinite(getattr(row, name)) else math.inf
        out.setdefault((row.solver, row.start), {})[row.sample] = value
    return out


def shifted_mean(values: ArrayLike, shift: float = SHIFT) -> float:
    """exp mean log(t + s) − s."""
    values = np.asarray(values, float)
    return float(np.exp(np.log(values + shift).mean()) - shift) if len(values) else math.nan


Profile = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def performance_profile(rows: Sequence[Result], limit: float, name: str = "seconds") -> Profile:
    """Dolan and Moré: by solver, (τ, part of the samples solved within τ times the fastest), τ ascending. The fastest
    among those that started alike: a cold start does not race a warm one. Samples that no solver solved count for
    none.  name: of the `metric`."""
    table = metric(rows, name, limit)
    fastest = _fastest(table)
    out = {}
    for solver, seconds in table.items():
        start = solver[1]
        ratios = np.sort([t / fastest[start, key] if math.isfinite(t) else math.inf for key, t in seconds.items()])
        out[solver] = _steps(ratios)
    return out


def data_profile(rows: Sequence[Result], limit: float, name: str = "seconds") -> Profile:
    """By solver, (seconds, part of the samples solved by then), or the same of another `metric`."""
    return {solver: _steps(np.sort(list(values.values()))) for solver, values in metric(rows, name, limit).items()}


def extended(profile: Profile) -> Profile:
    """Curves from the least to the largest x of all: a solver that fails, even always, goes on flat to the end."""
    ends = [x for x, _ in profile.values() if len(x)]
    if not ends:
        return profile
    first, last = min(x[0] for x in ends), max(x[-1] for x in ends)
    last = max(1.25 * last, 1.1 * first)  # so that the last step is seen
    return {
        key: (np.concatenate([[first], x, [last]]), np.concatenate([[0.0], y, [y[-1] if len(y) else 0.0]]))
        for key, (x, y) in profile.items()
    }


def warm_gain(rows: Sequence[Result]) -> dict[str, tuple[float, float]]:
    """By solver, geometric mean of cold over warm (seconds, iterations) on samples that both solved."""
    cold = {(row.solver, row.sample): row for row in rows if row.start == "cold" and row.solved}
    pairs: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        other = cold.get((row.solver, row.sample))
        if row.start == "warm" and row.solved and other is not None:
            gain = max(other.seconds, 1e-6) / max(row.seconds, 1e-6), (other.iterations + 1) / (row.iterations + 1)
            pairs.setdefault(row.solver, []).append(gain)
    return {solver: tuple(np.exp(np.log(np.array(gains)).mean(axis=0)).tolist()) for solver, gains in pairs.items()}


def _fastest(table: Mapping[tuple[str, str], Mapping[str, float]]) -> dict[tuple[str, str], float]:
    """The least seconds of any solver, by start and sample."""
    out: dict[tuple[str, str], float] = {}
    for (_, start), seconds in table.items():
        for sample, value in seconds.items():
            out[start, sample] = min(value, out.get((start, sample), math.inf))
    return out


def _steps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The finite values and the part of all that is at most each."""
    finite = values[np.isfinite(values)]
    return finite, np.arange(1, len(finite) + 1) / max(1, len(values))
