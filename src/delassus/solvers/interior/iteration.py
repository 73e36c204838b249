"""One iteration of the interior point, but for its linear systems: Mehrotra's predictor-corrector with Nesterov–Todd
scaling, and Gondzio's correctors (Mangoni, thesis, §4.11, §4.14); and the natural map, which says how far it got.

The bodies' velocities are eliminated: with equal steps for all variables the iterates (x, y) do not depend on where
they start, since the momentum equation is linear. What is left is r_p = y − (D x + q), and per iteration

    (D + W²) dx = W (z \\ r_z) + r_p,    dy = D dx − r_p,    r_z = σ τ e − z∘z − (W dx_p)∘(W⁻¹ dy_p).

`begin_iteration`; then, until `take_direction` has enough, `right_side` and a linear solve (`dense`: one compiled loop,
`sparse_phases`: a Python loop); `finish_iteration`. The stages are inlined into the compiled loop: compiled on their
own first they would take seconds more. All vectors are (m',), bilateral rows first, where y, w and z have no meaning.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.solvers.interior.weights import WeightArrays, soften
from delassus.solvers.parts.jordan import CENTRING as CENTRING
from delassus.solvers.parts.jordan import FRACTION as FRACTION
from delassus.solvers.parts.jordan import (
    apply_blocks,
    arrow_solve,
    centrality,
    centring_parameter,
    eigenvalues,
    form_scaling,
    form_squares,
    from_eigenvalues,
    jordan_product,
    largest_step,
    scale_by,
    smallest_eigenvalue,
    unscale_by,
)

RUNNING, DONE, STALLED, BROKEN = 0, 1, 2, 3  # how a batch of iterations ended: DONE reached its goals

# τ of the start, over the mean square of reactions and velocities: too large costs an iteration, too small many, since
# points next to the boundary allow short steps only. It falls with the square of what a guess left, below _FAR.
_START, _FAR, _LEAST_START = 10.0, 0.03, 1e-7
CENTRED = 1e-3  # smallest eigenvalue of a product, as a fraction of τ, that a step may leave
SLOPPY = 0.3  # residual of a solve, against what closed contacts still move
_PREDICTOR_SLOPPY = 30.0  # times that for the predictor: it is not followed, only looked at
_REACH = 0.3  # a corrector aims at a step longer by this (Gondzio's δ) …
_GAIN = 0.1  # … and is kept when it gains this part of it
_BAND = 0.1  # eigenvalues below this fraction of the target, or above its inverse, are corrected
_LEAST_TARGET = 1e-3  # of τ: the least target of a corrector
_SHORTER, _MOST_SHORTER = 0.85, 40  # factor on a step that ends too near the boundary, and how often it is applied
_SHORT_STEP, _SHORT_STEPS = 0.1, 3  # so many steps in a row shorter than this count as stalled
_LATE_TAU = 1e-9  # below this τ, or once the residual is reached, one step counts as stalled …
_LATE_STEP, _LATE_SIGMA = 0.3, 0.9  # … that is shorter than this, or centres so much that τ stays where it is
LARGE = 1e3  # reactions, in scaled units where those of a single contact are about one: there may be no solution
_DROWNING = 1e12  # scaled reactions against which velocities are lost in rounding: such a residual says nothing
# scaled residuals above which a stalled run starts again; such velocities do not go together with large reactions
FAR_OFF, FAR_VELOCITY = 1e-4, 1e-2
_MARGIN = 0.8  # of what the judge's tolerance means in scaled units, which is known from its last answer


class Outcome(NamedTuple):
    """Of a batch of iterations of either phase: how many were done, how they ended, the reactions reached, (m',) in
    scaled units, the largest of them, their natural map, and what to tell of every iteration: names, and values (done,
    names)."""

    done: int
    end: int
    x: np.ndarray
    size: float
    norm: float
    worst: float
    names: tuple[str, ...]
    values: np.ndarray

    @property
    def is_stuck(self) -> bool:
        return self.end in (STALLED, BROKEN)

    @property
    def is_far(self) -> bool:
        """Is it far from a solution?"""
        return self.norm > FAR_OFF or self.worst > FAR_VELOCITY

    @property
    def is_suspicious(self) -> bool:
        """Against reactions that are very large any residual is small: where some velocity is still far off they are on
        their way to a proof of infeasibility, or to a better point."""
        return self.size >= _DROWNING or (self.size >= LARGE and self.worst > FAR_VELOCITY)

    def closer(self, excess: float, goal: float, goal_velocity: float) -> tuple[float, float]:
        """The next goals, from what the judge made of this point.  excess: over the tolerances, as a factor."""
        goal = min(goal, _MARGIN * self.norm / excess)
        return goal, min(goal_velocity, max(_MARGIN * self.worst / excess, goal))


class Scaled(NamedTuple):
    """The scaled problem, but for D. A plain tuple where Python hands it over, as all of these: Numba takes
    microseconds to look at a named one."""

    joint_start: np.ndarray
    """(joints + 1,) first row of each joint and of the cones behind them."""
    free: int
    """Bilateral rows, the first of all."""
    limits: int
    """Rows on the orthant, behind these."""
    q: np.ndarray
    """(m',) free velocities."""
    soft: np.ndarray
    """(m',) compliance."""
    is_soft: bool
    """Is one of those not zero?"""
    speed: np.ndarray
    """(m',) the rms of free velocities."""


class Aim(NamedTuple):
    """What a direction aims at.  tau: the mean product τ; sigma: σ; target: σ τ; longest: the step to the boundary."""

    tau: float
    sigma: float
    target: float
    longest: float


class Work(NamedTuple):
    """Arrays of one iteration.  x, y: (m',) the point; eta: (limits + cones,); diagonal, blocks, roots: of S, see
    `weights`; the rest (m',): w, z: scaling; primal: r_p; carried: S r_p; dx, dy: the direction; a, b: W dx, W⁻¹ dy;
    c: z \\ r_z; right, more_dx, image: right side of a solve, its solution and D times that."""

    x: np.ndarray
    y: np.ndarray
    eta: np.ndarray
    diagonal: np.ndarray
    blocks: np.ndarray
    roots: np.ndarray
    w: np.ndarray
    z: np.ndarray
    primal: np.ndarray
    carried: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    right: np.ndarray
    more_dx: np.ndarray
    image: np.ndarray


def work_of(limits: int, weights: WeightArrays, x: np.ndarray, y: np.ndarray) -> Work:
    """Arrays for iterations of this point, which they change in place."""
    vectors = np.zeros((len(Work._fields) - 6, len(x)))
    return Work(x, y, np.empty(limits + len(weights.blocks)), *weights, *vectors)


@njit(cache=True, error_model="numpy", inline="always")
def first_tau(mean, norm, far):
    """τ to start from.  mean: square of x − D x − q; norm: of the natural map of x; far: at least this much of the
    usual one, or zero."""
    if not (mean > 0.0 and math.isfinite(mean)):
        return 1.0
    return max(_LEAST_START, _START * max(far, min(1.0, (norm / _FAR) ** 2))) * mean


@njit(cache=True, error_model="numpy", inline="always")
def begin_iteration(scaled, joint, v, work):
    """r_p, scaling and weights, roots of soft ones only; largest |r_p| of cones and the rms of x plus one.  v: D x + q;
    joint: S of bilateral rows without compliance."""
    problem, s = Scaled(*scaled), Work(*work)
    free, limits, x, y = problem.free, problem.limits, s.x, s.y
    eta, diagonal, blocks, w, primal = s.eta, s.diagonal, s.blocks, s.w[free:], s.primal
    largest, square = 0.0, 0.0
    for i in range(free):
        primal[i], diagonal[i] = -v[i], joint
    for i in range(free, len(x)):
        primal[i] = y[i] - v[i]
        largest = max(largest, abs(primal[i]))
    for i in range(len(x)):
        square += x[i] * x[i]
    form_scaling(limits, x[free:], y[free:], eta, w, s.z[free:])
    form_squares(limits, eta, w, True, diagonal[free:], blocks)
    if problem.is_soft:
        soften(free, problem.soft, (diagonal, blocks, s.roots), eta, w)
    apply_blocks(diagonal, blocks, primal, s.carried)
    return largest, 1.0 + math.sqrt(square / max(1, len(x)))


@njit(cache=True, error_model="numpy", inline="always")
def right_side(stage, scaled, aim, work):
    """work.right = S (W q + r_p) of the predictor (stage 0), the corrector (1) and, r_p left out, Gondzio's (2 …);
    how much rougher than others this solve may be."""
    problem, aim, s = Scaled(*scaled), Aim(*aim), Work(*work)
    free, limits, eta, c, right = problem.free, problem.limits, s.eta, s.c, s.right
    w, z, a, b, q = s.w[free:], s.z[free:], s.a[free:], s.b[free:], c[free:]
    if stage == 0:
        for i in range(len(q)):
            q[i] = -z[i]
    elif stage == 1:
        _complementarity(limits, (z, a, b), aim.target, q)
    else:
        target = max(aim.target, _LEAST_TARGET * aim.tau)
        _outliers(limits, (z, a, b), min(1.0, aim.longest + _REACH), target, q)
    for i in range(free):
        c[i] = right[i] = 0.0
    if problem.is_soft:
        scale_by(limits, eta, w, q, q)
        apply_blocks(s.diagonal, s.blocks, c, right)
    else:
        unscale_by(limits, eta, w, q, right[free:])  # S W = W⁻¹, without its rounding
    if stage < 2:
        for i in range(len(right)):
            right[i] += s.carried[i]
    return _PREDICTOR_SLOPPY if stage == 0 else 1.0


@njit(cache=True, error_model="numpy", inline="always")
def take_direction(stage, scaled, correctors, centring, aim, work):
    """Take what a solve left in more_dx and image, unless a corrector gains too little by it; (whether another stage
    follows, the new `Aim` as a plain tuple)."""
    problem, aim, s = Scaled(*scaled), Aim(*aim), Work(*work)
    free, limits, soft, x, y = problem.free, problem.limits, problem.soft, s.x, s.y
    dx, dy, more_dx, more_dy = s.dx, s.dy, s.more_dx, s.image
    tau, sigma, target = aim.tau, aim.sigma, aim.target
    if stage < 2:
        for i in range(len(x)):
            more_dy[i] += soft[i] * more_dx[i] - s.primal[i]
    else:
        for i in range(len(x)):
            more_dy[i] += soft[i] * more_dx[i] + dy[i]
            more_dx[i] += dx[i]
    new = min(largest_step(limits, x[free:], more_dx[free:]), largest_step(limits, y[free:], more_dy[free:]))
    if stage >= 2 and new < aim.longest + _GAIN * _REACH and new < 1.0:
        return False, (tau, sigma, target, aim.longest)
    for i in range(len(x)):
        dx[i], dy[i] = more_dx[i], more_dy[i]
    if stage > correctors or (stage > 0 and new >= 1.0):
        return False, (tau, sigma, target, new)
    if stage == 0:
        step, left = min(1.0, new), 0.0  # τ is the mean of x·y over cones
        for i in range(free, len(x)):
            left += (x[i] + step * dx[i]) * (y[i] + step * dy[i])
        left = left / (len(s.eta) * tau) if tau > 0.0 else 0.0
        sigma = centring_parameter(left, step, centring)
        target = sigma * tau
    scale_by(limits, s.eta, s.w[free:], dx[free:], s.a[free:])
    unscale_by(limits, s.eta, s.w[free:], dy[free:], s.b[free:])
    return True, (tau, sigma, target, new)


@njit(cache=True, error_model="numpy", inline="always")
def finish_iteration(scaled, fraction, centred, longest, short_steps, work):
    """Step; (its length, the new τ, short steps in a row). The step is shortened until no product falls far behind the
    others: a point next to the boundary of one cone would be held there by it in all iterations to come."""
    problem, s = Scaled(*scaled), Work(*work)
    free, limits, x, y = problem.free, problem.limits, s.x, s.y
    dx, dy, a, b = s.dx, s.dy, s.a[free:], s.b[free:]
    step, tau = min(1.0, fraction * longest), 0.0
    for trial in range(_MOST_SHORTER + 1):
        if trial == _MOST_SHORTER:
            step = 0.0
        for i in range(len(a)):
            a[i], b[i] = x[free + i] + step * dx[free + i], y[free + i] + step * dy[free + i]
        tau, least = centrality(limits, a, b)
        if min(smallest_eigenvalue(limits, a), smallest_eigenvalue(limits, b)) > 0.0 and least >= centred * tau:
            break
        step *= _SHORTER
    for i in range(len(x)):
        x[i] += step * dx[i]
    for i in range(free, len(x)):
        y[i] += step * dy[i]
    return step, tau, short_steps + 1 if step < _SHORT_STEP else 0


@njit(cache=True, error_model="numpy", inline="always")
def how_it_ended(step, short_steps, sigma, tau, reached, goals):
    """DONE where the natural map has reached its goals, STALLED where the interior point got stuck.  reached, goals: of
    its norm and its worst velocity."""
    norm, goal = reached[0], goals[0]
    if norm <= goal and reached[1] <= goals[1]:
        return DONE
    if not step > 0.0 or short_steps >= _SHORT_STEPS:
        return STALLED
    is_late = tau < _LATE_TAU or norm <= goal
    return STALLED if is_late and (step < _LATE_STEP or sigma > _LATE_SIGMA) else RUNNING


@njit(cache=True, error_model="numpy", inline="always")
def _complementarity(limits, point, target, q):
    """q = z \\ (target e − z∘z − a∘b).  point: z, a, b."""
    z, a, b = point
    for i in range(limits):
        q[i] = (target - a[i] * b[i]) / z[i] - z[i]
    for i in range(limits, len(z), 3):
        p0, p1, p2 = jordan_product(a[i], a[i + 1], a[i + 2], b[i], b[i + 1], b[i + 2])
        s0, s1, s2 = arrow_solve(z[i], z[i + 1], z[i + 2], target - p0, -p1, -p2)
        q[i], q[i + 1], q[i + 2] = s0 - z[i], s1 - z[i + 1], s2 - z[i + 2]


@njit(cache=True, error_model="numpy", inline="always")
def _outliers(limits, point, step, target, q):
    """q = z \\ t with t moving the eigenvalues of (z + θ a)∘(z + θ b) into [0.1, 10] times the target.  point: z, a, b;
    step: θ."""
    z, a, b = point
    low, high = _BAND * target, target / _BAND
    for i in range(limits):
        q[i] = _moved((z[i] + step * a[i]) * (z[i] + step * b[i]), low, high) / z[i]
    for i in range(limits, len(z), 3):
        x0, x1, x2 = z[i] + step * a[i], z[i + 1] + step * a[i + 1], z[i + 2] + step * a[i + 2]
        y0, y1, y2 = z[i] + step * b[i], z[i + 1] + step * b[i + 1], z[i + 2] + step * b[i + 2]
        p0, p1, p2 = jordan_product(x0, x1, x2, y0, y1, y2)
        small, large = eigenvalues(p0, p1, p2)
        t0, t1, t2 = from_eigenvalues(_moved(small, low, high), _moved(large, low, high), p1, p2)
        q[i], q[i + 1], q[i + 2] = arrow_solve(z[i], z[i + 1], z[i + 2], t0, t1, t2)


@njit(cache=True, error_model="numpy")
def _moved(value, low, high):
    """How far the value is moved: up to `low`, or down to `high` but not by more than `high`."""
    if value < low:
        return low - value
    if value > high:
        return max(high - value, -high)
    return 0.0


# -- where a phase stands: what a solve is called is not decided here ------------------------------------------------


@njit(cache=True, error_model="numpy")
def natural_map(scaled, x, v):
    """With r = x − P_C(x − v): (‖r‖ / max(‖q‖, ‖x‖), the worst ‖r_k‖ as a velocity, over the rms of free ones).  v: D x
    + q, (m',)."""
    problem = Scaled(*scaled)
    joint_start, limits, q, speed = problem.joint_start, problem.limits, problem.q, problem.speed
    total, worst, size, free = 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        size += x[i] * x[i]
        free += q[i] * q[i]
    for k in range(len(joint_start) - 1):
        part = 0.0
        for i in range(joint_start[k], joint_start[k + 1]):
            part += v[i] * v[i]
        total += part
        worst = max(worst, part / speed[joint_start[k]] ** 2)
    first = joint_start[len(joint_start) - 1]
    for i in range(first, first + limits):
        part = (x[i] - max(0.0, x[i] - v[i])) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    for i in range(first + limits, len(x), 3):
        a, b, c = project_coulomb(x[i] - v[i], x[i + 1] - v[i + 1], x[i + 2] - v[i + 2], 1.0)
        part = (x[i] - a) ** 2 + (x[i + 1] - b) ** 2 + (x[i + 2] - c) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    size = max(size, free)
    return math.sqrt(total / size) if size > 0.0 else math.sqrt(total), math.sqrt(worst)


@njit(cache=True, error_model="numpy")
def project_standard(free, limits, x):
    """x ← P_C x in place; bilateral rows stay."""
    for i in range(free, free + limits):
        x[i] = max(0.0, x[i])
    for i in range(free + limits, len(x), 3):
        x[i], x[i + 1], x[i + 2] = project_coulomb(x[i], x[i + 1], x[i + 2], 1.0)
