"""Where the published method starts: three rules, and what it does with a guess."""

from dataclasses import dataclass

import numpy as np

from delassus.kernel import njit
from delassus.residuals import measure
from delassus.solvers.interior.sparse_phases import System
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import (
    centred_pair,
    eigenvalues,
    fill_unit,
    form_scaling,
    from_eigenvalues,
    smallest_eigenvalue,
)
from delassus_papers.solvers.saddle_system import SaddleSystem
from delassus_papers.solvers.settings import ThesisIpm, has_masses

TAU_OVER_TOL = 10.0
"""τ [J] over residuals [m/s, N s] of the rule by which both papers stop."""
_LEAST_PREDICTED = 1e-12  # of y that a prediction is made from, over the start's ones: a closed contact, and no 0/0
_MARGIN = 1.0  # η of Mangoni's thesis, §4.14.4: how far beyond the boundary a point is pushed
# τ of a centred start, over the mean square of the guess. A guess that is nearly the answer may start next to the
# boundary; a poor one there would be held by it. So τ falls with the square of the guess's residual, below _FAR. On 50
# steps of balls in the box this takes 7.8 iterations a step, a fixed 1e-3 takes 8.1; on a resting ball 1 instead of 2.
_WARM, _FAR, _LEAST_WARM = 0.1, 0.3, 1e-6


@dataclass(eq=False)
class StartingPoint:
    """x, y: (m',), bilateral rows first; u: (n,) velocities, empty where only D is known."""

    standard: Standard
    system: System
    x: np.ndarray
    y: np.ndarray
    u: np.ndarray

    @property
    def own_velocity(self) -> np.ndarray:
        """F (J u + b) + E x, (m',): of the rows, by these velocities; D x + q where there are none."""
        standard, problem = self.standard, self.standard.problem
        if not len(self.u):
            return standard.velocity(self.x)
        v = standard.factor * (problem.delassus.rows_times(self.u) + problem.bias)[standard.cone.rows]
        v += standard.soft * self.x
        v[: standard.free] -= standard.left_out
        return v

    @property
    def r_p(self) -> np.ndarray:
        """What the velocities leave of their rows, (m',)."""
        return self.own_velocity - self.y

    @property
    def r_d(self) -> np.ndarray:
        """H (u − u_f) − Jᵀ λ, (n,): what they leave of the momentum."""
        if not len(self.u):
            return np.zeros(0)
        problem = self.standard.problem
        delassus = problem.delassus
        return delassus.mass_matrix() @ (self.u - problem.u_f) - delassus.jacobian().T @ self.standard.reactions(self.x)

    def predict(self, joint: float) -> None:
        """Replace x and y by where a predictor of full length leads, inside the cones or not; as they were where that
        fails."""
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        v = standard.velocity(self.x)
        if isinstance(self.system, SaddleSystem):
            v = self.own_velocity
            self.system.momentum, self.system.joint = self.r_d, v[:free]
        eta, w = np.empty(limits + standard.cones), np.empty(standard.row_count - free)
        form_scaling(limits, self.x[free:], self.y[free:], eta, w, np.empty_like(w))
        weights = Weights(free, limits, standard.cones, self.system.needs_roots)
        weights.from_scaling(eta, w, standard.compliance, joint)
        dx, image = _solved(standard, self.system, weights, -weights.times(v))
        self.y[free:] = (v + image + standard.soft * dx)[free:]
        self.x[free:] += dx[free:]


def starting_point(
    standard: Standard, system: System, settings: ThesisIpm, reactions: np.ndarray, joint: float
) -> StartingPoint:
    """reactions: (m,) the guess; joint: penalty of bilateral rows."""
    problem, free, ones = standard.problem, standard.free, settings.ones
    rows, e = np.zeros(standard.row_count), np.zeros(standard.row_count)
    fill_unit(standard.limits, e[free:])
    u = np.full(len(problem.u_f), ones) if has_masses(problem) else np.zeros(0)
    out = StartingPoint(standard, system, rows, rows.copy(), u)
    is_guessed = bool(reactions.any())
    if settings.warm == "centred" and is_guessed:
        _near(out, reactions)
    elif settings.warm in ("partial", "full") and len(u) and (is_guessed or problem.before is not None):
        _from_the_step_before(out, settings, reactions, ones * e, joint)
    elif settings.start == "two-step":
        out.x[:] = _least_squares(standard, system, joint)
        if len(u):
            out.u = problem.body_velocity(standard.reactions(out.x))  # type: ignore[assignment]
        out.y[free:] = -out.x[free:]
        for part in (out.x[free:], out.y[free:]):
            _push_inside(standard.limits, part)
    else:
        out.x[:], out.y[:] = ones * e, ones * e
        out.x[:free] = ones
        if settings.start == "dapuzzo":
            out.y[free:] = _velocity_of_ones(out)[free:]
        _keep_away(out, settings, joint)
    return out


