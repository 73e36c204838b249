"""Small islands solved one after the other in compiled code, by the attempt at once of Newton's method. Islands do not
see each other, so that neither their order nor the number of threads changes a bit."""

import math

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.matrix import fill_blocks_of_full
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.auto.rest import FINISHED, ITERATIONS, LEFT, ROWS
from delassus.solvers.newton.small import solve_small
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS, judgements_in

_WIDEST = 6  # rows of a block at most


@njit(cache=True, error_model="numpy", nogil=True)
def solve_each(
    chosen, first, members, rigid, body_count, matrix, free, judged_by, tols, fine, most, plain, takes_least, action,
    reactions, table,
):  # fmt: skip
    """The islands `chosen`, each as a problem of its own that is judged as a part of the whole.

    first, members: of `group`; rigid, matrix: of the operator that is there, the other one empty; tols: (tol,
    tol_velocity); fine: factor on them for islands to be finished; most: iterations for those that move, and for those;
    plain, takes_least: of `solve_small`; reactions: (m,), overwritten where an island got better."""
    mu, start, joints, _, limits, _, scale, is_exact, step, free_speed = judged_by
    rows, blocks, is_rigid = 0, 0, len(rigid[0]) > 0
    for g in chosen:
        rows, blocks = max(rows, int(table[g, ROWS])), max(blocks, first[g + 1] - first[g])
    v_f, r, D = np.empty(rows), np.empty(rows), np.empty(0 if is_rigid else rows * rows)
    bounds, friction, own = np.empty(blocks + 1, np.int64), np.empty(blocks), np.empty(blocks)
    pairs, J, response = np.empty((blocks, 2), np.int64), np.empty((rows, 12)), np.empty((rows, 12))
    soft, area = np.empty(rows), np.empty(rows * _WIDEST)
    number = np.full(max(body_count, len(free)), -1)
    room, nothing = np.empty(RESIDUAL_COUNT + rows + 12 * blocks + 3 * MOST_JUDGEMENTS), np.empty(0)
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
            own_bodies = _gather_bodies(mine, start, rigid, bounds, number, pairs, J, response, soft)
            _fill_areas(inside, J, response, soft[: m if len(rigid[4]) else 0], area)
            full = D.reshape(0, 0)
        else:
            full = D[: m * m].reshape(m, m)
            _gather_matrix(mine, start, matrix, bounds, number, full)
            fill_blocks_of_full(full, inside, area)
        judged_here = (
            friction[:contacts], inside, blocks_of_joints, bilateral, blocks_of_limits, area, own[:n], is_exact, step,
            free_speed * math.sqrt(m / len(free)),
        )  # fmt: skip
        bodies_here = (pairs[:n], inside, J[:m], response[:m], soft[: m if is_rigid and len(rigid[4]) else 0])
        found = room[: RESIDUAL_COUNT + m + 6 * own_bodies + 3 * MOST_JUDGEMENTS]
        is_last = action[g] == FINISHED
        factor, iterations = (fine, most[1]) if is_last else (1.0, most[0])
        count = solve_small(
            full, bodies_here, nothing, v_f[:m], judged_here, (factor * tols[0], factor * tols[1]), iterations, plain,
            takes_least, r[:m], found,
        )  # fmt: skip
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
def _fill_areas(bounds, J, response, compliance, area):
    """Diagonal blocks of D, one behind the other."""
    at = 0
    for k in range(len(bounds) - 1):
        for i in range(bounds[k], bounds[k + 1]):
            for j in range(bounds[k], bounds[k + 1]):
                value = compliance[i] if i == j and len(compliance) else 0.0
                for a in range(12):
                    value += J[i, a] * response[j, a]
                area[at] = value
                at += 1


@njit(cache=True, error_model="numpy")
def _gather_bodies(mine, start, rigid, bounds, number, pairs, J, response, soft):
    """Rows of an island, over bodies numbered as they come; how many bodies.  number: −1 everywhere, and again at the
    end."""
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
