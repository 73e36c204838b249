"""P-SPG-FB: preconditioned spectral projected gradient with fallback (Heyn, Anitescu, Tasora and Negrut 2013, §4.3).

    d = P_K(λ − α S v) − λ,    λ ← λ + θ d

α is one of the two Barzilai–Borwein steps in the metric of S, in turn (eq. 22, 23); θ comes from the nonmonotone line
search of Grippo, Lampariello and Lucidi; what is returned is the best iterate by the projected gradient (eq. 24). The
preconditioner is the diagonal of D averaged over each unit, which keeps the cones: d then always descends, and line 7
of the printed algorithm (d without preconditioner where ⟨d, v⟩ ≥ 0) is never needed. On a quadratic the line search is
arithmetic with vᵀ d and dᵀ D d: the image of λ + θ d is had from those of its ends."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.gradient.method import GradientMethod
from delassus.solvers.gradient.step import Points, Step, step_units
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up, wait
from delassus.solvers.settings import Count, Range, Settings

_STEP_MIN, _STEP_MAX = 1e-9, 1e9  # of α, as published
CUT_MIN, CUT_MAX = 0.1, 0.9  # a refused θ is cut to between these fractions of itself


Armijo = Annotated[float, Range("[0, 0.5)")]


@dataclass(frozen=True)
class SpgFb(Settings):
    """Settings of the spectral projected gradient method."""

    memory: Count = 10  # objective values the line search looks back on; 1 makes it monotone
    armijo: Armijo = 1e-4  # least decrease asked for, as a fraction of what the slope promises
    scaled: bool = True  # precondition by the diagonal of D, the P of P-SPG-FB; without it the method is SPG-FB
    threads: Count = 1  # team of threads for each pass


SPG_FB = SpgFb(solver="spg-fb", scaled=False)
"""What Heyn et al. 2013, §5.2 and §5.3, call SPG-FB: no preconditioner."""


class SpgFbMethod(GradientMethod):
    """P-SPG-FB at work on one problem; `reactions` is the fallback iterate."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        assert isinstance(settings, SpgFb)
        super().__init__(problem, settings, reactions, scaled=settings.scaled)
        self.step = problem.rho
        self.points = np.zeros((4, problem.row_count))  # λ, the trial P_K(λ − α S v), v and the v before, in turn
        self.images = np.zeros((2, self.operator.image_size))  # of λ and of the trial
        self.past = np.full((self.settings.threads, self.settings.memory), -np.inf)  # last objective values, per member
        # iterations done, dᵀ S⁻¹ d and dᵀ D d of the last step, its θ, α, and the best projected gradient, squared
        self.state = np.array([0.0, 0.0, 0.0, 0.0, 1.0, np.inf])
        self._begin()

    def advance(self, count: int) -> None:
        self.operator.run(
            _advance,
            self.operator.data,
            count,
            (self.settings.armijo, self.step),
            (self.state, self.past, self.points, self.images, self.reactions),
        )

    def restart(self) -> None:
        """Go on from the best point; α is kept."""
        self.past[:] = -np.inf
        self.state[0], self.state[5] = 0.0, np.inf
        self._begin()

    def _begin(self) -> None:
        self.operator.project(self.reactions, self.points[0])
        self.operator.image(self.points[0], self.images[0])


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, count, rule, iterate):
    """`count` iterations of one team member; numbers in brackets are the lines of the printed algorithm. It is cut
    where the velocities of an iterate are known, which every quantity but the step needs.

    rule: (armijo of `SpgFb`, τ of the projected gradient (24)); iterate: (state, past, points, images, reactions) of
    `SpgFbMethod`."""
    armijo, tau = rule
    state, past, points, images, reactions = iterate
    kept = past[t]  # every member keeps its own, of the same values
    iteration, weighted, bent = int(state[0]), state[1], state[2]
    theta, alpha, best = state[3], state[4], state[5]
    x, trial, of_x, of_trial = points[0], points[1], images[0], images[1]
    first, last = passes.own_rows(t, data)
    values, slope, curvature = np.empty(3), np.empty(3), np.empty(1)
    for _ in range(count):
        v, before = points[2 + iteration % 2], points[3 - iteration % 2]
        passes.velocity_units(t, data, x, of_x, True, v)
        _compare(t, data, tau, x, v, before, values)
        add_up(t, barrier, parts, values)
        change, gap, objective = values
        if iteration > 0 and bent > 0.0:  # (19) – (23)
            alpha = theta * theta * bent / change if iteration % 2 else weighted / bent
            alpha = min(_STEP_MAX, max(_STEP_MIN, alpha))
        kept[iteration % len(kept)] = objective
        if gap <= best:  # (25), (26)
            best = gap
            for i in range(first, last):
                reactions[i] = x[i]
        slope[0] = slope[1] = slope[2] = 0.0
        step_units(t, data, Step(alpha, 0.0, 1.0, False), Points(x, x, trial), of_x, slope)  # (4), (5)
        add_up(t, barrier, parts, slope)
        passes.form_image(t, data, trial, of_trial)
        curvature[0] = passes.curvature_part(t, data, x, trial, of_x, of_trial)
        add_up(t, barrier, parts, curvature)
        weighted, bent = slope[0], curvature[0] + slope[2]
        theta = line_search(objective, slope[1], bent, kept, armijo)
        passes.move(t, data, theta, x, trial, of_x, of_trial)
        wait(t, barrier)
        iteration += 1
    if t == 0:
        state[0], state[1], state[2] = iteration, weighted, bent
        state[3], state[4], state[5] = theta, alpha, best


@njit(cache=True, error_model="numpy")
def _compare(t, data, tau, x, v, before, values):
    """Own parts of ‖v − before‖² in the metric of S, of the squared projected gradient (24) and of the objective."""
    data = passes.Data(*data)
    singles, mu, scale, offset = data.singles, data.mu, data.scale, data.offset
    change = gap = objective = 0.0
    for k in range(data.unit_share[t], data.unit_share[t + 1]):
        if k < singles:
            z = x[k] - tau * v[k]
            if k >= data.bilateral:
                z = max(z, 0.0)
            gap += (x[k] - z) ** 2
            change += scale[k] * (v[k] - before[k]) ** 2
            objective += x[k] * (v[k] + offset[k])
            continue
        i = singles + 3 * (k - singles)
        z0, z1, z2 = project_coulomb(
            x[i] - tau * v[i], x[i + 1] - tau * v[i + 1], x[i + 2] - tau * v[i + 2], mu[k - singles]
        )
        gap += (x[i] - z0) ** 2 + (x[i + 1] - z1) ** 2 + (x[i + 2] - z2) ** 2
        working = 3 if mu[k - singles] > 0.0 else 1  # tangents without friction are no variables
        for j in range(i, i + working):
            change += scale[k] * (v[j] - before[j]) ** 2
            objective += x[j] * (v[j] + offset[j])
    values[0], values[1], values[2] = change, gap / (tau * tau), 0.5 * objective


@njit(cache=True, error_model="numpy")
def line_search(objective, slope, bent, kept, armijo):
    """θ with f(λ + θ d) = objective + θ slope + θ² bent / 2 ≤ the highest of `kept` + armijo θ slope (8) – (16)."""
    highest = objective
    for value in kept:
        highest = max(highest, value)
    theta = 1.0
    while objective + theta * slope + 0.5 * theta * theta * bent > highest + armijo * theta * slope:
        theta *= min(CUT_MAX, max(CUT_MIN, -slope / (bent * theta)))
        if theta < 1e-10:  # slope and objective are rounding errors of a solution
            break
    return theta
