"""What a kind of joint is: the rows it forbids and the coordinates it leaves."""

from dataclasses import dataclass, field

from delassus.errors import SettingsError
from delassus.joints.primitives import COUNTED, DISTANCE, DOT, EVEN, FIRST, POINT, ROTVEC, SECOND, SLIDE, TURN


@dataclass(frozen=True)
class Row:
    """One scalar constraint: a primitive, an axis of the base frame and, for DOT, one of the follower frame."""

    primitive: int
    base_axis: int = 0
    follower_axis: int = 0

    def __post_init__(self) -> None:
        _need_axes(self.base_axis, self.follower_axis)


@dataclass(frozen=True)
class Coordinate:
    """One degree of freedom of a joint. `unit` is m or rad; counts_turns: does its angle (dynamics/turns.py)?"""

    name: str
    primitive: int
    axis: int = 0
    unit: str = field(init=False)
    counts_turns: bool = field(init=False)

    def __post_init__(self) -> None:
        _need_axes(self.axis)
        object.__setattr__(self, "unit", "m" if self.primitive == SLIDE else "rad")
        object.__setattr__(self, "counts_turns", self.primitive in COUNTED)


@dataclass(frozen=True)
class JointKind:
    """A line of the JOINTS table: every kind of joint there is between two frames is rows and coordinates made of
    primitives.py.  The joint's axis is z of its frame.  has_length: is one of its rows a distance to keep?"""

    name: str
    rows: tuple[Row, ...]
    coordinates: tuple[Coordinate, ...]
    meaning: str
    has_length: bool = field(init=False)

    def __post_init__(self) -> None:
        for part, kind in (*((row, Row) for row in self.rows), *((c, Coordinate) for c in self.coordinates)):
            if not isinstance(part, kind):
                raise SettingsError(f"joint {self.name!r}: {part!r} is no {kind.__name__}, see delassus.joints.kind")
        object.__setattr__(self, "has_length", DISTANCE in (row.primitive for row in self.rows))


def _need_axes(*axes: int) -> None:
    """Kernels look axes up without a check."""
    for axis in axes:
        if axis not in (0, 1, 2):
            raise SettingsError(f"axis {axis!r} of a joint's row or coordinate: give 0, 1 or 2 for x, y or z")


def point(*axes: int) -> tuple[Row, ...]:
    """The origins coincide along these axes of the base."""
    return tuple(Row(POINT, axis) for axis in axes)


PARALLEL_Z = (Row(DOT, 0, 2), Row(DOT, 1, 2))
"""The z axes of both frames stay parallel."""

NO_ROTATION = (Row(DOT, 0, 1), Row(DOT, 1, 2), Row(DOT, 2, 0))
"""The frames do not turn against each other: three right angles, non-singular up to a quarter turn."""

DISTANCE_ROW = Row(DISTANCE)
EVEN_Y = Row(EVEN, 1)
"""Both frames are turned by the same angle against the line between their origins, which is along x at zero."""


def slide(name: str, axis: int) -> Coordinate:
    """A displacement along one axis of the base's frame [m]."""
    return Coordinate(name, SLIDE, axis)


def turn_z(name: str = "angle") -> Coordinate:
    """The angle about the common third axis [rad]."""
    return Coordinate(name, TURN)


UNIVERSAL_ANGLES = (Coordinate("first", FIRST), Coordinate("second", SECOND))
ROTATION_VECTOR = tuple(Coordinate(f"rotation_{axis}", ROTVEC, i) for i, axis in enumerate("xyz"))
