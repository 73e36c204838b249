"""The rows of one step: joints, drives, limits, contacts and joint friction, with bias, compliance and names.

Blocks in the order of the problem's cone: bilateral (joints, then drives), unilateral (limits), triples (contacts, then
dry friction of joints). Dry friction of a joint coordinate, |τ| ≤ τ_f, is Coulomb's law with a known normal reaction: a
triple whose normal row is v_n = w (λ_n − h τ_f) with some mobility w, so that λ_n = h τ_f exactly, whose first tangent
is the coordinate's rate and whose second does not move.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.softening import Softening
from delassus.dynamics.stabilisation import Stabilisation
from delassus.joints.arrays import IMPOSED, PD
from delassus.joints.primitives import line
from delassus.model import Model
from delassus.state import State

_LIMIT_HORIZON = 4.0  # a limit enters the problem when it could be reached within this many steps at the present rate
_LIMIT_MARGIN = 1e-3  # … or is this near [m, rad]
# The top bits say what kind of thing a block's name belongs to, so that no two kinds share one.
_JOINT, _DRIVE, _LIMIT, _CONTACT, _FRICTION = (np.uint64(k) << np.uint64(61) for k in range(5))


@dataclass(frozen=True, eq=False)
class Rows:
    """What `Problem.rigid` takes, plus the name of every block for the warm start.

    bodies: (block_count, 2); rows: (m, 12); bias: (m,) [m/s]; compliance: (m,) [1/kg] or None; cone; names:
    (block_count,) uint64, the same from step to step for the same joint, limit or contact feature; residual: (m_j,)
    joint errors [m, rad]; contacts: what the first triples are, the rest is joint friction; coordinates: (n_d,) and
    their rate rows: (n_d, 12)."""

    bodies: np.ndarray
    rows: np.ndarray
    bias: np.ndarray
    compliance: np.ndarray | None
    cone: ProductCone
    names: np.ndarray
    residual: np.ndarray
    contacts: Contacts
    coordinates: np.ndarray
    rates: np.ndarray

    @property
    def contact_count(self) -> int:
        return len(self.contacts.gap)


def assemble(
    model: Model, position, rotation, state: State, contacts: Contacts, h: float, inputs: Inputs,
    stabilisation: Stabilisation, softening: Softening | None = None,
) -> Rows:  # fmt: skip
    """All rows at the given configuration.  position: (n_b, 3), rotation: (n_b, 3, 3) where rows are evaluated; state:
    before the step, where the joints' errors are: a midpoint predicted along straight lines has errors of its own."""
    u = state.u
    soft = _Soft(model, rotation, u, h, softening)
    parts = _Parts()
    joints = model.joints
    residual, coordinates, rates = np.zeros(0), np.zeros(0), np.zeros((0, 12))
    if joints.count:
        frames = joints.frames(position, rotation)
        _, rows = joints.constraints(frames)
        residual, rows_before = joints.constraints(joints.frames(state.position, state.rotation))
        # Velocities that obey the joints at the *end* of the step, half a step beyond the midpoint, differ there by
        # what the rows turned since its start. Without this term the projection onto the turned joints loses energy at
        # first order: 0.56 J of a double pendulum's in three seconds at h = 1 ms, instead of 0.0007 J.
        bend = _rates_of(joints.row_bodies, rows - rows_before, u)
        bias, give = stabilisation.joint_bias(residual, h) + bend, None
        if softening is not None and softening.joints:
            bias, give = soft.rows(joints.row_bodies, rows, residual)
        parts.add(joints.bodies, rows, bias, _JOINT + _numbers(joints.count), give)
        coordinates, rates = joints.coordinates(frames)
    drive_sizes, limit_count, mu = np.zeros(0, np.int64), 0, contacts.mu
    if joints.is_driven:
        drive_sizes = _add_drives(parts, joints, coordinates, rates, h, inputs)
    if joints.is_limited:
        limit_count = _add_limits(parts, joints, coordinates, rates, u, h, stabilisation, soft)
    if len(mu) or not parts.pieces:
        _add_contacts(parts, contacts, position, u, h, stabilisation, soft)
    if joints.has_friction:
        mu = np.concatenate([mu, _add_friction(parts, model, rotation, rates, h)])
    cone = ProductCone(np.concatenate([joints.row_sizes, drive_sizes]), limit_count, mu)
    bodies, rows, bias, compliance, names = parts.joined()
    return Rows(bodies, rows, bias, compliance, cone, names, residual, contacts, coordinates, rates)


