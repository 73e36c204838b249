"""Mehrotra's predictor-corrector with the bodies' velocities as unknowns, in pairs.

    H (u − u_f) = Jᵀ λ,    y = T (J u + b + E λ),    λ = T x,    x and y in standard cones,  x∘y → 0

It starts from reactions that carry everything that moves, stopped at once: from there the number of iterations does not
depend on masses. Bilateral rows enter by a penalty, refined by their multipliers.
"""

import math

import numpy as np

from delassus.linalg.operators.rigid_pairs import add_soft
from delassus.linalg.pairs import add_multiple, dot, pair_array, scale
from delassus.solvers.double_double.bodies import Bodies
from delassus.solvers.double_double.jordan import (
    CONE,
    JOINT,
    ORTHANT,
    apply_weights,
    correct,
    form_scaling,
    form_weights,
    longest_step,
    scale_by,
)
from delassus.solvers.parts.jordan import CENTRING, FRACTION, centring_parameter

_PENALTY = 1e14  # of bilateral rows, over the inverse mean diagonal of their block of D
_SHORTEST_STEP = 1e-10  # a shorter one counts as no progress


class Interior:
    """u: (n, 2); x, y: (m, 2) on standard cones, x of joints their reactions, y of joints zero; tau: x·y / cones [J].

    centring: least σ of a predictor that could not move; inside: part of the way to the boundary, at most."""

    centring, inside = CENTRING, FRACTION

    def __init__(self, bodies: Bodies):
        self.bodies = bodies
        m, kind = bodies.row_count, bodies.kind
        on = (kind == ORTHANT) | (kind == CONE)
        self.degree = max(1, int(on.sum()))
        self.u = bodies.u_f.copy()
        self.x = pair_array(np.where(on, bodies.mass * bodies.speed, 0.0))
        self.y = pair_array(np.where(on, bodies.speed, 0.0))
        self.eta, self.w, self.z, self.c = (np.zeros((m, 2)) for _ in range(4))
        joint = np.repeat(bodies.ordinary, np.diff(bodies.start)) * _PENALTY
        self.hard = np.where(kind == JOINT, 1.0 / (bodies.soft + 1.0 / joint), 0.0)
        self.tau = dot(self.x, self.y) / self.degree

    @property
    def reactions(self) -> np.ndarray:
        """λ, (m, 2) [N s]."""
        out = np.empty_like(self.x)
        scale(self.bodies.up, self.x, out)
        return out

    def step(self) -> bool:
        """One iteration, one factorisation; False where it makes no progress."""
        kind = self.bodies.kind
        momentum, primal = self.errors()
        if not self._factor():
            return False
        _, dx, dy = self._direction(momentum, primal)
        step = min(1.0, longest_step(kind, self.x, dx), longest_step(kind, self.y, dy))
        ahead_x, ahead_y = self.x.copy(), self.y.copy()
        add_multiple(step, dx, ahead_x)
        add_multiple(step, dy, ahead_y)
        ahead = dot(ahead_x, ahead_y) / self.degree
        left = ahead / self.tau if self.tau > 0.0 else 0.0
        sigma = centring_parameter(left, step, self.centring)
        a, b = np.zeros_like(dx), np.zeros_like(dy)
        scale_by(kind, self.eta, self.w, dx, False, a)
        scale_by(kind, self.eta, self.w, dy, True, b)
        correct(kind, self.z, a, b, sigma * self.tau, self.c)
        du, dx, dy = self._direction(momentum, primal)
        step = min(1.0, self.inside * min(longest_step(kind, self.x, dx), longest_step(kind, self.y, dy)))
        if not (math.isfinite(step) and np.isfinite(du).all()):
            return False
        add_multiple(step, du, self.u)
        add_multiple(step, dx, self.x)
        add_multiple(step, dy, self.y)
        self.tau = dot(self.x, self.y) / self.degree
        return step > _SHORTEST_STEP

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Jᵀ λ − H (u − u_f), (n, 2) [N s], and J u + b + E λ − v of y, (m, 2) [m/s]: errors of both equations."""
        bodies, reactions = self.bodies, self.reactions
        held, primal = np.empty_like(self.y), bodies.velocity(self.u, reactions)
        scale(bodies.down, self.y, held)
        add_multiple(-1.0, held, primal)
        return -bodies.momentum_error(self.u, reactions), primal

    def _factor(self) -> bool:
        """Scaling, weights and factor of the present point, and a predictor's right side."""
        bodies, kind = self.bodies, self.bodies.kind
        form_scaling(kind, self.x, self.y, self.eta, self.w)
        scale_by(kind, self.eta, self.w, self.x, False, self.z)
        bodies.S[:] = 0.0
        bodies.S[:, 0, 0] = self.hard
        form_weights(kind, self.eta, self.w, bodies.up, bodies.soft, bodies.S)
        self.c[:] = -self.z
        return bool(np.isfinite(bodies.S).all()) and bodies.factor()

    def _direction(self, momentum: np.ndarray, primal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(du, dx, dy) with W dx + W⁻¹ dy = c, where T dx = λ₀ − S J du, λ₀ = S (T⁻¹ W c − r)."""
        bodies, kind = self.bodies, self.bodies.kind
        wanted, physical, push = np.zeros_like(primal), np.empty_like(primal), np.zeros_like(primal)
        scale_by(kind, self.eta, self.w, self.c, False, wanted)
        scale(bodies.down, wanted, physical)
        add_multiple(-1.0, primal, physical)
        apply_weights(kind, bodies.S, physical, push)
        du = bodies.solve(momentum, push)
        moved, back = bodies.times(du), np.zeros_like(primal)
        apply_weights(kind, bodies.S, moved, back)
        add_multiple(-1.0, back, push)  # now dλ
        add_multiple(1.0, primal, moved)
        add_soft(bodies.soft, push, moved)  # now dv + r
        dx, dy = np.empty_like(push), np.empty_like(push)
        scale(bodies.down, push, dx)
        scale(bodies.up, moved, dy)
        dy[kind == JOINT] = 0.0
        return du, dx, dy
