"""The surface of one flexible body: what the modelling side hands to collision."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.collision.instances import ALL
from delassus.errors import ProblemError


@dataclass(frozen=True, eq=False)
class Skin:
    """The triangles of a flexible body and what contact needs to know about it.

    triangles: (F, 3) corners of nodes among all nodes, anticlockwise seen from outside; mu, restitution [-]; group,
    mask: as of an `Instance`; margin [m]: a contact is reported when gap ≤ the sum of the two margins and reaches;
    self_contact: whether the body may touch itself; name: for messages."""

    triangles: Any
    mu: float = 0.5
    restitution: float = 0.0
    group: int = 1
    mask: int = ALL
    margin: float = 0.0
    self_contact: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        try:
            corners = np.asarray(self.triangles)
        except ValueError:
            corners = np.zeros(0)
        if (
            corners.ndim != 2
            or corners.shape[1] != 3
            or not len(corners)
            or not np.issubdtype(corners.dtype, np.integer)
        ):
            raise self._error("triangles", "expected an array (F, 3) of node corners, one row or more", short=True)
        triangles = corners.astype(np.int64)
        twice = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
        if twice.any():
            t = int(twice.argmax())
            raise ProblemError(f"{self.called}: triangle {t} has corners {triangles[t].tolist()}, they must differ")
        for field in ("mu", "restitution", "margin"):
            value = getattr(self, field)
            if not (isinstance(value, (int, float, np.number)) and math.isfinite(value) and value >= 0):
                raise self._error(field, "it must be finite and not negative")
        if self.restitution > 1:
            raise self._error("restitution", "it must be at most 1")
        for field in ("group", "mask"):
            if not 0 <= getattr(self, field) <= ALL:
                raise self._error(field, "it must fit in 32 bits")
        object.__setattr__(self, "triangles", triangles)

    @property
    def called(self) -> str:
        return f"surface of {self.name!r}" if self.name else "surface"

    def _error(self, field: str, wanted: str, *, short: bool = False) -> ProblemError:
        value = type(getattr(self, field)).__name__ if short else repr(getattr(self, field))
        return ProblemError(f"{self.called}: {field} is {value}, {wanted}")