def effort_wrench(model: Model, rows: Rows, inputs: Inputs) -> np.ndarray:
    """External wrenches plus those of the joint efforts, (n_b, 6) [N, N m]."""
    if not inputs.effort.any():
        return inputs.wrench
    wrench = inputs.wrench.copy()
    pairs = model.joints.bodies[model.joints.coordinate_joint]
    for side in range(2):
        here = pairs[:, side] >= 0
        part = inputs.effort[:, None] * rows.rates[:, 6 * side : 6 * side + 6]
        np.add.at(wrench, pairs[here, side], part[here])
    return wrench


@dataclass(frozen=True, eq=False)
class _Soft:
    """Softening at one configuration."""

    model: Model
    rotation: np.ndarray
    u: np.ndarray
    h: float
    settings: Softening | None

    def rows(self, bodies, rows, residual) -> tuple[np.ndarray, np.ndarray]:
        """Bias and compliance of soft rows, each (n,)."""
        assert self.settings is not None
        mobility = _mobility(bodies, rows, self.model.inverse_mass, self.model.world_inverse_inertia(self.rotation))
        return self.settings.soften(residual, _rates_of(bodies, rows, self.u), mobility, self.h)


class _Parts:
    """Pieces of the problem's rows, in order."""

    def __init__(self):
        self.pieces: list[tuple[np.ndarray, ...]] = []
        self.soft = False

    def add(self, bodies, rows, bias, names, compliance=None) -> None:
        self.soft = self.soft or compliance is not None
        self.pieces.append((bodies, rows, bias, names, np.zeros(len(bias)) if compliance is None else compliance))

    def joined(self):
        if len(self.pieces) == 1:
            bodies, rows, bias, names, compliance = self.pieces[0]
        else:
            bodies, rows, bias, names, compliance = (np.concatenate(column) for column in zip(*self.pieces))
        return bodies, rows, bias, compliance if self.soft else None, names


def _numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


