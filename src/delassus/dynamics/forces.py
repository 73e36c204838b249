"""Everything that acts without being a constraint: gravity, external wrenches, joint efforts, gyroscopic moments;
and what they change.

The gyroscopic moment −ω × Θω acts in two halves, before a step's impulses and after. It does no work, whatever the
impulses are, only if it is taken at the mean of the velocities it acts between. One moment for the whole step would
have to know the impulses beforehand: at the mean of velocities without them, a rod that spins on a distance joint
gained 0.5 % of its energy in 0.2 s at h = 1 ms, an error of first order. Split in halves, each a midpoint rule with the
masses of the step, it keeps kinetic energy exactly, at any spin, and the step is symmetric.
"""

import math

import numpy as np

from delassus.dynamics.rows import row_rate
from delassus.joints.data import Freedoms, JointRows
from delassus.joints.primitives import empty_frames, evaluate_coordinates, joint_frames
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.model.state import State

_STEPS = 20  # Newton's, of which two or three are taken; a spin that turns by more than a radian in a step needs more
_ROUNDING = 1e-15


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_free_velocity(inverse, gravity, u, wrench, h, out):
    """u_f = u + h H⁻¹ f, (n_b, 6), f being gravity and the wrenches.

    inverse: (n_b, 6, 6) of the masses where the step evaluates them; u: (n_b, 6), after half of the gyroscopic moment;
    wrench: (n_b, 6) [N, N m]."""
    for b in range(len(u)):
        for i in range(3):
            out[b, i] = u[b, i] + h * (gravity[i] + inverse[b, i, i] * wrench[b, i])
            out[b, 3 + i] = u[b, 3 + i]
            for k in range(3):
                out[b, 3 + i] += h * inverse[b, 3 + i, 3 + k] * wrench[b, 3 + k]


