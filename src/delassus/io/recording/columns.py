"""Steps as columns: what of a step is kept, under which name.

Per step (N,): t [s]; q (n_b, 7), u (n_b, 6), turns (n_d,) of joint angles after it; energy (2,) kinetic and potential
[J]; drift [m, rad]; penetration [m]; warnings, how many; solver/…; times/<stage> [s]; joints/reaction (rows,),
joints/drive, joints/friction, all impulse / h [N, N m], the latter two of tendons after those of joints;
joints/coordinate [m, rad], turns counted, where the rows were evaluated; contacts/count and limits/count.
Per contact and per limit, one step after the other: contacts/… and limits/…; limits/coordinate counts on from those of
joints to tendons (`Model.freedoms`).
Reactions of steps whose masses need two doubles each, all rows in the order of the problem: exact/high, exact/low [N s]
and exact/count, zero for other steps.

Flexible bodies have columns of their own: nodes.py.

Steps that were taken many in one compiled call have no seconds by stage: not a number.
"""

import math
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from delassus.dynamics.forces import total_energy
from delassus.io.recording import nodes
from delassus.io.recording.keeping import (
    COUNTS,
    NUMBERS,
    Counts,
    Room,
    Solved,
    StepColumns,
    TouchingColumns,
    add_energies,
    keep_contacts,
    keep_step,
    keep_taken,
)
from delassus.model.model import Model
from delassus.model.state import State
from delassus.residuals import data_at, fill_contact_errors, of_contacts
from delassus.simulation import Memory, StepReport
from delassus.status import Status

STATUSES = tuple(Status)
_NUMBER_OF = {status: k for k, status in enumerate(STATUSES)}
_AHEAD = 256  # steps that may be kept in one call
_NAME_LENGTH = 32  # characters of a solver's name
_ROOM = 64  # steps there is room for at first
STAGES = ("collision", "assembly", "solve", "advance")
"""Of a step, in their order."""
_OF_COMPILED = "prox-ssn"  # what solves steps that compiled code takes
_EMPTY = np.zeros(0)
_OF_CONTACTS = ("bodies", "status", "point", "normal", "force", "slip", "gap", "mu", "feature")
JUDGED = ("contacts/residual", "contacts/residual_relative")
"""What each contact adds to the worst velocity of its step, as the judge measures it (`residuals.of_contacts`) [m/s],
and over the velocities around it [-]; not a number in penalty steps, which nobody judges. Four bytes each: seven digits
of an error are enough. Recordings of older versions do not have these columns."""

Arrays = tuple[Any, ...]