def _add_drives(parts, joints, coordinates, rates, h, inputs: Inputs) -> np.ndarray:
    """Motors, damping and prescribed motion as bilateral rows; returns their block sizes.

    Implicit PD: τ = k (q* − q − h v) + c (v* − v) − d v makes v + E λ + b = 0 with λ = h τ, g = c + d + h k,
    E = 1/(h g) and b = −(k (q* − q) + c v*)/g. Prescribed motion (000 eq. 3.21): v = v* + (q* − q)/h, hard."""
    stiffness = np.where(joints.drive == PD, joints.stiffness, 0.0)
    gain = np.where(joints.drive == PD, joints.rate_gain, 0.0)
    imposed = joints.drive == IMPOSED
    total = gain + joints.damping + h * stiffness
    used = np.flatnonzero(imposed | (total > 0.0))
    error = inputs.target - coordinates
    # angles are known up to full turns
    error = np.where(joints.angular, np.remainder(error + np.pi, 2.0 * np.pi) - np.pi, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        soft = np.where(imposed, 0.0, 1.0 / (h * total))
        wanted = np.where(
            imposed, inputs.target_rate + error / h, (stiffness * error + gain * inputs.target_rate) / total
        )
    if len(used):
        bodies = joints.bodies[joints.coordinate_joint[used]]
        parts.add(bodies, rates[used], -wanted[used], _DRIVE + used.astype(np.uint64), soft[used])
    return np.ones(len(used), dtype=np.int64)


def _add_limits(parts, joints, coordinates, rates, u, h, stabilisation: Stabilisation, soft: _Soft) -> int:
    """Unilateral rows of the limits that are near; returns their number (003 eq. 28–31)."""
    speed = _rates_of(joints.bodies[joints.coordinate_joint], rates, u)
    count = 0
    for side, sign, bound in ((0, 1.0, joints.lower), (1, -1.0, joints.upper)):
        gap = sign * (coordinates - bound)
        near = np.flatnonzero(gap <= np.maximum(_LIMIT_MARGIN, -_LIMIT_HORIZON * h * sign * speed))
        if len(near):
            bodies = joints.bodies[joints.coordinate_joint[near]]
            names = _LIMIT + (near * 2 + side).astype(np.uint64)
            bias, give = stabilisation.limit_bias(gap[near], h), None
            if soft.settings is not None and soft.settings.limits:
                reached = gap[near] <= 0.0  # what is still open stays hard: it may close within the step and no further
                softened = soft.rows(bodies, sign * rates[near], gap[near])
                bias, give = np.where(reached, softened[0], bias), np.where(reached, softened[1], 0.0)
            parts.add(bodies, sign * rates[near], bias, names, give)
            count += len(near)
    return count


def _add_contacts(parts, contacts: Contacts, position, u, h, stabilisation: Stabilisation, soft: _Soft) -> None:
    """Triples (n, t₁, t₂) of the contacts."""
    count = len(contacts.gap)
    rows = np.empty((3 * count, 12))
    _contact_rows(contacts.bodies, contacts.point, contacts.frame, position, rows)
    approach = _rates_of(contacts.bodies, rows[::3], u)
    bias = np.zeros(3 * count)
    bias[::3] = stabilisation.contact_bias(contacts.gap, approach, contacts.restitution, h)
    give = None
    if soft.settings is not None and soft.settings.contacts:
        depth = np.zeros(3 * count)
        depth[::3] = contacts.gap
        softened = soft.rows(np.repeat(contacts.bodies, 3, axis=0), rows, depth)
        closed = np.repeat(contacts.gap <= 0.0, 3)
        bias, give = np.where(closed, softened[0], bias), np.where(closed, softened[1], 0.0)
    # shape numbers in a feature id leave its top bits free
    parts.add(contacts.bodies, rows, bias, _CONTACT + contacts.feature, give)


def _add_friction(parts, model: Model, rotation, rates, h) -> np.ndarray:
    """Triples for dry friction of joint coordinates; returns their friction coefficients, all one."""
    joints = model.joints
    used = np.flatnonzero(joints.friction > 0.0)
    bodies = joints.bodies[joints.coordinate_joint[used]]
    mobility = _mobility(bodies, rates[used], model.inverse_mass, model.world_inverse_inertia(rotation))
    rows = np.zeros((3 * len(used), 12))
    rows[1::3] = rates[used]
    bias, compliance = np.zeros(3 * len(used)), np.zeros(3 * len(used))
    compliance[0::3] = compliance[2::3] = mobility
    bias[0::3] = -mobility * h * joints.friction[used]
    parts.add(bodies, rows, bias, _FRICTION + used.astype(np.uint64), compliance)
    return np.ones(len(used))


def _rates_of(bodies, rows, u) -> np.ndarray:
    """rows · (u_a, u_b), (n,)."""
    out = np.empty(len(rows))
    _row_rates(bodies, rows, u, out)
    return out


@njit(cache=True)
def _row_rates(bodies, rows, u, out):
    for i in range(len(rows)):
        value = 0.0
        for side in range(2):
            b = bodies[i, side]
            if b >= 0:
                for k in range(6):
                    value += rows[i, 6 * side + k] * u[b, k]
        out[i] = value


@njit(cache=True)
def _contact_rows(bodies, point, frame, position, rows):
    zero = np.zeros(3)
    for c in range(len(bodies)):
        a, b = bodies[c, 0], bodies[c, 1]
        ca = position[a] if a >= 0 else zero
        cb = position[b] if b >= 0 else zero
        for i in range(3):
            row = rows[3 * c + i]
            line(frame[c, i, 0], frame[c, i, 1], frame[c, i, 2], point[c], ca, point[c], cb, row)
            if a < 0:
                for k in range(6):
                    row[k] = 0.0
            if b < 0:
                for k in range(6, 12):
                    row[k] = 0.0


@njit(cache=True)
def _mobility_kernel(bodies, rows, inverse_mass, inverse_inertia, out):
    for i in range(len(rows)):
        value = 0.0
        for side in range(2):
            b = bodies[i, side]
            if b < 0:
                continue
            for k in range(3):
                value += rows[i, 6 * side + k] ** 2 * inverse_mass[b]
                for m in range(3):
                    value += rows[i, 6 * side + 3 + k] * inverse_inertia[b, k, m] * rows[i, 6 * side + 3 + m]
        out[i] = value


def _mobility(bodies, rows, inverse_mass, inverse_inertia) -> np.ndarray:
    """row H⁻¹ rowᵀ, (n,) [1/kg]."""
    out = np.empty(len(rows))
    _mobility_kernel(bodies, rows, inverse_mass, inverse_inertia, out)
    return out
