"""Shapes at rest under loads: Newton's method on the energy."""

from typing import Any, NamedTuple

import numpy as np

from delassus.arguments import instance, numbers
from delassus.errors import ProblemError
from delassus.fem.check import checked_set
from delassus.fem.elements import Elements
from delassus.linalg.factor.symmetric import Factorisation, Pattern, factorisation

_ENOUGH = 1e-4  # share of the decrease of energy that its slope promises (Armijo)
_ROUNDING = 1e-9  # of the energies: a promise below is lost in their rounding, and the residual decides
_HALVINGS = 40  # of a step: 1e-12 of it is none
_FIRST_SHIFT, _LAST_SHIFT = 1e-8, 1.0  # of the largest entry of the stiffness: added where it cannot be factored
_DIGITS = np.finfo(float).eps  # of a place, over the size of the body
_RANK = 1e-9  # of rigid motions, with lengths divided by the size of the body


class Equilibrium(NamedTuple):
    """nodes: (n, 3) [m]; reaction: (n, 3) [N] what holds the fixed ones, zero elsewhere; residual: norm of the forces
    left over that of the largest ones met; is_balanced: it is within the tolerance; iterations: systems that were
    solved."""

    nodes: np.ndarray
    reaction: np.ndarray
    residual: float
    is_balanced: bool
    iterations: int


def equilibrium(
    elements: Elements,
    load: np.ndarray | None = None,
    fixed: Any = (),
    start: np.ndarray | None = None,
    *,
    tol: float = 1e-9,
    max_iterations: int = 200,
) -> Equilibrium:
    """The shape at which the elements' forces balance the load (n, 3) [N], which keeps its direction.

    fixed: numbers of nodes that stay where they start, or a mask (n, 3) of bool for single directions; start: (n, 3)
    [m], at rest by default, and where fixed nodes are moved to.

    Steps are those of Newton's method on the potential energy: of the exact stiffness where it is positive definite, of
    the clamped one elsewhere, shortened until the energy falls."""
    instance(elements, Elements, "equilibrium: elements")
    x = elements.rest.copy() if start is None else numbers(start)
    outer = np.zeros_like(elements.rest) if load is None else numbers(load)
    for name, array in (("start", x), ("load", outer)):
        if array.shape != elements.rest.shape or not np.isfinite(array).all():
            raise ProblemError(f"equilibrium: {name} must be finite numbers of shape {elements.rest.shape}")
    free = ~fixed_mask(elements, fixed)
    _check_held(elements, free)
    system = _System(elements, free)
    inner = np.empty_like(x)
    energy = elements.evaluate(x, inner).energy
    largest = float(np.linalg.norm(outer))
    iterations = 0
    while True:
        left = np.where(free, inner + outer, 0.0)
        error = float(np.linalg.norm(left))
        largest = max(largest, float(np.linalg.norm(inner)))
        bound = max(tol * largest, system.rounding)
        if error <= bound or iterations == max_iterations or not np.isfinite(error):
            break
        iterations += 1
        step = system.solve(x, left)
        found = _line_search(elements, x, step, outer, energy, left, free, inner)
        if found is None:  # no shorter step is downhill: rounding
            break
        x, energy = found
    reaction = np.where(free, 0.0, -(inner + outer))
    return Equilibrium(x, reaction, error / largest if largest > 0.0 else 0.0, error <= bound, iterations)


def _line_search(
    elements: Elements,
    x: np.ndarray,
    step: np.ndarray,
    outer: np.ndarray,
    energy: float,
    left: np.ndarray,
    free: np.ndarray,
    inner: np.ndarray,
) -> tuple[np.ndarray, float] | None:
    """The next shape and its energy, forces in `inner`; None where no length of the step is downhill."""
    promise = float((left * step).sum())
    before = energy - float((outer * (x - elements.rest)).sum())
    scale = abs(energy) + abs(float((outer * (x - elements.rest)).sum()))
    length = 1.0
    for _ in range(_HALVINGS):
        there = x + length * step
        stored = elements.evaluate(there, inner).energy
        after = stored - float((outer * (there - elements.rest)).sum())
        is_lower = after <= before - _ENOUGH * length * promise
        if not is_lower and length * promise <= _ROUNDING * scale:
            is_lower = np.linalg.norm(np.where(free, inner + outer, 0.0)) < np.linalg.norm(left)
        if is_lower:
            return there, stored
        length *= 0.5
    elements.evaluate(x, inner)
    return None


