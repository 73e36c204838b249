"""What a recording holds of one body, one joint, one tendon or one pair, by name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from delassus.errors import ProblemError, nearest
from delassus.spatial import quaternion_to_matrix

if TYPE_CHECKING:
    from delassus.io.recording.recording import Recording

WORLD = "world"


@dataclass(frozen=True, eq=False)
class BodyRecord:
    """A body over N steps.  t: (N + 1,) [s]; position: (N + 1, 3) of its own frame, centre_of_mass [m]; orientation:
    (N + 1, 4) (w, x, y, z); velocity of its centre of mass [m/s], angular_velocity [rad/s]: (N + 1, 3), world axes;
    contact_force: (N, 3) resultant of all contacts in each step [N]."""

    name: str
    t: np.ndarray
    position: np.ndarray
    centre_of_mass: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    contact_force: np.ndarray


@dataclass(frozen=True, eq=False)
class FlexibleRecord:
    """A flexible body over N steps.  t: (N + 1,) [s]; position [m], velocity [m/s]: (N + 1, 3) of its centre of mass;
    strain_energy: (N + 1,) [J]; contact_force: (N, 3) resultant of all contacts in each step [N]."""

    name: str
    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    strain_energy: np.ndarray
    contact_force: np.ndarray


@dataclass(frozen=True, eq=False)
class JointRecord:
    """A joint over N steps.  t: (N,) at the end of each [s]; coordinates: by name, (N,) [m, rad]; reaction: (N, rows)
    of its constraints [N, N m]."""

    name: str
    t: np.ndarray
    coordinates: dict[str, np.ndarray]
    reaction: np.ndarray


@dataclass(frozen=True, eq=False)
class TendonRecord:
    """A tendon over N steps.  t: (N,) at the end of each [s]; length: (N,) [m, rad], as coordinates of joints are kept;
    force: (N,) along it by limits, spring, damping, friction and armature [N, N m], not a number for couplings, whose
    reactions are not kept."""

    name: str
    t: np.ndarray
    length: np.ndarray
    force: np.ndarray


@dataclass(frozen=True, eq=False)
class PairRecord:
    """All contacts of two bodies, one row each.  step: number; t: at its end [s]; point [m], normal, force [N], slip
    [m/s]: (n, 3), the force on the second body; gap: (n,) [m]; status: (n,) 0 open, 1 stick, 2 slip."""

    names: tuple[str, str]
    step: np.ndarray
    t: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    slip: np.ndarray
    gap: np.ndarray
    status: np.ndarray


def body_record(recording: "Recording", name: str) -> BodyRecord:
    """`Recording.body`."""
    b = _find(name, recording.about.bodies, "body")
    q, u = recording.q[:, b], recording.u[:, b]
    origin = q[:, :3]
    if recording.has_model:
        origin = origin - quaternion_to_matrix(q[:, 3:]) @ recording.model.centre[b]
    total = _resultant(recording, b)
    return BodyRecord(name, recording.t, origin, q[:, :3], q[:, 3:], u[:, :3], u[:, 3:], total)


def flexible_record(recording: "Recording", name: str) -> FlexibleRecord:
    """`Recording.body` of a flexible one."""
    flexible = recording.flexible
    k, own = flexible.names.index(name), flexible.nodes_of(name)
    share = flexible.elements.nodal_mass[own] / flexible.elements.nodal_mass[own].sum()
    position, velocity = np.empty((recording.step_count + 1, 3)), np.empty((recording.step_count + 1, 3))
    energy = np.empty(recording.step_count + 1)
    for n in range(recording.step_count + 1):
        state = recording.state(n)
        position[n], velocity[n] = share @ state.nodes[own], share @ state.node_velocity[own]
        energy[n] = flexible.elements.strain_energy(state.nodes)[k]
    total = _resultant(recording, len(recording.about.bodies) + k)
    return FlexibleRecord(name, recording.t, position, velocity, energy, total)


def _resultant(recording: "Recording", number: int) -> np.ndarray:
    """(N, 3) of all contacts of a body, by its number as `_sides` has it [N]."""
    total = np.zeros((recording.step_count, 3))
    for side, sign in ((0, -1.0), (1, 1.0)) if recording.step_count else ():
        mine = _sides(recording)[:, side] == number
        np.add.at(total, _steps(recording)[mine], sign * recording.array("contacts/force")[mine])
    return total


def _sides(recording: "Recording") -> np.ndarray:
    """(n, 2) the bodies of each contact: −1 for the world, flexible ones numbered after the moving ones."""
    bodies = recording.array("contacts/bodies")
    if not recording.node_count:
        return bodies
    soft = recording.array("contacts/flexible")
    return np.where(soft >= 0, len(recording.about.bodies) + soft, bodies)


def joint_record(recording: "Recording", name: str) -> JointRecord:
    """`Recording.joint`."""
    j = _find(name, recording.about.joints, "joint")
    joints, n = recording.model.joints, recording.step_count
    rows = slice(joints.row_start[j], joints.row_start[j + 1])
    own = range(joints.coordinate_start[j], joints.coordinate_start[j + 1])
    values = recording.array("joints/coordinate") if n else np.zeros((0, joints.coordinate_count))
    reaction = recording.array("joints/reaction") if n else np.zeros((0, joints.row_count))
    coordinates = {joints.coordinate_names[d].removeprefix(f"{name}."): values[:, d] for d in own}
    return JointRecord(name, recording.t[1:], coordinates, reaction[:, rows])


def tendon_record(recording: "Recording", name: str) -> TendonRecord:
    """`Recording.tendon`."""
    model, n = recording.model, recording.step_count
    couplings, joints = model.couplings, model.joints
    c = _find(name, () if couplings is None else couplings.names, "tendon")
    assert couplings is not None
    values = recording.array("joints/coordinate") if n else np.zeros((0, joints.coordinate_count))
    rates = np.zeros((joints.coordinate_count, 12))
    length = np.array([couplings.evaluate(joints, row, rates, model.body_count)[0][c] for row in values])
    if c in couplings.held:
        return TendonRecord(name, recording.t[1:], length, np.full(n, np.nan))
    k, force = int(np.searchsorted(couplings.free, c)), np.zeros(n)
    if n:
        limits = recording.array("limits/coordinate") == joints.coordinate_count + k
        sign = 1.0 - 2.0 * recording.array("limits/is_upper")[limits]
        step = np.repeat(np.arange(n), recording.array("limits/count"))[limits]
        np.add.at(force, step, sign * recording.array("limits/force")[limits])
        of = couplings.free
        for column, first, has in (
            ("joints/drive", joints.driven_rows, model.freedoms.passive[joints.coordinate_count :]),
            ("joints/friction", joints.friction_count, couplings.friction[of] > 0.0),
        ):
            if has[k]:
                force += recording.array(column)[:, first + int(has[:k].sum())]
    return TendonRecord(name, recording.t[1:], length, force)


def pair_record(recording: "Recording", first: str, second: str) -> PairRecord:
    """`Recording.between`."""
    known = (*recording.about.bodies, *recording.flexible_names, WORLD)
    a, b = (-1 if name == WORLD else _find(name, known, "body") for name in (first, second))
    empty = not recording.step_count
    bodies = np.zeros((0, 2), np.int32) if empty else _sides(recording)
    forward, back = (bodies == (a, b)).all(axis=1), (bodies == (b, a)).all(axis=1)
    mine = np.flatnonzero(forward | back)
    sign = np.where(back[mine], -1.0, 1.0)[:, None]
    shapes = {"point": (0, 3), "normal": (0, 3), "force": (0, 3), "slip": (0, 3), "gap": (0,), "status": (0,)}
    found = {key: np.zeros(s) if empty else recording.array(f"contacts/{key}")[mine] for key, s in shapes.items()}
    for key in ("normal", "force", "slip"):
        found[key] = sign * found[key]
    step = np.zeros(0, np.int64) if empty else _steps(recording)[mine]
    return PairRecord((first, second), step, recording.t[1:][step], **found)


def _steps(recording: "Recording") -> np.ndarray:
    """The step of each contact."""
    return np.repeat(np.arange(recording.step_count), recording.contact_counts)


def _find(name: str, known: tuple[str, ...], what: str) -> int:
    if name not in known:
        raise ProblemError(f"the recording has no {what} {name!r}; {nearest(str(name), list(known))}")
    return known.index(name)
