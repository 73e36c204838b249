"""Steps as columns: what of a step is kept, under which name.

Per step (N,): t [s]; q (n_b, 7), u (n_b, 6), turns (n_d,) of joint angles after it; energy (2,) kinetic and potential
[J]; drift [m, rad]; penetration [m]; warnings, how many; solver/…; times/<stage> [s]; joints/reaction (rows,),
joints/drive, joints/friction, all impulse / h [N, N m]; joints/coordinate [m, rad], turns counted, where the rows were
evaluated; contacts/count and limits/count.
Per contact and per limit, one step after the other: contacts/… and limits/….
Reactions of steps whose masses need two doubles each, all rows in the order of the problem: exact/high, exact/low [N s]
and exact/count, zero for other steps.

A step goes into its rows in one compiled call: recording must cost little beside a small step.
"""

import math
from collections.abc import Sequence

import numpy as np

from delassus.collision import Contacts
from delassus.dynamics import energy_of
from delassus.kernel import njit
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepReport
from delassus.status import Status

OPEN, STICK, SLIP = 0, 1, 2
"""What a contact does: no force; force and no motion along the surface; force at the cone's edge and motion."""

NUMBERS = 7
"""Per step: t [s], kinetic and potential energy [J], drift [m, rad], penetration [m], relative natural map [-], worst
velocity [m/s]; then the seconds of its stages."""
COUNTS = 4
"""Per step: warnings, status, solver by number, iterations; then contacts, limits and exact reactions that it has."""
POINT, NORMAL, FORCE, SLIDE, GAP, MU = 0, 3, 6, 9, 12, 13
"""Columns of what is kept of a contact; it has 14 in all."""
_EDGE = 1e-6  # a reaction this near the cone's edge, relatively, is on it
_LOW_BITS = np.uint64((1 << 61) - 1)  # of a block's name: the number within its kind

STATUSES = tuple(Status)
_NUMBER_OF = {status: k for k, status in enumerate(STATUSES)}
_NAME_LENGTH = 32  # characters of a solver's name
_ROOM = 64  # steps there is room for at first
_EMPTY = np.zeros(0)