class _System:
    """K step = force over the free directions, fixed ones stay; K in the upper triangle of 3×3 blocks."""

    def __init__(self, elements: Elements, free: np.ndarray):
        indptr, indices = elements.pattern
        rows = np.repeat(np.arange(elements.node_count), np.diff(indptr))
        upper = indices >= rows
        counts = np.bincount(rows[upper], minlength=elements.node_count)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self.elements, self.upper = elements, upper
        self.stiffness = np.empty((len(indices), 3, 3))
        elements.evaluate(elements.rest, stiffness=self.stiffness)
        extent = np.abs(elements.rest - elements.rest.mean(axis=0)).max()
        self.rounding = _DIGITS * np.abs(self.stiffness).max() * extent * np.sqrt(elements.rest.size)  # of forces [N]
        keep = free.astype(float)
        self.keep = keep[rows[upper], :, None] * keep[indices[upper], None, :]
        self.diagonal = starts[:-1]  # sorted: the first of each row
        self.held = 1.0 - keep
        self.factors: Factorisation = factorisation(Pattern(starts, indices[upper], block=3), definite=True)

    def solve(self, x: np.ndarray, force: np.ndarray) -> np.ndarray:
        values = self._values(x, "exact")
        if not self.factors.factor(values):
            values = self._values(x, "clamped")
            shift = 0.0
            while not self.factors.factor(values) and shift < _LAST_SHIFT:
                shift = max(10.0 * shift, _FIRST_SHIFT)
                values.reshape(-1, 9)[self.diagonal, ::4] += shift * np.abs(values).max()
        step = np.empty(x.size)
        self.factors.solve(force.ravel(), step)
        return step.reshape(x.shape)

    def _values(self, x: np.ndarray, tangent: str) -> np.ndarray:
        self.elements.evaluate(x, stiffness=self.stiffness, tangent=tangent)
        values = self.stiffness[self.upper] * self.keep
        values.reshape(-1, 9)[self.diagonal, ::4] += self.held * np.abs(values).max()
        return values


def fixed_mask(elements: Elements, fixed: Any) -> np.ndarray:
    """(n, 3) of bool, from such a mask or numbers of nodes."""
    instance(elements, Elements, "elements")
    given = np.asarray(fixed)
    if given.dtype == bool and given.shape == elements.rest.shape:
        return given
    mask = np.zeros(elements.rest.shape, bool)
    mask[checked_set("fixed", fixed, elements.node_count)] = True
    return mask


def loose_body(elements: Elements, free: np.ndarray) -> int | None:
    """The first body that can move as a whole, or None."""
    for body, (a, b) in enumerate(zip(elements.node_start, elements.node_start[1:])):
        arm = elements.rest[a:b] - elements.rest[a:b].mean(axis=0)
        arm /= np.abs(arm).max()
        motions = np.zeros((b - a, 3, 6))
        motions[:, :, :3] = np.eye(3)
        motions[:, :, 3:] = np.cross(np.eye(3)[None], arm[:, None, :]).transpose(0, 2, 1)
        held = motions[~free[a:b]]
        if len(held) < 6 or np.linalg.matrix_rank(held, tol=_RANK) < 6:
            return body
    return None


def _check_held(elements: Elements, free: np.ndarray) -> None:
    body = loose_body(elements, free)
    if body is not None:
        raise ProblemError(
            f"equilibrium: body {body} can move as a whole, nothing would stop it: fix at least three of its nodes "
            "that are not on one line"
        )
