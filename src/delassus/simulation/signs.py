"""Signs that a step went wrong although its problem was solved: energy from nowhere, open joints, deep overlaps, spins
that the step is too long for. Each is one plain sentence with names, sizes and what to do.

The judge says whether the one-step problem is solved; whether the problem made sense is another question. A kernel of a
few microseconds looks; words are made only where it finds something.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.instances import FIXTURES
from delassus.dynamics import Rows
from delassus.dynamics.rows import CONTACT, FRICTION, JOINT, LIMIT
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.settings import StepSettings
from delassus.solvers import Solution

_GAINED = 0.1  # of the kinetic energy: hard constraints that do more work than this in a step
_FALLS = 10.0  # times what falls in a step is a speed that counts as none …
_SLOW = 0.5  # … up to this [m/s]: pushing resting contacts apart is no explosion
_STILL = 1e-6  # … and this [m/s] always, also where nothing falls: what solves leave of bodies that were stopped
_OPEN = 1e-6  # [m, rad]: what the project promises of joints that are closed after each step
_OPEN_UNCLOSED = 1e-3  # … and of those that feedback alone holds
_DEEP = 0.5  # of the smaller shape's radius: grains that a blade pushes hard reach a quarter
_TURN = math.pi  # [rad] in a step: which way a body turns can no longer be told
_KIND, _NUMBER = np.uint64(61), np.uint64((1 << 61) - 1)  # parts of a block's name


def warnings_of(
    model: Model,
    before: State,
    after: State,
    rows: Rows,
    solution: Solution,
    hard_rows: np.ndarray | None,
    closes: bool,
    settings: StepSettings,
) -> tuple[str, ...]:
    """What is suspicious about a step, in sentences; empty for nearly all."""
    shapes, contacts, h = model.shapes, rows.contacts, settings.h
    rigid = len(contacts)
    if rows.nodes is not None:  # flexible surfaces, which have no radius, come last
        rigid = int((contacts.shapes < shapes.count).all(axis=1).sum())
    compliance = _NONE if rows.compliance is None else rows.compliance
    signs = examine(
        model.body_data,
        h,
        (before.q, before.u),
        (after.q, after.u),
        (rows.names, rows.cone.block_start, rows.bodies, rows.rows, compliance),
        solution.reactions,
        (contacts.gap[:rigid], contacts.shapes[:rigid], shapes.radius, shapes.surface),
        (rows.residual[: model.joints.row_count], _ALL if hard_rows is None else hard_rows),
    )
    if not is_suspicious(signs, closes, h):
        return ()
    out: list[str] = []
    found = Signs(*signs)
    if found.gained > found.bearable:
        out.append(
            f"energy grew by {found.gained:.3g} J that no drive, force or fall put in, most of it through "
            f"{_block(model, rows, found.culprit)}: {_ADVICE}"
        )
    if found.error > (_OPEN if closes else _OPEN_UNCLOSED):
        joint = model.joints.names[int(np.searchsorted(model.joints.row_start, found.worst, side="right")) - 1]
        out.append(f"joint {joint!r} was open by {found.error:.3g} (m or rad) before the step: {_ADVICE}")
    if found.depth > _DEEP:
        first, second = (_owner(model, int(shapes.owner[s])) for s in contacts.shapes[found.deepest])
        out.append(
            f"{first!r} and {second!r} overlap by {-contacts.gap[found.deepest]:.3g} m, {found.depth:.2g} of the "
            "smaller one's radius: shorten the step, or mend the start"
        )
    if h * found.spin > _TURN:
        out.append(
            f"body {model.body_names[found.fastest]!r} turns by {h * found.spin:.3g} rad in the step: shorten it below "
            f"{1.0 / found.spin:.2g} s"
        )
    return tuple(out)


_ADVICE = "shorten the step, or look whether drives and joints ask for the impossible"
_NONE, _ALL = np.empty(0), np.empty(0, bool)


def _owner(model: Model, owner: int) -> str:
    return model.fixed_names[owner - FIXTURES] if owner >= FIXTURES else model.body_names[owner]


def _block(model: Model, rows: Rows, block: int) -> str:
    """What a block of rows belongs to, in words."""
    name = rows.names[block]
    kind, number = (name >> _KIND) << _KIND, int(name & _NUMBER)
    if kind == JOINT:
        return f"joint {model.joints.names[number]!r}"
    if kind == LIMIT:
        return f"the limits of {model.freedoms.coordinate_names[number // 2]!r}"
    if kind == FRICTION:
        return f"the friction of {model.freedoms.coordinate_names[number]!r}"
    pair = [repr(model.body_names[b]) if b >= 0 else "what is fixed" for b in rows.bodies[block]]
    return f"the contact of {pair[0]} and {pair[1]}"


class Signs(NamedTuple):
    """What `examine` finds."""

    gained: float  # work of hard constraints, as far as the energy grew [J]
    bearable: float  # how much of it raises no question [J]
    culprit: int  # block that did most, or −1
    spin: float  # fastest [rad/s]
    fastest: int  # its body
    depth: float  # of the deepest contact, in radii
    deepest: int  # its number
    error: float  # worst of a hard joint [m, rad]
    worst: int  # its row


class SolvedBlocks(NamedTuple):
    """Rows of a step that is over, by block."""

    names: np.ndarray  # (blocks,)
    start: np.ndarray  # (blocks + 1,)
    bodies: np.ndarray  # (blocks, 2)
    rows: np.ndarray  # (m, 12)
    compliance: np.ndarray  # (m,), or empty: all are hard


@njit(cache=True, **NO_REFCOUNT)
def is_suspicious(signs, closes, h):
    """Is a sentence due?  signs: fields of `Signs`; closes: are joints closed after each step?"""
    of = Signs(*signs)
    is_open = of.error > (_OPEN if closes else _OPEN_UNCLOSED)
    return of.gained > of.bearable or is_open or of.depth > _DEEP or h * of.spin > _TURN


@njit(cache=True, **NO_REFCOUNT)
def examine(body, h, before, after, blocks, reactions, contact, joints):
    """Fields of `Signs`.

    body: fields of `Bodies`; before, after: poses (n_b, 7) and velocities (n_b, 6); blocks: fields of `SolvedBlocks`;
    reactions: (m,); contact: gaps and shapes of the contacts, radii and `surface` of all shapes; joints: errors
    (m_j,), and which of them are of hard joints, or empty: all."""
    (mass, inertia, _, _, gravity), (q, u), (new_q, new_u), of = body, before, after, SolvedBlocks(*blocks)
    total = 0.0
    kinetic, grown, spin, fastest = 0.0, 0.0, 0.0, -1
    for b in range(len(mass)):
        old, new = _kinetic(mass[b], inertia[b], q[b], u[b]), _kinetic(mass[b], inertia[b], new_q[b], new_u[b])
        kinetic += old + new
        grown += new - old
        for i in range(3):
            grown -= mass[b] * gravity[i] * (new_q[b, i] - q[b, i])
        total += mass[b]
        turn = math.sqrt(new_u[b, 3] ** 2 + new_u[b, 4] ** 2 + new_u[b, 5] ** 2)
        if turn > spin:
            spin, fastest = turn, b
    gained, culprit, most = 0.0, -1, 0.0
    for k in range(len(of.names)):
        kind = (of.names[k] >> _KIND) << _KIND
        if kind != JOINT and kind != LIMIT and kind != CONTACT and kind != FRICTION:
            continue
        done = 0.0
        for r in range(of.start[k], of.start[k + 1]):
            if kind != FRICTION and len(of.compliance) > 0 and of.compliance[r] > 0.0:
                continue  # a spring may give back what it took
            rate = 0.0
            for s in range(2):
                b = of.bodies[k, s]
                if b >= 0:
                    for i in range(6):
                        rate += of.rows[r, 6 * s + i] * (u[b, i] + new_u[b, i])
            done += 0.5 * reactions[r] * rate
        gained += done
        if done > most:
            most, culprit = done, k
    gap, shapes, radius, surface = contact
    depth, deepest = 0.0, -1
    for c in range(len(gap)):
        if gap[c] < 0.0:
            a, b = shapes[c, 0], shapes[c, 1]
            size = min(radius[a] - surface[a, 0], radius[b] - surface[b, 0])
            if -gap[c] > depth * size:
                depth, deepest = -gap[c] / size, c
    residual, hard = joints
    error, worst = 0.0, -1
    for r in range(len(residual)):
        if (len(hard) == 0 or hard[r]) and abs(residual[r]) > error:
            error, worst = abs(residual[r]), r
    fall = h * math.sqrt(gravity[0] ** 2 + gravity[1] ** 2 + gravity[2] ** 2)
    bearable = _GAINED * kinetic + 0.5 * total * max(min(_FALLS * fall, _SLOW), _STILL) ** 2
    # Work at the mean of both velocities takes a ball that fell and bounced within the step for one that was thrown.
    return min(gained, grown), bearable, culprit, spin, fastest, depth, deepest, error, worst


@njit(cache=True, **NO_REFCOUNT)
def _kinetic(mass, T, pose, twist):
    """½ m v² + ½ ω·Θω of one body [J]."""
    w, x, y, z = pose[3], -pose[4], -pose[5], -pose[6]  # world → body
    a, b, c = twist[3], twist[4], twist[5]
    s, t, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    l0, l1, l2 = a + w * s + y * r - z * t, b + w * t + z * s - x * r, c + w * r + x * t - y * s
    turning = (
        l0 * (T[0, 0] * l0 + T[0, 1] * l1 + T[0, 2] * l2)
        + l1 * (T[1, 0] * l0 + T[1, 1] * l1 + T[1, 2] * l2)
        + l2 * (T[2, 0] * l0 + T[2, 1] * l1 + T[2, 2] * l2)
    )
    return 0.5 * (mass * (twist[0] ** 2 + twist[1] ** 2 + twist[2] ** 2) + turning)