def momentum_of(model: Model, q_rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Total linear and angular momentum about the origin, (6,) [N s, N m s]."""
    linear = model.mass[:, None] * u[:, :3]
    spin = np.einsum("bij,bj->bi", model.world_inertia(q_rotation), u[:, 3:])
    return np.concatenate([linear.sum(axis=0), (np.cross(position, linear) + spin).sum(axis=0)])


def energy_of(model: Model, rotation: np.ndarray, position: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy [J]; potential with respect to the origin.  position: (n_b, 3) or poses
    (n_b, 7)."""
    return energy_at(model.mass, model.inertia, model.gravity, rotation, position, u)


def total_energy(model: Model, state: State) -> tuple[float, float]:
    """Kinetic and potential energy [J] of all bodies and of what turns with joints: weight, strain of elements, springs
    and armature included."""
    kinetic, potential = energy_of(model, state.rotation, state.q, state.u)
    joints = model.joints
    if joints.any_energy:
        turns = joints.turns_of(state.turns)
        more = coordinate_energy(joints.row_data, joints.coordinate_data, state.q, state.rotation, state.u, turns)
        kinetic, potential = kinetic + more[0], potential + more[1]
    if model.couplings is not None and (model.couplings.spring + model.couplings.armature > 0.0).any():
        more = _tendon_energy(model, state)
        kinetic, potential = kinetic + more[0], potential + more[1]
    if model.flexible is not None:
        elements = model.flexible.elements
        kinetic += 0.5 * float((state.node_velocity * elements.mass_times(state.node_velocity)).sum())
        potential += float(elements.strain_energy(state.nodes).sum())
        potential -= float(elements.nodal_mass @ state.nodes @ model.gravity)
        potential -= float((model.flexible.load * state.nodes).sum())
    if model.forces is not None:
        potential += model.forces.energy(state)
    return kinetic, potential


def _tendon_energy(model: Model, state: State) -> tuple[float, float]:
    """Kinetic energy of armature and potential energy of springs of lengths [J]."""
    length, rate = lengths_of(model, state)
    couplings = model.couplings
    assert couplings is not None
    stretched = length - couplings.rest
    return 0.5 * float(couplings.armature @ rate**2), 0.5 * float(couplings.spring @ stretched**2)


def lengths_of(model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
    """(n,) lengths of couplings and tendons [m, rad] and their rates, in the order of `model.couplings.names`."""
    couplings, joints = model.couplings, model.joints
    if couplings is None:
        return np.zeros(0), np.zeros(0)
    _, rates = joints.coordinates(joints.frames(state.q, state.rotation))
    length, rows = couplings.evaluate(joints, state.coordinates(model), rates, model.body_count)
    return length, rows @ state.u.ravel()


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def energy_at(mass, inertia, gravity, rotation, position, u):
    """Kinetic and potential energy of rigid bodies [J], as `energy_of`.  mass: (n_b,); inertia: (n_b, 3, 3), body
    frame; rotation: (n_b, 3, 3); position: (n_b, 3) or poses (n_b, 7); u: (n_b, 6)."""
    kinetic, potential = 0.0, 0.0
    for b in range(len(mass)):
        for i in range(3):
            kinetic += 0.5 * mass[b] * u[b, i] ** 2
            potential -= mass[b] * gravity[i] * position[b, i]
            local = 0.0  # component i of ω in the body frame
            for k in range(3):
                local += rotation[b, k, i] * u[b, 3 + k]
            for j in range(3):
                other = 0.0
                for k in range(3):
                    other += rotation[b, k, j] * u[b, 3 + k]
                kinetic += 0.5 * local * inertia[b, i, j] * other
    return kinetic, potential


@njit(cache=True, error_model="numpy")
def coordinate_energy(joints, freedoms, q, rotation, u, turns):
    """Kinetic energy of armature and potential energy of springs of joint coordinates [J].  joints, freedoms: fields of
    `JointRows` and `Freedoms`; q: (n_b, 7), u: (n_b, 6), turns: (n_d,)."""
    joints, of = JointRows(*joints), Freedoms(*freedoms)
    count, frames = len(of.joint), empty_frames(len(joints.bodies))
    values, rates = np.empty(count), np.empty((count, 12))
    joint_frames(joints.bodies, joints.origin, joints.axes, q, rotation, frames)
    evaluate_coordinates((joints.bodies, of.joint, of.primitive, of.axis), frames, values, rates)
    kinetic, potential = 0.0, 0.0
    for d in range(count):
        potential += 0.5 * of.spring[d] * (values[d] + 2.0 * math.pi * turns[d] - of.rest[d]) ** 2
        kinetic += 0.5 * of.armature[d] * row_rate(joints.bodies, of.joint[d], rates, d, u) ** 2
    return kinetic, potential


def swung(model: Model, rotation: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Twists (n_b, 6) after the gyroscopic moment alone has acted for a time h [s], inertias at these rotations."""
    out = np.empty_like(u)
    swing(model.inertia, rotation, u, h, out)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def swing(inertia, rotation, u, h, out):
    """Twists u (n_b, 6) after the gyroscopic moment alone has acted for a time h [s], into out (n_b, 6).  inertia:
    (n_b, 3, 3), body frame; rotation: (n_b, 3, 3)."""
    for b in range(len(u)):
        for i in range(6):
            out[b, i] = u[b, i]
        _swing_one(inertia[b], rotation[b], h, out[b])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _swing_one(T, R, h, twist):
    """2Θ(x − ω) + h x × Θx = 0 for the mean x, by Newton's method in the body's frame; ω becomes 2x − ω."""
    w0 = R[0, 0] * twist[3] + R[1, 0] * twist[4] + R[2, 0] * twist[5]
    w1 = R[0, 1] * twist[3] + R[1, 1] * twist[4] + R[2, 1] * twist[5]
    w2 = R[0, 2] * twist[3] + R[1, 2] * twist[4] + R[2, 2] * twist[5]
    x0, x1, x2 = w0, w1, w2
    for _ in range(_STEPS):
        l0 = T[0, 0] * x0 + T[0, 1] * x1 + T[0, 2] * x2
        l1 = T[1, 0] * x0 + T[1, 1] * x1 + T[1, 2] * x2
        l2 = T[2, 0] * x0 + T[2, 1] * x1 + T[2, 2] * x2
        d0, d1, d2 = x0 - w0, x1 - w1, x2 - w2
        f0 = 2.0 * (T[0, 0] * d0 + T[0, 1] * d1 + T[0, 2] * d2) + h * (x1 * l2 - x2 * l1)
        f1 = 2.0 * (T[1, 0] * d0 + T[1, 1] * d1 + T[1, 2] * d2) + h * (x2 * l0 - x0 * l2)
        f2 = 2.0 * (T[2, 0] * d0 + T[2, 1] * d1 + T[2, 2] * d2) + h * (x0 * l1 - x1 * l0)
        # 2Θ + h ([x] Θ − [Θx])
        a00 = 2.0 * T[0, 0] + h * (x1 * T[2, 0] - x2 * T[1, 0])
        a01 = 2.0 * T[0, 1] + h * (x1 * T[2, 1] - x2 * T[1, 1] + l2)
        a02 = 2.0 * T[0, 2] + h * (x1 * T[2, 2] - x2 * T[1, 2] - l1)
        a10 = 2.0 * T[1, 0] + h * (x2 * T[0, 0] - x0 * T[2, 0] - l2)
        a11 = 2.0 * T[1, 1] + h * (x2 * T[0, 1] - x0 * T[2, 1])
        a12 = 2.0 * T[1, 2] + h * (x2 * T[0, 2] - x0 * T[2, 2] + l0)
        a20 = 2.0 * T[2, 0] + h * (x0 * T[1, 0] - x1 * T[0, 0] + l1)
        a21 = 2.0 * T[2, 1] + h * (x0 * T[1, 1] - x1 * T[0, 1] - l0)
        a22 = 2.0 * T[2, 2] + h * (x0 * T[1, 2] - x1 * T[0, 2])
        c0, c1, c2 = a11 * a22 - a12 * a21, a12 * a20 - a10 * a22, a10 * a21 - a11 * a20
        det = a00 * c0 + a01 * c1 + a02 * c2
        if det == 0.0:
            return
        s0 = (c0 * f0 + (a02 * a21 - a01 * a22) * f1 + (a01 * a12 - a02 * a11) * f2) / det
        s1 = (c1 * f0 + (a00 * a22 - a02 * a20) * f1 + (a02 * a10 - a00 * a12) * f2) / det
        s2 = (c2 * f0 + (a01 * a20 - a00 * a21) * f1 + (a00 * a11 - a01 * a10) * f2) / det
        x0, x1, x2 = x0 - s0, x1 - s1, x2 - s2
        if s0 * s0 + s1 * s1 + s2 * s2 <= _ROUNDING**2 * (x0 * x0 + x1 * x1 + x2 * x2):
            break
    else:
        # not found: a spin that no step resolves keeps its direction, which keeps its energy, too
        if not (s0 * s0 + s1 * s1 + s2 * s2 <= 1e-20 * (x0 * x0 + x1 * x1 + x2 * x2)):
            return
    n0, n1, n2 = 2.0 * x0 - w0, 2.0 * x1 - w1, 2.0 * x2 - w2
    for i in range(3):
        twist[3 + i] = R[i, 0] * n0 + R[i, 1] * n1 + R[i, 2] * n2