class Columns:
    """Collects steps in arrays that grow by doubling; `arrays()` gives what there is as one array per name."""

    def __init__(self, model: Model, state: State, h: float):
        self.model = model
        self.h = h
        self.start = state
        self.filled = (0, 0, 0, 0)  # rows of steps, contacts, limits, exact reactions
        self._solvers: dict[str, int] = {}
        self._touching: tuple[np.ndarray, ...] = _contact_room(_ROOM)
        self._limits: tuple[np.ndarray, ...] = (np.empty(_ROOM, np.int32), np.empty(_ROOM, np.uint8), np.empty(_ROOM))
        self._exact = np.empty((_ROOM, 2))
        self._steps = _step_room(model, _ROOM)
        self._nodes: tuple[np.ndarray, ...] = ()  # of steps, and of contacts, where something is flexible
        self._node_contacts: tuple[np.ndarray, ...] = ()
        if model.flexible is not None:
            self._nodes, self._node_contacts = nodes.step_room(model, _ROOM), nodes.contact_room(model, _ROOM)
        self._room: Arrays | None = None  # for compiled code: the same tuple as long as its arrays are
        self._written = np.zeros(4, np.int64)  # rows that compiled code has come to
        self._numbers, self._counts = np.full(NUMBERS + len(STAGES), math.nan), np.zeros(COUNTS, np.int64)

    @property
    def count(self) -> int:
        """Steps that are kept."""
        return self.filled[0]

    @property
    def bytes(self) -> int:
        """How much is kept."""
        size = self.count * sum(array[:1].nbytes for array in (*self._steps, *self._nodes))
        touching = (*self._touching, *self._node_contacts)
        groups: tuple[Sequence[np.ndarray], ...] = (touching, self._limits, (self._exact,))
        return size + sum(n * sum(a[:1].nbytes for a in group) for n, group in zip(self.filled[1:], groups))

    def add(self, state: State, report: StepReport, memory: Memory | None = None) -> None:
        """Keep one step, but what it remembers. All or nothing: an interrupt cannot leave half a step behind."""
        solution, rows, contacts = report.solution, report.rows, report.contacts
        cone, low, found = rows.cone, solution.reactions_low, solution.residuals
        steps, touching, limited, exact = self.filled
        after = steps + 1, touching + len(contacts.gap), limited + cone.unilateral, exact
        after = after if low is None else (*after[:3], exact + len(low))
        self._make_room(*after)
        natural_map, worst = found.natural_map_relative, found.worst_velocity
        penetration, seconds = report.penetration + 0.0, report.times.values()
        numbers = np.array((state.t, *report.energy, report.drift, penetration, natural_map, worst, *seconds))
        solver = self._solvers.setdefault(solution.solver, len(self._solvers))
        counts = np.array((len(report.warnings), _NUMBER_OF[solution.status], solver, solution.iterations))
        room = Room(self._written, numbers, counts, self._steps, self._touching, self._limits, self._exact)
        sizes = Counts(
            len(rows.residual), rows.friction_count, cone.bilateral_rows, cone.bilateral.size, cone.unilateral
        )
        place = state.q, state.u, state.turns
        keep_step(self.filled, place, tuple(sizes), _solved(report, self.h), contacts.data, tuple(room))
        _keep_residuals(report, touching, self._touching)
        if self._nodes:
            nodes.keep_nodes(self.model, state, report, steps, touching, self._nodes, self._node_contacts)
        self.filled = after

    def keeper(self, steps: int, contacts: int) -> tuple[Any, Arrays]:
        """What keeps so many more steps, with so many contacts each at most, as they are taken in compiled code: a
        kernel, and what it writes to. They count once `filled` is set to what is `written` then."""
        done, touching, limited, exact = self.filled
        limits = self.model.joints.limit_count
        self._make_room(done + steps, touching + steps * contacts, limited + steps * limits, exact)
        self._written[:] = self.filled
        self._counts[1] = _NUMBER_OF[Status.CONVERGED]
        self._counts[2] = self._solvers.setdefault(_OF_COMPILED, len(self._solvers))
        if self._room is None:
            rows = self._steps, self._touching, self._limits, self._exact
            self._room = tuple(Room(self._written, self._numbers, self._counts, *rows))
        return keep_taken, self._room

    def written(self) -> tuple[int, int, int, int]:
        """Rows that are filled by now, those included that compiled code has written since `keeper`, whose energies are
        completed: to be asked for once."""
        steps, touching, limited, exact = self._written.tolist()
        joints = self.model.joints
        if joints.any_energy:
            add_energies(joints.row_data, joints.coordinate_data, self.filled[0], steps, self._steps)
        return steps, touching, limited, exact

    ahead = _AHEAD

    def add_taken(self, steps: int, state: Callable[[], State], memory: Memory) -> None:
        """The steps that the `keeper` has kept count from now on."""
        self.filled = self.written()

    def clear(self, state: State) -> None:
        """Forget the steps; what comes next starts from this state."""
        self.start = state
        self.filled = (0, 0, 0, 0)

    def _make_room(self, steps: int, touching: int, limits: int, exact: int) -> None:
        filled = self.filled
        before = self._steps, self._touching, self._limits, self._exact
        if steps > len(self._steps[0]):
            self._steps = _grown(self._steps, filled[0], steps)
            self._nodes = _grown(self._nodes, filled[0], steps)
        if touching > len(self._touching[0]):
            self._touching = _grown(self._touching, filled[1], touching)
            self._node_contacts = _grown(self._node_contacts, filled[1], touching)
        if limits > len(self._limits[0]):
            self._limits = _grown(self._limits, filled[2], limits)
        if exact > len(self._exact):
            (self._exact,) = _grown((self._exact,), filled[3], exact)
        if not all(map(is_, before, (self._steps, self._touching, self._limits, self._exact))):
            self._room = None

    def arrays(self) -> dict[str, np.ndarray]:
        """One array per name, steps (or contacts, limits) first; what is added or cleared later may change them."""
        if not self.count:
            return {}
        n, c, m, e = self.filled
        of = StepColumns(*(array[:n] for array in self._steps))
        numbers, counts = of.numbers, of.counts
        names = np.array([name.ljust(_NAME_LENGTH)[:_NAME_LENGTH].encode() for name in self._solvers])
        out = {
            "t": numbers[:, 0],
            "q": of.q,
            "u": of.u,
            "turns": of.turns,
            "energy": numbers[:, 1:3],
            "drift": numbers[:, 3],
            "penetration": numbers[:, 4],
            "warnings": counts[:, 0].astype(np.uint8),
            "solver/status": counts[:, 1].astype(np.uint8),
            "solver/name": names[counts[:, 2]],
            "solver/iterations": counts[:, 3],
            "solver/natural_map_relative": numbers[:, 5],
            "solver/worst_velocity": numbers[:, 6],
            "joints/reaction": of.joint,
            "joints/drive": of.drive,
            "joints/friction": of.friction,
            "joints/coordinate": of.coordinate,
            "contacts/count": counts[:, COUNTS].astype(np.int32),
            "limits/count": counts[:, COUNTS + 1].astype(np.int32),
            **_contact_columns(*(a[:c] for a in self._touching)),
            "limits/coordinate": self._limits[0][:m],
            "limits/is_upper": self._limits[1][:m],
            "limits/force": self._limits[2][:m],
            "exact/count": counts[:, COUNTS + 2].astype(np.int32),
            "exact/high": self._exact[:e, 0],
            "exact/low": self._exact[:e, 1],
        }
        out |= {f"times/{stage}": numbers[:, NUMBERS + k] for k, stage in enumerate(STAGES)}
        out |= {name: array[:n] for name, array in zip(nodes.OF_STEPS, self._nodes)}
        out |= {name: array[:c] for name, array in zip(nodes.OF_CONTACTS, self._node_contacts)}
        return {name: np.ascontiguousarray(array) for name, array in out.items()}


