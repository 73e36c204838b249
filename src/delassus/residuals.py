"""The only judge: every residual that is reported of a point is computed here, on that point, in unscaled units.

With v = D λ + v_f and w = v + Γ(v) (Γ = 0 under CCP and FRICTIONLESS, μ = 0 under the latter):

| name | definition | unit |
|---|---|---|
| natural_map_relative | ‖λ − P_K(λ − ρ w)‖₂ / max(ρ‖v_f‖₂, ‖λ‖₂), ρ = m / trace D: the meaning of `tol` | – |
| worst_velocity | max_k ‖λ_k − P(λ_k − ρ_k w_k)‖ / ρ_k, ρ_k = d_k / trace D_kk | m/s |
| worst_velocity_relative | the same, each k over the free velocities of its island: the meaning of `tol_velocity` | – |
| natural_map | ‖λ − P_K(λ − w)‖_∞ (Tsounis et al. 2025, eq. 163, 176); mixes units, kept for comparison | – |
| primal | ‖λ − P_K λ‖_∞ (eq. 156) | N s |
| dual | ‖w − P_K* w‖_∞ (eq. 157, 174) | m/s |
| complementarity | max_k |λ_k · w_k| (eq. 158, 175), bilateral rows one by one | J |
| siconos | ‖λ − P_K(λ − w)‖₂ / max(‖v_f‖₂, ‖λ‖₂, ‖v‖₂), the scaling most Siconos solvers stop on | – |
| cost | |λ · v| / n_c over contacts (Kleinert et al. 2014, §5.2.2) | J |
| feasibility | max_k max(μ‖v_t‖ − v_n, ‖λ_t‖ − μ λ_n, 0) (§5.2.2); a CCP notion | mixed |
| error | max(cost, feasibility) (§5.2.4) | mixed |
| projected_gradient | ‖(λ − P_K(λ − τ v)) / τ‖₂ with τ = ρ (Heyn et al. 2013, eq. 24) | m/s |

In the first three, contacts with exact friction and μ > 1 have Alart and Curnier's map in the place of the natural one:
see `cones.coulomb.MOST_DE_SAXCE`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.cones.coulomb import MOST_DE_SAXCE, project_coulomb, project_coulomb_dual, project_disk
from delassus.errors import ProblemError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.law import Law
from delassus.linalg.dense_product import exact_times_plus
from delassus.linalg.operators.rigid import rigid_velocities
from delassus.problem.data import ProblemData
from delassus.problem.problem import Problem


class Residuals(NamedTuple):
    """See the table at the top of this module."""

    natural_map_relative: float
    worst_velocity: float
    natural_map: float
    primal: float
    dual: float
    complementarity: float
    siconos: float
    cost: float
    feasibility: float
    projected_gradient: float
    worst_velocity_relative: float

    @property
    def error(self) -> float:
        """max(cost, feasibility), the error of Kleinert et al. 2014, §5.2.4."""
        return max(self.cost, self.feasibility)

    @property
    def measure(self) -> "Measure":
        """The two of them a solve is stopped on."""
        return Measure(self.natural_map_relative, self.worst_velocity_relative)

    def as_dict(self) -> dict[str, float]:
        """Plain dictionary, `error` included."""
        return self._asdict() | {"error": self.error}


RESIDUAL_COUNT = len(Residuals._fields)
NATURAL_MAP = Residuals._fields.index("natural_map")


class Measure(NamedTuple):
    """The two figures a solve is stopped on: relative natural map, and worst velocity over those of its island [-]."""

    relative: float
    velocity: float


def measure(problem: Problem, reactions: np.ndarray, low: np.ndarray | None = None) -> Measure:
    """Relative natural map and relative worst velocity of λ under the problem's law.  reactions: (m,) [N s]; low: (m,),
    what they lack to a second double each, or None."""
    return measure_with_velocities(problem, *_point(problem, reactions, low))[0]


def measure_with_velocities(
    problem: Problem, reactions: np.ndarray, low: np.ndarray | None = None
) -> tuple[Measure, np.ndarray | None]:
    """(what `measure` finds, v (m,) [m/s] where it is at hand then and all that `evaluate` needs, or None)."""
    if low is not None and low.any():
        found = _measure_pairs(problem, reactions, low)[0]
        return Measure(found[0], found[2]), None
    if problem.delassus.has_bodies:  # what every step of a simulation asks several times
        rigid = problem.delassus.rigid
        u, v = np.empty(rigid.velocity_count), np.empty(len(reactions))
        found = judge_rigid(rigid.plain, problem.free_velocity, _NONE, reactions, problem.data, u, v, _NONE)
        return Measure(found[0], found[2]), None
    v = problem.constraint_velocity(reactions) if reactions.any() else problem.free_velocity.copy()
    measured = Measure(*measure_at(reactions, v, data_at(problem, reactions)))
    return measured, None if problem.delassus.is_primal else v


def velocities(problem: Problem, reactions: np.ndarray, low: np.ndarray | None = None) -> np.ndarray:
    """v = D λ + v_f, (m,) [m/s].  reactions, low: as in `measure`."""
    reactions, low = _point(problem, reactions, low)
    if low is not None and low.any():
        return _measure_pairs(problem, reactions, low)[1]
    return problem.constraint_velocity(reactions)


def evaluate(problem: Problem, reactions: np.ndarray, low: np.ndarray | None = None) -> Residuals:
    """Every residual of λ under the problem's law.  reactions, low: as in `measure`."""
    return evaluate_with_velocities(problem, *_point(problem, reactions, low))[0]


