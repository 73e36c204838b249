"""How soft each joint, limit and contact is in a step, and what that makes of its rows.

A spring and a damper over one step, as bias and compliance of a row (motors, damped joints, contacts with stiffness):
the force τ = k (x* − x_f) + c (v* − v_f) − d v_f takes its place and speed from both ends of the step,

    x_f = x + h (α v⁺ − β v⁻),    v_f = θ v⁺ + (1 − θ) v⁻

with x where the rows are evaluated. Under Moreau's midpoint, x⁺ = x + h/2 v⁺, the mean of both ends is α = β = 1/4: the
trapezoidal rule, which keeps the energy of a spring exactly, but rings for ever where a step is too long for it: in the
limit of stiff springs both its eigenvalues are −1. With α = 1, β = 0 both are zero, and the place is reached in two
steps, but a spring of ω = 10 rad/s loses 18 % of its energy in two seconds at h = 1 ms. So the weights go from the one
to the other with Z = h² k w, w the mobility of the row: s = Z²/(1 + Z²), α = 1/4 + 3/4 s, β = (1 − s)/4. What is lost
is of fourth order in h ω. Every such pair is stable, as α ≥ β and α + β ≥ 1/2, so that a wrong w does no harm.
The damper's θ = (3 + Y)/(6 + Y), Y = h (c + d) w, makes the decay over a step Padé's (6 − 2Y)/(6 + 4Y + Y²) ≈ e^−Y,
which goes to zero for strong dampers, where the mean, θ = 1/2, would go to −1.
With a θ that is given, α = θ², β = (1 − θ)² and the damper's θ are what the scheme has for everything else: under
implicit Euler α = 1, β = 0, θ = 1, from the start of the step.
"""

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from delassus.collision.contacts import ContactColumns
from delassus.dynamics.rows import Motion, RowArrays, Rule, Turning, row_mobility, row_rate
from delassus.errors import SettingsError
from delassus.integrators import STIFFLY
from delassus.joints.arrays import JointArrays
from delassus.joints.data import JointRows
from delassus.joints.primitives import DOT
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.softening import HARD, IMPEDANCE, NOT_SAID, SPRING, WIDTH, Softening, impedance


@dataclass(frozen=True, eq=False)
class Softness:
    """What the model and the settings say together.  joints: (n_j, WIDTH), limits: (n, WIDTH) of `Model.freedoms`,
    shapes: (n_s, WIDTH), whose pairs mix; closed: the hard joints, which are closed after a step, and soft ones
    without their rows where they have armature, which is mass that closing moves; limited: all joints, soft ones
    without their rows; hard_rows: (m_j,) theirs, None for all; longest_step: that all of them resolve [s]."""

    joints: np.ndarray
    limits: np.ndarray
    shapes: np.ndarray
    closed: JointArrays
    limited: JointArrays
    hard_rows: np.ndarray | None
    longest_step: float

    @cached_property
    def is_any_shape_soft(self) -> bool:
        return bool((self.shapes[:, 0] != HARD).any())

    def check_step(self, h: float) -> None:
        """Refuse springs that are stiffer than a step of h [s] resolves."""
        if h > self.longest_step:
            raise SettingsError(
                f"softening.time_constant is too short for steps of {h} s: less than two steps, or than a step over "
                f"its damping ratio, does not resolve a spring; raise it or lower h to {self.longest_step:.3g} s"
            )


def softness_of(model: Model, softening: Softening | None) -> Softness:
    """softening: of the settings, for what says nothing itself. Made once for a model."""
    made = _MADE.setdefault(model, {})
    if softening not in made:
        made[softening] = _softness(model, softening)
    return made[softening]


_MADE: WeakKeyDictionary[Model, dict[Softening | None, Softness]] = WeakKeyDictionary()


def _softness(model: Model, softening: Softening | None) -> Softness:
    joints = model.joints
    said = softening or Softening(contacts=False)
    rows = _resolved(joints.softening, said if said.joints else None)
    limits = _resolved(model.freedoms.limit_softening, said if said.limits else None)
    shapes = _resolved(model.shapes.softening, said if said.contacts else None)
    soft = rows[:, 0] != HARD
    geared = np.isin(np.arange(joints.count), joints.coordinate_joint[joints.geared])
    springs = np.concatenate([table[table[:, 0] == IMPEDANCE] for table in (rows, limits, shapes)])
    steps = springs[:, 1] * np.minimum(0.5, springs[:, 2])
    closed = joints.only(~soft | geared, ~soft) if soft.any() else joints
    limited = joints.only(np.ones(joints.count, bool), ~soft) if soft.any() else joints
    hard_rows = np.repeat(~soft, joints.row_sizes) if soft.any() else None
    return Softness(rows, limits, shapes, closed, limited, hard_rows, float(steps.min(initial=np.inf)))


def _resolved(table: np.ndarray, default: Softening | None) -> np.ndarray:
    out = table.copy()
    out[table[:, 0] == NOT_SAID] = HARD if default is None else default.plain
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT, **ADDRESSED)
def soften_joints(joints, soft, motion, rule, turning, out):
    """Bias and compliance of the soft joints' rows; returns 0.  joints: fields of `JointRows`; soft: (n_j, WIDTH);
    motion, rule, turning: of `Motion`, `Rule`, `Turning`; out: of `RowArrays`."""
    of, motion, rule, turning, out = (
        JointRows(*joints),
        Motion(*motion),
        Rule(*rule),
        Turning(*turning),
        RowArrays(*out),
    )
    bias, compliance = out.bias, out.compliance
    masses = motion.rotation, motion.inverse_mass, motion.inverse_inertia
    for j in range(len(of.bodies)):
        if soft[j, 0] == HARD:
            continue
        for r in range(of.start[j], of.start[j + 1]):
            own, speed = (
                row_mobility(of.bodies, j, out.rows, r, masses),
                row_rate(of.bodies, j, out.rows, r, motion.half),
            )
            if soft[j, 0] == SPRING:
                k = 3 if of.primitive[r] == DOT else 1  # springs may be others for angles
                spring = soft[j, k], 0.0, soft[j, k + 1]
                bias[r], compliance[r] = spring_row(spring, -turning.later[r], 0.0, speed, own, rule.h, rule.weight)
            else:  # v⁻ at the start, v⁺ at the end, r between them: of second order, and the bend is no force
                bend = turning.bend[r]
                bias[r], compliance[r] = _impedance_row(soft[j], turning.later[r], speed - bend, own, rule.h)
                bias[r] += bend
    return np.int64(0)


