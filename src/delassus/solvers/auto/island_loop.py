"""Islands in compiled code: small ones solved one after the other by the attempt at once of Newton's method, and whole
solves of bodies most of which rest. Islands do not see each other: neither their order nor the number of threads makes
a difference."""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.linalg.operators.matrix import fill_blocks_of_full
from delassus.linalg.operators.rigid import fill_diagonal_blocks
from delassus.problem.data import ProblemData
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.auto.rest import FINISHED, ITERATIONS, KEPT, LEFT, ROWS, SOLVED, Islands, look_at_bodies
from delassus.solvers.newton.small import solve_small
from delassus.solvers.parts.at_once import APART, finish_rigid, judgements_in

SMALL, SHARE, FINE, FINEST, MOST, MOST_FINISHING = range(6)
RULE = 90.0, 0.5, 1e-6, 1e-13, 150.0, 6.0
"""How islands are solved: rows of a small one; share of the rows in larger ones that move, up to which going island by
island pays (one method for all has less to set up); what the tolerances of those about to rest are multiplied by, and
what they are at least; iterations of an attempt, and of one at an island about to rest."""

WHOLE = -1
"""Instead of a number of judgements: one method for the whole is due."""

_WIDEST = 6  # rows of a block at most


class Operator(NamedTuple):
    """D in the storage that it has; the other one is empty. Python hands plain tuples of this and the next two."""

    rigid: tuple[np.ndarray, ...]
    """`RigidDelassus.plain`."""
    body_count: int
    matrix: tuple[np.ndarray, ...]
    """Compressed rows: (pointer, column, value)."""
    free: np.ndarray
    """v_f (m,)."""


class How(NamedTuple):
    """How islands are solved."""

    tols: tuple[float, float]
    """(tol, tol_velocity) of an island."""
    most: int
    """Iterations."""
    rule: tuple[float, ...]
    """RULE."""
    newton: tuple[float, ...]
    """Fields of Newton's `Rule`."""
    takes_least: float
    """Of `solve_small`."""


@njit(cache=True, error_model="numpy", nogil=True)
def solve_each(chosen, islands, operator, data, how, reactions):
    """The islands `chosen`, each as a problem of its own that is judged as a part of the whole.  islands, operator,
    data, how: fields of `Islands`, `Operator`, `ProblemData` and `How`; reactions: (m,), overwritten where an island
    got better."""
    islands, operator, data, how = Islands(*islands), Operator(*operator), ProblemData(*data), How(*how)
    first, members, table, action = islands.first, islands.members, islands.table, islands.action
    rigid, body_count, matrix, free = operator.rigid, operator.body_count, operator.matrix, operator.free
    mu, start, scale = data.mu, data.block_start, data.velocity_scale
    joints, limits = data.joint_count, data.limit_count
    tols, rule = how.tols, how.rule
    rows, blocks, is_rigid = 0, 0, len(rigid[0]) > 0
    for g in chosen:
        rows, blocks = max(rows, int(table[g, ROWS])), max(blocks, first[g + 1] - first[g])
    v_f, r, D = np.empty(rows), np.empty(rows), np.empty(0 if is_rigid else rows * rows)
    bounds, friction, own = np.empty(blocks + 1, np.int64), np.empty(blocks), np.empty(blocks)
    pairs, J, response = np.empty((blocks, 2), np.int64), np.empty((rows, 12)), np.empty((rows, 12))
    soft, area = np.empty(rows), np.empty(rows * _WIDEST)
    number = np.full(max(body_count, len(free)), -1)
    room, nothing = np.empty(APART + rows + max(rows, 12 * blocks)), np.empty(0)
    for g in chosen:
        n, m = first[g + 1] - first[g], int(table[g, ROWS])
        mine = members[first[g] : first[g + 1]]
        bilateral, blocks_of_joints, blocks_of_limits, contacts = 0, 0, 0, 0
        bounds[0] = 0
        for q in range(n):
            k = mine[q]
            size = start[k + 1] - start[k]
            bounds[q + 1], own[q] = bounds[q] + size, scale[k]
            if k < joints:
                blocks_of_joints, bilateral = blocks_of_joints + 1, bilateral + size
            elif k < joints + limits:
                blocks_of_limits += 1
            else:
                friction[contacts] = mu[k - joints - limits]
                contacts += 1
            for a in range(size):
                v_f[bounds[q] + a], r[bounds[q] + a] = free[start[k] + a], reactions[start[k] + a]
        inside, own_bodies = bounds[: n + 1], 0
        if is_rigid:
            own_bodies = _gather_bodies(mine, start, rigid, bounds, number, (pairs, J, response, soft))
            fill_diagonal_blocks(inside, J, response, soft[: m if len(rigid[4]) else 0], area)
            full = D.reshape(0, 0)
        else:
            full = D[: m * m].reshape(m, m)
            _gather_matrix(mine, start, matrix, bounds, number, full)
            fill_blocks_of_full(full, inside, area)
        judged_here = (
            friction[:contacts],
            inside,
            blocks_of_joints,
            bilateral,
            blocks_of_limits,
            area,
            own[:n],
            data.is_exact,
            data.rho,
            data.free_speed * math.sqrt(m / len(free)),
        )
        bodies_here = (pairs[:n], inside, J[:m], response[:m], soft[: m if is_rigid and len(rigid[4]) else 0])
        found = room[: APART + m + (6 * own_bodies if is_rigid else m)]
        is_last = action[g] == FINISHED
        factor = min(max(rule[FINE], rule[FINEST] / tols[0]), 1.0) if is_last else 1.0
        iterations = min(how.most, int(rule[MOST_FINISHING] if is_last else rule[MOST]))
        asked = (factor * tols[0], factor * tols[1])
        count = solve_small(
            full,
            bodies_here,
            nothing,
            v_f[:m],
            judged_here,
            asked,
            iterations,
            how.newton,
            how.takes_least,
            r[:m],
            found,
        )
        if count == 0:
            continue
        table[g, ITERATIONS] = judgements_in(found)[0, count - 1]
        left = max(found[0] / tols[0], found[RESIDUAL_COUNT - 1] / tols[1])
        if left < table[g, LEFT]:
            table[g, LEFT] = left
            for q in range(n):
                for a in range(bounds[q + 1] - bounds[q]):
                    reactions[start[mine[q]] + a] = r[bounds[q] + a]


