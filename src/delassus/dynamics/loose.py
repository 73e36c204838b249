"""Contacts that bounce: which are left out of a step until they meet, when they meet, and which meet now.

What bounces must not act before it touches, nor be stopped by the row that keeps what rests from sinking in. So where a
step is divided at its impacts (simulation/impact_times.py) the rows of contacts that will meet are left out of the
pieces between them: bodies go on freely, and the piece is cut where they first touch."""

import math
from dataclasses import dataclass

import numpy as np

from delassus.collision import Contacts, detect_at
from delassus.collision.contacts import ContactColumns
from delassus.collision.placement import moves_far
from delassus.collision.sweep import HIT, OVERLAP, TOUCH, follow, kept_apart, sweep
from delassus.dynamics.stabilisation import Stabilisation
from delassus.integrators import moved
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.model.state import State

MEETS = 1e-6  # of the way in a step at the speed of approach: contacts this near touch
_LATER = 0.01, 0.05, 0.25  # of a path: when pairs that touch from the start are looked at again
_REACH = 1.5  # times the way that a contact closes in a piece: what is nearer may meet
_ROUNDING = 1e-13  # of the coordinates of a contact [m]


@dataclass
class Loose:
    """What is left out of a piece of a step.  least_speed: approaches slower than this do not bounce [m/s]; h: the
    whole step [s]; any: was anything left out of the last piece?
    meets: did any of it touch at its start, and approach?"""

    least_speed: float
    h: float
    any: bool = False
    meets: bool = False

    @classmethod
    def of(cls, model: Model, stabilisation: Stabilisation, h: float) -> "Loose":
        return cls(stabilisation.slowest_bounce(model.gravity, h), h)

    def without(
        self, model: Model, state: State, contacts: Contacts, at: np.ndarray, h: float, ahead: float
    ) -> Contacts:
        """Without those that bounce in a piece of h [s], or already did.  at: (n_b, 7) where contacts were found, a
        time ahead [s] after the state."""
        bounces, rule = np.empty(len(contacts), np.bool_), (h, ahead, self.h, self.least_speed)
        found = are_loose(contacts.data, at, state.u, model.gravity, rule, bounces)
        self.any, self.meets = found > 0, found == 2
        return contacts.where(~bounces) if self.any else contacts

    def first_impact(self, model: Model, before: State, after: State, ends_there: bool) -> float | None:
        """When what was left out first meets, from `before` on [s]; None: not until `after`.  ends_there: was `after`
        already said to be when it meets?"""
        h, shapes = after.t - before.t, model.shapes
        body, arm, least = shapes.body, shapes.pace.arm, shapes.pace.least
        is_fast = moves_far(body, arm, least, before.u, 0.0, h) or moves_far(body, arm, least, after.u, 0.0, h)
        if not (self.any or is_fast):
            return None
        contacts = detect_at(shapes, after.q)
        velocities = before.u, after.u
        first = first_meeting(contacts.data, after.q, velocities, h, self.h, self.least_speed)
        if is_fast and not ends_there:
            path = np.zeros((model.body_count, 9))
            path[:, :3], path[:, 3:6] = h * before.u[:, :3], 0.5 * h * (before.u + after.u)[:, 3:]
            path[:, 6:] = after.q[:, :3] - before.q[:, :3] - path[:, :3]
            first = min(first, h * _first_on(model, before.q, path))
        return None if first == math.inf else first

    def meeting_now(self, model: Model, state: State) -> tuple[Contacts, np.ndarray]:
        """Contacts that touch, and which of them bounce, (n,)."""
        contacts = detect_at(model.shapes, state.q)
        speed, touches = np.empty(len(contacts)), np.empty(len(contacts), np.bool_)
        touching(contacts.data, state.q, state.u, (self.h, self.least_speed), speed, touches)
        contacts = contacts.where(touches)
        return contacts, (contacts.restitution > 0.0) & (speed[touches] < -self.least_speed)


def _first_on(model: Model, q: np.ndarray, path: np.ndarray) -> float:
    """When bouncing pairs first meet on these paths (n_b, 9) from q (n_b, 7), as a fraction of them; infinite: never.
    What touches from the start is looked at again later, when it may have parted: it could come back."""
    met = sweep(model.shapes, q, path)
    bounces = bouncing_pairs(model, met.pairs)
    hit = np.flatnonzero(bounces & (met.verdict == HIT))
    hit = hit[~((met.time[hit] > 0.0) & kept_apart(model.shapes, q, met.pairs[hit]))] if len(hit) else hit
    first = float(met.time[hit].min(initial=math.inf))
    pairs = met.pairs[bounces & ((met.verdict == TOUCH) | (met.verdict == OVERLAP))]
    for share in _LATER if len(pairs) else ():
        rest = (1.0 - share) * path
        rest[:, :3] += (1.0 - share) * 2.0 * share * path[:, 6:]
        rest[:, 6:] *= 1.0 - share
        then = moved(q, path[:, :6], share)
        then[:, :3] += share * share * path[:, 6:]
        met = follow(model.shapes, then, rest, pairs, 1.0)
        first = min(first, share + (1.0 - share) * float(met.time[met.verdict == HIT].min(initial=math.inf)))
    return first