class Columns:
    """Collects steps in arrays that grow by doubling; `arrays()` gives what there is as one array per name."""

    def __init__(self, model: Model, state: State, h: float):
        self.model = model
        self.h = h
        self.start = state
        self._stages: tuple[str, ...] = ()
        self._solvers: dict[str, int] = {}
        self._filled = (0, 0, 0, 0)  # rows of steps, contacts, limits, exact reactions
        self._touching: tuple[np.ndarray, ...] = _contact_room(_ROOM)
        self._limits: tuple[np.ndarray, ...] = (np.empty((_ROOM, 2), np.int32), np.empty(_ROOM))
        self._exact = np.empty((_ROOM, 2))
        self._steps: tuple[np.ndarray, ...] = ()

    @property
    def count(self) -> int:
        """Steps that are kept."""
        return self._filled[0]

    @property
    def bytes(self) -> int:
        """How much is kept."""
        size = self.count * sum(array[:1].nbytes for array in self._steps)
        groups: tuple[Sequence[np.ndarray], ...] = (self._touching, self._limits, (self._exact,))
        return size + sum(n * sum(a[:1].nbytes for a in group) for n, group in zip(self._filled[1:], groups))

    def add(self, state: State, report: StepReport) -> None:
        """Keep one step. All or nothing: an interrupt cannot leave half a step behind."""
        solution, rows, contacts = report.solution, report.rows, report.contacts
        cone, low, found = rows.cone, solution.reactions_low, solution.residuals
        if not self._steps:
            self._begin(report)
        steps, touching, limited, exact = self._filled
        after = steps + 1, touching + len(contacts.gap), limited + cone.unilateral, exact
        after = after if low is None else (*after[:3], exact + len(low))
        self._make_room(*after)
        numbers = np.array(
            (state.t, *report.energy, report.drift, report.penetration + 0.0, found.natural_map_relative,
             found.worst_velocity, *report.times.values())
        )  # fmt: skip
        solver = self._solvers.setdefault(solution.solver, len(self._solvers))
        counts = np.array((len(report.warnings), _NUMBER_OF[solution.status], solver, solution.iterations))
        sizes = (len(rows.residual), rows.friction_count, cone.bilateral_rows, cone.bilateral.size, cone.unilateral)
        solved = (self.h, found.worst_velocity, solution.reactions, solution.velocities, rows.coordinates)
        keep_step(
            self._filled, (state.q, state.u, state.turns), numbers, counts, sizes, solved, rows.names,
            _plain(contacts), _EMPTY if low is None else low, self._steps, self._touching, self._limits, self._exact,
        )  # fmt: skip
        self._filled = after

    def clear(self, state: State) -> None:
        """Forget the steps; what comes next starts from this state."""
        self.start = state
        self._filled = (0, 0, 0, 0)

    def _begin(self, report: StepReport) -> None:
        """Room for steps, whose sizes a model's steps all share."""
        bodies, free = self.model.body_count, self.model.joints.coordinate_count
        joint_rows, rubbing = len(report.rows.residual), report.rows.friction_count
        driven = report.rows.cone.bilateral_rows - joint_rows - rubbing
        self._stages = tuple(report.times)
        self._steps = (
            np.empty((_ROOM, NUMBERS + len(self._stages))), np.empty((_ROOM, COUNTS + 3), np.int64),
            np.empty((_ROOM, bodies, 7)), np.empty((_ROOM, bodies, 6)), np.empty((_ROOM, free), np.int64),
            np.empty((_ROOM, joint_rows)), np.empty((_ROOM, driven)), np.empty((_ROOM, rubbing)),
            np.empty((_ROOM, free)),
        )  # fmt: skip

    def _make_room(self, steps: int, touching: int, limits: int, exact: int) -> None:
        if steps > len(self._steps[0]):
            self._steps = _grown(self._steps, steps)
        if touching > len(self._touching[0]):
            self._touching = _grown(self._touching, touching)
        if limits > len(self._limits[0]):
            self._limits = _grown(self._limits, limits)
        if exact > len(self._exact):
            (self._exact,) = _grown((self._exact,), exact)

    def arrays(self) -> dict[str, np.ndarray]:
        """One array per name, steps (or contacts, limits) first."""
        if not self.count:
            return {}
        n, c, m, e = self._filled
        numbers, counts, q, u, turns, joint, drive, friction, coordinate = (a[:n] for a in self._steps)
        names = np.array([name.ljust(_NAME_LENGTH)[:_NAME_LENGTH].encode() for name in self._solvers])
        out = {
            "t": numbers[:, 0], "q": q, "u": u, "turns": turns, "energy": numbers[:, 1:3], "drift": numbers[:, 3],
            "penetration": numbers[:, 4], "warnings": counts[:, 0].astype(np.uint8),
            "solver/status": counts[:, 1].astype(np.uint8), "solver/name": names[counts[:, 2]],
            "solver/iterations": counts[:, 3], "solver/natural_map_relative": numbers[:, 5],
            "solver/worst_velocity": numbers[:, 6], "joints/reaction": joint, "joints/drive": drive,
            "joints/friction": friction, "joints/coordinate": coordinate,
            "contacts/count": counts[:, COUNTS].astype(np.int32),
            "limits/count": counts[:, COUNTS + 1].astype(np.int32),
            **_contact_columns(*(a[:c] for a in self._touching)),
            "limits/coordinate": self._limits[0][:m, 0], "limits/is_upper": self._limits[0][:m, 1].astype(np.uint8),
            "limits/force": self._limits[1][:m], "exact/count": counts[:, COUNTS + 2].astype(np.int32),
            "exact/high": self._exact[:e, 0], "exact/low": self._exact[:e, 1],
        }  # fmt: skip
        out |= {f"times/{stage}": numbers[:, NUMBERS + k] for k, stage in enumerate(self._stages)}
        return {name: np.array(array, order="C") for name, array in out.items()}


def _grown(arrays: tuple[np.ndarray, ...], least: int) -> tuple[np.ndarray, ...]:
    """With room for at least so many rows, twice as many as before; rows that are filled stay."""
    room = max(least, 2 * len(arrays[0]))
    out = tuple(np.empty((room, *array.shape[1:]), array.dtype) for array in arrays)
    for new, old in zip(out, arrays):
        new[: len(old)] = old
    return out


