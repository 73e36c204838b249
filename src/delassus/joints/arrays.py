"""All joints of a model as flat arrays, and the compiled calls that evaluate them at a state."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from delassus.errors import ProblemError
from delassus.joints.data import Angles, Axes, Freedoms, JointRows
from delassus.joints.primitives import COUNTED, evaluate_constraints, evaluate_coordinates, joint_frames

PASSIVE, PD, IMPOSED = 0, 1, 2
"""What drives a joint coordinate: nothing, an implicit proportional-derivative motor, or a prescribed motion."""


@dataclass(frozen=True, eq=False)
class JointArrays:
    """Constant data of n_j joints with m rows and n_d coordinates.

    bodies: (n_j, 2) base and follower, −1 for the world; origin: (n_j, 2, 3) [m] and axes: (n_j, 2, 3, 3) of the joint
    frame in each body's own frame (world frame for the world); length: (n_j,) [m], of distance joints.
    Rows: row_start (n_j + 1,), row_primitive, row_base_axis, row_follower_axis (m,).
    Coordinates: coordinate_start (n_j + 1,), coordinate_joint, coordinate_primitive, coordinate_axis (n_d,),
    angular (n_d,): measured in rad; lower, upper: limits [m, rad], infinite where free; damping [N s/m, N m s];
    friction: dry [N, N m];
    drive (n_d,): PASSIVE, PD or IMPOSED; stiffness, rate_gain: PD gains [N/m, N s/m or with rad]; effort: largest of
    the drive [N, N m], infinite where it has no limit; limit_restitution: of impacts at the limits [-]; spring:
    stiffness towards rest [N/m, N m/rad], rest: where it pulls to [m, rad]; armature: inertia of what turns or slides
    with the coordinate, geared rotors [kg, kg m²].
    softening: (n_j, 8), limit_softening: (n_d, 8): how soft joints and limits are, see softening.py.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    bodies: np.ndarray
    origin: np.ndarray
    axes: np.ndarray
    length: np.ndarray
    row_start: np.ndarray
    row_primitive: np.ndarray
    row_base_axis: np.ndarray
    row_follower_axis: np.ndarray
    coordinate_names: tuple[str, ...]
    coordinate_start: np.ndarray
    coordinate_joint: np.ndarray
    coordinate_primitive: np.ndarray
    coordinate_axis: np.ndarray
    angular: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    drive: np.ndarray
    stiffness: np.ndarray
    rate_gain: np.ndarray
    effort: np.ndarray
    limit_restitution: np.ndarray
    softening: np.ndarray
    limit_softening: np.ndarray
    spring: np.ndarray
    rest: np.ndarray
    armature: np.ndarray

    @property
    def count(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"JointArrays({self.count} joints of {self.row_count} rows, {self.coordinate_count} coordinates)"

    @cached_property
    def row_count(self) -> int:
        return int(self.row_start[-1])

    @property
    def coordinate_count(self) -> int:
        return len(self.coordinate_names)

    @cached_property
    def row_bodies(self) -> np.ndarray:
        """(m, 2) the two bodies of each row."""
        return np.repeat(self.bodies, self.row_sizes, axis=0)

    @cached_property
    def coordinate_bodies(self) -> np.ndarray:
        """(n_d, 2) the two bodies of each coordinate."""
        return self.bodies[self.coordinate_joint]

    @cached_property
    def row_sizes(self) -> np.ndarray:
        return np.diff(self.row_start)

    @cached_property
    def row_data(self) -> tuple[np.ndarray, ...]:
        """Fields of `JointRows`."""
        place = self.bodies, self.origin, self.axes, self.length
        return tuple(JointRows(*place, self.row_start, self.row_primitive, self.row_base_axis, self.row_follower_axis))

    @cached_property
    def geared(self) -> np.ndarray:
        """Coordinates with armature, by number."""
        return np.flatnonzero(self.armature > 0.0)

    @cached_property
    def rotors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first fields of `Rotors`: `geared` coordinates, the two bodies (n, 2) and the armature of each."""
        return self.geared, self.coordinate_bodies[self.geared], self.armature[self.geared]

    @cached_property
    def coordinate_data(self) -> tuple[np.ndarray, ...]:
        """Fields of `Freedoms`."""
        own = {"joint": "coordinate_joint", "primitive": "coordinate_primitive", "axis": "coordinate_axis"}
        return tuple(getattr(self, own.get(name, name)) for name in Freedoms._fields)

    @cached_property
    def counted(self) -> np.ndarray:
        """(n_d,) angles that count turns (dynamics/turns.py)."""
        return np.isin(self.coordinate_primitive, COUNTED)

    @cached_property
    def axes_data(self) -> tuple[np.ndarray, ...]:
        """Fields of `Axes`."""
        return tuple(Axes(self.bodies, self.coordinate_joint, self.coordinate_primitive, self.coordinate_axis))

    @cached_property
    def angle_data(self) -> tuple[np.ndarray, ...]:
        """Fields of `Angles`."""
        _, joint, primitive, axis = self.axes_data
        return tuple(Angles(self.bodies, self.origin, self.axes, joint, primitive, axis, self.counted))

    @cached_property
    def any_counted(self) -> bool:
        return bool(self.counted.any())

    def turns_of(self, turns: np.ndarray) -> np.ndarray:
        """`State.turns` for these coordinates: none given are none taken."""
        if len(turns) == len(self.coordinate_names):
            return turns
        if len(turns) == 0:
            return np.zeros(len(self.coordinate_names), np.int64)
        raise ProblemError(
            f"state.turns has {len(turns)} entries, the model has {len(self.coordinate_names)} joint coordinates: give "
            "one whole number each"
        )

    @cached_property
    def passive(self) -> np.ndarray:
        """(n_d,) coordinates with damping, a spring or armature."""
        return (self.damping > 0.0) | (self.spring > 0.0) | (self.armature > 0.0)

    @cached_property
    def any_energy(self) -> bool:
        """Does a coordinate have a spring or armature, which hold energy?"""
        return bool((self.spring + self.armature > 0.0).any())

    @cached_property
    def drive_count(self) -> int:
        """Rows of motors, prescribed motion, damping, springs and armature: two where the latter must not count against
        a limited effort, or the motion is prescribed."""
        damped, driven = self.passive, self.drive != PASSIVE
        own_row = (self.drive == IMPOSED) | np.isfinite(self.effort)
        return int((driven | damped).sum() + (driven & damped & own_row).sum())

    @cached_property
    def driven_rows(self) -> int:
        """`drive_count` without motors that have no gains: rows that a step really has (dynamics/joint_rows.py)."""
        damped, imposed = self.passive, self.drive == IMPOSED
        pushed = (self.drive == PD) & (self.stiffness + self.rate_gain > 0.0)
        alone = damped & (imposed | np.isfinite(self.effort))
        return int((imposed | pushed | (damped & ~alone)).sum() + alone.sum())

    @cached_property
    def limit_count(self) -> int:
        return int(np.isfinite(self.lower).sum() + np.isfinite(self.upper).sum())

    @cached_property
    def friction_count(self) -> int:
        """Coordinates with dry friction."""
        return int((self.friction > 0.0).sum())

    @cached_property
    def is_bounded(self) -> bool:
        """Does any row have a largest reaction: a drive with a limited effort, or dry friction?"""
        return bool(self.friction_count or (np.isfinite(self.effort) & (self.drive != PASSIVE)).any())

    def only(self, keep: np.ndarray, binding: np.ndarray | None = None) -> "JointArrays":
        """These joints alone.  keep: (n_j,) which; binding: (n_j,) those among them whose rows stay, all unless given:
        the others leave nothing but their coordinates."""
        binding = keep if binding is None else binding
        rows, free = np.repeat(keep & binding, self.row_sizes), keep[self.coordinate_joint]
        number = np.cumsum(keep) - 1
        per_joint = ("bodies", "origin", "axes", "length", "softening")
        texts: dict[str, Any] = {
            name: tuple(x for x, stays in zip(getattr(self, name), which) if stays)
            for name, which in (("names", keep), ("kinds", keep), ("coordinate_names", free))
        }
        starts: dict[str, Any] = {
            "row_start": np.concatenate([[0], np.cumsum(np.where(binding, self.row_sizes, 0)[keep])]),
            "coordinate_start": np.concatenate([[0], np.cumsum(np.diff(self.coordinate_start)[keep])]),
            "coordinate_joint": number[self.coordinate_joint[free]],
        }
        arrays: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            if name not in texts and name not in starts:
                which = keep if name in per_joint else rows if name.startswith("row_") else free
                arrays[name] = getattr(self, name)[which]
        return JointArrays(**texts, **starts, **arrays)

    def frames(self, position: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """World origins (n_j, 2, 3), axes (n_j, 2, 3, 3) and centres of mass (n_j, 2, 3).

        position: (n_b, 3) or poses (n_b, 7), rotation: (n_b, 3, 3) of the bodies."""
        out = np.empty_like(self.origin), np.empty_like(self.axes), np.empty_like(self.origin)
        joint_frames(self.bodies, self.origin, self.axes, position, rotation, out)
        return out

    def constraints(self, frames: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Residuals (m,) [m, rad] and rows (m, 12) of every joint."""
        residual, rows = np.empty(self.row_count), np.empty((self.row_count, 12))
        evaluate_constraints(self.row_data, frames, residual, rows)
        return residual, rows

    def coordinates(self, frames: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Values (n_d,) [m, rad] and rate rows (n_d, 12) of every joint coordinate; angles in (−π, π]."""
        values, rows = np.empty(self.coordinate_count), np.empty((self.coordinate_count, 12))
        evaluate_coordinates(self.axes_data, frames, values, rows)
        return values, rows
