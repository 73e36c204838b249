"""The problem of a step whose masses hold derivatives of forces: H, free velocity and rows over bodies and nodes."""

import math
from dataclasses import replace

import numpy as np

from delassus.collision import Contacts
from delassus.dynamics.bounded import Held
from delassus.dynamics.implicit import Implicit
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.node_rows import jacobian, place_welded, wide_rows
from delassus.dynamics.rows import Rows
from delassus.errors import ProblemError
from delassus.forces import Masses
from delassus.integrators import STIFFLY, Integrator, moved
from delassus.law import Law
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.model.model import Model
from delassus.model.state import State
from delassus.problem import Problem
from delassus.spatial import rotations_of

# The midpoint rule of elements that turn is unstable where they are too stiff for the step: bars of steel that turned
# by 50 mrad in a step, h ω = 2 000, gained energy without bound. Their θ is larger by this share of the angle, which is
# of first order in h, so that the scheme stays of second; up to a quarter.
_LEAN = 0.4
_MOST_LEANING = 0.75


def touching_surfaces(
    model: Model, state: State, contacts: Contacts, at: np.ndarray, nodes: np.ndarray, h: float, threads: int
) -> Contacts:
    """The contacts of rigid bodies, and after them those of flexible surfaces.  at: (n_b, 7), nodes: (n_n, 3) where
    rows are evaluated. What may be reached within the step is looked for: open contacts close within it and no
    further."""
    assert model.flexible is not None
    if model.flexible.surface is None:
        return contacts
    reach = h * (_largest(state.node_velocity) + h * math.hypot(*model.gravity))
    if len(state.u):
        arms = np.zeros(model.body_count + 1)  # the last is the world
        np.maximum.at(arms, model.shapes.body, model.shapes.pace.arm)
        arms[-1] = 0.0
        speed = np.linalg.norm(state.u[:, :3], axis=1) + arms[:-1] * np.linalg.norm(state.u[:, 3:], axis=1)
        reach += h * float(speed.max())
    return with_surfaces(model, contacts, at, nodes, reach, threads)


def with_surfaces(
    model: Model, contacts: Contacts, at: np.ndarray, nodes: np.ndarray, reach: float = 0.0, threads: int = 1
) -> Contacts:
    """The contacts of rigid bodies, and after them those of flexible surfaces within reach [m]."""
    assert model.flexible is not None
    if model.flexible.surface is None:
        return contacts
    from delassus.collision.surface import detect_surface

    found = detect_surface(model.flexible.surface, nodes, model.shapes, at, reach=reach, threads=threads)
    if not len(contacts):
        return found
    if not len(found):
        return contacts
    n = len(contacts)
    rigid = replace(contacts, nodes=np.full((n, 4), -1, np.int64), weights=np.zeros((n, 4)))
    return Contacts(
        *(np.concatenate([getattr(rigid, name), getattr(found, name)]) for name in Contacts.__dataclass_fields__)
    )


def _largest(vectors: np.ndarray) -> float:
    return float(np.sqrt((vectors * vectors).sum(axis=1).max(initial=0.0)))


