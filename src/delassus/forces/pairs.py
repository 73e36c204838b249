"""Springs, bushings and their like: all forces of one kind between two ends each, evaluated by one compiled call."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from delassus.forces.configuration import Configuration
from delassus.forces.kind import ForceKind
from delassus.forces.measures import (
    DISTANCE,
    ROTVEC,
    SLIDE,
    distance,
    log_of,
    relative_rotation,
    rotation_component,
    slide,
    twist,
    value_of,
)
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

NOTHING = -1  # in the place of a body or a node: the world
_STIFFEST = 1e6  # h² k w, beyond which weights are those of the limit


class Masses(NamedTuple):
    """What a step resolves.  h: its length [s], 0 for no step; inverse_mass: (n_b,) [1/kg], inverse_inertia:
    (n_b, 3, 3) in the world's axes, inverse_node_mass: (n_n,) [1/kg]."""

    h: float
    inverse_mass: np.ndarray
    inverse_inertia: np.ndarray
    inverse_node_mass: np.ndarray


NO_MASSES = Masses(0.0, np.zeros(0), np.zeros((0, 3, 3)), np.zeros(0))
"""Forces as they are."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """n forces of one kind.  bodies, nodes: (n, 2), each end one of both or, with neither, the world; origin:
    (n, 2, 3) [m], axes: (n, 2, 3, 3) as columns, in the body's frame at its centre of mass, or in the world's (zero and
    unity at nodes); rest: (n, m) [m, rad]; stiffness: (n, m, m) [N/m, N m/rad], damping: (n, m, m) [N s/m, N m s/rad],
    m measures each; body_count: n_b of the model."""

    kind: ForceKind
    bodies: np.ndarray
    nodes: np.ndarray
    origin: np.ndarray
    axes: np.ndarray
    rest: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    body_count: int

    @cached_property
    def index(self) -> np.ndarray:
        """(n, 12) numbers of the velocities of both ends, −1 for none: a node has three, the world has none."""
        out = np.full((len(self.bodies), 2, 6), NOTHING, np.int64)
        on_body, on_node = self.bodies >= 0, self.nodes >= 0
        out[on_body] = 6 * self.bodies[on_body][:, None] + np.arange(6)
        out[on_node, :3] = 6 * self.body_count + 3 * self.nodes[on_node][:, None] + np.arange(3)
        return out.reshape(-1, 12)

    @cached_property
    def measures(self) -> tuple[np.ndarray, np.ndarray]:
        """(m,) which, and about or along which axis."""
        return (
            np.array([measure.measure for measure in self.kind.measures], np.int64),
            np.array([measure.axis for measure in self.kind.measures], np.int64),
        )

    def evaluate(
        self, at: Configuration, is_exact: bool = True, masses: Masses | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """force (n, 12), dq, dv (n, 12, 12).  is_exact: else −dq is made positive semi-definite, by
        leaving out what springs under pressure and rotations under load add; masses: for the weights of stiff forces
        in a midpoint step, see `pull_pairs`."""
        n = len(self.bodies)
        force, dq, dv = np.empty((n, 12)), np.empty((n, 12, 12)), np.empty((n, 12, 12))
        ends, laws = (self.bodies, self.nodes, self.origin, self.axes), (self.rest, self.stiffness, self.damping)
        where = (at.q, at.rotation, at.u, at.nodes, at.node_velocity)
        pull_pairs(self.measures, ends, laws, where, is_exact, masses or NO_MASSES, (force, dq, dv))
        return force, dq, dv

    def energy(self, at: Configuration) -> np.ndarray:
        """(n,) [J]."""
        y = self.values(at) - self.rest
        return 0.5 * np.einsum("ni,nij,nj->n", y, self.stiffness, y)

    def values(self, at: Configuration) -> np.ndarray:
        """(n, m) measures [m, rad]."""
        out = np.empty_like(self.rest)
        measure_pairs(
            self.measures, (self.bodies, self.nodes, self.origin, self.axes), (at.q, at.rotation, at.nodes), out
        )
        return out


class _Ends(NamedTuple):
    """Two ends where they are, and one seen from the other."""

    point: np.ndarray  # (2, 3) [m]
    axes: np.ndarray  # (2, 3, 3) as columns
    arm: np.ndarray  # (2, 3) from the centres of mass to the points [m]
    d: np.ndarray  # (3,) from the first point to the second [m]
    p: np.ndarray  # (4,) quaternion of the second end in the first
    phi: np.ndarray  # (3,) its rotation vector [rad]


class _Scratch(NamedTuple):
    """For derivatives of measures (measures.py)."""

    column: np.ndarray  # (3,)
    G: np.ndarray  # (12, 3)
    E: np.ndarray  # (3, 3)
    N: np.ndarray  # (3, 3)


@njit(cache=True)
def _empty_ends():
    return _Ends(np.empty((2, 3)), np.empty((2, 3, 3)), np.empty((2, 3)), np.empty(3), np.empty(4), np.empty(3))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place_end(ends, k, side, q, rotation, nodes, placed):
    """One end of pair k, written to `placed`."""
    bodies, on_nodes, origin, local = ends
    point, axes, arm = placed.point[side], placed.axes[side], placed.arm[side]
    b, n = bodies[k, side], on_nodes[k, side]
    for i in range(3):
        arm[i] = 0.0
        if n >= 0:
            point[i] = nodes[n, i]
        elif b < 0:
            point[i] = origin[k, side, i]
        else:
            for a in range(3):
                arm[i] += rotation[b, i, a] * origin[k, side, a]
            point[i] = q[b, i] + arm[i]
        for j in range(3):
            axes[i, j] = local[k, side, i, j]
            if b >= 0:
                axes[i, j] = 0.0
                for a in range(3):
                    axes[i, j] += rotation[b, i, a] * local[k, side, a, j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _differentiate(which, axis, value, placed, scratch, Y, T, geometric):
    """Y (12,), T (12, 12) and, of distances, geometric (12, 12) of one measure of two placed ends, written."""
    d, axes, arm, column = placed.d, placed.axes, placed.arm, scratch.column
    if which == DISTANCE:
        distance(d, arm, value, scratch.G, Y, T, geometric)
    elif which == SLIDE:
        for i in range(3):
            column[i] = axes[0, i, axis]
        slide(column, d, arm, Y, T)
    elif which == ROTVEC:
        rotation_component(axis, placed.phi, axes[0], scratch.E, scratch.N, Y, T)
    else:
        twist(placed.p, axes[0], column, scratch.N, Y, T)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _mobility(ends, k, Y, masses):
    """Y M⁻¹ Yᵀ [1/kg], of nodes as if they were alone."""
    value = 0.0
    for side in range(2):
        b, n = ends[0][k, side], ends[1][k, side]
        for i in range(3):
            y = Y[6 * side + i]
            if b >= 0:
                value += masses.inverse_mass[b] * y * y
                for j in range(3):
                    value += Y[6 * side + 3 + i] * masses.inverse_inertia[b, i, j] * Y[6 * side + 3 + j]
            elif n >= 0:
                value += masses.inverse_node_mass[n] * y * y
    return value


@njit(cache=True, error_model="numpy")
def measure_pairs(measures, ends, where, out):
    """Measures (n, m) of all pairs, written to out.  where: q, rotation, nodes."""
    which, axis = measures
    q, rotation, nodes = where
    placed = _empty_ends()
    point, axes, d, p, phi = placed.point, placed.axes, placed.d, placed.p, placed.phi
    for k in range(len(out)):
        for side in range(2):
            _place_end(ends, k, side, q, rotation, nodes, placed)
        for i in range(3):
            d[i] = point[1, i] - point[0, i]
        relative_rotation(axes[0], axes[1], p)
        log_of(p, phi)
        for m in range(len(which)):
            out[k, m] = value_of(which[m], axis[m], d, axes, p, phi)


@njit(cache=True, error_model="numpy")
def pull_pairs(measures, ends, laws, where, is_exact, masses, out):
    """Forces of all pairs and their derivatives, see `Pairs.evaluate`.  laws: rest, stiffness, damping;
    where: q, rotation, u, nodes, node_velocity; out: force, dq, dv, written.

    With s = K (y − y₀) + C Y u the force is −Yᵀ s, so that dq = −Yᵀ (K Y + C ∂(Y u)/∂q) − Σ sᵢ Tᵢ, dv = −Yᵀ C Y.

    In a midpoint step (masses.h > 0) a spring acts at y + h (α ẏ⁺ − β ẏ⁻) and a damper at θ ẏ⁺ + (1 − θ) ẏ⁻ with the
    weights of dynamics/softness.py, each measure with its own: ¼, ¼ and ½, which keep energy, where the step resolves
    it, and 1, 0 and 1 where it is too stiff for that. H takes ¼h² dq and ½h dv of whoever calls, so that dq is 4α of
    the derivative, and the rest, h (α − β) K ẏ⁻, is added to the force."""
    which, axis = measures
    rest, stiffness, damping = laws
    q, rotation, u, nodes, node_velocity = where
    force, dq, dv = out
    count = len(which)
    placed = _empty_ends()
    scratch = _Scratch(np.empty(3), np.empty((12, 3)), np.empty((3, 3)), np.empty((3, 3)))
    point, axes, d, p, phi = placed.point, placed.axes, placed.d, placed.p, placed.phi
    Y, T, geometric = np.empty((count, 12)), np.empty((count, 12, 12)), np.empty((12, 12))
    y, rate, s, own = np.empty(count), np.empty(count), np.empty(count), np.empty(12)
    bent, pulled, damped = np.empty((count, 12)), np.empty((count, 12)), np.empty((count, 12))
    ahead, behind, late = np.full(count, 0.5), np.full(count, 0.5), np.full(count, math.sqrt(0.5))  # square roots
    for k in range(len(force)):
        for side in range(2):
            _place_end(ends, k, side, q, rotation, nodes, placed)
            b, n = ends[0][k, side], ends[1][k, side]
            for i in range(6):
                own[6 * side + i] = u[b, i] if b >= 0 else node_velocity[n, i] if n >= 0 and i < 3 else 0.0
        for i in range(3):
            d[i] = point[1, i] - point[0, i]
        relative_rotation(axes[0], axes[1], p)
        log_of(p, phi)
        for m in range(count):
            y[m] = value_of(which[m], axis[m], d, axes, p, phi)
            _differentiate(which[m], axis[m], y[m], placed, scratch, Y[m], T[m], geometric)
            y[m] -= rest[k, m]
            rate[m] = 0.0
            for a in range(12):
                rate[m] += Y[m, a] * own[a]
        for m in range(count):
            s[m] = 0.0
            for j in range(count):
                s[m] += stiffness[k, m, j] * y[j] + damping[k, m, j] * rate[j]
        if masses.h > 0.0:
            for m in range(count):
                w = _mobility(ends, k, Y[m], masses)
                Z, D = min(masses.h**2 * stiffness[k, m, m] * w, _STIFFEST), masses.h * damping[k, m, m] * w
                stiff = Z * Z / (1.0 + Z * Z)
                ahead[m], behind[m] = math.sqrt(0.25 + 0.75 * stiff), math.sqrt(0.25 * (1.0 - stiff))
                late[m] = math.sqrt((3.0 + D) / (6.0 + D))
            for m in range(count):
                for j in range(count):
                    s[m] += masses.h * (ahead[m] * ahead[j] - behind[m] * behind[j]) * stiffness[k, m, j] * rate[j]
        for m in range(count):
            if not is_exact:
                keep = 1.0 if which[m] == DISTANCE and s[m] > 0.0 else 0.0
                for a in range(12):
                    for b in range(12):
                        T[m, a, b] = keep * geometric[a, b] if keep > 0.0 else 0.0
            for b in range(12):
                bent[m, b] = 0.0
                for a in range(12):
                    bent[m, b] += own[a] * T[m, a, b] if is_exact else 0.0
        for m in range(count):
            for b in range(12):
                pulled[m, b] = damped[m, b] = 0.0
                for j in range(count):
                    pulled[m, b] += 4.0 * ahead[m] * ahead[j] * stiffness[k, m, j] * Y[j, b]
                    pulled[m, b] += damping[k, m, j] * bent[j, b]
                    damped[m, b] += 2.0 * late[m] * late[j] * damping[k, m, j] * Y[j, b]
        for a in range(12):
            force[k, a] = 0.0
            for m in range(count):
                force[k, a] -= Y[m, a] * s[m]
            for b in range(12):
                dq[k, a, b] = dv[k, a, b] = 0.0
                for m in range(count):
                    dq[k, a, b] -= Y[m, a] * pulled[m, b] + s[m] * T[m, a, b]
                    dv[k, a, b] -= Y[m, a] * damped[m, b]
