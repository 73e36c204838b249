"""APGD: Nesterov's accelerated projected gradient descent with adaptive restart (Mazhar, Heyn, Negrut and Tasora,
"Using Nesterov's method to accelerate multibody dynamics with friction and contact", ACM Trans. Graph. 34, 2015).

    λ⁺ = P_K(y − t S v(y)),    y⁺ = λ⁺ + β (λ⁺ − λ)

in the metric of S, one factor per unit. For a quadratic the test of the step length, f(λ⁺) ≤ f(y) + v·d + ‖d‖²/2t
with d = λ⁺ − y, is t dᵀ D d ≤ dᵀ S⁻¹ d exactly; dᵀ D d comes from the images, so neither the test nor the momentum
reads D again, nothing is lost by cancellation, and a slightly non-symmetric D is taken as it is. Each iteration is one
pass over the contacts and one over the bodies. A refused t becomes a fraction of what its direction would have allowed,
which needs no second refusal; growth factors of 1 to 1.11 and fractions of 0.5 to 0.9 differ by 2 % in iterations on
the FCLIB files, so the printed ones (1/0.9 and a half) stand.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from delassus.problem import Problem
from delassus.solvers.gradient.method import GradientMethod
from delassus.solvers.gradient.step import step_units
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up
from delassus.solvers.settings import AtLeastOne, Count, Fraction, Positive, Settings

_STEP_MIN = 1e-12  # below this the test of the step length compares rounding errors
_SLACK = 1e-9  # relative, for rounding in that test


@dataclass(frozen=True)
class Apgd(Settings):
    """Settings of the accelerated projected gradient method."""

    step: Positive = 1.0  # first step length t, in units of the inverse mean diagonal of each block
    growth: AtLeastOne = 1.11  # factor on t after each accepted step
    shrink: Fraction = 0.5  # a refused t is replaced by this fraction of what its direction would have allowed
    threads: Count = 1  # team of threads for each pass


class ApgdMethod(GradientMethod):
    """APGD at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.points = np.zeros((3, problem.row_count))  # λ, the one before and the next, in turn
        self.images = np.zeros((4, self.operator.image_size))  # of λ and the next λ, of y and the next y, in turn
        self.state = np.array([self.settings.step, 1.0, 0.0, 0.0, 0.0])  # t, θ, β and which of the turns
        self.operator.project(reactions, self.points[0])
        self.reactions = self.points[0]  # a view, another one after each batch: copying would cost a tenth of a pass
        self.points[1] = self.points[0]
        self.operator.image(self.points[0], self.images[0])
        self.images[2] = self.images[0]

    def advance(self, count: int) -> None:
        self.operator.run(
            advance, self.operator.data, count, self.settings.growth, self.settings.shrink, self.state,
            self.points, self.images,
        )  # fmt: skip
        self.reactions = self.points[int(self.state[3])]

    def restart(self) -> None:
        """Go on from the present point without momentum."""
        turn, side = int(self.state[3]), int(self.state[4])
        self.points[(turn + 2) % 3] = self.points[turn]
        self.images[2 + side] = self.images[side]
        self.state[1:3] = 1.0, 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def advance(t, meeting, parts, data, count, growth, shrink, state, points, images):
    """`count` steps of one team member; refused ones count, since they cost the same."""
    step, theta, beta, turn, side = state[0], state[1], state[2], int(state[3]), int(state[4])
    values, curvature = np.empty(3), np.empty(1)
    for _ in range(count):
        x, before, out = points[turn], points[(turn + 2) % 3], points[(turn + 1) % 3]
        of_x, of_out, of_y, of_next = images[side], images[1 - side], images[2 + side], images[3 - side]
        values[0] = values[1] = values[2] = 0.0
        step_units(t, data, step, beta, 1.0, False, of_y, x, before, out, values)
        add_up(t, meeting, parts, values)
        following = 0.5 * theta * (np.sqrt(theta * theta + 4.0) - theta)
        momentum = theta * (1.0 - theta) / (theta * theta + following)
        if values[1] > 0.0:  # the step went uphill: forget the momentum (O'Donoghue and Candès' gradient scheme)
            following, momentum = 1.0, 0.0
        passes.form_image(t, data, out, of_out)
        curvature[0] = _extrapolate(t, data, beta, momentum, x, before, out, of_x, of_y, of_out, of_next)
        add_up(t, meeting, parts, curvature)
        bent = curvature[0] + values[2]
        if step * bent > (1.0 + _SLACK) * values[0] and step > _STEP_MIN:
            step = shrink * values[0] / bent
            continue
        turn, side, theta, beta = (turn + 1) % 3, 1 - side, following, momentum
        step *= growth
    if t == 0:
        state[0], state[1], state[2], state[3], state[4] = step, theta, beta, turn, side


@njit(cache=True, error_model="numpy")
def _extrapolate(t, data, beta, momentum, x, before, out, of_x, of_y, of_out, of_next):
    """Own part of the image of the next y; returns own part of dᵀ D d without compliance."""
    data = passes.Data(*data)
    first, last = data.image_share[t], data.image_share[t + 1]
    of_x, of_y, of_out, of_next = of_x[first:last], of_y[first:last], of_out[first:last], of_next[first:last]
    for i in range(len(of_x)):
        of_next[i] = of_out[i] + momentum * (of_out[i] - of_x[i])
    total = 0.0
    if data.rigid:
        for i in range(len(of_x)):
            total += (of_out[i] - of_y[i]) ** 2
        return total
    x, before, out = x[first:last], before[first:last], out[first:last]
    for i in range(len(of_x)):
        total += (of_out[i] - of_y[i]) * (out[i] - x[i] - beta * (x[i] - before[i]))
    return total