class ImplicitStep:
    """One step's H, factorised, and the problem it poses.  u: (n,) velocities before the step, half of the gyroscopic
    moment included; linear: what pushes, linearised; determinant: the least of the elements' deformations."""

    def __init__(
        self,
        model: Model,
        state: State,
        rotation: np.ndarray,
        half: np.ndarray,
        rows: Rows,
        inputs: Inputs,
        h: float,
        scheme: Integrator,
        law: Law,
    ):
        """rotation: (n_b, 3, 3) of the masses; half: (n_b, 6) velocities after half of the gyroscopic moment."""
        self.model, self.state, self.inputs = model, state, inputs
        self.rows, self.h, self.law = rows, h, law
        self.theta, self.tangents = scheme.theta, scheme.tangents
        self.element_theta = self.theta
        if scheme.weight == STIFFLY and model.flexible is not None:
            self.element_theta = min(self.theta + _LEAN * h * fastest_spin(model, state), _MOST_LEANING)
        self.implicit = Implicit.of(model)
        self.u = np.concatenate([half.ravel(), state.node_velocity.ravel()])
        self.mass, _ = model.mass_blocks(rotation)
        self.masses = self._masses(rotation) if scheme.weight == STIFFLY and model.forces is not None else None
        self._constant = self._constant_impulse()
        self.J = jacobian(
            rows.bodies, rows.cone.block_start, rows.rows, rows.nodes, self.implicit.count, self.implicit.rigid_count
        )
        if rows.wide is not None:
            self.J = self.J + wide_rows(*rows.wide, self.J.shape)
        self.linearise()

    def linearise(self, u: np.ndarray | None = None) -> None:
        """About the start of the step (θ = 1), about where it leads unchanged (θ < 1), or about the velocities u (n,)
        after it."""
        if u is None and self.theta < 1.0:
            u = self.u
        state, h, theta, implicit = self.state, self.h, self.theta, self.implicit
        there = state.at(state.t + theta * h) if u is None else self._state_towards(u, self.element_theta)
        tried = [(tangent, False) for tangent in self.tangents]
        if self.model.forces is not None:
            tried.append((self.tangents[-1], True))
        start = self.u if u is None else None
        predicted = self._state_towards(self.u if u is None else u, theta)
        for tangent, is_clamped in tried:
            linear = implicit.linearise(
                self.model,
                self.mass,
                there,
                start,
                h,
                theta,
                tangent,
                predicted,
                is_clamped,
                self.masses,
                self.element_theta,
            )
            if implicit.factor.factor(linear.H):
                break
        else:
            raise ProblemError(
                "H is not positive definite: forces push the way things move; shorten the step, or add damping"
            )
        self.linear = linear
        momentum = linear.momentum + self._constant
        base = self.u if u is None else u
        if u is not None and u is not self.u:
            momentum += implicit.mass_times(self.model, self.mass, self.u - u)
        self._momentum, self._base = momentum, base

    def is_settled(self, before: np.ndarray, after: np.ndarray, tol: float) -> bool:
        """Are these velocities (n,) the same up to a fraction tol of themselves, or of what falls in a step, in the
        norm of the masses?"""

        def energy(u: np.ndarray) -> float:
            return float(u @ self.implicit.mass_times(self.model, self.mass, u))

        down = np.zeros_like(after)
        down[: self.implicit.rigid_count].reshape(-1, 6)[:, :3] = self.h * self.model.gravity
        down[self.implicit.rigid_count :].reshape(-1, 3)[:] = self.h * self.model.gravity
        return energy(after - before) <= tol**2 * max(energy(after), energy(down))

    def _masses(self, rotation: np.ndarray) -> Masses:
        """What the step resolves of springs and their like."""
        model, flexible = self.model, self.model.flexible
        nodes = np.zeros(0) if flexible is None else 1.0 / flexible.elements.nodal_mass
        turning = rotation @ model.inverse_inertia @ rotation.transpose(0, 2, 1)
        return Masses(self.h, model.inverse_mass, turning, nodes)

    def _state_towards(self, u: np.ndarray, theta: float) -> State:
        """Where the step with velocities u after it evaluates forces of this θ."""
        state, rigid, h = self.state, self.implicit.rigid_count, self.h
        mean = self.u + theta * (u - self.u)
        twist, velocity = mean[:rigid].reshape(-1, 6), mean[rigid:].reshape(-1, 3)
        return State(
            moved(state.q, twist, theta * h),
            twist.copy(),
            state.t + theta * h,
            state.turns,
            state.nodes + theta * h * velocity,
            velocity.copy(),
        )

    def _constant_impulse(self) -> np.ndarray:
        """Of gravity, wrenches and efforts on rigid bodies, and of forces on nodes, (n,) [N s]."""
        model, inputs, rows = self.model, self.inputs, self.rows
        out = np.zeros(self.implicit.count)
        force = inputs.wrench.copy()
        force[:, :3] += model.mass[:, None] * model.gravity
        for d in np.flatnonzero(inputs.effort):
            for side, b in enumerate(model.joints.bodies[model.joints.coordinate_joint[d]]):
                if b >= 0:
                    force[b] += inputs.effort[d] * rows.rates[d, 6 * side : 6 * side + 6]
        out[: self.implicit.rigid_count] = self.h * force.ravel()
        if len(inputs.node_force):
            out[self.implicit.rigid_count :] = self.h * inputs.node_force.ravel()
        return out

    def problem(self, held: Held | None = None) -> Problem:
        """held: rows whose impulses are known act as such, see `step_problem.reduce`."""
        rows, J, momentum = self.rows, self.J, self._momentum
        bias, compliance = rows.bias.copy(), rows.compliance
        if held is not None and held.side.any():
            assert compliance is not None
            impulse, at = held.side * held.bound, held.index
            known = np.flatnonzero(impulse)
            momentum = momentum.copy()
            J, compliance = J.copy(), compliance.copy()
            for k in known:
                row = slice(J.indptr[at[k]], J.indptr[at[k] + 1])
                momentum[J.indices[row]] += impulse[k] * J.data[row]
                J.data[row] = 0.0
            compliance[at[known]] = 1.0
            bias[at[known]] = -impulse[known]
        factor = self.implicit.factor
        u_f = self._base + factor.solve(momentum)
        delassus = SparseDelassus(self.implicit.matrix(self.linear.H), J, compliance, factor)
        fall = self.h * math.hypot(*self.model.gravity)
        return Problem(
            delassus, J @ u_f + bias, rows.cone, self.law, u_f=u_f, bias=bias, rest_speed=fall, before=self.u
        )

    def nodes_after(self, at: np.ndarray, q: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and their velocities at the end of the step, (n_n, 3) each; those that are held are where they are
        held.  at: (n_n, 3) where rows are evaluated; q: (n_b, 7) at the end; velocities: (n,) of the solution."""
        velocity = velocities[self.implicit.rigid_count :].reshape(-1, 3).copy()
        nodes = at + self.theta * self.h * velocity
        flexible = self.model.flexible
        if flexible is not None and flexible.welds.count:
            welds = flexible.welds
            where = welds.at(self.state.t + self.h)
            place_welded(welds.node, welds.body, where, q, rotations_of(q), welds.velocity, nodes, velocity)
        return nodes, velocity


def fastest_spin(model: Model, state: State) -> float:
    """The largest angular velocity of a flexible body [rad/s], each as if it were rigid."""
    assert model.flexible is not None
    elements, fastest = model.flexible.elements, 0.0
    for k in range(len(elements.node_start) - 1):
        own = slice(elements.node_start[k], elements.node_start[k + 1])
        m, x, v = elements.nodal_mass[own, None], state.nodes[own], state.node_velocity[own]
        x, v = x - (m * x).sum(axis=0) / m.sum(), v - (m * v).sum(axis=0) / m.sum()
        inertia = (m * x * x).sum() * np.eye(3) - (m * x).T @ x
        if np.linalg.det(inertia) > 0.0:  # not of nodes in one point or on one line
            fastest = max(fastest, float(np.linalg.norm(np.linalg.solve(inertia, (m * np.cross(x, v)).sum(axis=0)))))
    return fastest
