"""Steps as columns: what of a step is kept, under which name.

Per step (N,): t [s]; q (n_b, 7), u (n_b, 6), turns (n_d,) of joint angles after it; energy (2,) kinetic and potential
[J]; drift [m, rad]; penetration [m]; warnings, how many; solver/…; times/<stage> [s]; joints/reaction (rows,),
joints/drive, joints/friction, all impulse / h [N, N m]; joints/coordinate [m, rad], turns counted, where the rows were
evaluated; contacts/count and limits/count.
Per contact and per limit, one step after the other: contacts/… and limits/….
Reactions of steps whose masses need two doubles each, all rows in the order of the problem: exact/high, exact/low [N s]
and exact/count, zero for other steps.
"""

from typing import Any

import numpy as np

from delassus.dynamics import energy_of
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepReport
from delassus.solvers import Solution
from delassus.status import Status

OPEN, STICK, SLIP = 0, 1, 2
"""What a contact does: no force; force and no motion along the surface; force at the cone's edge and motion."""

STATUSES = tuple(Status)
_LOW_BITS = np.uint64((1 << 61) - 1)  # of a block's name: the number within its kind
_EDGE = 1e-6  # a reaction this near the cone's edge, relatively, is on it

Record = dict[str, Any]

# Most steps of a mechanism have neither; a record then costs half.
_NO_CONTACTS: Record = {
    "contacts/bodies": np.zeros((0, 2), np.int32),
    "contacts/point": np.zeros((0, 3)),
    "contacts/normal": np.zeros((0, 3)),
    "contacts/force": np.zeros((0, 3)),
    "contacts/slip": np.zeros((0, 3)),
    "contacts/gap": np.zeros(0),
    "contacts/mu": np.zeros(0),
    "contacts/status": np.zeros(0, np.uint8),
    "contacts/feature": np.zeros(0, np.uint64),
}
_NO_LIMITS: Record = {
    "limits/coordinate": np.zeros(0, np.int32),
    "limits/is_upper": np.zeros(0, np.uint8),
    "limits/force": np.zeros(0),
}
_NOT_EXACT: Record = {"exact/count": np.int32(0), "exact/high": np.zeros(0), "exact/low": np.zeros(0)}


class Columns:
    """Collects steps; `arrays()` gives what there is as one array per name."""

    def __init__(self, model: Model, state: State, h: float):
        self.model = model
        self.h = h
        self.start = state
        self.records: list[Record] = []
        self.bytes = 0

    def add(self, state: State, report: StepReport) -> None:
        """Keep one step. All or nothing: an interrupt cannot leave half a step behind."""
        record = record_of(state, report, self.h)
        self.bytes += sum(value.nbytes for value in record.values() if isinstance(value, np.ndarray))
        self.records.append(record)

    def clear(self, state: State) -> None:
        """Forget the steps; what comes next starts from this state."""
        self.start, self.records, self.bytes = state, [], 0

    def arrays(self) -> dict[str, np.ndarray]:
        """One array per name, steps (or contacts, limits) first."""
        if not self.records:
            return {}
        out = {}
        for name in self.records[0]:
            parts = [record[name] for record in self.records]
            out[name] = np.concatenate(parts) if is_ragged(name) else np.array(parts)
        return out


def is_ragged(name: str) -> bool:
    """Does this column have a varying number of entries per step?"""
    return name.startswith(("contacts/", "limits/", "exact/")) and not name.endswith("/count")


def start_arrays(model: Model, state: State) -> dict[str, np.ndarray]:
    """The state that the first step starts from, with its energy."""
    energy = energy_of(model, state.rotation, state.position, state.u)
    return {
        "start/t": np.array([state.t]), "start/q": state.q, "start/u": state.u, "start/energy": np.array(energy),
        "start/turns": model.joints.turns_of(state.turns),
    }  # fmt: skip