def _contact_room(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty((n, 3), np.int32), np.empty((n, MU + 1)), np.empty(n, np.uint64)


def _plain(contacts: Contacts) -> tuple[np.ndarray, ...]:
    return contacts.bodies, contacts.point, contacts.frame, contacts.gap, contacts.mu, contacts.feature


def _contact_columns(where: np.ndarray, what: np.ndarray, feature: np.ndarray) -> dict[str, np.ndarray]:
    starts = {"point": POINT, "normal": NORMAL, "force": FORCE, "slip": SLIDE}
    vectors = {f"contacts/{name}": what[:, first : first + 3] for name, first in starts.items()}
    return {
        "contacts/bodies": where[:, :2], **vectors, "contacts/gap": what[:, GAP], "contacts/mu": what[:, MU],
        "contacts/status": where[:, 2].astype(np.uint8), "contacts/feature": feature,
    }  # fmt: skip


def contact_columns(report: StepReport) -> dict[str, np.ndarray]:
    """What contacts did in one step, under the names of this module."""
    solution, room = report.solution, _contact_room(len(report.contacts))
    worst, first = solution.residuals.worst_velocity, report.rows.cone.contact_start
    keep_contacts(
        _plain(report.contacts), solution.reactions, solution.velocities, first, report.h, worst, 0, room
    )  # fmt: skip
    return _contact_columns(*room)


def is_ragged(name: str) -> bool:
    """Does this column have a varying number of entries per step?"""
    return name.startswith(("contacts/", "limits/", "exact/")) and not name.endswith("/count")


def start_arrays(model: Model, state: State) -> dict[str, np.ndarray]:
    """The state that the first step starts from, with its energy."""
    energy = energy_of(model, state.rotation, state.q, state.u)
    return {
        "start/t": np.array([state.t]), "start/q": state.q, "start/u": state.u, "start/energy": np.array(energy),
        "start/turns": model.joints.turns_of(state.turns),
    }  # fmt: skip


def memory_arrays(memory: Memory | None) -> dict[str, np.ndarray]:
    """What the next solve starts from."""
    if memory is None:
        return {}
    return {f"memory/{name}": array for name, array in vars(memory).items() if array is not None}


@njit(cache=True, error_model="numpy")
def keep_step(at, state, numbers, counts, sizes, solved, names, contacts, low, steps, touching, limits, exact):
    """Write a step into row at[0] of its columns, its contacts, limits and exact reactions from rows at[1], at[2] and
    at[3] on; there must be room.

    state: q (n_b, 7), u (n_b, 6), turns (n_d,); numbers: NUMBERS and seconds; counts: (COUNTS,); sizes: rows of joints,
    of their friction, bilateral rows and blocks, limits; solved: h [s], worst velocity [m/s], reactions and velocities
    (m,), coordinates (n_d,); names: (blocks,); contacts: bodies, point, frame, gap, mu, feature; low: (m,) second
    doubles, or empty.
    Written: steps: numbers, counts, q, u, turns, then impulse / h of joints, drives, friction, and coordinates;
    touching: bodies and status (…, 3), numbers (…, 14), feature; limits: coordinate and side (…, 2), force; exact:
    (…, 2)."""
    k = at[0]
    joint_rows, rubbing, bilateral, blocks, unilateral = sizes
    h, worst, reactions, velocities, coordinates = solved
    all_numbers, all_counts, q, u, turns, joint, drive, friction, coordinate = steps
    for i in range(len(numbers)):
        all_numbers[k, i] = numbers[i]
    for i in range(COUNTS):
        all_counts[k, i] = counts[i]
    all_counts[k, COUNTS] = len(contacts[3])
    all_counts[k, COUNTS + 1] = unilateral
    all_counts[k, COUNTS + 2] = len(low)
    for b in range(q.shape[1]):
        for i in range(7):
            q[k, b, i] = state[0][b, i]
        for i in range(6):
            u[k, b, i] = state[1][b, i]
    for d in range(turns.shape[1]):
        turns[k, d] = state[2][d]
        coordinate[k, d] = coordinates[d]
    for r in range(joint_rows):
        joint[k, r] = reactions[r] / h
    for r in range(joint_rows, bilateral - rubbing):
        drive[k, r - joint_rows] = reactions[r] / h
    for r in range(bilateral - rubbing, bilateral):
        friction[k, r - bilateral + rubbing] = reactions[r] / h
    for i in range(unilateral):
        number = names[blocks + i] & _LOW_BITS  # 2·coordinate + side (dynamics/rows.py)
        limits[0][at[2] + i, 0], limits[0][at[2] + i, 1] = number // np.uint64(2), number % np.uint64(2)
        limits[1][at[2] + i] = reactions[bilateral + i] / h
    keep_contacts(contacts, reactions, velocities, bilateral + unilateral, h, worst, at[1], touching)
    for r in range(len(low)):
        exact[at[3] + r, 0], exact[at[3] + r, 1] = reactions[r], low[r]


@njit(cache=True, error_model="numpy")
def keep_contacts(contacts, reactions, velocities, first, h, worst, row, out):
    """What contacts did in a step, from this row on: forces [N] and slips [m/s] in the world frame, of the second body
    against the first.  first: row of the problem; worst: velocity [m/s] that is as good as none."""
    bodies, point, frame, gap, mu, feature = contacts
    where, what, features = out
    for c in range(len(gap)):
        r, k = first + 3 * c, row + c
        n, t1, t2 = reactions[r] / h, reactions[r + 1] / h, reactions[r + 2] / h
        v1, v2 = velocities[r + 1], velocities[r + 2]
        for i in range(3):
            what[k, POINT + i] = point[c, i]
            what[k, NORMAL + i] = frame[c, 0, i]
            what[k, FORCE + i] = n * frame[c, 0, i] + t1 * frame[c, 1, i] + t2 * frame[c, 2, i]
            what[k, SLIDE + i] = v1 * frame[c, 1, i] + v2 * frame[c, 2, i]
        what[k, GAP], what[k, MU] = gap[c], mu[c]
        where[k, 0], where[k, 1] = bodies[c, 0], bodies[c, 1]
        at_edge = math.hypot(t1, t2) >= (1.0 - _EDGE) * mu[c] * n
        where[k, 2] = OPEN if n <= 0.0 else SLIP if at_edge and math.hypot(v1, v2) > worst else STICK
        features[k] = feature[c]