@njit(cache=True, error_model="numpy", **ADDRESSED)
def soften_contacts(contacts, soft, motion, rule, row, out):
    """Bias and compliance of the contacts that give; 1 where any does, else 0.  contacts: fields of `ContactColumns`;
    soft: (n, WIDTH) of the shapes, whose pairs mix; motion, rule: of `Motion`, `Rule`; row: the first of the contacts;
    out: of `RowArrays`."""
    of, motion, rule, out = ContactColumns(*contacts), Motion(*motion), Rule(*rule), RowArrays(*out)
    own_soft, is_soft = np.zeros(WIDTH), 0
    masses = motion.rotation, motion.inverse_mass, motion.inverse_inertia
    for c in range(len(of.gap)):
        mix(soft, of.shapes[c, 0], of.shapes[c, 1], own_soft)
        # what is still open may close within the step, no further; springs act along the normal alone
        gives = 1 if own_soft[0] == SPRING else 3 if own_soft[0] == IMPEDANCE and of.gap[c] <= 0.0 else 0
        for r in range(row + 3 * c, row + 3 * c + gives):
            own, speed = row_mobility(of.bodies, c, out.rows, r, masses), row_rate(of.bodies, c, out.rows, r, motion.u)
            depth = of.gap[c] if r == row + 3 * c else 0.0
            out.bias[r], out.compliance[r] = soft_stop(own_soft, depth, speed, own, rule.h, rule.weight)
            is_soft = 1
    return is_soft


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def soft_stop(soft, gap, speed, mobility, h, weight):
    """(bias [m/s], compliance [1/kg]) of a limit or a contact's normal that is closed, gap ≤ 0 [m, rad], or a spring,
    with this speed before the step [m/s] and mobility D_jj [1/kg]. Springs that are still open are not damped, or the
    damper would act at a distance.  soft: (WIDTH,), not hard."""
    if soft[0] == SPRING:
        spring = soft[1], 0.0, 0.0 if gap > 0.0 else soft[2]
        return spring_row(spring, -gap, 0.0, speed, mobility, h, weight)
    return _impedance_row(soft, gap, speed, mobility, h)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _impedance_row(soft, residual, speed, mobility, h):
    """(bias [m/s], compliance [1/kg]) of a row that gives as a `Softening` does, with this residual [m, rad], speed
    before the step [m/s] and mobility D_jj [1/kg].  soft: (WIDTH,)."""
    d = impedance(soft, residual)
    T, ratio, end = soft[1], soft[2], soft[4]
    damping = 2.0 / (end * T)
    stiffness = d / (end * T * ratio) ** 2
    return -(1.0 - h * damping) * speed + h * stiffness * residual, (1.0 - d) / d * mobility


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def mix(soft, a, b, out):
    """How soft the pair of rows a and b is: springs in series, 1/k = 1/k_a + 1/k_b with the damping that dissipates the
    same in slow motion; of two `Softening`s the mean; otherwise what gives, and a spring before a `Softening`.  soft:
    (n, WIDTH), out: (WIDTH,)."""
    softer = a if soft[a, 0] > soft[b, 0] else b
    both = soft[a, 0] == soft[b, 0]
    for i in range(WIDTH):
        out[i] = 0.5 * (soft[a, i] + soft[b, i]) if both and soft[a, 0] == IMPEDANCE else soft[softer, i]
    if both and soft[a, 0] == SPRING:
        k = 1.0 / (1.0 / soft[a, 1] + 1.0 / soft[b, 1])
        for i in range(WIDTH):
            out[i] = soft[a, i]
        out[1], out[2] = k, k * k * (soft[a, 2] / soft[a, 1] ** 2 + soft[b, 2] / soft[b, 1] ** 2)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def spring_row(gains, error, rate, speed, mobility, h, weight):
    """(bias [m/s], compliance [1/kg]) of a row whose reaction is h τ.

    gains: stiffness k, rate gain c, damping d, not all zero; error: x* − x [m, rad] where the rows are evaluated, rate:
    v*; speed: v⁻ [m/s, rad/s]; mobility w [1/kg]; weight: θ, or STIFFLY for those that follow the stiffness."""
    stiffness, rate_gain, damping = gains
    ahead, behind, theta = weight * weight, (1.0 - weight) ** 2, weight
    if weight == STIFFLY:
        Z, Y = min(h * h * stiffness * mobility, 1e6), h * (rate_gain + damping) * mobility
        stiff = Z * Z / (1.0 + Z * Z)
        ahead, behind, theta = 0.25 + 0.75 * stiff, 0.25 * (1.0 - stiff), (3.0 + Y) / (6.0 + Y)
    g = h * ahead * stiffness + theta * (rate_gain + damping)
    later = error + h * (ahead - behind) * rate  # the target moves on to the time of x_f
    pull = stiffness * (later + h * behind * speed) + rate_gain * rate
    return -(pull - (1.0 - theta) * (rate_gain + damping) * speed) / g, 1.0 / (h * g)
