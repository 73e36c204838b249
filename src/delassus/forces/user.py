"""Forces of the user's own: what one must offer, and whether its derivatives are right."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from delassus.arguments import numbers
from delassus.errors import ProblemError
from delassus.forces.configuration import Configuration

_STEP = 1e-6  # of central differences [m, rad, m/s, rad/s], of positions and speeds of about one
_WRONG = 1e-3  # of the largest entry: derivatives further from finite differences are wrong
_ROUNDING = 1e-14  # of a force, in its own arithmetic


@runtime_checkable
class Force(Protocol):
    """A force of one's own; any object with these methods, given to `ModelBuilder.force`.

    What it acts on is said there, or by an attribute `velocities`: (k,) numbers of velocities, see `Configuration`.
    Each method is given a `Configuration` and returns an array: force (k,) [N, N m]; dq (k, k), its derivative by
    displacements along those velocities (translations; rotation vectors in the world's axes); dv (k, k), its derivative
    by the velocities. A method energy(configuration), its potential [J], may be there too. What depends on anything
    else than its velocities' bodies and nodes is stepped with half its derivative: list all it depends on. Derivatives
    are compared with finite differences when the force is first used."""

    def force(self, configuration: Configuration, /) -> np.ndarray: ...
    def dq(self, configuration: Configuration, /) -> np.ndarray: ...
    def dv(self, configuration: Configuration, /) -> np.ndarray: ...


class UserForce:
    """A user's force under its name, in whole triples of velocities, as H is stored.

    index: (1, 3 t) the triples it touches; `place`: (k,) where its velocities are among them."""

    def __init__(self, force: Force, name: str, velocities: Any, count: int):
        """velocities: (k,); count: of all velocities of the model."""
        given = np.asarray(velocities)
        fits = given.ndim == 1 and given.dtype.kind in "iu" and len(given) > 0
        if not fits or given.min() < 0 or given.max() >= count or len(np.unique(given)) < len(given):
            raise ProblemError(
                f"force {name!r}: velocities are {velocities!r}: give different whole numbers from 0 to {count - 1}, "
                "6 per rigid body and then 3 per node"
            )
        triples = np.unique(given // 3)
        self.own, self.name, self.velocities = force, name, given.astype(np.int64)
        self.index = (3 * triples[:, None] + np.arange(3)).reshape(1, -1).astype(np.int64)
        self.place = np.searchsorted(self.index[0], self.velocities)
        self.is_checked = False

    def evaluate(self, at: Configuration) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """force (1, 3 t), dq and dv (1, 3 t, 3 t)."""
        if not self.is_checked:
            self.check(at)
            self.is_checked = True
        size = self.index.shape[1]
        force, dq, dv = np.zeros((1, size)), np.zeros((1, size, size)), np.zeros((1, size, size))
        force[0, self.place] = self._asked("force", at)
        dq[0][np.ix_(self.place, self.place)] = self._asked("dq", at)
        dv[0][np.ix_(self.place, self.place)] = self._asked("dv", at)
        return force, dq, dv

    def energy(self, at: Configuration) -> float:
        """[J]; zero where it does not say."""
        if not hasattr(self.own, "energy"):
            return 0.0
        out = numbers(self.own.energy(at))
        if out.shape != () or not np.isfinite(out):
            raise ProblemError(f"force {self.name!r}: its energy is {out!r}: return one finite number [J]")
        return float(out)

    def check(self, at: Configuration) -> None:
        """Refuse derivatives that finite differences contradict. Where those ahead and behind differ, as at the kink of
        a force that begins to act, the difference is allowed."""
        count = 6 * len(at.q) + 3 * len(at.nodes)
        scale = np.maximum(1.0, np.abs(at.velocities[self.velocities]))
        for what, changed in (("dq", at.displaced), ("dv", at.sped_up)):
            said = self._asked(what, at)
            step = _STEP * (scale if what == "dv" else np.ones(len(scale)))
            found, doubt = np.empty_like(said), np.empty_like(said)
            here = self._asked("force", at)
            for k, velocity in enumerate(self.velocities):
                way = np.zeros(count)
                way[velocity] = step[k]
                ahead, behind = self._asked("force", changed(way)), self._asked("force", changed(-way))
                found[:, k] = (ahead - behind) / (2.0 * step[k])
                rounding = _ROUNDING * np.maximum(abs(ahead), abs(behind)).max(initial=0.0)
                doubt[:, k] = (abs(ahead - 2.0 * here + behind) + rounding) / step[k]
            off = abs(said - found) - doubt
            if off.size and off.max() > _WRONG * max(abs(said).max(), abs(found).max()):
                i, j = np.unravel_index(int(np.argmax(off)), off.shape)
                by = "displacement along" if what == "dq" else "change of"
                raise ProblemError(
                    f"force {self.name!r}: {what}[{i}, {j}] is {said[i, j]:.6g}, but force[{i}] changes by "
                    f"{found[i, j]:.6g} per {by} velocity {self.velocities[j]}: mend {what}, the derivative by "
                    + ("translations and rotation vectors in the world's axes" if what == "dq" else "velocities")
                )

    def _asked(self, what: str, at: Configuration) -> np.ndarray:
        k = len(self.velocities)
        wanted = (k,) if what == "force" else (k, k)
        out = numbers(getattr(self.own, what)(at))
        if out.shape != wanted or not np.isfinite(out).all():
            raise ProblemError(
                f"force {self.name!r}: {what} returned an array of shape {out.shape}, expected {wanted}, all finite"
            )
        return out
