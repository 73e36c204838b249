"""GPMINRES: gradient projection finds the active set, MINRES solves on the free variables (Heyn, Anitescu, Tasora and
Negrut 2013, §4.2, after Moré and Toraldo's GPCG, SIAM J. Optim. 1, 1991).

Published is the method for bounds, x ≥ 0. Each cycle takes

- projected gradient steps x ← P(x − a g) with the exact first length and halving (eq. 15–16), until the face stays
  the same or the objective falls slowly (eq. 17–18);
- MINRES on the free variables until the model's decrease slows down (eq. 20);
- a projected search along what it found (lines 28–34); where the face reached is binding, MINRES goes on with a
  stricter tolerance, otherwise a new cycle begins (lines 35–48).

Ours is the extension to friction. A contact on the surface of its cone is free along the surface, and the bending of
the surface enters the model (`faces.curvature`), so that MINRES takes Newton steps on the face; that serves the convex
law. Exact friction is a fixed point over programs with discs, see `program`. With bounds alone all this falls away.

MINRES is run as the method of conjugate residuals: the same iterates where A is semi-definite (Fong and Saunders, SQU
J. Sci. 17, 2012), in less memory, and it stays defined on singular systems. An iteration is one product with A.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.active_set.face_passes import add_bending, along, descend, form_faces
from delassus.solvers.active_set.method import ActiveSetMethod
from delassus.solvers.active_set.program import gap, move
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up
from delassus.solvers.settings import Count, Fraction, Range, Settings

_REFRESH = 500  # updates of the gradient after which it is computed anew: each adds a rounding error
_ROUNDING = 1e-15  # times |g|ᵀ|x|: smaller changes of the objective are rounding where g presses on a curved boundary
_HALVINGS = 20  # of a step, at most: below a millionth of it nothing changes
NEW, SLOPE, TRY, KRYLOV, SEARCH, CYCLE, RESTART = range(7)
"""Phases: a gradient, the first length of a step, a step, MINRES, the search along its result; new cycle, new face."""
PHASE, ALPHA, HALVED, USED, SOLVED, MINRES, FACES = 0, 1, 2, 3, 13, 14, 15
_STEPS, _DROP, _RAR, _INNER, _GAIN, _ETA, _LIMIT, _AGE, _WHOLE = range(4, 13)  # the rest of what is kept between calls


@dataclass(frozen=True)
class Gpminres(Settings):
    """Settings of GPMINRES; the names of Heyn et al. 2013 in brackets."""

    decrease: Annotated[float, Range("(0, 0.5)")] = 0.1  # part of the predicted decrease that a step must bring [μ]
    slow_gradient: Fraction = 0.1  # gradient steps end below this part of the best decrease so far [η₁]
    slow_minres: Fraction = 0.1  # so does MINRES [η₂]
    gradient_steps: Count = 5  # at most, per cycle [N_GP]
    minres_steps: Count = 20  # at most, per face, at first [N_minres]; as many more on a binding face [N_AI]
    scaled: bool = True  # scale units by the diagonal of D; published is the method without
    threads: Count = 1  # team of threads for each pass


PUBLISHED = Gpminres(solver="gpminres", minres_steps=10, slow_minres=1e-12, scaled=False)
"""Heyn et al. 2013, §5.1: ten MINRES iterations on every face, no scaling; μ, η₁ and N_GP are not printed."""


class GpminresMethod(ActiveSetMethod):
    """GPMINRES at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions, vectors=9)
        s = self.settings
        self.limits = s.decrease, s.slow_gradient, s.slow_minres, s.gradient_steps, s.minres_steps
        self.face = np.zeros((len(self.program.operator.scale), 4))  # per unit: face, e₁, e₂, curvature
        self.state = np.zeros(FACES + 1)

    def run(self, count: int, pause: bool = False) -> tuple[int, bool]:
        """See `ActiveSetMethod`; with `pause` fewer, where MINRES would begin."""
        store = self.state, self.vectors, self.face, self.image
        rule = self.target, pause, *self.limits
        self.program.run(_advance, self.program.data, self.program.sets, count, rule, store)
        return int(self.state[USED]), bool(self.state[SOLVED])

    def restart(self) -> None:
        self.state[PHASE] = NEW

    @property
    def minres_count(self) -> int:
        """MINRES iterations so far, over all faces: what the paper counts."""
        return int(self.state[MINRES])

    @property
    def face_count(self) -> int:
        """Faces on which MINRES was started."""
        return int(self.state[FACES])