def _keep_away(point: StartingPoint, settings: ThesisIpm, joint: float) -> None:
    """Mangoni and Tasora, eq. 22: y at least one, and x = 1/y; or Mangoni, thesis, eq. 4.23: a prediction, of which
    everything is at least one."""
    free, limits, ones = point.standard.free, point.standard.limits, settings.ones
    if settings.start == "dapuzzo":
        _at_least(limits, point.y[free:], ones, False)
        _inverse(limits, point.y[free:], ones * ones, point.x[free:])
        return
    point.predict(joint)
    for part in (point.x[free:], point.y[free:]):
        _at_least(limits, part, ones, True)


def _from_the_step_before(
    point: StartingPoint, settings: ThesisIpm, reactions: np.ndarray, unit: np.ndarray, joint: float
) -> None:
    """Velocities of the step before and y = J u + b (Mangoni, thesis, §4.11), reactions, too, if the start is full: as
    they are where they are inside the cones; else (§4.11) a prediction from them, with ones in place of reactions that
    are not inside, and y by its absolute value, as eq. 4.23 takes what is predicted.  unit: (m',) those ones.

    What ends by the published rule leaves λ y of its τ, so that y of a closed contact is known to τ/λ only: where the
    rows now have it between −τ/λ and zero, it is τ/λ, as the y of the step before was."""
    standard, free, limits = point.standard, point.standard.free, point.standard.limits
    problem = standard.problem
    guess = standard.from_reactions(reactions)
    point.u = problem.body_velocity(reactions) if problem.before is None else problem.before.copy()  # type: ignore
    point.x[:] = guess if settings.warm == "full" else unit
    point.y[free:] = point.own_velocity[free:]
    if settings.warm == "full":
        _what_was_left(limits, point.x[free:], TAU_OVER_TOL * settings.own_tol, point.y[free:])
    least = min(smallest_eigenvalue(limits, part[free:]) for part in (point.x, point.y))
    if settings.warm == "full" and least > 0.0:
        return
    if settings.start != "dapuzzo":
        _ones_outside(limits, point.x[free:], settings.ones)
        _at_least(limits, point.y[free:], _LEAST_PREDICTED * settings.ones, True)
    _keep_away(point, settings, joint)


def _near(point: StartingPoint, reactions: np.ndarray) -> None:
    """Ours: on the central path next to the guess."""
    standard, free = point.standard, point.standard.free
    x, y, problem = point.x, point.y[free:], standard.problem
    x[:] = standard.from_reactions(reactions)
    standard.correct(x)
    difference = x[free:] - standard.velocity(x)[free:]
    near = (measure(problem, reactions).relative / _FAR) ** 2
    size = max(_LEAST_WARM, _WARM * min(1.0, near))
    centred_pair(standard.limits, difference, size * float((difference**2).mean()) if len(y) else 0.0, x[free:], y)
    if len(point.u):
        point.u = problem.body_velocity(reactions)  # type: ignore[assignment]


def _least_squares(standard: Standard, system: System, joint: float) -> np.ndarray:
    """(D + I) x = −q, with y = −x: Mangoni, thesis, eq. 4.57, first step."""
    weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
    unit = np.zeros(standard.row_count - standard.free)
    fill_unit(standard.limits, unit)
    weights.from_scaling(np.ones(standard.limits + standard.cones), unit, standard.compliance, joint)
    if isinstance(system, SaddleSystem):
        problem = standard.problem  # from no reactions and free velocities: r_d = 0
        system.momentum, system.joint = np.zeros(len(problem.u_f)), standard.q[: standard.free]
    return _solved(standard, system, weights, -weights.times(standard.q))[0]


def _solved(standard: Standard, system: System, weights: Weights, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """dx and D dx, or zeros where the factorisation fails."""
    dx, image = np.zeros(standard.row_count), np.empty(standard.row_count)
    if system.factor(weights, False) and system.solve(right, dx, image, 0.0):
        return dx, image
    return np.zeros(standard.row_count), np.zeros(standard.row_count)


def _velocity_of_ones(point: StartingPoint) -> np.ndarray:
    """F (J u + b) for velocities u of one (Mangoni and Tasora, eq. 22); problems without bodies: free velocities."""
    return point.own_velocity - point.standard.soft * point.x if len(point.u) else point.standard.q


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


@njit(cache=True, error_model="numpy")
def _ones_outside(limits, x, ones):
    """The unit of every cone that x is not inside of, `ones` times, in its place."""
    for i in range(limits):
        if not x[i] > 0.0:
            x[i] = ones
    for i in range(limits, len(x), 3):
        if not eigenvalues(x[i], x[i + 1], x[i + 2])[0] > 0.0:
            x[i], x[i + 1], x[i + 2] = ones, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def _what_was_left(limits, x, tau, y):
    """y = τ/x of limits and frictionless contacts where y is not positive, but above −τ/x."""
    for i in range(limits):
        if x[i] > 0.0 and -tau / x[i] < y[i] <= 0.0:
            y[i] = tau / x[i]