def memory_arrays(memory: Memory | None) -> dict[str, np.ndarray]:
    """What the next solve starts from."""
    if memory is None:
        return {}
    return {f"memory/{name}": array for name, array in vars(memory).items() if array is not None}


def record_of(state: State, report: StepReport, h: float) -> Record:
    """One step under the names of this module."""
    solution, cone = report.solution, report.rows.cone
    impulses = solution.reactions / h
    joint_rows, rubbing = len(report.rows.residual), cone.bilateral_rows - report.rows.friction_count
    count = report.rows.contact_count
    record: Record = {
        "t": state.t,
        "q": state.q,
        "u": state.u,
        "turns": state.turns,
        "energy": np.array(report.energy),
        "drift": report.drift,
        "penetration": report.penetration + 0.0,
        "warnings": np.uint8(len(report.warnings)),
        "solver/status": np.uint8(STATUSES.index(solution.status)),
        "solver/name": np.bytes_(solution.solver.ljust(32)[:32]),
        "solver/iterations": np.int64(solution.iterations),
        "solver/natural_map_relative": solution.residuals.natural_map_relative,
        "solver/worst_velocity": solution.residuals.worst_velocity,
        "joints/reaction": impulses[:joint_rows],
        "joints/drive": impulses[joint_rows:rubbing],
        "joints/friction": impulses[rubbing : cone.bilateral_rows],
        "joints/coordinate": report.rows.coordinates,
        "contacts/count": np.int32(count),
        "limits/count": np.int32(cone.unilateral),
    }
    record |= contact_columns(report) | _limits(report, impulses) | _exact(solution)
    return record | {f"times/{stage}": seconds for stage, seconds in report.times.items()}


def contact_columns(report: StepReport) -> Record:
    """What contacts did in a step: forces [N] and slips [m/s] in the world frame, of the second body against the
    first."""
    contacts, solution = report.contacts, report.solution
    start = report.rows.cone.contact_start
    force = solution.reactions[start:].reshape(-1, 3) / report.h
    if not len(force):
        return _NO_CONTACTS
    v = solution.velocities[start : start + 3 * len(force)].reshape(-1, 3)
    slip = np.einsum("ni,nij->nj", v[:, 1:], contacts.frame[:, 1:])
    at_edge = np.hypot(force[:, 1], force[:, 2]) >= (1.0 - _EDGE) * contacts.mu * force[:, 0]
    moves = np.hypot(v[:, 1], v[:, 2]) > solution.residuals.worst_velocity
    status = np.where(force[:, 0] <= 0.0, OPEN, np.where(at_edge & moves, SLIP, STICK))
    return {
        "contacts/bodies": contacts.bodies.astype(np.int32),
        "contacts/point": contacts.point,
        "contacts/normal": contacts.normal,
        "contacts/force": np.einsum("ni,nij->nj", force, contacts.frame),
        "contacts/slip": slip,
        "contacts/gap": contacts.gap,
        "contacts/mu": contacts.mu,
        "contacts/status": status.astype(np.uint8),
        "contacts/feature": contacts.feature,
    }


def _exact(solution: Solution) -> Record:
    low = solution.reactions_low
    if low is None:
        return _NOT_EXACT
    return {"exact/count": np.int32(len(low)), "exact/high": solution.reactions, "exact/low": low}


def _limits(report: StepReport, impulses: np.ndarray) -> Record:
    """Limits are named 2·coordinate + side (dynamics/rows.py)."""
    cone = report.rows.cone
    if not cone.unilateral:
        return _NO_LIMITS
    first = cone.bilateral.size
    number = (report.rows.names[first : first + cone.unilateral] & _LOW_BITS).astype(np.int64)
    return {
        "limits/coordinate": (number // 2).astype(np.int32),
        "limits/is_upper": (number % 2).astype(np.uint8),
        "limits/force": impulses[cone.bilateral_rows : cone.contact_start],
    }
