"""Signs that a step went wrong although its problem was solved: energy from nowhere, open joints, deep overlaps, spins
that the step is too long for. Each is one plain sentence with names, sizes and what to do.

The judge says whether the one-step problem is solved; whether the problem made sense is another question. A kernel of a
few microseconds looks; words are made only where it finds something.
"""

import math

import numpy as np

from delassus.collision import Contacts
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
    model: Model, before: State, after: State, rows: Rows, solution: Solution, contacts: Contacts,
    hard_rows: np.ndarray | None, closes: bool, settings: StepSettings,
) -> tuple[str, ...]:  # fmt: skip
    """What is suspicious about a step, in sentences; empty for nearly all."""
    shapes, rigid = model.shapes, len(contacts)
    if rows.nodes is not None:  # flexible surfaces, which have no radius, come last
        rigid = int((contacts.shapes < shapes.count).all(axis=1).sum())
    gained, bearable, culprit, spin, fastest, depth, deepest, error, worst = examine(
        model.mass, model.inertia, model.gravity, settings.h, before.u, after.u, before.q, after.q, rows.names,
        rows.cone.block_start, rows.bodies, rows.rows, _NONE if rows.compliance is None else rows.compliance,
        solution.reactions, (contacts.gap[:rigid], contacts.shapes[:rigid], shapes.radius, shapes.surface),
        rows.residual[: model.joints.row_count], _ALL if hard_rows is None else hard_rows,
    )  # fmt: skip
    out: list[str] = []
    if not is_suspicious((gained, bearable, spin, depth, error), closes, settings.h):
        return ()
    if gained > bearable:
        out.append(
            f"energy grew by {gained:.3g} J that no drive, force or fall put in, most of it through "
            f"{_block(model, rows, culprit)}: {_ADVICE}"
        )
    if error > (_OPEN if closes else _OPEN_UNCLOSED):
        joint = int(np.searchsorted(model.joints.row_start, worst, side="right")) - 1
        out.append(f"joint {model.joints.names[joint]!r} was open by {error:.3g} (m or rad) before the step: {_ADVICE}")
    if depth > _DEEP:
        first, second = (_owner(model, int(shapes.owner[s])) for s in contacts.shapes[deepest])
        out.append(
            f"{first!r} and {second!r} overlap by {-contacts.gap[deepest]:.3g} m, {depth:.2g} of the smaller one's "
            "radius: shorten the step, or mend the start"
        )
    if settings.h * spin > _TURN:
        out.append(
            f"body {model.body_names[fastest]!r} turns by {settings.h * spin:.3g} rad in the step: shorten it below "
            f"{1.0 / spin:.2g} s"
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


@njit(cache=True, **NO_REFCOUNT)
def is_suspicious(found, closes, h):
    """Is a sentence due?  found: work of hard constraints and how much of it raises no question [J], fastest spin
    [rad/s], deepest contact in radii, worst error of a hard joint; closes: are joints closed after each step?"""
    gained, bearable, spin, depth, error = found
    return gained > bearable or error > (_OPEN if closes else _OPEN_UNCLOSED) or depth > _DEEP or h * spin > _TURN


@njit(cache=True, **NO_REFCOUNT)
def examine(
    mass, inertia, gravity, h, u, new_u, q, new_q, names, start, bodies, rows, compliance, reactions, contact, residual,
    hard,
):  # fmt: skip
    """(work of hard constraints, as far as the energy grew [J], how much of it raises no question [J], the block that
    did most; fastest spin [rad/s] and its body; deepest contact, in radii, and its number; worst error of a hard joint
    and its row)."""
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
    for k in range(len(names)):
        kind = (names[k] >> _KIND) << _KIND
        if kind != JOINT and kind != LIMIT and kind != CONTACT and kind != FRICTION:
            continue
        done = 0.0
        for r in range(start[k], start[k + 1]):
            if kind != FRICTION and len(compliance) > 0 and compliance[r] > 0.0:
                continue  # a spring may give back what it took
            rate = 0.0
            for s in range(2):
                b = bodies[k, s]
                if b >= 0:
                    for i in range(6):
                        rate += rows[r, 6 * s + i] * (u[b, i] + new_u[b, i])
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
