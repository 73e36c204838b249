"""SOR-Prox: projected proximal-point steps in Gauß–Seidel order with an adaptive step per contact.

The solver that Tsounis, Grandia and Bächer 2025 name (§VI-D, refs. 54 and 66: Erleben; Studer) and leave out. With the
augmented Lagrangian's parameter r as step, each contact in turn does

    λ_n ← max(0, λ_n − r_n v_n),    λ_t ← P_disk(μ λ_n)(λ_t − r_t v_t)

whose fixed points obey Coulomb's law exactly for any r > 0; r decides only whether, and how fast, they are reached.
r_n = ρ / D_nn and r_t = ρ / (largest eigenvalue of D_tt) make ρ = 1 exact for one contact alone; more acts as
over-relaxation. ρ shrinks at contacts whose change, for equal ρ, grew in a sweep after one whose change grew as a
whole. Tangents see the new λ_n. Joint rows are free (λ ← λ − v / D_ii), limits like normals.

Tried on the 15 FCLIB files of 20 contacts and more and below 250 kB, to 1e-5: halving instead of a tenth off, letting ρ
recover, and judging contacts without looking at the sweep all cycle on some files; ρ = 1 throughout converges on all,
in 1.4 times the sweeps (geometric mean).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from delassus.cones.coulomb import project_disk
from delassus.kernel import njit
from delassus.kernel.six_wide import push_three, three_rows_times
from delassus.linalg.operators.matrix import csr_row_times
from delassus.problem import Problem
from delassus.solvers.gradient.method import GradientMethod
from delassus.solvers.parts.colouring import colour_blocks
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up, wait
from delassus.solvers.settings import Count, Positive, Relaxation, Settings, Share, require


@dataclass(frozen=True)
class Prox(Settings):
    """Settings of SOR-Prox."""

    omega: Relaxation = 1.0  # relaxation of every update, 0 < omega < 2
    step: Positive = 1.5  # first ρ
    step_min: Positive = 0.7  # smallest ρ
    shrink: Share = 0.9  # factor on ρ where a contact's change grew
    threads: Count = 1  # more than one: sweep colour by colour, the blocks of a colour in parallel

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.step_min <= self.step, f"step_min is {self.step_min}: give at most step, {self.step}")


class ProxMethod(GradientMethod):
    """SOR-Prox at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.image = np.zeros(self.operator.image_size)
        count = problem.contact_count
        # per contact: ρ, the last change, r_n / ρ, r_t / ρ and D_tn
        self.contacts = np.empty((count, 6))
        blocks = problem.diagonal_blocks[len(problem.diagonal_blocks) - 9 * count :].reshape(-1, 3, 3)
        normal, tangent = blocks[:, 0, 0], _largest_eigenvalues(blocks[:, 1:, 1:])
        self.contacts[:, 0] = self.settings.step
        self.contacts[:, 1] = np.inf
        self.contacts[:, 2] = np.divide(1.0, normal, where=normal > 0.0, out=np.zeros(count))
        self.contacts[:, 3] = np.divide(1.0, tangent, where=tangent > 0.0, out=np.zeros(count))
        self.contacts[:, 4:] = blocks[:, 1:, 0]
        self.sweeps = np.array([np.inf, 0.0])  # squared change of the last sweep, and whether it grew
        self.order = problem.cone.block_start, *_order(problem, self.settings.threads)

    def advance(self, count: int) -> None:
        settings = self.settings
        # start each batch from the image that belongs to λ, so that rounding cannot pile up
        self.operator.image(self.reactions, self.image)
        self.operator.run(
            _advance,
            self.operator.data,
            count,
            (settings.omega, settings.step_min, settings.shrink),
            self.order,
            (self.sweeps, self.contacts, self.image, self.reactions),
        )


def _largest_eigenvalues(blocks: np.ndarray) -> np.ndarray:
    """Largest eigenvalue of the symmetric part of 2×2 blocks, (n,)."""
    mean = 0.5 * (blocks[:, 0, 0] + blocks[:, 1, 1])
    return mean + np.hypot(0.5 * (blocks[:, 0, 0] - blocks[:, 1, 1]), 0.5 * (blocks[:, 0, 1] + blocks[:, 1, 0]))