def bouncing_pairs(model: Model, pairs: np.ndarray) -> np.ndarray:
    """Which pairs of shapes (p, 2) have restitution, (p,)."""
    return (model.shapes.surface[pairs, 2] > 0.0).any(axis=1)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def normal_speed(contacts, c, at, u):
    """v_n of contact c, positive where it separates [m/s]."""
    of, out = ContactColumns(*contacts), 0.0
    for side in range(2):
        b = of.bodies[c, side]
        if b >= 0:
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                turn = u[b, 3 + j] * (of.point[c, k] - at[b, k]) - u[b, 3 + k] * (of.point[c, j] - at[b, j])
                out += (2.0 * side - 1.0) * of.frame[c, 0, i] * (u[b, i] + turn)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _touches_within(contacts, c, speed, h):
    """A distance [m] that counts as none."""
    point = ContactColumns(*contacts).point
    size = max(abs(point[c, 0]), abs(point[c, 1]), abs(point[c, 2]), 1e-3)
    return MEETS * abs(speed) * h + _ROUNDING * size


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def are_loose(contacts, at, u, gravity, rule, bounces):
    """Which contacts may bounce in a piece of a step: (n,) is written. 0: none; 2: some touch at its start; else 1.

    contacts: fields of `ContactColumns`; at: (n_b, 7) where they were found; rule: times of the piece,
    from its start to there, and of the whole step [s], and the slowest bounce [m/s]."""
    of = ContactColumns(*contacts)
    bodies, frame, gap, restitution = of.bodies, of.frame, of.gap, of.restitution
    h, ahead, whole, least_speed = rule
    found, meets = False, False
    for c in range(len(gap)):
        bounces[c] = False
        if restitution[c] <= 0.0:
            continue
        speed, pull = normal_speed(contacts, c, at, u), 0.0
        for side in range(2):
            if bodies[c, side] >= 0:
                for i in range(3):
                    pull += (2.0 * side - 1.0) * frame[c, 0, i] * gravity[i]
        now, closes = gap[c] - ahead * speed, max(-(speed * h + 0.5 * pull * h * h), 0.0)
        touches = now <= _touches_within(contacts, c, max(abs(speed), least_speed), whole)
        rests, meets_now = touches and abs(speed) <= least_speed, touches and speed < -least_speed
        may_meet = not rests and speed + h * min(pull, 0.0) < -least_speed and now <= _REACH * closes
        bounces[c], meets = meets_now or may_meet, meets or meets_now
        found = found or bounces[c]
    return (2 if meets else 1) if found else 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def first_meeting(contacts, at, velocities, h, whole, least_speed):
    """When the first of the contacts that overlap at the end of a piece of h [s] met, from its start on [s]; infinite:
    none did.  at: (n_b, 7) at the end; velocities: (n_b, 6) at its start and end; whole: the step [s]."""
    of, (before, after) = ContactColumns(*contacts), velocities
    gap, restitution = of.gap, of.restitution
    first = math.inf
    for c in range(len(gap)):
        if restitution[c] <= 0.0 or gap[c] >= 0.0:
            continue
        ends, began = normal_speed(contacts, c, at, after), normal_speed(contacts, c, at, before)
        # what was closed already meets where it comes back to where it began: else it would sink further at each bounce
        below = gap[c] - min(gap[c] - 0.5 * (began + ends) * h, 0.0)
        if below >= -_touches_within(contacts, c, max(abs(ends), least_speed), whole):
            continue
        # the gap as a parabola back from the end, g + v s + a s²/2; where it last went below
        bend = (ends - began) / h
        square = ends * ends - 2.0 * bend * below
        s = -math.inf
        if square >= 0.0:
            root = math.sqrt(square)
            if ends - root < 0.0:  # speeds at the roots are ±root; it went in where that is negative
                s = 2.0 * below / (root - ends)
        if s >= -h:
            first = min(first, h + s)
        elif began < -least_speed:
            first = min(first, 0.0)
    return first


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def touching(contacts, at, u, rule, speed, touches):
    """Normal speeds (n,) [m/s] of the contacts, and which of them touch, (n,): written.  rule: time of the step [s],
    slowest bounce [m/s]."""
    gap, (whole, least_speed) = ContactColumns(*contacts).gap, rule
    for c in range(len(gap)):
        speed[c] = normal_speed(contacts, c, at, u)
        touches[c] = gap[c] <= _touches_within(contacts, c, max(abs(speed[c]), least_speed), whole)