def evaluate_with_velocities(
    problem: Problem, reactions: np.ndarray, low: np.ndarray | None = None, known: np.ndarray | None = None
) -> tuple[Residuals, np.ndarray, np.ndarray | None]:
    """(every residual of λ, v (m,) [m/s], u (n,) or None for dual problems).  reactions, low: as in `measure`,
    contiguous; known: v, where `measure_with_velocities` gave it for the same λ."""
    out = np.empty(RESIDUAL_COUNT)
    if low is not None and low.any():
        measured, v, bodies = _measure_pairs(problem, reactions, low)
        _evaluate_at(reactions, v, problem.data, out)
        out[0], out[1], out[10] = measured
        return Residuals(*out.tolist()), v, bodies
    if problem.delassus.has_bodies and problem.u_f is not None:
        rigid = problem.delassus.rigid
        u, v = np.empty(rigid.velocity_count), np.empty(len(reactions))
        judge_rigid(rigid.plain, problem.free_velocity, problem.u_f, reactions, problem.data, u, v, out)
        return Residuals(*out.tolist()), v, u
    v, velocities = problem.velocities(reactions) if known is None else (known, None)
    _evaluate_at(reactions, v, data_at(problem, reactions), out)
    return Residuals(*out.tolist()), v, velocities


def of_contacts(
    problem: Problem, reactions: np.ndarray, velocities: np.ndarray, low: np.ndarray | None = None
) -> np.ndarray:
    """(n_c, 2) what each contact adds to `worst_velocity` [m/s] and to `worst_velocity_relative` [-], whose largest
    value over all blocks these are.  reactions, low: as in `measure`; velocities: v of that point, (m,) [m/s]."""
    reactions, low = _point(problem, reactions, low)
    velocities = problem.reactions_of(velocities, "velocities")
    out = np.empty((problem.contact_count, 2))
    if low is not None and low.any() and problem.delassus.has_bodies and problem.u_f is not None:
        own, first = _own_steps(problem), len(problem.velocity_scale) - problem.contact_count
        out[:, 0] = np.sqrt(_pair_gaps(problem, reactions, low, own)[0][:, 1]) / own
        out[:, 1] = [_ratio(*pair) for pair in zip(out[:, 0].tolist(), problem.velocity_scale[first:].tolist())]
        return out
    fill_contact_errors(reactions, velocities, data_at(problem, reactions), len(out), 0, out[:, 0], out[:, 1])
    return out