def _order(problem: Problem, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks as they are swept and the first of each colour; one thread takes them as they come, as the last colour."""
    cone = problem.cone
    if threads == 1:
        return np.arange(cone.block_count), np.array([0, cone.block_count])
    return colour_blocks(problem)


class _Rule(NamedTuple):
    """See `Prox`."""

    omega: float
    step_min: float
    shrink: float


class _Order(NamedTuple):
    """How blocks are swept."""

    block_start: np.ndarray  # (block_count + 1,) first row of each block
    block: np.ndarray  # (block_count,) blocks as they are swept
    colour_start: np.ndarray  # (colours + 1,) first of each colour in that order


class _Iterate(NamedTuple):
    """What sweeps change, see `ProxMethod`."""

    sweeps: np.ndarray  # (2,) squared change of the last sweep, and whether it grew
    contacts: np.ndarray  # (n_c, 6)
    image: np.ndarray
    x: np.ndarray  # (m,) reactions


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, count, rule, order, iterate):
    """`count` sweeps of one team member, which has its part of each colour; the last, uncoloured blocks belong to the
    first member. Blocks of a colour share no body, so members do not disturb each other."""
    colour_start, sweeps = _Order(*order).colour_start, _Iterate(*iterate).sweeps
    threads = len(barrier)
    total = np.empty(1)
    for _ in range(count):
        total[0] = 0.0
        for colour in range(len(colour_start) - 1):
            start, size = colour_start[colour], colour_start[colour + 1] - colour_start[colour]
            low, high = start + size * t // threads, start + size * (t + 1) // threads
            if colour == len(colour_start) - 2:
                low, high = start, (start + size if t == 0 else start)
            total[0] += _sweep(low, high, data, rule, order, iterate)
            if colour < len(colour_start) - 2:
                wait(t, barrier)
        add_up(t, barrier, parts, total)
        if t == 0:
            sweeps[0], sweeps[1] = total[0], 1.0 if total[0] > sweeps[0] else 0.0
        wait(t, barrier)


@njit(cache=True, error_model="numpy")
def _sweep(low, high, data, rule, order, iterate):
    """Update the blocks from `low` to before `high` of the order one after the other."""
    data, now = passes.Data(*data), _Iterate(*iterate)
    omega, step_min, shrink = rule
    block_start, order, _ = order
    contacts, image, x, grew = now.contacts, now.image, now.x, now.sweeps[1]
    rigid, bilateral, singles = data.rigid, data.bilateral, data.singles
    mu, scale, offset = data.mu, data.scale, data.offset
    pair, rows, skew, compliance = data.pair, data.rows, data.skew, data.compliance
    pointer, column, value = data.pointer, data.column, data.value
    soft, turned = len(compliance) > 0, len(skew) > 0
    push = np.zeros(12)
    total = 0.0
    for p in range(low, high):
        i = block_start[order[p]]
        if i < singles:
            for k in range(i, block_start[order[p] + 1]):
                a, b = (6 * pair[k, 0], 6 * pair[k, 1]) if rigid else (0, 0)
                if rigid:
                    v = passes.row_times(rows, k, a, b, image)
                else:
                    v = csr_row_times(pointer, column, value, k, x)
                v += offset[k] + (compliance[k] * x[k] if soft else 0.0)
                new = x[k] - scale[k] * v
                if k >= bilateral:
                    new = max(new, 0.0)
                change = omega * (new - x[k])
                x[k] += change
                if rigid and change != 0.0:
                    for j in range(12):
                        push[j] = rows[k, j] * change
                    passes.push_turned(a, b, push, skew, image)
            continue
        c = (i - singles) // 3
        k = singles + c
        a, b = (6 * pair[k, 0], 6 * pair[k, 1]) if rigid else (0, 0)
        if rigid:
            v0, v1, v2 = three_rows_times(rows, i, a, b, image)
        else:
            v0 = csr_row_times(pointer, column, value, i, x)
            v1 = csr_row_times(pointer, column, value, i + 1, x)
            v2 = csr_row_times(pointer, column, value, i + 2, x)
        x0, x1, x2 = x[i], x[i + 1], x[i + 2]
        v0, v1, v2 = v0 + offset[i], v1 + offset[i + 1], v2 + offset[i + 2]
        if soft:
            v0, v1, v2 = v0 + compliance[i] * x0, v1 + compliance[i + 1] * x1, v2 + compliance[i + 2] * x2
        rho = contacts[c, 0]
        new = max(0.0, x0 - rho * contacts[c, 2] * v0)
        v1, v2 = v1 + contacts[c, 4] * (new - x0), v2 + contacts[c, 5] * (new - x0)
        t1, t2 = project_disk(x1 - rho * contacts[c, 3] * v1, x2 - rho * contacts[c, 3] * v2, mu[c] * new)
        d0, d1, d2 = omega * (new - x0), omega * (t1 - x1), omega * (t2 - x2)
        change = (d0 * d0 + d1 * d1 + d2 * d2) / (rho * rho)
        total += change
        if grew > 0.0 and change > contacts[c, 1]:
            contacts[c, 0] = max(step_min, shrink * rho)
        contacts[c, 1] = change
        if change == 0.0:
            continue
        x[i], x[i + 1], x[i + 2] = x0 + d0, x1 + d1, x2 + d2
        if rigid and turned:
            for j in range(12):
                push[j] = rows[i, j] * d0 + rows[i + 1, j] * d1 + rows[i + 2, j] * d2
            passes.push_turned(a, b, push, skew, image)
        elif rigid:
            push_three(rows, i, a, b, d0, d1, d2, image)
    return total
