"""Semismooth Newton on the augmented Lagrangian of the bodies' velocities, in pairs.

    g(u) = H (u − u_f) − Jᵀ P_K(λ_c − ρ (J u + b)) = 0,    then  λ_c ← P_K(…)  and again

ρ differs from contact to contact, by what it carries: with one ρ for all, light bodies under heavy ones never settle.
"""

import math

import numpy as np

from delassus.cones.pairs import EDGE, INSIDE, project_pair
from delassus.kernel import njit
from delassus.linalg.pairs import add, add_multiple, div, dot, get, mul, put, root, sub, times
from delassus.solvers.double_double.bodies import Bodies

_RHO = 1e4  # augmentation ρ of a contact, over its reaction per speed
_RHO_JOINT = 1e10  # of a joint, over the inverse mean diagonal of its block of D
_INNER = 8  # Newton steps, at most, before the centre λ_c moves
_SOLVED = 1e-20  # slope over the first one at which the equation of a centre counts as solved
_HALVINGS = 30  # of a step in the line search


class Polish:
    """reactions: (m, 2) P_K(λ_c − ρ v), which is what the method answers [N s]."""

    def __init__(self, bodies: Bodies, reactions: np.ndarray, u: np.ndarray):
        self.bodies = bodies
        carried = np.sqrt(np.add.reduceat(reactions[:, 0] ** 2, bodies.start[:-1])) / bodies.speed
        self.rho = _RHO * np.maximum(carried, bodies.ordinary)
        joints = slice(0, bodies.joints)
        self.rho[joints] = np.maximum(self.rho[joints], _RHO_JOINT * bodies.ordinary[joints])
        self.centre, self.reactions, self.u = reactions.copy(), np.zeros_like(reactions), u
        self.weights = np.zeros_like(bodies.S)
        self.inner = 0
        self.gradient = self._at(u)

    def _at(self, u: np.ndarray) -> np.ndarray:
        """g(u), (n, 2); `reactions` and their derivative `weights` are those of u."""
        bodies = self.bodies
        _project(
            bodies.start,
            bodies.joints,
            bodies.limits,
            bodies.mu,
            bodies.soft,
            self.rho,
            self.centre,
            bodies.velocity(u),
            self.reactions,
            self.weights,
        )
        return bodies.momentum_error(u, self.reactions)

    def step(self) -> bool:
        """One Newton step with its line search; False where the system cannot be solved."""
        bodies = self.bodies
        bodies.S[:] = self.weights
        if not (np.isfinite(bodies.S).all() and bodies.factor()):
            return False
        du = bodies.solve(-self.gradient)
        slope, here = dot(self.gradient, du), 0.0
        length, low, high = 1.0, 0.0, math.inf
        for _ in range(_HALVINGS):  # until the slope along du has halved
            u = self.u.copy()
            add_multiple(length, du, u)
            gradient = self._at(u)
            here = dot(gradient, du)
            if abs(here) <= 0.5 * abs(slope) or slope >= 0.0 or not math.isfinite(here):
                break
            if here > 0.0:
                high = length
            elif length >= 1.0:
                break
            else:
                low = length
            length = 0.5 * (low + high)
        if not math.isfinite(here):
            return False
        self.u, self.gradient = u, gradient
        self.inner += 1
        if self.inner >= _INNER or (length == 1.0 and (slope >= 0.0 or abs(here) <= _SOLVED * abs(slope))):
            self.inner, self.centre = 0, self.reactions.copy()
            self.gradient = self._at(self.u)
        return True


@njit(cache=True, error_model="numpy")
def _project(block_start, joints, limits, mu, soft, rho, centre, v, out, S):
    """out = P_K(λ_c − ρ (v + E out)) and S = −∂out/∂v, block by block; E of joints and limits alone."""
    S[:] = 0.0
    for k in range(len(block_start) - 1):
        first, last, step = block_start[k], block_start[k + 1], rho[k]
        for i in range(first, last):
            put(out, i, sub(get(centre, i), times(get(v, i), step)))
        if k < joints + limits:
            for i in range(first, last):
                softer = add((1.0, 0.0), times((step, 0.0), soft[i]))
                put(out, i, div(get(out, i), softer))
                put(S[i], 0, div((step, 0.0), softer))
                if k >= joints and not out[i, 0] > 0.0:
                    put(out, i, (0.0, 0.0))
                    put(S[i], 0, (0.0, 0.0))
            continue
        friction, i = mu[k - joints - limits], first
        if friction == 0.0:
            if out[i, 0] > 0.0:
                S[i, 0, 0] = step
            else:
                put(out, i, (0.0, 0.0))
            put(out, i + 1, (0.0, 0.0))
            put(out, i + 2, (0.0, 0.0))
            continue
        a1, a2 = get(out, i + 1), get(out, i + 2)
        where, pn, p1, p2 = project_pair(get(out, i), a1, a2, friction)
        put(out, i, pn)
        put(out, i + 1, p1)
        put(out, i + 2, p2)
        if where == INSIDE:
            S[i, 0, 0] = S[i + 1, 1, 0] = S[i + 2, 2, 0] = step
        elif where == EDGE:
            _edge_derivative(pn, a1, a2, friction, step, S[i : i + 3])


@njit(cache=True, error_model="numpy")
def _edge_derivative(pn, a1, a2, mu, step, S):
    """S: (3, 3, 2) = ρ ∂P where P lands on the boundary: along its ray, and around the axis."""
    length = root(add(mul(a1, a1), mul(a2, a2)))
    e1, e2 = div(a1, length), div(a2, length)
    along = div((1.0, 0.0), add(times((mu, 0.0), mu), (1.0, 0.0)))
    around = div(times(pn, mu), length)
    ray = ((1.0, 0.0), times(e1, mu), times(e2, mu))
    turn = ((0.0, 0.0), times(e2, -1.0), e1)
    for a in range(3):
        for b in range(3):
            value = add(mul(along, mul(ray[a], ray[b])), mul(around, mul(turn[a], turn[b])))
            put(S[a], b, times(value, step))
