"""What a control of a file acts on, and how: a drive of one joint coordinate, or efforts on one or several.

The force is f = gain·ctrl + b₀ + b₁ L + b₂ L̇ within its range, L = Σ cᵢ qᵢ its length over joint coordinates (gears and
fixed tendons are the cᵢ), and cᵢ f acts on coordinate i. With one coordinate, b₁, b₂ ≤ 0 and a range that is the same
both ways this is a `Motor`, which the step takes implicitly; anything else is taken where the step begins.
"""

from dataclasses import dataclass, replace

import numpy as np

from delassus.builder import Motor


@dataclass(frozen=True, eq=False)
class Actuator:
    """terms: (coordinate's number in the model, c [-, m/rad …]) each; gain, bias (b₀, b₁, b₂): of the law above;
    ctrl_range, force_range: (lowest, highest); is_drive: has the joint a motor for it?"""

    name: str
    terms: tuple[tuple[int, float], ...]
    gain: float
    bias: tuple[float, float, float]
    ctrl_range: tuple[float, float] = (-np.inf, np.inf)
    force_range: tuple[float, float] = (-np.inf, np.inf)
    is_drive: bool = False

    def motor(self) -> Motor | None:
        """The drive this is, None where it is none."""
        (_, b1, b2), (low, high) = self.bias, self.force_range
        if len(self.terms) != 1 or b1 > 0.0 or b2 > 0.0 or b1 + b2 == 0.0 or low != -high or not high > 0.0:
            return None
        c = abs(self.terms[0][1])
        return Motor(-b1 * c * c, -b2 * c * c, c * high) if c > 0.0 else None

    def servo(self, hold: tuple[float, float] | None) -> "Actuator":
        """A plain motor of one coordinate as a servo with gains (k, d) [N m/rad, N m s/rad, or per m], as strong as
        its controls were; anything else as it is."""
        if hold is None or len(self.terms) != 1 or any(self.bias) or not self.terms[0][1] or not self.gain:
            return self
        c = self.terms[0][1]
        ends = sorted(self.gain * x for x in self.ctrl_range)
        limits = max(ends[0], self.force_range[0]), min(ends[1], self.force_range[1])
        k, d = hold[0] / c**2, hold[1] / c**2
        return replace(self, gain=k, bias=(0.0, -k, -d), ctrl_range=(-np.inf, np.inf), force_range=limits)

    def holding(self, values: np.ndarray) -> float:
        """The control with which a servo stays at these coordinates (n_d,), within its range; 0 for what is none."""
        if not self.bias[1] or not self.gain:
            return 0.0
        length = sum(c * values[d] for d, c in self.terms)
        wanted = (-self.bias[1] * length - self.bias[0]) / self.gain
        return float(min(max(wanted, self.ctrl_range[0]), self.ctrl_range[1]))

    @property
    def needs_state(self) -> bool:
        return self.bias[1] != 0.0 or self.bias[2] != 0.0

    def _steady(self, ctrl: float) -> float:
        return self.gain * min(max(ctrl, self.ctrl_range[0]), self.ctrl_range[1]) + self.bias[0]

    def aim(self, ctrl: float, target: np.ndarray, rate: np.ndarray) -> None:
        """Where the drive should bring its coordinate: into target or, without stiffness, into rate, (n_d,) each."""
        d, c = self.terms[0]
        if self.bias[1] != 0.0:
            target[d] = self._steady(ctrl) / (-self.bias[1] * c)
        else:
            rate[d] = self._steady(ctrl) / (-self.bias[2] * c)

    def push(self, ctrl: float, values: np.ndarray | None, rates: np.ndarray | None, effort: np.ndarray) -> None:
        """Add to efforts (n_d,).  values, rates: (n_d,) of the coordinates."""
        force = self._steady(ctrl)
        if values is not None and rates is not None:
            force += self.bias[1] * sum(c * values[d] for d, c in self.terms)
            force += self.bias[2] * sum(c * rates[d] for d, c in self.terms)
        force = min(max(force, self.force_range[0]), self.force_range[1])
        for d, c in self.terms:
            effort[d] += c * force