def _point(problem: Problem, reactions: np.ndarray, low: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Both as kernels, which check nothing, read them: (m,)."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"residuals: {type(problem).__name__} is no Problem: make one with Problem.dual, …")
    return problem.reactions_of(reactions), None if low is None else problem.reactions_of(low, "low")


def data_at(problem: Problem, reactions: np.ndarray) -> tuple[Any, ...]:
    """Fields of `ProblemData` by which these reactions are judged: of flexible bodies that touch nothing D is not
    formed to find that out."""
    if problem.delassus.has_blocks_at_hand or reactions.any() or not problem.is_free:
        return problem.data
    return problem.data_of_free_motion


def _measure_pairs(
    problem: Problem, high: np.ndarray, low: np.ndarray
) -> tuple[tuple[float, float, float], np.ndarray, np.ndarray | None]:
    """(what `_measures` finds, v (m,), u (n,) or None) of λ = high + low. For rigid bodies Jᵀ λ is summed to thirty-one
    digits before masses divide it; elsewhere the second double adds what it can."""
    delassus = problem.delassus
    if not delassus.has_bodies or problem.u_f is None:
        v, velocities = problem.velocities(high)
        v = v + delassus.product(low)
        if velocities is not None:
            velocities = velocities + delassus.body_velocity(low)
        return _measures(high, v, _NO_GAPS, problem.data), v, velocities
    gaps, v, u = _pair_gaps(problem, high, low, _own_steps(problem))
    nearest = v[:, 0].copy()
    return _measures(high, nearest, gaps, problem.data), nearest, u[:, 0].copy()


def _pair_gaps(
    problem: Problem, high: np.ndarray, low: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(squared gaps of contacts for ρ and for their own ρ_k (n_c, 2), v (m, 2), u (n, 2)) of rigid bodies at
    λ = high + low.  own: (n_c,) ρ_k."""
    # compiled on first use: only masses far apart need them
    from delassus.cones.pairs import fill_gaps
    from delassus.linalg.operators.rigid_pairs import pair_velocities

    v, u = pair_velocities(problem.delassus.rigid, problem.u_f, problem.bias, high, low)
    gaps, is_exact, first = np.empty((problem.contact_count, 2)), problem.law is Law.NCP, problem.cone.contact_start
    fill_gaps(np.column_stack([high, low]), v, first, problem.mu, is_exact, problem.rho, own, gaps)
    return gaps, v, u


def _own_steps(problem: Problem) -> np.ndarray:
    """(n_c,) ρ_k = 3 / trace D_kk of the contacts."""
    count = problem.contact_count
    trace = problem.diagonal_blocks[len(problem.diagonal_blocks) - 9 * count :].reshape(count, 9)[:, ::4].sum(axis=1)
    return np.where(trace > 0.0, 3.0 / np.where(trace > 0.0, trace, 1.0), problem.rho)


_CLEARLY = 0.999  # of a square: what lies below is smaller, however both were rounded
_NONE, _NO_GAPS = np.empty(0), np.empty((0, 2))  # as arguments: nothing is known, nothing is asked for


@njit(cache=True, error_model="numpy")
def _ratio(value, scale):
    """value / scale; 0 / 0 counts as 0."""
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 else math.inf


@njit(cache=True, **NO_REFCOUNT)
def measure_at(reactions, v, data):
    """(relative natural map, relative worst velocity) where v = D λ + v_f is known, for compiled code.  data: the
    fields of `ProblemData`."""
    relative, _, worst = _measures(reactions, v, _NO_GAPS, data)
    return relative, worst


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def measure_dense(D, free, reactions, data, v, out):
    """What a solve is called by, where D is at hand in full, as `evaluate` finds it.  D: (m, m); v: (m,), written; out:
    as in `_fill_residuals`, of which NATURAL_MAP becomes NaN, and stays so until the others are read."""
    exact_times_plus(D, reactions, free, v)
    out[0], out[1], out[10] = _measures(reactions, v, _NO_GAPS, data)
    out[NATURAL_MAP] = math.nan


@njit(cache=True, **NO_REFCOUNT)
def judge_rigid(rigid, free, u_f, reactions, data, u, v, out):
    """What `_measures` finds of rigid bodies, from reactions alone.  rigid: `RigidDelassus.plain`; free: v_f, (m,);
    u_f: (n,); u: (n,) and v: (m,), written; out: as in `_fill_residuals`, or empty where only the measures are needed,
    and u is without u_f. One kernel for both: each would compile the natural map anew."""
    rigid_velocities(rigid, reactions, free, u, v)
    found = _measures(reactions, v, _NO_GAPS, data)
    if len(out) > 0:
        for i in range(len(u_f)):
            u[i] += u_f[i]
        _fill_residuals(reactions, v, data, found, out)
    return found


@njit(cache=True, inline="always")
def _evaluate_at(reactions, v, data, out):
    """out: see `_fill_residuals`."""
    _fill_residuals(reactions, v, data, _measures(reactions, v, _NO_GAPS, data), out)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_residuals(reactions, v, data, measures, out):
    """out: the fields of `Residuals` in their order, (11,)."""
    data = ProblemData(*data)
    out[0], out[1], out[10] = measures
    _fill_absolute(reactions, v, data, out)
    length, speed, work = 0.0, 0.0, 0.0
    for i in range(len(v)):
        length += reactions[i] * reactions[i]
        speed += v[i] * v[i]
        if i >= data.bilateral_rows + data.limit_count:
            work += reactions[i] * v[i]
    out[6] = _ratio(math.sqrt(out[6]), max(data.free_speed, math.sqrt(length), math.sqrt(speed)))
    out[7] = abs(work) / max(len(data.mu), 1)
    out[9] = math.sqrt(out[9])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _measures(reactions, v, gaps, data):
    """(relative natural map [-], worst velocity [m/s], worst velocity over the scale of its block [-]).  gaps: (n_c, 2)
    squared gaps of contacts for ρ and for ρ_k where they are known already, or empty."""
    data = ProblemData(*data)
    scale, step, first = data.velocity_scale, data.rho, data.joint_count + data.limit_count
    square = 0.0
    length = 0.0
    for i in range(len(reactions)):
        length += reactions[i] * reactions[i]
    worst, relative = 0.0, 0.0
    offset = 0
    for k in range(first):
        size = data.block_start[k + 1] - data.block_start[k]
        part, error = _block_errors(reactions, v, k, offset, data)
        offset += size * size
        square += part
        worst, relative = max(worst, error), max(relative, _ratio(error, scale[k]))
    for c in range(len(data.mu)):
        k = first + c
        own = _own_step(data.diagonal_blocks, offset, 3, step)
        if len(gaps):
            part, gap = gaps[c, 0], gaps[c, 1]
        else:
            part, gap = _contact_gaps(reactions, v, data.block_start[k], data.mu[c], data.is_exact, step, own)
        offset += 9
        square += part
        # a root and two divisions less for all that are clearly not the worst
        most, most_relative = worst * own, relative * scale[k] * own
        if not (gap < _CLEARLY * most * most and gap < _CLEARLY * most_relative * most_relative):
            error = math.sqrt(gap) / own
            worst, relative = max(worst, error), max(relative, _ratio(error, scale[k]))
    if not (square < math.inf and length < math.inf and data.free_speed < math.inf):
        return math.inf, math.inf, math.inf  # against what overflows everything is small
    return _ratio(math.sqrt(square), max(step * data.free_speed, math.sqrt(length))), worst, relative


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _own_step(diagonal_blocks, offset, size, step):
    """ρ_k = d_k / trace D_kk."""
    trace = 0.0
    for a in range(size):
        trace += diagonal_blocks[offset + a * (size + 1)]
    return size / trace if trace > 0.0 else step


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _block_errors(reactions, v, k, offset, data):
    """(square of the natural map with ρ, error of velocity [m/s]) of block k.  offset: of D_kk among the blocks."""
    step = data.rho
    i = data.block_start[k]
    size = data.block_start[k + 1] - i
    if k < data.joint_count:
        part = 0.0
        for a in range(size):
            part += v[i + a] * v[i + a]
        return step * step * part, math.sqrt(part)
    own = _own_step(data.diagonal_blocks, offset, size, step)
    first = data.joint_count + data.limit_count
    if k < first:
        gap = min(reactions[i], step * v[i])  # λ − max(0, λ − ρ v), without cancelling the velocity against λ
        return gap * gap, abs(min(reactions[i], own * v[i])) / own
    part, gap = _contact_gaps(reactions, v, i, data.mu[k - first], data.is_exact, step, own)
    return part, math.sqrt(gap) / own


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_contact_errors(reactions, v, data, count, row, error, relative):
    """`of_contacts` for compiled code, of all `count` contacts, written from this row on of error [m/s] and relative
    [-]."""
    data = ProblemData(*data)
    step, start, first = data.rho, data.block_start, data.joint_count + data.limit_count
    offset = 0
    for k in range(first):
        size = start[k + 1] - start[k]
        offset += size * size
    for c in range(count):
        own = _own_step(data.diagonal_blocks, offset + 9 * c, 3, step)
        _, gap = _contact_gaps(reactions, v, start[first + c], data.mu[c], data.is_exact, step, own)
        found = math.sqrt(gap) / own
        error[row + c], relative[row + c] = found, _ratio(found, data.velocity_scale[first + c])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def measure_islands(reactions, v, island, data, table):
    """What each island adds to the measures, for compiled code: squares of the natural map and of the reactions, and
    the relative worst velocity.  island: (block_count,) the number of each block's; table: (islands, 3), written."""
    data = ProblemData(*data)
    block_start, scale = data.block_start, data.velocity_scale
    for g in range(len(table)):
        table[g, 0] = table[g, 1] = table[g, 2] = 0.0
    offset = 0
    for k in range(len(block_start) - 1):
        g, size = island[k], block_start[k + 1] - block_start[k]
        part, error = _block_errors(reactions, v, k, offset, data)
        offset += size * size
        table[g, 0] += part
        for i in range(block_start[k], block_start[k + 1]):
            table[g, 1] += reactions[i] * reactions[i]
        table[g, 2] = max(table[g, 2], _ratio(error, scale[k]))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _contact_gaps(reactions, v, i, mu, is_exact, step, own):
    """‖λ_k − P(λ_k − ρ w_k)‖² of the contact whose rows start at i, for ρ = `step` and for ρ = `own`."""
    a, b, c = np.uint64(i), np.uint64(i + 1), np.uint64(i + 2)  # without a sign, which would be tested each time
    rn, r1, r2, v1, v2 = reactions[a], reactions[b], reactions[c], v[b], v[c]
    if is_exact and mu > MOST_DE_SAXCE:
        reaction, velocity = (rn, r1, r2), (v[a], v1, v2)
        return _rough_gap(reaction, velocity, mu, step), _rough_gap(reaction, velocity, mu, own)
    wn = v[a] + mu * math.sqrt(v1 * v1 + v2 * v2) if is_exact else v[a]
    return _gap(rn, r1, r2, wn, v1, v2, mu, step), _gap(rn, r1, r2, wn, v1, v2, mu, own)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _gap(rn, r1, r2, wn, v1, v2, mu, step):
    """‖λ_k − P(λ_k − ρ w_k)‖² of one contact, from λ_k, w_n, v_t and ρ = `step`."""
    an, a1, a2 = rn - step * wn, r1 - step * v1, r2 - step * v2
    pn, p1, p2 = project_coulomb(an, a1, a2, mu)
    # What the projection leaves alone is ρ w. Subtracting again would lose every velocity below 1e-16 λ/ρ: a sphere of
    # 10 kg under 1e20 kg fell at 0.5 m/s and was called converged.
    dn = step * wn if pn == an else rn - pn
    d1 = step * v1 if p1 == a1 else r1 - p1
    d2 = step * v2 if p2 == a2 else r2 - p2
    return dn * dn + d1 * d1 + d2 * d2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _rough_gap(reaction, velocity, mu, step):
    """min(λ_n, ρ v_n)² + ‖λ_t − P_disk(λ_t − ρ v_t)‖² of one contact, the disk of radius μ λ_n (Alart and Curnier
    1991, eq. 3.8): zero for the same λ as the natural map, but De Saxcé's term is not in it."""
    (rn, r1, r2), (vn, v1, v2) = reaction, velocity
    dn = min(rn, step * vn)
    a1, a2, radius = r1 - step * v1, r2 - step * v2, mu * max(rn, 0.0)
    p1, p2 = project_disk(a1, a2, radius)
    d1 = step * v1 if p1 == a1 else r1 - p1  # as in `_gap`
    d2 = step * v2 if p2 == a2 else r2 - p2
    return dn * dn + d1 * d1 + d2 * d2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_absolute(reactions, v, data, out):
    """out[2:]: natural map ∞, primal ∞, dual ∞, complementarity, natural map², –, feasibility, projected gradient²."""
    mu, bilateral, step = data.mu, data.bilateral_rows, data.rho
    for i in range(2, 10):
        out[i] = 0.0
    for i in range(bilateral):
        out[2] = max(out[2], abs(v[i]))
        out[4] = max(out[4], abs(v[i]))
        out[5] = max(out[5], abs(reactions[i] * v[i]))
        out[6] += v[i] * v[i]
        out[9] += v[i] * v[i]
    start = bilateral + data.limit_count
    for i in range(bilateral, start):
        gap = reactions[i] - max(0.0, reactions[i] - v[i])
        out[2] = max(out[2], abs(gap))
        out[3] = max(out[3], -reactions[i])
        out[4] = max(out[4], -v[i])
        out[5] = max(out[5], abs(reactions[i] * v[i]))
        out[6] += gap * gap
        scaled = (reactions[i] - max(0.0, reactions[i] - step * v[i])) / step
        out[9] += scaled * scaled
    for k in range(len(mu)):
        i = start + 3 * k
        rn, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
        slip = math.sqrt(v[i + 1] ** 2 + v[i + 2] ** 2)
        wn = v[i] + mu[k] * slip if data.is_exact else v[i]
        pn, p1, p2 = project_coulomb(rn - wn, r1 - v[i + 1], r2 - v[i + 2], mu[k])
        out[2] = max(out[2], abs(rn - pn), abs(r1 - p1), abs(r2 - p2))
        out[6] += (rn - pn) ** 2 + (r1 - p1) ** 2 + (r2 - p2) ** 2
        pn, p1, p2 = project_coulomb(rn, r1, r2, mu[k])
        out[3] = max(out[3], abs(rn - pn), abs(r1 - p1), abs(r2 - p2))
        pn, p1, p2 = project_coulomb_dual(wn, v[i + 1], v[i + 2], mu[k])
        out[4] = max(out[4], abs(wn - pn), abs(v[i + 1] - p1), abs(v[i + 2] - p2))
        out[5] = max(out[5], abs(rn * wn + r1 * v[i + 1] + r2 * v[i + 2]))
        out[8] = max(out[8], mu[k] * slip - v[i], math.sqrt(r1 * r1 + r2 * r2) - mu[k] * rn)
        out[9] += _gap(rn, r1, r2, v[i], v[i + 1], v[i + 2], mu[k], step) / (step * step)