@njit(cache=True, error_model="numpy")
def _gather_bodies(mine, start, rigid, bounds, number, out):
    """Rows of an island, over bodies numbered as they come; how many bodies.  number: −1 everywhere, and again at the
    end; out: (bodies, rows of J, H⁻¹ Jᵀ by rows, compliance), written."""
    pairs, J, response, soft = out
    bodies, _, rows, pushed, compliance = rigid
    found = 0
    for q in range(len(mine)):
        k = mine[q]
        for side in range(2):
            body = bodies[k, side]
            if body >= 0 and number[body] < 0:
                number[body] = found
                found += 1
            pairs[q, side] = number[body] if body >= 0 else -1
        for a in range(bounds[q + 1] - bounds[q]):
            i, o = start[k] + a, bounds[q] + a
            if len(compliance):
                soft[o] = compliance[i]
            for j in range(12):
                J[o, j], response[o, j] = rows[i, j], pushed[i, j]
    for q in range(len(mine)):
        for side in range(2):
            if bodies[mine[q], side] >= 0:
                number[bodies[mine[q], side]] = -1
    return found


@njit(cache=True, error_model="numpy")
def _gather_matrix(mine, start, matrix, bounds, number, full):
    """D of an island in full.  matrix: pointer, column and value of D in compressed rows; number: as above, of rows."""
    pointer, column, value = matrix
    for q in range(len(mine)):
        for a in range(bounds[q + 1] - bounds[q]):
            number[start[mine[q]] + a] = bounds[q] + a
    for q in range(len(mine)):
        for a in range(bounds[q + 1] - bounds[q]):
            i, o = start[mine[q]] + a, bounds[q] + a
            for j in range(len(full)):
                full[o, j] = 0.0
            for p in range(pointer[i], pointer[i + 1]):
                if number[column[p]] >= 0:
                    full[o, number[column[p]]] += value[p]
    for q in range(len(mine)):
        for a in range(bounds[q + 1] - bounds[q]):
            number[start[mine[q]] + a] = -1


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def solve_resting(rigid, body_count, free, step, data, how, out, counts):
    """A whole solve of rigid bodies from a guess, island by island: how many judgements were made, none where others
    have to take over and the reactions are as they were; WHOLE where one large island is most of what moves.

    free: (u_f, v_f); step: of `look_at_bodies`; how: fields of `How`, with the tolerances of the whole; out:
    (reactions, found) of `solve_small`; counts: (4,), written: islands, those left as they are, those solved, those
    about to rest."""
    u_f, v_f = free
    reactions, found = out
    how = How(*how)
    tols, rule, before = how.tols, how.rule, step[1]
    blocks, judgements = len(rigid[0]), judgements_in(found)
    island, first, members = np.empty(blocks, np.int64), np.empty(blocks + 1, np.int64), np.empty(blocks, np.int64)
    table, action, own = np.empty((blocks, 4)), np.empty(blocks, np.int64), (tols[0] / math.sqrt(2.0), tols[1])
    islands = Islands(island, first, members, table, action)
    count, relative, worst = look_at_bodies(rigid, body_count, v_f, step, data, own, reactions, islands)
    todo, large, is_step = 0, 0.0, len(before) > 0
    has_large = False
    if count == 1 and not is_step:
        return WHOLE
    is_good = not is_step and relative <= tols[0] and worst <= tols[1]
    counts[0], counts[1], counts[2], counts[3] = count, 0, 0, 0
    for g in range(count):
        if action[g] == KEPT or is_good:
            counts[1] += 1
            continue
        if table[g, ROWS] > rule[SMALL]:
            has_large, large = True, large + (table[g, ROWS] if action[g] == SOLVED else 0.0)
            continue
        counts[2] += 1
        counts[3] += 1 if action[g] == FINISHED else 0
        island[todo] = g  # labels are not needed any more
        todo += 1
    if has_large:
        return WHOLE if large > rule[SHARE] * len(v_f) else 0
    judgements[0, 0], judgements[1, 0], judgements[2, 0] = 0.0, relative, worst
    iterations = 0.0
    if todo:
        guess = reactions.copy()
        operator = Operator(rigid, body_count, (first[:1], first[:0], v_f[:0]), v_f)
        within = How(own, how.most, rule, how.newton, how.takes_least)
        solve_each(island[:todo], islands, operator, data, within, reactions)
        for p in range(todo):
            iterations = max(iterations, table[island[p], ITERATIONS])
            if not table[island[p], LEFT] <= 1.0:
                for i in range(len(guess)):
                    reactions[i] = guess[i]
                return 0
    finish_rigid(rigid, v_f, u_f, reactions, data, found)
    if iterations == 0.0:
        return 1
    judgements[0, 1], judgements[1, 1], judgements[2, 1] = iterations, found[0], found[RESIDUAL_COUNT - 1]
    return 2
