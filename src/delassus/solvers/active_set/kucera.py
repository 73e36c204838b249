"""Kučera's method: conjugate gradients on what is free, projected gradient steps of fixed length where the active set
must change (R. Kučera, "Convergence rate of an optimization algorithm for minimizing quadratic functions with separable
convex constraints", SIAM J. Optim. 19, 2008; Heyn, Anitescu, Tasora and Negrut 2013, §4.4, have it for bounds).

With g the gradient and g̃ = (x − P(x − a g)) / a, split by units into a free part φ̃ (interior of its set) and a boundary
part β̃, each iteration takes one of three steps:

- ‖β̃‖² ≤ Γ² ‖φ̃‖², and a conjugate gradient step stays inside: take it;
- it would leave the set: go up to the boundary and on by −a φ̃ (expansion);
- ‖β̃‖² > Γ² ‖φ̃‖²: x − a β̃ (proportioning).

Printed are β̃ᵀg and φ̃ᵀg for the squares, the same at bounds. Where the gradient presses against a curved boundary their
rounding errors hide all that is smaller than 1e-8, and the method would stall there.

Cones and discs are separable convex sets, so the convex law is solved as published. A contact that slides is on the
boundary and moves by projected steps only, which is why friction is slower than bounds. Exact friction is Tresca's
fixed point, see `program`: published for elastic bodies, its inexact form here is ours. An iteration is one product
with A; an expansion takes two.
"""

from dataclasses import dataclass

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.active_set.faces import DISC, NORMAL, NORMAL_RIM, OPEN, face_of, project_contact, step_inside
from delassus.solvers.active_set.method import ActiveSetMethod
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.spectrum import largest_eigenvalue
from delassus.solvers.parts.parallel.team import add_up
from delassus.solvers.settings import Count, Positive, Relaxation, Settings

_REFRESH = 500  # updates of the gradient after which it is computed anew: each adds a rounding error
_NEW, _CONJUGATE, _CHANGE = range(3)  # what the next product is for
_PHASE, _AGE, _USED, _SOLVED = range(4)


@dataclass(frozen=True)
class Kucera(Settings):
    """Settings of Kučera's method; the names of Heyn et al. 2013 in brackets."""

    step: Relaxation = 1.0  # length of projected steps, in units of the inverse largest eigenvalue [α̃ ‖N‖]
    release: Positive = 1.0  # the smaller, the sooner contacts leave the boundary [Γ]
    scaled: bool = True  # scale units by the diagonal of D; without, the step is the published 1 / ‖N‖
    threads: Count = 1  # team of threads for each pass


PUBLISHED = Kucera(solver="kucera", scaled=False)
"""Heyn et al. 2013, §4.4: α̃ = 1 / ‖N‖, Γ = 1, no scaling."""


