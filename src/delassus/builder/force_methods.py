"""How springs, bushings and forces of one's own are given to the builder."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import direction, number, numbers, rotation_matrix, vector
from delassus.builder.body import Body
from delassus.builder.flexible import FlexibleParts
from delassus.builder.force import End, GivenForce, GivenOwn, symmetric
from delassus.errors import ProblemError
from delassus.forces import FORCES, Force
from delassus.spatial import axis_frame


class ForceMethods(FlexibleParts):
    """What `ModelBuilder` says about forces. Ends are bodies or their names, None or "world" for the world, and
    (flexible body, node) for a node, by its number in the mesh or by the name of a set with one node. All of them are
    implicit in the step, and stable at any stiffness."""

    forces: list[GivenForce]
    own_forces: list[GivenOwn]

    def spring(
        self,
        first: Body | str | None,
        second: Body | str | None,
        *,
        stiffness: float,
        damping: float = 0.0,
        rest_length: float | None = None,
        at: Any = None,
        name: str | None = None,
    ) -> str:
        """A spring and a damper along the line between two points.

        stiffness [N/m]; damping [N s/m]; rest_length [m], default the distance now; at: the two points in the world
        now [m], None in the place of one for the origin of its body."""
        name = self._name(name, "spring", "forces")
        where = f"force {name!r}"
        points = [None, None] if at is None else at
        if not (isinstance(points, (list, tuple, np.ndarray)) and len(points) == 2):
            raise ProblemError(f"{where}: at is {at!r}: give two points in the world, such as ((0, 0, 1), None)")
        ends = tuple(self._end(body, point, np.eye(3), where) for body, point in zip((first, second), points))
        far = float(np.linalg.norm(ends[1].point - ends[0].point))
        rest = number(far if rest_length is None else rest_length, f"{where}: rest_length", "m")
        if far == 0.0 and rest > 0.0:
            raise ProblemError(
                f"{where}: both ends are at the same point, where a spring of rest_length {rest:g} m has no direction: "
                "move one of them, or give rest_length=0"
            )
        law = (stiffness, damping, "N/m", "N s/m")
        return self._add_force(name, "spring", (ends[0], ends[1]), rest, law)

    def torsion_spring(
        self,
        first: Body | str | None,
        second: Body | str,
        *,
        stiffness: float,
        damping: float = 0.0,
        rest_angle: float = 0.0,
        axis: ArrayLike = (0, 0, 1),
        name: str | None = None,
    ) -> str:
        """A spring and a damper against twist of the second body about an axis fixed to the first.

        stiffness [N m/rad]; damping [N m s/rad]; rest_angle [rad] from where the bodies are now, within half a turn
        (beyond, a `Motor` on a revolute joint counts turns); axis: in the world now."""
        name = self._name(name, "torsion-spring", "forces")
        where = f"force {name!r}"
        frame = axis_frame(direction(axis, f"{where}: axis"))
        ends = (self._end(first, None, frame, where), self._end(second, None, frame, where))
        rest = vector([rest_angle], f"{where}: rest_angle", 1)
        if abs(rest[0]) > np.pi:
            raise ProblemError(f"{where}: rest_angle is {rest_angle!r}: give at most half a turn, π [rad]")
        return self._add_force(name, "torsion-spring", ends, rest, (stiffness, damping, "N m/rad", "N m s/rad"))

    def bending_spring(
        self,
        first: Body | str | None,
        second: Body | str,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        axis: ArrayLike = (0, 0, 1),
        frame: ArrayLike | None = None,
        name: str | None = None,
    ) -> str:
        """Springs and dampers against every rotation of the second body against the first, as between two links of a
        rod; at rest as the bodies are now.

        stiffness [N m/rad], damping [N m s/rad]: one number, three about the axes of the frame, or 3×3; axis: z of
        that frame, or frame: all of it, in the world now."""
        name = self._name(name, "bending-spring", "forces")
        ends = self._ends(first, second, None, axis, frame, name)
        return self._add_force(name, "bending-spring", ends, np.zeros(3), (stiffness, damping, "N m/rad", "N m s/rad"))

    def bushing(
        self,
        first: Body | str | None,
        second: Body | str,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        at: ArrayLike | None = None,
        axis: ArrayLike = (0, 0, 1),
        frame: ArrayLike | None = None,
        name: str | None = None,
    ) -> str:
        """A bushing: springs and dampers against every displacement and rotation of the second body against a frame on
        the first; at rest as the bodies are now.

        stiffness [N/m, N m/rad], damping [N s/m, N m s/rad]: six numbers (along x, y, z of the frame, then about them)
        or 6×6; three or 3×3 leave rotations free; at: origin of the frame in the world now [m], default the origin of
        the second body; axis: its z axis, or frame: all of it."""
        name = self._name(name, "bushing", "forces")
        ends = self._ends(first, second, at, axis, frame, name)
        kind = "point-bushing" if numbers(stiffness).shape in ((3,), (3, 3)) else "bushing"
        rest = np.zeros(FORCES[kind].size)
        return self._add_force(name, kind, ends, rest, (stiffness, damping, "N/m, N m/rad", "N s/m, N m s/rad"))

    def force(self, force: Force, *, on: Any = (), name: str | None = None) -> str:
        """A force of one's own, see `delassus.forces.Force`.

        on: what it acts on, bodies or their names and nodes as (flexible body, node): its force has six numbers for
        each body and three for each node, in this order; default what `force.velocities` says."""
        name = self._name(name, getattr(force, "name", None) or type(force).__name__, "forces")
        where = f"force {name!r}"
        lacks = [what for what in ("force", "dq", "dv") if not callable(getattr(force, what, None))]
        given = list(on) if isinstance(on, list) or not on else [on]
        ends = [self._end(one, None, np.eye(3), where) for one in given]
        if not ends and not hasattr(force, "velocities"):
            lacks.append("velocities (or give on=[bodies])")
        if lacks:
            raise ProblemError(f"{where}: {force!r} has no {', '.join(lacks)}: see delassus.forces.Force")
        for one, end in zip(given, ends):
            if end.body is None and end.node < 0:
                raise ProblemError(f"{where}: {one!r} never moves, a force on it does nothing: leave it out of on=[…]")
        acting = tuple(end.node if end.body is None else end.body for end in ends)
        self.own_forces.append(GivenOwn(name, force, acting))
        self._names["forces"].add(name)
        return name

    def _add_force(self, name: str, kind: str, ends: tuple[End, End], rest: Any, law: tuple[Any, Any, str, str]) -> str:
        """law: stiffness, damping and their units."""
        stiffness, damping, unit, unit_of_damping = law
        where, size = f"force {name!r}", FORCES[kind].size
        K = symmetric(stiffness, f"{where}: stiffness", unit, [size] if kind != "bushing" else [6, 3])
        C = symmetric(damping, f"{where}: damping", unit_of_damping, [size])
        if not K.any() and not C.any():
            raise ProblemError(f"{where}: stiffness and damping are both zero: give one of them")
        self.forces.append(GivenForce(name, kind, ends, np.atleast_1d(rest), K, C))
        self._names["forces"].add(name)
        return name

    def _ends(self, first: Any, second: Any, at: Any, axis: Any, frame: Any, name: str) -> tuple[End, End]:
        """Both ends of a force at one frame."""
        where = f"force {name!r}"
        axes = axis_frame(direction(axis, f"{where}: axis"))
        axes = axes if frame is None else rotation_matrix(frame, f"{where}: frame")
        other = self._end(second, at, axes, where)
        return self._end(first, other.point, axes, where), other

    def _end(self, given: Any, at: Any, axes: np.ndarray, where: str) -> End:
        """One end of a force; at: point in the world, None for the origin of the body."""
        if isinstance(given, tuple):
            return self._node_end(given, at, axes, where)
        is_world = given is None or (isinstance(given, str) and given == "world" and not self._has("world"))
        body = None if is_world else self._body(given, where)
        if at is None and body is None:
            point = np.zeros(3)
        else:
            point = body.position if at is None and body is not None else vector(at, f"{where}: at", 3)
        return End(None if body is None or body.is_fixed else body, -1, point, axes)

    def _node_end(self, given: tuple[Any, ...], at: Any, axes: np.ndarray, where: str) -> End:
        """A node of a flexible body."""
        if len(given) != 2:
            raise ProblemError(f"{where}: {given!r} is no end: give (flexible body, node)")
        flexible = self._flexible(given[0], where)
        chosen = flexible.nodes(given[1])
        if len(chosen) != 1:
            raise ProblemError(f"{where}: {given[1]!r} are {len(chosen)} nodes of {flexible.name!r}: give one")
        place = flexible.mesh.nodes[chosen[0]]
        if at is not None and not np.allclose(vector(at, f"{where}: at", 3), place):
            raise ProblemError(f"{where}: at is {at!r}, but the node is at {place.tolist()}: leave at=… out for it")
        first = sum(len(one.mesh.nodes) for one in self.flexibles[: flexible.index])
        return End(None, first + int(chosen[0]), place, axes)

    def _has(self, name: str) -> bool:
        return any(body.name == name for body in self.bodies + self.fixtures)
