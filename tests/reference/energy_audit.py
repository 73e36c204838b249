"""Where the energy of a run goes, step by step.

Moreau's step is H (u⁺ − u⁻) = h f + Jᵀλ with H and J half a step ahead, and bodies move by h ū, ū = (u⁺ + u⁻)/2. The
change of kinetic energy is therefore ū · (h f + Jᵀλ): gravity's share is the loss of potential energy to the last
digit, and a row's share is its reaction times the *mean* of its old and new rates, λ · J ū. What is left over comes
from gyroscopic moments, which act in two halves around the impulses, and from joints closed after the step, both of
third order per step, so the audit is of second order over a run.
"""

from dataclasses import dataclass, field

import numpy as np

from delassus.dynamics import energy_of
from delassus.simulation import Memory, StepSettings, step

JOINT, DRIVE, LIMIT, CONTACT, FRICTION = range(5)  # kinds of blocks, the top bits of their names
_ROUNDING = 1e-9  # of the energies themselves: a thousandth of it, 1e-12, is what a sum over the bodies may lose
_NOTHING = 1e-9  # [J] where nothing moves, and bodies weigh a gram at least
_KIND_SHIFT = np.uint64(61)


@dataclass
class Audit:
    """balance: energy minus what drives and inputs did, after every step [J]; exchanged: what went to and fro until
    then [J]; passive: work of limits, contacts and dry friction per step [J], never above zero but for errors of
    discretisation; drift: worst joint error [m, rad]; penetration: deepest at each step [m]; statuses."""

    balance: list[float] = field(default_factory=list)
    exchanged: list[float] = field(default_factory=list)
    passive: list[float] = field(default_factory=list)
    drift: float = 0.0
    penetration: list[float] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    reports: list = field(default_factory=list)
    states: list = field(default_factory=list)

    @property
    def excess(self) -> float:
        """The largest rise of the balance above an earlier value, over what was exchanged in the whole run [-]."""
        A = np.array(self.balance)
        rise = float((A - np.minimum.accumulate(A)).max())
        return rise / (self.exchanged[-1] + _ROUNDING * float(np.abs(A).max()) + _NOTHING)

    @property
    def converged(self) -> bool:
        return all(status == "converged" for status in self.statuses)


def audited_run(model, state, inputs, steps: int, settings: StepSettings) -> Audit:
    """Take the steps and keep the books.  inputs: time → Inputs."""
    audit, memory, h = Audit(), Memory(), settings.h
    energy, work, went = energy_of(model, state.rotation, state.position, state.u), 0.0, 0.0
    audit.balance.append(sum(energy))
    audit.states.append(state)
    before = _body_energies(model, state)
    for _ in range(steps):
        given = inputs(state.t + 0.5 * h)  # targets at the middle of the step are of second order
        after, report = step(model, state, given, settings, memory)
        mean = 0.5 * (state.u + after.u)
        by_kind, size = _work_of_rows(report, mean)
        effort = h * float(given.effort @ _rates(model, report, mean)) if len(given.effort) else 0.0
        outside = h * float((given.wrench * mean).sum()) + effort
        drives = sum(value for kind, value in by_kind.items() if kind not in (JOINT, LIMIT, CONTACT, FRICTION))
        work += outside + drives
        now = _body_energies(model, after)
        went += float(np.abs(now - before).sum()) + size + abs(outside)
        # energy that is present in motion may be exchanged without a change of any body's own: a spinning top
        audit.exchanged.append(max(went, float(now[0].sum())))
        audit.balance.append(sum(report.energy) - work)
        audit.passive.append(sum(by_kind.get(kind, 0.0) for kind in (LIMIT, CONTACT, FRICTION)))
        audit.penetration.append(report.penetration)
        audit.drift = max(audit.drift, report.drift)
        audit.statuses.append(report.solution.status.value)
        audit.reports.append(report)
        audit.states.append(after)
        state, before = after, now
    joints = model.joints
    residual, _ = joints.constraints(joints.frames(state.position, state.rotation))
    audit.drift = max(audit.drift, float(np.abs(residual).max(initial=0.0)))
    return audit


def _body_energies(model, state) -> np.ndarray:
    """(2, n_b) kinetic and potential energy of each body [J]."""
    mass, _ = model.mass_blocks(state.rotation)
    kinetic = 0.5 * np.einsum("bi,bij,bj->b", state.u, mass, state.u)
    return np.stack([kinetic, -model.mass * (state.position @ model.gravity)])


def _rates(model, report, u) -> np.ndarray:
    """Rates of the joint coordinates at velocities u (n_b, 6)."""
    joints = model.joints
    pairs = joints.bodies[joints.coordinate_joint]
    return np.array([_row_rate(pair, row, u) for pair, row in zip(pairs, report.rows.rates)])


def _row_rate(pair, row, u) -> float:
    return sum(float(row[6 * side : 6 * side + 6] @ u[b]) for side, b in enumerate(pair) if b >= 0)


def _work_of_rows(report, mean) -> tuple[dict[int, float], float]:
    """(work by kind of block, sum of the sizes of all but the joints') of a step's reactions at such velocities [J]."""
    rows, reactions = report.rows, report.solution.reactions
    start, out, size = rows.cone.block_start, {}, 0.0
    kinds = (rows.names >> _KIND_SHIFT).astype(int)
    for k, kind in enumerate(kinds):
        for r in range(start[k], start[k + 1]):
            done = float(reactions[r]) * _row_rate(rows.bodies[k], rows.rows[r], mean)
            out[kind] = out.get(kind, 0.0) + done
            size += abs(done) if kind != JOINT else 0.0
    return out, size
