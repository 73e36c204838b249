"""How many turns joint angles have made when a mechanism is built: as many as their limits ask for."""

import warnings

import numpy as np

from delassus.errors import DelassusWarning
from delassus.model.model import Model
from delassus.spatial import quaternion_to_matrix

_TURN = 2.0 * np.pi
_AT_LIMIT = 1e-6  # [m, rad]: a coordinate this little outside its limits is at them, not outside


def starting_turns(model: Model, q: np.ndarray) -> np.ndarray:
    """Turns (n_d,) that bring every angle within its limits, as few as possible: zero unless (−π, π] is outside them.
    A coordinate that is outside whatever its turns gets a warning.  q: (n_b, 7)."""
    joints = model.joints
    values, _ = joints.coordinates(joints.frames(q[:, :3], quaternion_to_matrix(q[:, 3:])))
    turns = np.zeros(len(values), np.int64)
    for d, value in enumerate(values):
        lower, upper = joints.lower[d], joints.upper[d]
        if lower - _AT_LIMIT <= value <= upper + _AT_LIMIT:
            continue
        if joints.counted[d]:
            turns[d] = _turns_towards(value, lower, upper)
        start = value + _TURN * turns[d]
        if not lower - _AT_LIMIT <= start <= upper + _AT_LIMIT:
            warnings.warn(
                f"{joints.coordinate_names[d]} starts at {start:.4g}, outside its limits [{lower:.4g}, {upper:.4g}], "
                "and will be pushed back: move the body, the joint's frame or the limits",
                DelassusWarning,
                stacklevel=3,  # the caller of ModelBuilder.build
            )
    return turns


def _turns_towards(value: float, lower: float, upper: float) -> int:
    """The fewest turns that bring an angle into its limits, or nearest to them where none does."""
    ways = [(bound - value) / _TURN for bound in (lower, upper) if np.isfinite(bound)]

    def outside(k: int) -> float:
        angle = value + _TURN * k
        return max(lower - angle, angle - upper, _AT_LIMIT)

    return min((int(end(way)) for way in ways for end in (np.floor, np.ceil)), key=lambda k: (outside(k), abs(k)))
