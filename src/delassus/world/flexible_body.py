"""Flexible bodies of a world by name."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import numbers, vector
from delassus.errors import ProblemError, nearest
from delassus.world import bending
from delassus.world.acting import NodePush
from delassus.world.body import Energy, seconds_of
from delassus.world.handle import Handle
from delassus.world.loads import weld_forces


class FlexibleBody(Handle):
    """A body of finite elements. All vectors are in world axes; nodes are numbered as those of its mesh."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As it was built."""
        return self._flexible.names[self._index]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"flexible body {self.name!r}"

    @property
    def nodes(self) -> np.ndarray:
        """(n, 3) where its nodes are [m]."""
        return self._world._nodes[self._own].copy()

    @property
    def node_velocity(self) -> np.ndarray:
        """(n, 3) their velocities [m/s]."""
        return self._world._run.node_velocity[self._own].copy()

    @property
    def displacement(self) -> np.ndarray:
        """(n, 3) of its nodes from where they were built [m]."""
        return self.nodes - self._flexible.elements.rest[self._own]

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of its sets of nodes."""
        start = f"{self.name}."
        return tuple(name.removeprefix(start) for name in self._flexible.sets if name.startswith(start))

    def nodes_of(self, name: str) -> np.ndarray:
        """(k,) numbers of the nodes of a set: `body.nodes[body.nodes_of("tip")]` is where they are."""
        found = self._flexible.sets.get(f"{self.name}.{name}")
        if found is None:
            raise ProblemError(f"{self.label} has no set {name!r}; {nearest(str(name), list(self.sets))}")
        return found - self._own.start

    @property
    def mass(self) -> float:
        """[kg]."""
        return bending.mass(self._world.model, self._index)

    @property
    def position(self) -> np.ndarray:
        """(3,) of its centre of mass [m]."""
        return bending.mean(self._world.model, self._index, self._world._nodes)

    centre_of_mass = position

    @property
    def velocity(self) -> np.ndarray:
        """(3,) of its centre of mass [m/s]."""
        return bending.mean(self._world.model, self._index, self._world._run.node_velocity)

    @property
    def momentum(self) -> np.ndarray:
        """(3,) [N s]."""
        return self.mass * self.velocity

    @property
    def angular_momentum(self) -> np.ndarray:
        """(3,) about its centre of mass [N m s]."""
        momentum = self._flexible.elements.mass_times(self._world._run.node_velocity)[self._own]
        return np.cross(self.nodes - self.position, momentum).sum(axis=0)

    @property
    def stress(self) -> np.ndarray:
        """(e,) von Mises' equivalent of the stress in its elements [Pa]."""
        return bending.stress(self._world.model, self._index, self._world._nodes)

    @property
    def stress_tensor(self) -> np.ndarray:
        """(e, 3, 3) Cauchy's stress in its elements [Pa]."""
        own = bending.elements_of(self._world.model, self._index)
        return self._flexible.elements.stress(self._world._nodes)[own]

    @property
    def strain_energy(self) -> float:
        """Stored in its elements [J]."""
        return bending.strain_energy(self._world.model, self._index, self._world._nodes)

    @property
    def energy(self) -> Energy:
        """Kinetic and potential (weight, constant loads and strain), and their `total` [J]."""
        model, world = self._world.model, self._world
        kinetic = bending.kinetic_energy(model, self._index, world._run.node_velocity)
        return Energy(kinetic, bending.potential_energy(model, self._index, world._nodes))

    @property
    def contact_force(self) -> np.ndarray:
        """(3,) sum of all contact forces on it over the last step, a mean [N]."""
        return self._world.contacts.force_on(self.name)

    @property
    def reactions(self) -> dict[str, np.ndarray]:
        """(3,) force [N] on it over the last step, a mean, of each rigid body that nodes are welded to, and of the
        "world"."""
        welds, out = self._flexible.welds, dict[str, np.ndarray]()
        for name, force in zip(welds.names, np.where(self._held[:, None], weld_forces(self._world), 0.0)):
            out[name] = out.get(name, np.zeros(3)) + force
        return {name: out[name] for name, is_its in zip(welds.names, self._held) if is_its}

    def reaction(self, nodes: str | ArrayLike) -> np.ndarray:
        """(3,) force [N] of the welds on some nodes, a set or numbers, over the last step, a mean."""
        chosen = np.isin(self._flexible.welds.node, self._chosen(nodes, "reaction"))
        return weld_forces(self._world)[chosen].sum(axis=0)

    def push(
        self,
        force: ArrayLike,
        *,
        nodes: str | ArrayLike | None = None,
        at: ArrayLike | None = None,
        seconds: float | None = None,
    ) -> None:
        """Let a force (3,) [N], world axes, act from now on for some seconds [s]; None: for the next step; inf: for
        ever.

        nodes: a set or numbers; they share the force equally, or get one each, (k, 3). at: a point [m, world]; the
        force acts on the node that is nearest now. Neither: on all of it, as weight does. The impulse is force ×
        seconds, whether that is a whole number of steps or not. Pushes add up."""
        if nodes is not None and at is not None:
            raise ProblemError(f"{self.label}: push: give nodes or a point, not both")
        given, left = numbers(force), seconds_of(self._world, seconds, self.label)
        if at is not None:
            away = self.nodes - vector(at, f"{self.label}: push: at", 3)
            chosen = np.array([self._own.start + int(np.argmin((away**2).sum(axis=1)))])
        else:
            chosen = self._chosen(self.name if nodes is None else nodes, "push")
        if given.shape == (len(chosen), 3) and np.isfinite(given).all():
            forces = given.copy()
        else:
            shares = self._flexible.shares(chosen, self.name if nodes is None and at is None else "")
            forces = shares[:, None] * vector(force, f"{self.label}: push: force", 3)
        self._world._acting.pushes.append(NodePush(chosen, forces, left=left))

    def set(
        self,
        *,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        node_velocity: ArrayLike | None = None,
    ) -> None:
        """Put it somewhere: position (3,) [m] of its centre of mass and velocity (3,) [m/s] shift all of it; nodes
        (n, 3) and node_velocity (n, 3) say each. What is welded is held, and goes back there within the next step."""
        own, state = self._own, self._world.state
        where, speed = state.nodes, state.node_velocity
        for array, each, name in ((where, nodes, "nodes"), (speed, node_velocity, "node_velocity")):
            if each is not None:
                value = numbers(each)
                if value.shape != array[own].shape or not np.isfinite(value).all():
                    raise ProblemError(
                        f"{self.label}: {name} has shape {value.shape}: give {array[own].shape}, all finite"
                    )
                array[own] = value
        for array, mean, name in ((where, position, "position"), (speed, velocity, "velocity")):
            if mean is not None:
                goal = vector(mean, f"{self.label}: {name}", 3)
                array[own] += goal - bending.mean(self._world.model, self._index, array)
        self._world._put(state.q, state.u, state.t, state.turns, where, speed)

    @property
    def _flexible(self) -> Any:
        return bending.flexible_of(self._world.model)

    @property
    def _own(self) -> slice:
        return bending.nodes_of(self._world.model, self._index)

    @property
    def _held(self) -> np.ndarray:
        """(n_w,) which welds hold its nodes."""
        node = self._flexible.welds.node
        return (node >= self._own.start) & (node < self._own.stop)

    def _chosen(self, given: str | ArrayLike, word: str) -> np.ndarray:
        """Numbers of nodes among those of all bodies."""
        own = self._own
        if isinstance(given, str):
            return np.arange(own.start, own.stop) if given == self.name else own.start + self.nodes_of(given)
        found = np.atleast_1d(np.asarray(given))
        count = own.stop - own.start
        if found.dtype.kind not in "iu" or not len(found) or not ((found >= 0) & (found < count)).all():
            raise ProblemError(
                f"{self.label}: {word}: nodes is {given!r}: give the name of a set ({', '.join(self.sets) or 'none'}), "
                f"or numbers from 0 to {count - 1}"
            )
        return own.start + found.astype(np.int64)

    def _instead_of(self, name: str) -> str:
        settable = ("position", "velocity", "nodes", "node_velocity")
        return f": body.set({name}=…) puts it there" if name in settable else ""

    def __repr__(self) -> str:
        count, at = self._own.stop - self._own.start, np.array2string(self.position, precision=4)
        return f"FlexibleBody({self.name!r}, {self.mass:.4g} kg, {count} nodes, at {at} m)"
