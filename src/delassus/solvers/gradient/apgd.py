"""APGD: Nesterov's accelerated projected gradient descent with adaptive restart (Mazhar, Heyn, Negrut and Tasora,
"Using Nesterov's method to accelerate multibody dynamics with friction and contact", ACM Trans. Graph. 34, 2015).

    λ⁺ = P_K(y − t S v(y)),    y⁺ = λ⁺ + β (λ⁺ − λ)

in the metric of S. For a quadratic the test of the step length, f(λ⁺) ≤ f(y) + v·d + ‖d‖²/2t with d = λ⁺ − y, is
t dᵀ D d ≤ dᵀ S⁻¹ d exactly; dᵀ D d comes from the images, so neither the test nor the momentum reads D again, nothing
is lost by cancellation, and a slightly non-symmetric D is taken as it is. Each iteration is one pass over the contacts
and one over the bodies.

Two things differ from what was published; `PUBLISHED` are the settings without them.

- The metric. S = diag(1/D_nn, 1/D_tt, 1/D_tt) of each contact, D_tt the mean of both tangents: between spheres tangents
  give way 3.5 times as easily as the normal. The cone stays one of Coulomb, with μ √(D_tt / D_nn). Contacts of bodies
  that have joints keep one factor, as published: the joints decide what gives way there.
- A step that was too long is taken all the same, and the next is 0.9 of what its direction would have allowed. Taking
  it back, to half of that, costs an iteration every time that t has grown too far.

On 122 problems held back (FCLIB files, steps of scenes, random ones) both together need 1.28 times fewer iterations to
1e-4 and 1.33 times to 1e-6 (geometric means), none is lost, and the worst takes 1.27 times as many; 1.8 times fewer on
a heap of 8 000 spheres. Of the two, the metric gains 1.1 on small problems and 1.4 on heaps. 3.5 for all contacts, a
first t of 0.3, and growth by 1.02 or 1.05 are worse on what is not made of spheres; 0.7 and 0.8 instead of 0.9 and
growth by 1.2 make no difference.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.gradient.method import GradientMethod
from delassus.solvers.gradient.step import Points, Step, step_units
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up
from delassus.solvers.settings import AtLeastOne, Count, Fraction, OneOf, Positive, Settings

_STEP_MIN = 1e-12  # below this the test of the step length compares rounding errors
_SLACK = 1e-9  # relative, for rounding in that test


Metric = Annotated[str, OneOf("direction", "block")]


@dataclass(frozen=True)
class Apgd(Settings):
    """Settings of the accelerated projected gradient method."""

    metric: Metric = "direction"  # one factor for normals and one for tangents, or one for the whole "block"
    step: Positive = 1.0  # first step length t, in units of S
    growth: AtLeastOne = 1.11  # factor on t after each step that was not too long
    shrink: Fraction = 0.9  # one that was is followed by this fraction of what its direction would have allowed
    refuse: bool = False  # a step that was too long is taken back
    threads: Count = 1  # team of threads for each pass


PUBLISHED = Apgd(solver="apgd", metric="block", shrink=0.5, refuse=True)
"""As in Mazhar et al. 2015, but for the factor of each block."""


class ApgdMethod(GradientMethod):
    """APGD at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        assert isinstance(settings, Apgd)
        super().__init__(problem, settings, reactions, by_direction=settings.metric == "direction")
        self.points = np.zeros((3, problem.row_count))  # λ, the one before and the next, in turn
        self.images = np.zeros((4, self.operator.image_size))  # of λ and the next λ, of y and the next y, in turn
        self.state = np.array([self.settings.step, 1.0, 0.0, 0.0, 0.0])  # t, θ, β and which of the turns
        self.operator.project(reactions, self.points[0])
        self.reactions = self.points[0]  # a view, another one after each batch: copying would cost a tenth of a pass
        self.points[1] = self.points[0]
        self.operator.image(self.points[0], self.images[0])
        self.images[2] = self.images[0]

    def advance(self, count: int) -> None:
        rule = self.settings.growth, self.settings.shrink, self.settings.refuse
        self.operator.run(advance, self.operator.data, count, rule, (self.state, self.points, self.images))
        self.reactions = self.points[int(self.state[3])]

    def restart(self) -> None:
        """Go on from the present point without momentum."""
        turn, side = int(self.state[3]), int(self.state[4])
        self.points[(turn + 2) % 3] = self.points[turn]
        self.images[2 + side] = self.images[side]
        self.state[1:3] = 1.0, 0.0


class _Images(NamedTuple):
    """(image_size,) each."""

    x: np.ndarray
    y: np.ndarray
    out: np.ndarray  # of the next λ
    next: np.ndarray  # of the next y


@njit(cache=True, nogil=True, error_model="numpy")
def advance(t, barrier, parts, data, count, rule, iterate):
    """`count` steps of one team member; those taken back count, since they cost the same.

    rule: (growth, shrink, refuse) of `Apgd`; iterate: (state, points, images) of `ApgdMethod`."""
    growth, shrink, refuse = rule
    state, points, images = iterate
    step, theta, beta, turn, side = state[0], state[1], state[2], int(state[3]), int(state[4])
    values, curvature = np.empty(3), np.empty(1)
    for _ in range(count):
        now = Points(points[turn], points[(turn + 2) % 3], points[(turn + 1) % 3])
        seen = _Images(x=images[side], y=images[2 + side], out=images[1 - side], next=images[3 - side])
        values[0] = values[1] = values[2] = 0.0
        step_units(t, data, Step(step, beta, 1.0, False), now, seen.y, values)
        add_up(t, barrier, parts, values)
        following = 0.5 * theta * (np.sqrt(theta * theta + 4.0) - theta)
        momentum = theta * (1.0 - theta) / (theta * theta + following)
        if values[1] > 0.0:  # the step went uphill: forget the momentum (O'Donoghue and Candès' gradient scheme)
            following, momentum = 1.0, 0.0
        passes.form_image(t, data, now.out, seen.out)
        curvature[0] = _extrapolate(t, data, beta, momentum, now, seen)
        add_up(t, barrier, parts, curvature)
        bent = curvature[0] + values[2]
        long = step * bent > (1.0 + _SLACK) * values[0] and step > _STEP_MIN
        step = min(step, shrink * values[0] / bent) if long else growth * step
        if not (long and refuse):
            turn, side, theta, beta = (turn + 1) % 3, 1 - side, following, momentum
    if t == 0:
        state[0], state[1], state[2], state[3], state[4] = step, theta, beta, turn, side


@njit(cache=True, error_model="numpy")
def _extrapolate(t, data, beta, momentum, points, images):
    """Own part of the image of the next y; returns own part of dᵀ D d without compliance."""
    data = passes.Data(*data)
    first, last = data.image_share[t], data.image_share[t + 1]
    of_x, of_y = images.x[first:last], images.y[first:last]
    of_out, of_next = images.out[first:last], images.next[first:last]
    for i in range(len(of_x)):
        of_next[i] = of_out[i] + momentum * (of_out[i] - of_x[i])
    total = 0.0
    if data.rigid:
        for i in range(len(of_x)):
            total += (of_out[i] - of_y[i]) ** 2
        return total
    x, before, out = points.x[first:last], points.before[first:last], points.out[first:last]
    for i in range(len(of_x)):
        total += (of_out[i] - of_y[i]) * (out[i] - x[i] - beta * (x[i] - before[i]))
    return total
