"""What the driven joints of a machine follow: a pose, a wave about it, a gait; and joints that go with others."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from delassus.dynamics import Inputs
from delassus.joints.arrays import PASSIVE
from delassus.model.model import Model
from delassus.model.state import State

_DIFFERENCE = 1e-5  # s: rates are central differences of targets; rounding then leaves 1e-10 rad/s


class Gait(Protocol):
    """Targets of the joints of legs."""

    joints: tuple[str, ...]

    def targets(self, t: np.ndarray) -> np.ndarray:
        """Of its joints [rad], in order, at times t (k, 1) [s]; (k, joints)."""


@dataclass
class Motion:
    """wave: amplitude [rad] and period [s] of what waves; onset [s]: how long poses and waves take to set in."""

    wave: float = 0.0
    period: float = 2.0
    onset: float = 1.0
    gait: Gait | None = None
    _waves: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # joint → pose, share, phase [rad]
    _followers: list[tuple[str, str, float]] = field(default_factory=list)

    def swing(self, joint: str, *, pose: float = 0.0, share: float = 1.0, phase: float = 0.0) -> None:
        """The joint goes to `pose` [rad], and to and fro about it by a share of the wave."""
        self._waves[joint] = pose, share, phase

    def follow(self, joint: str, leader: str, factor: float = 1.0) -> None:
        """The joint turns as the leader does, times a factor; the leader itself may be without a motor."""
        self._followers.append((joint, leader, factor))

    def inputs(self, model: Model) -> Callable[[float, State], Inputs]:
        """(t, state) → where the driven joints should be at t, and how fast they should go."""
        targets, around = self._targets(model), np.array([[-_DIFFERENCE], [0.0], [_DIFFERENCE]])

        def inputs(t: float, state: State) -> Inputs:
            del state
            before, now, after = targets(t + around)
            return Inputs.of(model, target=now, target_rate=(after - before) / (2.0 * _DIFFERENCE))

        return inputs

    def _targets(self, model: Model) -> Callable[[np.ndarray], np.ndarray]:
        """Times (k, 1) → targets of all coordinates (k, n_d)."""
        number = {name: k for k, name in enumerate(model.joints.coordinate_names)}

        def places(joints: list[str]) -> np.ndarray:
            return np.array([number[f"{name}.angle"] for name in joints], np.int64)

        waving = places(list(self._waves))
        pose, share, phase = np.array(list(self._waves.values())).reshape(-1, 3).T
        after, before = (places([line[k] for line in self._followers]) for k in range(2))  # type: ignore[misc]
        factor = np.array([line[2] for line in self._followers])
        passive = model.joints.drive == PASSIVE
        gait = self.gait
        walking = places(list(gait.joints) if gait else [])
        count, turning = model.joints.coordinate_count, 2.0 * np.pi / self.period

        def targets(t: np.ndarray) -> np.ndarray:
            out = np.zeros((len(t), count))
            out[:, waving] = eased(t / self.onset) * (pose + self.wave * share * np.sin(turning * t + phase))
            if gait:
                out[:, walking] += gait.targets(t)
            out[:, after] = factor * out[:, before]  # leaders do not follow anybody
            out[:, passive] = 0.0
            return out

        return targets


def eased(x: np.ndarray) -> np.ndarray:
    """From 0 at x ≤ 0 to 1 at x ≥ 1, its slope zero at both."""
    x = np.minimum(np.maximum(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)
