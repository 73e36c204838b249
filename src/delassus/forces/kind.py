"""What a kind of force is: measures of how two frames lie to each other, on which a linear spring and damper act."""

from dataclasses import dataclass

from delassus.errors import SettingsError
from delassus.forces.measures import DISTANCE, MOST, ROTVEC, SLIDE, TWIST

_NAMES = {DISTANCE: "DISTANCE", SLIDE: "SLIDE", ROTVEC: "ROTVEC", TWIST: "TWIST"}


@dataclass(frozen=True)
class Measure:
    """One number that a force depends on: one of measures.py, and an axis of the first frame for SLIDE and ROTVEC."""

    measure: int
    axis: int = 0

    def __post_init__(self) -> None:
        if self.measure not in _NAMES or self.axis not in (0, 1, 2):
            known = ", ".join(_NAMES.values())
            raise SettingsError(f"measure {self.measure!r} with axis {self.axis!r}: give one of {known} and 0, 1 or 2")

    @property
    def is_angle(self) -> bool:
        """[rad] rather than [m]?"""
        return self.measure in (ROTVEC, TWIST)


@dataclass(frozen=True)
class ForceKind:
    """A line of the FORCES table. With y (m,) the measures, Y = ∂y/∂(displacement along u), stiffness K and damping C
    (m, m), the force is −Yᵀ(K (y − y₀) + C Y u): its energy is ½ (y − y₀)ᵀ K (y − y₀)."""

    name: str
    measures: tuple[Measure, ...]
    meaning: str

    def __post_init__(self) -> None:
        if not 0 < len(self.measures) <= MOST or not all(isinstance(m, Measure) for m in self.measures):
            raise SettingsError(f"force {self.name!r}: give 1 to {MOST} measures, see delassus.forces.kind.Measure")

    @property
    def size(self) -> int:
        """Number of measures."""
        return len(self.measures)

    @property
    def needs_frames(self) -> tuple[bool, bool]:
        """Must the first and the second end have an orientation? Nodes of flexible bodies have none."""
        turns = any(measure.is_angle for measure in self.measures)
        return turns or any(measure.measure == SLIDE for measure in self.measures), turns