class KuceraMethod(ActiveSetMethod):
    """Kučera's method at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions, vectors=5)
        self.step = self.settings.step / largest_eigenvalue(self.program.operator)
        self.release = self.settings.release**2
        self.free = np.zeros(problem.row_count, dtype=np.bool_)
        self.least = np.zeros((self.settings.threads, 8))
        self.state = np.zeros(4, dtype=np.int64)

    def run(self, count: int) -> tuple[int, bool]:
        store = self.state, self.vectors, self.free, self.least, self.image
        rule = self.target, self.step, self.release
        self.program.run(_advance, self.program.data, self.program.sets, count, rule, store)
        return int(self.state[_USED]), bool(self.state[_SOLVED])

    def restart(self) -> None:
        self.state[_PHASE] = _NEW


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, sets, count, rule, store):
    """`count` products of one team member, fewer where ‖g̃‖ falls to `target`.  rule: (target, step, release); store:
    (state, vectors, free, least, image), written."""
    target, step, release = rule
    kept, vectors, free, least, image = store
    x, g, d, q, p = vectors
    first, last = passes.own_rows(t, data)
    phase, age, used, solved = kept[_PHASE], kept[_AGE], 0, 0
    sums = np.zeros(3)
    while used < count and not solved:
        if phase == _NEW:
            for i in range(first, last):
                d[i] = x[i]
        passes.image_of(t, barrier, data, d, image)
        passes.velocity_units(t, data, d, image, False, q)
        used += 1
        age += 1
        curved = 0.0
        if phase == _NEW:  # d = x
            offset = passes.Data(*data).offset
            for i in range(first, last):
                g[i] = q[i] + offset[i]
            age = 0
        elif phase == _CHANGE:  # d: what x has changed by
            for i in range(first, last):
                g[i] += q[i]
        else:  # d = p
            sums[:] = 0.0
            for i in range(first, last):
                sums[0] += g[i] * d[i]
                sums[1] += d[i] * q[i]
            least[t, 0] = _room(t, data, sets, x, d)
            add_up(t, barrier, parts, sums)
            room = least[0, 0]
            for other in range(1, len(least)):
                room = min(room, least[other, 0])
            wanted = sums[0] / sums[1] if sums[1] > 0.0 else np.inf
            if wanted < room:
                curved = sums[1]
                for i in range(first, last):
                    x[i] -= wanted * d[i]
                    g[i] -= wanted * q[i]
            else:
                if room == np.inf:  # neither bent nor bounded: a plain step
                    room = 0.0
                for i in range(first, last):
                    x[i] -= room * d[i]
                    g[i] -= room * q[i]
                _project_part(t, data, sets, step, True, free, (x, g, d))
                phase = _CHANGE
                continue
        _split((t, barrier, parts), data, sets, step, (x, g, q), free, sums)
        rho = sums[2] / curved if curved > 0.0 else 0.0
        if target > 0.0 and sums[0] + sums[1] <= (target * step) ** 2:
            phase, solved = _NEW, 1
        elif age > _REFRESH:
            phase = _NEW
        elif sums[1] <= release * sums[0]:
            phase = _CONJUGATE
            for i in range(first, last):
                p[i] = (g[i] if free[i] else 0.0) - (rho * p[i] if rho != 0.0 else 0.0)
                d[i] = p[i]
        else:
            phase = _CHANGE
            _project_part(t, data, sets, step, False, free, (x, g, d))
    if t == 0:
        kept[_PHASE], kept[_AGE], kept[_USED], kept[_SOLVED] = phase, age, used, solved


@njit(cache=True, error_model="numpy")
def _room(t, data, sets, x, p):
    """The largest a with x − a p in the sets of own units."""
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    out = np.inf
    for i in range(max(own.row, own.bilateral), own.row_end):
        if p[i] > 0.0:
            out = min(out, x[i] / p[i])
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        if p[i] != 0.0 or p[i + 1] != 0.0 or p[i + 2] != 0.0:
            at, way = (x[i], x[i + 1], x[i + 2]), (p[i], p[i + 1], p[i + 2])
            out = min(out, step_inside(tresca, mu[k], radius[k], at, way))
    return out


@njit(cache=True, error_model="numpy")
def _project_part(t, data, sets, step, of_free, free, vectors):
    """x ← x − step φ̃ (of_free) or x − step β̃ on own rows; d: the change.  vectors: (x, g, d)."""
    x, g, d = vectors
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    for i in range(own.row, own.row_end):
        d[i] = 0.0
        if free[i] == of_free:
            y = x[i] - step * g[i]
            if i >= own.bilateral:
                y = max(y, 0.0)
            d[i], x[i] = y - x[i], y
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        y0, y1, y2 = x[i] - step * g[i], x[i + 1] - step * g[i + 1], x[i + 2] - step * g[i + 2]
        z0, z1, z2 = project_contact(tresca, mu[k], radius[k], y0, y1, y2)
        d[i] = d[i + 1] = d[i + 2] = 0.0
        if free[i] == of_free:
            d[i], x[i] = z0 - x[i], z0
        if free[i + 1] == of_free:
            d[i + 1], x[i + 1] = z1 - x[i + 1], z1
            d[i + 2], x[i + 2] = z2 - x[i + 2], z2


@njit(cache=True, error_model="numpy")
def _split(team, data, sets, step, vectors, free, sums):
    """Which own rows are free; sums: ‖step φ̃‖², ‖step β̃‖² and φᵀq. Collective.  vectors: (x, g, q)."""
    t, barrier, parts = team
    x, g, q = vectors
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    sums[:] = 0.0
    for i in range(own.row, own.row_end):
        free[i] = i < own.bilateral or x[i] > 0.0
        change = x[i] - (x[i] - step * g[i] if i < own.bilateral else max(x[i] - step * g[i], 0.0))
        _add(free[i], change, g[i], q[i], sums)
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        face = face_of(tresca, mu[k], radius[k], x[i], x[i + 1], x[i + 2])[0]
        free[i] = face in (OPEN, NORMAL, NORMAL_RIM)
        free[i + 1] = free[i + 2] = face in (OPEN, DISC)
        y0, y1, y2 = x[i] - step * g[i], x[i + 1] - step * g[i + 1], x[i + 2] - step * g[i + 2]
        z0, z1, z2 = project_contact(tresca, mu[k], radius[k], y0, y1, y2)
        _add(free[i], x[i] - z0, g[i], q[i], sums)
        _add(free[i + 1], x[i + 1] - z1, g[i + 1], q[i + 1], sums)
        _add(free[i + 2], x[i + 2] - z2, g[i + 2], q[i + 2], sums)
    add_up(t, barrier, parts, sums)


@njit(cache=True, error_model="numpy", inline="always")
def _add(is_free, change, g, q, sums):
    if is_free:
        sums[0] += change * change
        sums[2] += g * q
    else:
        sums[1] += change * change
