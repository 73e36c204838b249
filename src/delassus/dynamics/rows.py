"""The rows of one step, with bias, compliance and names; the rate and mobility of one of them.

Blocks in the order of the problem's cone: bilateral (joints, then welds of nodes, couplings, drives, dry friction of
joints), unilateral (limits of joints and tendons), triples (contacts, those of flexible surfaces last).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.dynamics.lengths import Lengths
    from delassus.dynamics.node_rows import NodeRows

# The top bits say what kind of thing a block's name belongs to, so that no two kinds share one.
_KINDS = 61  # bits of a name below those of its kind
JOINT, DRIVE, LIMIT, CONTACT, FRICTION, WELD, SURFACE, COUPLING = (np.uint64(k << _KINDS) for k in range(8))

NEARLY_HARD = 1e-9
"""Compliance, in mobilities, of rows that are hard up to a bound: two of them may contradict each other."""


class RowArrays(NamedTuple):
    """The rows of a step as kernels write and read them, with room for all there may be."""

    bodies: np.ndarray  # (blocks, 2)
    names: np.ndarray  # (blocks,) uint64
    rows: np.ndarray  # (m, 12)
    bias: np.ndarray  # (m,) [m/s, rad/s]
    compliance: np.ndarray  # (m,) [1/kg]
    bound: np.ndarray  # (m,) largest reaction [N s]


class Motion(NamedTuple):
    """Bodies where rows are evaluated, and how they move."""

    at: np.ndarray  # (n_b, 7) poses
    rotation: np.ndarray  # (n_b, 3, 3)
    elapsed: np.ndarray  # (n_b,) time it took to get there [s]
    u: np.ndarray  # (n_b, 6) velocities before the step
    half: np.ndarray  # (n_b, 6) after the first half of the gyroscopic moment, before the impulses of the solve
    inverse_mass: np.ndarray  # (n_b,)
    inverse_inertia: np.ndarray  # (n_b, 3, 3) in the bodies' frames


class Rule(NamedTuple):
    """What the settings make of rows."""

    h: float  # the step [s]
    weight: float  # of springs, drives and dampers, see softness.py
    pushing: tuple[Any, ...]  # fields of `Pushing`


class Turning(NamedTuple):
    """Errors of joints and what turns, for each of their rows."""

    residual: np.ndarray  # (m_j,) error before the step [m, rad]
    later: np.ndarray  # (m_j,) where rows are evaluated
    bend: np.ndarray  # (m_j,) what rows and velocities turned in between [m/s, rad/s]


def are_joints(names: np.ndarray) -> np.ndarray:
    """Which blocks constrain the motion of bodies for good: joints, welds and couplings; not drives, dampers, springs
    and dry friction, which are bilateral rows, too.  names: (n,) uint64."""
    return are_of(names, JOINT, WELD, COUPLING)


def are_of(names: np.ndarray, *kinds: np.uint64) -> np.ndarray:
    """Which blocks are of these kinds.  names: (n,) uint64."""
    return np.isin(names >> np.uint64(_KINDS), np.array(kinds) >> np.uint64(_KINDS))


@dataclass(eq=False)
class Rows:
    """What a problem is made of, plus the name of every block for the warm start. Not changed once made.

    bodies: (block_count, 2); rows: (m, 12); bias: (m,) [m/s]; compliance: (m,) [1/kg] or None; cone; names:
    (block_count,) uint64, the same from step to step for the same joint, limit or contact feature; residual: (m_j,)
    errors of joints and welds [m, rad]; contacts: what the triples are; coordinates: (n_d,) [m, rad], turns counted,
    and their rate rows: (n_d, 12); bound: (m,) largest reactions [N s], infinite for most, None for all; stopped:
    (n_d,) does a limit stop the prescribed motion? friction_count: the last bilateral rows are of dry friction; nodes:
    what rows say about nodes of flexible bodies, None where there are none; wide: (numbers of rows, rows over all
    velocities of rigid bodies) of couplings and tendons that tie more than two bodies, None where there are none;
    lengths: of couplings and tendons, None where there are none."""

    bodies: np.ndarray
    rows: np.ndarray
    bias: np.ndarray
    compliance: np.ndarray | None
    cone: ProductCone
    names: np.ndarray
    residual: np.ndarray
    contacts: Contacts
    coordinates: np.ndarray
    rates: np.ndarray
    bound: np.ndarray | None
    stopped: np.ndarray
    friction_count: int = 0
    nodes: "NodeRows | None" = None
    wide: tuple[np.ndarray, np.ndarray] | None = None
    lengths: "Lengths | None" = None

    @property
    def contact_count(self) -> int:
        return len(self.contacts.gap)

    @property
    def welds(self) -> slice:
        """Rows of welds, three a node: they follow those of the joints."""
        count = 0 if self.nodes is None else int((self.nodes.block < self.cone.bilateral.size).sum())
        first = 0 if self.nodes is None or not count else int(self.cone.block_start[self.nodes.block[0]])
        return slice(first, first + 3 * count)

    def __repr__(self) -> str:
        soft = 0 if self.compliance is None else int(np.count_nonzero(self.compliance))
        return f"Rows({len(self.rows)} rows, {self.cone}, {soft} compliant, {len(self.coordinates)} coordinates)"


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def row_rate(bodies, k, rows, r, u):
    """rows[r] · (u_a, u_b), a and b being bodies[k].  bodies: (…, 2), rows: (…, 12), u: (n_b, 6)."""
    value = 0.0
    for side in range(2):
        b = bodies[k, side]
        if b >= 0:
            for i in range(6):
                value += rows[r, 6 * side + i] * u[b, i]
    return value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def row_mobility(bodies, k, rows, r, masses):
    """rows[r] H⁻¹ rows[r]ᵀ [1/kg].  masses: rotations (n_b, 3, 3), inverse masses (n_b,) and inverse inertias
    (n_b, 3, 3) in the bodies' frames."""
    rotation, inverse_mass, inverse_inertia = masses
    value = 0.0
    for side in range(2):
        b = bodies[k, side]
        if b < 0:
            continue
        R, inverse = rotation[b], inverse_inertia[b]
        for i in range(3):
            value += rows[r, 6 * side + i] ** 2 * inverse_mass[b]
            local, other = 0.0, 0.0  # component i of the row's moment, and of Θ⁻¹ times it, in the body's frame
            for m in range(3):
                local += R[m, i] * rows[r, 6 * side + 3 + m]
                for a in range(3):
                    other += inverse[i, a] * R[m, a] * rows[r, 6 * side + 3 + m]
            value += local * other
    return value
