"""Bias velocities: how violated constraints are driven back, and how impacts bounce (paper 003 eq. 53–55, 89–94)."""

from dataclasses import dataclass

import numpy as np

from delassus.errors import SettingsError


@dataclass(frozen=True)
class Stabilisation:
    """Baumgarte-like feedback, one rate per constraint subset: the fraction of the error removed in one step.

    The 1/h·Φ form of papers 000 and 002 is a rate of one (`Stabilisation.full()`).
    """

    joint: float = 0.2  # fraction of a joint's error removed per step, through the velocities
    closure: float = 1e-9  # joints are closed to this after each step, through the positions [m, rad]; inf: not at all
    limit: float = 0.2  # fraction of a limit's overshoot removed per step
    contact: float = 0.1  # fraction of a penetration removed per step
    penetration_margin: float = 0.0  # δ [m]: penetration left alone when positive (003 eq. 91a)
    depenetration_speed: float = 1.0  # cap on the speed that penetration is pushed out with [m/s]
    bounce_speed: float = 1e-3  # approach slower than this does not bounce [m/s]

    def __post_init__(self):
        for name in ("joint", "limit", "contact"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise SettingsError(f"stabilisation.{name} is {value}: give a fraction from 0 to 1")
        if not self.depenetration_speed > 0.0 or not self.bounce_speed >= 0.0:
            raise SettingsError("stabilisation speeds must be positive: depenetration_speed, bounce_speed [m/s]")

    @classmethod
    def full(cls) -> "Stabilisation":
        """Φ/h on every row: the form of papers 000 and 002."""
        return cls(closure=np.inf, joint=1.0, limit=1.0, contact=1.0, depenetration_speed=np.inf)

    def contact_bias(self, gap: np.ndarray, approach: np.ndarray, restitution: np.ndarray, h: float) -> np.ndarray:
        """b on contact normals, (n,) [m/s]: v_n + b ≥ 0 (003 eq. 91, two-sided, and eq. 54).

        gap: (n,) [m], negative when penetrating; approach: v_n before the step [m/s]; restitution: (n,) [-].
        An open contact may close within the step and no further; a penetrating one is pushed out, not faster than the
        cap; one that is closed and approaches bounces."""
        r = gap + self.penetration_margin
        out = np.maximum(r, 0.0) / h + np.maximum(self.contact * np.minimum(r, 0.0) / h, -self.depenetration_speed)
        bounces = (r <= -approach * h) & (approach < -self.bounce_speed) & (restitution > 0.0)
        return np.where(bounces, np.minimum(out, 0.0) + restitution * approach, out)

    def limit_bias(self, gap: np.ndarray, h: float) -> np.ndarray:
        """b on limits, (n,) [m/s, rad/s]: reach the limit and no further, come back at the given rate (003 eq. 90)."""
        return np.maximum(gap, 0.0) / h + self.limit * np.minimum(gap, 0.0) / h

    def joint_bias(self, residual: np.ndarray, h: float) -> np.ndarray:
        """b on joint rows, (m,) [m/s, rad/s] (003 eq. 89)."""
        return self.joint * residual / h
