"""What programs/read_usd.py found in a USD file, built with `ModelBuilder`."""

import warnings
from typing import Any

import numpy as np

from delassus.builder import Body, Material, ModelBuilder, Motor
from delassus.builder.body import mass_properties, placed_shapes
from delassus.errors import DelassusWarning, ProblemError
from delassus.importers.actuator import Actuator
from delassus.importers.imported import Imported
from delassus.importers.notes import Notes
from delassus.importers.usd_joint import Kind, drive_of, kind_of, limit_of
from delassus.importers.usd_shape import shape_of
from delassus.joints import JOINTS
from delassus.simulation import StepSettings
from delassus.spatial import quaternion_multiply, quaternion_to_matrix, rotate

_DENSITY = 1000.0  # [kg/m³] of what says nothing, UsdPhysics' own default
_MU = 0.5  # of what has no material
_LAST = 31  # bit of shapes that are in no group
_FLIP = np.diag([1.0, -1.0, -1.0])  # turns z around


class UsdModel:
    """bodies: of the builder, by their paths in the file."""

    def __init__(self, table: dict[str, Any], source: str):
        self.table, self.source, self.notes = table, source, Notes()
        self.builder = ModelBuilder(gravity=table["gravity"], mixing="average")
        self.bodies: dict[str, Body] = {}
        self.drives: list[tuple[str, str, dict[str, float]]] = []
        self._bits = self._groups()

    def imported(self) -> Imported:
        """The whole of it."""
        shapes: dict[str, list[dict[str, Any]]] = {}
        for shape in self.table["shapes"]:
            shapes.setdefault(shape["body"], []).append(shape)
        for body in self.table["bodies"]:
            self._body(body, shapes.pop(body["path"], []))
        for path, parts in shapes.items():
            for part in parts:
                self._shape(part, self._fixture(part), path)
        for joint in self.table["joints"]:
            self._joint(joint)
        for first, second in self.table["filtered"]:
            self._exclude(first, second)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", DelassusWarning)
            model, state = self.builder.build(assemble=True, check=False)
        for warning in said:
            self.notes.add("start", "", str(warning.message))
        actuators = self._actuators(model.joints.coordinate_names)
        ctrl = {a.name: _control(drive) for a, (_, _, drive) in zip(actuators, self.drives)}
        joints = {name.rpartition(".")[0]: (name, 1.0) for name in model.joints.coordinate_names}
        return Imported(
            model, state, StepSettings(), {}, tuple(actuators), ctrl, {}, joints, self.notes.texts, self.source
        )

    # -- bodies --------------------------------------------------------------------------------------------------------

    def _body(self, body: dict[str, Any], shapes: list[dict[str, Any]]) -> None:
        name = self._name(body["path"], "bodies")
        at, turn = np.array(body["position"]), np.array(body["quaternion"])
        if body["kinematic"]:
            self.notes.add("kinematic body", name, "stands still: its path is not carried over")
            fixed = self.builder.fixed(name, position=at, orientation=turn)
            for shape in shapes:
                self._shape(shape, fixed, body["path"])
            return
        mass, centre, inertia = self._mass(body, shapes, name)
        made = self.builder.body(
            name,
            position=at,
            orientation=turn,
            velocity=body["velocity"],
            angular_velocity=body["spin"],
            mass=mass,
            inertia=inertia,
            centre=centre,
        )
        self.bodies[body["path"]] = made
        for shape in shapes:
            self._shape(shape, made, body["path"])

    def _mass(
        self, body: dict[str, Any], shapes: list[dict[str, Any]], name: str
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """What the file says; the rest as shapes and densities have it."""
        R = quaternion_to_matrix(_unit(body["axes"]))
        inertia = R @ np.diag(body["inertia"]) @ R.T
        given = all(x > 0.0 for x in body["inertia"])
        if body["mass"] > 0.0 and given and body["centre"] is not None:
            return body["mass"], np.array(body["centre"]), inertia
        placed = [(s, *self._place(shape, body)) for shape in shapes if (s := shape_of(shape, Notes())) is not None]
        solid = [part for part in placed if not part[0].static_only]
        if not solid:
            if body["mass"] <= 0.0:
                raise ProblemError(f"{self.source}: {name}: has neither mass nor shapes: give it physics:mass")
            self.notes.add("inertia", name, "is not given and there are no shapes: that of a ball of 0.1 m is taken")
            return body["mass"], np.array(body["centre"] or (0, 0, 0)), 0.004 * body["mass"] * np.eye(3)
        density = body["density"] or next((s["density"] for s in shapes if s["density"]), 0.0) or _DENSITY
        own = [s.get("mass", 0.0) for s in shapes]
        total = body["mass"] if body["mass"] > 0.0 else sum(own) if all(own) and own else None
        mass, centre, theta = mass_properties(
            name, placed_shapes(name, solid), total, None, None if total is not None else density
        )
        if body["centre"] is not None:
            centre = np.array(body["centre"])
        return mass, centre, inertia if given else theta

    def _place(self, shape: dict[str, Any], body: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        inverse = np.array(body["quaternion"]) * [1.0, -1, -1, -1]
        return (
            rotate(inverse, np.array(shape["position"]) - body["position"]),
            quaternion_multiply(inverse, shape["quaternion"]),
        )

    def _fixture(self, shape: dict[str, Any]) -> Body:
        return self.builder.fixed(self._name(shape["path"], "bodies"))

    def _shape(self, shape: dict[str, Any], body: Body, path: str) -> None:
        made = shape_of(shape, self.notes)
        if made is None:
            return
        if made.static_only and not body.is_fixed:
            self.notes.add(made.kind, shape["path"], "is left out: on a moving body it cannot be")
            return
        inverse = body.quaternion * np.array([1.0, -1, -1, -1])
        friction = _MU if shape["friction"] is None else shape["friction"]
        if shape["friction"] is not None and abs(shape.get("static_friction", friction) - friction) > 1e-9:
            self.notes.add("static friction", shape["path"], "is left out: the dynamic coefficient holds for both")
        group, mask = self._bits.get(shape["path"], (1 << _LAST, 0xFFFFFFFF))
        self.builder.attach(
            body,
            made,
            position=rotate(inverse, np.array(shape["position"]) - body.position),
            orientation=quaternion_multiply(inverse, shape["quaternion"]),
            material=Material(friction, min(max(shape["restitution"], 0.0), 1.0)),
            group=group,
            mask=mask,
        )

    def _groups(self) -> dict[str, tuple[int, int]]:
        """(group, mask) of shapes in collision groups, by path; a shape in several is in the first."""
        groups = self.table["groups"][:_LAST]
        number = {group["path"]: k for k, group in enumerate(groups)}
        if len(self.table["groups"]) > _LAST:
            self.notes.add("collision groups", "", f"only the first {_LAST} are told apart")
        out: dict[str, tuple[int, int]] = {}
        for group in groups:
            mask = 0xFFFFFFFF
            for j, other in enumerate(groups):
                if group["path"] in other["not"] or other["path"] in group["not"]:
                    mask &= ~(1 << j)
            for path in group["shapes"]:
                out.setdefault(path, (1 << number[group["path"]], mask))
        return out

    def _exclude(self, first: str, second: str) -> None:
        a, b = self._owner(first), self._owner(second)
        if a is not None and b is not None and a is not b:
            self.builder.exclude(a, b)

    def _owner(self, path: str) -> Body | None:
        found = [own for own in self.bodies if path == own or path.startswith(own + "/")]
        return self.bodies[max(found, key=len)] if found else None

    # -- joints --------------------------------------------------------------------------------------------------------

    def _joint(self, joint: dict[str, Any]) -> None:
        name = self._name(joint["path"], "joints")
        kind = kind_of(joint)
        ends = [(self.bodies.get(end["body"]), end) for end in joint["ends"]]
        if not joint["enabled"]:
            self.notes.add("joint", name, "is not enabled and left out")
        elif kind is None:
            self.notes.add(joint["kind"], name, "is left out: there is no such kind of joint here")
        elif ends[0][0] is ends[1][0]:
            self.notes.add("joint", name, "ties nothing that moves and is left out")
        elif not kind.name:
            self.notes.add("joint", name, "leaves all six degrees of freedom; its drives are left out")
        else:
            self._join(joint, kind, name, ends)

    def _join(
        self, joint: dict[str, Any], kind: Kind, name: str, ends: list[tuple[Body | None, dict[str, Any]]]
    ) -> None:
        frame = kind.frame
        if ends[1][0] is None:  # the world follows: turned around, so that coordinates keep their signs
            ends, frame = ends[::-1], frame @ _FLIP
            if kind.name in ("universal", "spherical", "planar", "cartesian"):
                self.notes.add("joint", name, "hangs on the world with its second body: its coordinates change signs")
        (base, a), (follower, b) = ends
        assert follower is not None
        limits = [limit_of(joint, axis) for axis in kind.axes]
        if kind.name == "spherical":
            if np.isfinite(limits).any() or any(0.0 <= joint.get(key, -1.0) < 180.0 for key in ("cone0", "cone1")):
                self.notes.add("limits", name, "are left out: those of a ball are not known here")
            limits = [(-np.inf, np.inf)] * 3
        motors = [self._motor(joint, axis, name) for axis in kind.axes]
        R0, R1 = (quaternion_to_matrix(_unit(end["quaternion"])) @ frame for end in (a, b))
        options: dict[str, Any] = {"limits": limits, "motor": motors} if kind.axes else {}
        self.builder.joint(
            kind.name,
            base,
            follower,
            position=a["position"],
            frame=R0,
            follower_position=b["position"],
            follower_frame=R1,
            name=name,
            collide=joint["collide"],
            **options,
        )
        coordinates = [c.name for c in JOINTS[kind.name].coordinates]
        for axis, coordinate in zip(kind.axes, coordinates):
            drive = drive_of(joint, axis)
            if drive is not None and not drive["is_acceleration"]:
                self.drives.append((f"{name}.{coordinate}", f"{name}.{axis}" if len(kind.axes) > 1 else name, drive))

    def _motor(self, joint: dict[str, Any], axis: str, name: str) -> Motor | None:
        drive = drive_of(joint, axis)
        if drive is None:
            return None
        if drive["is_acceleration"]:
            self.notes.add("drive", f"{name}.{axis}", "is left out: it is an acceleration, not a force")
            return None
        if drive["stiffness"] + drive["damping"] <= 0.0 or not drive["most"] > 0.0:
            return None
        return Motor(drive["stiffness"], drive["damping"], drive["most"])

    def _actuators(self, names: tuple[str, ...]) -> list[Actuator]:
        """One for each drive: a servo whose control is its target, or an effort within its range."""
        out = []
        for coordinate, name, drive in self.drives:
            k, d, most = drive["stiffness"], drive["damping"], drive["most"]
            is_drive = k + d > 0.0 and most > 0.0
            gain = k or d or 1.0
            out.append(
                Actuator(
                    name,
                    ((names.index(coordinate), 1.0),),
                    gain,
                    (0.0, -k, -d),
                    force_range=(-most, most),
                    is_drive=is_drive,
                )
            )
        return out

    def _name(self, path: str, among: str) -> str:
        """The last word of a path, or all of it where that is taken."""
        short = path.rpartition("/")[2]
        return short if short not in self.builder._names[among] else path.strip("/")


def _unit(quaternion: list[float]) -> np.ndarray:
    """(4,) of unit length: files have seven digits."""
    out = np.array(quaternion)
    return out / np.linalg.norm(out)


def _control(drive: dict[str, float]) -> float:
    """The control with which a drive does what the file says: target, and rate as far ahead as damping has it."""
    if drive["stiffness"]:
        return drive["target"] + drive["damping"] * drive["rate"] / drive["stiffness"]
    return drive["rate"] if drive["damping"] else 0.0