class _Rule(NamedTuple):
    """When to stop what."""

    target: float
    """‖x − P(x − g)‖ at which the program is solved."""
    pause: bool
    """Stop where MINRES is to begin?"""
    decrease: float
    """This and the others: of `Gpminres`."""
    slow_gradient: float
    slow_minres: float
    gradient_steps: int
    minres_steps: int


class _Vectors(NamedTuple):
    """Vectors (m,)."""

    x: np.ndarray
    """The point."""
    g: np.ndarray
    """Its gradient."""
    d: np.ndarray
    """What is multiplied next."""
    q: np.ndarray
    """A d."""
    trial: np.ndarray
    w: np.ndarray
    """Of MINRES: the step so far, its residual, the direction and A times that."""
    r: np.ndarray
    p: np.ndarray
    ap: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, sets, count, rule, store):
    """`count` products of one team member; fewer where ‖x − P(x − g)‖ falls to `target`, and with `pause` where MINRES
    is to begin. Each pass prepares a vector d for the phase at hand, multiplies it, and digests the product.  rule:
    fields of `_Rule`; store: (state, vectors, face, image), written."""
    kept, vectors, face, image = store
    rule, own, team = _Rule(*rule), _Vectors(*vectors), (t, barrier, parts)
    x, g, d, q, trial, w = own.x, own.g, own.d, own.q, own.trial, own.w
    target, pause = rule.target, rule.pause
    decrease, slow_gradient = rule.decrease, rule.slow_gradient
    first, last = passes.own_rows(t, data)
    s, sums = np.empty(len(kept)), np.zeros(3)
    for i in range(len(kept)):
        s[i] = kept[i]
    s[SOLVED] = 0
    used = 0
    while used < count and not (pause and s[PHASE] == RESTART):
        _prepare(team, data, sets, rule, s, own, face, sums)
        passes.image_of(t, barrier, data, d, image)
        passes.velocity_units(t, data, d, image, False, q)
        used += 1
        s[_AGE] += 1
        phase = int(s[PHASE])
        moved = False
        change = 0.0
        if phase == NEW:  # d = x
            offset = passes.Data(*data).offset
            for i in range(first, last):
                g[i] = q[i] + offset[i]
            s[_AGE] = 0
        elif phase == KRYLOV:  # d = T r
            s[MINRES] += 1
            if _residual_step(team, data, sets, s, face, sums, own):
                s[ALPHA], s[HALVED], s[PHASE] = 1.0, 0, SEARCH
        else:  # d: the projected gradient, or trial − x
            sums[:] = 0.0
            for i in range(first, last):
                sums[0] += g[i] * d[i]
                sums[1] += d[i] * q[i]
                sums[2] += abs(g[i] * x[i])
            add_up(t, barrier, parts, sums)
            change = sums[0] + 0.5 * sums[1]
            noise = _ROUNDING * sums[2]
            if phase == SLOPE:  # the exact minimiser along d is the first length tried
                s[ALPHA] = -sums[0] / sums[1] if sums[1] > 0.0 else 1.0
                s[HALVED], s[PHASE] = 0, TRY
            elif sums[0] < noise and change <= decrease * sums[0] + noise:
                moved = True
                for i in range(first, last):
                    x[i] = trial[i]
                    g[i] += q[i]
            elif sums[0] < noise and s[HALVED] < _HALVINGS:
                s[HALVED] += 1
                s[ALPHA] *= 0.5
            else:  # no decrease this way
                s[PHASE] = RESTART if phase == TRY else CYCLE
        if moved or phase == NEW:
            changed, binding = form_faces(team, data, sets, x, g, face, sums)
            s[PHASE] = CYCLE
            if phase == TRY:
                s[_STEPS] += 1
                slow = changed == 0.0 or -change <= slow_gradient * s[_DROP] or s[_STEPS] >= rule.gradient_steps
                s[PHASE] = RESTART if slow else SLOPE
                s[_DROP] = max(s[_DROP], -change)
            elif phase == SEARCH and binding:  # maybe the last face: go on, more strictly
                s[_ETA] *= s[_ETA]
                s[_LIMIT] += rule.minres_steps
                s[PHASE] = RESTART
                if s[_WHOLE] and s[HALVED] == 0 and not pause:  # the residual and its directions are still those of x
                    s[PHASE] = KRYLOV
                    for i in range(first, last):
                        w[i] = 0.0
            if moved and s[_AGE] > _REFRESH:
                s[PHASE] = NEW
            if moved and target > 0.0 and gap(t, barrier, parts, data, sets, x, g, sums) <= target * target:
                s[SOLVED] = 1
                break
    if t == 0:
        s[USED] = used
        for i in range(len(kept)):
            kept[i] = s[i]


