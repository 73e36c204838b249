"""Fast bodies: each is brought to where it first meets something, and only what it really meets acts on it.

A step evaluates rows at one configuration, for Moreau's scheme half a step ahead. A body that moves far is inside a
wall by then, or through it. So its path is followed (collision/sweep.py), and its rows are evaluated where it hits, at
a time s of its own: q(s) along the free path, then (h − s) u⁺ from there. Bodies that hit each other, touch or are
joined share the time of the first hit. Contacts of pairs that pass each other are left out: the rows of a corner that a
body flies past would deflect it. What moves on into something else after the impact stops there, in position and not in
velocity, and meets it in the next step."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from delassus.collision import Contacts, detect_at
from delassus.collision.contacts import ContactColumns
from delassus.collision.placement import moves_far
from delassus.collision.sweep import (
    APART,
    GRAZE,
    HIT,
    MISS,
    OVERLAP,
    TOUCH,
    Sweep,
    follow,
    kept_apart,
    pair_keys,
    sweep,
)
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.loose import Loose, bouncing_pairs
from delassus.dynamics.rows import Rows, row_rate
from delassus.dynamics.stabilisation import Pushing, Stabilisation, contact_bias
from delassus.integrators import moved_each
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.model.state import State

_SLACK = 1e-6  # more than free motion needs, against rounding
_SHORTEST = 1e-6  # of a step: least time in which an open contact may close
_ITERATED = 2e-6  # error of gaps that are found by iteration [m]
_CLOSED = 2e-5  # of the motion that counts as fast: contacts this near where bodies hit are closed


def path_of(model: Model, state: State, inputs: Inputs, h: float, lead: float) -> np.ndarray:
    """(n_b, 9) how bodies move in this step if nothing is in the way, see collision/sweep.py."""
    force = model.gravity + inputs.wrench[:, :3] / model.mass[:, None]
    return np.concatenate([h * state.u, (1.0 - lead) * h * h * force], axis=1)


def meeting(
    model: Model,
    state: State,
    inputs: Inputs,
    at: np.ndarray,
    h: float,
    lead: float,
    stabilisation: Stabilisation,
    flight: "Flight | None",
    threads: int = 1,
    loose: Loose | None = None,
) -> Contacts:
    """The contacts at the poses `at` (n_b, 7), less those of bodies that only pass, and those that are loose.  flight:
    what `foresee` said."""
    reach = None if flight is None else flight.reach
    contacts = detect_at(model.shapes, at, threads=threads, reach=reach)
    if loose is not None:
        contacts = loose.without(model, state, contacts, at, h, lead * h)
    if not len(contacts) or stabilisation.through_velocities:
        return contacts
    if flight is not None:
        contacts = flight.filtered(model, contacts)
    speed, doubtful = np.empty(len(contacts)), np.empty(len(contacts), np.bool_)
    doubt = np.empty(model.body_count, np.bool_), speed, doubtful
    if not are_in_doubt(contacts.data, at, state.u, h, model.joints.bodies, doubt):
        return contacts
    pairs = contacts.shapes[doubtful].astype(np.int64)  # sorted
    pairs = pairs[np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))]
    path = path_of(model, state, inputs, h, lead)
    met = follow(model.shapes, state.q, path, pairs, 1.0 + lead)
    passing = _among(met.keys[(met.verdict == MISS) | (met.verdict == GRAZE)], contacts) & doubtful
    are_free(contacts.bodies, model.joints.bodies, np.empty(model.body_count, np.bool_), passing)
    # They may go on as they do, but not faster: where something presses them together, as in a heap, they touch.
    pull = np.zeros((len(contacts), 3))
    for side, sign in ((0, -1.0), (1, 1.0)):
        b = contacts.bodies[:, side]
        pull += np.where(b >= 0, sign, 0.0)[:, None] * path[b, 6:] / (1.0 - lead)
    free = -(1.0 + _SLACK) * (h * speed + np.minimum((contacts.normal * pull).sum(axis=1), 0.0))
    return replace(contacts, gap=np.where(passing, np.maximum(contacts.gap, free), contacts.gap))


def _without_passing(model: Model, contacts: Contacts, met: Sweep) -> Contacts:
    """Without those of pairs that pass by, where nothing else acts on their bodies: in a heap that rolls forces press
    together what would pass otherwise."""
    passing = _among(met.keys[(met.verdict == MISS) | (met.verdict == GRAZE)], contacts)
    are_free(contacts.bodies, model.joints.bodies, np.empty(model.body_count, np.bool_), passing)
    keep = ~passing
    if keep.all():
        return contacts
    return contacts.where(keep)


def _among(keys: np.ndarray, contacts: Contacts) -> np.ndarray:
    """(contacts,) whose pairs have one of these keys, ascending."""
    mine = pair_keys(contacts.shapes)
    if not len(keys):
        return np.zeros(len(mine), np.bool_)
    return keys[np.minimum(np.searchsorted(keys, mine), len(keys) - 1)] == mine


class Doubt(NamedTuple):
    """Contacts that may only be passed."""

    is_touched: np.ndarray  # (n_b,) does anything else act on the body?
    speed: np.ndarray  # (n_c,) see `_would_act`
    is_doubtful: np.ndarray  # (n_c,)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def are_in_doubt(contacts, at, u, h, joint_bodies, doubt):
    """Are there contacts that may only be passed, as nothing else acts on their bodies? Which is written.

    contacts: fields of `ContactColumns`; at: (n_b, 7), u: (n_b, 6); doubt: of `Doubt`, with room for more contacts."""
    of, doubt = ContactColumns(*contacts), Doubt(*doubt)
    if not _would_act(of, at, u, h, doubt.speed):
        return False
    for c in range(len(of.gap)):
        doubt.is_doubtful[c] = doubt.speed[c] != 0.0  # what stays open holds nothing
    if not are_free(of.bodies, joint_bodies, doubt.is_touched, doubt.is_doubtful[: len(of.gap)]):
        return False
    found = False
    for c in range(len(of.gap)):
        found = found or (doubt.is_doubtful[c] and doubt.speed[c] < 0.0)
    return found


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def are_free(bodies, joint_bodies, is_touched, passing):
    """Leave as passing only contacts (n_c,) on whose bodies nothing else acts, neither a joint nor a contact that is
    not among them; are there any?  is_touched: (n_b,), written: where something does. Such bodies do not go on as they
    do; without this spheres in a silo sank into each other by 0.2 mm."""
    for b in range(len(is_touched)):
        is_touched[b] = False
    for c in range(len(passing)):
        for side in range(2):
            if not passing[c] and bodies[c, side] >= 0:
                is_touched[bodies[c, side]] = True
    for j in range(len(joint_bodies)):
        for side in range(2):
            if joint_bodies[j, side] >= 0:
                is_touched[joint_bodies[j, side]] = True
    found = False
    for c in range(len(passing)):
        for side in range(2):
            if bodies[c, side] >= 0 and is_touched[bodies[c, side]]:
                passing[c] = False
        found = found or passing[c]
    return found


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _would_act(of, at, u, h, speed):
    """Normal speeds [m/s] of the open contacts that would close in this step, zero for closed ones, infinite for those
    that stay open; whether there are any that would close. The nearest points of a corner and of what flies past it
    approach each other, and yet they may never meet."""
    bodies, point, frame, gap, found = of.bodies, of.point, of.frame, of.gap, False
    for c in range(len(gap)):
        speed[c] = 0.0
        if gap[c] <= 0.0:
            continue
        normal = 0.0
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            v = 0.0
            for side in range(2):
                b = bodies[c, side]
                if b >= 0:
                    turn = u[b, 3 + j] * (point[c, k] - at[b, k]) - u[b, 3 + k] * (point[c, j] - at[b, j])
                    v += (2.0 * side - 1.0) * (u[b, i] + turn)
            normal += frame[c, 0, i] * v
        speed[c] = math.inf
        if -h * normal > gap[c]:
            speed[c], found = normal, True
    return found


@dataclass(frozen=True, eq=False)
class Flight:
    """A step with fast bodies.  at: (n_b, 7) where rows are evaluated; elapsed: (n_b,) the times of that [s]; met: the
    pairs followed; reach: (shapes,) how much further than usual contacts are looked for [m]; acceleration: (n_b, 3)
    by gravity and given forces [m/s²]; lead: of the step that is over where rows are evaluated usually."""

    at: np.ndarray
    elapsed: np.ndarray
    met: Sweep
    reach: np.ndarray
    acceleration: np.ndarray
    lead: float

    def filtered(self, model: Model, contacts: Contacts) -> Contacts:
        """Without those of pairs that never meet; those of pairs that hit are closed."""
        contacts = _without_passing(model, contacts, self.met)
        keys, verdict = self.met.keys, self.met.verdict
        at = np.minimum(np.searchsorted(keys, pair_keys(contacts.shapes)), len(keys) - 1)
        closed = _among(keys[verdict == HIT], contacts) & (contacts.gap > 0)
        closed &= contacts.gap <= _CLOSED * self.met.limit[at] + _ITERATED
        return replace(contacts, gap=np.where(closed, 0.0, contacts.gap))

    def set_impacts(self, model: Model, state: State, rows: Rows, h: float, stabilisation: Stabilisation) -> None:
        """Biases of the contacts of bodies that hit at times of their own."""
        pushing = stabilisation.pushing(model.gravity, h, self.lead * h)
        out = rows.rows, rows.bias, np.zeros(0) if rows.compliance is None else rows.compliance
        flight = self.elapsed, self.acceleration
        _set_impacts(rows.contacts.data, state.u, flight, h, pushing, rows.cone.contact_start, out)


def foresee(
    model: Model,
    state: State,
    inputs: Inputs,
    at: np.ndarray,
    h: float,
    lead: float,
    stabilisation: Stabilisation,
    loose: Loose | None = None,
) -> Flight | None:
    """How the fast bodies of this step fly; None where there are none, which is soon found out.

    at: (n_b, 7) where rows would be evaluated otherwise, after the fraction `lead` of the step h; loose: given, what
    bounces is not looked at."""
    if stabilisation.through_velocities:
        return None
    shapes, pace = model.shapes, model.shapes.pace
    pull = (1.0 - lead) * h * h * math.hypot(*model.gravity)
    if not moves_far(shapes.body, pace.arm, pace.least, state.u, pull, h):
        return None
    path = path_of(model, state, inputs, h, lead)
    met = sweep(shapes, state.q, path, horizon=1.0 + lead)
    if loose is not None:
        met = met.where(~bouncing_pairs(model, met.pairs))
    met = _over_neighbours(model, state.q, _settled(model, state.q, path, met))
    hit, near = met.verdict == HIT, (met.verdict != MISS) & (met.verdict != APART)
    if not near.any():
        return None  # contacts that are only passed are looked at in `meeting`
    share = np.full(model.body_count, lead)
    pairs = shapes.body[met.pairs]
    links = np.concatenate([model.joints.bodies, pairs[near]])
    clipped = _first_hits(pairs[hit], met.time[hit], links, share)
    at = at.copy()
    at[clipped] = moved_each(state.q, path[:, :6], share)[clipped]
    at[clipped, :3] += (share**2)[clipped, None] * path[clipped, 6:]
    reach = np.zeros(shapes.count)
    near = np.unique(met.pairs[near])
    near = near[shapes.body[near] >= 0]
    motion = np.linalg.norm(path[:, :3], axis=1) + np.linalg.norm(path[:, 6:], axis=1)
    turn = np.linalg.norm(path[:, 3:6], axis=1)
    reach[near] = motion[shapes.body[near]] + pace.arm[near] * turn[shapes.body[near]]
    return Flight(at, h * share, met, reach, path[:, 6:] / ((1.0 - lead) * h * h), lead)


def _over_neighbours(model: Model, q: np.ndarray, met: Sweep) -> Sweep:
    """With those that a flush neighbour keeps apart judged as touching: what slides to the joint of two tiles falls
    freely on its path, and would hit the side of the second one."""
    hit = np.flatnonzero((met.verdict == HIT) & (met.time > 0.0))
    if not len(hit):
        return met
    verdict = met.verdict.copy()
    verdict[hit[kept_apart(model.shapes, q, met.pairs[hit])]] = TOUCH
    return met._replace(verdict=verdict)


def _settled(model: Model, q: np.ndarray, path: np.ndarray, met: Sweep) -> Sweep:
    """With those that overlap from the start judged by their contacts: closing fast, or not."""
    unknown = np.flatnonzero(met.verdict == OVERLAP)
    if not len(unknown):
        return met
    contacts = detect_at(model.shapes, q)
    closing = np.zeros(len(contacts))
    for side, sign in ((0, 1.0), (1, -1.0)):
        b = contacts.bodies[:, side]
        speed = path[b, :3] + np.cross(path[b, 3:6], contacts.point - q[b, :3])
        closing += np.where(b >= 0, sign * (contacts.normal * speed).sum(axis=1), 0.0)
    keys, mine = met.keys, pair_keys(contacts.shapes)
    verdict = met.verdict.copy()
    for p in unknown:
        verdict[p] = HIT if closing[mine == keys[p]].max(initial=0.0) > met.limit[p] else OVERLAP
    return met._replace(verdict=verdict)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _set_impacts(contacts, u, flight, h, pushing, first, out):
    """Biases of contacts whose bodies were stopped early.  contacts: fields of `ContactColumns`; u: (n_b, 6); flight:
    elapsed and acceleration of `Flight`; pushing: fields of `Pushing`; first: row of the first contact; out: rows,
    bias, compliance or empty."""
    of, (elapsed, acceleration), (rows, bias, soft) = ContactColumns(*contacts), flight, out
    usual = Pushing(*pushing).ahead
    for c in range(len(of.gap)):
        r = first + 3 * c
        if len(soft) and soft[r] > 0.0:
            continue
        early, force = h, 0.0
        for side in range(2):
            b = of.bodies[c, side]
            if b >= 0:
                early = min(early, elapsed[b])
                for k in range(3):
                    force += rows[r, 6 * side + k] * acceleration[b, k]
        if early == usual:
            continue
        left = h - early
        speed, horizon = row_rate(of.bodies, c, rows, r, u), max(left + usual, _SHORTEST * h)
        bias[r] = contact_bias(pushing, of.gap[c], speed, of.restitution[c], h, horizon, early * force, left * force)


def wait_at_obstacles(
    model: Model, at: np.ndarray, ways: np.ndarray, contacts: Contacts, reactions: np.ndarray, loose: Loose | None
) -> np.ndarray:
    """Shares of their ways that bodies really move on from `at`, (n_b,): what would run into something that is not
    among the contacts stops there, together with what it is joined to or pressed against.  ways: (n_b, 6) [m, rad];
    reactions: (n_c,) along normals; loose: given, nothing waits for what bounces."""
    path, share = np.zeros((len(ways), 9)), np.ones(len(ways))
    path[:, :6] = ways
    met = sweep(model.shapes, at, path, known=np.unique(pair_keys(contacts.shapes)))
    hit = met.verdict == HIT
    if loose is not None:
        hit &= ~bouncing_pairs(model, met.pairs)
    if hit.any():
        bodies = model.shapes.body[met.pairs[hit]]
        pressed = contacts.bodies[reactions > 0.0]
        _first_hits(bodies, met.time[hit], np.concatenate([model.joints.bodies, pressed]), share)
    return share


@njit(cache=True, error_model="numpy")
def _first_hits(pairs, time, links, share):
    """share: (n_b,) of the bodies that hit, and of what they are linked with, becomes the time of their first hit.
    Returns which these are, (n_b,)."""
    n = len(share)
    root, changed = np.arange(n), np.zeros(n, np.bool_)
    for k in range(len(pairs) + len(links)):
        a, b = (pairs[k, 0], pairs[k, 1]) if k < len(pairs) else (links[k - len(pairs), 0], links[k - len(pairs), 1])
        if a >= 0 and b >= 0:
            a, b = _find(root, a), _find(root, b)
            root[max(a, b)] = min(a, b)
    first = np.full(n, np.inf)
    for k in range(len(pairs)):
        b = max(pairs[k, 0], pairs[k, 1])
        r = _find(root, b)
        first[r] = min(first[r], time[k])
    for b in range(n):
        r = _find(root, b)
        if first[r] < np.inf:
            share[b], changed[b] = first[r], True
    return changed


@njit(cache=True, error_model="numpy")
def _find(root, b):
    while root[b] != b:
        root[b] = root[root[b]]
        b = root[b]
    return b