def _grown(arrays: Arrays, filled: int, least: int) -> Arrays:
    """With room for at least so many rows, twice as many as before; rows that are filled stay. The others are not
    touched: room for as many contacts as there can be costs no memory until they are there."""
    room = max(least, 2 * len(arrays[0])) if arrays else 0
    out = tuple(np.empty((room, *array.shape[1:]), array.dtype) for array in arrays)
    for new, old in zip(out, arrays):
        new[:filled] = old[:filled]
    return out


def _step_room(model: Model, n: int) -> Arrays:
    """For n steps, whose sizes a model's steps all share."""
    bodies, joints, freedoms = model.body_count, model.joints, model.freedoms
    free = joints.coordinate_count
    columns = StepColumns(
        np.empty((n, NUMBERS + len(STAGES))),
        np.empty((n, COUNTS + 3), np.int64),
        np.empty((n, bodies, 7)),
        np.empty((n, bodies, 6)),
        np.empty((n, free), np.int64),
        np.empty((n, joints.row_count)),
        np.empty((n, freedoms.driven_rows)),
        np.empty((n, freedoms.friction_count)),
        np.empty((n, free)),
    )
    return tuple(columns)


def _contact_room(n: int) -> Arrays:
    """In the order of `_OF_CONTACTS` and `JUDGED`. One array each, as files have them: rows of all numbers would have
    to be sorted into columns at every save."""
    columns = TouchingColumns(
        np.empty((n, 2), np.int32),
        np.empty(n, np.uint8),
        point=np.empty((n, 3)),
        normal=np.empty((n, 3)),
        force=np.empty((n, 3)),
        slip=np.empty((n, 3)),
        gap=np.empty(n),
        mu=np.empty(n),
        feature=np.empty(n, np.uint64),
        natural_map=np.empty(n, np.float32),
        velocity=np.empty(n, np.float32),
    )
    return tuple(columns)


def _solved(report: StepReport, h: float) -> Arrays:
    """Fields of `Solved`."""
    of, rows = report.solution, report.rows
    low = _EMPTY if of.reactions_low is None else of.reactions_low
    worst = of.residuals.worst_velocity
    return tuple(Solved(h, worst, of.reactions, of.velocities, rows.coordinates, rows.names, low))


def _keep_residuals(report: StepReport, row: int, room: Arrays) -> None:
    """How well each contact of a step was solved, from this row on."""
    for part in report.pieces:
        _keep_residuals(part, row, room)
        row += len(part.contacts)
    solution, count = report.solution, len(report.contacts)
    if not count or report.pieces:
        return
    if solution.status is Status.PENALTY:
        room[9][row : row + count] = room[10][row : row + count] = math.nan
    elif solution.reactions_low is None:
        data = data_at(report.problem, solution.reactions)
        fill_contact_errors(solution.reactions, solution.velocities, data, count, row, room[9], room[10])
    else:
        found = of_contacts(report.problem, solution.reactions, solution.velocities, solution.reactions_low)
        room[9][row : row + count], room[10][row : row + count] = found.T


def _contact_columns(*columns: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip((*(f"contacts/{name}" for name in _OF_CONTACTS), *JUDGED), columns, strict=True))


def contact_columns(report: StepReport) -> dict[str, np.ndarray]:
    """What contacts did in one step, under the names of this module."""
    room, first = _contact_room(len(report.contacts)), report.rows.cone.contact_start
    keep_contacts(report.contacts.data, _solved(report, report.h), first, 0, room)
    _keep_residuals(report, 0, room)
    return _contact_columns(*room)


def is_ragged(name: str) -> bool:
    """Does this column have a varying number of entries per step?"""
    return name.startswith(("contacts/", "limits/", "exact/")) and not name.endswith("/count")


def start_arrays(model: Model, state: State) -> dict[str, np.ndarray]:
    """The state that the first step starts from, with its energy."""
    soft = {"start/nodes": state.nodes, "start/node_velocity": state.node_velocity} if model.node_count else {}
    return {
        "start/t": np.array([state.t]),
        "start/q": state.q,
        "start/u": state.u,
        "start/energy": np.array(total_energy(model, state)),
        "start/turns": model.joints.turns_of(state.turns),
        **soft,
    }


def memory_arrays(memory: Memory | None) -> dict[str, np.ndarray]:
    """What the next solve starts from."""
    if memory is None:
        return {}
    return {f"memory/{name}": array for name, array in vars(memory).items() if array is not None}