@njit(cache=True, error_model="numpy")
def _prepare(team, data, sets, rule, s, own, face, sums):
    """d for the phase at hand."""
    t, barrier, parts = team
    x, g, d, q, trial = own.x, own.g, own.d, own.q, own.trial
    w, r, p, ap = own.w, own.r, own.p, own.ap
    first, last = passes.own_rows(t, data)
    if s[PHASE] == CYCLE:
        s[_STEPS], s[_DROP], s[_ETA], s[_LIMIT], s[PHASE] = 0, 0.0, rule.slow_minres, rule.minres_steps, SLOPE
    elif s[PHASE] == RESTART:
        s[_INNER], s[_GAIN], s[_RAR], s[PHASE] = 0, 0.0, 0.0, KRYLOV
        s[FACES] += 1
        along(t, data, sets, face, g, r)
        for i in range(first, last):
            r[i] = -r[i]
            w[i] = p[i] = ap[i] = 0.0
    phase = int(s[PHASE])
    if phase == NEW:
        for i in range(first, last):
            d[i] = x[i]
    elif phase == SLOPE:
        descend(t, data, sets, g, face, d)
    elif phase == KRYLOV:
        along(t, data, sets, face, r, d)
    else:
        if phase == SEARCH:
            along(t, data, sets, face, w, q)
        way, step = (g, -s[ALPHA]) if phase == TRY else (q, s[ALPHA])
        sums[0] = 0.0 if move(t, data, sets, x, step, way, trial) else 1.0
        for i in range(first, last):
            d[i] = trial[i] - x[i]
        add_up(t, barrier, parts, sums)
        s[_WHOLE] = sums[0] == 0.0


@njit(cache=True, error_model="numpy")
def _residual_step(team, data, sets, s, face, sums, own):
    """One step of conjugate residuals on (T A T + C) w = −T g, from q = A T r; whether it was the last."""
    t, barrier, parts = team
    q, w, r, p, ap = own.q, own.w, own.r, own.p, own.ap
    first, last = passes.own_rows(t, data)
    along(t, data, sets, face, q, q)
    add_bending(t, data, face, r, q)
    sums[:] = 0.0
    for i in range(first, last):
        sums[0] += r[i] * q[i]
        sums[1] += r[i] * r[i]
    add_up(t, barrier, parts, sums)
    rar = sums[0]
    beta = rar / s[_RAR] if s[_INNER] > 0 else 0.0
    sums[:] = 0.0
    for i in range(first, last):
        p[i] = r[i] + beta * p[i]
        ap[i] = q[i] + beta * ap[i]
        sums[0] += ap[i] * ap[i]
        sums[1] += r[i] * p[i]
        sums[2] += p[i] * ap[i]
    add_up(t, barrier, parts, sums)
    s[_RAR] = rar
    if not (rar > 0.0 and sums[0] > 0.0):  # nothing left that A can reduce
        return True
    alpha = rar / sums[0]
    for i in range(first, last):
        w[i] += alpha * p[i]
        r[i] -= alpha * ap[i]
    gain = alpha * sums[1] - 0.5 * alpha * alpha * sums[2]
    s[_INNER] += 1
    slowed = gain <= s[_ETA] * s[_GAIN]
    s[_GAIN] = max(s[_GAIN], gain)
    return slowed or s[_INNER] >= s[_LIMIT]
