"""How soft each joint, limit and contact is in a step, and what that makes of its rows."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit

from delassus.dynamics.spring import spring_row
from delassus.errors import SettingsError
from delassus.joints.arrays import JointArrays
from delassus.model.model import Model
from delassus.softening import HARD, IMPEDANCE, NOT_SAID, SPRING, Softening, impedance


@dataclass(frozen=True, eq=False)
class Softness:
    """What the model and the settings say together.  joints: (n_j, WIDTH), limits: (n_d, WIDTH), shapes: (n, WIDTH),
    whose pairs mix; closed: the hard joints, which are closed after a step; hard_rows: (m_j,) theirs, None for all;
    longest_step: that all of them resolve [s]."""

    joints: np.ndarray
    limits: np.ndarray
    shapes: np.ndarray
    closed: JointArrays
    hard_rows: np.ndarray | None
    longest_step: float

    @property
    def plain(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.joints, self.limits, self.shapes

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
    limits = _resolved(joints.limit_softening, said if said.limits else None)
    shapes = _resolved(model.shapes.softening, said if said.contacts else None)
    soft = rows[:, 0] != HARD
    springs = np.concatenate([table[table[:, 0] == IMPEDANCE] for table in (rows, limits, shapes)])
    steps = springs[:, 1] * np.minimum(0.5, springs[:, 2])
    return Softness(
        rows, limits, shapes, joints.only(~soft) if soft.any() else joints,
        np.repeat(~soft, joints.row_sizes) if soft.any() else None, float(steps.min(initial=np.inf)),
    )  # fmt: skip


def _resolved(table: np.ndarray, default: Softening | None) -> np.ndarray:
    out = table.copy()
    out[table[:, 0] == NOT_SAID] = HARD if default is None else default.plain
    return out


@njit(cache=True, error_model="numpy")
def soft_joint_row(soft, is_angular, residual, speed, mobility, h, is_midpoint):
    """`soft_row` of a joint, whose springs may be others for angles."""
    if soft[0] == SPRING and is_angular:
        return spring_row(soft[3], 0.0, soft[4], -residual, 0.0, speed, mobility, h, is_midpoint)
    return soft_row(soft, residual, speed, mobility, h, is_midpoint)


@njit(cache=True, error_model="numpy")
def soft_row(soft, residual, speed, mobility, h, is_midpoint):
    """(bias [m/s], compliance [1/kg]) of a row with this residual [m, rad], speed before the step [m/s] and mobility
    D_jj [1/kg].  soft: (WIDTH,), not hard."""
    if soft[0] == SPRING:
        return spring_row(soft[1], 0.0, soft[2], -residual, 0.0, speed, mobility, h, is_midpoint)
    d = impedance(soft, residual)
    T, ratio, end = soft[1], soft[2], soft[4]
    damping = 2.0 / (end * T)
    stiffness = d / (end * T * ratio) ** 2
    return -(1.0 - h * damping) * speed + h * stiffness * residual, (1.0 - d) / d * mobility


@njit(cache=True, error_model="numpy")
def soft_stop(soft, gap, speed, mobility, h, is_midpoint):
    """The same for a limit or a contact's normal that is closed, gap ≤ 0, or a spring. Springs that are still open
    are not damped, or the damper would act at a distance."""
    if soft[0] == SPRING and gap > 0.0:
        return spring_row(soft[1], 0.0, 0.0, -gap, 0.0, speed, mobility, h, is_midpoint)
    return soft_row(soft, gap, speed, mobility, h, is_midpoint)


@njit(cache=True, error_model="numpy")
def mix(a, b, out):
    """How soft a pair is: springs in series, 1/k = 1/k_a + 1/k_b with the damping that dissipates the same in slow
    motion; of two `Softening`s the mean; otherwise what gives, and a spring before a `Softening`.  All (WIDTH,)."""
    if a[0] == SPRING and b[0] == SPRING:
        k = 1.0 / (1.0 / a[1] + 1.0 / b[1])
        out[:] = a
        out[1], out[2] = k, k * k * (a[2] / a[1] ** 2 + b[2] / b[1] ** 2)
    elif a[0] == IMPEDANCE and b[0] == IMPEDANCE:
        out[:] = 0.5 * (a + b)
    else:
        out[:] = a if a[0] > b[0] else b
