"""What acts on a model from outside during one step."""

from dataclasses import dataclass

import numpy as np

from delassus.errors import ProblemError
from delassus.model import Model


@dataclass(frozen=True, eq=False)
class Inputs:
    """wrench: (n_b, 6) force and moment at the centre of mass, world frame [N, N m]; effort: (n_d,) on joint
    coordinates [N, N m]; target, target_rate: (n_d,) of motors and prescribed motions [m, rad and per second].

    time: what targets and rates are for [s]; None: the start of the step. From there targets move on at their rates, so
    that one given without its rate is one that stands still. For second order, give everything at the middle of the
    step and say so."""

    wrench: np.ndarray
    effort: np.ndarray
    target: np.ndarray
    target_rate: np.ndarray
    time: float | None = None

    @classmethod
    def of(cls, model: Model, *, wrench=None, effort=None, target=None, target_rate=None, time=None) -> "Inputs":
        """Zeros for whatever is not given."""
        count, free = len(model.mass), model.joints.coordinate_count
        return cls(
            _array(wrench, "wrench", (count, 6)),
            _array(effort, "effort", (free,)),
            _array(target, "target", (free,)),
            _array(target_rate, "target_rate", (free,)),
            time,
        )


def _array(value, name: str, shape) -> np.ndarray:
    if value is None:
        return np.zeros(shape)
    out = np.ascontiguousarray(value, dtype=float)
    if out.shape != shape or not np.isfinite(out).all():
        raise ProblemError(f"inputs.{name} has shape {out.shape}, expected {shape}, all finite")
    return out
