"""Contacts as springs, for comparison with contacts that are solved (Mangoni, thesis, §5.3.2): depth and speed at the
start of a step give forces that act through it, explicitly. Nothing is solved for them, and the step is limited by
their stiffness: h² k λ_max(D_nn) < 4, whatever else is implicit.
"""

from dataclasses import dataclass, replace

import numpy as np

from delassus.arguments import number, word
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.node_rows import jacobian
from delassus.dynamics.rows import Rows
from delassus.errors import SettingsError
from delassus.model.model import Model
from delassus.model.state import State

EXPONENTS = {"linear": 1.0, "hertz": 1.5}
"""Of the depth, by name."""


@dataclass(frozen=True)
class Penalty:
    """The springs of `StepSettings(integrator="penalty")`, one at every contact point.

    stiffness: k of the normal force k d^p of a depth d [N/m, or N/m^1.5].
    damping: c of the normal force c d^(p−1) ḋ beside it [N s/m, or N s/m^1.5]; the sum of both never pulls.
    law: "linear" (p = 1) or "hertz" (p = 3/2).
    slip_speed: below it friction is μ f_n times the share of it that contacts slip at, instead of sticking [m/s].
    """

    stiffness: float = 1e5
    damping: float = 0.0
    law: str = "linear"
    slip_speed: float = 1e-3

    def __post_init__(self) -> None:
        for name, unit in (("stiffness", "N/m, N/m^1.5"), ("damping", "N s/m, N s/m^1.5"), ("slip_speed", "m/s")):
            number(getattr(self, name), f"penalty.{name}", unit, positive=name != "damping", error=SettingsError)
        word(self.law, "penalty.law", EXPONENTS, error=SettingsError)

    def forces(self, gap: np.ndarray, velocity: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """(n, 3) along normal and tangents [N].  gap: (n,) [m]; velocity: (n, 3) of B against A in the contacts'
        frames [m/s]; mu: (n,)."""
        depth, p = np.maximum(-gap, 0.0), EXPONENTS[self.law]
        out = np.empty((len(gap), 3))
        out[:, 0] = np.maximum(self.stiffness * depth**p - self.damping * depth ** (p - 1.0) * velocity[:, 0], 0.0)
        out[depth <= 0.0, 0] = 0.0
        slip = np.maximum(np.linalg.norm(velocity[:, 1:], axis=1), self.slip_speed)
        out[:, 1:] = -(mu * out[:, 0] / slip)[:, None] * velocity[:, 1:]
        return out


def press(
    model: Model, state: State, rows: Rows, inputs: Inputs, h: float, penalty: Penalty, is_frictionless: bool
) -> tuple[Rows, Inputs]:
    """Rows whose contacts say no more than that their impulses are those of springs, E λ + b = 0, and inputs that hold
    these."""
    first, blocks = rows.cone.contact_start, len(rows.bodies) - rows.contact_count
    rigid = 6 * model.body_count
    J = jacobian(rows.bodies, rows.cone.block_start, rows.rows, rows.nodes, rigid + 3 * model.node_count, rigid)[first:]
    u = np.concatenate([state.u.ravel(), state.node_velocity.ravel()])
    mu = np.zeros_like(rows.contacts.mu) if is_frictionless else rows.contacts.mu
    force = penalty.forces(rows.contacts.gap, (J @ u).reshape(-1, 3), mu).ravel()
    total = J.T @ force
    pushed = replace(inputs, wrench=inputs.wrench + total[:rigid].reshape(-1, 6))
    held = rows.nodes
    if held is not None and model.node_count:
        nodal = total[rigid:].reshape(-1, 3)
        pushed = replace(pushed, node_force=nodal + (inputs.node_force if len(inputs.node_force) else 0.0))
        keep = held.block < blocks
        held = replace(
            held, block=held.block[keep], nodes=held.nodes[keep], weights=held.weights[keep], frame=held.frame[keep]
        )
    known, bias = rows.rows.copy(), rows.bias.copy()
    compliance = np.zeros(len(bias)) if rows.compliance is None else rows.compliance.copy()
    known[first:], bias[first:], compliance[first:] = 0.0, -h * force, 1.0
    return replace(rows, rows=known, bias=bias, compliance=compliance, nodes=held), pushed
