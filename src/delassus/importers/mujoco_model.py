"""A model compiled by MuJoCo → `Imported`: the mechanism, its loops and couplings, actuators, keyframes and sites."""

import warnings
from typing import Any

import numpy as np

from delassus.builder.start import assembled, open_joints
from delassus.errors import DelassusWarning, ProblemError
from delassus.importers.actuators import Hold, actuators_of, drives_of
from delassus.importers.equalities import add_equalities
from delassus.importers.geometry import Touching
from delassus.importers.imported import Imported, Keyframe, Site
from delassus.importers.mechanism import Mechanism
from delassus.importers.notes import Notes
from delassus.importers.switched_off import switch_off
from delassus.importers.tendons import add_tendons
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import StepSettings
from delassus.spatial import quaternion_multiply, rotate

_FILTER_PARENT = "mjDSBL_FILTERPARENT"
_MOVED = 1e-4  # [m]: loops of a keyframe that were open by less are rounding of its numbers


def imported_of(
    arrays: dict[str, Any], table: dict[str, Any], source: str, notes: Notes, hold: Hold = None
) -> Imported:
    """arrays, table: of programs/compile_mujoco.py; hold: see `load_model`."""
    arrays, table = switch_off(_standing(arrays), table)
    _note_options(arrays, table, notes)
    touching = Touching(arrays, notes, table["names"]["geom"])
    made = Mechanism(arrays, table, notes)
    made.drives = drives_of(arrays, made, hold)
    made.build_bodies(touching)
    add_equalities(made)
    add_tendons(made)
    _exclude(made, filter_parents=_FILTER_PARENT not in table["disabled"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DelassusWarning)
        model, _ = made.builder.build(check=False)
    for warning in said:
        notes.add("start", "", str(warning.message))
    states = States(made, model)
    state = states.of(made.tree.qpos0, None, "its initial pose")
    actuators = actuators_of(arrays, made, model, hold, notes)
    controls = [a.name for a in actuators]
    keyframes = {}
    for k in range(len(arrays["key_qpos"])):
        name = made.name("key", k)
        ctrl = dict(zip((made.name("actuator", i) for i in range(arrays["key_ctrl"].shape[1])), arrays["key_ctrl"][k]))
        keyframes[name] = Keyframe(
            states.of(arrays["key_qpos"][k], arrays["key_qvel"][k], f"keyframe {name!r}"),
            {key: float(value) for key, value in ctrl.items() if key in controls},
        )
    joints = {made.name("joint", j): (freedom.name, freedom.factor) for j, freedom in made.freedoms.items()}
    return Imported(
        model,
        state,
        StepSettings(h=float(table["timestep"])),
        keyframes,
        tuple(actuators),
        dict.fromkeys(controls, 0.0),
        _sites(made),
        joints,
        notes.texts,
        source,
        states.of,
    )


def _standing(arrays: dict[str, Any]) -> dict[str, Any]:
    """Mocap bodies, which only a pose from outside would move, are parts of the world, with all that is fixed to
    them: MuJoCo counts them as links of their own."""
    weld, mocap = arrays["body_weldid"], np.flatnonzero(arrays["body_mocapid"] >= 0)
    return {**arrays, "body_weldid": np.where(np.isin(weld, mocap), 0, weld)}


class States:
    """States of our model from positions and velocities as MuJoCo counts them."""

    def __init__(self, made: Mechanism, model: Model):
        self.made, self.model = made, model

    def of(self, qpos: np.ndarray, qvel: np.ndarray | None = None, what: str = "the state") -> State:
        """Loops that are open there are closed with the least motion.  what: names it, for complaints."""
        made, model = self.made, self.model
        bodies, after = made.tree.links(np.asarray(qpos, float), qvel)
        q, u = np.empty((model.body_count, 7)), np.empty((model.body_count, 6))
        for k, (body, joint) in enumerate(made.links):
            link = bodies[body] if joint < 0 else after[joint]
            centre = link.position + rotate(link.quaternion, model.centre[k])
            q[k, :3], q[k, 3:] = centre, link.quaternion / np.linalg.norm(link.quaternion)
            u[k, :3], u[k, 3:] = link.velocity_at(centre), link.spin
        if open_joints(model.joints, q):
            before = q
            try:
                q, u = assembled(model, q, u)
            except ProblemError as error:
                raise ProblemError(f"{what}: {error}") from None
            far = float(np.linalg.norm(q[:, :3] - before[:, :3], axis=1).max())
            if far > _MOVED:
                made.notes.add("loops", what, f"were open: closed by moving bodies up to {far:.2g} m")
        return State(q, u, turns=self._turns(q, qpos))

    def _turns(self, q: np.ndarray, qpos: np.ndarray) -> np.ndarray:
        joints = self.model.joints
        values = State(q, np.zeros((len(q), 6))).coordinates(self.model)
        turns = np.zeros(len(values), np.int64)
        number = {name: d for d, name in enumerate(joints.coordinate_names)}
        for j, freedom in self.made.freedoms.items():
            d = number[freedom.name]
            if joints.counted[d]:
                wanted = qpos[self.made.a["jnt_qposadr"][j]] / freedom.factor
                turns[d] = round((wanted - values[d]) / (2.0 * np.pi))
        return turns


def _exclude(made: Mechanism, filter_parents: bool) -> None:
    """Bodies that never touch: a body and the one it hangs on, unless that is the world or the file says otherwise, and
    those the file names."""
    a, weld = made.a, made.a["body_weldid"]
    for b in range(1, made.tree.body_count):
        if weld[b] == b and filter_parents:
            base = made.root(int(a["body_parentid"][b]))
            if base is not None:
                made.builder.exclude(base, made.bodies[b])
    for signature in a["exclude_signature"].tolist():
        first, second = made.root(signature >> 16), made.root(signature & 0xFFFF)
        if first is not None and second is not None and first is not second:
            made.builder.exclude(first, second)
        elif first is not second:
            _exclude_fixed(made, first or second, signature)


def _exclude_fixed(made: Mechanism, body: Any, signature: int) -> None:
    for b in (signature >> 16, signature & 0xFFFF):
        name = "world" if b == 0 else made.name("body", b)
        if made.a["body_weldid"][b] == 0 and any(f.name == name for f in made.builder.fixtures):
            made.builder.exclude(body, name)


def _sites(made: Mechanism) -> dict[str, Site]:
    a, out = made.a, {}
    for s in range(len(a["site_bodyid"])):
        b = int(a["site_bodyid"][s])
        here, root = made.bodies_at[b], int(a["body_weldid"][b])
        there = made.bodies_at[root]
        inverse = there.quaternion * np.array([1.0, -1, -1, -1])
        at = here.position + rotate(here.quaternion, a["site_pos"][s])
        turned = quaternion_multiply(here.quaternion, a["site_quat"][s])
        body = "world" if root == 0 else made.bodies[root].name
        out[made.name("site", s)] = Site(
            body, rotate(inverse, at - there.position), quaternion_multiply(inverse, turned)
        )
    return out


def _note_dimension(condim: int, name: str, notes: Notes) -> None:
    """What contacts have there beside friction against sliding."""
    if condim == 4:
        notes.add("condim 4", name, "friction against twisting is left out: what spins on a point is not slowed there")
    elif condim == 6:
        notes.add("condim 6", name, "friction against twisting and rolling is left out: neither is slowed there")


def _note_options(a: dict[str, Any], table: dict[str, Any], notes: Notes) -> None:
    names = table["names"]
    if table["density"] or table["viscosity"] or any(table["wind"]):
        notes.add("medium", "", "density, viscosity and wind are left out: nothing flows here")
    if table["flexes"]:
        notes.add("flex", "", "deformable bodies of the file are left out: build them with ModelBuilder.flexible")
    for b in np.flatnonzero(a["body_gravcomp"]):
        notes.add("gravcomp", names["body"][b], "gravity is not compensated")
    for p in range(len(a["pair_geom1"])):
        one, two = (int(a[key][p]) for key in ("pair_geom1", "pair_geom2"))
        pair = "–".join(names["geom"][g] or f"geom{g}" for g in (one, two))
        _note_dimension(int(a["pair_dim"][p]), pair, notes)
        if a["pair_margin"][p] or a["pair_gap"][p]:
            notes.add("geom margin and gap", pair, "are left out: contacts act when they touch")
        bodies = [int(a["body_weldid"][a["geom_bodyid"][g]]) for g in (one, two)]
        if any(bodies[k] and a["body_weldid"][a["body_parentid"][bodies[k]]] == bodies[1 - k] != 0 for k in range(2)):
            notes.add("contact pair", pair, "is left out: a body never touches the one it hangs on")
    for g in np.flatnonzero((a["geom_contype"] | a["geom_conaffinity"]) != 0):
        name = names["geom"][g] or f"geom{g}"
        _note_dimension(int(a["geom_condim"][g]), name, notes)
        if a["geom_priority"][g]:
            notes.add("geom priority", name, "is left out: of a pair the larger friction counts")
        if a["geom_margin"][g] or a["geom_gap"][g]:
            notes.add("geom margin and gap", name, "are left out: contacts act when they touch")
    for kind, key, what in (
        ("joint", "jnt_stiffnesspoly", "stiffness"),
        ("tendon", "tendon_stiffnesspoly", "stiffness"),
        ("tendon", "tendon_dampingpoly", "damping"),
    ):
        for k in np.flatnonzero(a.get(key, np.zeros((0, 1))).any(axis=1)):
            notes.add(f"polynomial of a {kind}'s {what}", names[kind][k], "is left out: its linear term alone acts")
    for d in np.flatnonzero(a.get("dof_dampingpoly", np.zeros((0, 1))).any(axis=1)):
        name = names["joint"][int(np.searchsorted(a["jnt_dofadr"], d, side="right")) - 1]
        notes.add("polynomial of a joint's damping", name, "is left out: its linear term alone acts")
    for t in np.flatnonzero(a.get("tendon_springyield", np.zeros(0))):
        notes.add("springyield", names["tendon"][t], "is left out: springs of tendons do not yield here")
    if len(names["sensor"]):
        notes.add("sensors", "", f"all {len(names['sensor'])} are left out: ask the World for what they measure")
    notes.add("solref and solimp", "", "are left out: all rows are hard here unless settings soften them")
