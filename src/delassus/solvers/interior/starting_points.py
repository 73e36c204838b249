"""Where the published method starts: three rules, and two uses of a guess."""

import numpy as np

from delassus.kernel import njit
from delassus.residuals import measure
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse_phases import System
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import centred_pair, eigenvalues, fill_unit, from_eigenvalues, smallest_eigenvalue

_MARGIN = 1.0  # η of Mangoni's thesis, §4.14.4: how far beyond the boundary a point is pushed
# τ of a full warm start, over the mean square of the guess. A guess that is nearly the answer may start next to the
# boundary; a poor one there would be held by it. So τ falls with the square of the guess's residual, below _FAR. On 50
# steps of balls in the box this takes 7.8 iterations a step, a fixed 1e-3 takes 8.1; on a resting ball 1 instead of 2.
_WARM, _FAR, _LEAST_WARM = 0.1, 0.3, 1e-6


def starting_point(
    standard: Standard, system: System, settings: Ipm, reactions: np.ndarray, joint: float
) -> tuple[np.ndarray, np.ndarray]:
    """(x, y), (m',) each.  reactions: (m,) the guess; joint: penalty of bilateral rows."""
    free, limits = standard.free, standard.limits
    x, whole_y = np.zeros(standard.row_count), np.zeros(standard.row_count)
    y = whole_y[free:]
    if settings.warm == "full" and reactions.any():
        x[:] = standard.from_reactions(reactions)
        standard.correct(x)
        difference = x[free:] - standard.velocity(x)[free:]
        near = (measure(standard.problem, reactions).relative / _FAR) ** 2
        size = max(_LEAST_WARM, _WARM * min(1.0, near))
        centred_pair(limits, difference, size * float((difference**2).mean()) if len(y) else 0.0, x[free:], y)
    elif settings.warm == "partial" and reactions.any():
        # velocities alone: the rule of Mangoni and Tasora, eq. 22, with those of the guess in place of ones
        x[:free] = standard.from_reactions(reactions)[:free]
        guess = standard.from_reactions(reactions)
        standard.correct(guess)
        y[:] = standard.velocity(guess)[free:]
        _at_least(limits, y, float(np.abs(standard.q).mean()), False)
        _inverse(limits, y, float((standard.q**2).mean()), x[free:])
    elif settings.start == "dapuzzo":
        y[:] = _velocity_of_ones(standard)[free:]
        _at_least(limits, y, 1.0, False)
        _inverse(limits, y, 1.0, x[free:])
    elif settings.start == "nocedal":
        x[free:], y[:] = _after_one_step(standard, system, joint)
        for part in (x[free:], y):
            _at_least(limits, part, 1.0, True)
    else:
        x[:] = _least_squares(standard, system, joint)
        y[:] = -x[free:]
        for part in (x[free:], y):
            _push_inside(limits, part)
    return x, whole_y


def _least_squares(standard: Standard, system: System, joint: float) -> np.ndarray:
    """(D + I) x = −q, with y = −x: Mangoni, thesis, eq. 4.57, first step."""
    weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
    _unit_weights(weights, standard, joint)
    return _solved(standard, system, weights, -weights.times(standard.q))


def _after_one_step(standard: Standard, system: System, joint: float) -> tuple[np.ndarray, np.ndarray]:
    """x + dx and y + dy of a predictor from x = y = e, where W = I: Mangoni, thesis, eq. 4.23, Mangoni and Tasora, eq.
    21."""
    free, limits = standard.free, standard.limits
    weights = Weights(free, limits, standard.cones, system.needs_roots)
    _unit_weights(weights, standard, joint)
    e = np.zeros(standard.row_count)
    fill_unit(limits, e[free:])
    dx = _solved(standard, system, weights, -weights.times(standard.velocity(e)))
    return (e + dx)[free:], standard.velocity(e + dx)[free:]


def _unit_weights(weights: Weights, standard: Standard, joint: float) -> None:
    weights.from_scaling(np.ones(standard.limits + standard.cones), _units(standard), standard.compliance, joint)


def _units(standard: Standard) -> np.ndarray:
    e = np.ones(standard.row_count - standard.free)
    fill_unit(standard.limits, e)
    return e


def _solved(standard: Standard, system: System, weights: Weights, right: np.ndarray) -> np.ndarray:
    """dx, or zeros where the factorisation fails."""
    dx, image = np.zeros(standard.row_count), np.empty(standard.row_count)
    if system.factor(weights, False) and system.solve(right, dx, image, 0.0):
        return dx
    return np.zeros(standard.row_count)


def _velocity_of_ones(standard: Standard) -> np.ndarray:
    """F (J u + b) for velocities u of one (Mangoni and Tasora, eq. 22); problems without bodies: free velocities."""
    problem = standard.problem
    if not problem.delassus.is_primal or problem.u_f is None or problem.bias is None:
        return standard.q
    v = problem.delassus.rows_times(np.ones_like(problem.u_f)) + problem.bias
    return standard.factor * v[standard.cone.rows] / standard.unit


def _push_inside(limits: int, x: np.ndarray) -> None:
    """x += (η + α) e where x is not inside, with the smallest α that makes x + α e touch the cone (Mangoni, thesis,
    §4.14.4)."""
    least = smallest_eigenvalue(limits, x)
    if not least > 0.0:
        e = np.empty_like(x)
        fill_unit(limits, e)
        x += (_MARGIN - least) * e


@njit(cache=True, error_model="numpy")
def _at_least(limits, x, least, absolute):
    """Every eigenvalue raised to `least`, of its absolute value if asked: max{1, |·|} of Mangoni's thesis, eq. 4.23 for
    cones too."""
    for i in range(limits):
        value = abs(x[i]) if absolute else x[i]
        x[i] = max(least, value)
    for i in range(limits, len(x), 3):
        low, high = eigenvalues(x[i], x[i + 1], x[i + 2])
        if absolute:
            low, high = abs(low), abs(high)
        x[i], x[i + 1], x[i + 2] = from_eigenvalues(max(least, low), max(least, high), x[i + 1], x[i + 2])


@njit(cache=True, error_model="numpy")
def _inverse(limits, y, tau, out):
    """out = τ y⁻¹: the partner of y on the central path."""
    for i in range(limits):
        out[i] = tau / y[i]
    for i in range(limits, len(y), 3):
        low, high = eigenvalues(y[i], y[i + 1], y[i + 2])
        out[i], out[i + 1], out[i + 2] = from_eigenvalues(tau / low, tau / high, y[i + 1], y[i + 2])
