"""Contacts that will stay open can be left out: Gauß–Seidel sweeps predict them, and every one is checked again.

A contact stays open when its velocity lies deep inside the dual cone: v_n − μ‖v_t‖ large (not v_n alone, since
contacts that slide under the convex law have v_n = μ‖v_t‖). Large means against how much the prediction still moves.
"""

from dataclasses import dataclass

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.forecast_sweeps import Sweeps

_SWEEPS, _MORE = 20, 10  # sweeps before the first look at the velocities, and before the second
_LEAST = 60  # contacts below which nothing is gained
_SAFE = 30.0  # open means a gap of this many times the recent change of velocities


@dataclass(frozen=True, eq=False)
class Forecast:
    """reactions: (m,) [N s] after the sweeps; kept: (block_count,) bool, or None where all blocks are."""

    reactions: np.ndarray
    kept: np.ndarray | None


def forecast(problem: Problem, reactions: np.ndarray, presolve: bool) -> Forecast:
    """Sweep from the given reactions, and say which blocks matter."""
    if problem.row_count == 0:
        return Forecast(reactions.copy(), None)
    method = Sweeps(problem, reactions.copy())
    method.advance(_SWEEPS)
    first = problem.constraint_velocity(method.reactions)
    method.advance(_MORE)
    swept = method.reactions
    if not np.isfinite(swept).all():
        return Forecast(np.zeros_like(swept), None)
    if not presolve or problem.contact_count < _LEAST:
        return Forecast(swept, None)
    second = problem.constraint_velocity(swept)
    start = problem.cone.contact_start
    gap = _gap(second[start:], problem.mu)
    change = np.abs(gap - _gap(first[start:], problem.mu))
    rest = swept[start:].reshape(-1, 3)
    # what a contact's own gap moved, but no less than what the median one did
    doubt = np.maximum(change, np.sqrt(np.mean(change**2)))
    is_open = (rest == 0.0).all(axis=1) & (gap > _SAFE * doubt)
    kept = np.ones(problem.cone.block_count, bool)
    kept[problem.cone.block_count - problem.contact_count :] = ~is_open
    return Forecast(swept, kept if is_open.any() else None)


def violated(problem: Problem, kept: np.ndarray, reactions: np.ndarray) -> np.ndarray:
    """(block_count,) bool: contacts left out whose velocity is not in the dual cone."""
    v = problem.constraint_velocity(reactions)
    gap = _gap(v[problem.cone.contact_start :], problem.mu)
    out = np.zeros(len(kept), bool)
    first = problem.cone.block_count - problem.contact_count
    out[first:] = ~kept[first:] & (gap < 0.0)
    return out


def _gap(v: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """v_n − μ‖v_t‖, (n_c,) [m/s]."""
    triples = v.reshape(-1, 3)
    return triples[:, 0] - mu * np.hypot(triples[:, 1], triples[:, 2])
