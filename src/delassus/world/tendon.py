"""Tendons and couplings of a world by name."""

import numpy as np

from delassus.dynamics.forces import lengths_of
from delassus.dynamics.rows import COUPLING, DRIVE, FRICTION, LIMIT
from delassus.joints.couplings import Couplings
from delassus.world.handle import Handle


class Tendon(Handle):
    """A tendon of a world, or a coupling, whose length is held. Lengths are in units of its sum, m or rad where its
    coefficients are plain numbers, and forces along it are such that force times length is work [J]."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As it was built."""
        return self._couplings.names[self._index]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"tendon {self.name!r}"

    @property
    def length(self) -> float:
        """The sum over its joint coordinates now, turns counted."""
        return float(lengths_of(self._world.model, self._world.state)[0][self._index])

    @property
    def rate(self) -> float:
        """How fast its length changes now."""
        return float(lengths_of(self._world.model, self._world.state)[1][self._index])

    @property
    def limits(self) -> tuple[float, float]:
        """(lower, upper) of its length, infinite where there are none, equal where it is held."""
        return float(self._couplings.lower[self._index]), float(self._couplings.upper[self._index])

    @property
    def force(self) -> float:
        """What limits, spring, damping, friction and armature exerted along it over the last step, a mean; positive
        where it lengthens. A coordinate with coefficient c got c times as much. Zero before the first step."""
        world, couplings = self._world, self._couplings
        if world._run.before is None:
            return 0.0
        report = world.report
        if self._index in couplings.held:
            wanted = {COUPLING + np.uint64(self._index): 1.0}
        else:
            d = np.uint64(world.model.joints.coordinate_count + np.searchsorted(couplings.free, self._index))
            two = np.uint64(2)
            wanted = {DRIVE + d: 1.0, FRICTION + d: 1.0, LIMIT + two * d: 1.0, LIMIT + two * d + np.uint64(1): -1.0}
        total, held = 0.0, np.flatnonzero(couplings.held == self._index)
        if len(held):
            total = float(world._closing[0][world.model.joints.row_count + held[0]])
        for name, sign in wanted.items():
            for k in np.flatnonzero(report.rows.names == name):
                total += sign * float(report.solution.reactions[report.rows.cone.block_start[k]])
        return total / report.h

    @property
    def _couplings(self) -> Couplings:
        found = self._world.model.couplings
        assert found is not None
        return found

    def __repr__(self) -> str:
        return f"Tendon({self.name!r}, length {self.length:.6g}, limits {self.limits})"
